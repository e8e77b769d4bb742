"""Poles of a flexible robot whose motors are held by their servos: modes that are damped.

At rest, with s = E y the turns of the motors and z the integrals of (1) of `servo`,

    M y'' + C y' + K y + E' k_I z = 0,      z' = kV s + s'                              (1)

With the modes V of M and K alone, V'M V = 1 and V'K V = w^2, y = V e and r the larger of w and of
1 rad/s, which keeps apart what is small and large, the state (r e, e', z) moves with

        [    0          r          0     ]
    A = [ -w^2 / r   -V'C V   -V'E' k_I  ]                                             (2)
        [ kV E V / r   E V         0     ]

No mode is left out, so that (2) is (1). Its eigenvalues p are poles. Those in pairs swing, with the
frequency |Im p| and the damping ratio -Re p / |p|; real ones fade, with the time constant -1 / p.
Motors that are held leave C alone to damp.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float
from scipy.linalg import eigh

from triskele.flexible.assembly import drive_places
from triskele.flexible.robot import FlexibleRobot

_LEAST = 1.0  #: [rad/s] of r
_GROWING = 1e-4  #: of its size, a real part that is no rounding
_REAL = 1e-7  #: of its size, what rounding leaves of the imaginary part of a real pole


class Poles(NamedTuple):
    """All poles, and how the robot moves in each."""

    p: Complex[np.ndarray, " s"]  #: [1/s]
    shapes: Complex[np.ndarray, "n s"]  #: y
    vectors: Complex[np.ndarray, "s s"]  #: of (2)
    states: Float[np.ndarray, "s all"]  #: (r e, e', z) from (y, y', z)

    def swinging(self) -> np.ndarray:
        """Which of them swing, one of each pair, the slowest first."""
        turning = np.imag(self.p)
        chosen = np.flatnonzero(turning > _REAL * np.abs(self.p))
        return chosen[np.argsort(turning[chosen])]

    def grows(self) -> bool:
        """Whether one of them grows: the loop is unstable."""
        return bool((np.real(self.p) > _GROWING * np.abs(self.p)).any())

    def fading(self) -> Float[np.ndarray, " _"]:
        """Rates at which fades what does not swing [1/s], the slowest first."""
        real = np.abs(np.imag(self.p)) <= _REAL * np.abs(self.p)
        return np.sort(-np.real(self.p[real]))


def poles(
    robot: FlexibleRobot,
    M: Float[np.ndarray, "n n"],
    C: Float[np.ndarray, "n n"],
    K: Float[np.ndarray, "n n"],
) -> Poles:
    """Poles of (1) from the matrices of `robot` at rest."""
    squares, V = eigh((K + K.T) / 2, M)
    n, w_sq = len(V), np.maximum(squares, 0.0)
    r = np.maximum(np.sqrt(w_sq), _LEAST)
    A = np.block([[np.zeros((n, n)), np.diag(r)], [-np.diag(w_sq / r), -V.T @ C @ V]])
    to_state = np.kron(np.eye(2), V.T @ M) * np.concatenate([r, np.ones(n)])[:, None]
    if integrates(robot):
        servo = robot.servo
        assert servo is not None
        turns = V[drive_places(robot, robot.motor_turn)]
        kV, k_I = (np.asarray(part) for part in (servo.position_gain, servo.integral))
        A = np.pad(A, ((0, 3), (0, 3)))
        A[n : 2 * n, 2 * n :] = -turns.T * k_I[None, :]
        A[2 * n :, :n], A[2 * n :, n : 2 * n] = kV[:, None] * turns / r[None, :], turns
        to_state = np.pad(to_state, ((0, 3), (0, 3)))
        to_state[2 * n :, 2 * n :] = np.eye(3)
    p, X = np.linalg.eig(A)
    return Poles(p.astype(complex), V @ (X[:n] / r[:, None]).astype(complex), X, to_state)


def integrates(robot: FlexibleRobot) -> bool:
    """Whether servos have integrators."""
    return robot.servo is not None and bool(np.any(np.asarray(robot.servo.integral) > 0))
