"""Angles of joints that may be flexures: how a hinge turns, how a ball bends and twists.

A hinge about g turns the direction u, where s was at rest, by phi to s. A ball joins a bar, with
m and n across and l along it, to a body whose axes M were those of the bar when it was straight:

    phi = atan2(g . (u x s), u . s - (g . u) (g . s))                                   (1)
    [m n l]' [M_m M_n M_l] = Rx(beta_m) Ry(beta_n) Rz(beta_l)                           (2)

beta_m and beta_n bend it, beta_l twists it.
"""

from triskele.kinematics.mechanism import Coordinate
from triskele.numerics import Scalar, atan2, safe_sqrt
from triskele.spatial.vectors import Triple, cross, dot

Axes = tuple[Triple, Triple, Triple]  #: m, n and l
_BALL = {"m": "spherical_bending", "n": "spherical_bending", "l": "spherical_torsion"}


def hinge_coordinate(name: str, joint: str) -> Coordinate:
    """The angle of a revolute joint that may be a flexure."""
    return Coordinate(name, "rad", joint=joint, flexure="revolute_bending")


def ball_coordinates(limb: str, joint: str) -> list[Coordinate]:
    """beta_m, beta_n and beta_l of a spherical joint that may be a flexure."""
    return [
        Coordinate(f"beta_{axis}{limb}", "rad", joint=joint, flexure=flexure)
        for axis, flexure in _BALL.items()
    ]


def hinge_angle(g: Triple, u: Triple, s: Triple) -> Scalar:
    """phi of (1) [rad]."""
    return atan2(dot(g, cross(u, s)), dot(u, s) - dot(g, u) * dot(g, s))


def ball_angles(bar: Axes, rest: Axes) -> tuple[Scalar, Scalar, Scalar]:
    """beta_m, beta_n and beta_l of (2) [rad]; `rest` are the M, all in O."""
    (m, n, l), (M_m, M_n, M_l) = bar, rest
    sine = dot(m, M_l)
    return (
        atan2(-dot(n, M_l), dot(l, M_l)),
        atan2(sine, safe_sqrt(1 - sine * sine)),
        atan2(-dot(m, M_n), dot(m, M_m)),
    )
