"""Any parallel mechanism made of limbs, each with one drive and one rod or pair of rods.

Limb i ends on a part of the platform (`platforms.py`) at W_i(x), and its drive holds the other end
of its rod at E_i(q_i):

    arm      E_i = A_i + L_i a_i,   a_i = cos q_i h_i + sin q_i (g_i x h_i)             (1)
    slide    E_i = A_i + q_i h_i                                                       (2)
    strut    E_i = A_i, and the rod itself is q_i long                                 (3)

with A_i on the motor axis, on the rail, or at the foot; g_i along the motor axis and h_i the
direction of the arm at q_i = 0, or h_i along the rail. The rod of length d_i closes the loop:

    c_i(q, x) = (|W_i - E_i|^2 - d_i^2) / 2 = 0                                        (4)

A pair of rods is shifted by +-w/2 along p_i, and keeps p_i parallel to itself on the platform. On
an arm p_i is g_i. To keep a platform level in a plane, the arm is one side of a parallelogram:
a link beside it, from A_i + o_i, holds a bracket at the elbow that does not turn, and p_i is any
direction.
A platform whose pairs have rods of unequal length turns a little as it moves: `tilt.py`.
With s = W_i - A_i, (4) is solved for q_i limb by limb:

    arm      s.h cos q + s.(g x h) sin q = k,    k = (s.s + L^2 - d^2) / (2 L)          (5)
    slide    q = s.h - sqrt((s.h)^2 - s.s + d^2)                                       (6)
    strut    q = |s|                                                                   (7)

Working mode +1 is the root with dc_i/dq_i < 0: a growing q_i pushes the wrist. With rho^2 the sum
of the squared factors of (5) and k = rho cos b, it is q = atan2(s.(g x h), s.h) - b. Mode -1 has
the other sign of the root.

Body frames, e_i = (W_i - E_i) / |W_i - E_i| along the rod and n_i normal to e_i and g_i:

    arm       origin A_i; x = a_i, y = g_i          carriage   origin E_i; x = h_i, y = g_i
    rod       origin at its upper joint; x = e_i, z = n_i = e_i x g_i / |e_i x g_i|
    cylinder  origin A_i, axes of a rod             piston     origin W_i, axes of a rod
    link      origin A_i + o_i, axes of the arm     bracket    origin E_i; x = h_i, y = g_i

Here g_i, fixed in arm, carriage or base, is the first axis of the universal joint (or the axis of
the revolute one) in which the rod hangs. A tool that is carried by a rod has the rod's axes.

`forward` is closed form for three limbs on a platform that only translates: three spheres about
E_i - (W_i - x). Otherwise Newton's method starts from a named assembly.
"""

import dataclasses
from collections.abc import Mapping
from typing import Literal, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.kinematics import telescope
from triskele.kinematics.bending import (
    Axes,
    ball_angles,
    ball_coordinates,
    hinge_angle,
    hinge_coordinate,
)
from triskele.kinematics.mechanism import (
    BUILT,
    MIRRORED,
    AbstractMechanism,
    Coordinate,
    Joint,
    JointKind,
    Look,
    Part,
    PositionSolution,
    Scales,
    Strut,
    one_each,
)
from triskele.kinematics.platforms import (
    PLATFORM,
    TURNED,
    AbstractPlatform,
    RigidPlatform,
    turns_of,
)
from triskele.kinematics.searched import all_assemblies, judged, searched
from triskele.kinematics.spheres import three_spheres
from triskele.kinematics.tilt import Pair, placed, tilted, tilted_margin
from triskele.numerics import (
    AnyArray,
    Components,
    Scalar,
    Scalars,
    at_known,
    atan2,
    safe_norm,
    safe_sqrt,
    sincos,
)
from triskele.spatial.vectors import (
    WORLD,
    Frame,
    Triple,
    add,
    combine,
    cross,
    dot,
    minus,
    plus,
    scale,
    subtract,
)

Drive = Literal["arm", "slide", "strut"]
_ORIGIN: Triple = (0.0, 0.0, 0.0)
_X, _Y, _Z = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
LINK, BRACKET = "link", "bracket"


class Limb(eqx.Module):
    """One limb in the letters of the module's docstring; 0.0 is a structural zero."""

    base: Triple  #: A [m]
    axis: Triple  #: g, unit
    along: Triple  #: h, unit; of a strut, unused
    end: Triple  #: wrist in the frame of `part` [m]
    size: Scalar  #: L [m] of an arm; 1 otherwise
    length: Scalar  #: d [m]; of a strut, that at home, which scales its loop
    middle: Scalar  #: of an arm: q is at most half a turn from it [rad]
    spacing: Scalar | None  #: w [m]
    aside: Triple  #: p, unit
    level: Triple | None  #: o [m], of an arm with a bracket
    foot_rest: Triple | None  #: direction of a strut at home, in O
    ball_rest: Triple | None  #: direction of the rod at home, in the frame of `part`
    bent_rest: tuple[tuple[Triple, Axes], ...] | None
    #: of flexures: direction of the rod at home in the axes of arm, carriage or bracket, or in O,
    #: and its axes y, z, x in the frame of `part`; of both rods, if they differ
    second: Scalar | None  #: length of rod b [m], if not d
    across: Triple | None  #: from the wrist of rod a to that of rod b, in `part` [m], if not w p
    drive: Drive = eqx.field(static=True)
    part: str = eqx.field(static=True)  #: the body on which it ends
    bodies: tuple[str, str] = eqx.field(static=True)  #: parts of the file: drive side, rod side
    elbow: JointKind = eqx.field(static=True)  #: or foot
    wrist: JointKind = eqx.field(static=True)

    def tip(self, q: Scalar) -> Triple:
        """E [m]."""
        if self.drive == "arm":
            return add(self.base, scale(self.size, self.direction(q)))
        return self.base if self.drive == "strut" else add(self.base, scale(q, self.along))

    def direction(self, q: Scalar) -> Triple:
        """a of an arm."""
        s, c = sincos(q)
        return combine((c, self.along), (s, cross(self.axis, self.along)))

    def reach(self, q: Scalar) -> Scalar:
        """Length of the rod [m]."""
        return q if self.drive == "strut" else self.length

    def local(self, vector: Triple) -> Triple:
        """A vector in the axes of carriage or bracket."""
        third = cross(self.along, self.axis)
        return dot(vector, self.along), dot(vector, self.axis), dot(vector, third)

    def holder(self, q: Scalar) -> Frame:
        """Axes of what holds the upper end of the rod, at the origin: of O for a strut."""
        if self.drive == "strut":
            return WORLD
        turned = self.drive == "arm" and self.level is None
        x = self.direction(q) if turned else self.along
        return Frame(x, self.axis, cross(x, self.axis), _ORIGIN)

    @property
    def uneven(self) -> bool:
        """Whether both rods of a pair differ."""
        return self.second is not None or self.across is not None

    @property
    def widths(self) -> tuple[Triple, Triple]:
        """From rod a to rod b, in O at the drive and in `part` at the platform [m]."""
        width = _ORIGIN if self.spacing is None else scale(self.spacing, self.aside)
        return width, width if self.across is None else self.across

    @property
    def last(self) -> Scalar:
        """Length of rod b, or of the only one [m]."""
        return self.length if self.second is None else self.second

    def skew(self, part: Frame) -> Triple:
        """What rod b of a pair has more than rod a [m]."""
        width, across = self.widths
        return subtract(part.turned(across), width)

    def short(self, part: Frame) -> Scalar:
        """By how much d^2 is too long for the middle of both rods [m^2]."""
        return self.pair(1).too_long(self.skew(part)) if self.uneven else 0.0

    def pair(self, mode: int) -> Pair:
        """Its rods, as they turn the platform."""
        width, across = self.widths

        def held(s: Triple, short: Scalar) -> tuple[Triple, Triple]:
            if self.drive == "slide":
                q, _ = self.inverse(s, mode, short)
                return scale(q, self.along), self.along
            sine, cosine, rho, _ = self._root(s, mode, short)
            third, factor = cross(self.axis, self.along), self.size / rho
            return (
                combine((factor * cosine, self.along), (factor * sine, third)),
                combine((-factor * sine, self.along), (factor * cosine, third)),
            )

        return Pair(self.base, self.end, across, width, (self.length, self.last), held)

    def spans(self, s: Triple, part: Frame) -> list[tuple[Triple, Scalar]]:
        """From elbow to wrist, and length, of each rod that differs [m]; s is W - E."""
        if not self.uneven:
            return [(s, self.length)]
        half = scale(0.5, self.skew(part))
        return [(subtract(s, half), self.length), (add(s, half), self.last)]

    def bent(self, q: Scalar, spans: list[Triple], part: Frame, hinge: Triple) -> list[Scalar]:
        """Angles [rad] of the flexures at both ends of each rod, from elbow to wrist [m].

        `hinge` is the axis of a revolute joint on the part.
        """
        alike = 1 if self.spacing is None or self.uneven else 2
        pairs = zip(spans, self.bent_rest or (), strict=False)
        return alike * [a for s, rest in pairs for a in self._bent(q, s, part, hinge, rest)]

    def _bent(
        self, q: Scalar, s: Triple, part: Frame, hinge: Triple, rest: tuple[Triple, Axes]
    ) -> list[Scalar]:
        found: list[Scalar] = []
        upper, axes = rest
        if self.elbow == "revolute":
            found.append(hinge_angle(self.axis, self.holder(q).turned(upper), s))
        m, n, l = (part.turned(axis) for axis in axes)
        if self.wrist == "revolute":
            found.append(hinge_angle(part.turned(hinge), l, s))
        elif self.wrist == "spherical":
            rod = self.rod(scale(1 / safe_norm(dot(s, s)), s))
            found += ball_angles((rod.y, rod.z, rod.x), (m, n, l))
        return found

    def inverse(self, s: Triple, mode: int, short: Scalar = 0.0) -> tuple[Scalar, Scalar]:
        """q by (5), (6) or (7), and its margin; s is W - A [m].

        `short` [m^2] is by how much d^2 is too long, see `tilt.py`.
        """
        d = self.length
        if self.drive == "strut":
            q = safe_norm(dot(s, s))
            return q, q / d
        if self.drive == "slide":
            first = dot(s, self.along)
            root = minus(first * first - dot(s, s) + d * d, short)
            return first - mode * safe_sqrt(root), root / (d * d)
        sine, cosine, rho, k = self._root(s, mode, short)
        if type(self.middle) is not float:  # counted from a middle that is not zero
            s_0, c_0 = sincos(self.middle)
            sine, cosine = sine * c_0 - cosine * s_0, cosine * c_0 + sine * s_0
        return self.middle + atan2(sine, cosine), 1 - abs(k) / safe_norm(rho)

    def _root(self, s: Triple, mode: int, short: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """rho^2 sin q and rho^2 cos q by (5), rho^2, and k."""
        d, L = self.length, self.size
        first, second = dot(s, self.along), dot(s, cross(self.axis, self.along))
        k = plus(dot(s, s) + L * L - d * d, short) / (2 * L)
        rho = first * first + second * second
        h = mode * safe_sqrt(rho - k * k)
        return k * second - h * first, k * first + h * second, rho, k

    def rod(self, e: Triple) -> Frame:
        """Axes of the rod, at the origin."""
        n = cross(e, self.axis)
        n = scale(1 / safe_norm(dot(n, n)), n)
        return Frame(e, cross(n, e), n, _ORIGIN)


class _Rod(NamedTuple):
    body: str
    shift: Scalar  #: of its elbow along p_i [m]
    length: Scalar  #: [m]
    end: Triple  #: its wrist, in the frame of the part [m]


class Limbs(AbstractMechanism):
    """A mechanism of n limbs, or n - 1 and a telescope, for n platform coordinates."""

    frame: AbstractPlatform  #: what the limbs end on
    limbs: tuple[Limb, ...]
    rest: Float[AnyArray, " m"]  #: home: platform coordinates [m, rad]
    start: Float[AnyArray, " m"]  #: where Newton's method begins: a pose of the assembly
    telescope: Float[AnyArray, "2"] | None = None  #: z_U, z_L [m]; None: no axis 4
    side: int = eqx.field(static=True, default=1)  #: sign of det(dc/dx) in the assembly
    carried_by: str = eqx.field(static=True, default="")  #: the rod that is the platform
    named: dict[str, tuple[Float[AnyArray, " m"], int]] = eqx.field(default_factory=dict)
    #: other assemblies by name: `start` and `side`
    working_mode: tuple[int, ...] = eqx.field(static=True, default=())
    assembly_mode: int = eqx.field(static=True, default=1)

    # Names

    @property
    def joint_coordinates(self) -> tuple[Coordinate, ...]:
        """q1, q2, ... of the limbs, and that of the telescope."""
        kinds = {"arm": ("rad", "joint_angle"), "slide": ("m", "slider_position")}
        found = tuple(
            Coordinate(f"q{i}", *kinds.get(limb.drive, ("m", "strut_length")))
            for i, limb in enumerate(self.limbs, 1)
        )
        return found if self.telescope is None else (*found, telescope.DRIVE)

    @property
    def platform_coordinates(self) -> tuple[Coordinate, ...]:
        """Those of the platform, and psi of a flange that turns."""
        found = self.frame.coordinates
        return found if self.telescope is None else (*found, Coordinate("psi", "rad"))

    @property
    def passive_coordinates(self) -> tuple[Coordinate, ...]:
        """Angles of rods and struts, turns of a platform on unequal rods, the telescope."""
        tilts, feet, balls, bent = [], [], [], []
        for i, limb in enumerate(self.limbs, 1):
            bent += self._flexures(i, limb)
            for name in (f"{i}a", f"{i}b") if limb.uneven else (f"{i}",):
                if self._tilts(limb):
                    label = f"tilt of {limb.bodies[1]} {name}"
                    tilts.append(Coordinate(f"tilt_{name}", "rad", "rod_tilt", label))
            if limb.foot_rest is not None:
                feet.append(Coordinate(f"foot_{i}", "rad", "foot_angle", f"angle of foot {i}"))
            if limb.ball_rest is not None:
                balls.append(Coordinate(f"ball_{i}", "rad", "ball_angle", f"angle of ball {i}"))
        more = () if self.telescope is None else (telescope.PASSIVE,)
        return (*tilts, *feet, *balls, *bent, *(TURNED if self.tilting else ()), *more)

    def _flexures(self, i: int, limb: Limb) -> list[Coordinate]:
        """Angles of the joints of limb i that bend; those of both rods of a pair."""
        found = []
        for rod, *_ in self._rods(i, limb) if limb.bent_rest is not None else ():
            name = rod.removeprefix(f"{limb.bodies[1]}_")
            upper, lower = f"elbow_{rod}", f"wrist_{rod}"
            if limb.drive == "strut":
                upper, lower = f"foot_{i}", f"wrist_{i}"
            if limb.elbow == "revolute":
                found.append(hinge_coordinate(f"alpha_{name}", upper))
            if limb.wrist == "revolute":
                found.append(hinge_coordinate(f"beta_{name}", lower))
            elif limb.wrist == "spherical":
                found += ball_coordinates(name, lower)
        return found

    @property
    def parts(self) -> tuple[Part, ...]:
        """Bodies of the drives, rods, platform and telescope."""
        drives, rods = [], []
        looks: dict[Drive, Look] = {"arm": "arm", "slide": "block", "strut": "outer"}
        for i, limb in enumerate(self.limbs, 1):
            first, second = limb.bodies
            drives.append(Part(f"{first}_{i}", first, looks[limb.drive]))
            if limb.level is not None:
                drives.append(Part(f"{LINK}_{i}", LINK, "rod"))
                drives.append(Part(f"{BRACKET}_{i}", BRACKET, "plate"))
            look: Look = "inner" if limb.drive == "strut" else "rod"
            rods += [Part(name, second, look) for name, *_ in self._rods(i, limb)]
        more = () if self.telescope is None else telescope.PARTS
        return (*drives, *rods, *self.frame.parts, *more)

    @property
    def carrier(self) -> str:
        """The flange, if it turns on the platform."""
        return PLATFORM if self.telescope is None else telescope.CARRIER

    @property
    def flange(self) -> str:
        """The bearing of the flange."""
        return "" if self.telescope is None else telescope.FLANGE

    @property
    def struts(self) -> tuple[Strut, ...]:
        """Rods, and struts from foot to ball."""
        found = []
        for i, limb in enumerate(self.limbs, 1):
            if limb.drive == "strut":
                found.append(Strut(f"{limb.bodies[0]}_{i}", f"foot_{i}", f"wrist_{i}"))
            else:
                rods = (name for name, *_ in self._rods(i, limb))
                found += [Strut(rod, f"elbow_{rod}", f"wrist_{rod}") for rod in rods]
        return tuple(found)

    # Position

    def closure(self, q: Components, x: Components) -> Scalars:
        """Equation (4) [m^2], and psi - q_n [rad] with a telescope."""
        loops, parts = [], self.platform_frames(x)
        for limb, angle in zip(self.limbs, q, strict=False):
            part = parts[limb.part]
            s, d = subtract(part.at(limb.end), limb.tip(angle)), limb.reach(angle)
            loops.append(plus(dot(s, s) - d * d, limb.short(part)) / 2)
        n = len(self.limbs)
        return tuple(loops) if self.telescope is None else (*loops, x[n] - q[n])

    def inverse(self, x: Components) -> PositionSolution:
        """Joint coordinates [rad, m] by (5) to (7).

        Margins are those of the limbs; one more is that of a platform which pairs of unequal rods
        turn.
        """
        x = one_each(x, self.platform_coordinates)
        values, margins, parts = [], [], self.platform_frames(x)
        for limb, mode in zip(self.limbs, self.working_mode, strict=True):
            part = parts[limb.part]
            s = subtract(part.at(limb.end), limb.base)
            value, margin = limb.inverse(s, mode, limb.short(part))
            values.append(value)
            margins.append(margin)
        if self.telescope is not None:
            values.append(x[len(self.limbs)])
        if self.tilting:
            margins.append(_hold(self, x))
        return PositionSolution(tuple(values), tuple(margins))

    def forward(self, q: Components) -> PositionSolution:
        """Platform coordinates [m, rad]: by three spheres, or by Newton's method from `start`.

        The margin is that of the spheres, or of type 2; -1 where the loops did not close. A
        platform that pairs of unequal rods turn is searched from the spheres.
        """
        q = one_each(q, self.joint_coordinates)
        if not self._spheres:
            return searched(self, q, tuple(self.start))
        tips = [limb.tip(angle) for limb, angle in zip(self.limbs, q, strict=False)]
        (level,) = self.frame.frames(self.home()[:3])
        shifts = (level.turned(limb.end) for limb in self.limbs)
        centres = [subtract(tip, shift) for tip, shift in zip(tips, shifts, strict=True)]
        radii = [limb.length for limb in self.limbs]
        x, margin = three_spheres(centres, radii, float(self.side * self.assembly_mode))
        if self.tilting:
            return judged(self, q, _placed(self, q, x))
        psi = () if self.telescope is None else (q[3],)
        return PositionSolution((*x, *psi), (margin,))

    def near(self, q: Scalars, x: Scalars) -> Scalars | None:
        """Of a platform that tilts, by six rods at once."""
        return _placed(self, q, x) if self.tilting else None

    def assemblies(self) -> Mapping[str, AbstractMechanism]:
        """Those that the file names, or both sides of the spheres."""
        if self._spheres:
            both = {name: mode * self.side for name, mode in ((BUILT, 1), (MIRRORED, -1))}
            return {name: dataclasses.replace(self, side=side) for name, side in both.items()}
        known = {BUILT: (self.rest, self.side), **self.named}
        return {
            name: dataclasses.replace(self, start=start, side=side)
            for name, (start, side) in known.items()
        }

    def assembly_modes(self, q: Components) -> Float[AnyArray, "modes m"]:
        """Both sides of the spheres, or all that Newton's method finds from many starts."""
        if not self._spheres:
            return all_assemblies(self, np.asarray(q, float))
        both = [dataclasses.replace(self, assembly_mode=mode).forward(q) for mode in (1, -1)]
        closed = [mode.value for mode in both if mode.margin >= 0]
        return np.stack(closed) if closed else np.empty((0, len(self.platform_coordinates)))

    def home(self) -> Scalars:
        """Where the file says."""
        return tuple(self.rest)

    def orientation(self) -> Scalar:
        """Sign of det(dc/dx) in the assembly."""
        return float(self.side)

    def scales(self) -> Scales:
        """Rods make the loops; arms and the distance of wrists turn angles into motion."""
        ends = [safe_norm(dot(limb.end, limb.end)) for limb in self.limbs]
        lever = sum(ends) / len(ends)
        if all(type(part) is float and not part for limb in self.limbs for part in limb.end):
            lever = self.limbs[0].length
        units = [1.0 if c.unit == "m" else lever for c in self.frame.coordinates]
        extra = () if self.telescope is None else (1.0,)
        return Scales(
            loops=(*(limb.length for limb in self.limbs), *extra),
            joints=(*(limb.size for limb in self.limbs), *extra),
            platform=(*units, *extra),
        )

    def passive(self, q: Components, x: Components) -> Scalars:
        """Tilts, angles of feet and balls from those at home, turns [rad]; telescope [m]."""
        tilts, feet, balls, bent = [], [], [], []
        parts = self.platform_frames(x)
        wrists = [parts[limb.part].at(limb.end) for limb in self.limbs]
        if self.carried_by and self.limbs[0].bent_rest is not None:
            parts[PLATFORM] = self.platform_pose(x)
        for limb, angle, W in zip(self.limbs, q, wrists, strict=False):
            s, part = subtract(W, limb.tip(angle)), parts[limb.part]
            spans = limb.spans(s, part)
            for span, d in spans if self._tilts(limb) else ():
                along = dot(span, limb.axis)
                tilts.append(atan2(along, safe_sqrt(d * d - along * along)))
            if limb.foot_rest is not None:
                feet.append(_between(s, limb.foot_rest))
            if limb.ball_rest is not None:
                balls.append(_between(s, part.turned(limb.ball_rest)))
            hinge = _Y if self.carried_by else limb.axis  # in the axes of a rod
            bent += limb.bent(angle, [span for span, _ in spans], part, hinge)
        turns = turns_of(parts[PLATFORM]) if self.tilting else ()
        more = () if self.telescope is None else (telescope.bar(self.telescope, x)[1],)
        return (*tilts, *feet, *balls, *bent, *turns, *more)

    # Bodies

    def platform_pose(self, x: Components) -> Frame:
        """Of what carries the tool; with the axes of the rod that is the platform, if one is."""
        if self.carried_by:
            poses = self.body_poses(self.inverse(x).components, x)
            return poses[self.bodies.index(PLATFORM)]
        return self._frames(x)[0]

    def body_poses(self, q: Components, x: Components) -> tuple[Frame, ...]:
        """Pose of each of `bodies` in O."""
        drives, rods, axes, parts = [], [], {}, self.platform_frames(x)
        for i, (limb, angle) in enumerate(zip(self.limbs, q, strict=False), 1):
            E, part = limb.tip(angle), parts[limb.part]
            W = part.at(limb.end)
            s = subtract(W, E)
            if limb.drive == "strut":
                rod = limb.rod(scale(1 / angle, s))
                drives.append(rod._replace(p=limb.base))
                rods.append(rod._replace(p=W))
                continue
            if limb.drive == "arm":
                a = limb.direction(angle)
                arm = Frame(a, limb.axis, cross(a, limb.axis), limb.base)
                drives.append(arm)
                if limb.level is not None:
                    drives.append(arm._replace(p=add(limb.base, limb.level)))
            if limb.drive == "slide" or limb.level is not None:
                drives.append(Frame(limb.along, limb.axis, cross(limb.along, limb.axis), E))
            listed = self._rods(i, limb)
            found = [limb.rod(scale(1 / d, span)) for span, d in limb.spans(s, part)]
            for rod, turn in zip(listed, found * (len(listed) // len(found)), strict=True):
                axes[rod.body] = turn
                rods.append(turn._replace(p=add(E, scale(rod.shift, limb.aside))))
        platform = list(self._frames(x))
        if self.carried_by:
            platform[0] = axes[self.carried_by]._replace(p=platform[0].p)
        more = [] if self.telescope is None else telescope.frames(self.telescope, x)
        return (*drives, *rods, *platform, *more)

    def joints(self) -> tuple[Joint, ...]:
        """Drives, then limb by limb, platform and telescope."""
        drives, rest = [], []
        for i, limb in enumerate(self.limbs, 1):
            driven, others = self._joints_of(i, limb)
            drives.append(driven)
            rest += others
        rest += self.frame.joints()
        if self.telescope is not None:
            motor, others = telescope.joints(self.telescope, f"motor_{len(self.limbs) + 1}")
            drives.append(motor)
            rest += others
        return (*drives, *rest)

    def _joints_of(self, i: int, limb: Limb) -> tuple[Joint, list[Joint]]:
        """The driven joint of a limb, and the others."""
        first, second = (f"{part}_{i}" for part in limb.bodies)
        if limb.drive == "strut":
            foot = Joint(
                f"foot_{i}", limb.elbow, "base", first, limb.base, _ORIGIN, limb.axis, _Z,
                friction="balls",
            )  # fmt: skip
            driven = Joint(
                f"motor_{i}", "prismatic", first, second, _ORIGIN, _ORIGIN, _X, driven=True
            )
            wrist = Joint(
                f"wrist_{i}", limb.wrist, limb.part, second, limb.end, _ORIGIN, limb.axis, _Z,
                friction="balls",
            )  # fmt: skip
            return driven, [foot, wrist]
        turning = limb.drive == "arm"
        driven = Joint(
            f"motor_{i}",
            "revolute" if turning else "prismatic",
            "base",
            first,
            limb.base,
            _ORIGIN,
            limb.axis if turning else limb.along,
            driven=True,
        )
        others, holder = [], first
        if limb.level is not None:
            link, holder, elbow = f"{LINK}_{i}", f"{BRACKET}_{i}", (limb.size, 0.0, 0.0)
            foot, held = add(limb.base, limb.level), limb.local(limb.level)
            others += [
                Joint(f"foot_{link}", "revolute", "base", link, foot, _ORIGIN, limb.axis),
                Joint(f"end_{first}", "revolute", first, holder, elbow, _ORIGIN, _Y),
                Joint(f"end_{link}", "revolute", link, holder, elbow, held, _Y),
            ]
        for rod, shift, d, end in self._rods(i, limb):
            elbow, tip = scale(shift, limb.local(limb.aside)), (d, 0.0, 0.0)
            if holder == first and turning:
                elbow = (limb.size, shift, 0.0)
            others.append(
                Joint(f"elbow_{rod}", limb.elbow, holder, rod, elbow, _ORIGIN, _Y, _Z,
                      friction="balls")
            )  # fmt: skip
            kind = "fixed" if rod == self.carried_by else limb.wrist
            axis = _Y if self.carried_by else limb.axis  # in the axes of a rod
            others.append(
                Joint(f"wrist_{rod}", kind, limb.part, rod, end, tip, axis, _Z,
                      friction="" if kind == "fixed" else "balls")
            )  # fmt: skip
        return driven, others

    # Parts of the above

    @property
    def _spheres(self) -> bool:
        """Whether `forward` is closed form."""
        rigid = isinstance(self.frame, RigidPlatform) and self.frame.translating
        return rigid and len(self.limbs) == 3 and len(self.frame.coordinates) == 3

    @property
    def tilting(self) -> bool:
        """Whether pairs of unequal rods turn the platform as it moves."""
        return any(limb.uneven for limb in self.limbs)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The rods of each limb, as they turn the platform."""
        modes = zip(self.limbs, self.working_mode, strict=True)
        return tuple(limb.pair(mode) for limb, mode in modes)

    def platform_frames(self, x: Components) -> dict[str, Frame]:
        """Poses of what the limbs end on."""
        names = (part.body for part in self.frame.parts)
        return dict(zip(names, self._frames(x), strict=True))

    def _frames(self, x: Components) -> tuple[Frame, ...]:
        """Poses of the bodies of the platform."""
        x = tuple(x)[: len(self.limbs)]
        return (_tilted(self, x),) if self.tilting else self.frame.frames(x)

    def _rods(self, i: int, limb: Limb) -> list[_Rod]:
        """The rods of limb i; a before b."""
        name = f"{limb.bodies[1]}_{i}"
        if limb.spacing is None:
            return [_Rod(name, 0.0, limb.length, limb.end)]
        half, across = limb.spacing / 2, scale(0.5, limb.widths[1])
        return [
            _Rod(f"{name}a", -half, limb.length, subtract(limb.end, across)),
            _Rod(f"{name}b", half, limb.last, add(limb.end, across)),
        ]

    def _tilts(self, limb: Limb) -> bool:
        """Whether the rod of `limb` may leave the plane across g_i."""
        return limb.drive != "strut" and limb.elbow == "universal"


# What is solved step by step, as a program where numbers are known


@at_known
def _tilted(mechanism: Limbs, x: Components) -> Frame:
    """Pose of a platform that tilts."""
    return tilted(mechanism.pairs, *mechanism.frame.frames(x))


@at_known
def _hold(mechanism: Limbs, x: Components) -> Scalar:
    """The margin of a platform that tilts."""
    return tilted_margin(mechanism.pairs, *mechanism.frame.frames(x))


@at_known
def _placed(mechanism: Limbs, q: Components, x: Components) -> Triple:
    """Place of a platform that tilts, searched from `x`."""
    tips = [limb.tip(angle) for limb, angle in zip(mechanism.limbs, q, strict=True)]
    return placed(mechanism.pairs, tips, *mechanism.frame.frames(x))


def _between(s: Triple, rest: Triple) -> Scalar:
    """Angle between two directions [rad]."""
    across = cross(s, rest)
    return atan2(safe_norm(dot(across, across)), dot(s, rest))
