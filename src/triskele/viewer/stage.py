"""What is shown: one robot at one pose, and who moves it.

All drawing is done by one thread, the clock: whoever wants something drawn asks for it. The tool is
dragged by a handle; it follows as far as the robot may go, and the reason why it stops is shown.
"""

import queue
import time
from collections.abc import Callable
from typing import Protocol

import jax.numpy as jnp
import numpy as np
import viser.transforms as vtf
from jaxtyping import Float
from viser import TransformControlsEvent, ViserServer

from triskele.description.schema import CrossSection, Robot
from triskele.flexible.beam import thickness
from triskele.kinematics.border import Border, pose_of
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.reach import worst_slack
from triskele.kinematics.solids import BASE, body_frames, extent
from triskele.kinematics.workspace import allowed_start
from triskele.numerics import stacked
from triskele.viewer.played import Bending
from triskele.viewer.scene import FLEXURE, STEEL, Frames, Scene, light

Pose = Float[np.ndarray, " m"]
_FOLLOWS = 2e-3  #: in sizes of the robot, within which the tool is where the hand is
_FAR = 1.8  #: from where one looks, in half diagonals of the robot
_PERIOD = 0.1  #: between two read-outs [s], which eyes can follow
_RED = (185, 28, 28)
_STEP = 1e-4  #: of the tool, to see where it can go, in sizes of the robot
_MOVES = 0.05  #: along an axis, in parts of such a step


class Act(Protocol):
    """Something that plays: a motion, a mode."""

    def tick(self, passed: float) -> None:
        """Go on by `passed` seconds, and draw."""
        ...


class Stage:
    """A robot on a server, at the pose `x`."""

    def __init__(self, server: ViserServer, robot: Robot, mechanism: AbstractMechanism) -> None:
        """Home, and a handle at the tool."""
        light(server)
        self.server, self.robot, self.mechanism = server, robot, mechanism
        joints = FLEXURE if robot.flexures is not None else STEEL
        self.scene = Scene(server, mechanism, _radii(robot), joints)
        self.border = Border(mechanism, robot.limits)
        self.home: Pose = allowed_start(mechanism, robot.limits)
        self.x: Pose = self.home
        self.reason = ""  #: why the tool does not follow the hand
        self.act: Act | None = None
        self.moved: list[Callable[[], None]] = []  #: told when the pose has changed, now and then
        self.stopped: list[Callable[[], None]] = []  #: told when an act was ended by a hand
        self._changed, self._next = True, 0.0
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._target: tuple[np.ndarray, np.ndarray] | None = None
        self._platform, self._tool = (
            self.scene.bodies.index(body) for body in (mechanism.platform, mechanism.carrier)
        )
        units = [c.unit for c in mechanism.platform_coordinates]
        self._handle = server.scene.add_transform_controls(
            "/tool",
            scale=0.22 * self.scene.size,
            active_axes=free_axes(mechanism, self.home),
            disable_axes="m" not in units,
            disable_sliders="m" not in units,
            disable_rotations="rad" not in units,
            depth_test=False,
        )
        self._label = server.scene.add_label("/reason", "", visible=False)
        self._beyond = server.scene.add_line_segments(
            "/beyond",
            np.zeros((1, 2, 3)),
            colors=_RED,
            thickness=3.0,
            thickness_units="screen",
            visible=False,
        )
        self._handle.on_update(self._grip)
        self.go(self.x)
        self._place_camera()

    # Whoever draws

    def ask(self, request: Callable[[], None]) -> None:
        """Have `request` carried out by the clock."""
        self._asked.put(request)

    def tick(self, passed: float) -> None:
        """Carry out what was asked for, follow the hand, or let the act go on."""
        while not self._asked.empty():
            self._asked.get()()
        target, self._target = self._target, None
        if target is not None:
            self._follow(*target)
        elif self.act is not None:
            self.act.tick(passed)
        if self._changed and time.monotonic() > self._next:
            self._changed, self._next = False, time.monotonic() + _PERIOD
            for tell in self.moved:
                tell()

    # Poses

    def go(self, x: Pose, *, held: bool = False) -> Frames:
        """Move to the allowed pose nearest to `x`, and say why if that is another one."""
        start = self.x if self.border.room(self.x) > 0 else self.home  # a motion may end outside
        end = self.border.nearest(start, np.asarray(x, float))
        self.reason = self._why(end, np.asarray(x, float))
        return self.show(end, held=held)

    def _why(self, end: Pose, wanted: Pose) -> str:
        """Which limit is in the way from `end` to the pose `wanted`; the worst there if unclear."""
        left = np.abs((wanted - end) * self._units()).max() / self.scene.size
        if left < _FOLLOWS:
            return ""
        beyond = end + (wanted - end) * min(1.0, 5 * _FOLLOWS / left)
        for x in (beyond, wanted):
            reason = worst_slack(self.mechanism, self.robot.limits, jnp.asarray(x))
            if reason is not None:
                return reason
        return "no way leads there"

    def show(self, x: Pose, frames: Frames | None = None, *, held: bool = False) -> Frames:
        """Draw the rigid robot at `x`, and the handle with it unless a hand holds that."""
        self.x = np.asarray(x, float)
        if frames is None:
            placed: Frames = body_frames(self.mechanism, self.x[None])[0]
        else:
            placed = frames
        self.scene.straighten()
        self.scene.move(placed)
        if not held:
            self._handle.position = placed[self._tool, :, 3]
            self._handle.wxyz = vtf.SO3.from_matrix(placed[self._tool, :, :3]).wxyz
        self._changed = True
        return placed

    def show_bent(self, x: Pose, frames: Frames, bending: Bending, k: int, enlarged: float) -> None:
        """Draw links bent by `enlarged` times picture `k`, and the platform with them."""
        self.x = np.asarray(x, float)
        lines = bending.straight[k] + enlarged * bending.moved[k]
        shifted = frames.copy()
        turn = vtf.SO3.exp(enlarged * bending.platform[k, 3:]).as_matrix()
        centre = frames[self._platform, :, 3]
        for body in {self._platform, self._tool}:
            shifted[body, :, :3] = turn @ frames[body, :, :3]
            beside = turn @ (frames[body, :, 3] - centre)
            shifted[body, :, 3] = centre + beside + enlarged * bending.platform[k, :3]
        self.scene.move(shifted)
        self.scene.bend(dict(zip(bending.names, lines, strict=True)))
        self._handle.position = frames[self._tool, :, 3]
        self._changed = True

    def _units(self) -> np.ndarray:
        return np.array([float(np.asarray(u)) for u in self.mechanism.scales().platform])

    # The hand

    def _grip(self, event: TransformControlsEvent) -> None:
        """Remember where the hand is; the clock follows, or comes back when it is let go."""
        self._target = (np.array(self._handle.position), np.array(self._handle.wxyz))
        if event.phase == "end":
            self.ask(self._let_go)

    def _follow(self, position: np.ndarray, wxyz: np.ndarray) -> None:
        self.stop()
        rotation = vtf.SO3(wxyz).as_matrix()
        guess = jnp.asarray(self.x)
        wanted = pose_of(self.mechanism, jnp.asarray(position), jnp.asarray(rotation), guess)
        frames = self.go(np.asarray(wanted), held=True)
        if self.reason:
            self._show_reason(frames[self._tool, :, 3], position)
        else:
            self._hide_reason()

    def _show_reason(self, tool: np.ndarray, hand: np.ndarray) -> None:
        self._label.text = self.reason
        self._label.position = tool
        self._beyond.points = np.stack([tool, hand])[None].astype(np.float32)
        self._label.visible = self._beyond.visible = True

    def _hide_reason(self) -> None:
        self._label.visible = self._beyond.visible = False

    def _let_go(self) -> None:
        target, self._target = self._target, None
        if target is not None:
            self._follow(*target)
        self._hide_reason()
        self.reason = ""
        self.show(self.x)

    def stop(self) -> None:
        """End what plays."""
        self.act = None
        self.scene.shade(None)
        for tell in self.stopped:
            tell()

    def _place_camera(self) -> None:
        """Look at the robot from the front, a little from above."""
        frames = body_frames(self.mechanism, self.home[None])[0]
        low, high = extent(self.scene.solids, self.mechanism.bodies, frames)
        middle, far = (low + high) / 2, _FAR * float(np.linalg.norm(high - low)) / 2
        camera = self.server.initial_camera
        camera.look_at = tuple(middle)
        camera.position = tuple(middle + far * np.array([0.58, -0.76, 0.3]))


def free_axes(mechanism: AbstractMechanism, x: Pose) -> tuple[bool, bool, bool]:
    """Along which of its own axes the tool can be dragged at `x`, or turned across them."""
    coordinates, size = mechanism.platform_coordinates, float(np.asarray(mechanism.size))
    steps = _STEP * size / stacked(mechanism.scales().platform)
    tool = (BASE, *mechanism.bodies).index(mechanism.carrier)
    frames = body_frames(mechanism, np.concatenate([x[None], x + np.diag(steps)]))[:, tool]
    R, p = frames[0, :, :3], frames[:, :, 3]
    ways = np.abs((p[1:] - p[0]) @ R) / (_STEP * size)
    free = (ways > _MOVES).any(axis=0)
    for coordinate, turned in zip(coordinates, frames[1:, :, :3], strict=True):
        if coordinate.unit == "rad":  # about an axis: its arc is drawn between the other two
            about = np.abs(vtf.SO3.from_matrix(R.T @ turned).log())
            free |= about < about.max() / 2
    return bool(free[0]), bool(free[1]), bool(free[2])


def _radii(robot: Robot) -> dict[str, float]:
    """Half the thickness of links whose sections the file has [m], by their parts."""
    found = robot.sections or ()
    return {part: thickness(made) / 2 for part, made in found if isinstance(made, CrossSection)}
