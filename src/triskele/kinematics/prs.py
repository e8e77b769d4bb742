"""Kinematics of the 3PRS: three sliders, three bars, a platform that lifts and tilts.

Frame O lies in the plane of the revolute joints, z up. Leg i moves in the vertical plane at
azimuth gamma_i, with radial, tangential and upward unit vectors

    e_i = (cos gamma_i, sin gamma_i, 0)   t_i = (-sin gamma_i, cos gamma_i, 0)   k = (0, 0, 1)

The slider carries the revolute joint at C_i = (a_i - s_i) e_i: s_i > 0 is inwards. A bar of
length L_i rises from there at the angle alpha_i to the spherical joint B_i of the platform,

    B_i = p + R b_i (cos gamma_i, sin gamma_i, 0),    R = Ry(theta) Rx(psi) Rz(phi)     (1)

Independent coordinates are x = (z, psi, theta). B_i must stay in its leg plane,

    t_i . B_i = 0,   i = 1, 2, 3                                                        (2)

which fixes the parasitic motions (p_x, p_y, phi): with n normal to both columns of the
3 x 2 matrix of the t_i, sum n_i t_i . R b_i(...) = 0 is C cos phi + S sin phi = 0, and then
(2) is linear in p_x, p_y. Legs may be uneven; for even ones this is

    phi = atan2(sin psi sin theta, cos psi + cos theta)                                 (3)

`platforms.py` solves (2). With r_i = e_i . B_i and z_i = k . B_i the loop closes when

    c_i(q, x) = ((a_i - s_i - r_i)^2 + z_i^2 - L_i^2) / 2 = 0                           (4)

Body frames, with m_i = -t_i and l_i = -cos alpha_i e_i + sin alpha_i k along the bar:

    coupling   origin C_i; x = -e_i, y = m_i, z = k
    bar        origin C_i; x = l_i, y = m_i, z = n_i = l_i x m_i
    platform   origin p; axes R

Passive angles: alpha_i, and the bending beta_m, beta_n and torsion beta_l of the spherical
joint, [m n l]_bar' R [m n l]_(alpha_0) = Rx(beta_m) Ry(beta_n) Rz(beta_l).

Reference: Ruiz et al., Robotics 11 (2022) 4, with the corrections listed in docs/theory.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.kinematics.bending import ball_angles, ball_coordinates, hinge_coordinate
from triskele.kinematics.mechanism import (
    BUILT,
    MIRRORED,
    AbstractMechanism,
    Coordinate,
    Joint,
    Part,
    PositionSolution,
    Scales,
    Strut,
    one_each,
)
from triskele.kinematics.modes import closing, level_or_tilted
from triskele.kinematics.platforms import LedPlatform
from triskele.kinematics.searched import searched
from triskele.numerics import (
    AnyArray,
    Components,
    Scalar,
    Scalars,
    atan2,
    safe_sqrt,
    sign,
    sincos,
)
from triskele.spatial.vectors import (
    Frame,
    Triple,
    add,
    combine,
    cross,
    dot,
    scale,
)

_K: Triple = (0.0, 0.0, 1.0)
_ORIGIN: Triple = (0.0, 0.0, 0.0)
_LEVEL = (1.5 * 3**0.5) ** 0.5  # makes the type 2 margin sin^3(alpha) on a level platform


class _Leg(NamedTuple):
    """One leg in the letters of the module's docstring."""

    e: Triple
    t: Triple
    a: Scalar
    b: Scalar
    L: Scalar


class Prs(AbstractMechanism):
    """Geometry of a 3PRS; one entry per leg.

    >>> robot = Prs.symmetric(
    ...     base_radius=0.125137, platform_radius=0.04761, bar_length=0.109215
    ... )
    >>> s = robot.inverse(robot.home()).checked()
    >>> (1e3 * s).round(4)
    array([0.3003, 0.3003, 0.3003])
    """

    azimuth: Float[AnyArray, "3"]  #: gamma_i [rad]
    base_radius: Float[AnyArray, "3"]  #: a_i [m], axis to revolute joint at s_i = 0
    platform_radius: Float[AnyArray, "3"]  #: b_i [m], platform centre to spherical joint
    bar_length: Float[AnyArray, "3"]  #: L_i [m]
    rest_angle: Scalar  #: alpha_0 [rad], where the flexures are free of stress
    working_mode: tuple[int, ...] = eqx.field(static=True, default=(1, 1, 1))
    assembly_mode: int = eqx.field(static=True, default=1)

    @classmethod
    def symmetric(
        cls,
        *,
        base_radius: float,
        platform_radius: float,
        bar_length: float,
        rest_angle: float = np.pi / 4,
    ) -> "Prs":
        """Three identical legs, 120 degrees apart. Lengths in m, angle in rad."""
        return cls(
            azimuth=np.arange(3.0) * 2 * np.pi / 3,
            base_radius=np.full(3, base_radius, float),
            platform_radius=np.full(3, platform_radius, float),
            bar_length=np.full(3, bar_length, float),
            rest_angle=np.asarray(rest_angle, float),
        )

    # Names

    @property
    def joint_coordinates(self) -> tuple[Coordinate, ...]:
        """s1, s2, s3: slider positions, inwards."""
        return tuple(Coordinate(f"s{i}", "m", "slider_position") for i in (1, 2, 3))

    @property
    def platform_coordinates(self) -> tuple[Coordinate, ...]:
        """Height, tilt about x, tilt about y."""
        return Coordinate("z", "m"), Coordinate("psi", "rad"), Coordinate("theta", "rad")

    @property
    def passive_coordinates(self) -> tuple[Coordinate, ...]:
        """Inclination of each bar, then the three angles of each spherical joint."""
        found = [hinge_coordinate(f"alpha_{i}", f"revolute_{i}") for i in (1, 2, 3)]
        for i in (1, 2, 3):
            found += ball_coordinates(str(i), f"spherical_{i}")
        return tuple(found)

    def unbent(self) -> Scalars:
        """Bars at the rest angle, spherical joints straight."""
        return (*(self.rest_angle,) * 3, *(0.0,) * 9)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Couplings (on the sliders), bars and platform."""
        couplings = [Part(f"coupling_{i}", "coupling", "block") for i in (1, 2, 3)]
        bars = [Part(f"bar_{i}", "bar", "bar") for i in (1, 2, 3)]
        return (*couplings, *bars, Part("platform", "platform", "plate"))

    @property
    def struts(self) -> tuple[Strut, ...]:
        """The bars."""
        return tuple(Strut(f"bar_{i}", f"revolute_{i}", f"spherical_{i}") for i in (1, 2, 3))

    # Position

    def closure(self, q: Components, x: Components) -> Scalars:
        """Equation (4) [m^2]."""
        loops = []
        for leg, s, B in zip(self._legs(), q, self._spherical_joints(x), strict=True):
            across = leg.a - s - dot(leg.e, B)
            loops.append((across * across + B[2] * B[2] - leg.L * leg.L) / 2)
        return tuple(loops)

    def inverse(self, x: Components) -> PositionSolution:
        """Slider positions [m] that put the platform at `x` [m, rad], bars leaning inwards.

        From (4), s_i = a_i - r_i - sqrt(L_i^2 - z_i^2); working mode -1 has the plus sign,
        the bar leaning outwards.
        """
        x = one_each(x, self.platform_coordinates)
        positions, margins = [], []
        joints = zip(self._legs(), self._spherical_joints(x), self.working_mode, strict=True)
        for leg, B, mode in joints:
            square = leg.L * leg.L - B[2] * B[2]
            positions.append(leg.a - dot(leg.e, B) - mode * safe_sqrt(square))
            margins.append(square / (leg.L * leg.L))
        return PositionSolution(tuple(positions), tuple(margins))

    def forward(self, q: Components) -> PositionSolution:
        """Platform coordinates [m, rad] reached with sliders at `q` [m], found by Newton.

        Starts at home, or upside down for assembly mode -1. The margin is that of type 2,
        or -1 where the iteration did not close the loops.
        """
        z, psi, theta = self.home()
        q = one_each(q, self.joint_coordinates)
        return searched(self, q, (self.assembly_mode * z, psi, theta))

    def passive(self, q: Components, x: Components) -> Scalars:
        """alpha_i, then (beta_m, beta_n, beta_l) of each leg [rad]."""
        pose, alphas, betas = self.platform_pose(x), [], []
        s0, c0 = sincos(self.rest_angle)
        for leg, s, B in zip(self._legs(), q, self._spherical_joints(x), strict=True):
            alphas.append(atan2(B[2], leg.a - s - dot(leg.e, B)))
            bar = self._bar(leg, s, B)
            rest = (
                pose.turned(scale(-1.0, leg.t)),
                pose.turned(combine((s0, leg.e), (c0, _K))),
                pose.turned(combine((-c0, leg.e), (s0, _K))),
            )
            betas += ball_angles((bar.y, bar.z, bar.x), rest)
        return (*alphas, *betas)

    def home(self) -> Scalars:
        """Level, where the bar of leg 1 stands at the rest angle."""
        return self.bar_length[0] * sincos(self.rest_angle)[0], 0.0, 0.0

    def assemblies(self) -> Mapping[str, AbstractMechanism]:
        """As built, and in the other assembly mode."""
        modes = ((BUILT, 1), (MIRRORED, -1))
        return {name: dataclasses.replace(self, assembly_mode=mode) for name, mode in modes}

    def assembly_modes(self, q: Components) -> Float[AnyArray, "modes m"]:
        """All platform coordinates that close the loops; the built one is among them."""
        lengths = (self.azimuth, self.base_radius, self.platform_radius, self.bar_length)
        candidates = level_or_tilted(*map(np.asarray, lengths), s=np.asarray(q))
        return closing(self, q, candidates)

    # Bodies

    def platform_pose(self, x: Components) -> Frame:
        """T_OP with its parasitic motions."""
        return LedPlatform(self.azimuth, self.platform_radius).frames(x)[0]

    def body_poses(self, q: Components, x: Components) -> tuple[Frame, ...]:
        """Pose of each of `bodies` in O."""
        couplings, bars = [], []
        for leg, s, B in zip(self._legs(), q, self._spherical_joints(x), strict=True):
            bar = self._bar(leg, s, B)
            couplings.append(Frame(scale(-1.0, leg.e), scale(-1.0, leg.t), _K, bar.p))
            bars.append(bar)
        return (*couplings, *bars, self.platform_pose(x))

    def joints(self) -> tuple[Joint, ...]:
        """Sliders, then revolute and spherical joints."""
        zero, y = (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)
        sliders, rest = [], []
        for i, leg in enumerate(self._legs(), 1):
            coupling, bar = f"coupling_{i}", f"bar_{i}"
            sliders.append(
                Joint(
                    f"slider_{i}",
                    "prismatic",
                    "base",
                    coupling,
                    scale(leg.a, leg.e),
                    zero,
                    scale(-1.0, leg.e),
                    driven=True,
                )
            )
            rest += [
                Joint(f"revolute_{i}", "revolute", coupling, bar, zero, zero, y),
                Joint(
                    f"spherical_{i}",
                    "spherical",
                    "platform",
                    bar,
                    scale(leg.b, leg.e),
                    (leg.L, 0.0, 0.0),
                ),
            ]
        return (*sliders, *rest)

    def scales(self) -> Scales:
        """Bars make the loops; the platform radius turns tilts into motion."""
        legs = self._legs()
        arm = self.platform_radius.mean() * _LEVEL
        return Scales(
            loops=tuple(leg.L for leg in legs), joints=(1.0,) * 3, platform=(1.0, arm, arm)
        )

    def orientation(self) -> Scalar:
        """+1 for legs numbered counterclockwise: then det(dc/dx) > 0 with bars rising."""
        first, second, third = (leg.e for leg in self._legs())
        turn = add(add(cross(first, second), cross(second, third)), cross(third, first))
        return sign(turn[2])

    # Parts of the above

    def _legs(self) -> tuple[_Leg, ...]:
        legs = []
        for i in range(3):
            s, c = sincos(self.azimuth[i])
            sizes = self.base_radius[i], self.platform_radius[i], self.bar_length[i]
            legs.append(_Leg((c, s, 0.0), (-s, c, 0.0), *sizes))
        return tuple(legs)

    def _spherical_joints(self, x: Components) -> list[Triple]:
        """B_i of (1) [m]."""
        pose = self.platform_pose(x)
        return [pose.at(scale(leg.b, leg.e)) for leg in self._legs()]

    def _bar(self, leg: _Leg, s: Scalar, B: Triple) -> Frame:
        """Frame of the bar: from the slider to B; on the closure its x axis has length 1."""
        cos, sin = (leg.a - s - dot(leg.e, B)) / leg.L, B[2] / leg.L
        return Frame(
            x=combine((-cos, leg.e), (sin, _K)),
            y=scale(-1.0, leg.t),
            z=combine((sin, leg.e), (cos, _K)),
            p=scale(leg.a - s, leg.e),
        )
