"""A rigid robot: its mechanism, what its bodies weigh, and the laws of its joints.

Bodies keep the ten parameters theta_b = (m, m c, O) of their own frames; the payload, in the
frame of the body that carries it, is kept apart, because it changes from cycle to cycle and
is no parameter of the robot.
"""

import re

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.description.schema import Body, Friction, Motor, Payload, PrsRobot, Robot
from triskele.errors import DescriptionError, InputError, UnknownName, did_you_mean
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.friction import FrictionLaw, friction_law
from triskele.laws.motors import reflected_damping, reflected_inertia
from triskele.laws.springs import Spring
from triskele.numerics import Scalars
from triskele.spatial.inertia import infeasibility
from triskele.spatial.vectors import Triple

_WHY = "dynamics"


class RigidRobot(eqx.Module):
    """What inverse and forward dynamics, loads and simulation need; leaves in SI units."""

    mechanism: AbstractMechanism
    theta: Float[Array, "bodies 10"]  #: m, mc (3), xx, yy, zz, xy, yz, xz of each body
    payload: Float[Array, "10"]  #: the same, in the frame of `carrier`
    gravity: Float[Array, "3"]  #: [m/s^2], in O
    rotors: Float[Array, " n"]  #: inertia of motors and gears at their joints [kg m^2, kg]
    drive_friction: tuple[FrictionLaw | None, ...]  #: of each joint coordinate
    passive_friction: tuple[FrictionLaw | None, ...]  #: of each passive coordinate
    springs: tuple[Spring | None, ...]  #: of each passive coordinate
    ball_friction: FrictionLaw | None  #: of each ball joint of the rods
    flange_height: Float[Array, ""]  #: z_F [m] in the carrier: where the flange bearing is

    @property
    def carrier(self) -> str:
        """The body that carries the payload."""
        return "end_effector" if "end_effector" in self.mechanism.bodies else "platform"

    def inertias(self) -> tuple[Scalars, ...]:
        """Ten parameters of each body, payload included, as scalars.

        Plain numbers if the robot holds NumPy arrays, as it does in a handle: then zeros are
        structural.
        """
        place = self.mechanism.bodies.index(self.carrier)
        rows = [_scalars(row) for row in self.theta]
        carried = _scalars(self.payload)
        rows[place] = tuple(a + b for a, b in zip(rows[place], carried, strict=True))
        return tuple(rows)

    def gravity_components(self) -> Triple:
        """Gravity as scalars, plain numbers in a handle."""
        x, y, z = _scalars(self.gravity)
        return x, y, z


def _scalars(row: Array | np.ndarray) -> Scalars:
    return tuple(row.tolist()) if isinstance(row, np.ndarray) else tuple(row)


def rigid(
    robot: Robot, payload: Payload | str | None = None, *, friction: bool = True
) -> RigidRobot:
    """The rigid robot of a file, carrying a `payload` (one of the file's by its name).

    Without `friction` all joints are free of it; motors keep their inertia.
    """
    mechanism = build(robot)
    robot.require("bodies", _WHY)
    bodies = tuple(_body(robot, name) for name in mechanism.bodies)
    motors = drive_motors(robot, len(mechanism.joint_coordinates))
    laws = (robot.friction or Friction()) if friction else Friction()
    passive = mechanism.passive_coordinates
    slide = None if laws.telescope is None else friction_law(laws.telescope)
    return RigidRobot(
        mechanism=mechanism,
        theta=jnp.asarray(bodies, float),
        payload=jnp.asarray(_carried(robot, payload), float),
        gravity=jnp.asarray(robot.gravity, float),
        rotors=jnp.asarray([0.0 if m is None else reflected_inertia(m) for m in motors]),
        drive_friction=tuple(_drive_friction(laws, k, m, friction) for k, m in enumerate(motors)),
        passive_friction=tuple(slide if c.name == "telescope" else None for c in passive),
        springs=_springs(robot, mechanism),
        ball_friction=None if laws.balls is None else friction_law(laws.balls),
        flange_height=jnp.asarray(getattr(robot.geometry, "flange_height", 0.0), float),
    )


def _body(robot: Robot, name: str) -> tuple[float, ...]:
    """Ten parameters of the body `name`; a flange that is part of the platform weighs nothing."""
    part = re.sub(r"_\d[ab]?$", "", name)
    section = getattr(robot.bodies, part, None)
    if section is None and part == "end_effector":
        return (0.0,) * 10
    section = robot.require(f"bodies.{part}", _WHY)
    assert isinstance(section, Body)
    reason = infeasibility(section.ten_parameters)
    if reason is not None:
        raise DescriptionError(f"{robot.name}, bodies.{part}: no such body exists, {reason}.")
    return section.ten_parameters


def _carried(robot: Robot, payload: Payload | str | None) -> tuple[float, ...]:
    if payload is None:
        return (0.0,) * 10
    if isinstance(payload, str):
        if payload not in robot.payloads:
            known = did_you_mean(payload, robot.payloads) if robot.payloads else "It has none."
            raise UnknownName(f"{robot.name} has no payload '{payload}'. {known}")
        payload = robot.payloads[payload]
    reason = infeasibility(payload.ten_parameters)
    if reason is not None:
        raise InputError(f"The payload cannot exist: {reason}.")
    return payload.ten_parameters


def drive_motors(robot: Robot, count: int) -> tuple[Motor | None, ...]:
    """The motor of each joint; the fourth is that of the telescope."""
    if robot.motors is None:
        return (None,) * count
    return ((robot.motors.drives,) * 3 + (robot.motors.axis4,))[:count]


def _drive_friction(
    laws: Friction, joint: int, motor: Motor | None, friction: bool
) -> FrictionLaw | None:
    """Friction of a drive at its joint, with that of the motor's bearings."""
    section = laws.axis4 if joint == 3 else laws.slides or laws.drives
    law = None if section is None else friction_law(section, joint if joint < 3 else 0)
    bearings = 0.0 if motor is None or not friction else reflected_damping(motor)
    if not bearings:
        return law
    if law is None:
        zero = jnp.zeros(())
        law = FrictionLaw(coulomb=zero, viscous=zero, smoothing_speed=zero + 1)
    return eqx.tree_at(lambda law: law.viscous, law, law.viscous + bearings)


def _springs(robot: Robot, mechanism: AbstractMechanism) -> tuple[Spring | None, ...]:
    """Flexures of a 3PRS in its passive joints, each counted once; free of stress at rest."""
    names = [c.name for c in mechanism.passive_coordinates]
    if not isinstance(robot, PrsRobot) or robot.flexures is None:
        return (None,) * len(names)
    kinds = {
        "alpha": (robot.flexures.revolute_bending, robot.geometry.rest_angle),
        "beta_m": (robot.flexures.spherical_bending, 0.0),
        "beta_n": (robot.flexures.spherical_bending, 0.0),
        "beta_l": (robot.flexures.spherical_torsion, 0.0),
    }
    constants = [kinds[name.rstrip("_123")] for name in names]
    return tuple(Spring(jnp.asarray(k, float), jnp.asarray(p, float)) for k, p in constants)
