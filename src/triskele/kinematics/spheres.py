"""The point at given distances from three others: forward kinematics of what only translates."""

from collections.abc import Sequence

from triskele.numerics import Scalar, safe_norm, safe_sqrt
from triskele.spatial.vectors import Triple, combine, cross, dot, scale, subtract


def three_spheres(
    centres: Sequence[Triple], radii: Sequence[Scalar], side: Scalar
) -> tuple[Triple, Scalar]:
    """x [m] on three spheres, and the margin: negative where they do not meet.

    With u = p_2 - p_1, v = p_3 - p_1 and n = u x v,

        x = p_1 + m + side sqrt(d_1^2 - m.m) n / |n|

    where m, in the plane of the centres, satisfies m.u = (u.u + d_1^2 - d_2^2) / 2 and
    m.v = (v.v + d_1^2 - d_3^2) / 2. `side` is the sign of det[x - p_1, x - p_2, x - p_3]. In line,
    the centres leave x undetermined.
    """
    p1, p2, p3 = centres
    d1, d2, d3 = radii
    u, v = subtract(p2, p1), subtract(p3, p1)
    n = cross(u, v)
    size = safe_norm(dot(n, n))
    m_u = (dot(u, u) + d1 * d1 - d2 * d2) / 2
    m_v = (dot(v, v) + d1 * d1 - d3 * d3) / 2
    m = scale(1 / (size * size), combine((m_u, cross(v, n)), (m_v, cross(n, u))))
    height_sq = d1 * d1 - dot(m, m)
    drop = side * safe_sqrt(height_sq) / size
    return combine((1.0, p1), (1.0, m), (drop, n)), height_sq / (d1 * d1)
