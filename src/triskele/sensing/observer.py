"""A Kalman filter on the first mode of each rod: deflection without a passive encoder, or with one.

Pinned at both ends, a rod bends by w = eta sin(pi x / d) and a static rest. With the loads p_B, p_C
of `rods.py`, twist and tension,

    eta'' + 2 z w1 eta' + w1^2 (1 + s) eta = 2 (p_B + p_C) / (pi mu) + f                (1)
    s = 8 / pi^2 (G J / E I) tan^2 alpha + N / P,     P = pi^2 E I / d^2

since universal joints twist a rod by dphi sin alpha as they bend it. f is what the model does not
know, an acceleration that fades: f' = -f / T + noise, of standard deviation `unknown`. Higher modes
follow their load at once:

    delta = -pi eta - (d^4 / E I) ((p_B + p_C) (15/720 - 2/pi^4) + (p_B - p_C) / 720)   (2)
    t_C = -(pi / d) eta - (d^3 / E I) ((p_B + p_C) (15/720 - 2/pi^4) + (p_C - p_B) / 720)   (3)

An encoder at the wrist reads t_C (`chord.py`) and corrects the filter; without any, it runs open.
Between samples loads vary linearly, and (1) is solved exactly with its coefficients in the middle.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.kinematics.log import derivatives
from triskele.numerics import AnyArray, Scalar
from triskele.sensing.rods import SoftRods

_STATES = 3  #: eta, eta', f


class Tuning(NamedTuple):
    """What the filter believes."""

    unknown: float | Scalar = 0.1  #: standard deviation of f [m/s^2]
    memory: float | Scalar = 0.1  #: T, for how long f persists [s]
    noise: float | Scalar = 1e-4  #: of a wrist encoder beyond its resolution [rad]


USUAL = Tuning()


class RodInputs(NamedTuple):
    """What the motors say of a rod, sample by sample, with one column per limb."""

    stiffness: Float[AnyArray, "N 3"]  #: w1^2 (1 + s) [1/s^2]
    push: Float[AnyArray, "N 3"]  #: right-hand side of (1) without f [m/s^2]
    rest: Float[AnyArray, "N 3"]  #: delta + pi eta of (2) [m]
    slope: Float[AnyArray, "N 3"]  #: t_C + (pi / d) eta of (3) [rad]


class Estimate(NamedTuple):
    """States of the filter, and their standard deviations."""

    eta: Float[AnyArray, "N 3"]  #: [m]
    rate: Float[AnyArray, "N 3"]  #: [m/s]
    acceleration: Float[AnyArray, "N 3"]  #: [m/s^2], by (1)
    deviation: Float[AnyArray, "N 3"]  #: of eta [m]
    rate_deviation: Float[AnyArray, "N 3"]  #: [m/s]
    acceleration_deviation: Float[AnyArray, "N 3"]  #: [m/s^2]


class Filter(NamedTuple):
    """One limb's state at a sample; what a controller keeps."""

    z: Float[AnyArray, "3"]  #: eta, eta', f
    P: Float[AnyArray, "3 3"]  #: covariance


def rod_inputs(
    rods: SoftRods,
    cosine: Float[AnyArray, "N 3"],
    elbow: Float[AnyArray, "N 3"],
    wrist: Float[AnyArray, "N 3"],
    tension: Float[AnyArray, "N 3"],
) -> RodInputs:
    """Coefficients of (1) to (3) from a `RodState`, as arrays."""
    d, EI = rods.mechanism.rod_length[None, :], rods.bending
    p_B, p_C = -rods.mass * elbow, -rods.mass * wrist
    both, more = p_B + p_C, p_C - p_B
    tangent2 = 1 / cosine**2 - 1
    stiffer = 8 / jnp.pi**2 * rods.torsion / EI * tangent2 + tension * d**2 / (jnp.pi**2 * EI)
    rest = both * (15 / 720 - 2 / jnp.pi**4)
    return RodInputs(
        stiffness=rods.frequency[None, :] ** 2 * (1 + stiffer),
        push=2 * both / (jnp.pi * rods.mass),
        rest=-(d**4) / EI * (rest - more / 720),
        slope=-(d**3) / EI * (rest + more / 720),
    )


@eqx.filter_jit
def observed(
    rods: SoftRods,
    inputs: RodInputs,
    step: Scalar,
    start: Float[AnyArray, "2 3"],
    wrist: Float[AnyArray, "N 3"] | None,
    tuning: Tuning,
    deviation: Scalar,
) -> Estimate:
    """The filter along a log of equal steps [s], from eta and eta' at the `start`.

    `wrist` are slopes t_C of the rods, each with the standard `deviation` [rad]; None: none.
    """
    seen = None if wrist is None else wrist - inputs.slope
    law = Law.of(rods, deviation, tuning)
    each = jax.vmap(lambda law, mine, z, seen: law.along(mine, step, z, seen), (0, 1, 1, 1), 1)
    return each(law, inputs, start, seen)


def forced(rods: SoftRods, inputs: RodInputs, step: float) -> Float[np.ndarray, "N 3"]:
    """eta of rods that follow their loads and do not swing freely [m].

    Solves (1) for eta by taking its derivatives from the solution before, twice.
    """
    push, stiffness = np.asarray(inputs.push), np.asarray(inputs.stiffness)
    resistance = 2 * rods.damping * np.asarray(rods.frequency)
    eta = push / stiffness
    for _ in range(2):
        rate, bend = derivatives(eta, step)
        eta = (push - resistance * rate - bend) / stiffness
    return eta


def forced_motion(rods: SoftRods, inputs: RodInputs, step: float) -> Float[np.ndarray, "2 3"]:
    """eta and eta' of such rods at the first sample."""
    eta = forced(rods, inputs, step)
    return np.stack([eta[0], derivatives(eta, step)[0][0]])


class Law(eqx.Module):
    """The filter of a limb, step by step: `predicted`, then `corrected` if there is an encoder."""

    frequency: Float[AnyArray, "..."]  #: w1 [rad/s]
    resistance: Float[AnyArray, "..."]  #: 2 z w1 [1/s]
    reads: Float[AnyArray, "..."]  #: t_C per eta [rad/m]
    variance: Float[AnyArray, "..."]  #: of what is read [rad^2]
    unknown: Float[AnyArray, "..."]  #: of `Tuning`
    memory: Float[AnyArray, "..."]

    @classmethod
    def of(cls, rods: SoftRods, deviation: Scalar, tuning: Tuning) -> "Law":
        """One for each limb."""
        variance = deviation**2 + tuning.noise**2
        given = [jnp.full(3, jnp.asarray(part)) for part in (variance, *tuning[:2])]
        reads = -jnp.pi / rods.mechanism.rod_length
        w1 = rods.frequency
        return cls(w1, 2 * rods.damping * w1, reads, *given)

    def along(
        self,
        inputs: RodInputs,
        step: Scalar,
        start: Float[AnyArray, "2"],
        seen: Float[AnyArray, " N"] | None,
    ) -> Estimate:
        """All samples of one limb."""

        def forward(now: Filter, k: Array) -> tuple[Filter, Filter]:
            middle = (inputs.stiffness[k] + inputs.stiffness[k + 1]) / 2
            then = self.predicted(now, step, middle, inputs.push[k], inputs.push[k + 1])
            then = then if seen is None else self.corrected(then, seen[k + 1])
            return then, then

        first = self.start(start)
        first = first if seen is None else self.corrected(first, seen[0])
        _, rest = jax.lax.scan(forward, first, jnp.arange(len(inputs.push) - 1))
        whole = jax.tree.map(lambda one, more: jnp.concatenate([one[None], more]), first, rest)
        eta, rate, f = whole.z.T
        acceleration = inputs.push + f - self.resistance * rate - inputs.stiffness * eta
        rows = jnp.stack([-inputs.stiffness, 0 * eta - self.resistance, 0 * eta + 1], axis=1)
        spread = jnp.einsum("ni,nij,nj->n", rows, whole.P, rows)
        own = (jnp.sqrt(part) for part in (whole.P[:, 0, 0], whole.P[:, 1, 1], spread))
        return Estimate(eta, rate, acceleration, *own)

    def start(self, z: Float[AnyArray, "2"]) -> Filter:
        """From eta and eta', known to a tenth of their swing."""
        swing = jnp.hypot(z[0], z[1] / self.frequency) / 10
        spread = jnp.stack([swing, swing * self.frequency, self.unknown])
        return Filter(jnp.append(z, 0.0), jnp.diag(spread**2))

    def predicted(
        self,
        now: Filter,
        h: Scalar,
        stiffness: Scalar,
        push: Scalar,
        next_push: Scalar,
    ) -> Filter:
        """One step of `h` [s] later."""
        Phi, held, ramp = _flow(stiffness, self.resistance, h)
        fade = jnp.exp(-h / self.memory)
        F = jnp.zeros((_STATES, _STATES)).at[:2, :2].set(Phi).at[:2, 2].set(held)
        F = F.at[2, 2].set(fade)
        pushed = held * push + ramp * (next_push - push)
        z = F @ now.z + jnp.concatenate([pushed, jnp.zeros(1)])
        new = self.unknown**2 * (1 - fade**2)
        return Filter(z, F @ now.P @ F.T + jnp.zeros_like(F).at[2, 2].set(new))

    def corrected(self, now: Filter, seen: Scalar) -> Filter:
        """With the slope at the wrist `seen` [rad], its static rest taken away."""
        row = jnp.stack([self.reads, jnp.zeros(()), jnp.zeros(())])
        spread = jnp.asarray(now.P) @ row
        gain = spread / (row @ spread + self.variance)
        kept = jnp.eye(_STATES) - jnp.outer(gain, row)
        P = kept @ now.P @ kept.T + self.variance * jnp.outer(gain, gain)
        return Filter(now.z + gain * (seen - row @ now.z), P)


def _flow(
    stiffness: Scalar, resistance: Scalar, h: Scalar
) -> tuple[Float[AnyArray, "2 2"], Float[AnyArray, "2"], Float[AnyArray, "2"]]:
    """What a step makes of (eta, eta'), of a constant push, and of one that grows from 0 to 1.

    With A = [[0, 1], [-k, -r]] and b = (0, 1): exp(A h), A^-1 (exp(A h) - 1) b = H, and
    A^-1 (H / h - b).
    """
    half, one = resistance / 2, jnp.ones(())
    w = jnp.sqrt(stiffness - half**2)
    c, s = jnp.cos(w * h), jnp.sin(w * h) / w
    fall = jnp.exp(-half * h)
    Phi = fall * jnp.stack(
        [jnp.stack([c + half * s, s]), jnp.stack([-stiffness * s, c - half * s])]
    )

    def undone(v: Float[AnyArray, "2"]) -> Float[AnyArray, "2"]:
        return jnp.stack([-(resistance * v[0] + v[1]) / stiffness, v[0]])

    b = jnp.stack([0 * one, one])
    held = undone(Phi @ b - b)
    return Phi, held, undone(held / h - b)
