"""A robot whose links bend: its mechanism, its beams, and what is lumped at their ends.

A link weighs rho A l as a beam. What its body weighs beyond that is lumped at its ends, so that
mass and first moment are those of the body:

    m_tip = (m c_x - rho A l^2 / 2) / l,     m_root = m - rho A l - m_tip               (1)

Connecting rods of a pair are lumped at the ends of its rods; flange, payload and the lower part of
a telescope (a point mass at its cardan) move with the platform. The upper part of a
telescope, which hangs on the base, is left out.

Gears and belts with a stiffness of their own, i^2 kt at the joint, let the arms turn beyond the
motors, with the inertia i^2 J2 of what turns there. Motors are held, or their servo is a spring, a
damper and an integrator in series with the gear (`servo`).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from triskele.description.schema import CrossSection, DeltaRobot, Payload, Robot
from triskele.errors import DescriptionError, InputError, MissingFact, did_you_mean
from triskele.flexible.beam import Beam, beam, thickness
from triskele.flexible.link import END, Link, condensed, inner_unknowns, link
from triskele.flexible.servo import Servo, has_servo, servo
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.laws.drives import Drive
from triskele.laws.drives import drives as drives_of
from triskele.laws.masses import body_parameters, payload_parameters
from triskele.numerics import AnyArray

PLATFORM = 6  #: its unknowns
OF_ROD = 4  #: slopes at its ends
_WHY = "vibration"
_LEVEL = 1e6  #: [N m/rad]; it turns by less than a microradian
DRIVES = ("clamped", "geared", "servo")  #: what gives way: nothing, gears, gears and servos
_HEAVIER = 0.02  #: a beam may outweigh its body by this part, where numbers are rounded


class Gears(eqx.Module):
    """What is soft between motors and joints, and turns beyond it; all at the joints."""

    stiffness: Float[AnyArray, "3"]  #: i^2 kt [N m/rad]
    damping: Float[AnyArray, "3"]  #: i^2 ct [N m s/rad]; 0: in proportion, as links
    inertia: Float[AnyArray, "3"]  #: i^2 J2 [kg m^2]


class FlexibleRobot(eqx.Module):
    """What modes and responses need; one link per limb, stacked."""

    mechanism: Delta
    arm_beam: Beam | None  #: None: rigid arms
    rod_beam: Beam
    arm: Float[AnyArray, "10"]  #: m, mc, O of an arm, which count if it is rigid
    arm_lumps: Float[AnyArray, "2"]  #: at motor and elbow [kg]
    rod_lumps: Float[AnyArray, "2"]  #: at elbow and wrist [kg]
    platform: Float[AnyArray, "10"]  #: m, mc, O of the platform and what hangs on it
    carried: Float[AnyArray, "10"]  #: the same of flange and payload, in the frame that turns
    gravity: Float[AnyArray, "3"]  #: [m/s^2], in O
    level: Float[AnyArray, ""]  #: stiffness of what else keeps the platform level [N m/rad]
    rotors: Float[AnyArray, "3"]  #: inertia at the joints of what turns with the motors [kg m^2]
    gears: Gears | None  #: None: rigid
    servo: Servo | None  #: None: motors are held
    elements: int = eqx.field(static=True)  #: per link
    family: str = eqx.field(static=True)  #: of shape functions
    slender: bool = eqx.field(static=True)  #: Euler-Bernoulli, or Timoshenko
    kept_modes: int | None = eqx.field(static=True)  #: of each link if condensed

    @property
    def shifts(self) -> tuple[float, ...]:
        """Where the rods of a limb are, in halves of their spacing."""
        return (0.0,) if self.mechanism.rod_spacing is None else (-1.0, 1.0)

    @property
    def inner(self) -> int:
        """Inner unknowns of a link."""
        if self.kept_modes is not None:
            return self.kept_modes
        return inner_unknowns(self.elements, self.family)

    @property
    def of_limb(self) -> int:
        """Unknowns of a limb."""
        return self.of_arm + len(self.shifts) * (OF_ROD + self.inner)

    @property
    def of_arm(self) -> int:
        """Unknowns of an arm: its tip if it bends, its turn in a soft gear, inner ones."""
        return self.turns + (0 if self.arm_beam is None else END + self.inner)

    @property
    def turns(self) -> int:
        """Unknowns of a drive: the turn of its arm, and of its motor if that is another."""
        return (self.gears is not None) + (self.servo is not None)

    @property
    def turn(self) -> int:
        """Which unknown of a limb is the turn of its arm, the platform's first."""
        return PLATFORM + (0 if self.arm_beam is None else END)

    @property
    def motor_turn(self) -> int:
        """Which unknown of a limb is the turn of its motor: the arm's, if its gear is rigid."""
        return self.turn + self.turns - 1

    @property
    def held(self) -> "FlexibleRobot":
        """The same robot with its motors held."""
        return eqx.tree_at(lambda r: r.servo, self, None, is_leaf=lambda leaf: leaf is None)

    @property
    def unknowns(self) -> int:
        """Unknowns of the robot, its degrees of freedom."""
        return PLATFORM + 3 * self.of_limb


class Links(NamedTuple):
    """Matrices of the links of all limbs, stacked."""

    arm: Link | None
    rod: Link


def bends(robot: Robot) -> bool:
    """Whether this model is that of the robot: a Delta with cross-sections of its links."""
    return isinstance(robot, DeltaRobot) and getattr(robot.sections, "rod", None) is not None


def stated_drives(robot: Robot) -> str:
    """Which of DRIVES a file describes: "servo" with [control], "geared" with soft gears."""
    own = drives_of(robot, build(robot))[:3]
    if has_servo(robot, own):
        return "servo"
    return "geared" if any(drive.stiffness is not None for drive in own) else "clamped"


def flexible(
    robot: Robot,
    payload: Payload | str | None = None,
    *,
    elements: int = 1,
    family: str = "linear/cubic",
    slender: bool = True,
    kept_modes: int | None = None,
    level: bool | None = None,
    drives: str = "geared",
) -> FlexibleRobot:
    """The flexible robot of a file with [sections], carrying a `payload`.

    `elements` per link; `family` "linear/cubic" or "cubic/quintic"; not `slender`: Timoshenko's
    beams; `kept_modes` of each link beyond its ends condense it, None keeps all. A platform that is
    `level` does not turn, whatever its rods do; None: if the file's single rods stand for pairs.
    `drives` are "clamped", "geared" (motors held, gears as soft as in the file), or "servo" (motors
    held by their position loops as well).
    """
    if drives not in DRIVES:
        raise InputError(f"drives is '{drives}'. {did_you_mean(drives, DRIVES)}")
    geometry = _checked(robot, elements, family, slender, kept_modes).geometry
    mechanism = build(robot)
    assert isinstance(mechanism, Delta)
    rod, arm = robot.require("sections.rod", _WHY), getattr(robot.sections, "arm", None)
    assert isinstance(rod, CrossSection)
    bodies = body_parameters(robot, mechanism)
    lengths = {"arm": mechanism.arm_length, "rod": mechanism.rod_length}
    beams = {"rod": _beam(robot, "rod", rod, lengths["rod"])}
    if arm is not None:
        beams["arm"] = _beam(robot, "arm", arm, lengths["arm"])
    lumps: dict[str, AnyArray] = {"arm": np.zeros(2)}
    for part, made in beams.items():
        body = next(ten for name, ten in bodies.items() if name.startswith(part))
        lumps[part] = _lumps(f"{robot.name}, sections.{part}", made, body, lengths[part])
    if level is None:
        level = geometry.single_rod == "pair"
    own = drives_of(robot, mechanism)[:3]
    hinges = [ten[0] for name, ten in bodies.items() if name.startswith("connector_1")]
    return FlexibleRobot(
        mechanism=mechanism,
        arm_beam=beams.get("arm"),
        rod_beam=beams["rod"],
        arm=np.asarray(bodies["arm_1"], float),
        arm_lumps=lumps["arm"],
        rod_lumps=lumps["rod"] + sum(hinges) / 4,
        platform=_platform(mechanism, bodies),
        carried=_carried(robot, payload, bodies),
        gravity=np.asarray(robot.gravity, float),
        level=np.asarray(_LEVEL if level else 0.0),
        rotors=np.asarray([drive.rotor_inertia for drive in own]),
        gears=None if drives == "clamped" else _gears(robot, own),
        servo=servo(robot, own) if drives == "servo" else None,
        elements=elements,
        family=family,
        slender=slender,
        kept_modes=kept_modes,
    )


def _checked(
    robot: Robot, elements: int, family: str, slender: bool, kept_modes: int | None
) -> DeltaRobot:
    """The robot, if it is one of links that bend and these are ways to divide them."""
    if not isinstance(robot, DeltaRobot):
        raise InputError(
            f'{robot.name} is not a Delta (kind = "delta"), and only links of Deltas are modelled '
            "as beams; rods of other robots are springs along their axis, see `triskele modes`."
        )
    inner = inner_unknowns(elements, family, slender)
    if kept_modes is not None and not 0 <= kept_modes <= inner:
        raise InputError(
            f"kept_modes is {kept_modes}; links of this many elements ({elements}) have {inner} to "
            "keep at most."
        )
    return robot


def bending(robot: Robot) -> FlexibleRobot | None:
    """The flexible robot without payload; None if its links are rigid, or have no model."""
    if robot.sections is None:
        return None
    try:
        return flexible(robot)
    except (InputError, MissingFact):
        return None


def links(robot: FlexibleRobot) -> Links:
    """Matrices of arms and rods, limb by limb."""

    def stacked(beam: Beam, lengths: Float[AnyArray, "3"], lumps: Float[AnyArray, "2"]) -> Link:
        # one by one, and not vmapped: see `assembly.solve_arrow`
        return jax.lax.map(lambda length: _link(robot, beam, length, lumps), lengths)

    mechanism = robot.mechanism
    rod = stacked(robot.rod_beam, mechanism.rod_length, robot.rod_lumps)
    if robot.arm_beam is None:
        return Links(None, rod)
    return Links(stacked(robot.arm_beam, mechanism.arm_length, robot.arm_lumps), rod)


def _link(
    robot: FlexibleRobot, beam: Beam, length: Float[AnyArray, ""], lumps: Float[AnyArray, "2"]
) -> Link:
    whole = link(
        beam,
        length,
        elements=robot.elements,
        family=robot.family,
        slender=robot.slender,
        lumps=lumps,
    )
    return whole if robot.kept_modes is None else condensed(whole, robot.kept_modes)


def _beam(robot: Robot, part: str, section: CrossSection, lengths: Float[AnyArray, "3"]) -> Beam:
    shortest, across = float(lengths.min()), thickness(section)
    if across >= shortest:
        raise DescriptionError(
            f"{robot.name}, sections.{part}: the section is {across:g} m across and the link "
            f"{shortest:g} m long; a beam is longer than thick. Are the units right?"
        )
    return beam(section, robot.materials[section.material])


def _lumps(
    place: str, beam: Beam, body: tuple[float, ...], lengths: Float[AnyArray, "3"]
) -> Float[AnyArray, "2"]:
    """Equation (1), with the mean length."""
    L, mass, first = float(lengths.mean()), body[0], body[1]
    own = float(beam.mass) * L
    if own > mass * (1 + _HEAVIER):
        raise DescriptionError(
            f"{place}: as a beam the link weighs {own:.4g} kg, but its body {mass:.4g} kg. "
            "Section, density or mass is wrong."
        )
    excess = max(mass - own, 0.0)
    tip = min(max((first - own * L / 2) / L, 0.0), excess)
    return np.asarray([excess - tip, tip])


def _gears(robot: Robot, own: tuple[Drive, ...]) -> Gears | None:
    soft = [drive for drive in own if drive.motor and drive.motor.coupling_stiffness is not None]
    if not soft:
        return None
    if len(soft) < len(own):
        stiff = next(drive for drive in own if drive not in soft)
        raise DescriptionError(
            f"{robot.name}: {soft[0].place} has a coupling_stiffness and {stiff.place} has none; "
            "links that bend are modelled with three soft drives or with three rigid ones. Add it "
            f"under [{stiff.place}], as large as you like."
        )
    for drive in soft:
        robot.require(f"{drive.place}.{drive.ratio_key}", "a coupling_stiffness at the motor shaft")
        motor = drive.motor
        back = None if motor is None else motor.coupling_stiffness_reverse
        if motor is not None and back not in (None, motor.coupling_stiffness):
            raise InputError(
                f"{robot.name}, {drive.place}: coupling_stiffness_reverse differs from "
                "coupling_stiffness, and links that bend are modelled with springs that are the "
                "same both ways. Leave it out, or ask for either."
            )
    found = [(drive.stiffness, drive.damping, drive.load_inertia) for drive in own]
    return Gears(*(np.asarray(column, float) for column in zip(*found, strict=True)))


def _platform(mechanism: Delta, bodies: dict[str, tuple[float, ...]]) -> Float[AnyArray, "10"]:
    own = np.asarray(bodies["platform"], float)
    if mechanism.telescope is None:
        return own
    m, z = bodies["telescope_lower"][0], float(mechanism.telescope[1])
    return own + np.asarray([m, 0.0, 0.0, m * z, m * z * z, m * z * z, 0.0, 0.0, 0.0, 0.0])


def _carried(
    robot: Robot, payload: Payload | str | None, bodies: dict[str, tuple[float, ...]]
) -> Float[AnyArray, "10"]:
    flange = np.asarray(bodies.get("end_effector", (0.0,) * 10), float)
    return flange + np.asarray(payload_parameters(robot, payload), float)
