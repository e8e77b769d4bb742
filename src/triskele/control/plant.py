"""A robot with its actuators: what a controller of currents drives.

The load state is the platform's, (x, xd): joints follow in closed form, loops stay closed,
and the effort of the mechanism never has to be guessed (`laws/actuators.py`). With q0 the joints
at home and th2 = i (q(x) - q0),

    soft     y = (x, xd, th1, th1')    M xdd + h = (dq/dx)' i T(th1 - th2, th1' - th2')     (1)
             M with i^2 J2 at the joints;      J1 th1'' = kT I - friction - T               (2)
    stiff    y = (x, xd)               M xdd + h = (dq/dx)' i (kT I)                        (3)
             M with all motor inertia, h with the friction of motors

About a pose at rest, in deviations, with S = dq/dx and the springs' K of `compliant.stiffness`,

    M xdd + S' i (ct i S xd + kt i S x) + d xd + K x = S' i (kt th1 + ct th1')              (4)
    J1 th1'' + (ct + c1) th1' + kt th1 = kt i S x + ct i S xd + kT I                        (5)

with d the viscous friction of the joints. Dry friction is left out of (4) and (5): with it there
is no transfer function, only one for each amplitude.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from triskele.compliant.stiffness import linear
from triskele.description.schema import Payload, Robot
from triskele.dynamics.forward import forward_dynamics
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.velocity import closure_jacobians
from triskele.laws.actuators import Actuators, actuators, at_joints
from triskele.laws.drives import drives
from triskele.laws.friction import FrictionLaw
from triskele.numerics import AnyArray, safe_divide, stacked


class Plant(eqx.Module):
    """The load, its actuators, and where motor angles are zero."""

    load: RigidRobot  #: with i^2 J2 at its joints, or all of a stiff drive
    actuators: Actuators
    zero: Float[AnyArray, " n"]  #: q0 [rad, m]

    @property
    def mechanism(self) -> AbstractMechanism:
        """The geometry of the load."""
        return self.load.mechanism

    @property
    def n(self) -> int:
        """Drives, and coordinates of the platform."""
        return len(self.zero)

    @property
    def soft(self) -> bool:
        """Whether transmissions wind up."""
        return self.actuators.coupling is not None

    def rates(
        self, y: Float[AnyArray, " k"], current: Float[AnyArray, " n"]
    ) -> Float[AnyArray, " k"]:
        """dy/dt of (1) and (2), or of (3), under currents [A]."""
        n, drive = self.n, self.actuators
        x, xd = tuple(y[:n]), tuple(y[n : 2 * n])
        if drive.coupling is None:
            effort = drive.ratio * drive.torque_constant * current
            return jnp.concatenate([y[n : 2 * n], self._accelerated(x, xd, effort)])
        th2, th2d = self.load_angles(y)
        th1, th1d = y[2 * n : 3 * n], y[3 * n :]
        T = drive.coupling.torque(th1 - th2, th1d - th2d)
        xdd = self._accelerated(x, xd, drive.ratio * T)
        th1dd = drive.rotor_acceleration(current, th1d, T)
        return jnp.concatenate([y[n : 2 * n], xdd, th1d, th1dd])

    def _accelerated(self, x: tuple, xd: tuple, effort: AnyArray) -> AnyArray:
        return stacked(forward_dynamics(self.load, x, xd, tuple(effort)))

    def load_angles(
        self, y: Float[AnyArray, " k"]
    ) -> tuple[Float[AnyArray, " n"], Float[AnyArray, " n"]]:
        """th2 and its rate [rad, rad/s], at the motor shaft."""
        n = self.n
        x, xd = tuple(y[:n]), y[n : 2 * n]
        q = self.mechanism.inverse(x).components
        A, B = closure_jacobians(self.mechanism, q, x)
        turns = [
            -safe_divide(sum(a * v for a, v in zip(r, xd, strict=True)), b)
            for r, b in zip(A, B, strict=True)
        ]  # pyright: ignore[reportArgumentType]
        i = self.actuators.ratio
        return i * (stacked(q) - self.zero), i * stacked(turns)

    def motor_angles(
        self, y: Float[AnyArray, " k"]
    ) -> tuple[Float[AnyArray, " n"], Float[AnyArray, " n"]]:
        """th1 and its rate [rad, rad/s]: what the encoders see."""
        n = self.n
        return (y[2 * n : 3 * n], y[3 * n :]) if self.soft else self.load_angles(y)


def plant(robot: Robot, payload: Payload | str | None = None, *, friction: bool = True) -> Plant:
    """The robot of a file with its actuators, carrying a `payload`.

    Without `friction` joints and motors are free of it.
    """
    load = rigid(robot, payload, friction=friction)
    found = drives(robot, load.mechanism)
    motors = actuators(robot, found)
    load = eqx.tree_at(lambda r: r.rotors, load, at_joints(found, motors))
    if motors.coupling is not None:
        # Friction of the motors is in front of the coupling, that of the joints behind it.
        own = tuple(drive.friction if friction else None for drive in found)
        load = eqx.tree_at(lambda r: r.drive_friction, load, own, is_leaf=_none)
    if not friction:
        none = (jnp.zeros_like(motors.damping),) * 2
        motors = eqx.tree_at(lambda d: (d.damping, d.coulomb), motors, none)
    zero = load.mechanism.inverse(load.mechanism.home()).components
    return Plant(load, motors, stacked(zero))


def _none(value: object) -> bool:
    return value is None


# Linear


class LinearPlant(NamedTuple):
    """y' = A y + B I about a pose at rest, in deviations of y and of the currents."""

    A: Float[np.ndarray, "k k"]
    B: Float[np.ndarray, "k n"]
    motor: Float[np.ndarray, "n k"]  #: th1 from y
    speed: Float[np.ndarray, "n k"]  #: th1' from y
    shaft: Float[np.ndarray, "n n"]  #: i dq/dx: motor angles per x, couplings not wound up
    windup: tuple[Float[np.ndarray, "n n"], ...]  #: twist of couplings that x, xd, xdd take
    asked: tuple[Float[np.ndarray, "n n"], ...]  #: currents that x, xd and xdd of the load take
    x: Float[np.ndarray, " n"]  #: the pose


def linear_plant(plant: Plant, x: ArrayLike, *, dry: bool = False) -> LinearPlant:
    """Equations (4) and (5) at the pose `x`, held at rest.

    With `dry` the slopes of dry friction at rest are in it, for the choice of a time step.
    """
    M, K, S, tau, _, E = linear(plant.load, x)
    n, drive = plant.n, jax.tree.map(np.asarray, plant.actuators)
    i, kT = drive.ratio, drive.torque_constant
    d = S.T @ np.diag([_slope(law, dry) for law in plant.load.drive_friction]) @ S
    d = d + E.T @ np.diag([_slope(law, dry) for law in plant.load.passive_friction]) @ E
    zero, one, inverse = np.zeros((n, n)), np.eye(n), np.linalg.inv(M)
    N, pose = np.diag(i) @ S, np.asarray(x, float)
    amperes = np.diag(1 / (i * kT)) @ np.linalg.inv(S.T)  # of platform forces
    asked = tuple(amperes @ part for part in (K, d, M))
    if drive.coupling is None:
        A = np.block([[zero, one], [-inverse @ K, -inverse @ d]])
        B = np.vstack([zero, inverse @ N.T @ np.diag(kT)])
        motor, speed = np.hstack([N, zero]), np.hstack([zero, N])
        return LinearPlant(A, B, motor, speed, N, (zero,) * 3, asked, pose)
    kt = np.diag(np.where(tau >= 0, drive.coupling.stiffness, drive.coupling.reverse))
    rubbing = drive.damping + (drive.coulomb / drive.coulomb_speed if dry else 0.0)
    ct, c1, J = (np.diag(v) for v in (drive.coupling.damping, rubbing, drive.rotor_inertia))
    motion = [-inverse @ (K + N.T @ kt @ N), -inverse @ (d + N.T @ ct @ N)]
    motion += [inverse @ N.T @ kt, inverse @ N.T @ ct]
    rotor = [np.linalg.inv(J) @ part for part in (kt @ N, ct @ N, -kt, -ct - c1)]
    A = np.block([[zero, one, zero, zero], motion, [zero, zero, zero, one], rotor])
    B = np.vstack([zero, zero, zero, np.linalg.inv(J) @ np.diag(kT)])
    motor, speed = (np.hstack([*(zero,) * k, one, *(zero,) * (3 - k)]) for k in (2, 3))
    windup = tuple(np.linalg.inv(kt) @ np.diag(kT) @ load for load in asked)
    own = (zero, np.diag(1 / kT) @ c1 @ N, np.diag(1 / kT) @ J @ N)  # of the rotors
    asked = tuple(load + more for load, more in zip(asked, own, strict=True))
    return LinearPlant(A, B, motor, speed, N, windup, asked, pose)


def _slope(law: FrictionLaw | None, dry: bool) -> float:
    """Friction per speed at rest [N m s/rad or N s/m], the `dry` part only if asked for."""
    if law is None:
        return 0.0
    return law.slope + (float(law.coulomb / law.smoothing_speed) if dry else 0.0)
