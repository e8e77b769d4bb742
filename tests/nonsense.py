"""Robot and mechanism files that nobody can mean: a seeded list, and whether `check` speaks up.

Two kinds. Slips: one number of a shipped file or template a thousand times too large or too small,
as where mm is taken for m, or g for kg; `MAY_BE_SMALL` and `MAY_BE_ANYTHING` have the keys where
that is no nonsense. Statements: impossible robots, written by hand.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from triskele.description import catalogue
from triskele.description.load import parse_any
from triskele.description.mechanism import Mechanism
from triskele.doctor.mechanisms import mechanism_remarks
from triskele.errors import TriskeleError
from triskele.reports.datasheet import datasheet
from triskele.units import parse_unit

SLIP = 1000.0
#: Keys that may be a thousandth of what a file has: nothing is too small there.
MAY_BE_SMALL = """
    coulomb viscous stribeck saturating smoothing_speed stribeck_speed saturating_speed damping
    coupling_damping damping_ratio mass_tolerance centre_tolerance margin singularity_margin
    centre_of_mass first_moment flange_height mounting_height upper_joint_height position home
    lower_joint_height point child_point torque force moment amplitude speed frequency rest
    arm_moment_z load_inertia reflected_inertia rotor_inertia coulomb_speed inner_radius base end
    level connector_offset
""".split()
#: Keys that may be anything: angles count in turns, and of directions only the direction.
MAY_BE_ANYTHING = """
    azimuth around end_around home_angles orientation phase start axis child_axis zero child_zero
    rail across pair rest_angle gravity_direction half link
""".split()
_LINE = re.compile(r"(?m)^(\w+)(\s*=\s*)(.*?)(\s*(?:#.*)?)$")
_SECTION = re.compile(r"\[+([\w.]+)\]+")
_NUMBER = re.compile(r"(?<![\w.^])-?\d+\.?\d*(?:[eE][-+]?\d+)?")
EXAMPLES = Path(__file__).parents[1] / "examples"


class Nonsense(NamedTuple):
    """A file that cannot be meant."""

    name: str
    text: str


def sources() -> dict[str, str]:
    """Shipped robots, templates and example mechanisms, by name."""
    found = {name: catalogue.text(name) for name in catalogue.names()}
    found |= {f"template {name}": catalogue.template(name) for name in catalogue.templates()}
    stewart = EXAMPLES / "mechanisms" / "stewart_platform.toml"
    return found | {"stewart_platform": stewart.read_text(encoding="utf-8")}


def slips() -> list[Nonsense]:
    """Every number of every source, a thousand times too large and too small."""
    return [item for name, text in sources().items() for item in _slips(name, text)]


def _slips(name: str, text: str) -> Iterator[Nonsense]:
    section = ""
    for line in re.finditer(r"(?m)^.*$", text):
        if heading := _SECTION.match(line[0]):
            section = heading[1]
        match = _LINE.fullmatch(line[0])
        if match is None or match[1] in ("source", "name", "title", "summary", "kind", "bodies"):
            continue
        key, value, number = match[1], match[3], text.count("\n", 0, line.start()) + 1
        head, mark, tail = _split(value)
        numbers = [float(number) for number in _NUMBER.findall(head)]
        if not any(numbers) or key in MAY_BE_ANYTHING or not mark:
            continue
        for word, factor in (("large", SLIP), ("small", 1 / SLIP)):
            if factor < 1 and key in MAY_BE_SMALL:
                continue
            scaled = _NUMBER.sub(lambda found, f=factor: f"{float(found[0]) * f:.9g}", head)
            changed = f"{key} = {scaled}{tail}"
            whole = text[: line.start()] + changed + text[line.end() :]
            yield Nonsense(
                f"{name}, line {number}, {section}.{key} a thousand times too {word}", whole
            )


def _split(value: str) -> tuple[str, bool, str]:
    """The part of a value with its numbers, whether it has a unit or is plain, and what follows."""
    if value.startswith('"'):
        head, _, tail = value[1:].partition(" ")
        if head.startswith("["):
            head, _, tail = value[1:].partition("]")
            return f'"{head}', True, f"]{tail}"
        return f'"{head}', bool(_NUMBER.fullmatch(head)), f" {tail}"
    if value.startswith("{"):
        head, comma, tail = (
            value.partition(", unit") if ", unit" in value else value.partition(", so")
        )
        return head, head.startswith("{ value"), comma + tail
    return value, bool(_NUMBER.match(value)), ""


# Statements by hand: source, then lines to replace or sections to add.

DELTA, IRB, PRS, OWN = "template delta", "abb_irb360_6_1600", "compliant_3prs", "template mechanism"
STATEMENTS: list[tuple[str, dict[str, str]]] = [
    (DELTA, {"limits.workspace_radius": '"5 m"'}),
    (DELTA, {"limits.workspace_height": '{ value = [0.55, 0.75], unit = "m" }'}),
    (DELTA, {"limits.workspace_height": '{ value = [-3.0, -2.5], unit = "m" }'}),
    (DELTA, {"limits.margin": "1"}),
    (DELTA, {"limits.margin": "0.95"}),
    (DELTA, {"limits.rod_tilt": '"0.01 deg"'}),
    (DELTA, {"limits.joint_angle": '{ value = [20, 95], unit = "deg" }'}),
    (DELTA, {"limits.rod_force": '"0.1 N"'}),
    (DELTA, {"limits.flange_force": '"1 N"'}),
    (DELTA, {"limits.joint_speed": '"600 rad/s"'}),
    (DELTA, {"limits.joint_acceleration": '"10000 rev/s^2"'}),
    (DELTA, {"limits.joint_jerk": '"1 deg/s^3"'}),
    (DELTA, {"bodies.rod.centre_of_mass": '{ value = [1.7, 0, 0], unit = "m" }'}),
    (DELTA, {"bodies.rod.centre_of_mass": '{ value = [0, 0, -0.7], unit = "m" }'}),
    (DELTA, {"bodies.arm.centre_of_mass": '{ value = [-1.2, 0, 0], unit = "m" }'}),
    (DELTA, {"bodies.arm.mass": '"36 g"', "bodies.arm.inertia": '"[40, 40, 40] kg m^2"'}),
    (DELTA, {"bodies.rod.mass": '"190 kg"'}),
    (DELTA, {"bodies.rod.mass": '"12 kg"'}),
    (DELTA, {"bodies.platform.mass": '"0.1 g"'}),
    (DELTA, {"bodies.platform.inertia": '{ value = [8, 8, 14], unit = "kg m^2" }'}),
    (DELTA, {"bodies.arm.inertia": '{ value = [0, 0.0654, 0], unit = "kg m^2" }'}),
    (DELTA, {"payloads.box.mass": '"150 kg"'}),
    (DELTA, {"payloads.box.mass": '"40 kg"'}),
    (DELTA, {"payloads.box.mass_tolerance": "1.0"}),
    (DELTA, {"payloads.box.centre_of_mass": '{ value = [2, 0, 0], unit = "m" }'}),
    (DELTA, {"payloads.box.centre_tolerance": '"1 m"'}),
    (DELTA, {"payloads.box.grip_force": '"0.1 N"'}),
    (DELTA, {"friction.drives.coulomb": '"1e6 N m"'}),
    (DELTA, {"friction.drives.coulomb": '"100 N m"'}),
    (DELTA, {"friction.drives.viscous": '"1e9 N m s/rad"'}),
    (DELTA, {"friction.drives.viscous": '"60 N m s/rad"'}),
    (DELTA, {"motors.drives.continuous_torque": '"9 N m"'}),
    (DELTA, {"motors.drives.gear_ratio": "1e-9"}),
    (DELTA, {"motors.drives.gear_ratio": "0.05"}),
    (DELTA, {"motors.drives.gear_ratio": "1"}),
    (DELTA, {"motors.drives.peak_speed": '"50 rpm"'}),
    (DELTA, {"motors.drives.peak_torque": '"0.1 N m"'}),
    (DELTA, {"motors.drives.rotor_inertia": '"1 kg m^2"'}),
    (DELTA, {"limits.slider_position": '{ value = [0, 1], unit = "m" }'}),
    (DELTA, {"geometry.azimuth": '"[0, 360, 120] deg"'}),
    (DELTA, {"geometry.rod_length": '"200 mm"'}),
    (DELTA, {"geometry.rod_length": '"[700, 700, 70] mm"'}),
    (DELTA, {"geometry.rod_spacing": '"2 m"'}),
    (DELTA, {"geometry.flange_height": '"-4 m"'}),
    (DELTA, {"gravity": '"[0, 0, -981] m/s^2"'}),
    (DELTA, {"gravity": '"[0, 0, -1.62] m/s^2"'}),
    (DELTA, {"gravity": '"[0, 0, -32.2] m/s^2"'}),
    (DELTA, {"encoders.motor_bits": "0.5"}),
    (DELTA, {"encoders.motor_bits": "63"}),
    (DELTA, {"control.position_gain": '"50 1/s"', "control.position_period": '"100 ms"'}),
    (
        IRB,
        {"control.position_gain": '"900 1/s"'} | {"motors.drives.rotor_inertia": '"3e-4 kg m^2"'},
    ),
    (IRB, {"materials.cfrp.shear_modulus": '"200 GPa"'}),
    (IRB, {"sections.rod.outer_radius": '"1 m"'}),
    (IRB, {"sections.rod.outer_radius": '"40 mm"'}),
    (IRB, {"limits.telescope_length": '{ value = [0.8, 2.4], unit = "m" }'}),
    (IRB, {"weighed.rod": '"150 kg"'}),
    (IRB, {"encoders.sampling_period": '"4 s"'}),
    ("flexible_delta", {"materials.steel.poisson_ratio": "-1"}),
    (PRS, {"control.position_gain": '"2000 1/s"'}),
    (PRS, {"control.position_period": '"50 ms"'}),
    (PRS, {"flexures.revolute_bending": '"98 kN m/rad"'}),
    (PRS, {"motors.drives.coupling_damping": '"1 N m s/rad"'}),
    (PRS, {"geometry.azimuth": '"[0, 120, -240] deg"'}),
    (PRS, {"limits.rod_force": '"100 N"', "limits.strut_length": '"[1, 2] m"'}),
    (OWN, {"gravity": '"[0, -98.1, 0] m/s^2"'}),
    (OWN, {"bodies.left_crank.mass": '"1e-10 kg"'}),
    (OWN, {"bodies.left_crank.mass": '"300 kg"'}),
    (OWN, {"bodies.left_crank.centre_of_mass": '"[6, 0, 0] m"'}),
    (OWN, {"bodies.left_coupler.inertia": '"[1e-5, 60, 60] kg m^2"'}),
    (OWN, {"bodies.left_coupler.inertia": '"[0, 1, 0] kg m^2"'}),
    (OWN, {"bodies.right_crank.position": '"[50, 0, 0] m"'}),
]


def statements() -> list[Nonsense]:
    """The files with the statements above."""
    texts = sources()
    return [
        Nonsense(f"{name}, {changes}", _stated(texts[name], changes))
        for name, changes in STATEMENTS
    ]


def _stated(text: str, changes: dict[str, str]) -> str:
    for dotted, value in changes.items():
        section, _, key = dotted.rpartition(".")
        start = 0 if not section else text.find(f"\n[{section}]")
        if start < 0:
            text, start = f"{text}\n\n[{section}]\n", len(text) + 1
        end = text.find("\n[", start + 1)
        end = len(text) if end < 0 else end
        part = re.sub(rf"(?m)^{key}\s*=.*\n", "", text[start:end])
        line = f"{key} = {value}\n"
        first, rest = (part[:0], part) if not section else _after_heading(part)
        text = text[:start] + first + line + rest + text[end:]
    return text


def _after_heading(part: str) -> tuple[str, str]:
    cut = part.index("]") + 1
    cut = part.index("\n", cut) + 1
    return part[:cut], part[cut:]


def nonsense(count: int, seed: int) -> list[Nonsense]:
    """`count` files: all statements, and slips drawn at random."""
    by_hand = statements()
    return by_hand + random.Random(seed).sample(slips(), count - len(by_hand))


def spoken_of(text: str, *, assemble: bool = True) -> str | None:
    """What `check` has to say about a file, refusals included; None if it is silent.

    Mechanisms about which nothing else is said are assembled only if that is asked for.
    """
    try:
        described = parse_any(text, "nonsense.toml")
        if isinstance(described, Mechanism):
            return _of_mechanism(described, assemble)
        sheet = datasheet(described)
    except TriskeleError as error:
        return str(error)
    return next(iter((*sheet.problems, *sheet.remarks)), None)


def _of_mechanism(described: Mechanism, assemble: bool) -> str | None:
    remark = next(mechanism_remarks(described), None)
    if remark is None and assemble:
        from triskele.multibody.from_file import from_file

        from_file(described)
    return remark


# Robots that somebody may mean


def enlarged(text: str, size: float) -> str:
    """The same machine `size` times as large, under the same gravity and of the same density.

    Times then grow with the square root of lengths, and forces as weights do: a number in
    m^a kg^b s^c grows with size^(a + 3 b + c / 2). Only plain values with a unit are changed.
    """
    found = re.sub(
        r'"(\[[^\]"]*\]|-?[\d.e+-]+) ([^"]+)"', lambda m: _larger(m, size, '"{} {}"'), text
    )
    table = r'value = (\[[^"{}]*\]|-?[\d.e+-]+), unit = "([^"]*)"'
    return re.sub(table, lambda m: _larger(m, size, 'value = {}, unit = "{}"'), found)


def _larger(match: re.Match[str], size: float, form: str) -> str:
    numbers, unit = match[1], match[2]
    try:
        m, kg, s, *_ = parse_unit(unit).dimension
    except TriskeleError:
        return match[0]  # words, such as a sentence
    factor = size ** (m + 3 * kg + s / 2)
    return form.format(_NUMBER.sub(lambda n: f"{float(n[0]) * factor:.12g}", numbers), unit)
