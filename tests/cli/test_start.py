"""The real entry points, as processes of their own: quick to start, quiet in a pipe."""

import subprocess
import sys
from pathlib import Path

import pytest

TRISKELE = str(Path(sys.executable).with_name("triskele"))


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, **options)


@pytest.mark.parametrize(
    "arguments", [["robots"], ["--help"], ["schema"], ["init", "delta", "my.toml"], ["show", "no"]]
)
def test_what_needs_no_mathematics_does_not_load_it(tmp_path, arguments):
    code = (
        "import sys; from triskele.cli import main; "
        f"main({arguments}); "
        "print({'jax', 'numpy', 'matplotlib', 'pyarrow'} & set(sys.modules), file=sys.stderr)"
    )
    done = run(sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "set()"


def test_the_package_can_be_run_as_a_module():
    done = run(sys.executable, "-m", "triskele", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "triskele 0.1.0\n", "")


def test_a_mistake_exits_with_2():
    done = run(TRISKELE, "frobnicate")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "triskele: No such command 'frobnicate'. See `triskele --help`.\n"


@pytest.mark.parametrize(
    ("line", "printed"), [("robots | head -1", r"name"), ("schema | true", ""), ("-h | true", "")]
)
def test_a_pipe_that_nobody_reads_is_no_mistake(line, printed):
    done = run("bash", "-c", f"'{TRISKELE}' {line}; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[:1] == printed.split()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_reported():
    done = run("bash", "-c", f"'{TRISKELE}' robots > /dev/full")
    assert done.returncode == 2
    assert done.stderr == "triskele: the output: No space left on device.\n"


def test_single_precision_is_refused(tmp_path):
    environment = {"JAX_ENABLE_X64": "0", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = run(TRISKELE, "ik", "d3s_800", "0", "0", "-0.9", env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("triskele: JAX is set to 32 bit (JAX_ENABLE_X64=0); ")
    assert done.stderr.count("\n") == 1
