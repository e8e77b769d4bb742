"""Where llvmlite cannot be loaded, XLA computes the same: another process, without the module."""

import re
import subprocess
import sys

import numpy as np
import pytest

RUN = "from triskele.cli.app import run; sys.exit(run())"
WITHOUT = "import sys; sys.modules['llvmlite'] = None; "


def printed(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(text):
    """All numbers of a text; those at rounding level as zero."""
    found = np.array(re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text), float)
    return np.where(np.abs(found) < 1e-6, 0.0, found)


@pytest.mark.parametrize(
    "command",
    [
        "ik abb_irb360_6_1600 0.2 -0.3 -1.0 0.5",
        pytest.param("fk compliant_3prs 0.001 0.002 -0.001", marks=pytest.mark.long),
        pytest.param("torques omron_mini_delta --length 0.1", marks=pytest.mark.long),
        pytest.param("simulate omron_mini_delta --duration 0.1", marks=pytest.mark.long),
    ],
)
def test_the_command_line_prints_the_same_numbers_without_llvm(command):
    ours, other = (printed(code + RUN, *command.split()) for code in ("import sys; ", WITHOUT))
    assert len(numbers(ours)) > 5
    assert np.allclose(numbers(ours), numbers(other), rtol=1e-3, atol=1e-6)


def test_programs_are_not_available_then():
    code = f"{WITHOUT}\nfrom triskele.programs import native\nprint(native.available())"
    assert printed(code) == "False\n"
