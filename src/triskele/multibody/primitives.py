"""The conditions that joints are made of: residual, Jacobian and acceleration term, by hand.

Body k has its centre of mass at r_k and axes A_k; a point u of it is at r_k + s_k, s_k = A_k u,
a direction a of it is g_k = A_k a. With parent i, child j, d = (r_j + s_j) - (r_i + s_i) and
velocities (v, w) of the bodies in O, each condition C = 0 is differentiated to

    J (v, w) + C_t = 0,        J (vd, wd) = gamma                                        (1)

    coincide   d             [-1, s_i~], [1, -s_j~]            -(w_j x w_j x s_j - w_i x w_i x s_i)
    dot        L g_i . g_j   w_i: L g_i x g_j; w_j: the opposite
    line       g_i . d       -g, g; w_i: g x d - s_i x g; w_j: s_j x g
    distance   (d.d - l^2) / 2 l
    turn       dot, with the direction sin(q) e1 - cos(q) e2 of the parent, q(t) given
    slide      line, with the length q(t) subtracted

L is a length of the mechanism: so every residual is in m, every multiplier in N. A turn gives
C_q = L on the mechanism, a slide -1: multiplier times C_q is the effort of the drive.

Autodiff checks these blocks in the tests; they are five times faster than autodiff.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Vectors = Float[Array, "n 3"]


class BodyMotion(NamedTuple):
    """All bodies in O, the ground (at rest) last."""

    r: Float[Array, "bodies 3"]  #: centres of mass [m]
    A: Float[Array, "bodies 3 3"]  #: axes
    v: Float[Array, "bodies 3"]  #: [m/s]
    w: Float[Array, "bodies 3"]  #: [rad/s]


class Rows(NamedTuple):
    """n conditions: equation (1), with the Jacobian as its two blocks."""

    residual: Float[Array, " n"]  #: C [m]
    parent: Float[Array, "n 6"]  #: columns of v_i, w_i
    child: Float[Array, "n 6"]
    gamma: Float[Array, " n"]
    drift: Float[Array, " n"]  #: C_t [m/s]


class Drive(NamedTuple):
    """Prescribed motion of k drives at one instant."""

    q: Float[Array, " k"]  #: [rad, m]
    qd: Float[Array, " k"]
    qdd: Float[Array, " k"]


class Pairs(eqx.Module):
    """Which bodies n conditions join, by their numbers."""

    parents: tuple[int, ...] = eqx.field(static=True)
    children: tuple[int, ...] = eqx.field(static=True)

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.parents)

    def of(self, values: Array) -> tuple[Array, Array]:
        """`values` of all bodies, for the parents and for the children."""
        return values[np.array(self.parents, int)], values[np.array(self.children, int)]

    def chosen(self, places: Sequence[int]) -> "Pairs":
        """The pairs at `places`."""
        return Pairs(
            tuple(self.parents[k] for k in places), tuple(self.children[k] for k in places)
        )


class _Span(NamedTuple):
    """From a point of the parent to one of the child."""

    d: Vectors
    rate: Vectors
    spin: Vectors  #: centripetal part of the second derivative of d
    s_i: Vectors
    s_j: Vectors


def _span(motion: BodyMotion, pairs: Pairs, u_i: Vectors, u_j: Vectors) -> _Span:
    (r_i, r_j), (A_i, A_j) = pairs.of(motion.r), pairs.of(motion.A)
    (v_i, v_j), (w_i, w_j) = pairs.of(motion.v), pairs.of(motion.w)
    s_i, s_j = turned(A_i, u_i), turned(A_j, u_j)
    ds_i, ds_j = jnp.cross(w_i, s_i), jnp.cross(w_j, s_j)
    spin = jnp.cross(w_j, ds_j) - jnp.cross(w_i, ds_i)
    return _Span(r_j + s_j - r_i - s_i, v_j + ds_j - v_i - ds_i, spin, s_i, s_j)


def turned(A: Float[Array, "n 3 3"], u: Vectors) -> Vectors:
    """A u, row by row."""
    return jnp.einsum("nab,nb->na", A, u)


def _dots(a: Vectors, b: Vectors) -> Float[Array, " n"]:
    return jnp.sum(a * b, axis=-1)


class Points(eqx.Module):
    """coincide: a point of the child at a point of the parent, three rows each."""

    pairs: Pairs
    u_i: Vectors  #: [m]
    u_j: Vectors  #: [m]

    def rows(self, motion: BodyMotion) -> Rows:
        """3 n rows, x, y, z of the first point first."""
        span = _span(motion, self.pairs, self.u_i, self.u_j)
        ones = jnp.broadcast_to(jnp.eye(3), (len(self.pairs), 3, 3))
        parent = jnp.concatenate([-ones, _cross_matrices(span.s_i)], axis=-1)
        child = jnp.concatenate([ones, -_cross_matrices(span.s_j)], axis=-1)
        drift = jnp.zeros(3 * len(self.pairs))
        flat = (parent.reshape(-1, 6), child.reshape(-1, 6), -span.spin.reshape(-1), drift)
        return Rows(span.d.reshape(-1), *flat)


def _cross_matrices(a: Vectors) -> Float[Array, "n 3 3"]:
    x, y, z = a[:, 0], a[:, 1], a[:, 2]
    o = jnp.zeros_like(x)
    return jnp.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(-1, 3, 3)


class Dots(eqx.Module):
    """dot: a direction of the child normal to one of the parent, one row each."""

    pairs: Pairs
    a_i: Vectors
    a_j: Vectors

    def rows(self, motion: BodyMotion, L: Float[Array, ""]) -> Rows:
        """n rows."""
        (A_i, A_j), (w_i, w_j) = self.pairs.of(motion.A), self.pairs.of(motion.w)
        g_i, g_j = turned(A_i, self.a_i), turned(A_j, self.a_j)
        dg_i, dg_j = jnp.cross(w_i, g_i), jnp.cross(w_j, g_j)
        across = L * jnp.cross(g_i, g_j)
        still = jnp.zeros_like(across)
        gamma = (
            _dots(jnp.cross(w_i, dg_i), g_j)
            + _dots(jnp.cross(w_j, dg_j), g_i)
            + 2 * _dots(dg_i, dg_j)
        )
        return Rows(
            L * _dots(g_i, g_j),
            jnp.concatenate([still, across], axis=-1),
            jnp.concatenate([still, -across], axis=-1),
            -L * gamma,
            jnp.zeros(len(self.pairs)),
        )


class Lines(eqx.Module):
    """line: a point of the child in a plane through one of the parent, one row each."""

    pairs: Pairs
    a_i: Vectors  #: normal of the plane, in the parent
    u_i: Vectors  #: [m]
    u_j: Vectors  #: [m]

    def rows(self, motion: BodyMotion) -> Rows:
        """n rows."""
        span = _span(motion, self.pairs, self.u_i, self.u_j)
        (A_i, _), (w_i, _) = self.pairs.of(motion.A), self.pairs.of(motion.w)
        g = turned(A_i, self.a_i)
        dg = jnp.cross(w_i, g)
        gamma = _dots(jnp.cross(w_i, dg), span.d) + 2 * _dots(dg, span.rate) + _dots(g, span.spin)
        lever = jnp.cross(g, span.d) - jnp.cross(span.s_i, g)
        return Rows(
            _dots(g, span.d),
            jnp.concatenate([-g, lever], axis=-1),
            jnp.concatenate([g, jnp.cross(span.s_j, g)], axis=-1),
            -gamma,
            jnp.zeros(len(self.pairs)),
        )

    def lengths(self, motion: BodyMotion) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Distance of the child's point from the plane [m], and its rate [m/s]."""
        span = _span(motion, self.pairs, self.u_i, self.u_j)
        (A_i, _), (w_i, _) = self.pairs.of(motion.A), self.pairs.of(motion.w)
        g = turned(A_i, self.a_i)
        rate = _dots(jnp.cross(w_i, g), span.d) + _dots(g, span.rate)
        return _dots(g, span.d), rate

    def chosen(self, places: Sequence[int]) -> "Lines":
        """The lines at `places`."""
        k = np.array(places, int)
        return Lines(self.pairs.chosen(places), self.a_i[k], self.u_i[k], self.u_j[k])


class Distances(eqx.Module):
    """distance: two points a constant length apart, one row each."""

    pairs: Pairs
    u_i: Vectors  #: [m]
    u_j: Vectors  #: [m]
    length: Float[Array, " n"]  #: l [m]

    def rows(self, motion: BodyMotion) -> Rows:
        """n rows."""
        span, l = _span(motion, self.pairs, self.u_i, self.u_j), self.length
        e = span.d / l[:, None]
        return Rows(
            (_dots(span.d, span.d) - l * l) / (2 * l),
            jnp.concatenate([-e, -jnp.cross(span.s_i, e)], axis=-1),
            jnp.concatenate([e, jnp.cross(span.s_j, e)], axis=-1),
            -(_dots(span.rate, span.rate) / l + _dots(e, span.spin)),
            jnp.zeros(len(self.pairs)),
        )

    def lengths(self, motion: BodyMotion) -> tuple[Float[Array, " n"], Float[Array, " n"], Vectors]:
        """Distance of the points [m], its rate [m/s], and the direction to the child."""
        span = _span(motion, self.pairs, self.u_i, self.u_j)
        distance = jnp.linalg.norm(span.d, axis=-1)
        e = span.d / distance[:, None]
        return distance, _dots(e, span.rate), e


class Turns(eqx.Module):
    """turn: angles about an axis, of revolute joints and of cardans.

    The direction f of the child has the angle q = atan2(f . e2, f . e1) in axes of the parent.
    """

    pairs: Pairs
    e1: Vectors  #: in the parent
    e2: Vectors
    f: Vectors  #: in the child

    def rows(self, motion: BodyMotion, drive: Drive, L: Float[Array, ""]) -> Rows:
        """n rows that hold each angle at `drive.q`."""
        q, qd, qdd = (part[:, None] for part in drive)
        s, c = jnp.sin(q), jnp.cos(q)
        across, along = s * self.e1 - c * self.e2, c * self.e1 + s * self.e2
        rows = Dots(self.pairs, across, self.f).rows(motion, L)
        (A_i, A_j), (w_i, w_j) = self.pairs.of(motion.A), self.pairs.of(motion.w)
        g, f, b = turned(A_i, across), turned(A_j, self.f), turned(A_i, along)
        mixed = _dots(jnp.cross(w_i, b), f) + _dots(b, jnp.cross(w_j, f))
        own = _dots(qdd * b - qd * qd * g, f) + 2 * qd[:, 0] * mixed
        return rows._replace(gamma=rows.gamma - L * own, drift=L * qd[:, 0] * _dots(b, f))

    def angles(self, motion: BodyMotion) -> tuple[Float[Array, " n"], Vectors]:
        """The angles [rad], and the axes m of O about which an effort acts: qd = m . (w_j - w_i).

        For a revolute joint m is its axis; for a cardan it is along its cross.
        """
        A_i, A_j = self.pairs.of(motion.A)
        e1, e2, f = turned(A_i, self.e1), turned(A_i, self.e2), turned(A_j, self.f)
        q = jnp.arctan2(_dots(f, e2), _dots(f, e1))
        s, c = jnp.sin(q)[:, None], jnp.cos(q)[:, None]
        along = _dots(f, c * e1 + s * e2)[:, None]
        return q, jnp.cross(s * e1 - c * e2, f) / along

    def speeds(self, motion: BodyMotion) -> Float[Array, " n"]:
        """qd [rad/s]."""
        w_i, w_j = self.pairs.of(motion.w)
        return _dots(self.angles(motion)[1], w_j - w_i)

    def chosen(self, places: Sequence[int]) -> "Turns":
        """The turns at `places`."""
        k = np.array(places, int)
        return Turns(self.pairs.chosen(places), self.e1[k], self.e2[k], self.f[k])
