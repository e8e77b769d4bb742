"""The nearest pose that a robot may take: what a hand feels that drags its tool.

From an allowed pose the tool goes straight to a target while the slack h of `reach` is positive,
and stops at the border. What is left of the way, d, slides along it: in lengths
(`Scales.platform`), with g = grad h,

    d - g min(g.d, 0) / g.g                                                             (1)

is straight again, leaves the border by its curvature, and is brought back along g,

    x <- x - g min(h(x), 0) / g.g                                                       (2)

Slides are short; in a corner one coordinate alone may go on. They end where nothing is gained.
All poses on the way are allowed, so that no singularity is jumped. Slacks are asked for in batches,
and g by differences: what is compiled is the slack alone, as for a workspace.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from triskele.description.schema import Limits
from triskele.kinematics.coordinates import tool_frame
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.reach import slack
from triskele.numerics import AnyArray, batch, stacked

_WAYS = 32  #: poses in a batch: on a straight way, and again in the step that holds the border
_SLIDES = 12
_LONGEST = 0.1  #: slide, in sizes of the robot
_GAIN = 1e-6  #: of a slide, in the same; less ends them
_RETURNS = 3  #: corrections by (2) after each
_INSIDE = 1e-4  #: slack that stays free
_DIFFERENCE = 1e-6  #: for g, in sizes of the robot
_FITS = 6  #: steps of Gauss and Newton

Pose = Float[np.ndarray, " m"]


class Border:
    """What stops a tool: the limits of a robot, asked for in lengths."""

    def __init__(self, mechanism: AbstractMechanism, limits: Limits) -> None:
        """Nothing is compiled before the first question."""
        self._unit = np.asarray(stacked(mechanism.scales().platform))  # m per unit of coordinates
        self._size = float(np.asarray(mechanism.size))
        self._slack = batch(eqx.Partial(slack, mechanism, limits))

    def nearest(self, start: Pose, target: Pose) -> Pose:
        """The allowed pose next to `target` to which the tool comes from `start`."""
        goal = target * self._unit
        y = self._straight(start * self._unit, goal)
        for _ in range(_SLIDES):
            left = goal - y
            slid = self._straight(y, self._returned(y + self._tangent(y, left)))
            axes = np.diag(left)[np.abs(left) > 0]  # out of a corner, along one coordinate
            ahead = min(
                (slid, *(self._straight(y, y + axis) for axis in axes)),
                key=lambda end: np.linalg.norm(goal - end),
            )
            gained = np.linalg.norm(left) - np.linalg.norm(goal - ahead)
            if gained < _GAIN * self._size:
                break
            y = ahead
        return y / self._unit

    def room(self, x: Pose) -> float:
        """The slack of the pose `x`, negative outside."""
        return float(self._rooms(np.asarray(x)[None] * self._unit)[0]) + _INSIDE

    def _rooms(self, y: Float[np.ndarray, "N m"]) -> Float[np.ndarray, " N"]:
        """Slack beyond what stays free, at N <= _WAYS poses; NaN is outside."""
        filled = np.concatenate([y, np.repeat(y[-1:], _WAYS - len(y), axis=0)])
        rooms = np.asarray(self._slack(filled / self._unit))[: len(y)] - _INSIDE
        return np.where(np.isfinite(rooms), rooms, -1.0)

    def _straight(self, start: Pose, end: Pose) -> Pose:
        """The last pose with room on the way from `start` to `end`."""
        low, high = 0.0, 1.0
        for _ in range(2):
            parts = low + (high - low) * np.arange(1, _WAYS + 1) / _WAYS
            blocked = self._rooms(start + parts[:, None] * (end - start)) < 0
            if not blocked.any():
                return start + high * (end - start)
            high = parts[int(blocked.argmax())]
            low = high - (parts[1] - parts[0])
        return start + max(low, 0.0) * (end - start)

    def _slope(self, y: Pose) -> tuple[float, Pose]:
        """h and g at `y`."""
        step = _DIFFERENCE * self._size
        here, *ahead = self._rooms(np.concatenate([y[None], y + step * np.eye(len(y))]))
        return float(here), (np.array(ahead) - here) / step

    def _tangent(self, y: Pose, left: Pose) -> Pose:
        """Equation (1), not longer than a slide."""
        _, g = self._slope(y)
        along = left - g * min(g @ left, 0.0) / max(g @ g, 1e-12)
        return along * min(1.0, _LONGEST * self._size / max(np.linalg.norm(along), 1e-12))

    def _returned(self, y: Pose) -> Pose:
        """Equation (2), a few times."""
        for _ in range(_RETURNS):
            h, g = self._slope(y)
            if h >= 0:
                break
            y = y - 1.05 * h * g / max(g @ g, 1e-12)
        return y


@eqx.filter_jit
def pose_of(
    mechanism: AbstractMechanism,
    position: Float[AnyArray, "3"],
    rotation: Float[AnyArray, "3 3"],
    guess: Float[AnyArray, " m"],
) -> Float[AnyArray, " m"]:
    """Platform coordinates whose tool frame is nearest to the one given, from `guess` on.

    A platform that cannot go there leaves the rest: least squares of position, and of rotation
    times a fifth of the size of the robot, of which one without angles to choose makes nothing.
    """
    unit = stacked(mechanism.scales().platform)
    turning = any(c.unit == "rad" for c in mechanism.platform_coordinates)
    lever = mechanism.size / 5 if turning else 0.0

    def gap(y: Float[AnyArray, " m"]) -> Float[AnyArray, "12"]:
        frame = tool_frame(mechanism, tuple(y / unit))
        turned = jnp.stack([stacked(axis) for axis in (frame.x, frame.y, frame.z)], axis=1)
        return jnp.concatenate([stacked(frame.p) - position, lever * (turned - rotation).ravel()])

    def step(_: Int[Array, ""], y: Float[AnyArray, " m"]) -> Float[AnyArray, " m"]:
        J = jax.jacfwd(gap)(y)
        return y - jnp.linalg.solve(J.T @ J + 1e-9 * jnp.eye(len(y)), J.T @ gap(y))

    return jax.lax.fori_loop(0, _FITS, step, guess * unit) / unit
