"""The closed loop about a pose, linear and with exact sampling: poles, response, margins.

The plant y' = A y + B I (`control.plant`) under the velocity loop, z its integral, is

    (y, z)' = F (y, z) + G w_c,     F = [[A - kP B V, kI B], [-V, 0]],   G = [[kP B], [1]]  (1)

V picks th1' and N picks th1. w_c is held over T: with Phi = exp(F T) and Gam = int exp(F s) ds G

    s[k+1] = Phi s[k] + Gam w_c[k],         w_c = kV (r - N s)                            (2)

is exact. A velocity loop that is sampled too, every T_v, holds the current: its steps are those
of A and B, and T / T_v of them make (2).

A sine r = exp(j w t) makes w_c a staircase whose fundamental passes through the plant; of the
output x its fundamental is, with H_0(T) = (1 - exp(-j w T)) / (j w T),

    X(jw) = C (j w - F)^-1 G H_0 W,     W = (1 + kV G_1(z))^-1 (kV R + ...),  z = exp(j w T)  (3)

G_1(z) = N (z - Phi)^-1 Gam is the sampled loop. The platform is asked to move by e_k: r = i S e_k,
and column k of the response is what all platform coordinates do. What is fed forward
(`control.cascade`) joins R, and W has its derivative. The response at rest, w = 0, is that of the
steady state of (2).

Margins: L = kV G_1. Its n loops are its eigenvalues (characteristic loci); the gain margin is
by how much kV may grow until a pole of (2) is on the unit circle, found on the poles themselves,
the phase margin the least angle of a locus to -1 where it crosses magnitude one.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from triskele.control.cascade import NOTHING, Cascade, FeedForward
from triskele.control.plant import LinearPlant
from triskele.errors import InputError

_FAST = 1e-9  #: [s] stands for no sampling at all in phases


class Loop(NamedTuple):
    """A linear closed loop, sampled or continuous."""

    plant: LinearPlant
    kV: float
    kP: float
    kI: float
    period: float | None  #: T [s] of the position loop
    ticks: int  #: velocity periods in it; 0: the velocity loop is continuous
    delay: int
    feed: FeedForward

    @property
    def n(self) -> int:
        """Drives."""
        return len(self.plant.shaft)


def loop(plant: LinearPlant, control: Cascade, feed: FeedForward = NOTHING) -> Loop:
    """The loop of `plant` under `control`."""
    gains = (control.position_gain, control.velocity_gain, control.integral_gain)
    ticks = 0 if control.velocity_period is None else control.ticks
    kV, kP, kI = (float(gain) for gain in gains)
    return Loop(plant, kV, kP, kI, control.position_period, ticks, control.delay, feed)


# Steps of (2)


def velocity_loop(item: Loop) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F and G of (1), and the column of a current that is fed forward."""
    A, B, V, n = item.plant.A, item.plant.B, item.plant.speed, item.n
    zero, one = np.zeros((n, n)), np.eye(n)
    if item.kI:
        F, G = np.block([[A - item.kP * B @ V, item.kI * B], [-V, zero]]), [item.kP * B, one]
    else:  # an integral that nobody uses fades, and is no pole at rest
        fade = np.abs(np.linalg.eigvals(A)).max() + 1.0
        none = np.zeros((n, len(A)))
        F, G = np.block([[A - item.kP * B @ V, none.T], [none, -fade * one]]), [item.kP * B, zero]
    return F, np.vstack(G), np.vstack([B, zero])


def held(F: np.ndarray, G: np.ndarray, T: float) -> tuple[np.ndarray, np.ndarray]:
    """exp(F T), and int exp(F s) ds G over T: the step of a held input."""
    from scipy.linalg import expm

    k, m = G.shape
    both = np.zeros((k + m, k + m))
    both[:k, :k], both[:k, k:] = F * T, G * T
    whole = expm(both)
    return whole[:k, :k], whole[:k, k:]


class Step(NamedTuple):
    """(2): s[k+1] = Phi s[k] + Gam w_c[k] + Fed I_ff[k]."""

    Phi: Float[np.ndarray, "s s"]
    Gam: Float[np.ndarray, "s n"]
    Fed: Float[np.ndarray, "s n"]
    currents: tuple[np.ndarray, ...]  #: I at each tick from (s, w_c, I_ff); none if continuous


def step(item: Loop) -> Step:
    """The step of one position period."""
    assert item.period is not None, "a continuous loop has no steps"
    n = item.n
    if not item.ticks:
        F, G, Bf = velocity_loop(item)
        Phi, both = held(F, np.hstack([G, Bf]), item.period)
        return Step(Phi, both[:, :n], both[:, n:], ())
    Tv = item.period / item.ticks
    k = len(item.plant.A)
    Ad, Bd = held(item.plant.A, item.plant.B, Tv)
    V = np.hstack([item.plant.speed, np.zeros((n, n))])
    Z = np.hstack([np.zeros((n, k)), np.eye(n)])
    # Everything as a function of (s, w_c, I_ff) at the start of the position period.
    now = np.eye(k + n, k + 3 * n)
    w = np.eye(n, k + 3 * n, k + n)
    fed = np.eye(n, k + 3 * n, k + 2 * n)
    currents = []
    for _ in range(item.ticks):
        error = w - V @ now
        current = item.kP * error + item.kI * Z @ now + fed
        currents.append(current)
        grown = now[k:] + Tv * error if item.kI else np.zeros_like(error)
        now = np.vstack([Ad @ now[:k] + Bd @ current, grown])
    return Step(now[:, : k + n], now[:, k + n : k + 2 * n], now[:, k + 2 * n :], tuple(currents))


def poles(item: Loop) -> Complex[np.ndarray, " s"]:
    """Poles of the closed loop: in z for a sampled one, else in s [1/s]."""
    N = _motor(item)
    if item.period is None:
        F, G, _ = velocity_loop(item)
        return _eigenvalues(F - item.kV * G @ N)
    Phi, Gam, _, _ = step(item)
    if not item.delay:
        return _eigenvalues(Phi - item.kV * Gam @ N)
    n = item.n
    late = np.block([[Phi, Gam], [-item.kV * N, np.zeros((n, n))]])
    return _eigenvalues(late)


def _eigenvalues(A: Float[np.ndarray, "s s"]) -> Complex[np.ndarray, " s"]:
    """Complex even if all are real."""
    return np.linalg.eigvals(A).astype(complex)


def growth(item: Loop) -> float:
    """What the slowest mode is multiplied by in a period (a second, if continuous); < 1: stable."""
    found = poles(item)
    return float(np.exp(np.real(found).max()) if item.period is None else np.abs(found).max())


# Response


def response(item: Loop, frequencies: Float[np.ndarray, " f"]) -> Complex[np.ndarray, "f n n"]:
    """Platform coordinates (rows) per platform command (columns) at `frequencies` [Hz]; (3)."""
    if item.period is None:
        return np.stack([_continuous(item, 2 * np.pi * float(f)) for f in frequencies])
    each = step(item)
    return np.stack([_sampled(item, each, 2 * np.pi * float(f)) for f in frequencies])


def _continuous(item: Loop, w: float) -> np.ndarray:
    angles, speeds, fed = _asked(item, w)
    F, G, Bf = velocity_loop(item)
    closed = 1j * w * np.eye(len(F)) - F + item.kV * G @ _motor(item)
    return np.linalg.solve(closed, G @ (item.kV * angles + speeds) + Bf @ fed)[: item.n]


def _sampled(item: Loop, each: Step, w: float) -> np.ndarray:
    """(3); at rest the steady state of (2)."""
    assert item.period is not None, "sampled"
    angles, speeds, fed = _asked(item, w)
    Phi, Gam, Fed, currents = each
    n, k, N = item.n, len(item.plant.A), _motor(item)
    z = np.exp(1j * w * item.period)
    late = z**-item.delay
    # (z - Phi) s = Gam W + Fed I,  W = late (kV (R - N s) + speeds)
    closed = z * np.eye(k + n) - Phi + late * item.kV * Gam @ N
    s = np.linalg.solve(closed, late * Gam @ (item.kV * angles + speeds) + Fed @ fed)
    if w == 0:
        return s[:n]
    W = late * (item.kV * (angles - N @ s) + speeds)
    if not item.ticks:
        F, G, Bf = velocity_loop(item)
        drive = _staircase(w, item.period) * (G @ W + Bf @ fed)
        return np.linalg.solve(1j * w * np.eye(k + n) - F, drive)[:n]
    Tv, given = item.period / item.ticks, np.vstack([s, W, fed])
    current = sum(np.exp(-1j * w * j * Tv) * row @ given for j, row in enumerate(currents))
    drive = _staircase(w, Tv) * item.plant.B @ current / item.ticks
    return np.linalg.solve(1j * w * np.eye(k) - item.plant.A, drive)[:n]


def _motor(item: Loop) -> np.ndarray:
    """N: th1 from (y, z)."""
    return np.hstack([item.plant.motor, np.zeros((item.n, item.n))])


def _staircase(w: float, T: float) -> complex:
    """Fundamental of a sine that is held for T, per sine."""
    return complex((1 - np.exp(-1j * w * T)) / (1j * w * T)) if w * T > _FAST else 1.0


def _asked(item: Loop, w: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Motor angles, speeds and currents that unit sines of the platform ask for."""
    plant, nothing = item.plant, np.zeros((item.n, item.n), complex)

    def moving(parts: tuple[np.ndarray, ...]) -> np.ndarray:
        """Of x, xd and xdd, for unit sines."""
        return parts[0] + 1j * w * parts[1] - w * w * parts[2]

    angles = plant.shaft + (moving(plant.windup) if item.feed.windup else nothing)
    speeds = 1j * w * angles if item.feed.velocity else nothing
    fed = moving(plant.asked) if item.feed.torque else nothing
    return angles, speeds, fed


# Margins


class Margins(NamedTuple):
    """How far a loop is from instability."""

    gain: float  #: by which kV may be multiplied
    gain_limit: float  #: kV at that point [1/s]
    phase: float  #: [deg]
    crossover: float  #: [Hz], where the phase margin is taken


def margins(item: Loop) -> Margins:
    """Gain and phase margins of the position loop."""
    limit = gain_limit(item)
    phase, crossover = _phase_margin(item)
    return Margins(limit / item.kV, limit, phase, crossover)


_NO_GAIN = 1e-5  #: position gain that leaves the velocity loop to itself [1/s]


def velocity_loop_is_stable(item: Loop) -> bool:
    """Whether the velocity loop alone is, the position loop being open, whatever its gain."""
    return growth(item._replace(kV=min(1e-6 * item.kV, _NO_GAIN))) <= 1 + 1e-9


def gain_limit(item: Loop) -> float:
    """The position gain kV [1/s] at which the loop becomes unstable, by bisection."""
    if not velocity_loop_is_stable(item):
        raise InputError("The velocity loop itself is unstable; no position gain helps.")
    low, high = 0.0, item.kV
    for _ in range(60):
        if growth(item._replace(kV=high)) > 1:
            break
        low, high = high, 2 * high
    else:
        return float("inf")
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if growth(item._replace(kV=middle)) <= 1 else (low, middle)
    return low


def period_limit(item: Loop, most: float = 1.0) -> float:
    """The position period T [s] at which the loop becomes unstable."""
    assert item.period is not None, "only a sampled loop has a period"
    low = high = item.period
    while growth(item._replace(period=high)) <= 1:
        low, high = high, 1.1 * high
        if high > most:
            return float("inf")
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if growth(item._replace(period=middle)) <= 1 else (low, middle)
    return low


def loci(item: Loop, frequencies: Float[np.ndarray, " f"]) -> Complex[np.ndarray, "f n"]:
    """Characteristic loci of kV G_1 at `frequencies` [Hz], each loop in its own column."""
    from scipy.optimize import linear_sum_assignment

    N = _motor(item)
    parts = velocity_loop(item)[:2] if item.period is None else step(item)[:2]
    found: list[np.ndarray] = []
    for f in frequencies:
        w = 2 * np.pi * f
        at = 1j * w if item.period is None else np.exp(1j * w * item.period)
        late = 1.0 if item.period is None else at**-item.delay
        L = item.kV * late * N @ np.linalg.solve(at * np.eye(len(parts[0])) - parts[0], parts[1])
        values = np.linalg.eigvals(L)
        if found:
            near = np.abs(found[-1][:, None] - values[None, :])
            values = values[linear_sum_assignment(near)[1]]
        found.append(values)
    return np.array(found)


def _phase_margin(item: Loop) -> tuple[float, float]:
    top = 0.499 / item.period if item.period is not None else 1e3
    grid = np.geomspace(1e-2, top, 2000)
    values = loci(item, grid)
    size = np.log(np.abs(values))
    found = []
    for column, phase in zip(size.T, np.unwrap(np.angle(values), axis=0).T, strict=True):
        for k in np.flatnonzero(np.diff(np.sign(column)) != 0):
            part = column[k] / (column[k] - column[k + 1])
            angle = np.degrees(phase[k] + part * (phase[k + 1] - phase[k]))
            margin = (angle + 180) % 360
            margin = margin - 360 if margin > 180 else margin
            found.append((margin, float(grid[k] * (grid[k + 1] / grid[k]) ** part)))
    return min(found, key=lambda pair: abs(pair[0])) if found else (float("inf"), float("nan"))
