"""The telescope of a fourth axis: a bar between two cardans that turns the flange of a platform.

The bar hangs at height z_U above O, from a motor about z, and ends at z_L above the platform, both
cardans in Z arrangement, so that the flange turns exactly as the motor does. Its length and
direction are

    l t = (0, 0, z_U) - x - (0, 0, z_L)                                                (1)

Body frames: the flange as the platform, turned by psi about z; both parts of the bar
Rz(psi) Rx(b) Ry(c) with z = t, the upper part at the upper cardan, the lower one at the lower.
"""

from triskele.kinematics.mechanism import Coordinate, Joint, Part
from triskele.numerics import (
    AnyArray,
    Components,
    Numeric,
    Scalar,
    Scalars,
    safe_norm,
    sincos,
)
from triskele.spatial.vectors import Frame, Triple, dot, rotation_z, scale

Heights = Scalars | Numeric[AnyArray, "2"]  #: z_U and z_L [m]

DRIVE = Coordinate("q4", "rad", drive="axis4")
PASSIVE = Coordinate("telescope", "m", "telescope_length", "length of the telescope", "slide")
FLANGE = "flange"  #: the bearing of the flange on the platform
CARRIER = "end_effector"
PARTS = (
    Part(CARRIER, CARRIER, "flange"),
    Part("telescope_upper", "telescope_upper", "outer"),
    Part("telescope_lower", "telescope_lower", "inner"),
)


def bar(heights: Heights, x: Components) -> tuple[Triple, Scalar]:
    """Direction t and length l [m] of (1)."""
    z_U, z_L = heights
    span = (-x[0], -x[1], z_U - z_L - x[2])
    length = safe_norm(dot(span, span))
    return scale(1 / length, span), length


def frames(heights: Heights, x: Components) -> list[Frame]:
    """Flange and both parts of the bar, for x = (x, y, z, psi).

    In axes turned by psi, t = (sin c, -sin b cos c, cos b cos c).
    """
    z_U, z_L = heights
    s, c = sincos(x[3])
    (t_x, t_y, t_z), _ = bar(heights, x)
    sin_c, w_y, w_z = rotation_z(-s, c, (t_x, t_y, t_z))
    cos_c = safe_norm(w_y * w_y + w_z * w_z)
    sin_b, cos_b = -w_y / cos_c, w_z / cos_c
    axis_x = rotation_z(s, c, (cos_c, sin_b * sin_c, -cos_b * sin_c))
    axis_y = rotation_z(s, c, (0.0, cos_b, sin_b))
    upper = Frame(axis_x, axis_y, (t_x, t_y, t_z), (0.0, 0.0, z_U))
    flange = Frame((c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0), (x[0], x[1], x[2]))
    return [flange, upper, upper._replace(p=(x[0], x[1], x[2] + z_L))]


def joints(heights: Heights, motor: str) -> tuple[Joint, list[Joint]]:
    """The driven joint, of the name `motor`, and the others."""
    z_U, z_L = heights
    zero, y, z = (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    upper, lower = "telescope_upper", "telescope_lower"
    top, cross = (0.0, 0.0, z_U), (1.0, 0.0, 0.0)
    rest = [
        Joint("slide", "prismatic", upper, lower, zero, zero, z, friction="telescope"),
        Joint("cardan", "universal", CARRIER, lower, (0.0, 0.0, z_L), zero, cross, y),
        Joint(FLANGE, "revolute", "platform", CARRIER, zero, zero, z),
    ]
    return Joint(motor, "spherical", "base", upper, top, zero, z, y, driven=True), rest
