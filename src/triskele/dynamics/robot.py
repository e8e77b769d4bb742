"""A rigid robot: its mechanism, what its bodies weigh, and the laws of its joints.

Bodies keep the ten parameters theta_b = (m, m c, O) of their own frames; the payload, in the
frame of the body that carries it, is kept apart, because it changes from cycle to cycle and
is no parameter of the robot.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.description.schema import Friction, Payload, Robot
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.friction import FrictionLaw, drive_friction, friction_law
from triskele.laws.masses import body_parameters, payload_parameters
from triskele.laws.motors import drive_motors, reflected_inertia
from triskele.laws.springs import Spring, flexure_springs
from triskele.numerics import Scalars
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
    bodies = tuple(body_parameters(robot, name) for name in mechanism.bodies)
    motors = drive_motors(robot, len(mechanism.joint_coordinates))
    laws = (robot.friction or Friction()) if friction else Friction()
    passive = mechanism.passive_coordinates
    slide = None if laws.telescope is None else friction_law(laws.telescope)
    return RigidRobot(
        mechanism=mechanism,
        theta=jnp.asarray(bodies, float),
        payload=jnp.asarray(payload_parameters(robot, payload), float),
        gravity=jnp.asarray(robot.gravity, float),
        rotors=jnp.asarray([0.0 if m is None else reflected_inertia(m) for m in motors]),
        drive_friction=tuple(drive_friction(laws, k, m, friction) for k, m in enumerate(motors)),
        passive_friction=tuple(slide if c.name == "telescope" else None for c in passive),
        springs=flexure_springs(robot, mechanism),
        ball_friction=None if laws.balls is None else friction_law(laws.balls),
        flange_height=jnp.asarray(getattr(robot.geometry, "flange_height", 0.0), float),
    )
