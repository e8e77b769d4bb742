"""The data sheet of a robot as one page of HTML: what it is, where it goes, what that takes.

What a file does not allow is said in a sentence where the numbers would stand.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from triskele.compliant.stiffness import modes_by_drives, moving_coordinates
from triskele.description.schema import Robot
from triskele.dynamics.torques import strut_word
from triskele.errors import TriskeleError
from triskele.flexible.modes import energies, modes, platform_stiffness, sag
from triskele.flexible.robot import bending
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.kinematics.workspace import guaranteed_room, workspace
from triskele.numerics import stacked
from triskele.planning.cycle import Cycle, shown_cycle
from triskele.reports.datasheet import Datasheet, shown, state_rows
from triskele.reports.figures import robot_figure, workspace_figure
from triskele.reports.load_figures import demands_figure
from triskele.reports.page import (
    Marked,
    Text,
    assumption_table,
    heading,
    image,
    page,
    paragraph,
    table,
)
from triskele.reports.vibration_figures import modes_figure
from triskele.units import display

Progress = Callable[[float], None]
_COUNT = 8  #: modes
_AXES = ("x", "y", "z", "about x", "about y", "about z")
_EFFORTS = {"N m": "torque", "N": "force"}


class _Asked(NamedTuple):
    """What a section is made from."""

    sheet: Datasheet
    report: Progress  #: how much of the section is done

    @property
    def robot(self) -> Robot:
        """As its file says."""
        return self.sheet.robot

    @property
    def mechanism(self) -> AbstractMechanism:
        """Of the robot."""
        return self.sheet.mechanism

    @property
    def home(self) -> np.ndarray:
        """Where the robot is looked at."""
        return np.asarray(stacked(self.mechanism.home()))


def datasheet_page(sheet: Datasheet, version: str, progress: Progress | None = None) -> str:
    """The page; it needs no other file."""
    report = progress or (lambda part: None)
    sections = {
        "Geometry": _geometry,
        "At home": _state,
        "Workspace": _workspace,
        "Torques and loads": _cycle,
        "Payloads": _payloads,
        "Stiffness": _stiffness,
        "Natural frequencies": _modes,
        "Assumptions": _assumptions,
    }
    summary = sheet.robot.summary
    parts = [
        paragraph(summary) if summary else "",
        paragraph(f"{sheet.robot.name}, a {sheet.robot.kind} robot; triskele {version}.", "quiet"),
        image(
            robot_figure(sheet.robot, sheet.mechanism, np.asarray(stacked(sheet.mechanism.home())))
        ),
    ]
    for k, (title, make) in enumerate(sections.items()):

        def within(part: float, k: int = k) -> None:
            report((k + part) / len(sections))

        parts.append(heading(title))
        try:
            parts += make(_Asked(sheet, within))
        except TriskeleError as error:
            parts.append(paragraph(_sentence(str(error))))
        within(1.0)
    return page(sheet.robot.title, *parts)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


def _geometry(asked: _Asked) -> list[str]:
    rows = [
        (fact.key.removeprefix("geometry."), fact.text, fact.reason)
        for fact in asked.robot.facts
        if fact.key.startswith("geometry.")
    ]
    return [table(("quantity", "value", "source"), rows)]


def _state(asked: _Asked) -> list[str]:
    sheet = asked.sheet
    return [
        table(("", "value", ""), state_rows(sheet)),
        *(paragraph(problem, "bad") for problem in sheet.problems),
        *(paragraph(f"Suspicious: {remark}", "odd") for remark in sheet.remarks),
    ]


def _workspace(asked: _Asked) -> list[str]:
    robot, mechanism = asked.robot, asked.mechanism
    space = workspace(mechanism, robot.limits, progress=asked.report)
    rows = []
    for name, unit, (low, high) in zip(space.names, space.units, space.bounds, strict=True):
        factor, word = display(unit)
        rows.append((name, f"{factor * low:.4g}", f"{factor * high:.4g}", word))
    unit = space.unit.replace("^3", "³").replace("^2", "²")
    size = f"{space.measure.capitalize()} {space.volume:.4g} {unit} (± {space.uncertainty:.1g})"
    held = f", at {_pose(*zip(*space.held, strict=True))}" if space.held else ""
    return [
        paragraph(f"{size}{held}."),
        table(("coordinate", "least", "greatest", "unit"), rows),
        _cylinder(asked),
        image(workspace_figure(robot, mechanism, space, asked.home)),
    ]


def _cylinder(asked: _Asked) -> str:
    """Whether the cylinder that the file declares can be reached."""
    found = guaranteed_room(asked.mechanism, asked.robot.limits)
    if found is None:
        return ""
    if found.reason is None:
        return paragraph("The cylinder that the file declares is reachable everywhere.")
    at = _pose(asked.mechanism.platform_coordinates, found.pose)
    text = f"The cylinder that the file declares is not reachable everywhere: at {at}"
    return paragraph(f"{text}, {found.reason}.", "bad")


def _pose(coordinates: Iterable[Coordinate], x: Iterable[float]) -> str:
    """Such as z = 12.3 mm, psi = 4 deg."""
    places = zip(coordinates, x, strict=True)
    return ", ".join(f"{c.name} = {shown(float(value), c.unit)}" for c, value in places)


# Torques


def _cycle(asked: _Asked) -> list[str]:
    found = shown_cycle(asked.robot, progress=asked.report)
    first = found.demands[0]
    way = "the way there" if len(found.demands) > 1 else found.title
    return [
        paragraph(
            f"{found.title[0].upper()}{found.title[1:]}, without payload: {_duration(found)}"
        ),
        paragraph(found.remark) if found.remark else "",
        _drives(asked, found),
        image(demands_figure(asked.robot, asked.mechanism, first), f"Along {way}"),
        heading(f"{strut_word(asked.mechanism).capitalize()} loads", 3),
        *_struts(asked, found),
        heading("Limits, and how much of each is used", 3),
        *_limits(found),
    ]


def _duration(found: Cycle) -> str:
    if len(found.demands) == 1:
        return f"{found.duration:.4g} s."
    return f"{found.duration:.4g} s, {60 / found.duration:.1f} cycles per minute."


def _drives(asked: _Asked, found: Cycle) -> str:
    rows = []
    for k, joint in enumerate(asked.mechanism.joint_coordinates):
        numbers = (f"{values[k]:.4g}" for values in (found.peak, found.rms))
        rows.append(
            (f"motor {k + 1}", *numbers, _effort(joint), f"{found.speed[k]:.4g}", f"{joint.unit}/s")
        )
    return table(("drive", "peak", "RMS", "unit", "peak speed", "unit"), rows)


def _struts(asked: _Asked, found: Cycle) -> list[str]:
    ways = [item.loads for item in found.demands]
    loads = [item for item in ways if item is not None]
    if not loads:
        return [paragraph("Its joints are springs, of which no loads are given.")]
    rods = [item.rods for item in loads if item.rods is not None]
    if not rods:
        return [paragraph("Between two joints it has no rod or strut to load.")]
    largest = np.array([item.largest for item in rods])
    peak = largest[np.abs(largest).argmax(axis=0), np.arange(largest.shape[1])]
    across = np.max(
        [np.maximum(item.lower_lateral, item.upper_lateral).max(axis=0) for item in rods], axis=0
    )
    rows = [
        (name.replace("_", " "), f"{a:.4g}", f"{b:.4g}")
        for name, a, b in zip(rods[0].names, peak, across, strict=True)
    ]
    bearing, tilting = (
        float(np.max([getattr(item, key).max() for item in loads]))
        for key in ("bearing_force", "bearing_moment")
    )
    share = "Redundant joints share these loads; rigid bodies do not tell how: the least are shown."
    return [
        table((strut_word(asked.mechanism), "peak tension [N]", "across [N]"), rows),
        paragraph("A tension below zero is compression.") if (peak < 0).any() else "",
        paragraph(f"Bearings of the drives carry up to {bearing:.4g} N and {tilting:.4g} N m."),
        "" if rods[0].unique else paragraph(share),
    ]


def _limits(found: Cycle) -> list[str]:
    if not found.limits:
        return [paragraph("The file states no limits.")]
    rows: list[Sequence[Text]] = [
        (
            use.limit.label,
            f"{use.worst:.4g}",
            f"{use.allowed:.4g}",
            use.limit.unit,
            Marked(f"{100 * use.use:.0f}", "bad" if use.exceeded else ""),
        )
        for use in found.limits
    ]
    return [table(("limit", "asked for", "allowed", "unit", "use [%]"), rows)]


def _payloads(asked: _Asked) -> list[str]:
    payloads = asked.robot.payloads
    if not payloads:
        return [paragraph("The file names no payloads.")]
    joints = asked.mechanism.joint_coordinates
    alike = {
        unit: [k for k, joint in enumerate(joints) if _effort(joint) == unit] for unit in _EFFORTS
    }
    header = ["payload", "mass [kg]", "centre of mass [mm]", "cycles per minute"]
    header += [f"peak {_EFFORTS[unit]} [{unit}]" for unit, drives in alike.items() if drives]
    rows = []
    for k, (name, payload) in enumerate(payloads.items()):

        def within(part: float, k: int = k) -> None:
            asked.report((k + part) / len(payloads))

        found = shown_cycle(asked.robot, payload, within)
        loads = [item.loads for item in found.demands]
        forces = [item.rods.peak.max() for item in loads if item is not None and item.rods]
        rated = f"{60 / found.duration:.1f}" if not found.remark else "-"
        rows.append(
            (
                name.replace("_", " "),
                f"{payload.mass:g}",
                ", ".join(f"{1e3 * value:g}" for value in payload.centre_of_mass),
                rated,
                *(f"{found.peak[drives].max():.4g}" for drives in alike.values() if drives),
                *([f"{max(forces):.4g}"] if forces else []),
            )
        )
    if len(rows[0]) > len(header):
        header.append(f"peak {strut_word(asked.mechanism)} force [N]")
    return [table(header, rows)]


def _effort(joint: Coordinate) -> str:
    """The unit of what drives a joint."""
    return "N m" if joint.unit == "rad" else "N"


# Springs


def _stiffness(asked: _Asked) -> list[str]:
    model = bending(asked.robot)
    if model is None:
        return _sprung(asked)
    units = ["m"] * 3 + ["rad"] * 3
    at = _pose(asked.mechanism.platform_coordinates, asked.home)
    x, y, z = (f"{_millimetres(value):.3f}" for value in sag(model, asked.home).position)
    return [
        paragraph(f"Of the platform at home ({at}), motors held:"),
        _matrix(list(_AXES), units, platform_stiffness(model, asked.home)),
        paragraph(f"It sags under its weight by ({x}, {y}, {z}) mm."),
    ]


def _sprung(asked: _Asked) -> list[str]:
    """Stiffness of flexures, couplings and rods that stretch; each once."""
    names, units = zip(*asked.mechanism.platform_coordinates, strict=True)
    parts, known = [], []
    for title, found in modes_by_drives(asked.robot, None, asked.home).items():
        K = found.stiffness
        if K is None:
            parts.append(paragraph(f"At home, {title}: some way of the platform is held rigidly."))
        elif not any(np.allclose(K, other) for other in known):
            parts += [paragraph(f"At home, {title}:"), _matrix(names, units, K)]
            known.append(K)
    return parts


def _millimetres(value: object) -> float:
    """Rounded, without a negative zero."""
    return round(1e3 * float(np.asarray(value)), 3) + 0.0


def _matrix(names: Sequence[str], units: Sequence[str], K: np.ndarray) -> str:
    """A stiffness, rows and columns by coordinate; entries that are rounding only are 0."""
    sizes = np.sqrt(np.abs(np.diag(K)))
    small = np.abs(K) < 1e-6 * np.outer(sizes, sizes)
    rows = []
    for name, unit, values, tiny in zip(names, units, K, small, strict=True):
        effort = "N" if unit == "m" else "N m"
        cells = ("0" if zero else f"{value:.4g}" for value, zero in zip(values, tiny, strict=True))
        rows.append((f"{name} [{effort}]", *cells))
    header = [f"per {unit} {name}" for name, unit in zip(names, units, strict=True)]
    return table(("", *header), rows)


def _modes(asked: _Asked) -> list[str]:
    model = bending(asked.robot)
    if model is None:
        rows = [
            (title, f"{f:.4g}", ", ".join(moving))
            for title, found in modes_by_drives(asked.robot, None, asked.home).items()
            for f, moving in zip(
                found.frequencies, moving_coordinates(asked.mechanism, found), strict=True
            )
        ]
        return [table(("at home", "frequency [Hz]", "platform moves"), rows)]
    found = modes(model, asked.home, count=_COUNT)
    hertz = np.asarray(found.frequencies) / (2 * np.pi)
    moving = energies(model, found)
    rows = [
        (str(k), f"{f:.4g}", way, *(f"{100 * max(share, 0.0):.1f}" for share in shares))
        for k, (f, way, shares) in enumerate(
            zip(hertz, found.directions, moving.shares, strict=True), 1
        )
    ]
    header = ("mode", "frequency [Hz]", "platform moves")
    gears = "rigid" if model.gears is None else "as soft as the file has them"
    return [
        paragraph(f"At home, motors held, gears {gears}. Parts of kinetic energy by body."),
        table((*header, *(f"{name} [%]" for name in moving.bodies)), rows),
        image(modes_figure(asked.robot, model, found)),
    ]


def _assumptions(asked: _Asked) -> list[str]:
    facts = asked.sheet.assumptions
    if not facts:
        return [paragraph("No number of the file is assumed.")]
    return [assumption_table(facts)]
