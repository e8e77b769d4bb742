"""A robot that follows a motion under its cascade control: the closed loop, step by step.

The plant of `control.plant` is integrated by Runge-Kutta's fourth-order method (`integrate`). Its
step is chosen from the fastest pole of the linear loop, |s| dt <= 0.6; a step so large that the
method itself would diverge (|s| dt about 2.8 for a mode that oscillates) is refused. The error
that remains is measured: the same motion with half the step.

The run starts at rest, held where the command begins, with the integral that holds it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.control.cascade import NOTHING, Cascade, FeedForward, cascade
from triskele.control.commands import at_rest, references, resampled
from triskele.control.integrate import Progress, References, Timing, records, timing
from triskele.control.loop import Loop, gain_limit, growth, loop, velocity_loop_is_stable
from triskele.control.plant import Plant, linear_plant, plant
from triskele.description.schema import Payload, Robot
from triskele.errors import InputError
from triskele.kinematics.cycles import check_coordinates, joint_motion_along
from triskele.kinematics.motion import Motion
from triskele.numerics import AnyArray, filled_up, stacked


class Tracking(NamedTuple):
    """What a controlled robot did, in N samples."""

    t: Float[np.ndarray, " N"]  #: [s]
    x: Float[np.ndarray, "N n"]  #: platform coordinates [m, rad]
    xd: Float[np.ndarray, "N n"]
    command: Float[np.ndarray, "N n"]  #: platform coordinates asked for
    motor: Float[np.ndarray, "N n"]  #: motor angles th1 from home [rad]
    motor_speed: Float[np.ndarray, "N n"]  #: [rad/s]
    motor_command: Float[np.ndarray, "N n"]  #: i (q_c - q0) [rad], nothing compensated
    joint: Float[np.ndarray, "N n"]  #: joint coordinates [rad, m]
    joint_command: Float[np.ndarray, "N n"]
    current: Float[np.ndarray, "N n"]  #: [A]
    torque: Float[np.ndarray, "N n"]  #: of the motors, kT I [N m]
    step: float  #: of the integration [s]
    step_error: float | None  #: greatest change of x in units of its range with half the step
    ended: str | None  #: why it ended early, None if it did not

    @property
    def error(self) -> Float[np.ndarray, "N n"]:
        """Platform coordinates, command less what was reached [m, rad]."""
        return self.command - self.x

    @property
    def motor_error(self) -> Float[np.ndarray, "N n"]:
        """Motor angles, command less what was reached [rad]."""
        return self.motor_command - self.motor


def track(
    robot: Robot,
    motion: Motion,
    *,
    control: Cascade | None = None,
    feed: FeedForward = NOTHING,
    payload: Payload | str | None = None,
    friction: bool = True,
    step: float | None = None,
    rate: float = 1000.0,
    measure_error: bool = False,
    unstable: bool = False,
    progress: Progress | None = None,
) -> Tracking:
    """Let the robot of a file follow `motion` under its control.

    `step` [s] is that of the integration, chosen if not given; `measure_error` runs once more
    with half of it. Samples are kept at `rate` [Hz] or a little above. Gains with which the
    loop is unstable are refused unless `unstable`.
    """
    return track_plant(
        plant(robot, payload, friction=friction),
        cascade(robot) if control is None else control,
        motion,
        feed=feed,
        step=step,
        rate=rate,
        measure_error=measure_error,
        unstable=unstable,
        progress=progress,
    )


def track_plant(
    model: Plant,
    control: Cascade,
    motion: Motion,
    *,
    feed: FeedForward = NOTHING,
    step: float | None = None,
    rate: float = 1000.0,
    measure_error: bool = False,
    unstable: bool = False,
    progress: Progress | None = None,
) -> Tracking:
    """`track` with a plant and a control of your own."""
    check_coordinates(model.mechanism, motion)
    _check_feed(model, feed)
    about = loop(linear_plant(model, motion.x[0]), control, feed)
    if not unstable:
        check_stable(about)
    division = timing(about, _rubbing(model, motion, about), control, step, rate)
    table, instants = references(model, motion, feed, division.period)
    start = at_rest(model, control, table, motion.x[0])
    given = (model, control, table, start)
    found = _tracking(model, motion, instants, division, records(*given, division, progress))
    if not measure_error:
        return found
    halved = division._replace(substeps=2 * division.substeps)
    finer, _ = records(*given, halved, progress)
    fine = finer[: len(found.t), : model.n]
    if found.ended is not None:
        return found
    change = np.abs(fine - found.x).max(axis=0)
    return found._replace(step_error=float((change / _scale(model, found.command)).max()))


def _scale(model: Plant, command: np.ndarray) -> np.ndarray:
    """Range of each coordinate, or of the largest one where a coordinate is to stand still."""
    units = np.asarray(stacked(model.mechanism.scales().platform))
    reach = np.ptp(command, axis=0) * units
    return np.where(reach > 1e-9 * reach.max(), reach, max(reach.max(), 1e-9)) / units


def check_stable(about: Loop) -> None:
    """Refuse a loop that is unstable, and say which gain or period is to blame."""
    if growth(about) <= 1:
        return
    if not velocity_loop_is_stable(about):
        ticks, T = about.ticks, about.period
        sampled = f" sampled every {1e3 * T / ticks:g} ms" if ticks and T is not None else ""
        raise InputError(
            f"The velocity loop is unstable: velocity_gain {about.kP:g} A s/rad{sampled} is too "
            "much for this motor and load. Lower the gain, or sample faster."
        )
    raise InputError(
        f"The position loop is unstable: position_gain is {about.kV:g} 1/s, and at this pose the "
        f"loop is stable up to {gain_limit(about):.4g} 1/s."
    )


def _rubbing(model: Plant, motion: Motion, about: Loop) -> Loop:
    """`about` with dry friction at rest, which may be faster than everything else."""
    return about._replace(plant=linear_plant(model, motion.x[0], dry=True))


def _check_feed(model: Plant, feed: FeedForward) -> None:
    if feed.windup and not model.soft:
        raise InputError(
            "The windup of a transmission cannot be compensated: the robot's transmissions are "
            "stiff (no coupling_stiffness)."
        )


# Many at once


def responses(
    model: Plant,
    control: Cascade,
    motions: Sequence[Motion],
    *,
    feed: FeedForward = NOTHING,
    controls: Cascade | None = None,
    rate: float = 1000.0,
    unstable: bool = False,
    progress: Progress | None = None,
) -> tuple[Float[np.ndarray, " N"], Float[np.ndarray, "L N n"]]:
    """Times [s] and platform coordinates of robots side by side, one `motion` each.

    All motions last equally long and start at the same pose. `controls` has an axis of gains,
    one set for each motion, in the place of `control`, which then sets the step only.
    """
    about = loop(linear_plant(model, motions[0].x[0]), control, feed)
    if not unstable:
        check_stable(about)
    division = timing(about, _rubbing(model, motions[0], about), control, None, rate)
    tables = [references(model, motion, feed, division.period)[0] for motion in motions]
    table = References(*(jnp.stack(parts) for parts in zip(*tables, strict=True)))
    start = at_rest(model, control, tables[0], motions[0].x[0])
    many, n = len(motions), model.n
    gains = jax.tree.map(
        lambda gain: jnp.broadcast_to(gain, (many,)), control if controls is None else controls
    )
    states = jax.tree.map(lambda part: jnp.tile(part, (many, 1)), start)
    share = jnp.where(gains.integral_gain > 0, control.integral_gain / gains.integral_gain, 0.0)
    held = states.s[:, -n:] * share[:, None]  # the same current holds it
    states = states._replace(s=states.s.at[:, -n:].set(held))
    y, _ = records(model, gains, table, states, division, progress, many=True)
    count = (table.angle.shape[1] - 1) * division.samples + 1
    t = division.period / division.samples * np.arange(count)
    return t, y[:, :count, :n]


# Results


def _tracking(
    model: Plant,
    motion: Motion,
    instants: Motion,
    division: Timing,
    found: tuple[np.ndarray, np.ndarray],
) -> Tracking:
    """Samples up to the end of the motion, with all that follows from them."""
    n = model.n
    y, current = found
    count = (len(instants.t) - 1) * division.samples + 1
    t = division.period / division.samples * np.arange(count)
    y, current = y[:count], current[:count]
    ended, kept = None, count
    bad = ~np.isfinite(y).all(axis=1)
    if bad.any():
        kept = max(int(np.argmax(bad)), 1)
        ended = f"at t = {t[kept - 1]:.4g} s: the loop is unstable, and left all bounds"
    t, y, current = t[:kept], y[:kept], current[:kept]
    asked = resampled(motion, t)
    joints = joint_motion_along(model.mechanism, asked)
    i, zero = np.asarray(model.actuators.ratio), np.asarray(model.zero)
    th1, th1d, q = (
        np.asarray(part)[: len(t)] for part in _observed(model, jnp.asarray(filled_up(y)))
    )
    return Tracking(
        t=t,
        x=y[:, :n],
        xd=y[:, n : 2 * n],
        command=np.asarray(asked.x),
        motor=th1,
        motor_speed=th1d,
        motor_command=i * (np.asarray(joints.q) - zero),
        joint=q,
        joint_command=np.asarray(joints.q),
        current=current,
        torque=np.asarray(model.actuators.torque_constant) * current,
        step=division.step,
        step_error=None,
        ended=ended,
    )


@eqx.filter_jit
def _observed(model: Plant, y: Array) -> tuple[Array, Array, Array]:
    """Motor angles and speeds, and joints, sample by sample."""

    def at(y: Array) -> tuple[AnyArray, AnyArray, AnyArray]:
        q = stacked(model.mechanism.inverse(tuple(y[: model.n])).components)
        return (*model.motor_angles(y), q)

    return jax.lax.map(at, y)
