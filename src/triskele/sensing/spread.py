"""How far what a sensor says may be off: every cause moved by its deviation, everything read again.

A cause c of standard deviation s_c changes a value y by about y(c + s_c) - y(c), so that

    s_y^2 = sum_c (y(c + s_c) - y(c))^2                                                (1)

for independent causes, rates and tool included, whatever the sensor is. Causes are zeros, timing,
lengths, Young's modulus, density and the mass of the platform.

**Counts** of an encoder are no white noise: a joint at rest has one error, a slow one errors in
steps. The smoothed reading, shifted by 8 even parts of a count, is rounded again; the mean square
of what that changes counts. It is averaged over a window of rates.

**Local polynomials** miss what is quicker than their window. The error of degree 4 grows with the
fourth power of the window, so that a window wider by r gives it by Richardson's extrapolation,

    y(w) - y = (y(r w) - y(w)) / (r^4 - 1)                                             (2)

**The method** has errors of its own. The chord of a rod is taken from a rigid robot and not from
where the tool is: the change is computed. Tension N and the inertia of a rod that bends in an S
change the term with a gradient by N / (4 P) and 2 %. A modal sensor has one shape: its difference
to the chord sensor counts. The way of the tool is right to 3 %.
"""

from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float
from scipy.ndimage import uniform_filter1d
from scipy.signal import savgol_filter

from triskele.kinematics.log import derivatives, odd_window
from triskele.numerics import Scalars, tabulate
from triskele.sensing.chord import Weights, chord_weights
from triskele.sensing.deviations import Deviations
from triskele.sensing.reading import Inputs, Read, Reading, Series, columns, states
from triskele.sensing.rods import RodState, SoftRods, angles_at

BEAMS = 0.001  #: of the deflection: slender beams against geometrically exact ones
FILTER = 0.01  #: the same of the observer, whose rods have one mode
GRADIENT = 0.02  #: of the term with a gradient: rods that bend in an S follow their load at once
SHAPE = 0.03  #: of the way of the tool: a sine is shorter by 3 % than a rod under its weight
_SHIFTS = 8  #: parts of a count by which a reading is shifted
_SMOOTH = 0.02  #: window of the smoothed reading [s]
_NO_STEP = 1e-11  #: of an angle, which is rounding of doubles [rad]
_FEWEST = 10  #: steps from which a count can be seen
_WHOLE = 0.01  #: by which a whole number of counts may be off
_WIDER = 1.5  #: r of (2)
_DEGREE = 4


class Contribution(NamedTuple):
    """One kind of cause."""

    name: str
    deflection: float  #: its part of the variance of all deflections
    tool: float  #: the same of the tool


class Spread(NamedTuple):
    """Standard deviations of a `Read`, and where they come from, largest first."""

    deflection: Series  #: [m]
    speed: Series  #: [m/s]
    acceleration: Series  #: [m/s^2]
    tool: Series  #: [m]
    contributions: tuple[Contribution, ...]


class Cause(NamedTuple):
    """What moves a reading, and the name under which it is counted."""

    name: str
    inputs: Inputs


def spread(
    reading: Reading, inputs: Inputs, found: Read, known: Deviations, causes: list[Cause]
) -> Spread:
    """Standard deviations of what a `reading` `found`, from `causes` and all that is random."""
    variances: dict[str, list[Series]] = {}

    def add(name: str, squares: list[Series]) -> None:
        old = variances.get(name)
        variances[name] = (
            squares if old is None else [a + b for a, b in zip(old, squares, strict=True)]
        )

    for cause in causes:
        add(cause.name, _squares(_change(found, reading.read(cause.inputs))))
    for count in counts(inputs, known):
        add(count.name, _rounded(reading, inputs, found, count))
    for name, changes in _of_method(reading, inputs, found):
        add(name, _squares(changes))
    total = [np.sum(parts, axis=0) for parts in zip(*variances.values(), strict=True)]
    shares = [
        Contribution(name, _share(squares[0], total[0]), _share(squares[3], total[3]))
        for name, squares in variances.items()
    ]
    shares.sort(key=lambda item: -max(item.deflection, item.tool))
    delta, speed, bend, tool = (np.sqrt(part) for part in total)
    return Spread(delta, speed, bend, tool, tuple(shares))


def _change(before: Read, after: Read) -> list[Series]:
    return [b - a for a, b in zip(before, after, strict=True)]


def _squares(changes: list[Series]) -> list[Series]:
    return [np.square(part) for part in changes]


def _share(part: Series, whole: Series) -> float:
    size = float(whole.mean())
    return float(part.mean()) / size if size > 0 else 0.0


# Systematic causes


def systematic(
    inputs: Inputs, known: Deviations, late: dict[str, Float[np.ndarray, " 3"]] | None = None
) -> list[Cause]:
    """Zeros, timing, lengths and parameters, each moved by its deviation.

    Delays that were found in the log, `late` [s], count where they are larger.
    """
    return [
        *_zeros(inputs, known),
        *_late(inputs, known.timing.value, late or {}),
        *_of_lengths(inputs, known.length.value),
        Cause("Young's modulus", with_rods(inputs, modulus=known.modulus.value)),
        Cause("density", with_rods(inputs, density=known.density.value)),
        Cause("mass of the platform", with_rods(inputs, platform=known.platform.value)),
    ]


def _zeros(inputs: Inputs, known: Deviations) -> Iterator[Cause]:
    if known.motor_zero.value:
        for k in range(3):
            yield Cause("zeros of the motors", with_zero(inputs, "q", k, known.motor_zero.value))
    if known.passive_zero.value:
        for name in inputs.hinges:
            for k in range(3):
                moved = with_zero(inputs, name, k, known.passive_zero.value)
                yield Cause("zeros of passive encoders", moved)


def _late(
    inputs: Inputs, timing: float, late: dict[str, Float[np.ndarray, " 3"]]
) -> Iterator[Cause]:
    for name in ("q", *inputs.hinges):
        least = 0.0 if name == "q" else timing
        for k, size in enumerate(np.maximum(np.abs(late.get(name, np.zeros(3))), least)):
            if size:
                yield Cause("timing", with_delay(inputs, name, k, float(size)))


def _of_lengths(inputs: Inputs, length: float) -> Iterator[Cause]:
    if not length:
        return
    for field in ("arm_length", "rod_length", "base_radius"):
        for k in range(3):
            step = np.zeros(3)
            step[k] = length
            rods = eqx.tree_at(
                lambda rods, field=field: getattr(rods.mechanism, field),
                inputs.rods,
                replace_fn=lambda lengths, step=step: lengths + step,
            )
            yield Cause("lengths", inputs._replace(rods=rods))


def with_zero(inputs: Inputs, name: str, k: int, zero: float) -> Inputs:
    """With one encoder, "q", "wrist" or "elbow", that reads more by `zero` [rad]."""
    if name == "q":
        q = inputs.log.q.copy()
        q[:, k] += zero
        return inputs._replace(log=inputs.log._replace(q=q))
    return _with_hinge(inputs, name, k, inputs.hinges[name][:, k] + zero)


def with_delay(inputs: Inputs, name: str, k: int, delay: float) -> Inputs:
    """With one encoder that is read `delay` [s] later than it is."""
    if name == "q":
        q = inputs.log.q.copy()
        q[:, k] += delay * inputs.log.qd[:, k]
        return inputs._replace(log=inputs.log._replace(q=q))
    column = inputs.hinges[name][:, k : k + 1]
    rate = derivatives(column, inputs.log.step)[0]
    return _with_hinge(inputs, name, k, (column + delay * rate)[:, 0])


def _with_hinge(inputs: Inputs, name: str, k: int, column: Float[np.ndarray, " N"]) -> Inputs:
    moved = inputs.hinges[name].copy()
    moved[:, k] = column
    return inputs._replace(hinges=inputs.hinges | {name: moved})


def with_rods(
    inputs: Inputs, *, modulus: float = 0.0, density: float = 0.0, platform: float = 0.0
) -> Inputs:
    """With other rods: relative changes of modulus and density, and of the platform in kg."""
    rods = inputs.rods
    changed: SoftRods = eqx.tree_at(
        lambda rods: (rods.bending, rods.torsion, rods.axial, rods.mass, rods.platform),
        rods,
        (
            *(part * (1 + modulus) for part in (rods.bending, rods.torsion, rods.axial)),
            rods.mass * (1 + density),
            rods.platform + platform,
        ),
    )
    return inputs._replace(rods=changed)


# Counts of encoders


class Count(NamedTuple):
    """One encoder, and the errors of its rounding."""

    channel: str  #: "q", "wrist" or "elbow"
    k: int
    size: float  #: of a count [rad]
    smooth: Float[np.ndarray, " N"]  #: the reading, smoothed [rad]

    @property
    def name(self) -> str:
        """Under which it is counted."""
        return f"counts of {'the motors' if self.channel == 'q' else 'passive encoders'}"

    def added_to(self, inputs: Inputs, shift: float) -> Inputs:
        """With its errors once more, its counts beginning elsewhere by the part `shift` of one."""
        counted = self.smooth / self.size + shift
        error = (np.round(counted) - counted) * self.size
        if self.channel == "q":
            q = inputs.log.q.copy()
            q[:, self.k] += error
            return inputs.with_angles(q)
        return _with_hinge(
            inputs, self.channel, self.k, inputs.hinges[self.channel][:, self.k] + error
        )


def counts(inputs: Inputs, known: Deviations) -> Iterator[Count]:
    """All encoders that count, as the file says or as the log shows, whichever is coarser."""
    n, step = len(inputs.log.t), inputs.log.step
    window = min(odd_window(_SMOOTH / step), (n - 1) // 2 * 2 + 1)
    for channel in ("q", *inputs.hinges):
        values = inputs.log.q if channel == "q" else inputs.hinges[channel]
        least = known.motor_count if channel == "q" else known.passive_count
        for k, column in enumerate(values.T):
            size = max(least, seen_count(column))
            if size:
                smooth = np.asarray(savgol_filter(column, window, min(_DEGREE, window - 1)))
                yield Count(channel, k, size, smooth)


def seen_count(values: Float[np.ndarray, " N"]) -> float:
    """The count of which all steps of a channel are multiples; 0 if there is none to be seen.

    >>> round(seen_count(np.round(np.linspace(0, 1, 100) ** 2, 3)), 9)
    0.001
    """
    steps = np.abs(np.diff(values))
    steps = steps[steps > _NO_STEP]
    if len(steps) < _FEWEST:
        return 0.0
    ratios = steps / steps.min()
    return float(steps.min()) if np.abs(ratios - np.round(ratios)).max() < _WHOLE else 0.0


def _rounded(reading: Reading, inputs: Inputs, found: Read, count: Count) -> list[Series]:
    """Mean squares over shifts."""
    total = [np.zeros_like(part) for part in found]
    for k in range(_SHIFTS):
        moved = count.added_to(inputs, (k + 0.5) / _SHIFTS - 0.5)
        squares = _squares(_change(found, reading.read(moved)))
        total = [a + b / _SHIFTS for a, b in zip(total, squares, strict=True)]
    return [
        uniform_filter1d(part, 2 * reading.window + 1, axis=0, mode="nearest") for part in total
    ]


# The method


def _of_method(reading: Reading, inputs: Inputs, found: Read) -> Iterator[tuple[str, list[Series]]]:
    state = states(inputs)
    still = np.zeros_like(found.tool)
    own = FILTER if reading.sensor == "observer" else BEAMS
    moved = np.linalg.norm(found.tool - columns(state.x[:3]), axis=1)
    tool = np.repeat(SHAPE * moved[:, None], 3, axis=1)
    yield "method", [own * found.deflection, own * found.speed, own * found.acceleration, tool]
    if reading.sensor == "observer":
        yield "filter", [*reading.filtered(inputs, state).deviations, still]
    if reading.sensor == "modal":
        other = reading._replace(sensor="chord", modal=None).read(inputs)
        yield "method", _change(found, other)
    if inputs.hinges:
        yield "method", _with_rates(reading, inputs, _of_chord(inputs, found))
        yield "method", _with_rates(reading, inputs, _of_gradient(inputs, state))
    yield "rates by local polynomials", _of_windows(reading, inputs, found)


def _with_rates(reading: Reading, inputs: Inputs, change: Series) -> list[Series]:
    """Of a change of deflections, and none of the tool."""
    rates = derivatives(change, inputs.log.step, reading.window)
    return [change, *rates, np.zeros_like(change)]


def _of_gradient(inputs: Inputs, state: RodState) -> Series:
    """What a rod under tension, or one that swings in an S, makes of the term with a gradient."""
    rods = inputs.rods
    euler = np.pi**2 * float(rods.bending) / np.asarray(rods.mechanism.rod_length) ** 2
    stiffer = columns(state.tension) / (4 * euler)  # its load has two half waves
    weight = np.asarray(_weights(inputs).gradient)
    return weight * columns(state.gradient) * (GRADIENT + np.abs(stiffer))


def _weights(inputs: Inputs) -> Weights:
    kinds = inputs.hinges
    return chord_weights(inputs.rods, elbow="elbow" in kinds, wrist="wrist" in kinds)


def _of_chord(inputs: Inputs, found: Read) -> Series:
    """What it changes to take the chord from where the tool is, with rods that are bent."""
    law = eqx.Partial(_chord_turned, inputs.rods)
    turned = np.stack(tabulate(law)(inputs.log.q, found.tool), axis=1)
    weights = _weights(inputs)
    return turned * (np.asarray(weights.elbow) + np.asarray(weights.wrist))


def _chord_turned(rods: SoftRods, q: Scalars, tool: Scalars) -> Scalars:
    """By how much the slopes of hinges change [rad]."""
    delta = rods.mechanism
    rigid, cosine = angles_at(delta, q, delta.forward(q).components)
    bent, _ = angles_at(delta, q, tool)
    return tuple((b - a) * c for a, b, c in zip(rigid, bent, cosine, strict=True))


def _of_windows(reading: Reading, inputs: Inputs, found: Read) -> list[Series]:
    """Equation (2), for the rates of deflections and for those of the motors."""
    step, none = inputs.log.step, np.zeros_like(found.deflection)
    speed, bend = none, none
    if reading.sensor != "observer":
        wide = odd_window(_WIDER * reading.window + 1)
        ratio = (wide / reading.window) ** _DEGREE - 1
        wider = derivatives(found.deflection, step, wide)
        speed, bend = ((a - b) / ratio for a, b in zip(wider, found[1:3], strict=True))
    table = inputs.log.table
    changes = [none, speed, bend, none]
    if "qdd1" not in table and "qd1" not in table:
        narrow = inputs.window or odd_window(_SMOOTH / step)
        wide = odd_window(_WIDER * narrow)
        ratio = (wide / narrow) ** _DEGREE - 1
        wider = derivatives(inputs.log.q, step, wide)
        log = inputs.log
        qd, qdd = (a + (b - a) / ratio for a, b in zip((log.qd, log.qdd), wider, strict=True))
        moved = inputs._replace(log=log._replace(qd=qd, qdd=qdd))
        other = _change(found, reading.read(moved))
        changes = [np.hypot(a, b) for a, b in zip(changes, other, strict=True)]
    width = 2 * reading.window + 1
    return [np.sqrt(uniform_filter1d(part**2, width, axis=0, mode="nearest")) for part in changes]
