"""Kinematics of a Delta in batches, against a C loop of the same inverse kinematics.

The goal: `numerics.batch(delta.inverse)(poses)`, the public path, from an (N, 3) NumPy array
of a million poses to angles *and* margins, costs at most GOAL times the C loop, which
computes the angles alone and writes them into memory that is already there.

The poses follow one smooth path, so that the branches of C's atan2 are predicted well; in
random order the C loop is about 1.2 times slower, and ours is not.
"""

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from benchmarks.build import shared_library
from benchmarks.race import cpu_time, race
from triskele.kinematics.delta import Delta
from triskele.kinematics.velocity import joint_motion
from triskele.numerics import AnyArray, batch

GOAL = 2.0  #: CPU time of batched inverse kinematics, in units of the C loop, at the largest N
SIZES = (1_000, 10_000, 100_000, 1_000_000)
OURS = "inverse"
AS_ARRAY = "inverse, as (N, 3) array"
NUMPY = "inverse, NumPy"
_MOST_NUMBERS = 20_000_000  # of a result: 160 MB; larger ones measure the memory
_NOT_COMPILED = (NUMPY, AS_ARRAY)  # the latter is OURS and a stack
_TOLERANCE = 1e-12  # [rad, m]

Numbers = NDArray[np.float64]
Solver = Callable[[Numbers], Numbers]  #: poses (N, 3) to angles (N, 3)


class Row(NamedTuple):
    """One measurement."""

    name: str
    n: int
    nanoseconds: float  #: CPU time per pose
    ratio: float  #: to the reference at the same N
    compilation: float | None  #: CPU time [s] of the first call beyond a later one


def robot() -> Delta:
    """A Delta of medium size, with pairs of rods."""
    return Delta.symmetric(
        base_radius=0.2, platform_radius=0.05, arm_length=0.35, rod_length=0.8, rod_spacing=0.1
    )


def poses(n: int) -> Numbers:
    """`n` poses (n, 3) [m] on a smooth path through the middle of the workspace."""
    t = np.linspace(0, 4e-4 * n, n)
    x = 0.25 * np.cos(t) * np.sin(t / 37)
    return np.stack([x, 0.25 * np.sin(t), -0.75 + 0.1 * np.cos(t / 11)], axis=1)


def c_inverse(delta: Delta) -> Solver | None:
    """The loop of c/ik.c, compiled now; None where no compiler does it."""
    try:
        loop = shared_library("c/ik.c", ["-O3"]).inverse
    except OSError:
        return None
    array = partial(np.ctypeslib.ndpointer, np.float64, flags="C_CONTIGUOUS")
    loop.argtypes = [ctypes.c_long, array(), array(), array()]
    loop.restype = None
    limbs = np.stack(
        [
            np.cos(delta.azimuth),
            np.sin(delta.azimuth),
            np.asarray(delta.platform_radius - delta.base_radius),
            np.asarray(delta.arm_length),
            np.asarray(delta.rod_length),
        ],
        axis=1,
    )
    angles = np.empty((0, 3))

    def solve(x: Numbers) -> Numbers:
        nonlocal angles
        if len(angles) != len(x):
            angles = np.empty_like(x)
        loop(len(x), limbs, x, angles)
        return angles

    return solve


def numpy_inverse(delta: Delta) -> Solver:
    """The same formula on columns of NumPy."""
    limbs = np.cos(delta.azimuth), np.sin(delta.azimuth)
    lengths = delta.platform_radius - delta.base_radius, delta.arm_length, delta.rod_length
    limbs = [tuple(map(float, limb)) for limb in zip(*limbs, *lengths, strict=True)]

    def solve(x: Numbers) -> Numbers:
        angles = np.empty_like(x)
        for i, (c, s, reach, L, d) in enumerate(limbs):
            s_u, s_v, s_k = c * x[:, 0] + s * x[:, 1] + reach, c * x[:, 1] - s * x[:, 0], x[:, 2]
            square = s_u**2 + s_k**2
            k = (square + s_v**2 + L**2 - d**2) / (2 * L)
            h = np.sqrt(np.maximum(square - k**2, 0))
            angles[:, i] = np.arctan2(-h * s_u - k * s_k, k * s_u - h * s_k)
        return angles

    return solve


def textbook_inverse(delta: Delta, x: AnyArray) -> AnyArray:
    """The same angles of one pose as JAX is mostly written: one array over the limbs, libm."""
    R, r, L, d = _lengths(delta)
    cos, sin = jnp.cos(delta.azimuth), jnp.sin(delta.azimuth)
    s_x, s_y, s_z = cos * x[0] + sin * x[1] + r - R, cos * x[1] - sin * x[0], x[2]
    k = (s_x**2 + s_y**2 + s_z**2 + L**2 - d**2) / (2 * L)
    return -jnp.arctan2(s_z, s_x) - jnp.arccos(k / jnp.hypot(s_x, s_z))


def textbook_forward(delta: Delta, q: AnyArray) -> AnyArray:
    """The same pose as `Delta.forward`, with stacked points and products of vectors."""
    R, r, L, d = _lengths(delta)
    out, up = R - r + L * jnp.cos(q), -L * jnp.sin(q)
    cos, sin = jnp.cos(delta.azimuth), jnp.sin(delta.azimuth)
    p = jnp.stack([out * cos, out * sin, up], axis=1)
    u, v = p[1] - p[0], p[2] - p[0]
    n = jnp.cross(u, v)
    m_u = (u @ u + d[0] ** 2 - d[1] ** 2) / 2
    m_v = (v @ v + d[0] ** 2 - d[2] ** 2) / 2
    m = (m_u * jnp.cross(v, n) + m_v * jnp.cross(n, u)) / (n @ n)
    return p[0] + m - jnp.sqrt(d[0] ** 2 - m @ m) * n / jnp.linalg.norm(n)


def _lengths(delta: Delta) -> tuple[AnyArray, ...]:
    return delta.base_radius, delta.platform_radius, delta.arm_length, delta.rod_length


def measurements(*, rounds: int, reference: str, solver: Solver) -> Iterator[Row]:
    """Rows of the table, for each of SIZES; `solver` is called `reference` in it."""
    delta = robot()
    for n in SIZES:
        x = poses(n)
        q = solver(x).copy()
        calls = _candidates(delta, q, x)
        calls = {reference: lambda x=x: solver(x), **calls}
        compilation = {name: _compilation(call) for name, call in calls.items()}
        _compare(delta, q, x)
        for name, lap in race(calls, reference, rounds=rounds).items():
            compiled = None if name in (reference, *_NOT_COMPILED) else compilation[name]
            yield Row(name, n, 1e9 * lap.seconds / n, lap.ratio, compiled)


def _candidates(delta: Delta, q: Numbers, x: Numbers) -> dict[str, Callable[[], object]]:
    """What is compared, by its name in the table; each call waits for its result."""
    rates = tuple(np.roll(x, 1 + k, axis=1) for k in range(3))  # any numbers will do
    motion = eqx.Partial(joint_motion, delta)
    stacked_inverse = _mapped(lambda delta, x: delta.inverse(x).value)
    stacked_forward = _mapped(lambda delta, q: delta.forward(q).value)
    inverse, forward = _mapped(textbook_inverse), _mapped(textbook_forward)
    numpy = numpy_inverse(delta)
    done = jax.block_until_ready
    calls: dict[str, Callable[[], object]] = {
        OURS: lambda: done(batch(delta.inverse)(x)),
        AS_ARRAY: lambda: np.asarray(batch(delta.inverse)(x).value),
        "inverse, vmap and stack": lambda: done(stacked_inverse(delta, x)),
        "inverse, textbook JAX": lambda: done(inverse(delta, x)),
        NUMPY: lambda: numpy(x),
        "forward": lambda: done(batch(delta.forward)(q)),
        "forward, vmap and stack": lambda: done(stacked_forward(delta, q)),
        "forward, textbook JAX": lambda: done(forward(delta, q)),
        "velocity, acceleration, jerk": lambda: done(batch(motion)(q, x, *rates)),
    }
    if 12 * len(delta.bodies) * len(x) <= _MOST_NUMBERS:
        calls["body poses"] = lambda: done(batch(delta.body_poses)(q, x))
    return calls


def _mapped(
    function: Callable[[Delta, AnyArray], AnyArray],
) -> Callable[[Delta, Numbers], AnyArray]:
    """`function` for rows; the geometry is an argument, as it is for `batch`."""
    return jax.jit(jax.vmap(function, in_axes=(None, 0)))


def _compilation(call: Callable[[], object]) -> float:
    """CPU time [s] of a first call beyond a later one."""
    first = cpu_time(call)
    return max(first - cpu_time(call), 0.0)


def _compare(delta: Delta, q: Numbers, x: Numbers) -> None:
    """Raise unless all of them solve the same problem; `q` is the reference's answer."""
    answers = {
        "inverse": np.stack(batch(delta.inverse)(x).components, axis=1) - q,
        "inverse by NumPy": numpy_inverse(delta)(x) - q,
        "textbook inverse": np.asarray(_mapped(textbook_inverse)(delta, x)) - q,
        "forward": np.stack(batch(delta.forward)(q).components, axis=1) - x,
        "textbook forward": np.asarray(_mapped(textbook_forward)(delta, q)) - x,
    }
    for name, difference in answers.items():
        worst = np.abs(difference).max()
        if not worst < _TOLERANCE:
            raise ArithmeticError(f"{name}: off by {worst:.1e}, more than {_TOLERANCE:.0e}.")
