"""Exported C, compiled and run over rows by a driver, in one process for each table."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from triskele.export.functions import Function

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion")
SANITIZED = (
    "-fsanitize=undefined,float-divide-by-zero,float-cast-overflow",
    "-fno-sanitize-recover=all",
)


def needs(program: str) -> str:
    """The path of a program of the system, or a skipped test that says what is missing.

    Where TRISKELE_COMPILERS is "required", as in CI, it is an error.
    """
    found = shutil.which(program)
    if found is None:
        said = f"{program} is not installed; .ci/system installs it"
        assert os.environ.get("TRISKELE_COMPILERS") != "required", said
        pytest.skip(said)
    return found


def driver(robot: str, functions: list[Function]) -> str:
    """A program that reads rows of inputs and writes rows of status and outputs."""
    lines = [
        "#include <stdio.h>", "#include <string.h>", f'#include "{robot}.h"',
        "int main(int argc, char **argv)", "{", "    (void)argc;",
    ]  # fmt: skip
    for function in functions:
        given, found = (
            sum(len(group.ports) for group in groups)
            for groups in (function.inputs, function.outputs)
        )
        arguments, first = [], 0
        for group in function.inputs:
            arguments.append(f"in + {first}")
            first += len(group.ports)
        first = 1
        for group in function.outputs:
            arguments.append(f"out + {first}")
            first += len(group.ports)
        more = 0
        if function.limits:
            arguments += [f"out + {first}", "&which"]
            more = 2
        lines += [
            f'    if (strcmp(argv[1], "{function.name}") == 0)', "    {",
            f"        static {robot}_real in[{given}], out[{1 + found + more}];",
            "        int32_t which = 0;",
            f"        while (fread(in, sizeof in[0], {given}, stdin) == {given})", "        {",
            f"            out[0] = ({robot}_real){robot}_{function.name}({', '.join(arguments)});",
            *([f"            out[{first + 1}] = ({robot}_real)which;"] if more else []),
            "            (void)which;",
            "            fwrite(out, sizeof out, 1, stdout);", "        }", "    }",
        ]  # fmt: skip
    return "\n".join([*lines, "    return 0;", "}", ""])


class Compiled:
    """The code in a folder, compiled; `of` runs one function over rows."""

    def __init__(
        self, folder: Path, robot: str, functions: list[Function], kind: type = np.float64,
        options: tuple[str, ...] = ("-O1",),
    ) -> None:  # fmt: skip
        self._folder, self._robot, self._kind, self._widths = folder, robot, kind, {}
        for function in functions:
            count = sum(len(group.ports) for group in function.outputs)
            self._widths[function.name] = 1 + count + (2 if function.limits else 0)
        main = folder / "driver.c"
        main.write_text(driver(robot, functions))
        self._program = folder / f"driver{len(options)}"
        sources = [folder / f"{robot}.c", main]
        subprocess.run(
            [needs("gcc"), *STRICT, *options, *sources, "-lm", "-o", self._program], check=True
        )

    def accepted_by(self, cc: str, *others: str) -> None:
        """Another compiler has nothing to say about it, and about more files of the folder."""
        sources = [self._folder / name for name in (f"{self._robot}.c", *others)]
        subprocess.run([needs(cc), *STRICT, "-fsyntax-only", *sources], check=True)

    def of(self, name: str, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Status and outputs; of a monitor, with the worst use and its limit at the end."""
        data = np.ascontiguousarray(rows, self._kind).tobytes()
        ran = subprocess.run([self._program, name], input=data, capture_output=True, check=True)
        found = np.frombuffer(ran.stdout, self._kind).reshape(len(rows), self._widths[name])
        return found[:, 0].astype(int), found[:, 1:].astype(float)
