"""How a platform turns that three pairs of rods carry, if the rods of a pair are not alike.

Rods a and b of a limb go from E -+ w/2 at the drive to W -+ R rho/2 at the platform, with E and W
midway between their ends. With s = W - E, and R the rotation of the platform,

    delta = R rho - w                                                                  (1)

is what rod b has more than rod a, and each rod has its length where

    s.s + delta.delta/4 - (d_a^2 + d_b^2)/2 = 0                                        (2)
    s.delta - (d_b^2 - d_a^2)/2 = 0                                                    (3)

(2) closes the loop: it is that of one rod between the middles, shorter than d_a, and gives q. If
rods are alike, delta = 0. Otherwise the three equations (3), in which each q is that of (2), are
solved for R at a given place p of the platform. R = C(v) R_0 turns about v by 2 atan |v|,

    C(v) a = a + 2 (v x a + v x (v x a)) / (1 + v.v)                                   (4)

and Newton's method finds v from zero, R_0. If the platform turns at the rate omega about p, then
(2) moves the joint, and (3) changes at the rates n.omega, with r = R (W - p)

    n = r x (delta - k s) + R rho x (s - k delta/4),   k = (delta.dE/dq) / (s.dE/dq)   (5)
    vd = (omega - v x omega + v (v.omega)) / 2                                         (6)

The n of alike rods are normal to the parallelograms. Where they lie in one plane the platform turns
freely; there the margin det n is zero, and beyond, or where (3) has no solution, it is negative.

If q is given, all six equations are solved for p and R.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from triskele.numerics import (
    Matrix,
    Scalar,
    Scalars,
    determinant,
    maximum,
    newton,
    safe_divide,
    safe_norm,
    sign,
    solve,
    where,
)
from triskele.spatial.vectors import Frame, Triple, add, combine, cross, dot, scale, subtract

STEPS = 5  #: of Newton's method; four reach rounding where the platform turns by 10 deg
CLOSED = 1e-12  #: what is left of (3), in squared rod lengths
_STILL: Triple = (0.0, 0.0, 0.0)


class Pair(NamedTuple):
    """Two rods of a limb, in the letters of the module's docstring."""

    base: Triple  #: A, from which the drive is measured [m]
    middle: Triple  #: W - p, in the axes of the platform [m]
    across: Triple  #: rho, likewise [m]
    width: Triple  #: w [m]
    lengths: tuple[Scalar, Scalar]  #: d_a, d_b [m]
    held: Callable[[Triple, Scalar], tuple[Triple, Triple]]
    #: E - A and dE/dq from W - A and what d_a^2 is too long by

    @property
    def excess(self) -> Scalar:
        """Half of d_b^2 - d_a^2 [m^2]."""
        first, second = self.lengths
        return (second - first) * (second + first) / 2

    def too_long(self, delta: Triple) -> Scalar:
        """By how much d_a^2 is more than the square of the rod between the middles [m^2]."""
        return dot(delta, delta) / 4 - self.excess


class _Held(NamedTuple):
    """A pair on a platform that is turned."""

    r: Triple
    rho: Triple
    delta: Triple


def turned(frame: Frame, v: Triple) -> Frame:
    """`frame`, turned by (4)."""
    size = 2 / (1 + dot(v, v))

    def axis(a: Triple) -> Triple:
        b = cross(v, a)
        return combine((1.0, a), (size, b), (size, cross(v, b)))

    return Frame(axis(frame.x), axis(frame.y), axis(frame.z), frame.p)


def tilted(pairs: Sequence[Pair], frame: Frame) -> Frame:
    """The platform at the place of `frame`, whose axes are R_0."""
    return turned(frame, _solved(pairs, frame))


def _solved(pairs: Sequence[Pair], frame: Frame) -> Triple:
    """v."""

    def step(given: tuple, v: Scalars) -> Scalars:
        _, frame, *pairs = given
        values, rows = conditions(pairs, turned(frame, _triple(v)))
        return _rate(_triple(v), _triple(solve(rows, values)))

    return _triple(newton(step, (frame.p[0], frame, *pairs), _STILL, steps=STEPS))


def tilted_margin(pairs: Sequence[Pair], level: Frame) -> Scalar:
    """That of `tilted`; at most 1, and -1 where (3) is not solved."""
    values, rows = conditions(pairs, tilted(pairs, level))
    _, first = conditions(pairs, level)
    sizes = [pair.lengths[0] for pair in pairs]
    gap: Scalar = 0.0
    for value, d in zip(values, sizes, strict=True):
        gap = maximum(gap, abs(value) / (d * d))
    units = [
        1 / (d * safe_norm(dot(p.across, p.across))) for d, p in zip(sizes, pairs, strict=True)
    ]
    found, before = (
        determinant(tuple(scale(unit, row) for unit, row in zip(units, part, strict=True)))
        for part in (map(_triple, rows), map(_triple, first))
    )
    return where(gap < CLOSED, found * sign(before), -1.0)


def placed(pairs: Sequence[Pair], tips: Sequence[Triple], frame: Frame) -> Triple:
    """p [m] where all rods reach `tips`, the places E; Newton's method starts from `frame`."""

    def step(given: tuple, at: Scalars) -> Scalars:
        _, tips, axes, *pairs = given
        p, v = _triple(at[:3]), _triple(at[3:])
        place = turned(axes._replace(p=p), v)
        values, rows = [], []
        for pair, tip in zip(pairs, tips, strict=True):
            held = _on(pair, place)
            r, rho, delta = held
            s = subtract(add(p, r), tip)
            d_a, _ = pair.lengths
            values += [(dot(s, s) - d_a * d_a + pair.too_long(delta)) / 2]
            values += [dot(s, delta) - pair.excess]
            rows += [(*s, *add(cross(r, s), scale(0.25, cross(rho, delta))))]
            rows += [(*delta, *add(cross(r, delta), cross(rho, s)))]
        change = solve(tuple(rows), tuple(values))
        return (*change[:3], *_rate(v, _triple(change[3:])))

    found = newton(step, (frame.p[0], tuple(tips), frame, *pairs), (*frame.p, *_STILL), steps=STEPS)
    return _triple(found[:3])


def conditions(pairs: Sequence[Pair], frame: Frame) -> tuple[Scalars, Matrix]:
    """What is left of (3) [m^2], and the n of (5)."""
    values, rows = [], []
    for pair in pairs:
        r, rho, delta = _on(pair, frame)
        s_A = subtract(add(frame.p, r), pair.base)
        E, slope = pair.held(s_A, pair.too_long(delta))
        s = subtract(s_A, E)
        k = safe_divide(dot(delta, slope), dot(s, slope))
        values.append(dot(s, delta) - pair.excess)
        first = cross(r, combine((1.0, delta), (-k, s)))
        rows.append(add(first, cross(rho, combine((1.0, s), (-k / 4, delta)))))
    return tuple(values), tuple(rows)


def _on(pair: Pair, frame: Frame) -> _Held:
    rho = frame.turned(pair.across)
    return _Held(frame.turned(pair.middle), rho, subtract(rho, pair.width))


def _rate(v: Triple, omega: Triple) -> Triple:
    """(6)."""
    half = combine((1.0, omega), (-1.0, cross(v, omega)), (dot(v, omega), v))
    return scale(0.5, half)


def _triple(values: Sequence[Scalar]) -> Triple:
    x, y, z = values
    return x, y, z
