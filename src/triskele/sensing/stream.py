"""The chord sensor sample by sample, with rates and deviations, within a JAX program of your own.

A buffer keeps the last W samples of motors and wrists. With lag k the estimate is for the sample k
steps before the newest. Polynomials of degree 4 through the buffer give the rates of the motors,
others through the deflections of w samples around that one the rates of deflections,

    y = f(theta, m),     s_y^2 = sum_p (df/dtheta_p s_p)^2 + sum_k (df/dm_k s_k)^2         (1)

with theta the zeros, timing, modulus, density and mass of `deviations.py`, and m all readings in
the buffer, whose counts are taken as independent of each other: while a joint stands or creeps,
rates are better than said. The errors of the method are those of `spread.py`.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.signal import savgol_coeffs

from triskele.description.schema import Payload, Robot
from triskele.errors import InputError
from triskele.kinematics.log import LEAST_WINDOW, odd_window
from triskele.numerics import AnyArray, Scalars
from triskele.sensing.chord import Hinges, chord_weights, deflections
from triskele.sensing.deviations import deviations_of
from triskele.sensing.rods import RodState, SoftRods, angles_at, rod_state, soft_rods
from triskele.sensing.spread import BEAMS, GRADIENT, SHAPE
from triskele.sensing.tool import tool_position

_DEGREE = 4
_USUAL_WINDOW = 0.02  #: of the motors [s]
_PART_OF_SWING = 2.0  #: [rad] of a rod's own vibration, the window of deflections


class Buffer(NamedTuple):
    """The last samples, newest last; NaN where there was none yet."""

    q: Float[AnyArray, "W n"]  #: [rad]
    wrist: Float[AnyArray, "W 3"]  #: [rad]


class Estimate(NamedTuple):
    """What a sensor says of one sample; NaN until the buffer is full."""

    deflection: Float[AnyArray, "3"]  #: [m]
    speed: Float[AnyArray, "3"]  #: [m/s]
    acceleration: Float[AnyArray, "3"]  #: [m/s^2]
    tool: Float[AnyArray, "3"]  #: [m]


class Stream(eqx.Module):
    """A sensor with its numbers; `update` is a pure function, for `jax.jit` and `jax.lax.scan`."""

    rods: SoftRods
    of_motors: Float[AnyArray, "2 w W"]  #: their rates and accelerations at the w samples
    of_wrists: Float[AnyArray, "w w"]  #: first derivative at each of them
    of_rods: Float[AnyArray, "2 w"]  #: derivatives of deflections at the sample
    sizes: Float[AnyArray, "12"]  #: deviations of theta
    counts: Float[AnyArray, "2"]  #: deviations of rounding, motors and wrists [rad]
    first: int = eqx.field(static=True)  #: of the w samples, in the buffer
    place: int = eqx.field(static=True)  #: of the sample, among them
    lag: int = eqx.field(static=True)  #: by how many samples the estimate is late

    def start(self) -> Buffer:
        """A buffer without samples."""
        rows, joints = self.of_motors.shape[2], len(self.rods.mechanism.joint_coordinates)
        return Buffer(jnp.full((rows, joints), jnp.nan), jnp.full((rows, 3), jnp.nan))

    def update(
        self, buffer: Buffer, q: Float[AnyArray, " n"], wrist: Float[AnyArray, "3"]
    ) -> tuple[Buffer, Estimate, Estimate]:
        """The buffer with one more sample, what it says, and the standard deviations of that."""
        new = Buffer(
            jnp.concatenate([buffer.q[1:], jnp.asarray(q)[None]]),
            jnp.concatenate([buffer.wrist[1:], jnp.asarray(wrist)[None]]),
        )
        rows = slice(self.first, self.first + self.of_rods.shape[1])
        q, (qd, qdd) = new.q[rows], self.of_motors @ new.q
        law = jax.vmap(jax.jacfwd(self._sample, has_aux=True))
        slopes, found = law((jnp.zeros((len(q), 3)), q, qd, qdd, new.wrist[rows]))
        y = jnp.concatenate([self._orders(found.delta), found.tool[self.place][None, 3:]])
        squares = self._method(found) + self._by_causes(slopes, new) + self._by_counts(slopes)
        return new, Estimate(*y), Estimate(*jnp.sqrt(squares))

    def _sample(self, given: tuple[Array, ...]) -> tuple[Array, "_Sample"]:
        """Deflections and tool (6,) of one sample, to be differentiated, and all that it has."""
        theta, *sample = given
        found = _sample(_with(self.rods, theta), *sample)
        return jnp.concatenate([found.delta, found.tool[3:]]), found

    def _orders(self, values: Float[Array, "w 3"]) -> Float[Array, "3 3"]:
        """Deflections at the sample, their rates and accelerations."""
        return jnp.concatenate([values[self.place][None], self.of_rods @ values])

    def _method(self, found: "_Sample") -> Float[Array, "4 3"]:
        """Variances of the method."""
        parts = (BEAMS * found.delta, found.gradient, found.turned)
        own = sum((self._orders(part) ** 2 for part in parts), jnp.zeros((3, 3)))
        tool = found.tool[self.place]
        moved = (SHAPE * jnp.linalg.norm(tool[3:] - tool[:3])) ** 2
        return jnp.concatenate([own, jnp.full((1, 3), moved)])

    def _by_causes(self, slopes: tuple[Array, ...], buffer: Buffer) -> Float[Array, "4 3"]:
        """Variances from zeros, timing and parameters, which are the same in all samples."""
        of_theta, of_q, _, _, of_wrist = slopes
        rows = slice(self.first, self.first + self.of_rods.shape[1])
        late = of_wrist * (self.of_wrists @ buffer.wrist[rows])[:, None, :]
        causes = jnp.concatenate([of_q[:, :, :3], of_wrist, late, of_theta], axis=2)
        moved = jax.vmap(self._outputs, 2, 2)(causes * self.sizes[None, None, :])
        return jnp.sum(moved**2, axis=2)

    def _by_counts(self, slopes: tuple[Array, ...]) -> Float[Array, "4 3"]:
        """Variances from rounding, of each reading in the buffer by itself."""
        _, of_q, of_qd, of_qdd, of_wrist = slopes
        w, W = self.of_motors.shape[1:]
        here = jnp.eye(w, W, self.first)
        first, second = self.of_motors
        motors = sum(
            jnp.einsum("kij,km->kimj", slope, weights)
            for slope, weights in ((of_q, here), (of_qd, first), (of_qdd, second))
        )
        wrists = jnp.einsum("kij,km->kimj", of_wrist, jnp.eye(w))
        total = jnp.zeros((4, 3))
        for moved, size in zip((motors, wrists), self.counts, strict=True):
            flat = jnp.reshape(jnp.asarray(moved), (w, 6, -1))
            total = total + size**2 * jnp.sum(jax.vmap(self._outputs, 2, 2)(flat) ** 2, axis=2)
        return total

    def _outputs(self, moved: Float[Array, "w 6"]) -> Float[Array, "4 3"]:
        """What changes of deflections and tool in all samples make of an estimate."""
        return jnp.concatenate([self._orders(moved[:, :3]), moved[self.place][None, 3:]])


class _Sample(NamedTuple):
    """One sample, or several."""

    delta: Float[Array, "*w 3"]  #: [m]
    gradient: Float[Array, "*w 3"]  #: errors of the method by a gradient [m]
    turned: Float[Array, "*w 3"]  #: and by the chord [m]
    tool: Float[Array, "*w 6"]  #: rigid, and true [m]


def streaming_sensor(
    robot: Robot,
    step: float,
    payload: Payload | str | None = None,
    *,
    lag: int | None = None,
    window: int | None = None,
) -> Stream:
    """The chord sensor of a robot with encoders at the wrists, read every `step` [s].

    `lag`: by how many samples the estimate is late, half of the window of the motors unless it is
    said; the less, the noisier are rates. `window`: samples that rates of motors come from.
    """
    rods = soft_rods(robot, payload)
    W = odd_window(_USUAL_WINDOW / step) if window is None else window
    if W < LEAST_WINDOW or W % 2 == 0:
        raise InputError(f"A window has {LEAST_WINDOW}, 7, 9, ... samples, not {W}.")
    lag = W // 2 if lag is None else lag
    if not 0 <= lag <= W // 2:
        raise InputError(f"lag is {lag}; with a window of {W} samples it is from 0 to {W // 2}.")
    w = min(odd_window(_PART_OF_SWING / float(rods.frequency.max()) / step), W)
    at = W - 1 - lag
    first = min(at - w // 2, W - w)
    known = deviations_of(robot, step, payload)
    sizes = [known.motor_zero.value] * 3 + [known.passive_zero.value] * 3
    sizes += [known.timing.value] * 3
    sizes += [known.modulus.value, known.density.value, known.platform.value]
    motors = [[_row(W, first + k, order, step) for k in range(w)] for order in (1, 2)]
    return Stream(
        rods=rods,
        of_motors=jnp.asarray(motors),
        of_wrists=jnp.asarray([_row(w, k, 1, step) for k in range(w)]),
        of_rods=jnp.asarray([_row(w, at - first, order, step) for order in (1, 2)]),
        sizes=jnp.asarray(sizes),
        counts=jnp.asarray([known.motor_count, known.passive_count]) / np.sqrt(12),
        first=first,
        place=at - first,
        lag=lag,
    )


def _row(window: int, place: int, order: int, step: float) -> np.ndarray:
    """Weights of the samples in a window whose sum is a derivative at one of them."""
    return savgol_coeffs(window, _DEGREE, deriv=order, delta=step, pos=place, use="dot")


def _with(rods: SoftRods, theta: Float[Array, "3"]) -> SoftRods:
    """Rods with modulus, density and platform moved by `theta`."""
    return eqx.tree_at(
        lambda rods: (rods.bending, rods.torsion, rods.axial, rods.mass, rods.platform),
        rods,
        (
            *(part * (1 + theta[0]) for part in (rods.bending, rods.torsion, rods.axial)),
            rods.mass * (1 + theta[1]),
            rods.platform + theta[2],
        ),
    )


def _sample(
    rods: SoftRods,
    q: Float[Array, " n"],
    qd: Float[Array, " n"],
    qdd: Float[Array, " n"],
    wrist: Float[Array, "3"],
) -> _Sample:
    state = rod_state(rods, q, qd, qdd)
    weights = chord_weights(rods, elbow=False, wrist=True)
    delta = deflections(weights, state, tuple(q), Hinges(wrist=tuple(wrist)))
    tool = tool_position(rods, tuple(q), delta, state.tension)
    bent, _ = angles_at(rods.mechanism, tuple(q), tool)
    turned = jnp.stack(_turned(state, bent)) * weights.wrist
    euler = np.pi**2 * rods.bending / rods.mechanism.rod_length**2
    part = GRADIENT + jnp.abs(jnp.stack(state.tension)) / (4 * euler)
    gradient = jnp.asarray(weights.gradient * jnp.stack(state.gradient) * part)
    return _Sample(jnp.stack(delta), gradient, turned, jnp.stack([*state.x[:3], *tool[:3]]))


def _turned(state: RodState, bent: Scalars) -> Scalars:
    return tuple(
        (now - angle) * cosine
        for angle, now, cosine in zip(state.angle, bent, state.cosine, strict=True)
    )
