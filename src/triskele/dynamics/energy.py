"""Energy of a rigid robot, and what its joints turn into heat.

    kinetic    1/2 sum_b tr(Td_b P_b Td_b') + 1/2 sum_k I_k qd_k^2
    potential  -sum_b g . (m c)_b in O, and springs 1/2 k (eta - eta_0)^2
    lost       sum of f(w) w over all joints with friction

The drives do the power tau . qd = d/dt (kinetic + potential) + lost.
"""

from typing import NamedTuple

from triskele.dynamics.inverse import turning_balls
from triskele.dynamics.robot import RigidRobot
from triskele.dynamics.wrenches import Frames, inertial_wrenches, motion_state, power
from triskele.numerics import (
    Components,
    Scalar,
    Scalars,
    as_scalars,
    at_known,
    jvp,
    safe_norm,
    zeros_like,
)
from triskele.spatial.vectors import combine, dot


class Energy(NamedTuple):
    """Energies [J] and lost power [W] at one state."""

    kinetic: Scalar
    potential: Scalar
    lost: Scalar

    @property
    def total(self) -> Scalar:
        """Kinetic and potential."""
        return self.kinetic + self.potential


def potential_energy(robot: RigidRobot, T: Frames, eta: Scalars) -> Scalar:
    """Energy of gravity and springs [J] with bodies at `T` and passive coordinates `eta`."""
    g, potential = robot.gravity_components(), zeros_like(T[-1].p[2])
    for ten, pose in zip(robot.inertias(), T, strict=True):
        m, *mc = ten
        moment = combine((mc[0], pose.x), (mc[1], pose.y), (mc[2], pose.z), (m, pose.p))
        potential = potential - dot(g, moment)
    for spring, position in zip(robot.springs, eta, strict=True):
        potential = potential if spring is None else potential + spring.energy(position)
    return potential


@at_known
def energy(robot: RigidRobot, x: Components, xd: Components) -> Energy:
    """Energies and lost power when the platform is at `x` and moves with `xd`."""
    x, xd = as_scalars(x), as_scalars(xd)
    mechanism = robot.mechanism
    state = motion_state(mechanism, x, xd, tuple(zeros_like(value) for value in x))
    W = inertial_wrenches(robot, state.Td, (0.0, 0.0, 0.0))
    spinning = sum(i * qd * qd for i, qd in zip(robot.rotors, state.qd, strict=True))
    kinetic = (power(state.Td, W) + spinning) / 2
    eta, etad = jvp(mechanism.passive, (state.q, x), (state.qd, xd))
    potential = potential_energy(robot, state.T, eta)
    lost = zeros_like(kinetic)
    laws = (*robot.drive_friction, *robot.passive_friction)
    for law, speed in zip(laws, (*state.qd, *etad), strict=True):
        lost = lost if law is None else lost + law.effort(speed) * speed
    if robot.ball_friction is not None:
        for _, _, w in turning_balls(robot, state):
            speed = safe_norm(dot(w, w))
            lost = lost + robot.ball_friction.effort(speed) * speed
    return Energy(kinetic, potential, lost)
