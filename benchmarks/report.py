"""The measurements as tables for people and as JSON for programs."""

from collections.abc import Iterable

from rich.table import Table

from benchmarks import flexible as bending
from benchmarks import ik, multibody
from benchmarks import planning as plans
from benchmarks import shipped as robots
from benchmarks.commands import Taken
from benchmarks.dynamics import Race
from benchmarks.goals import Goal
from benchmarks.limbs import Twin
from benchmarks.shipped import Shipped
from benchmarks.simulation import Run

Json = dict[str, object]


def kinematics(rows: tuple[ik.Row, ...], where: str) -> Table:
    """CPU time per pose, one row per candidate."""
    table = Table(
        title="Delta: CPU time per pose in ns (and its ratio to the first row)",
        caption=f"CPU time of all threads, {where}. The first row solves the inverse problem. "
        "Compilation: at the largest N shown.",
    )
    _columns(table, ik.SIZES)
    for name in dict.fromkeys(row.name for row in rows):
        mine = {row.n: row for row in rows if row.name == name}
        cells = [_cell(mine.get(n)) for n in ik.SIZES]
        table.add_row(name, *cells, _seconds(mine[max(mine)].compilation))
    return table


def inverse_dynamics(races: tuple[Race, ...], where: str) -> Table:
    """CPU time per state, one row per candidate."""
    table = Table(
        title="Delta, inverse dynamics: CPU time per state in ns (and its ratio to the first row)",
        caption=f"CPU time of all threads, {where}. Pinocchio and MuJoCo, 12 coordinates and 9 "
        "loops, are given the motion of all joints. acceleration_function is forward dynamics.",
    )
    _columns(table, [race.n for race in races])
    for name in dict.fromkeys(name for race in races for name in race.laps):
        cells = [_time(race, name) for race in races]
        compilation = [race.compilation[name] for race in races if name in race.compilation]
        table.add_row(name, *cells, _seconds(compilation[-1] if compilation else None))
    return table


def single_calls(found: Race, where: str) -> Table:
    """CPU time per call."""
    table = Table(title="One state per call, from Python", caption=f"CPU time, {where}.")
    for title in ("", "us", "ratio"):
        table.add_column(title, justify="right" if title else "left")
    for name, lap in found.laps.items():
        table.add_row(name, f"{1e6 * lap.seconds:.2f}", f"{lap.ratio:.2f}")
    return table


def simulation(runs: tuple[Run, ...], where: str) -> Table:
    """CPU time per simulated second."""
    table = Table(
        title="One simulated second under given torques",
        caption=f"CPU time, {where}. Error: of the platform's position, at most, over the second.",
    )
    for title in ("", "setting", "error in m", "ms", "ratio"):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for run in runs:
        times = f"{1e3 * run.lap.seconds:.3f}", f"{run.lap.ratio:.3g}"
        table.add_row(run.name, run.setting, f"{run.error:.1e}", *times)
    return table


def free_motion(rows: tuple[multibody.Row, ...], where: str) -> Table:
    """CPU time of five simulated seconds, and how well they are simulated."""
    table = Table(
        title="D3S-800 in absolute coordinates, let go: five simulated seconds",
        caption=f"CPU time, {where}. Errors: distance of the platform from a run of ours at "
        "tolerance 1e-12. Energy: its largest change, where kinetic energy is about 100 J.",
    )
    titles = ("", "setting", "error at 1 s in m", "at 5 s", "energy in J", "gap in m", "s", "ratio")
    for title in titles:
        table.add_column(title, justify="right" if title else "left")
    for row in rows:
        numbers = (f"{value:.1e}" for value in row.found)
        times = f"{row.lap.seconds:.2f}", f"{row.lap.ratio:.3g}"
        table.add_row(row.name, row.setting, *numbers, *times)
    return table


def many_accelerations(found: Race, where: str) -> Table:
    """CPU time per state."""
    table = Table(
        title=f"D3S-800, accelerations of {found.n:,} states", caption=f"CPU time, {where}."
    )
    for title in ("", "us per state", "ratio", "compilation"):
        table.add_column(title, justify="right" if title else "left")
    for name, lap in found.laps.items():
        times = f"{1e6 * lap.seconds / found.n:.1f}", f"{lap.ratio:.2f}"
        table.add_row(name, *times, _seconds(found.compilation.get(name)))
    return table


def planning(races: tuple[plans.CoreRace, ...], whole: plans.Whole, where: str) -> Table:
    """CPU time of a profile along a path, at each number of nodes."""
    table = Table(
        title="IRB 360 with its plate, C5(3,6): CPU time of a profile in ms (and its ratio)",
        caption=f"CPU time, {where}. {plans.WHOLE}: {whole.seconds:.2f} s, after a compilation of "
        f"{whole.compilation:.0f} s, for a motion of {whole.duration:.4f} s.",
    )
    table.add_column("")
    for race in races:
        table.add_column(f"{race.n:,} nodes", justify="right", no_wrap=True)
    for name in races[0].laps:
        laps = [race.laps[name] for race in races]
        table.add_row(name, *(f"{1e3 * lap.seconds:.2f} ({lap.ratio:.2f})" for lap in laps))
    return table


def shipped(found: Shipped, where: str) -> tuple[Table, Table]:
    """Torques of the shipped robots, and all else of one of them."""
    torques = Table(
        title=f"Shipped robots, torques of {robots.STATES:,} states and of one, from Python",
        caption=f"CPU time, {where}; in units of {found.reference} of a simpler Delta.",
    )
    for title in ("", "ns per state", "ratio", "one state, us", "into, us"):
        torques.add_column(title, justify="right" if title else "left", no_wrap=True)
    for name in robots.ROBOTS:
        what = (robots.TORQUES, robots.ONE, robots.INTO)
        many, one, into = (found.row(name, part) for part in what)
        if many is not None and one is not None and into is not None:
            times = f"{1e9 * many.per_state:.1f}", f"{many.loops:.2f}"
            singles = (f"{1e6 * row.per_state:.2f}" for row in (one, into))
            torques.add_row(name, *times, *singles)
    more = Table(
        title="Shipped robots: loads, kinematics, and Pinocchio body by body",
        caption=f"CPU time, {where}; Pinocchio is given the motion of all joints, no friction.",
    )
    for title in ("", "robot", "ns per state", "ratio"):
        more.add_column(title, justify="right" if "ns" in title or title == "ratio" else "left")
    for row in found.rows:
        if row.what not in (robots.TORQUES, robots.ONE, robots.INTO):
            times = f"{1e9 * row.per_state:.1f}", f"{row.loops:.2f}"
            more.add_row(row.what, row.robot, *times)
    return torques, more


def shipped_as_json(found: Shipped) -> Json:
    """What was measured of shipped robots, in plain numbers."""
    rows = [
        {
            "robot": row.robot,
            "what": row.what,
            "states": row.states,
            "nanoseconds": 1e9 * row.per_state,
            "ratio": row.loops,
        }
        for row in found.rows
    ]
    slower = {name: found.slower(name) for name in robots.IN_TREES}
    return {"shipped": rows, "shipped_pinocchio_slower": slower}


def limbs(rows: tuple[Twin, ...], where: str) -> Table:
    """CPU time per state of one machine, described twice."""
    table = Table(title="One machine by its own class and as limbs", caption=f"CPU time, {where}.")
    for title in ("", "robot", "own, ns per state", "limbs, ns per state", "ratio"):
        table.add_column(title, justify="left" if title in ("", "robot") else "right")
    for row in rows:
        times = (f"{1e9 * seconds:.1f}" for seconds in (row.own, row.limbs))
        table.add_row(row.what, row.robot, *times, f"{row.ratio:.2f}")
    return table


def commands(rows: tuple[Taken, ...]) -> Table:
    """Wall time per command."""
    table = Table(
        title='Commands, wall time in units of python -c "import jax" (and in s)',
        caption="Cold: the cache of laws is empty. Warm: the next run. On all cores.",
    )
    for title in ("triskele", "cold", "goal", "warm", "goal"):
        table.add_column(title, justify="left" if title == "triskele" else "right", no_wrap=True)
    for row in rows:
        cells = [f"{row.cold:.2f} ({row.cold_seconds:.1f})", f"{row.command.cold:g}"]
        cells += [f"{row.warm:.2f} ({row.warm_seconds:.1f})", f"{row.command.warm:g}"]
        table.add_row(row.command.title, *cells)
    return table


def commands_as_json(rows: tuple[Taken, ...]) -> Json:
    """What was measured of commands, in plain numbers."""
    return {"commands": [{**row._asdict(), "command": row.command.words} for row in rows]}


def flexible(rows: tuple[bending.Second, ...], mapped: bending.Map, where: str) -> Table:
    """CPU time of a simulated second, one row per model."""
    table = Table(
        title="Flexible Delta round its circle: CPU time of a second in 1000 steps",
        caption=f"CPU time, {where}. {mapped.poses:,} poses of a map: {mapped.seconds:.2f} s.",
    )
    for name in ("", "unknowns", "ms", "times real time", "error [%]", "compilation [s]"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for row in rows:
        error = "" if row.error is None else f"{100 * row.error:.2g}"
        times = f"{1 / row.seconds:.1f}"
        cells = (f"{1e3 * row.seconds:.0f}", times, error, f"{row.compilation:.0f}")
        table.add_row(row.name, str(row.unknowns), *cells)
    return table


def flexible_as_json(rows: tuple[bending.Second, ...], mapped: bending.Map) -> Json:
    """What was measured of flexible robots, in plain numbers."""
    return {"flexible": [row._asdict() for row in rows], "frequency_map": mapped._asdict()}


def planning_as_json(races: tuple[plans.CoreRace, ...], whole: plans.Whole) -> Json:
    """What was measured of plans, in plain numbers."""
    cores = [
        {
            "name": name,
            "nodes": race.n,
            "milliseconds": 1e3 * lap.seconds,
            "ratio": lap.ratio,
            "duration": race.durations[name],
        }
        for race in races
        for name, lap in race.laps.items()
    ]
    return {"planning": cores, "whole_plan": whole._asdict()}


def as_json(
    rows: tuple[ik.Row, ...],
    races: tuple[Race, ...],
    single: Race,
    runs: tuple[Run, ...],
    free: tuple[multibody.Row, ...],
    many: Race,
    goals: Iterable[Goal],
) -> Json:
    """Everything measured, in plain numbers."""
    return {
        "goals": [{**goal._asdict(), "meets": goal.meets} for goal in goals],
        "kinematics": [row._asdict() for row in rows],
        "inverse_dynamics": [row for race in races for row in _rows(race)],
        "single_calls": _rows(single),
        "simulation": [
            {
                "name": run.name,
                "setting": run.setting,
                "error": run.error,
                "milliseconds": 1e3 * run.lap.seconds,
                "ratio": run.lap.ratio,
            }
            for run in runs
        ],
        "free_motion": [
            {
                "name": row.name,
                "setting": row.setting,
                **row.found._asdict(),
                "seconds": row.lap.seconds,
                "ratio": row.lap.ratio,
            }
            for row in free
        ],
        "many_accelerations": _rows(many),
    }


def _rows(race: Race) -> list[Json]:
    return [
        {
            "name": name,
            "n": race.n,
            "nanoseconds": 1e9 * lap.seconds / race.n,
            "ratio": lap.ratio,
            "compilation": race.compilation.get(name),
        }
        for name, lap in race.laps.items()
    ]


def _columns(table: Table, sizes: Iterable[int]) -> None:
    table.add_column("")
    for n in sizes:
        table.add_column(f"N = {n:,}", justify="right", no_wrap=True)
    table.add_column("compilation", justify="right")


def _cell(row: ik.Row | None) -> str:
    return "-" if row is None else f"{row.nanoseconds:.1f} ({row.ratio:.2f})"


def _time(race: Race, name: str) -> str:
    lap = race.laps.get(name)
    return "-" if lap is None else f"{1e9 * lap.seconds / race.n:.1f} ({lap.ratio:.2f})"


def _seconds(compilation: float | None) -> str:
    return "-" if compilation is None else f"{compilation:.2f} s"
