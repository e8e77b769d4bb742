"""Print what kinematics in batches costs: `python -m benchmarks [--json] [--rounds 11]`."""

import argparse
import json

from benchmarks.race import pin

_CORE = pin()  # before JAX starts its threads

import jax  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from benchmarks import ik  # noqa: E402


def main() -> None:
    """Measure, print a table (or JSON) and whether the goal is met."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--rounds", type=int, default=11, help="more are steadier (11)")
    options = parser.parse_args()
    console = Console(stderr=options.json, width=124, highlight=False)

    solver, reference = ik.c_inverse(ik.robot()), "C loop"
    compiled = solver is not None
    if solver is None:
        console.print("There is no C compiler (cc) here that works: the reference is NumPy.")
        solver, reference = ik.numpy_inverse(ik.robot()), "NumPy loop over limbs"
    with console.status("Measuring, about a minute ..."):
        measured = ik.measurements(rounds=options.rounds, reference=reference, solver=solver)
        rows = tuple(measured)

    largest = max(ik.SIZES)
    ratio = next(row.ratio for row in rows if (row.name, row.n) == (ik.OURS, largest))
    meets = ratio <= ik.GOAL if compiled else None
    if options.json:
        about = {"reference": reference, "jax": jax.__version__, "pinned_to_core": _CORE}
        verdict = {"goal": ik.GOAL, "ratio": ratio, "meets_goal": meets}
        numbers = [row._asdict() for row in rows]
        print(json.dumps({**about, **verdict, "rows": numbers}, indent=1))
        return
    console.print(_table(rows))
    judged = {
        True: "meets the goal of",
        False: "misses the goal of",
        None: "the goal, in C loops, is",
    }
    console.print(
        f"Batched inverse kinematics at N = {largest:,}: {ratio:.2f} times the {reference}; "
        f"{judged[meets]} {ik.GOAL}."
    )


def _table(rows: tuple[ik.Row, ...]) -> Table:
    where = "pinned to one core" if _CORE is not None else "not pinned"
    table = Table(
        title="Delta: CPU time per pose in ns (and its ratio to the first row)",
        caption=f"CPU time of all threads, {where}. The first row solves the inverse problem. "
        "Compilation: at the largest N shown.",
    )
    table.add_column("")
    for n in ik.SIZES:
        table.add_column(f"N = {n:,}", justify="right", no_wrap=True)
    table.add_column("compilation", justify="right")
    for name in dict.fromkeys(row.name for row in rows):
        mine = {row.n: row for row in rows if row.name == name}
        cells = [_cell(mine.get(n)) for n in ik.SIZES]
        compilation = mine[max(mine)].compilation
        table.add_row(name, *cells, "-" if compilation is None else f"{compilation:.2f} s")
    return table


def _cell(row: ik.Row | None) -> str:
    return "-" if row is None else f"{row.nanoseconds:.1f} ({row.ratio:.2f})"


if __name__ == "__main__":
    main()
