"""A rigid robot: its mechanism, what its bodies weigh, and the laws of its joints.

Bodies keep the ten parameters theta_b = (m, m c, O) of their own frames; the payload, in the
frame of the body that carries it, is kept apart, because it changes from cycle to cycle and
is no parameter of the robot.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Friction, Payload, Robot
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.laws.drives import drives
from triskele.laws.friction import FrictionLaw, friction_law
from triskele.laws.masses import body_parameters, payload_parameters
from triskele.laws.springs import Spring, flexure_springs
from triskele.numerics import AnyArray, Scalar, Scalars
from triskele.spatial.vectors import Triple

_WHY = "dynamics"


class RigidRobot(eqx.Module):
    """What inverse and forward dynamics, loads and simulation need; leaves in SI units."""

    mechanism: AbstractMechanism
    theta: Float[AnyArray, "bodies 10"]  #: m, mc (3), xx, yy, zz, xy, yz, xz of each body
    payload: Float[AnyArray, "10"]  #: the same, in the frame of `carrier`
    gravity: Float[AnyArray, "3"]  #: [m/s^2], in O
    rotors: Float[AnyArray, " n"]  #: inertia of motors and gears at their joints [kg m^2, kg]
    drive_friction: tuple[FrictionLaw | None, ...]  #: of each joint coordinate
    passive_friction: tuple[FrictionLaw | None, ...]  #: of each passive coordinate
    springs: tuple[Spring | None, ...]  #: of each passive coordinate
    ball_friction: FrictionLaw | None  #: of each ball joint of the rods
    flange_height: Scalar  #: z_F [m] in the carrier: where the flange bearing is

    @property
    def carrier(self) -> str:
        """The body that carries the payload."""
        return self.mechanism.carrier

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


def _scalars(row: AnyArray) -> Scalars:
    return tuple(row.tolist()) if isinstance(row, np.ndarray) else tuple(row)


def rigid(
    robot: Robot,
    payload: Payload | str | None = None,
    *,
    friction: bool = True,
    mechanism: AbstractMechanism | None = None,
) -> RigidRobot:
    """The rigid robot of a file, carrying a `payload` (one of the file's by its name).

    Without `friction` all joints are free of it; motors keep their inertia. A `mechanism` that
    was built from the file already is not built again.
    """
    mechanism = build(robot) if mechanism is None else mechanism
    robot.require("bodies", _WHY)
    bodies = tuple(body_parameters(robot, mechanism).values())
    own = drives(robot, mechanism)
    laws = (robot.friction or Friction()) if friction else Friction()
    return RigidRobot(
        mechanism=mechanism,
        theta=np.asarray(bodies, float),
        payload=np.asarray(payload_parameters(robot, payload), float),
        gravity=np.asarray(robot.gravity, float),
        rotors=np.asarray([drive.inertia for drive in own]),
        drive_friction=tuple(drive.whole_friction if friction else None for drive in own),
        passive_friction=_passive_friction(laws, mechanism),
        springs=flexure_springs(robot, mechanism),
        ball_friction=None if laws.balls is None else friction_law(laws.balls),
        flange_height=np.asarray(getattr(robot.geometry, "flange_height", 0.0), float),
    )


def _passive_friction(
    laws: Friction, mechanism: AbstractMechanism
) -> tuple[FrictionLaw | None, ...]:
    """The law of each passive coordinate that is the position of a slide with friction."""
    sections = {joint.name: joint.friction for joint in mechanism.joints()}
    found = []
    for coordinate in mechanism.passive_coordinates:
        section = getattr(laws, sections.get(coordinate.joint, "") or "-", None)
        if section is None or coordinate.flexure:
            found.append(None)
        else:
            found.append(friction_law(section))
    return tuple(found)
