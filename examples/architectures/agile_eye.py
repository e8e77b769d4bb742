"""An architecture of one's own: the spherical parallel mechanism 3-RRR, such as the Agile Eye.

All axes meet in the centre O of the base. Motor i turns a proximal link about u_i, which carries
the axis w_i at the arc alpha_1; from there a distal link of the arc alpha_2 leads to the axis v_i
of the platform, which turns about O by a, b, c (about x, y, z: R = Rz(c) Ry(b) Rx(a)):

    u_i = (sin g cos f_i, sin g sin f_i, -cos g)         axes of the motors                  (1)
    v_i = R (sin h cos f_i, sin h sin f_i, cos h)        axes of the platform                (2)
    w_i = cos alpha_1 u_i + sin alpha_1 (cos q_i m_i + sin q_i (u_i x m_i))                  (3)

with f_i the azimuth of limb i and m_i = (-sin f_i, cos f_i, 0). A loop is closed where

    c_i = r^2 (w_i . v_i - cos alpha_2) = 0                                                 (4)

which is linear in cos q_i and sin q_i. The radius r, of the pivots, makes it a length squared.

Bodies, all with their origin in O: proximal link, z = u_i and x = cos q_i m_i + ...; distal link,
x = w_i and z along w_i x v_i; platform, the axes of R.
"""

from pathlib import Path
from typing import Annotated, Literal

import equinox as eqx
import numpy as np

import triskele as tk
from triskele.description.quantity import Quantity
from triskele.description.schema import AbstractRobot, Angle, Body, Length, Section
from triskele.kinematics.mechanism import Coordinate, Joint, Part, PositionSolution, Scales
from triskele.kinematics.searched import AbstractSearched
from triskele.numerics import Components, Scalar, Scalars, atan2, safe_norm, safe_sqrt, sincos
from triskele.spatial.vectors import (
    Frame,
    Triple,
    combine,
    cross,
    dot,
    rotation_x,
    rotation_y,
    rotation_z,
    scale,
)

RIGHT = np.pi / 2
CUBE = float(np.arctan(np.sqrt(2.0)))  # between a diagonal of a cube and its edges
_O: Triple = (0.0, 0.0, 0.0)
_X, _Y, _Z = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class AgileEyeGeometry(Section):
    """Arcs and cones; at its defaults all neighbouring axes are at right angles."""

    radius: Length  #: r [m], of the pivots
    proximal_arc: Angle = RIGHT  #: alpha_1 [rad]
    distal_arc: Angle = RIGHT  #: alpha_2 [rad]
    base_cone: Angle = CUBE  #: g [rad], motor axes and the downward axis
    platform_cone: Angle = CUBE  #: h [rad], platform axes and its upward axis
    home_turn: Annotated[float, Quantity("rad", "angle")] = np.pi / 3  #: c at home [rad]


class AgileEyeBodies(Section):
    """Inertia of the three kinds of bodies."""

    proximal: Body
    distal: Body
    platform: Body


class AgileEyeRobot(AbstractRobot):
    """A robot file with kind = "agile_eye"."""

    kind: Literal["agile_eye"]
    geometry: AgileEyeGeometry
    bodies: AgileEyeBodies | None = None


class AgileEye(AbstractSearched):
    """The mechanism in the letters above; `forward` is Newton's method from home."""

    radius: Scalar  #: r [m]
    proximal_arc: Scalar  #: alpha_1 [rad]
    distal_arc: Scalar  #: alpha_2 [rad]
    base_cone: Scalar  #: g [rad]
    platform_cone: Scalar  #: h [rad]
    home_turn: Scalar  #: [rad]
    working_mode: tuple[int, ...] = eqx.field(static=True, default=(1, 1, 1))
    assembly_mode: int = eqx.field(static=True, default=1)

    @property
    def joint_coordinates(self) -> tuple[Coordinate, ...]:
        """Angles of the proximal links."""
        return tuple(Coordinate(f"q{i}", "rad", "joint_angle") for i in (1, 2, 3))

    @property
    def platform_coordinates(self) -> tuple[Coordinate, ...]:
        """Angles of the platform."""
        return tuple(Coordinate(name, "rad") for name in "abc")

    @property
    def passive_coordinates(self) -> tuple[Coordinate, ...]:
        """None that the file could limit."""
        return ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """Proximal and distal links, and the platform."""
        first = (Part(f"proximal_{i}", "proximal", "arm") for i in (1, 2, 3))
        second = (Part(f"distal_{i}", "distal", "bar") for i in (1, 2, 3))
        return (*first, *second, Part("platform", "platform", "plate"))

    def scales(self) -> Scales:
        """All motion is at the radius."""
        return Scales((self.radius,) * 3, (self.radius,) * 3, (self.radius,) * 3)

    def home(self) -> Scalars:
        """Upright, turned by `home_turn`."""
        return 0.0, 0.0, self.home_turn

    def closure(self, q: Components, x: Components) -> Scalars:
        """Equation (4) [m^2]."""
        cos_2, square = sincos(self.distal_arc)[1], self.radius * self.radius
        pairs = zip(self._intermediate(q), self._platform_axes(x), strict=True)
        return tuple(square * (dot(w, v) - cos_2) for w, v in pairs)

    def inverse(self, x: Components) -> PositionSolution:
        """Motor angles [rad] from (4): A cos q + B sin q = k, of two roots that with dc/dq < 0."""
        (s_1, c_1), cos_2 = sincos(self.proximal_arc), sincos(self.distal_arc)[1]
        angles, margins = [], []
        limbs = zip(self._limbs(), self._platform_axes(x), self.working_mode, strict=True)
        for (u, m), v, mode in limbs:
            A, B = dot(m, v), dot(cross(u, m), v)
            k = (cos_2 - c_1 * dot(u, v)) / s_1
            square = A * A + B * B
            root = mode * safe_sqrt(square - k * k)
            angles.append(atan2(k * B + root * A, k * A - root * B))
            margins.append(1 - abs(k) / safe_norm(square))
        return PositionSolution(tuple(angles), tuple(margins))

    def passive(self, q: Components, x: Components) -> Scalars:
        """None."""
        return ()

    def platform_pose(self, x: Components) -> Frame:
        """R at O."""
        (s_a, c_a), (s_b, c_b), (s_c, c_c) = (sincos(angle) for angle in x)

        def turned(axis: Triple) -> Triple:
            return rotation_z(s_c, c_c, rotation_y(s_b, c_b, rotation_x(s_a, c_a, axis)))

        return Frame(turned(_X), turned(_Y), turned(_Z), _O)

    def body_poses(self, q: Components, x: Components) -> tuple[Frame, ...]:
        """Pose of each of `bodies` in O."""
        first, second = [], []
        axes = zip(self._limbs(), q, self._intermediate(q), self._platform_axes(x), strict=True)
        for (u, m), angle, w, v in axes:
            s, c = sincos(angle)
            along = combine((c, m), (s, cross(u, m)))
            first.append(Frame(along, cross(u, along), u, _O))
            n = cross(w, v)
            n = scale(1 / safe_norm(dot(n, n)), n)
            second.append(Frame(w, cross(n, w), n, _O))
        return (*first, *second, self.platform_pose(x))

    def joints(self) -> tuple[Joint, ...]:
        """Motors, then the joints between the links and at the platform."""
        r, (s_1, c_1), (s_2, c_2) = (
            self.radius,
            sincos(self.proximal_arc),
            sincos(self.distal_arc),
        )
        motors, rest = [], []
        corners = zip(self._limbs(), self._corners(), strict=True)
        for i, ((u, _), v) in enumerate(corners, 1):
            first, second, w = f"proximal_{i}", f"distal_{i}", (s_1, 0.0, c_1)
            motors.append(
                Joint(
                    f"motor_{i}",
                    "revolute",
                    "base",
                    first,
                    scale(r, u),
                    (0.0, 0.0, r),
                    u,
                    driven=True,
                )
            )
            rest += [
                Joint(f"middle_{i}", "revolute", first, second, scale(r, w), (r, 0.0, 0.0), w),
                Joint(
                    f"corner_{i}",
                    "revolute",
                    "platform",
                    second,
                    scale(r, v),
                    (r * c_2, r * s_2, 0.0),
                    v,
                ),
            ]
        return (*motors, *rest)

    def _limbs(self) -> list[tuple[Triple, Triple]]:
        """u_i of (1), and m_i."""
        s, c = sincos(self.base_cone)
        return [((s * e[0], s * e[1], -c), (-e[1], e[0], 0.0)) for e in _around()]

    def _corners(self) -> list[Triple]:
        """v_i of (2), in the axes of the platform."""
        s, c = sincos(self.platform_cone)
        return [(s * e[0], s * e[1], c) for e in _around()]

    def _platform_axes(self, x: Components) -> list[Triple]:
        """v_i of (2)."""
        pose = self.platform_pose(x)
        return [pose.turned(corner) for corner in self._corners()]

    def _intermediate(self, q: Components) -> list[Triple]:
        """w_i of (3)."""
        (s_1, c_1), found = sincos(self.proximal_arc), []
        for (u, m), angle in zip(self._limbs(), q, strict=True):
            s, c = sincos(angle)
            found.append(combine((c_1, u), (s_1 * c, m), (s_1 * s, cross(u, m))))
        return found


def _around() -> list[tuple[float, float]]:
    """cos f_i and sin f_i."""
    return [(float(np.cos(f)), float(np.sin(f))) for f in 2 * np.pi / 3 * np.arange(3)]


def mechanism(robot: AgileEyeRobot) -> AgileEye:
    """The mechanism of a robot file."""
    names = AgileEyeGeometry.model_fields.keys() - Section.model_fields.keys()
    values = {name: np.asarray(getattr(robot.geometry, name), float) for name in names}
    return AgileEye(**values)  # pyright: ignore[reportArgumentType]


tk.register(AgileEyeRobot, mechanism)


def main() -> dict[str, float]:
    """Look up, and print what the motors must do."""
    robot = tk.load(Path(__file__).with_suffix(".toml"))
    eye = tk.build(robot)
    q = eye.inverse([0.3, 0.0, 1.2]).checked()
    print("motors [deg]:", np.degrees(q).round(2))
    motion = tk.sine(
        [0.0, 0.0, np.pi / 3],
        [0.3, 0.2, 0.1],
        frequency=5.0,
        duration=0.2,
        coordinates=eye.platform_coordinates,
    )
    demands = tk.torques(robot, motion)
    print("peak torques [N m]:", np.abs(demands.tau).max(axis=0).round(4))
    assemblies = eye.assembly_modes(eye.inverse(eye.home()).components)
    print("assemblies at home:", len(assemblies))
    return {"q1 [deg]": float(np.degrees(q[0])), "assemblies": float(len(assemblies))}


if __name__ == "__main__":
    main()
