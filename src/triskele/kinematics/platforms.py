"""Platforms: from platform coordinates x to the poses of what the limbs end on.

A rigid platform has some of the six coordinates (x, y, z, a, b, c); the others keep the value that
they have at home,

    T_OP = [R p],    p = (x, y, z),    R = Rz(c) Ry(b) Rx(a)                           (1)

An articulated platform (Par4, Quattro) has two halves that only translate, joined by two parallel
links of equal length that turn by c. With h from the platform's centre to half A and e from the
first link to the second, both at c = 0,

    half A: [1  p + Rz(c) h]     half B: [1  p - Rz(c) h]                              (2)
    link 1, which carries the tool: [Rz(c)  p]     link 2: [Rz(c)  p + e]

A platform led by leg planes (3PRS, 3RPS, 3RRS) has the coordinates (z, psi, theta). Its corners

    B_i = p + R b_i (cos gamma_i, sin gamma_i, 0),    R = Ry(theta) Rx(psi) Rz(phi)     (3)

stay in the vertical planes of their legs, whose normals are t_i = (-sin gamma_i, cos gamma_i, 0),

    t_i . B_i = 0,   i = 1, 2, 3                                                       (4)

which fixes the parasitic motions (p_x, p_y, phi): with n normal to both columns of the 3 x 2 matrix
of the t_i, sum n_i t_i . R b_i(...) = 0 is C cos phi + S sin phi = 0, and then (4) is linear in
p_x, p_y. Legs may be uneven; for even ones this is

    phi = atan2(sin psi sin theta, cos psi + cos theta)                                (5)
"""

import abc
from typing import NamedTuple

import equinox as eqx

from triskele.kinematics.mechanism import Coordinate, Joint, Part
from triskele.numerics import (
    AnyArray,
    Components,
    Numeric,
    Scalar,
    Scalars,
    atan2,
    safe_norm,
    sign,
    sincos,
)
from triskele.spatial.vectors import (
    WORLD,
    Frame,
    Triple,
    add,
    cross,
    dot,
    rotation_x,
    rotation_y,
    rotation_z,
    scale,
)

PLACES = ("x", "y", "z")
TURNS = ("a", "b", "c")
LED = ("z", "psi", "theta")
PLATFORM = "platform"
_K: Triple = (0.0, 0.0, 1.0)
_ORIGIN: Triple = (0.0, 0.0, 0.0)


#: of a platform that turns, though none of its coordinates does
TURNED = tuple(
    Coordinate(name, "rad", label=f"turn of the platform about {axis}")
    for name, axis in zip(TURNS, PLACES, strict=True)
)


def turns_of(platform: Frame) -> Triple:
    """a, b, c of (1) [rad]."""
    x, y, z = platform[:3]
    level = safe_norm(x[0] * x[0] + x[1] * x[1])
    return atan2(y[2], z[2]), atan2(-x[2], level), atan2(x[1], x[0])


class AbstractPlatform(eqx.Module):
    """What the limbs end on."""

    @property
    @abc.abstractmethod
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Name and unit of each x_j."""

    @property
    @abc.abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The bodies, the one that carries the tool first."""

    @abc.abstractmethod
    def frames(self, x: Components) -> tuple[Frame, ...]:
        """Pose of each of `parts` in O."""

    @abc.abstractmethod
    def joints(self) -> tuple[Joint, ...]:
        """Joints between them."""

    @property
    def translating(self) -> bool:
        """Whether no body that a limb ends on ever turns."""
        return False


class RigidPlatform(AbstractPlatform):
    """Equation (1)."""

    home: Scalars  #: all six coordinates, of which `free` vary [m, rad]; 0.0 is a structural zero
    free: tuple[str, ...] = eqx.field(static=True)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Those of the six that vary."""
        return tuple(Coordinate(name, "m" if name in PLACES else "rad") for name in self.free)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The platform."""
        return (Part(PLATFORM, PLATFORM, "plate"),)

    @property
    def translating(self) -> bool:
        """Whether it cannot turn."""
        return not set(self.free) & set(TURNS)

    def frames(self, x: Components) -> tuple[Frame, ...]:
        """The pose T_OP."""
        given = dict(zip((*PLACES, *TURNS), self.home, strict=True))
        given |= dict(zip(self.free, x, strict=True))
        axes = [WORLD.x, WORLD.y, WORLD.z]
        for name, turned in zip(TURNS, (rotation_x, rotation_y, rotation_z), strict=True):
            angle = given[name]
            if type(angle) is not float or angle:
                s, c = sincos(angle)
                axes = [turned(s, c, axis) for axis in axes]
        x_axis, y_axis, z_axis = axes
        return (Frame(x_axis, y_axis, z_axis, (given["x"], given["y"], given["z"])),)

    def joints(self) -> tuple[Joint, ...]:
        """None."""
        return ()


class ArticulatedPlatform(AbstractPlatform):
    """Equation (2)."""

    half: Triple  #: h [m]
    link: Triple  #: e [m]

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Place and turn about z."""
        return (*(Coordinate(name, "m") for name in PLACES), Coordinate("c", "rad"))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The link with the tool, the other link, and both halves."""
        return (
            Part(PLATFORM, PLATFORM, "flange"),
            Part("link", "link", "bar"),
            Part("half_a", "half", "plate"),
            Part("half_b", "half", "plate"),
        )

    @property
    def translating(self) -> bool:
        """The halves never turn."""
        return True

    def frames(self, x: Components) -> tuple[Frame, ...]:
        """Poses of the four."""
        s, c = sincos(x[3])
        p = (x[0], x[1], x[2])
        turned = Frame((c, s, 0.0), (-s, c, 0.0), _K, p)
        h = turned.turned(self.half)
        return (
            turned,
            turned._replace(p=add(p, self.link)),
            WORLD._replace(p=add(p, h)),
            WORLD._replace(p=add(p, scale(-1.0, h))),
        )

    def joints(self) -> tuple[Joint, ...]:
        """Both links turn about z on both halves."""
        found = []
        for link, shift in ((PLATFORM, _ORIGIN), ("link", self.link)):
            for half, side in (("half_a", 1.0), ("half_b", -1.0)):
                name = f"{link}_{half}"
                at = scale(side, self.half)
                found.append(Joint(name, "revolute", half, link, shift, at, _K, friction="hinges"))
        return tuple(found)


class _PlaneConstants(NamedTuple):
    """Coefficients of (4), see `LedPlatform._constants`."""

    C: Triple
    S: Triple
    solved: tuple[Scalars, Scalars]


class LedPlatform(AbstractPlatform):
    """Equations (3) and (4)."""

    azimuth: Numeric[AnyArray, "3"]  #: gamma_i [rad]
    radius: Numeric[AnyArray, "3"]  #: b_i [m]

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """Height, tilt about x, tilt about y."""
        return Coordinate("z", "m"), Coordinate("psi", "rad"), Coordinate("theta", "rad")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The platform."""
        return (Part(PLATFORM, PLATFORM, "plate"),)

    def frames(self, x: Components) -> tuple[Frame, ...]:
        """T_OP with the parasitic motions p_x, p_y and phi of (4)."""
        (s_psi, c_psi), (s_theta, c_theta) = sincos(x[1]), sincos(x[2])
        k = self._constants()
        C = k.C[0] * c_theta + k.C[1] * s_theta * s_psi + k.C[2] * c_psi
        S = k.S[0] * c_theta + k.S[1] * s_theta * s_psi + k.S[2] * c_psi
        g = 1 / safe_norm(C * C + S * S)
        s_phi, c_phi = -C * g, S * g

        def turned(a: Triple) -> Triple:
            a = rotation_x(s_psi, c_psi, rotation_z(s_phi, c_phi, a))
            return rotation_y(s_theta, c_theta, a)

        axes = Frame(turned((1.0, 0.0, 0.0)), turned((0.0, 1.0, 0.0)), turned(_K), _ORIGIN)
        reach = [b * dot(t, axes.turned(e)) for e, t, b in self._legs()]
        p_x, p_y = (
            -(row[0] * reach[0] + row[1] * reach[1] + row[2] * reach[2]) for row in k.solved
        )
        return (axes._replace(p=(p_x, p_y, x[0])),)

    def joints(self) -> tuple[Joint, ...]:
        """None."""
        return ()

    def _legs(self) -> list[tuple[Triple, Triple, Scalar]]:
        """e_i, t_i and b_i."""
        found = []
        for i in range(3):
            s, c = sincos(self.azimuth[i])
            found.append(((c, s, 0.0), (-s, c, 0.0), self.radius[i]))
        return found

    def _constants(self) -> _PlaneConstants:
        """What (4) needs of the geometry alone.

        M = Ry(theta) Rx(psi) has M_00 = cos theta, M_01 = sin theta sin psi, M_10 = 0 and
        M_11 = cos psi; C and S hold sum n_i b_i t_ia w_ic of each M_ac, w = e or t. `solved`
        is the left inverse (T' T)^-1 T' of the rows t_i.
        """
        e, t, radii = zip(*self._legs(), strict=True)
        t_x, t_y = (tuple(normal[axis] for normal in t) for axis in (0, 1))
        weights = [n * b for n, b in zip(cross(t_x, t_y), radii, strict=True)]
        side = sign(weights[0] + weights[1] + weights[2])

        def entries(vectors: tuple[Triple, ...]) -> Triple:
            return tuple(  # pyright: ignore[reportReturnType]
                side
                * sum(
                    weight * normal[a] * vector[c]
                    for weight, normal, vector in zip(weights, t, vectors, strict=True)
                )
                for a, c in ((0, 0), (0, 1), (1, 1))
            )

        a, b, d = dot(t_x, t_x), dot(t_x, t_y), dot(t_y, t_y)
        det = a * d - b * b
        rows = (
            tuple((d * x - b * y) / det for x, y in zip(t_x, t_y, strict=True)),
            tuple((a * y - b * x) / det for x, y in zip(t_x, t_y, strict=True)),
        )
        return _PlaneConstants(entries(e), entries(t), rows)
