"""A motion ready to be played: frames of all bodies, and what the motion takes, at pictures.

Everything that a picture needs is computed before, so that playing only looks it up.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from triskele.description.schema import Payload, Robot
from triskele.dynamics.torques import MotionDemands, RodSeries, torques
from triskele.errors import TriskeleError
from triskele.flexible.curves import curves, link_names
from triskele.flexible.response import Response, body_poses_along, vibrate
from triskele.flexible.robot import flexible
from triskele.kinematics.limits import Limit
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.motion import Motion
from triskele.kinematics.solids import body_frames
from triskele.planning.replay import Replay

Progress = Callable[[float], None]
_PICTURES = 200  #: per second, and at most
_MOST = 2000  #: of them


class Bending(NamedTuple):
    """Axes of all links at P pictures, and how far they are bent."""

    names: tuple[str, ...]
    straight: Float[np.ndarray, "P links points 3"]  #: [m]
    moved: Float[np.ndarray, "P links points 3"]  #: displacement [m]
    platform: Float[np.ndarray, "P 6"]  #: displacement [m] and rotation [rad] of the platform


class Played(NamedTuple):
    """A motion in P pictures, and its demands if the file allows them."""

    title: str
    motion: Motion
    picture: Int[np.ndarray, " P"]  #: sample of each picture
    x: Float[np.ndarray, "P m"]  #: platform coordinates [m, rad]
    frames: Float[np.ndarray, "P bodies 3 4"]
    demands: MotionDemands | None
    why_not: str  #: a sentence if there are no demands
    bending: Bending | None = None

    @property
    def t(self) -> Float[np.ndarray, " P"]:
        """Time of each picture [s], from 0."""
        t = np.asarray(self.motion.t)
        return t[self.picture] - t[0]

    @property
    def duration(self) -> float:
        """Of the motion [s]."""
        return float(self.t[-1])

    @property
    def rods(self) -> RodSeries | None:
        """Loads of rods and struts; None without demands or where joints are springs."""
        loads = None if self.demands is None else self.demands.loads
        return None if loads is None else loads.rods

    def at(self, time: float) -> int:
        """The picture at `time` [s]."""
        return int(np.clip(np.searchsorted(self.t, time), 0, len(self.t) - 1))

    def tensions(self, k: int) -> dict[str, float] | None:
        """What each rod carries in picture `k` [N], positive if it pulls; the end with more."""
        rods = self.rods
        if rods is None:
            return None
        ends = np.stack([rods.lower[self.picture[k]], rods.upper[self.picture[k]]])
        worse = ends[np.abs(ends).argmax(axis=0), np.arange(ends.shape[1])]
        return dict(zip(rods.names, worse.tolist(), strict=True))

    def strongest(self, robot: Robot) -> float:
        """What colours are relative to: the limit of the file, or the most along the motion [N]."""
        limits = robot.limits
        if limits.rod_force is not None:
            return limits.rod_force * (1 - limits.margin)
        return 1.0 if self.rods is None else max(float(self.rods.peak.max()), 1e-9)

    def binding(self, k: int) -> tuple[Limit, float] | None:
        """The limit that is used most in picture `k`, and how much; averages do not count."""
        if self.demands is None:
            return None
        own = [item for item in self.demands.series if not item.average]
        if not own:
            return None
        used = [float(item.use[self.picture[k]]) for item in own]
        most = int(np.argmax(used))
        return own[most].limit, used[most]


def play(
    robot: Robot,
    mechanism: AbstractMechanism,
    shown: Motion | Replay,
    payload: Payload | str | None = None,
    title: str = "motion",
) -> Played:
    """Pictures of a motion, and what it takes as far as the file says; of a plan, its replay."""
    motion = shown.motion if isinstance(shown, Replay) else shown
    picture = _pictures(np.asarray(motion.t))
    x = np.asarray(motion.x)[picture]
    demands, why_not = None, ""
    try:
        known = isinstance(shown, Replay)
        demands = shown.tolerated if known else torques(robot, motion, payload)
    except TriskeleError as error:
        why_not = str(error)
    return Played(title, motion, picture, x, body_frames(mechanism, x), demands, why_not)


def bent(robot: Robot, shown: Played, payload: Payload | str | None, progress: Progress) -> Played:
    """`shown` with the bending of its links: the robot hangs at rest, and then moves."""
    model = flexible(robot, payload)
    response = vibrate(model, shown.motion, method="generalised-alpha", progress=progress)
    return shown._replace(bending=bending_along(response, shown.picture))


def bending_along(response: Response, picture: Int[np.ndarray, " P"]) -> Bending:
    """Lines of the links at pictures of a response."""
    robot = response.robot
    poses = body_poses_along(robot.mechanism, response.motion)
    picked = jax.tree.map(lambda leaf: jnp.asarray(leaf[picture]), poses)
    y = jnp.asarray(response.y[picture])
    whole = np.asarray(curves(robot, picked, y, jnp.asarray(1.0)))
    straight = np.asarray(curves(robot, picked, y, jnp.asarray(0.0)))
    return Bending(link_names(robot), straight, whole - straight, response.y[picture, :6])


def _pictures(t: Float[np.ndarray, " N"]) -> Int[np.ndarray, " P"]:
    """Samples to draw: all, or so many that they are not closer than needed."""
    count = min(len(t), max(2, round((t[-1] - t[0]) * _PICTURES) + 1), _MOST)
    wanted = np.linspace(t[0], t[-1], count)
    return np.unique(np.rint(np.interp(wanted, t, np.arange(len(t)))).astype(int))
