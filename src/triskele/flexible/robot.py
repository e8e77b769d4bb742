"""A robot whose links bend: its mechanism, its beams, and what is lumped at their ends.

A link weighs rho A l as a beam. What its body weighs beyond that is lumped at its ends, so that
mass and first moment are those of the body:

    m_tip = (m c_x - rho A l^2 / 2) / l,     m_root = m - rho A l - m_tip               (1)

Connecting rods of a pair are lumped at the ends of its rods; flange, payload and the lower part of
a telescope (a point mass at its cardan) move with the platform. The upper part of a
telescope, which hangs on the base, is left out.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from triskele.description.schema import CrossSection, DeltaRobot, Payload, Robot
from triskele.errors import DescriptionError, InputError
from triskele.flexible.beam import Beam, beam, thickness
from triskele.flexible.link import END, Link, condensed, inner_unknowns, link
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.laws.masses import body_parameters, payload_parameters
from triskele.laws.motors import drive_motors, reflected_inertia

PLATFORM = 6  #: its unknowns
OF_ROD = 4  #: slopes at its ends
_WHY = "vibration"
_LEVEL = 1e6  #: [N m/rad]; it turns by less than a microradian
_HEAVIER = 0.02  #: a beam may outweigh its body by this part, where numbers are rounded


class FlexibleRobot(eqx.Module):
    """What modes and responses need; one link per limb, stacked."""

    mechanism: Delta
    arm_beam: Beam | None  #: None: rigid arms
    rod_beam: Beam
    arm: Float[Array, "10"]  #: m, mc, O of an arm, which count if it is rigid
    arm_lumps: Float[Array, "2"]  #: at motor and elbow [kg]
    rod_lumps: Float[Array, "2"]  #: at elbow and wrist [kg]
    platform: Float[Array, "10"]  #: m, mc, O of the platform and what hangs on it
    carried: Float[Array, "10"]  #: the same of flange and payload, in the frame that turns
    gravity: Float[Array, "3"]  #: [m/s^2], in O
    level: Float[Array, ""]  #: stiffness of what else keeps the platform level [N m/rad]
    rotors: Float[Array, "3"]  #: inertia of motors and gears at the joints [kg m^2]
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
        arm = 0 if self.arm_beam is None else END + self.inner
        return arm + len(self.shifts) * (OF_ROD + self.inner)

    @property
    def unknowns(self) -> int:
        """Unknowns of the robot: degrees of freedom with the motors held."""
        return PLATFORM + 3 * self.of_limb


class Links(NamedTuple):
    """Matrices of the links of all limbs, stacked."""

    arm: Link | None
    rod: Link


def flexible(
    robot: Robot,
    payload: Payload | str | None = None,
    *,
    elements: int = 1,
    family: str = "linear/cubic",
    slender: bool = True,
    kept_modes: int | None = None,
    level: bool = False,
) -> FlexibleRobot:
    """The flexible robot of a file with [sections], carrying a `payload`.

    `elements` per link; `family` "linear/cubic" or "cubic/quintic"; not `slender`: Timoshenko's
    beams; `kept_modes` of each link beyond its ends condense it, None keeps all. A platform that is
    `level` does not turn, whatever its rods do: for single rods that stand for pairs.
    """
    if not isinstance(robot, DeltaRobot):
        raise InputError(f"{robot.name} is not a Delta; only links of Deltas bend so far.")
    inner = inner_unknowns(elements, family, slender)
    if kept_modes is not None and not 0 <= kept_modes <= inner:
        raise InputError(
            f"kept_modes is {kept_modes}; links of this many elements ({elements}) have {inner} to "
            "keep at most."
        )
    mechanism = build(robot)
    assert isinstance(mechanism, Delta)
    rod, arm = robot.require("sections.rod", _WHY), getattr(robot.sections, "arm", None)
    assert isinstance(rod, CrossSection)
    bodies = {name: body_parameters(robot, name) for name in mechanism.bodies}
    lengths = {"arm": mechanism.arm_length, "rod": mechanism.rod_length}
    beams = {"rod": _beam(robot, "rod", rod, lengths["rod"])}
    if arm is not None:
        beams["arm"] = _beam(robot, "arm", arm, lengths["arm"])
    lumps = {"arm": jnp.zeros(2)}
    for part, made in beams.items():
        body = next(ten for name, ten in bodies.items() if name.startswith(part))
        lumps[part] = _lumps(f"{robot.name}, sections.{part}", made, body, lengths[part])
    hinges = [ten[0] for name, ten in bodies.items() if name.startswith("connector_1")]
    motors = drive_motors(robot, 3)
    return FlexibleRobot(
        mechanism=mechanism,
        arm_beam=beams.get("arm"),
        rod_beam=beams["rod"],
        arm=jnp.asarray(bodies["arm_1"], float),
        arm_lumps=lumps["arm"],
        rod_lumps=lumps["rod"] + sum(hinges) / 4,
        platform=_platform(mechanism, bodies),
        carried=_carried(robot, payload, bodies),
        gravity=jnp.asarray(robot.gravity, float),
        level=jnp.asarray(_LEVEL if level else 0.0),
        rotors=jnp.asarray([0.0 if m is None else reflected_inertia(m) for m in motors]),
        elements=elements,
        family=family,
        slender=slender,
        kept_modes=kept_modes,
    )


def links(robot: FlexibleRobot) -> Links:
    """Matrices of arms and rods, limb by limb."""

    def stacked(beam: Beam, lengths: Float[Array, "3"], lumps: Float[Array, "2"]) -> Link:
        # one by one, and not vmapped: see `assembly.solve_arrow`
        return jax.lax.map(lambda length: _link(robot, beam, length, lumps), lengths)

    mechanism = robot.mechanism
    rod = stacked(robot.rod_beam, mechanism.rod_length, robot.rod_lumps)
    if robot.arm_beam is None:
        return Links(None, rod)
    return Links(stacked(robot.arm_beam, mechanism.arm_length, robot.arm_lumps), rod)


def _link(
    robot: FlexibleRobot, beam: Beam, length: Float[Array, ""], lumps: Float[Array, "2"]
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


def _beam(robot: Robot, part: str, section: CrossSection, lengths: Float[Array, "3"]) -> Beam:
    shortest, across = float(lengths.min()), thickness(section)
    if across >= shortest:
        raise DescriptionError(
            f"{robot.name}, sections.{part}: the section is {across:g} m across and the link "
            f"{shortest:g} m long; a beam is longer than thick. Are the units right?"
        )
    return beam(section, robot.materials[section.material])


def _lumps(
    place: str, beam: Beam, body: tuple[float, ...], lengths: Float[Array, "3"]
) -> Float[Array, "2"]:
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
    return jnp.asarray([excess - tip, tip])


def _platform(mechanism: Delta, bodies: dict[str, tuple[float, ...]]) -> Float[Array, "10"]:
    own = jnp.asarray(bodies["platform"], float)
    if mechanism.telescope is None:
        return own
    m, z = bodies["telescope_lower"][0], float(mechanism.telescope[1])
    return own + jnp.asarray([m, 0.0, 0.0, m * z, m * z * z, m * z * z, 0.0, 0.0, 0.0, 0.0])


def _carried(
    robot: Robot, payload: Payload | str | None, bodies: dict[str, tuple[float, ...]]
) -> Float[Array, "10"]:
    flange = jnp.asarray(bodies.get("end_effector", (0.0,) * 10), float)
    return flange + jnp.asarray(payload_parameters(robot, payload), float)
