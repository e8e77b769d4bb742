"""What of a robot is exported: its laws as programs, all that goes in and out named, with units.

    inverse     x -> q
    forward     q -> x
    torques     x, xd, xdd, payload -> tau
    loads       x, xd, xdd, payload -> tension of each rod, force and moment on the flange
    monitor     q, qd, qdd, payload, as measured -> x, tau, tensions, use of each limit

The numbers of the robot are constants; what it carries stays an input. Each function also gives
margins: negative where there is no answer, and all else is held at the border (`mechanism.py`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import equinox as eqx
import numpy as np

from triskele.description.schema import Robot
from triskele.dynamics.inverse import efforts
from triskele.dynamics.limits import Instant, InstantLimit, instant_limits, worse_end
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.dynamics.rod_loads import has_rod_loads, rod_loads, rod_loads_at
from triskele.dynamics.stated import Stated
from triskele.dynamics.wrenches import motion_state, motion_state_at
from triskele.errors import InputError, MissingFact, UnknownName, did_you_mean
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.singularity import singularity_margins
from triskele.kinematics.velocity import platform_motion
from triskele.numerics import Scalar, Scalars, minimum, safe_norm, stacked, tabulate
from triskele.programs import kernel
from triskele.programs.program import Port, Program

WHAT = ("inverse", "forward", "torques", "loads", "monitor")
LARGEST_USE = 1e9  #: of a limit: more is written as this
_EFFORTS = {"rad": "N m", "m": "N"}


class Group(NamedTuple):
    """A vector that a function takes or gives."""

    name: str
    about: str
    ports: tuple[Port, ...]


@dataclass(frozen=True)
class Function:
    """One exported function of a robot."""

    name: str
    about: str
    law: Callable
    inputs: tuple[Group, ...]
    outputs: tuple[Group, ...]  #: the last one holds margins
    limits: tuple[InstantLimit, ...] = ()  #: of the monitor, in the order of the group `use`

    @cached_property
    def program(self) -> Program:
        """All outputs, of all inputs."""
        found = kernel.program_of(self.law, *(len(group.ports) for group in self.inputs))
        if found is None:
            raise InputError(f"'{self.name}' of this robot cannot be written as a straight line.")
        ports = (
            tuple(port for g in part for port in g.ports) for part in (self.inputs, self.outputs)
        )
        inputs, outputs = ports
        assert len(found.inputs) == len(inputs) and len(found.results) == len(outputs)
        return Program(inputs, found.nodes, outputs, found.results)

    @cached_property
    def places(self) -> tuple[tuple[Group, int], ...]:
        """The group of each input of the program, and its place there."""
        return tuple((group, k) for group in self.inputs for k in range(len(group.ports)))

    def at(self, rows: np.ndarray) -> np.ndarray:
        """What the library computes for inputs (N, k): outputs (N, m)."""
        ends = np.cumsum([len(group.ports) for group in self.inputs])[:-1]
        found = tabulate(self.law)(*np.split(rows, ends, axis=1))
        return np.stack([np.broadcast_to(c, len(rows)) for part in found for c in part], axis=-1)


def functions(robot: Robot, what: Iterable[str] | None = None) -> tuple[Function, ...]:
    """The functions of those names; all that the robot has, if none is named."""
    names = None if what is None else list(dict.fromkeys(what))
    for name in names or ():
        if name not in WHAT:
            raise UnknownName(
                f"There is no function '{name}' to export. {did_you_mean(name, WHAT)}"
            )
    mechanism = build(robot)
    if names is not None:
        return tuple(_MAKERS[name](robot, mechanism) for name in names)
    found = []
    for name in WHAT:
        try:
            found.append(_MAKERS[name](robot, mechanism))
        except (InputError, MissingFact):  # a robot without masses has no torques
            continue
    return tuple(found)


# Laws; what they return, a tuple of tuples of scalars, is in the order of the groups


def _inverse(mechanism: AbstractMechanism, x: Scalars) -> tuple[Scalars, ...]:
    solved = mechanism.inverse(x)
    return solved.components, solved.margins


def _forward(mechanism: AbstractMechanism, q: Scalars) -> tuple[Scalars, ...]:
    solved = mechanism.forward(q)
    return solved.components, solved.margins


def _carrying(robot: RigidRobot, payload: Scalars) -> RigidRobot:
    """The robot with a payload of mass, centre and moments of inertia about it."""
    m, x, y, z, xx, yy, zz = payload
    ten = (
        m, m * x, m * y, m * z,
        xx + m * (y * y + z * z), yy + m * (x * x + z * z), zz + m * (x * x + y * y),
        -(m * x * y), -(m * y * z), -(m * x * z),
    )  # fmt: skip
    return eqx.tree_at(lambda robot: robot.payload, robot, stacked(ten))


def _torques(
    robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars, payload: Scalars
) -> tuple[Scalars, ...]:
    margins = robot.mechanism.inverse(x).margins
    carrying = _carrying(robot, payload)
    return efforts(carrying, motion_state(robot.mechanism, x, xd, xdd)), margins


def _loads(
    robot: RigidRobot, x: Scalars, xd: Scalars, xdd: Scalars, payload: Scalars
) -> tuple[Scalars, ...]:
    margins = robot.mechanism.inverse(x).margins
    found = rod_loads(_carrying(robot, payload), x, xd, xdd)
    return found.lower, found.upper, found.flange_force, found.flange_moment, margins


def _monitor(
    robot: RigidRobot,
    limits: tuple[InstantLimit, ...],
    with_rods: bool,
    q: Scalars,
    qd: Scalars,
    qdd: Scalars,
    payload: Scalars,
) -> tuple[Scalars, ...]:
    mechanism, carrying = robot.mechanism, _carrying(robot, payload)
    solved = mechanism.forward(q)
    x = solved.components
    rates = platform_motion(mechanism, q, x, qd, qdd)
    state = motion_state_at(mechanism, q, x, rates.velocity, rates.acceleration)
    tau = efforts(carrying, state)
    margin = singularity_margins(mechanism, q, x).least
    instant = Instant(q, qd, qdd, tau, mechanism.passive(q, x), (margin,))
    rods: tuple[Scalars, ...] = ()
    if with_rods:
        loads = rod_loads_at(carrying, state)
        rods = loads.lower, loads.upper
        force, moment = loads.flange_force, loads.flange_moment
        instant = instant._replace(
            rods=tuple(map(worse_end, loads.lower, loads.upper)),
            flange=(_size(force), _size(moment[:2])),
        )
    uses = tuple(minimum(item.use(item.value(instant)), LARGEST_USE) for item in limits)
    return x, tau, *rods, *((uses,) if uses else ()), solved.margins


def _size(vector: Sequence) -> Scalar:
    return safe_norm(sum(part * part for part in vector))  # pyright: ignore[reportReturnType]


# Groups


def _moving(name: str, about: str, coordinates: Sequence, order: int = 0) -> Group:
    per = ("", "/s", "/s^2")[order]
    ports = tuple(Port(c.name + order * "d", c.unit + per) for c in coordinates)
    return Group(name, about, ports)


def _motion_of_platform(mechanism: AbstractMechanism) -> tuple[Group, ...]:
    words = ("place of the platform", "its velocity", "its acceleration")
    coordinates = mechanism.platform_coordinates
    return tuple(
        _moving("x" + order * "d", word, coordinates, order) for order, word in enumerate(words)
    )


def _motion_of_joints(mechanism: AbstractMechanism) -> tuple[Group, ...]:
    words = ("joints", "their velocity", "their acceleration")
    coordinates = mechanism.joint_coordinates
    return tuple(
        _moving("q" + order * "d", word, coordinates, order) for order, word in enumerate(words)
    )


def _payload(robot: RigidRobot) -> Group:
    about = f"payload, in the frame of {robot.carrier}; inertia about its centre; zeros: nothing"
    names = [("mass", "kg"), *((f"centre_{axis}", "m") for axis in "xyz")]
    names += [(f"inertia_{axis}{axis}", "kg m^2") for axis in "xyz"]
    return Group("payload", about, tuple(Port(f"payload_{name}", unit) for name, unit in names))


def _efforts(mechanism: AbstractMechanism) -> Group:
    ports = (Port(f"tau_{c.name}", _EFFORTS[c.unit]) for c in mechanism.joint_coordinates)
    return Group("tau", "efforts of the drives", tuple(ports))


def _margins(law: Callable, inputs: Sequence[Group], about: str) -> Group:
    """As many as `law` returns."""
    found = tabulate(law)(*(np.zeros((1, len(group.ports))) for group in inputs))
    count = len(found[-1])
    ports = tuple(Port(f"margin_{k + 1}" if count > 1 else "margin") for k in range(count))
    return Group("margin", about, ports)


_REACH = "margins of the inverse: negative out of reach"
_CLOSED = "margins of the forward position: negative if the loops do not close"


def _make_inverse(robot: Robot, mechanism: AbstractMechanism) -> Function:
    inputs = _motion_of_platform(mechanism)[:1]
    law = eqx.Partial(_inverse, mechanism)
    outputs = _motion_of_joints(mechanism)[0], _margins(law, inputs, _REACH)
    return Function("inverse", "Joints that put the platform there.", law, inputs, outputs)


def _make_forward(robot: Robot, mechanism: AbstractMechanism) -> Function:
    inputs = _motion_of_joints(mechanism)[:1]
    law = eqx.Partial(_forward, mechanism)
    outputs = _motion_of_platform(mechanism)[0], _margins(law, inputs, _CLOSED)
    return Function("forward", "Where the platform is.", law, inputs, outputs)


def _make_torques(robot: Robot, mechanism: AbstractMechanism) -> Function:
    model = rigid(robot, mechanism=mechanism)
    inputs = *_motion_of_platform(mechanism), _payload(model)
    law = eqx.Partial(_torques, model)
    outputs = _efforts(mechanism), _margins(law, inputs, _REACH)
    about = "Efforts that a motion takes, friction included."
    return Function("torques", about, law, inputs, outputs)


def _rod_groups(mechanism: AbstractMechanism) -> tuple[Group, Group]:
    rods = [strut.body for strut in mechanism.struts]
    ends = (("lower", "tension of each rod at the platform"), ("upper", "at the drive"))
    lower, upper = (
        Group(end, about, tuple(Port(f"{rod}_{end}", "N") for rod in rods)) for end, about in ends
    )
    return lower, upper


def _make_loads(robot: Robot, mechanism: AbstractMechanism) -> Function:
    model = rigid(robot, mechanism=mechanism)
    if not has_rod_loads(model):
        raise InputError(
            f"{robot.name} has no 'loads' to export: they are in closed form for a platform that "
            "does not turn, on three pairs of parallel rods. `triskele torques` has them."
        )
    inputs = *_motion_of_platform(mechanism), _payload(model)
    law = eqx.Partial(_loads, model)
    outputs = (
        *_rod_groups(mechanism),
        Group("flange_force", "on what the platform carries, in its axes",
              tuple(Port(f"flange_f{axis}", "N") for axis in "xyz")),
        Group("flange_moment", "the same, about the flange",
              tuple(Port(f"flange_n{axis}", "N m") for axis in "xyz")),
        _margins(law, inputs, _REACH),
    )  # fmt: skip
    return Function(
        "loads", "Tensions of the rods, and the load on the flange.", law, inputs, outputs
    )


def watched(
    robot: Robot, mechanism: AbstractMechanism, with_rods: bool
) -> tuple[InstantLimit, ...]:
    """The limits that the monitor judges: without rods, none of rods and flange."""
    return tuple(
        item
        for item in instant_limits(Stated.of(robot, mechanism), mechanism)
        if with_rods or not {field for field, _, _ in item.of} & {"rods", "flange"}
    )


def _make_monitor(robot: Robot, mechanism: AbstractMechanism) -> Function:
    model = rigid(robot, mechanism=mechanism)
    with_rods = has_rod_loads(model)
    limits = watched(robot, mechanism, with_rods)
    inputs = *_motion_of_joints(mechanism), _payload(model)
    law = eqx.Partial(_monitor, model, limits, with_rods)
    groups = [_motion_of_platform(mechanism)[0], _efforts(mechanism)]
    groups += _rod_groups(mechanism) if with_rods else ()
    if limits:
        ports = tuple(Port(f"use_{k}") for k in range(len(limits)))
        groups.append(Group("use", "use of each limit: 1 is at the limit", ports))
    groups.append(_margins(law, inputs, _CLOSED))
    about = "What a measured motion asks of the robot, against its limits."
    return Function("monitor", about, law, inputs, tuple(groups), limits)


_MAKERS: dict[str, Callable[[Robot, AbstractMechanism], Function]] = {
    "inverse": _make_inverse,
    "forward": _make_forward,
    "torques": _make_torques,
    "loads": _make_loads,
    "monitor": _make_monitor,
}
