"""Sensors on trial: a motion of which all is known, what encoders make of it, and the errors left.

The truth comes from a simulation of the flexible robot (`flexible/response.py`), or from any other
program. Encoders round it, sensors see the rounded log, and errors are the largest over all samples
relative to the largest signal, of the limb that fares worst.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.description.schema import Encoders, Payload, Robot
from triskele.description.tables import Table
from triskele.errors import InputError
from triskele.flexible.assembly import Poses, link_displacements
from triskele.flexible.link import END, W1, W
from triskele.flexible.modes import modes
from triskele.flexible.response import body_poses_along, fitted_damping, vibrate
from triskele.flexible.robot import FlexibleRobot, flexible
from triskele.kinematics.cycles import joint_motion_along
from triskele.kinematics.log import derivatives
from triskele.kinematics.motion import Motion
from triskele.numerics import AnyArray, tabulate
from triskele.sensing.encoder import Bits, quantised
from triskele.sensing.observer import USUAL, Tuning
from triskele.sensing.rods import rod_state, soft_rods
from triskele.sensing.sense import Sensed, sense

BITS = (12, 14, 16, 17, 18, 19, 20, 21, 22, 23)
_ELEMENTS = 2  #: per link, in simulations
EDGE = 10  #: samples at either end, where derivatives are one-sided, are not judged
Progress = Callable[[float], None]
Series = Float[np.ndarray, "N _"]


class Truth(NamedTuple):
    """A motion of a flexible robot, with a column for each limb."""

    t: Float[np.ndarray, " N"]  #: [s], equal steps
    q: Series  #: motors [rad]
    qd: Series
    qdd: Series
    elbow: Series  #: what perfect encoders would read, `chord.Hinges` [rad]
    wrist: Series
    deflection: Series  #: of the wrist from the tangent at the elbow [m]
    tool: Series  #: position [m]

    def log(
        self,
        *,
        bits: Bits = None,
        motor_bits: Bits = None,
        every: int = 1,
        hinges: Sequence[str] = ("wrist",),
    ) -> Table:
        """What encoders of so many bits log, one sample in `every`.

        Perfect motor encoders (None) come with their rates; others leave them to be found.
        """
        columns = {"t": ("s", self.t[::every])}
        groups = {"q": ("rad", quantised(self.q, motor_bits))}
        if motor_bits is None:
            groups |= {"qd": ("rad/s", self.qd), "qdd": ("rad/s^2", self.qdd)}
        groups |= {name: ("rad", quantised(getattr(self, name), bits)) for name in hinges}
        for name, (unit, values) in groups.items():
            each = enumerate(values[::every].T, 1)
            columns |= {f"{name}{i}": (unit, column) for i, column in each}
        return Table(columns, "log")


class Errors(NamedTuple):
    """Of a sensor, the largest over a motion."""

    deflection: float  #: relative to the largest of the limb, worst limb
    speed: float
    acceleration: float
    tool: float  #: in space [m]


def errors_of(truth: Truth, sensed: Sensed, every: int = 1) -> Errors:
    """How far `sensed` is from the `truth`, of which it saw one sample in `every`."""
    rough = slice(EDGE, len(sensed.t) - EDGE)
    step = float(truth.t[1] - truth.t[0])
    true = (truth.deflection, *derivatives(truth.deflection, step, 5))
    found = (sensed.deflection, sensed.speed, sensed.acceleration)
    deflection, speed, acceleration = (
        _worst(a[::every][rough], b[rough]) for a, b in zip(true, found, strict=True)
    )
    tool = np.linalg.norm((truth.tool[::every] - sensed.tool)[rough], axis=1).max()
    return Errors(deflection, speed, acceleration, float(tool))


def _worst(true: Series, found: Series) -> float:
    gap = np.abs(true - found).max(axis=0)
    return float((gap / np.abs(true).max(axis=0)).max())


# Truth from our own simulation


def simulated(
    robot: Robot,
    motion: Motion,
    payload: Payload | str | None = None,
    *,
    progress: Progress | None = None,
) -> Truth:
    """The truth of a robot with rigid arms along `motion`, by `vibrate`."""
    rods = soft_rods(robot, payload)  # says if there are none
    model = flexible(robot, payload, elements=_ELEMENTS)
    if rods.per_limb == 1 and not model.level:
        raise InputError(
            f"{robot.name} has single rods, which let its platform turn, and sensors take it to be "
            'level. If each rod stands for a pair, say single_rod = "pair" under [geometry]; if '
            "there are pairs, rod_spacing."
        )
    w = np.asarray(modes(model, motion.x[0], count=6).frequencies)
    damping = fitted_damping(w, np.full(6, rods.damping))
    found = vibrate(model, motion, damping=damping, stiffened=True, progress=progress)
    poses = body_poses_along(model.mechanism, motion)
    joints = joint_motion_along(model.mechanism, motion)
    q, qd, qdd = (np.asarray(part) for part in (joints.q, joints.qd, joints.qdd))
    state = tabulate(eqx.Partial(rod_state, rods))(q, qd, qdd)
    angle, cosine = (np.stack(part, axis=1) for part in (state.angle, state.cosine))
    jaxed = jax.tree.map(jnp.asarray, poses)
    delta, at_elbow, at_wrist = (np.asarray(p) for p in _bent(model, jaxed, jnp.asarray(found.y)))
    return Truth(
        t=found.t,
        q=q,
        qd=qd,
        qdd=qdd,
        elbow=angle - at_elbow / cosine - q[:, :3],
        wrist=angle - at_wrist / cosine,
        deflection=delta,
        tool=np.asarray(motion.x)[:, :3] + found.position,
    )


@eqx.filter_jit
def _bent(
    model: FlexibleRobot, poses: Poses, y: Float[AnyArray, "N n"]
) -> tuple[Float[AnyArray, "N 3"], Float[AnyArray, "N 3"], Float[AnyArray, "N 3"]]:
    """Deflection, and slopes at elbow and wrist seen from a rigid rod; of a pair, the mean."""

    def at(sample: tuple[Poses, Array]) -> tuple[Array, Array, Array]:
        _, rods = link_displacements(model, *sample)
        d = rods.mean(axis=1)
        at_elbow, at_wrist = d[:, W1], d[:, END + W1]
        length = model.mechanism.rod_length
        return d[:, END + W] - d[:, W] - length * at_elbow, at_elbow, at_wrist

    return jax.lax.map(at, (poses, y))


# Which encoder do I need?


class EncoderTrial(NamedTuple):
    """One encoder, one sensor."""

    sensor: str
    bits: int | None  #: None: perfect
    rate: float  #: [Hz]
    errors: Errors


def encoder_trials(
    robot: Robot,
    truth: Truth,
    payload: Payload | str | None = None,
    *,
    sensors: Sequence[str] = ("chord", "observer"),
    bits: Sequence[int | None] = BITS,
    every: Sequence[int] = (1,),
    tuning: Tuning = USUAL,
    progress: Progress | None = None,
) -> list[EncoderTrial]:
    """Errors of `sensors` with wrist encoders of so many `bits`, one sample in `every`."""
    if not bits or not every or not sensors:
        raise InputError("A trial needs a sensor, a number of bits and a rate at least.")
    least = len(truth.t[:: max(every)])
    if least < 4 * EDGE:
        raise InputError(
            f"The slowest rate leaves {least} samples of the motion; {4 * EDGE} are needed. Take a "
            "longer motion, or a higher rate."
        )
    found, count = [], len(sensors) * len(bits) * len(every)
    for sensor in sensors:
        for step in every:
            for fine in bits:
                seen = _with_bits(robot, fine)
                motors = None if robot.encoders is None else robot.encoders.motor_bits
                log = truth.log(bits=fine, motor_bits=motors, every=step)
                sensed = sense(seen, log, sensor, payload, tuning=tuning, deviations=False)
                rate = 1 / (step * float(truth.t[1] - truth.t[0]))
                found.append(EncoderTrial(sensor, fine, rate, errors_of(truth, sensed, step)))
                if progress is not None:
                    progress(len(found) / count)
    return found


def _with_bits(robot: Robot, bits: int | None) -> Robot:
    """The robot file with other passive encoders."""
    given = robot.encoders or Encoders()
    return robot.model_copy(update={"encoders": given.model_copy(update={"passive_bits": bits})})
