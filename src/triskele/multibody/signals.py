"""Motions that drives follow: harmonics of a file, and tables.

A signal gives q of all driven motors at a time t; rates come from it by autodiff, so that a
table needs a smooth curve through its rows: a spline of degree 5, the one of least degree whose
acceleration has no kinks.
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.errors import InputError

_DEGREE = 5
_FEWEST = 4  #: rows of a table, for a spline of degree 3
_ROUNDING = 1e-9  #: of times, as a part of the last one


class Harmonic(eqx.Module):
    """q(t) = start + speed t + amplitude sin(2 pi frequency t + phase)."""

    start: Float[Array, ""]  #: [rad, m]
    speed: Float[Array, ""]
    amplitude: Float[Array, ""]
    frequency: Float[Array, ""]  #: [Hz]
    phase: Float[Array, ""]  #: [rad]

    @property
    def until(self) -> float:
        """It never ends [s]."""
        return np.inf

    def __call__(self, t: Array) -> Float[Array, ""]:
        """The angle or length [rad, m]."""
        turn = 2 * jnp.pi * self.frequency * t + self.phase
        return self.start + self.speed * t + self.amplitude * jnp.sin(turn)


class Tabulated(eqx.Module):
    """The spline through the rows of a table: polynomials from knot to knot."""

    knots: Float[Array, " knots"]  #: [s]
    coefficients: Float[Array, "powers pieces"]  #: highest power first
    until: float = eqx.field(static=True)  #: last time of the table [s]

    def __call__(self, t: Array) -> Float[Array, ""]:
        """The angle or length [rad, m]."""
        last = self.coefficients.shape[1] - 1
        piece = jnp.clip(jnp.searchsorted(self.knots, t, side="right") - 1, 0, last)
        since, value = t - self.knots[piece], jnp.zeros(())
        for coefficient in self.coefficients[:, piece]:
            value = value * since + coefficient
        return value


def tabulated(
    place: str, t: Float[np.ndarray, " rows"], q: Float[np.ndarray, " rows"]
) -> Tabulated:
    """The motion of a table with times t [s], from 0 on; an error that names `place` if none is."""
    from scipy.interpolate import PPoly, make_interp_spline

    if len(t) < _FEWEST:
        raise InputError(f"{place}: has {len(t)} rows; a smooth motion needs {_FEWEST} or more.")
    if not (np.diff(t) > 0).all():
        row = int(np.argmin(np.diff(t) > 0)) + 2
        raise InputError(f"{place}: times must increase; in row {row} they do not.")
    if abs(t[0]) > _ROUNDING * t[-1]:
        raise InputError(
            f"{place}: begins at t = {t[0]:g} s; a drive begins at 0 s, so subtract {t[0]:g} s."
        )
    spline = make_interp_spline(t, q, k=_DEGREE if len(t) > _DEGREE else 3)
    pieces = PPoly.from_spline(spline)
    real = np.diff(pieces.x) > 0  # knots at the ends are repeated
    knots = np.append(pieces.x[:-1][real], t[-1])
    return Tabulated(jnp.asarray(knots), jnp.asarray(pieces.c[:, real]), float(t[-1]))


class Together(eqx.Module):
    """Signals of several motors as one."""

    parts: tuple[Harmonic | Tabulated, ...]
    joints: tuple[str, ...] = eqx.field(static=True)  #: whose motors they are

    def __call__(self, t: Array) -> Float[Array, " motors"]:
        """The angles and lengths [rad, m]."""
        return jnp.stack([part(t) for part in self.parts])


def check_until(name: str, signal: Callable[[Array], Array] | None, duration: float) -> None:
    """An error if a table ends before the simulation does."""
    if not isinstance(signal, Together):
        return
    for joint, part in zip(signal.joints, signal.parts, strict=True):
        if duration > part.until * (1 + _ROUNDING):
            raise InputError(
                f"{name}, joints.{joint}: the table of its drive ends at {part.until:g} s, before "
                f"the simulation does at {duration:g} s; shorten the one or lengthen the other."
            )
