"""Kinematics of the Delta: three arms, three rods or pairs of rods, a platform that translates.

Frame O sits at the centre of the motor circle, z up. Limb i lies in the vertical plane at
azimuth phi_i, with radial, tangential and upward unit vectors

    u_i = (cos phi_i, sin phi_i, 0)     v_i = (-sin phi_i, cos phi_i, 0)     k = (0, 0, 1)

Its arm points along a_i, and the vector from elbow to wrist, for a platform at x, is s_i:

    a_i(q) = cos q_i u_i - sin q_i k            q_i = 0: arm level; q_i > 0: arm down
    s_i(q, x) = x + (r_i - R_i) u_i - L_i a_i(q)                                       (1)

A rod of length d_i closes the loop:

    c_i(q, x) = (s_i . s_i - d_i^2) / 2 = 0                                            (2)

A pair of rods has the same s_i, shifted by +-w/2 along v_i: it keeps the platform level.
With a telescope (axis 4, `telescope.py`) the flange turns by psi = q_4 about z, and
c_4 = psi - q_4. The length and direction of its bar:

    l t = (0, 0, z_U) - x - (0, 0, z_L)                                                (3)

Body frames (columns are axes in O):

    arm           origin R_i u_i; x = a_i, y = v_i
    rod           origin at its upper ball; x = e_i = s_i / d_i, z = n_i
    connector     midway between its hinges, h from the balls; x = v_i, z = n_i
    platform      origin x; axes of O

with n_i = (e_u k - e_k u_i) / sqrt(e_u^2 + e_k^2), the normal of the pair (e_u = e_i . u_i).

Reference: R. Clavel, Conception d'un robot parallele rapide, thesis 925, EPFL, 1991.
"""

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.kinematics import telescope
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
from triskele.kinematics.spheres import three_spheres
from triskele.numerics import (
    AnyArray,
    Components,
    Scalar,
    Scalars,
    atan2,
    maximum,
    safe_norm,
    safe_sqrt,
    sign,
    sincos,
    where,
)
from triskele.spatial.vectors import (
    WORLD,
    Frame,
    Triple,
    add,
    combine,
    cross,
    dot,
    scale,
)


class _Limb(NamedTuple):
    """One limb in the letters of the module's docstring."""

    u: Triple
    v: Triple
    R: Scalar
    r: Scalar
    L: Scalar
    d: Scalar


class _Rod(NamedTuple):
    """The rod of a limb: elbow (mid-pair) [m], direction, normal of the pair."""

    elbow: Triple
    e: Triple
    n: Triple


_K: Triple = (0.0, 0.0, 1.0)


class Delta(AbstractMechanism):
    """Geometry of a Delta; one entry per limb, so that each limb can be calibrated.

    >>> robot = Delta.symmetric(
    ...     base_radius=0.20, platform_radius=0.05, arm_length=0.30, rod_length=0.70
    ... )
    >>> q = robot.inverse([0.10, 0.05, -0.60]).checked()
    >>> robot.forward(q).checked().round(9)
    array([ 0.1 ,  0.05, -0.6 ])
    """

    azimuth: Float[AnyArray, "3"]  #: phi_i [rad], counterclockwise seen from above
    base_radius: Float[AnyArray, "3"]  #: R_i [m], z axis to motor axis
    platform_radius: Float[AnyArray, "3"]  #: r_i [m], platform centre to mid-wrist
    arm_length: Float[AnyArray, "3"]  #: L_i [m], motor axis to elbow
    rod_length: Float[AnyArray, "3"]  #: d_i [m], elbow to wrist
    rod_spacing: Scalar | None = None  #: w [m]; None: one rod per limb
    connector_offset: Scalar | None = None  #: h [m]; None: no connecting rods
    telescope: Float[AnyArray, "2"] | None = None  #: z_U, z_L [m]; None: no axis 4
    working_mode: tuple[int, ...] = eqx.field(static=True, default=(1, 1, 1))
    assembly_mode: int = eqx.field(static=True, default=1)

    @classmethod
    def symmetric(
        cls,
        *,
        base_radius: float,
        platform_radius: float,
        arm_length: float,
        rod_length: float,
        rod_spacing: float | None = None,
    ) -> "Delta":
        """The nominal robot: three identical limbs, 120 degrees apart. Lengths in m."""
        return cls(
            azimuth=np.arange(3.0) * 2 * np.pi / 3,
            base_radius=np.full(3, base_radius, float),
            platform_radius=np.full(3, platform_radius, float),
            arm_length=np.full(3, arm_length, float),
            rod_length=np.full(3, rod_length, float),
            rod_spacing=None if rod_spacing is None else np.asarray(rod_spacing, float),
        )

    # Names

    @property
    def joint_coordinates(self) -> tuple[Coordinate, ...]:
        """q1, q2, q3, and q4 of the telescope."""
        arms = tuple(Coordinate(f"q{i}", "rad", "joint_angle") for i in (1, 2, 3))
        return arms if self.telescope is None else (*arms, telescope.DRIVE)

    @property
    def platform_coordinates(self) -> tuple[Coordinate, ...]:
        """x, y, z, and psi of the flange."""
        position = tuple(Coordinate(name, "m") for name in "xyz")
        return position if self.telescope is None else (*position, Coordinate("psi", "rad"))

    @property
    def passive_coordinates(self) -> tuple[Coordinate, ...]:
        """Tilt of each rod out of its limb plane, and length of the telescope."""
        tilts = tuple(
            Coordinate(f"tilt_{i}", "rad", "rod_tilt", f"tilt of rod {i}") for i in (1, 2, 3)
        )
        return tilts if self.telescope is None else (*tilts, telescope.PASSIVE)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Arms, rods, connectors, platform, end effector and telescope."""
        found = [Part(f"arm_{i}", "arm", "arm") for i in (1, 2, 3)]
        found += [Part(name, "rod", "rod") for name, _, _ in self._rod_places()]
        if self.connector_offset is not None:
            names = (f"connector_{i}{end}" for i in (1, 2, 3) for end in "ab")
            found += [Part(name, "connector", "connector") for name in names]
        found.append(Part("platform", "platform", "plate"))
        return tuple(found) if self.telescope is None else (*found, *telescope.PARTS)

    @property
    def carrier(self) -> str:
        """The flange, if it turns."""
        return "platform" if self.telescope is None else telescope.CARRIER

    @property
    def flange(self) -> str:
        """The bearing of the flange, if it turns."""
        return "" if self.telescope is None else telescope.FLANGE

    @property
    def struts(self) -> tuple[Strut, ...]:
        """The rods."""
        names = (name for name, _, _ in self._rod_places())
        return tuple(Strut(name, f"elbow_{name}", f"wrist_{name}") for name in names)

    # Position

    def closure(self, q: Components, x: Components) -> Scalars:
        """Equation (2) [m^2], and psi - q_4 [rad] with a telescope."""
        loops = []
        for limb, angle in zip(self._limbs(), q, strict=False):
            s = self._rod_vector(limb, *sincos(angle), x)
            loops.append((dot(s, s) - limb.d * limb.d) / 2)
        return tuple(loops) if self.telescope is None else (*loops, x[3] - q[3])

    def inverse(self, x: Components) -> PositionSolution:
        """Joint angles [rad] that put the platform at `x` [m, rad], elbows outwards.

        With s = x + (r - R) u, the wrist seen from the motor, (2) reads in each limb

            s_u cos q - s_k sin q = k,     k = (s.s + L^2 - d^2) / (2 L)

        or rho cos(q + alpha) = k with s_u = rho cos alpha, s_k = rho sin alpha. The root
        with q + alpha < 0 has the elbow outwards; with h = sqrt(rho^2 - k^2) it is

            q = atan2(-h s_u - k s_k, k s_u - h s_k)

        and working mode -1, elbow inwards, has -h.
        """
        x = one_each(x, self.platform_coordinates)
        angles, margins = [], []
        for limb, mode in zip(self._limbs(), self.working_mode, strict=True):
            u, v = limb.u, limb.v
            s_u = x[0] * u[0] + x[1] * u[1] + (limb.r - limb.R)
            s_v, s_k = x[0] * v[0] + x[1] * v[1], x[2]
            square = s_u * s_u + s_k * s_k
            k = (square + s_v * s_v + (limb.L * limb.L - limb.d * limb.d)) / (2 * limb.L)
            h = mode * safe_sqrt(square - k * k)
            angles.append(atan2(-h * s_u - k * s_k, k * s_u - h * s_k))
            margins.append(1 - abs(k) / safe_norm(square))
        if self.telescope is not None:
            angles.append(x[3])
        return PositionSolution(tuple(angles), tuple(margins))

    def forward(self, q: Components) -> PositionSolution:
        """Platform coordinates [m, rad] reached with joints at `q` [rad], platform below.

        (2) puts x on three spheres of radii d_i, see `spheres.py`. Assembly mode -1 is the mirror
        image in the plane of their centres.
        """
        q = one_each(q, self.joint_coordinates)
        centres = [
            combine((limb.R - limb.r + limb.L * c, limb.u), (-limb.L * s, _K))
            for limb, (s, c) in zip(self._limbs(), map(sincos, q[:3]), strict=True)
        ]
        side = self.assembly_mode * self.orientation()
        x, margin = three_spheres(centres, tuple(self.rod_length), side)
        turn = () if self.telescope is None else (q[3],)
        return PositionSolution((*x, *turn), (margin,))

    def assemblies(self) -> Mapping[str, AbstractMechanism]:
        """As built, and in the other assembly mode."""
        modes = ((BUILT, 1), (MIRRORED, -1))
        return {name: dataclasses.replace(self, assembly_mode=mode) for name, mode in modes}

    def assembly_modes(self, q: Components) -> Float[AnyArray, "modes m"]:
        """The platform below the plane of the elbows, as built, and above it."""
        both = [dataclasses.replace(self, assembly_mode=mode).forward(q) for mode in (1, -1)]
        closed = [mode.value for mode in both if mode.margin >= 0]
        return np.stack(closed) if closed else np.empty((0, len(self.platform_coordinates)))

    def passive(self, q: Components, x: Components) -> Scalars:
        """Tilts of the rods [rad], and length of the telescope [m]."""
        tilts = []
        for limb in self._limbs():
            along = x[0] * limb.v[0] + x[1] * limb.v[1]  # s_i . v_i, free of q
            tilts.append(atan2(along, safe_sqrt(limb.d * limb.d - along * along)))
        return (
            tuple(tilts)
            if self.telescope is None
            else (*tilts, telescope.bar(self.telescope, x)[1])
        )

    def home(self) -> Scalars:
        """The platform where the arms are level, or else halfway down the axis.

        On the axis the wrist of a mean limb is rho from its motor, |R - r| across; rho is
        between |L - d| and L + d.
        """
        level = self.forward((0.0,) * len(self.joint_coordinates))
        R, r, L, d = (
            length.mean()
            for length in (
                self.base_radius,
                self.platform_radius,
                self.arm_length,
                self.rod_length,
            )
        )
        across = abs(R - r)
        rho = (maximum(abs(L - d), across) + L + d) / 2
        on_axis = (0.0, 0.0, -safe_sqrt(rho * rho - across * across), 0.0)
        return tuple(
            where(level.margin > 0, a, b) for a, b in zip(level.components, on_axis, strict=False)
        )

    # Bodies

    def platform_pose(self, x: Components) -> Frame:
        """The platform does not turn."""
        return WORLD._replace(p=(x[0], x[1], x[2]))

    def body_poses(self, q: Components, x: Components) -> tuple[Frame, ...]:
        """Pose of each of `bodies` in O."""
        limbs = self._limbs()
        arms, rods = [], []
        for limb, angle in zip(limbs, q, strict=False):
            s, c = sincos(angle)
            a = combine((c, limb.u), (-s, _K))
            z = combine((s, limb.u), (c, _K))
            arms.append(Frame(a, limb.v, z, scale(limb.R, limb.u)))
            rods.append(self._rod(limb, add(scale(limb.R, limb.u), scale(limb.L, a)), s, c, x))
        frames = [
            *arms,
            *(self._rod_frame(limbs[i], rods[i], shift) for _, i, shift in self._rod_places()),
        ]
        if self.connector_offset is not None:
            h = self.connector_offset
            for limb, rod in zip(limbs, rods, strict=True):
                y = cross(rod.n, limb.v)
                for along in (h, limb.d - h):
                    p = add(rod.elbow, scale(along, rod.e))
                    frames.append(Frame(limb.v, y, rod.n, p))
        frames.append(self.platform_pose(x))
        if self.telescope is not None:
            frames += telescope.frames(self.telescope, x)
        return tuple(frames)

    def joints(self) -> tuple[Joint, ...]:
        """Motors, then limb by limb, then the telescope."""
        limbs, zero = self._limbs(), (0.0, 0.0, 0.0)
        y, z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
        motors = [
            Joint(
                f"motor_{i}",
                "revolute",
                "base",
                f"arm_{i}",
                scale(limb.R, limb.u),
                zero,
                limb.v,
                driven=True,
            )
            for i, limb in enumerate(limbs, 1)
        ]
        rest = []
        for name, i, shift in self._rod_places():
            limb, number = limbs[i], i + 1
            elbow, wrist = (limb.L, shift, 0.0), add(scale(limb.r, limb.u), scale(shift, limb.v))
            upper = "spherical" if self.connector_offset is not None else "universal"
            lower = "universal" if self.rod_spacing is None else "spherical"
            rest += [
                Joint(
                    f"elbow_{name}",
                    upper,
                    f"arm_{number}",
                    name,
                    elbow,
                    zero,
                    y,
                    z,
                    friction="balls",
                ),
                Joint(
                    f"wrist_{name}",
                    lower,
                    "platform",
                    name,
                    wrist,
                    (limb.d, 0.0, 0.0),
                    limb.v,
                    z,
                    friction="balls",
                ),
            ]
            if self.connector_offset is not None:
                h = self.connector_offset
                for end, along in (("a", h), ("b", limb.d - h)):
                    rest.append(
                        Joint(
                            f"hinge_{name}{end}",
                            "revolute",
                            name,
                            f"connector_{number}{end}",
                            (along, 0.0, 0.0),
                            (shift, 0.0, 0.0),
                            z,
                        )
                    )
        if self.telescope is not None:
            motor, others = telescope.joints(self.telescope, "motor_4")
            motors.append(motor)
            rest += others
        return (*motors, *rest)

    def scales(self) -> Scales:
        """Rods make the loops; arm lengths turn angles into motion."""
        limbs = self._limbs()
        extra = () if self.telescope is None else (1.0,)
        return Scales(
            loops=(*(limb.d for limb in limbs), *extra),
            joints=(*(limb.L for limb in limbs), *extra),
            platform=(1.0, 1.0, 1.0, *extra),
        )

    def orientation(self) -> Scalar:
        """-1 for limbs numbered counterclockwise: then det[e_1 e_2 e_3] < 0 below."""
        first, second, third = (limb.u for limb in self._limbs())
        turn = add(add(cross(first, second), cross(second, third)), cross(third, first))
        return -sign(turn[2])

    # Parts of the above

    def _limbs(self) -> tuple[_Limb, ...]:
        """The three limbs in the letters of the equations."""
        limbs = []
        for i in range(3):
            s, c = sincos(self.azimuth[i])
            limbs.append(
                _Limb(
                    (c, s, 0.0),
                    (-s, c, 0.0),
                    self.base_radius[i],
                    self.platform_radius[i],
                    self.arm_length[i],
                    self.rod_length[i],
                )
            )
        return tuple(limbs)

    def _rod_vector(self, limb: _Limb, s: Scalar, c: Scalar, x: Components) -> Triple:
        """s_i of (1) [m], from the sine and cosine of q_i."""
        reach = limb.r - limb.R - limb.L * c
        return x[0] + reach * limb.u[0], x[1] + reach * limb.u[1], x[2] + limb.L * s

    def _rod(self, limb: _Limb, elbow: Triple, s: Scalar, c: Scalar, x: Components) -> _Rod:
        e = scale(1 / limb.d, self._rod_vector(limb, s, c, x))
        e_u, e_k = dot(e, limb.u), e[2]
        g = 1 / safe_norm(e_u * e_u + e_k * e_k)
        return _Rod(elbow, e, combine((e_u * g, _K), (-e_k * g, limb.u)))

    def _rod_places(self) -> tuple[tuple[str, int, Scalar], ...]:
        """Name, limb (from 0) and shift along v_i [m] of each rod; a before b."""
        if self.rod_spacing is None:
            return tuple((f"rod_{i + 1}", i, 0.0) for i in range(3))
        half = self.rod_spacing / 2
        return tuple(
            (f"rod_{i + 1}{end}", i, shift)
            for i in range(3)
            for end, shift in (("a", -half), ("b", half))
        )

    def _rod_frame(self, limb: _Limb, rod: _Rod, shift: Scalar) -> Frame:
        origin = add(rod.elbow, scale(shift, limb.v))
        return Frame(rod.e, cross(rod.n, rod.e), rod.n, origin)
