"""The command `export`: laws of a robot as code for a controller."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson, RobotName
from triskele.cli.multibody import used_facts
from triskele.cli.output import note, note_assumptions, print_json, print_rows
from triskele.cli.shapes import option

if TYPE_CHECKING:
    from triskele.export.code import Exported


def export(
    robot: RobotName,
    out: Annotated[Path, typer.Option(help="Folder to write; made if it is not there.")],
    target: Annotated[str, typer.Option(help="Language: c or js.")] = "c",
    what: Annotated[
        str | None,
        option("Functions, as inverse,torques: inverse, forward, torques, loads, monitor.", "all"),
    ] = None,
    real: Annotated[str, typer.Option(help="Type of numbers: double or float.")] = "double",
    force: Annotated[bool, typer.Option("--force", help="Write into a folder with files.")] = False,
    json: AsJson = False,
) -> None:
    """Laws of a robot as source code for a controller, with golden vectors and a self-test.

    Example: triskele export omron_mini_delta --target c --what inverse,torques --out code
    """
    from triskele.description.load import load
    from triskele.export.code import export_code

    described = load(robot)
    names = None if what is None else [part.strip() for part in what.split(",") if part.strip()]
    written = export_code(described, out, target, names, real=real, force=force)  # pyright: ignore[reportArgumentType]
    if json:
        print_json(_summary(written))
    else:
        _print(written)
    note(f"wrote {len(written.files)} files into {out}")
    for name, why in written.left_out:
        note(f"left out: {name}: {why}")
    note_assumptions(used_facts(described), robot)


def _summary(written: "Exported") -> dict[str, object]:
    return {
        "folder": str(written.folder),
        "files": list(written.files),
        "functions": {
            function.name: {
                "inputs": {group.name: list(map(str, group.ports)) for group in function.inputs},
                "outputs": {group.name: list(map(str, group.ports)) for group in function.outputs},
                "operations": len(function.program),
                "vectors": len(vectors.inputs),
                "error": vectors.error,
                "limits": [item.limit.label for item in function.limits],
            }
            for function, vectors in written.functions
        },
        "left_out": dict(written.left_out),
    }


def _print(written: "Exported") -> None:
    rows = [
        (
            function.name,
            len(function.program.inputs),
            len(function.program.outputs),
            len(function.program),
            len(vectors.inputs),
        )
        for function, vectors in written.functions
    ]
    print_rows(rows, ("function", "inputs", "outputs", "operations", "golden vectors"))
