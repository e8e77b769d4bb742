"""What commands print: tables for people, JSON for machines, notes on stderr, progress bars."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from triskele.description.files import check_writable, write_whole
from triskele.description.provenance import Fact
from triskele.description.tables import Table, write_table
from triskele.errors import InputError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from triskele.dynamics.limits import LimitUse
    from triskele.planning.why import PlannedLimit

FIGURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".parquet")
PATIENCE = 2.0  #: seconds before a progress bar appears


def print_json(data: object) -> None:
    """`data` as JSON on stdout; NaN and infinity are never written."""
    typer.echo(as_json(data))


def as_json(data: object) -> str:
    """`data` as indented JSON text."""
    return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)


def print_rows(rows: Sequence[Sequence[object]], header: Sequence[str] | None = None) -> None:
    """Aligned columns; text to the left, numbers (already formatted) to the right."""
    table = [list(map(str, row)) for row in ([header, *rows] if header else rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    for index, row in enumerate(table):
        cells = [
            cell.rjust(width) if _is_number(cell) else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
        typer.echo("  ".join(cells).rstrip())
        if header and index == 0:
            typer.echo("  ".join("-" * width for width in widths))


def _is_number(cell: str) -> bool:
    try:
        float(cell.split(" ")[0])
    except ValueError:
        return False
    return True


def note(text: str) -> None:
    """A remark on stderr, so that stdout stays clean for pipes."""
    typer.echo(text, err=True)


def note_assumptions(assumptions: Sequence[Fact], robot: str, *, most: int = 6) -> None:
    """Repeat the assumed numbers that a result rests on; `robot` is where to read the rest."""
    for fact in assumptions[:most]:
        note(f"assumed: {fact.key} = {fact.text} ({_plain(fact.reason)})")
    if len(assumptions) > most:
        note(f"assumed: {len(assumptions) - most} more, see `triskele show {robot}`")


def _plain(reason: str) -> str:
    return reason.removeprefix("assumed:").strip()


def output_path(path: Path | None, *suffixes: str) -> Path | None:
    """`path`, checked before any work is done: suffix known, directory writable."""
    if path is None:
        return None
    if path.suffix.lower() not in suffixes:
        *others, last = suffixes
        ends = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{path}: the name must end in {ends}.")
    check_writable(path)
    return path


def table_and_figure(
    out: Path | None, figure: Path | None, *suffixes: str
) -> tuple[Path | None, Path | None]:
    """Where to write a table and a figure; a figure may be given as either."""
    table, drawing = output_path(out, *suffixes, *FIGURES), output_path(figure, *FIGURES)
    if table is None or table.suffix.lower() not in FIGURES:
        return table, drawing
    if drawing is not None:
        raise InputError(f"--out {table} and --figure {drawing} are both figures; give one.")
    return None, table


def write_json(data: object, path: Path) -> None:
    """Write `data` as JSON, whole or not at all."""
    write_whole(path, as_json(data) + "\n")


def write_columns(table: Table, path: Path) -> None:
    """Write `table` as CSV, Parquet or JSON, by the suffix of `path`, and say so."""
    if path.suffix.lower() == ".json":
        columns = {
            name: {"unit": table[name].unit, "values": table[name].values.tolist()}
            for name in table.names
        }
        write_json(columns, path)
    else:
        write_table(table, path)
    note(f"wrote {path}")


def limit_data(item: "LimitUse | PlannedLimit") -> dict[str, object]:
    """A limit and what is used of it, flat; a user's script may know its label as `name`."""
    rest = {name: value for name, value in item._asdict().items() if name != "limit"}
    return {"name": item.limit.label, **item.limit._asdict(), **rest}


def give(data: object, target: Path | None, in_json: bool, show: Callable[[], None]) -> None:
    """Write `data` to a JSON file if one is named, and print it as JSON or by `show`."""
    if target is not None:
        write_json(data, target)
        note(f"wrote {target}")
    if in_json:
        print_json(data)
    else:
        show()


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], None]]:
    """A function to report progress to, 0 to 1; draws a bar if the work takes a while.

    Only on a terminal: a file gets no bars.
    """
    start = time.monotonic()
    with _bars() as bar:
        task = bar.add_task(label, total=1.0, visible=False)

        def report(part: float) -> None:
            bar.update(task, completed=part, visible=time.monotonic() - start > PATIENCE)

        yield report


@contextmanager
def progress_bars(count: int) -> Iterator[Callable[[str, float], None]]:
    """The same for `count` pieces of work: their name, and how much of it is done.

    Each has a bar from when it is first heard of until it is done.
    """
    with _bars() as bar:
        tasks: dict[str, TaskID] = {}

        def report(name: str, part: float) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(f"{len(tasks) + 1} of {count}: {name}", total=1.0)
            bar.update(tasks[name], completed=part, visible=part < 1)

        yield report


def _bars() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(file=sys.stderr)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
