"""Vectors of three scalar components, the frames they make, and how they turn.

Written on components (`triskele.numerics`): a `Triple` holds three scalars, each 0-d or
(N,), and a `Frame` four triples, the pose of a body frame in O:

    T_OB = [x y z p],   x, y, z unit axes of B in O,   p the origin of B [m]

A component written as the plain number 0.0 is a structural zero: products with it are left
out when code is traced, because XLA, which must respect NaN, would compute them.
"""

from typing import NamedTuple

from triskele.numerics import AnyArray, Numeric, Scalar, stacked

Triple = tuple[Scalar, Scalar, Scalar]


class Frame(NamedTuple):
    """Pose of a frame: its axes and its origin, in O."""

    x: Triple
    y: Triple
    z: Triple
    p: Triple  #: [m]

    def at(self, local: Triple) -> Triple:
        """The point with coordinates `local` [m] in this frame, in O."""
        return add(self.p, self.turned(local))

    def turned(self, local: Triple) -> Triple:
        """The vector with components `local` in this frame, in O."""
        return combine((local[0], self.x), (local[1], self.y), (local[2], self.z))


WORLD = Frame((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))


def times(a: Scalar, b: Scalar) -> Scalar:
    """a b, and a structural zero if one of them is."""
    return 0.0 if _nothing(a) or _nothing(b) else a * b


def plus(a: Scalar, b: Scalar) -> Scalar:
    """a + b, without structural zeros."""
    return b if _nothing(a) else a if _nothing(b) else a + b


def minus(a: Scalar, b: Scalar) -> Scalar:
    """a - b, without structural zeros."""
    return a if _nothing(b) else -b if _nothing(a) else a - b


def _nothing(a: Scalar) -> bool:
    return type(a) is float and a == 0.0


def add(a: Triple, b: Triple) -> Triple:
    """a + b."""
    return plus(a[0], b[0]), plus(a[1], b[1]), plus(a[2], b[2])


def subtract(a: Triple, b: Triple) -> Triple:
    """a - b."""
    return minus(a[0], b[0]), minus(a[1], b[1]), minus(a[2], b[2])


def scale(k: Scalar, a: Triple) -> Triple:
    """k a."""
    return times(k, a[0]), times(k, a[1]), times(k, a[2])


def combine(*terms: tuple[Scalar, Triple]) -> Triple:
    """Sum of k a over the terms (k, a)."""
    total = scale(*terms[0])
    for term in terms[1:]:
        total = add(total, scale(*term))
    return total


def dot(a: Triple, b: Triple) -> Scalar:
    """a . b."""
    return plus(plus(times(a[0], b[0]), times(a[1], b[1])), times(a[2], b[2]))


def cross(a: Triple, b: Triple) -> Triple:
    """a x b."""
    return (
        minus(times(a[1], b[2]), times(a[2], b[1])),
        minus(times(a[2], b[0]), times(a[0], b[2])),
        minus(times(a[0], b[1]), times(a[1], b[0])),
    )


def rotation_x(s: Scalar, c: Scalar, a: Triple) -> Triple:
    """`a` turned about x by the angle with sine `s` and cosine `c`."""
    return a[0], minus(times(c, a[1]), times(s, a[2])), plus(times(s, a[1]), times(c, a[2]))


def rotation_y(s: Scalar, c: Scalar, a: Triple) -> Triple:
    """`a` turned about y by the angle with sine `s` and cosine `c`."""
    return plus(times(c, a[0]), times(s, a[2])), a[1], minus(times(c, a[2]), times(s, a[0]))


def rotation_z(s: Scalar, c: Scalar, a: Triple) -> Triple:
    """`a` turned about z by the angle with sine `s` and cosine `c`."""
    return minus(times(c, a[0]), times(s, a[1])), plus(times(s, a[0]), times(c, a[1])), a[2]


def poses_array(frames: tuple[Frame, ...]) -> Numeric[AnyArray, "..."]:
    """Frames as matrices [R p]: (bodies, 3, 4), or (N, bodies, 3, 4) for a batch."""
    entries = stacked([entry for frame in frames for axis in frame for entry in axis])
    return entries.reshape(*entries.shape[:-1], len(frames), 4, 3).swapaxes(-1, -2)
