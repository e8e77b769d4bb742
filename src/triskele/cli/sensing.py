"""The commands `sense` and `encoders`: what encoders know about bending rods."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from triskele.cli.inputs import AsJson, RobotName, built, positive, whole
from triskele.cli.output import (
    TABLES,
    give,
    note,
    note_assumptions,
    output_path,
    print_rows,
    progress_bar,
    table_and_figure,
    write_columns,
)
from triskele.cli.payloads import Carried, CarriedCentre, CarriedInertia, carried_payload
from triskele.cli.shapes import Asked, checked, made, option, shaped
from triskele.errors import InputError, UnknownName, did_you_mean

if TYPE_CHECKING:
    from triskele.description.schema import Payload, Robot
    from triskele.sensing.sense import Sensed
    from triskele.sensing.trial import EncoderTrial, Truth

_SHOWN = 4  #: contributions to a deviation that are printed
_FACTS = ("geometry", "bodies.rod", "bodies.platform", "sections", "materials", "encoders")
LogFile = Annotated[Path, typer.Option("--log", help="Table of encoders (.csv, .parquet).")]
Sensor = Annotated[str, typer.Option(help="modal, chord or observer.")]
Ends = Annotated[str, typer.Option(help="Ends of the modal sensor's rods, as clamped-free.")]
Closure = Annotated[str, typer.Option(help="corrected, bent, published or rigid.")]
Window = Annotated[
    int | None,
    typer.Option(
        help="Samples that rates are taken from.",
        show_default="by the rods' own vibration",
        parser=whole,
        metavar="<int>",
    ),
]
Table_ = Annotated[
    Path | None, typer.Option(help="Write a table (.csv, .parquet, .json), or a figure.")
]
Drawing = Annotated[Path | None, typer.Option(help="Write a figure as well.")]
Blind = Annotated[
    bool, typer.Option("--motors-only", help="The observer, without passive encoders.")
]


Fitting = Annotated[
    str | None,
    typer.Option("--fit", help="Find zeros of encoders, or E of the rods: zeros, E or zeros,E."),
]


def sense(
    robot: RobotName,
    log: LogFile,
    sensor: Sensor = "chord",
    ends: Ends = "pinned-pinned",
    closure: Closure = "corrected",
    motors_only: Blind = False,
    window: Window = None,
    unknown: Annotated[str | None, option("What the observer's model misses.", "0.1 m/s^2")] = None,
    memory: Annotated[str | None, option("For how long that persists.", "0.1 s")] = None,
    noise: Annotated[str | None, option("Of its encoders, beyond their bits.", "1e-4 rad")] = None,
    fit: Fitting = None,
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    json: AsJson = False,
    out: Table_ = None,
    figure: Drawing = None,
) -> None:
    """Deflection of the rods, and the true position of the tool, from a log of encoders.

    The log has t [s], q1 to q3 [rad] of the motors, and wrist1 to wrist3 [rad], or elbow1 to
    elbow3, of encoders on passive joints. Every +- is one standard deviation.

    Example: triskele sense omron_mini_delta_platens --log log.csv --out sensed.csv
    """
    from triskele.description.tables import read_table
    from triskele.sensing.observer import USUAL, Tuning
    from triskele.sensing.sense import sense as sensed_by

    table, drawing = table_and_figure(out, figure, *TABLES, ".json")
    _check_options(sensor, ends, unknown or memory or noise, motors_only=motors_only)
    described, _ = built(robot)
    tuning = Tuning(
        positive(unknown, "m/s^2", "--unknown", float(USUAL.unknown)),
        positive(memory, "s", "--memory", float(USUAL.memory)),
        positive(noise, "rad", "--noise", float(USUAL.noise)),
    )
    found = sensed_by(
        described,
        read_table(log),
        sensor,
        carried_payload(described, payload, payload_centre, payload_inertia),
        ends=ends,
        closure=closure,
        window=window,
        tuning=tuning,
        encoders=not motors_only,
        fit=_fitting(fit),
    )
    _write_sensed(described, found, table, drawing)
    data = _summary(described.name, found)
    give(data, None, json, lambda: _print_sensed(data))
    _note_perfect(described)
    _note_log(found)
    note_assumptions(described.assumptions(*_FACTS), robot)


def _check_options(sensor: str, ends: str, tuned: str | None, *, motors_only: bool) -> None:
    """Options that would be passed over are mistakes."""
    if ends != "pinned-pinned" and sensor != "modal":
        raise InputError("--ends are those of --sensor modal; others know how rods are held.")
    if tuned and sensor != "observer":
        raise InputError("--unknown, --memory and --noise tune --sensor observer, no other.")
    if motors_only and sensor != "observer":
        raise InputError("--motors-only is for --sensor observer; others need passive encoders.")


def _note_perfect(robot: "Robot") -> None:
    """Say which encoders have no bits in the file: their share of uncertainty is not known."""
    for key, whose in (("motor_bits", "motors"), ("passive_bits", "passive joints")):
        if getattr(robot.encoders, key, None) is None:
            note(
                f"note: encoders.{key} is not in the file; encoders of {whose} count as fine as "
                "the log shows"
            )


def _fitting(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(part.strip() for part in text.split(","))


def _write_sensed(
    robot: "Robot", found: "Sensed", table: Path | None, drawing: Path | None
) -> None:
    if table is not None:
        write_columns(found.to_table(), table)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.sensing_figures import sensed_figure

        note(f"wrote {save_figure(sensed_figure(robot, found), drawing)}")


def _note_log(found: "Sensed") -> None:
    """Remarks on the log, and which standard deviations are usual ones, not those of the file."""
    for remark in found.remarks:
        note(f"note: {remark}")
    fitted = () if found.fit is None else found.fit.keys
    stated = [each for each in found.deviations.assumptions if each.key not in fitted]
    if stated:
        values = ", ".join(f"{each.key} = {each.text}" for each in stated)
        note(f"assumed, not in the file: {values}")


def _summary(name: str, found: "Sensed") -> dict:
    import numpy as np

    from triskele.sensing.trial import EDGE

    edge = EDGE if len(found.t) > 4 * EDGE else 0

    def largest(values: np.ndarray) -> list[float]:
        return np.abs(values[edge : len(values) - edge]).max(axis=0).tolist()

    moved = np.linalg.norm(found.tool - found.rigid, axis=1)
    data = {
        "robot": name,
        "sensor": found.sensor,
        "samples": len(found.t),
        "duration": {"value": float(found.t[-1] - found.t[0]), "unit": "s"},
        "deflection": {"unit": "m", "largest": largest(found.deflection)},
        "deviation": {"unit": "m", "largest": largest(found.deflection_deviation)},
        "speed": {"unit": "m/s", "largest": largest(found.speed)},
        "speed_deviation": {"unit": "m/s", "largest": largest(found.speed_deviation)},
        "acceleration": {"unit": "m/s^2", "largest": largest(found.acceleration)},
        "acceleration_deviation": {
            "unit": "m/s^2",
            "largest": largest(found.acceleration_deviation),
        },
        "tool": {
            "unit": "m",
            "from_rigid": float(moved.max()),
            "deviation": float(np.linalg.norm(found.tool_deviation, axis=1).max()),
        },
        "contributions": [item._asdict() for item in found.contributions],
        "assumed_deviations": {each.key: each.value for each in found.deviations.assumptions},
        "remarks": list(found.remarks),
    }
    if found.fit is not None:
        data["fit"] = [item._asdict() | {"seen": item.seen} for item in found.fit.found]
    return data


def _print_sensed(data: dict) -> None:
    rows = []
    for i in range(3):
        values = [data[key]["largest"][i] for key in ("deflection", "deviation")]
        rates = ("speed", "speed_deviation", "acceleration", "acceleration_deviation")
        rows.append(
            (
                f"limb {i + 1}",
                *(f"{1e3 * value:.4f}" for value in values),
                *(f"{data[key]['largest'][i]:.4g}" for key in rates),
            )
        )
    typer.echo(
        f"{data['sensor']} sensor, {data['samples']} samples in {data['duration']['value']:g} s"
    )
    header = ("largest", "deflection mm", "+- mm", "speed m/s", "+- m/s")
    print_rows(rows, (*header, "acceleration m/s^2", "+- m/s^2"))
    tool = data["tool"]
    typer.echo(
        f"tool: up to {1e6 * tool['from_rigid']:.2f} um from where rigid rods would hold it, "
        f"+- {1e6 * tool['deviation']:.2f} um"
    )
    for key, what in (("deflection", "+- of deflections"), ("tool", "+- of the tool")):
        parts = sorted(data["contributions"], key=lambda item: -item[key])[:_SHOWN]
        shown = ", ".join(f"{i['name']} {100 * i[key]:.0f} %" for i in parts if i[key] >= 5e-3)
        typer.echo(f"{what}, parts of the variance: {shown or 'none'}")
    _print_fit(data.get("fit", ()))


def _print_fit(fitted: "Sequence[dict]") -> None:
    """Zeros in degrees and E in percent, and whether the log says more than the file."""
    if not fitted:
        return
    rows = []
    for item in fitted:
        zero = item["unit"] == "rad"
        scale = math.degrees(1.0) if zero else 100.0
        name = f"zero of {item['name']} [deg]" if zero else "E against the file [%]"
        numbers = (f"{scale * item[key]:.4f}" for key in ("value", "deviation", "before"))
        rows.append((name, *numbers, "yes" if item["seen"] else "no"))
    print_rows(rows, ("fitted", "value", "+-", "+- before", "seen"))


# Which encoder?


def _numbers(text: str, place: str) -> list[int]:
    """`12,14,16` or `12-23`."""
    from triskele.sensing.encoder import MOST_BITS

    found = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            ends = int(first), int(last) if dash else int(first)
        except ValueError:
            raise InputError(f"{place} is '{text}'; write 12,14,16 or 12-23.") from None
        found += range(ends[0], ends[1] + 1)
    if not found or min(found) < 1 or max(found) > MOST_BITS:
        raise InputError(f"{place} is '{text}'; write 12,14,16 or 12-23, from 1 to {MOST_BITS}.")
    return found


def _named(text: str) -> tuple[str, ...]:
    from triskele.sensing.sense import SENSORS

    names = tuple(part.strip() for part in text.split(","))
    for name in names:
        if name not in SENSORS:
            raise UnknownName(f"No sensor is called '{name}'. {did_you_mean(name, SENSORS)}")
    return names


@shaped
def encoders(
    robot: RobotName,
    motion: Annotated[str, typer.Option(help="Kind of motion, or a table.")] = "pick-and-place",
    bits: Annotated[str, typer.Option(help="Bits of the encoders at the wrists.")] = "12-23",
    rates: Annotated[str | None, option("Of sampling [Hz], as 500,1000.", "the file's")] = None,
    sensors: Annotated[str, typer.Option(help="Sensors to be tried.")] = "chord,observer",
    payload: Carried = None,
    payload_centre: CarriedCentre = None,
    payload_inertia: CarriedInertia = None,
    options: "Mapping[str, str | int]" = {},  # noqa: B006 (replaced by `shaped`)
    log: Annotated[Path | None, typer.Option(help="Write what they would log (.csv).")] = None,
    json: AsJson = False,
    out: Table_ = None,
    figure: Drawing = None,
) -> None:
    """Which encoder do I need? Errors of sensors against bits and sampling rate.

    The truth is a simulation of the flexible robot along a motion.

    Example: triskele encoders omron_mini_delta_platens --length 0.2 --duration 0.5
    """
    table, drawing = table_and_figure(out, figure, *TABLES, ".json")
    written = output_path(log, *TABLES)
    asked = Asked(*built(robot), options)
    finest, every = _sampling(asked, rates)
    counts, named = _numbers(bits, "--bits"), _named(sensors)
    carried = carried_payload(asked.robot, payload, payload_centre, payload_inertia)
    from triskele.description.schema import Encoders
    from triskele.sensing.trial import encoder_trials

    truth = _simulated(asked._replace(options={**options, "rate": str(finest)}), motion, carried)
    with progress_bar("sensors") as report:
        rows = encoder_trials(
            *(asked.robot, truth, carried),
            sensors=named,
            bits=counts,
            every=every,
            progress=report,
        )
    if table is not None:
        _write_trials(rows, table)
    if written is not None:
        fine = asked.robot.encoders or Encoders()
        write_columns(truth.log(bits=fine.passive_bits, motor_bits=fine.motor_bits), written)
    if drawing is not None:
        from triskele.reports.figures import save_figure
        from triskele.reports.sensing_figures import encoders_figure

        note(f"wrote {save_figure(encoders_figure(asked.robot, rows), drawing)}")
    largest = float(abs(truth.deflection).max())
    data = {
        "robot": asked.robot.name,
        "motion": motion,
        "largest_deflection": {"value": largest, "unit": "m"},
        "rows": [_as_row(row) for row in rows],
    }
    give(data, None, json, lambda: _print_trials(data))
    note_assumptions(asked.robot.assumptions(*_FACTS), robot)


def _simulated(asked: Asked, motion: str, carried: "Payload | None") -> "Truth":
    from triskele.sensing.rods import soft_rods
    from triskele.sensing.trial import simulated

    soft_rods(asked.robot, carried)  # says if there are none, before any motion is made
    samples = made(asked, motion)
    beyond = checked(asked, samples)
    if beyond:
        note(f"note: {beyond}")
    with progress_bar("simulation") as report:
        return simulated(asked.robot, samples, carried, progress=report)


def _sampling(asked: Asked, rates: str | None) -> tuple[float, list[int]]:
    """The finest rate [Hz], and of which of its samples each rate consists."""
    given = getattr(asked.robot.encoders, "sampling_period", None)
    wanted = [1 / given if given and "rate" not in asked.options else asked.rate]
    if rates is not None:
        if "rate" in asked.options:
            raise InputError("--rates and --rate exclude one another.")
        wanted = [positive(rate, "Hz", "--rates", 0.0) for rate in rates.split(",")]
    finest = max(wanted)
    every = [round(finest / rate) for rate in wanted]
    if any(abs(finest / rate / k - 1) > 1e-6 for rate, k in zip(wanted, every, strict=True)):
        raise InputError(
            f"--rates: all must be {finest:g} Hz, or a half, a third, ... of it, not {rates}."
        )
    return finest, every


def _as_row(row: "EncoderTrial") -> dict:
    return {
        "sensor": row.sensor,
        "bits": row.bits,
        "rate": row.rate,
        "deflection": row.errors.deflection,
        "speed": row.errors.speed,
        "acceleration": row.errors.acceleration,
    }


def _print_trials(data: dict) -> None:
    largest = 1e3 * data["largest_deflection"]["value"]
    typer.echo(f"largest deflection {largest:.3g} mm; largest errors in % of the largest signal")
    rows = [
        (
            row["sensor"],
            f"{row['rate']:g}",
            str(row["bits"]),
            *(f"{100 * row[key]:.3g}" for key in ("deflection", "speed", "acceleration")),
        )
        for row in data["rows"]
    ]
    print_rows(rows, ("sensor", "Hz", "bits", "deflection %", "speed %", "acceleration %"))


def _write_trials(rows: "list[EncoderTrial]", path: Path) -> None:
    import numpy as np

    from triskele.description.tables import Table

    names = sorted({row.sensor for row in rows})
    columns: dict = {
        "sensor": ("1", np.array([float(names.index(row.sensor)) for row in rows])),
        "bits": ("1", np.array([float(row.bits or 0) for row in rows])),
        "rate": ("Hz", np.array([row.rate for row in rows])),
    }
    for key in ("deflection", "speed", "acceleration"):
        columns[f"{key}_error"] = ("1", np.array([getattr(row.errors, key) for row in rows]))
    note("sensors in the table: " + ", ".join(f"{k} = {name}" for k, name in enumerate(names)))
    write_columns(Table(columns, "encoders"), path)
