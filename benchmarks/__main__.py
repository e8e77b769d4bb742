"""Print what our calls cost: `python -m benchmarks [--json] [--rounds 11]`."""

import argparse
import json
import sys

from benchmarks.race import pin

_CORE = pin()  # before JAX starts its threads

import jax  # noqa: E402
from rich.console import Console  # noqa: E402

from benchmarks import (  # noqa: E402
    commands,
    control,
    dynamics,
    exported,
    flexible,
    goals,
    identification,
    ik,
    limbs,
    multibody,
    planning,
    report,
    sensing,
    shipped,
    simulation,
)


def main() -> None:
    """Measure, print tables (or JSON), and which goals are met; exit with 1 if one is far off."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--rounds", type=int, default=11, help="more are steadier (11)")
    options = parser.parse_args()
    console = Console(stderr=options.json, width=124, highlight=False)

    with console.status("Compiling Pinocchio's headers, about two minutes ..."):
        found, notes = dynamics.available()
    for note in notes:
        console.print(note)
    with console.status("Measuring kinematics, about a minute ..."):
        rows, reference, compiled = _kinematics(options.rounds)
    with console.status("Measuring dynamics, about two minutes ..."):
        races = tuple(dynamics.batches(found, rounds=options.rounds))
        single = dynamics.single_calls(found, rounds=options.rounds)
        runs = simulation.runs(found, rounds=options.rounds)
    with console.status("Measuring systems of many bodies, about two minutes ..."):
        free, missing = multibody.free_runs(rounds=options.rounds)
        many = multibody.batch(rounds=options.rounds)
    with console.status("Measuring plans, about a minute ..."):
        cores, absent = planning.races(rounds=options.rounds)
        whole = planning.whole(rounds=options.rounds)
    with console.status("Measuring flexible robots, about two minutes ..."):
        seconds = flexible.seconds(rounds=options.rounds)
        mapped = flexible.frequency_map(rounds=options.rounds)
    with console.status("Measuring sensors, a few seconds ..."):
        sensed = sensing.sensing(rounds=options.rounds)
    with console.status("Measuring closed loops, about two minutes ..."):
        looped = control.control(rounds=options.rounds)
    with console.status("Measuring identification, half a minute ..."):
        fitted = identification.identification(rounds=options.rounds)
    with console.status("Measuring shipped robots, about three minutes ..."):
        robots, lacking = shipped.shipped(found, rounds=options.rounds)
    with console.status("Measuring exported code, half a minute ..."):
        code, no_code = _exported(options.rounds)
    with console.status("Measuring limbs, half a minute ..."):
        twins = limbs.twins(rounds=options.rounds)
    with console.status("Running commands, about four minutes ..."):
        run, unrun = _commands(options.rounds)
    absent = (*absent, *lacking, *unrun, *no_code)
    for note in (*missing, *absent):
        console.print(note)

    judged = [goals.of_kinematics(rows, reference, compiled), *goals.of_batches(races)]
    judged += [goals.of_single_calls(single), *goals.of_simulation(runs)]
    judged += [*goals.of_free_motion(free), *goals.of_planning(cores, whole)]
    judged += [*goals.of_flexible(seconds, mapped), *goals.of_sensing(sensed)]
    judged += [*goals.of_shipped(robots), *goals.of_commands(run)]
    judged += goals.of_control(looped)
    judged += [] if code is None else goals.of_exported(code)
    judged += [*goals.of_identification(fitted), *goals.of_limbs(twins)]
    if options.json:
        about = {
            "jax": jax.__version__,
            "pinned_to_core": _CORE,
            "notes": [*notes, *missing, *absent],
        }
        numbers = report.as_json(rows, races, single, runs, free, many, judged)
        numbers |= report.planning_as_json(cores, whole)
        numbers |= report.flexible_as_json(seconds, mapped)
        numbers |= report.shipped_as_json(robots) | report.commands_as_json(run)
        numbers |= {"sensing": sensed._asdict(), "control": looped._asdict()}
        numbers |= {} if code is None else {"exported": code._asdict()}
        numbers |= {"identification": fitted._asdict()}
        numbers |= {"limbs": [twin._asdict() for twin in twins]}
        print(json.dumps({**about, **numbers}, indent=1))
    else:
        where = "pinned to one core" if _CORE is not None else "not pinned"
        console.print(report.kinematics(rows, where))
        console.print(report.inverse_dynamics(races, where))
        console.print(report.single_calls(single, where))
        console.print(report.simulation(runs, where))
        console.print(report.free_motion(free, where))
        console.print(report.many_accelerations(many, where))
        console.print(report.planning(cores, whole, where))
        console.print(report.flexible(seconds, mapped, where))
        for table in report.shipped(robots, where):
            console.print(table)
        console.print(report.limbs(twins, where))
        console.print(report.commands(run))
        for goal in judged:
            console.print(goal.sentence())
    failure = goals.fails(races)
    if failure is not None:
        sys.exit(failure)


def _kinematics(rounds: int) -> tuple[tuple[ik.Row, ...], str, bool]:
    """Rows of kinematics, what they are compared with, and whether that is compiled C."""
    solver, reference = ik.c_inverse(ik.robot()), "C loop"
    compiled = solver is not None
    if solver is None:
        solver, reference = ik.numpy_inverse(ik.robot()), "NumPy loop over limbs"
    rows = tuple(ik.measurements(rounds=rounds, reference=reference, solver=solver))
    return rows, reference, compiled


def _exported(rounds: int) -> tuple[exported.Exported | None, tuple[str, ...]]:
    """What exported code takes; or why there is nothing, in a sentence."""
    try:
        found = exported.exported(rounds=rounds)
    except OSError as error:
        return None, (f"Exported code: {error}.",)
    return found, tuple(f"{note}." for note in found.notes)


def _commands(rounds: int) -> tuple[tuple[commands.Taken, ...], tuple[str, ...]]:
    """What commands take; or why there is nothing, in a sentence."""
    try:
        return commands.commands(rounds=rounds), ()
    except OSError as error:
        return (), (f"Commands: {error}.",)


if __name__ == "__main__":
    main()
