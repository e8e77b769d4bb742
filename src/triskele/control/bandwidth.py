"""Bandwidth of a closed loop: linear, swept and stepped, by both definitions of -3 dB.

The response H of a platform coordinate to its command, as a complex number per frequency, comes
from three sources that share little:

    linear      the exact response of the linear, sampled loop (`control.loop`)
    swept       a sine that sweeps through the band on the nonlinear model, the whole record, with
                the rest that follows, Fourier-transformed: H = X / X_c
    stepped     one sine per frequency on the nonlinear model, in its steady state

Windows of a sweep (Welch) would be biased by its own speed; the whole record is not. Stepped
frequencies are multiples of one over the window, and the window whole position periods, so that
the images of the staircase are orthogonal to the fundamental.

    relative    |H(f)| = |H(f_ref)| / sqrt 2      at f_ref = 0 unless said otherwise
    absolute    |H(f)| = 1 / sqrt 2               of the command, whatever the gain at rest

A soft transmission gives way, |H(0)| < 1, and the two differ: say which one is meant.

Links that bend are rigid here; `links_left_out` says where they begin to swing.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float
from numpy.typing import ArrayLike

from triskele.control.cascade import NOTHING, Cascade, FeedForward, cascade
from triskele.control.commands import resampled
from triskele.control.integrate import Progress
from triskele.control.loop import Loop, Margins, growth, loop, margins, response
from triskele.control.plant import Plant, linear_plant, plant
from triskele.control.track import check_stable, responses
from triskele.description.schema import Payload, Robot
from triskele.errors import InputError
from triskele.flexible.modes import modes
from triskele.flexible.robot import bends, flexible
from triskele.kinematics.motion import Motion, sine, sweep
from triskele.numerics import stacked

Method = Literal["linear", "swept", "stepped"]
METHODS: tuple[Method, ...] = ("linear", "swept", "stepped")
_ROOT = 2**-0.5
_FORGOTTEN = 1e-5  #: what is left of the start when a steady state is taken
_QUIET = 1e-12  #: motion from sample to sample, in sizes of the robot, that is rounding
_LINK_MODES = 18  #: among which one that moves the platform is looked for
_AMPLITUDE = 1e-3  #: of the platform's motion, in sizes of the robot


class Response(NamedTuple):
    """Response of each platform coordinate to its own command."""

    frequencies: Float[np.ndarray, " f"]  #: [Hz]
    values: Complex[np.ndarray, "f n"]  #: x_k per command of x_k
    coordinates: tuple[str, ...]
    method: Method

    def at(self, frequency: float) -> Complex[np.ndarray, " n"]:
        """Interpolated in magnitude and phase [Hz]."""
        f, H = self.frequencies, self.values
        size = [np.interp(frequency, f, np.abs(column)) for column in H.T]
        angle = [np.interp(frequency, f, np.unwrap(np.angle(column))) for column in H.T]
        return np.array(size) * np.exp(1j * np.array(angle))


class Bandwidth(NamedTuple):
    """-3 dB of one platform coordinate."""

    coordinate: str
    gain: float  #: |H| at the reference frequency
    relative: float | None  #: [Hz], against that; None: beyond the band
    absolute: float | None  #: [Hz], against the command; None also if it never comes that far
    peak: float  #: greatest |H| over that gain
    peak_frequency: float  #: [Hz]


class Servo(NamedTuple):
    """What `bandwidth` finds."""

    response: Response
    reference: float  #: frequency of the reference gain [Hz]
    bandwidths: tuple[Bandwidth, ...]
    margins: Margins
    growth: float  #: of the slowest mode in a period; below 1
    loop: Loop


class LinksLeftOut(NamedTuple):
    """Where links that bend begin to swing, arms held: no loop here has them."""

    links: float  #: lowest of all modes [Hz]
    platform: float | None  #: lowest that moves the platform as well [Hz]; None: none of the first


def links_left_out(
    robot: Robot, x: ArrayLike | None = None, payload: Payload | str | None = None
) -> LinksLeftOut | None:
    """First frequencies of links that bend at the pose `x`, or home; None if the file has none.

    Gears are rigid in them, since loops have their compliance.
    """
    if not bends(robot):
        return None
    model = flexible(robot, payload)
    model = eqx.tree_at(lambda r: r.gears, model, None, is_leaf=lambda leaf: leaf is None)
    pose = stacked(model.mechanism.home()) if x is None else x
    found = modes(model, tuple(np.asarray(pose, float)), count=min(_LINK_MODES, model.unknowns))
    hertz = np.asarray(found.frequencies) / (2 * np.pi)
    moving = [float(f) for f, way in zip(hertz, found.directions, strict=True) if way != "links"]
    return LinksLeftOut(float(hertz[0]), moving[0] if moving else None)


def bandwidth(
    robot: Robot,
    x: ArrayLike | None = None,
    *,
    control: Cascade | None = None,
    feed: FeedForward = NOTHING,
    payload: Payload | str | None = None,
    method: Method = "linear",
    top: float | None = None,
    reference: float | None = None,
    amplitude: float | None = None,
    progress: Progress | None = None,
) -> Servo:
    """Closed-loop bandwidth of the robot of a file at the pose `x`, home if not given.

    Up to `top` [Hz], by default four times the crossover of the loop. `reference` [Hz] is
    where the gain is taken that -3 dB is relative to: 0, or the lowest frequency measured.
    `amplitude` is that of the measured motion, in m, and in rad of a platform radius.
    """
    model = plant(robot, payload)
    pose = np.asarray(stacked(model.mechanism.home()) if x is None else x, float)
    rule = cascade(robot) if control is None else control
    return servo(
        model,
        rule,
        pose,
        feed=feed,
        method=method,
        top=top,
        reference=reference,
        amplitude=amplitude,
        progress=progress,
    )


def servo(
    model: Plant,
    control: Cascade,
    x: Float[np.ndarray, " n"],
    *,
    feed: FeedForward = NOTHING,
    method: Method = "linear",
    top: float | None = None,
    reference: float | None = None,
    amplitude: float | None = None,
    progress: Progress | None = None,
) -> Servo:
    """`bandwidth` with a plant and a control of your own."""
    about = loop(linear_plant(model, x), control, feed)
    check_stable(about)
    margin = margins(about)
    top = _top(about, margin, top)
    lowest = min(1.0, top / 10)
    if method == "linear":
        found = linear_response(model, about, np.linspace(0.0, top, 1201))
    elif method == "swept":
        found = swept_response(
            model, control, x, feed, top, amplitude, lowest=lowest, progress=progress
        )
    elif method == "stepped":
        found = stepped_response(
            model, control, x, feed, top, amplitude, lowest=lowest, progress=progress
        )
    else:
        raise InputError(f"method is '{method}'; it is one of {', '.join(METHODS)}.")
    lowest = float(found.frequencies[0])
    at = lowest if reference is None else float(reference)
    if not lowest <= at < top:
        raise InputError(f"reference is {at:g} Hz; it must be from {lowest:g} to {top:g} Hz.")
    return Servo(found, at, bandwidths(found, at), margin, growth(about), about)


def _top(about: Loop, margin: Margins, top: float | None) -> float:
    """The highest frequency looked at [Hz]."""
    nyquist = np.inf if about.period is None else 0.5 / about.period
    if top is None and not np.isfinite(margin.crossover):
        raise InputError("The loop has no crossover to guess the band from; say how far with top.")
    chosen = 4 * margin.crossover if top is None else float(top)
    if not (np.isfinite(chosen) and chosen > 0):
        raise InputError(f"top is {chosen:g} Hz; it must be positive.")
    if top is not None and top >= nyquist:
        raise InputError(
            f"top is {top:g} Hz; sampled every {500 / nyquist:g} ms, a loop knows frequencies "
            f"below {nyquist:g} Hz."
        )
    return float(min(chosen, 0.99 * nyquist))


def bandwidths(found: Response, reference: float) -> tuple[Bandwidth, ...]:
    """-3 dB of each coordinate, relative to the gain at `reference` [Hz], and absolute."""
    f, results = found.frequencies, []
    gains = np.abs(found.at(reference))
    for name, column, gain in zip(found.coordinates, found.values.T, gains, strict=True):
        size = np.abs(column)
        top = int(np.argmax(size))
        results.append(
            Bandwidth(
                name,
                float(gain),
                _falls_below(f, size, gain * _ROOT),
                _falls_below(f, size, _ROOT),
                float(size[top] / gain),
                float(f[top]),
            )
        )
    return tuple(results)


def _falls_below(f: np.ndarray, size: np.ndarray, level: float) -> float | None:
    """The first frequency at which `size` falls below `level`; None if it never does, or is."""
    below = np.flatnonzero(size < level)
    if not len(below) or below[0] == 0:
        return None
    k = int(below[0])
    if len(f) < 4:
        return float(f[k])
    from scipy.interpolate import CubicSpline
    from scipy.optimize import brentq

    curve = CubicSpline(f, np.log(size / level))
    if curve(f[k - 1]) <= 0:  # by rounding: it is the point itself
        return float(f[k - 1])
    return float(brentq(curve, f[k - 1], f[k]))  # pyright: ignore[reportArgumentType]


# Three sources


def linear_response(model: Plant, about: Loop, frequencies: Float[np.ndarray, " f"]) -> Response:
    """The exact response of the linear loop."""
    H = response(about, frequencies)
    return Response(frequencies, np.einsum("fkk->fk", H), _names(model), "linear")


def swept_response(
    model: Plant,
    control: Cascade,
    x: Float[np.ndarray, " n"],
    feed: FeedForward = NOTHING,
    top: float = 30.0,
    amplitude: float | None = None,
    *,
    length: float = 20.0,
    lowest: float = 1.0,
    progress: Progress | None = None,
) -> Response:
    """From one sweep per coordinate, from half of `lowest` to beyond `top` [Hz]."""
    rest = _forgetting(model, control, x, feed)
    band, sizes = (0.5 * lowest, 1.15 * top + 2.0), _amplitudes(model, amplitude)
    motions = [
        sweep(
            x,
            row,
            band=band,
            length=length,
            rest=rest,
            rate=_rate(top),
            coordinates=model.mechanism.platform_coordinates,
        )
        for row in np.diag(sizes)
    ]
    t, found = responses(model, control, motions, feed=feed, rate=_rate(top), progress=progress)
    f = np.fft.rfftfreq(len(t), t[1] - t[0])
    kept = (f > lowest - f[1]) & (f < top + f[1])  # both ends lie between bins
    columns = []
    for k, motion in enumerate(motions):
        command = _at(motion, t)[:, k] - x[k]
        moved = found[k, :, k] - found[k, 0, k]
        columns.append((np.fft.rfft(moved) / np.fft.rfft(command))[kept])
    return Response(f[kept], np.stack(columns, axis=-1), _names(model), "swept")


def stepped_response(
    model: Plant,
    control: Cascade,
    x: Float[np.ndarray, " n"],
    feed: FeedForward = NOTHING,
    top: float = 30.0,
    amplitude: float | None = None,
    *,
    count: int = 16,
    lowest: float = 1.0,
    progress: Progress | None = None,
) -> Response:
    """From `count` sines per coordinate, all at once, each in its steady state."""
    period = control.position_period or 1.0  # `responses` refuses a loop without
    window = period * round(2.0 / lowest / period)  # two periods of the lowest
    start = _forgetting(model, control, x, feed)
    start = period * int(np.ceil(start / period))
    steps = np.unique(np.rint(np.geomspace(lowest, top, count) * window))
    frequencies, sizes = steps / window, _amplitudes(model, amplitude)
    named = model.mechanism.platform_coordinates
    motions = [
        sine(x, row, frequency=f, duration=start + window, rate=_rate(top), coordinates=named)
        for row in np.diag(sizes)
        for f in frequencies
    ]
    t, found = responses(model, control, motions, feed=feed, rate=_rate(top), progress=progress)
    last = (t >= start - 1e-9) & (t < start + window - 1e-9)
    H = np.zeros((len(frequencies), model.n), complex)
    for lane, motion in enumerate(motions):
        k, j = divmod(lane, len(frequencies))
        wave = np.exp(-2j * np.pi * frequencies[j] * t[last])
        command = _at(motion, t)[last, k] - x[k]
        H[j, k] = ((found[lane, last, k] - x[k]) @ wave) / (command @ wave)
    return Response(frequencies, H, _names(model), "stepped")


def _names(model: Plant) -> tuple[str, ...]:
    return tuple(c.name for c in model.mechanism.platform_coordinates)


def _rate(top: float) -> float:
    """Samples per second [Hz]: enough for the highest frequency and the images beside it."""
    return max(1000.0, 20 * top)


def _at(motion: Motion, t: np.ndarray) -> np.ndarray:
    """Commands at the instants of a record: the motion is sampled as often."""
    return np.asarray(resampled(motion, t).x)


def _amplitudes(model: Plant, amplitude: float | None) -> np.ndarray:
    """Of each coordinate [m, rad]; small, so that the pose hardly changes."""
    scales = model.mechanism.scales()
    usual = _AMPLITUDE * float(np.asarray(model.mechanism.size))
    size = usual if amplitude is None else amplitude
    if not (np.isfinite(size) and size > 0):
        raise InputError(f"amplitude is {size:g} m; it must be positive.")
    return size / np.asarray(stacked(scales.platform))


def _forgetting(
    model: Plant, control: Cascade, x: Float[np.ndarray, " n"], feed: FeedForward
) -> float:
    """Time [s] until a transient has died away, from the slowest pole."""
    about = loop(linear_plant(model, x), control, feed)
    per_second = np.log(growth(about)) / (about.period or 1.0)
    return float(np.clip(np.log(_FORGOTTEN) / per_second, 0.2, 20.0))


# What it depends on


class Sensitivity(NamedTuple):
    """Bandwidth of the first platform coordinate with a parameter halved, as it is, doubled."""

    parameter: str
    unit: str
    value: float
    halved: Bandwidth | None  #: None: the loop is unstable
    as_is: Bandwidth | None
    doubled: Bandwidth | None


def sensitivities(
    robot: Robot,
    *,
    control: Cascade | None = None,
    feed: FeedForward = NOTHING,
    payload: Payload | str | None = None,
    factor: float = 2.0,
) -> tuple[Sensitivity, ...]:
    """How the bandwidth at home depends on motors, transmissions and gains, one at a time.

    Each parameter of all drives is divided and multiplied by `factor`.
    """
    model = plant(robot, payload)
    rule = cascade(robot) if control is None else control
    x = np.asarray(stacked(model.mechanism.home()), float)

    def found(model: Plant, rule: Cascade) -> Bandwidth | None:
        about = loop(linear_plant(model, x), rule, feed)
        if growth(about) >= 1:
            return None
        top = _top(about, margins(about), None)
        top = min(2 * top, np.inf if about.period is None else 0.49 / about.period)
        response = linear_response(model, about, np.linspace(0.0, top, 801))
        return bandwidths(response, 0.0)[0]

    results, as_is = [], found(model, rule)
    for name, unit, get in _parameters(model, rule):
        value = float(np.ravel(np.asarray(jax.tree.leaves(get((model, rule)))[0]))[0])
        if value == 0:
            continue
        pair = []
        for by in (1 / factor, factor):
            changed = eqx.tree_at(get, (model, rule), replace_fn=lambda leaf, by=by: by * leaf)
            pair.append(found(*changed))
        results.append(Sensitivity(name, unit, value, pair[0], as_is, pair[1]))
    return tuple(results)


def _parameters(model: Plant, rule: Cascade) -> list[tuple[str, str, Callable]]:
    """Name, unit and place of what may be varied."""
    drives = [("torque_constant", "N m/A")]
    if model.soft:
        drives = [("rotor_inertia", "kg m^2"), ("damping", "N m s/rad"), *drives]
    gains = [("position_gain", "1/s"), ("velocity_gain", "A s/rad"), ("integral_gain", "A/rad")]
    found: list[tuple[str, str, Callable]] = []
    if model.soft:
        found.append(("coupling_stiffness", "N m/rad", _stiffness))
        found.append(
            ("coupling_damping", "N m s/rad", lambda both: both[0].actuators.coupling.damping)
        )
    for name, unit in drives:
        found.append((name, unit, lambda both, name=name: getattr(both[0].actuators, name)))
    for name, unit in gains:
        found.append((name, unit, lambda both, name=name: getattr(both[1], name)))
    return found


def _stiffness(both: tuple[Plant, Cascade]) -> object:
    soft = both[0].actuators.coupling
    assert soft is not None, "asked for soft transmissions only"
    return soft.stiffness, soft.reverse


# Many gains


class StabilityMap(NamedTuple):
    """Stability over a grid of gains."""

    position_gains: Float[np.ndarray, " P"]  #: kV [1/s]
    velocity_gains: Float[np.ndarray, " V"]  #: kP [A s/rad], kI in proportion
    growth: Float[np.ndarray, "P V"]  #: of the slowest mode of the linear loop in a period
    simulated: Float[np.ndarray, "P V"] | None  #: of the nonlinear loop; see `stability_map`


def stability_map(
    robot: Robot,
    position_gains: ArrayLike,
    velocity_gains: ArrayLike,
    *,
    control: Cascade | None = None,
    payload: Payload | str | None = None,
    simulate: bool = True,
    periods: int | None = None,
    progress: Progress | None = None,
) -> StabilityMap:
    """Which gains are stable at home: poles of the linear loop, and all of them simulated at once.

    kI follows kP in the proportion of `control`. Simulated is what the nonlinear robot does
    after a small jump of the command: the growth of its error per period, from the middle third
    to the last of so many position periods (60, or as long as the motors take to respond),
    infinite if it left all bounds.
    """
    model = plant(robot, payload)
    rule = cascade(robot) if control is None else control
    x = np.asarray(stacked(model.mechanism.home()), float)
    kV, kP = np.asarray(position_gains, float), np.asarray(velocity_gains, float)
    if kV.ndim != 1 or kP.ndim != 1 or not (np.all(kV > 0) and np.all(kP > 0)):
        raise InputError("position_gains and velocity_gains are lists of positive numbers.")
    about = loop(linear_plant(model, x), rule)
    inner = [about._replace(kP=p, kI=about.kI * p / about.kP) for p in kP]
    poles = np.array([[growth(item._replace(kV=v)) for item in inner] for v in kV])
    found = StabilityMap(kV, kP, poles, None)
    if not simulate:
        return found
    if rule.position_period is None:
        raise InputError("A continuous position loop has no periods to simulate; give a period.")
    both = np.stack(np.meshgrid(kV, kP, indexing="ij"), axis=-1).reshape(-1, 2)
    ratio = rule.integral_gain / rule.velocity_gain
    most = jnp.asarray(kP.max(), float)
    fastest = eqx.tree_at(_inner, rule, (most, most * ratio))
    each = eqx.tree_at(
        lambda rule: (rule.position_gain, *_inner(rule)),
        rule,
        (jnp.asarray(both[:, 0]), jnp.asarray(both[:, 1]), ratio * jnp.asarray(both[:, 1])),
    )
    if periods is None:
        slow = _forgetting(model, rule, x, NOTHING) / rule.position_period
        periods = int(np.clip(slow / 5, 60, 600))
    jump = _jump(model, x, rule.position_period, periods)
    t, moved = responses(
        model,
        fastest,
        [jump] * len(both),
        controls=each,
        rate=1e-9,
        unstable=True,
        progress=progress,
    )
    return found._replace(simulated=_grown(model, t, moved).reshape(len(kV), len(kP)))


def _inner(rule: Cascade) -> tuple:
    return rule.velocity_gain, rule.integral_gain


def _jump(model: Plant, x: np.ndarray, period: float, periods: int) -> Motion:
    """At rest at `x`, and after one period a little beside it."""
    t = period * np.arange(periods + 1)
    places = np.tile(x, (len(t), 1))
    places[1:] += 0.2 * _amplitudes(model, None)
    still = jnp.zeros_like(jnp.asarray(places))
    parts = (jnp.asarray(places), still, still, still)
    return Motion(jnp.asarray(t), *parts, coordinates=model.mechanism.platform_coordinates)


def _grown(model: Plant, t: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Growth per sample of how much the platform moves, from the middle third to the last.

    What moves less than rounding has settled.
    """
    units = np.asarray(stacked(model.mechanism.scales().platform))
    third = len(t) // 3
    size = []
    for part in (moved[:, third : 2 * third], moved[:, 2 * third : 3 * third]):
        change = np.diff(part, axis=1) * units
        size.append(np.sqrt((change**2).mean(axis=(1, 2))))
    bounded = np.isfinite(moved).all(axis=(1, 2))
    with np.errstate(all="ignore"):
        grown = (size[1] / size[0]) ** (1 / third)
    still = size[1] < _QUIET * float(np.asarray(model.mechanism.size))
    grown = np.where(still, 0.0, grown)
    return np.where(bounded & np.isfinite(grown), grown, np.inf)
