"""The compliant 3PRS of Ruiz et al. (2022): forces, modes, both of its tests, and its bandwidth.

The paper shows measured and simulated motor angles and torques as curves (figures 8 and 9) and
prints no number of a result, so that ours stand alone; all of them depend on what it does not
print, the stiffness kt of the belts, and on a rotor inertia J1 whose exponent is doubtful. Both
values of J1 are computed.

Test 1 moves the platform up and down by 2 mm at 0.5 Hz, test 2 each slider by 2 mm with a third
of a turn between them. Values are those of the steady state: the second period.

Reference: Ruiz et al., Robotics 11 (2022) 4, sections 5 and 6.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from triskele.compliant.contributions import Contributions, contributions
from triskele.compliant.stiffness import natural_modes
from triskele.control.bandwidth import linear_response, servo, stepped_response, swept_response
from triskele.control.cascade import Cascade, FeedForward, cascade
from triskele.control.plant import Plant, plant
from triskele.control.track import Tracking, track_plant
from triskele.description.load import load
from triskele.kinematics.cycles import joint_sine
from triskele.kinematics.motion import Motion, sine
from triskele.numerics import stacked
from triskele.reports.figures import STYLE, legend_outside
from triskele.studies.study import UNCHECKED, Check, Exhibit, Finding, Progress, Study

NAME = "compliant_3prs"
_CAPTIONS = {
    "tests": "Angles and torques of the motors in both tests, as in the paper's figures 8 and 9.",
    "bandwidth": (
        "How height and tilt follow their commands, for both values of the rotor's inertia; lines "
        "are computed from the linear model, marks measured on the simulated robot."
    ),
}
_CURVES = "the paper shows motor angles and torques as curves only (figures 8 and 9)"
_NONE = "the paper prints no such number"
_TESTS = "tests/published/test_compliant_3prs_control.py::"
_MODES = "tests/compliant/test_stiffness.py::"
_LIFT, _TURNING = "test 1, up and down", "test 2, sliders a third of a turn apart"
_WAVE = "fundamentals of motor 1"
_FREE = "modes with free sliders"
CHECKS = {
    "home": Check("closed form", "5e-5 mm", "tests/published/test_compliant_3prs.py::test_home"),
    "forces": Check(
        "Exudyn",
        "1e-6",
        "tests/oracles/test_compliant_exudyn.py::test_forces_at_half_a_hertz",
    ),
    "forces twice": Check(
        "second program",
        "0.05 N",
        "tests/compliant/test_contributions.py::test_forces_of_a_lift",
    ),
    _FREE: Check("second program", "0.1 Hz", _MODES + "test_frequencies_with_free_sliders"),
    "motors locked": Check(
        "second program", "0.5 Hz", _MODES + "test_frequencies_with_locked_motors"
    ),
    f"{_LIFT}, as printed, {_WAVE}": Check(
        "second program", "1 %", _TESTS + "test_motors_of_the_lift"
    ),
    f"{_LIFT}, as printed, errors": Check(
        "second program", "2 %", _TESTS + "test_extremes_of_the_lift"
    ),
    f"{_LIFT}, as printed, height": Check(
        "second program", "3 %", _TESTS + "test_the_platform_of_the_lift"
    ),
    f"{_LIFT}, a tenth, {_WAVE}": Check("second program", "1 %", _TESTS + "test_another_rotor"),
    f"{_TURNING}, as printed, {_WAVE}": Check(
        "second program", "1 %", _TESTS + "test_motors_of_the_shifted_test"
    ),
    f"{_TURNING}, as printed, errors": Check(
        "second program", "2 %", _TESTS + "test_motors_of_the_shifted_test"
    ),
    f"{_TURNING}, a tenth, {_WAVE}": Check(
        "second program", "1 %", _TESTS + "test_another_rotor_in_the_shifted_test"
    ),
    "one feedforward": Check("second program", "3 %", _TESTS + "test_one_alone"),
    "both": Check("second program", "0.6 um", _TESTS + "test_both_leave_seven_micrometres"),
    "bandwidth": Check(
        "second program", "0.02 Hz", "tests/control/test_bandwidth.py::test_bandwidth_of_the_stage"
    ),
    "response": Check(
        "linear model",
        "1 %",
        "tests/control/test_bandwidth.py::test_measured_and_linear_responses_agree",
    ),
}
_DRAWING = "drawing without data"
EXHIBITS = (
    Exhibit("Table 1", "parameters", why="data of the robot file compliant_3prs"),
    Exhibit("Figure 1", "photographs of manipulator and joints", why="photograph without data"),
    Exhibit("Figure 2", "the 3PRS with conventional joints", why=_DRAWING),
    Exhibit("Figure 3", "mechanism and actuators apart", why=_DRAWING),
    Exhibit("Figure 4", "block diagram of the mechatronic model", why=_DRAWING),
    Exhibit("Figure 5", "kinematic diagram", why=_DRAWING),
    Exhibit("Figure 6", "block diagram of control and actuators", why=_DRAWING),
    Exhibit("Figure 7", "photograph of the experiment", why="photograph without data"),
    Exhibit("Figure 8", "motor angles and torques, up and down", ("test 1",), "tests", _CURVES),
    Exhibit("Figure 9", "the same, a third of a turn apart", ("test 2",), "tests", _CURVES),
    Exhibit("Figure A1", "axes of the spherical joints", why=_DRAWING),
)
_FREQUENCY, _AMPLITUDE = 0.5, 2e-3  #: [Hz], [m]
_PERIODS = 2
_RATE = 5000.0  #: of samples [Hz]; one for all tests, so that one compilation serves them
_ROTORS = {"as printed": 1.423e-4, "a tenth": 1.423e-5}  #: J1 [kg m^2]
_STYLES = {"linear": "-", "swept": "--", "stepped": "o"}


class Steady(NamedTuple):
    """The last period of a test, motor 1."""

    angle: float  #: fundamental of the motor angle [rad]
    torque: float  #: fundamental of the motor torque [N m]
    motor_error: float  #: greatest [rad]
    slider_error: float  #: greatest [m]
    height_error: float  #: greatest [m]


def model(rotor: float = 1.423e-4) -> tuple[Plant, Cascade]:
    """The plant with another rotor inertia J1 [kg m^2], and its control."""
    robot = load("compliant_3prs")
    found = plant(robot)
    changed = jnp.full_like(found.actuators.rotor_inertia, rotor)
    return eqx.tree_at(lambda p: p.actuators.rotor_inertia, found, changed), cascade(robot)


def motions() -> dict[str, Motion]:
    """Both tests."""
    mechanism = plant(load("compliant_3prs")).mechanism
    duration = _PERIODS / _FREQUENCY
    home, named = stacked(mechanism.home()), mechanism.platform_coordinates
    third = -2 * np.pi / 3 * np.arange(3)
    together = {"frequency": _FREQUENCY, "duration": duration}
    return {
        _LIFT: sine(home, [_AMPLITUDE, 0.0, 0.0], coordinates=named, **together),
        _TURNING: joint_sine(mechanism, [_AMPLITUDE] * 3, phase=third, **together),
    }


def counted_twice(once: Contributions) -> Contributions:
    """Equation 59: the energy of each flexure is counted with both bodies that it joins.

    Spherical flexures with platform and bars, revolute ones with couplings and bars: all elastic
    forces are doubled.
    """
    return once._replace(flexures=2 * once.flexures)


def steady(run: Tracking) -> Steady:
    """What the last period shows."""
    last = (run.t >= run.t[-1] - 1 / _FREQUENCY - 1e-9) & (run.t < run.t[-1] - 1e-9)
    wave = np.exp(-2j * np.pi * _FREQUENCY * run.t[last])

    def fundamental(values: np.ndarray) -> float:
        return float(2 * np.abs(values[last] @ wave) / last.sum())

    return Steady(
        fundamental(run.motor[:, 0]),
        fundamental(run.torque[:, 0]),
        float(np.abs(run.motor_error[last]).max()),
        float(np.abs(run.joint - run.joint_command)[last].max()),
        float(np.abs(run.error[last, 0]).max()),
    )


def run(progress: Progress | None = None) -> Study:
    """Forces, modes, both tests and the bandwidth."""
    report = progress or (lambda part: None)
    findings, drawn = [*_statics(), *_modes()], {}
    report(0.2)
    for label, rotor in _ROTORS.items():
        plant, control = model(rotor)
        for test, motion in motions().items():
            tracked = track_plant(plant, control, motion, rate=_RATE)
            findings += _tested(test, label, steady(tracked))
            if rotor == _ROTORS["as printed"]:
                drawn[test] = tracked
        report(0.4 if rotor == _ROTORS["as printed"] else 0.55)
    findings += _compensated()
    report(0.65)
    responses, figure = _bandwidths()
    report(1.0)
    figures = {"tests": _tests_figure(drawn), "bandwidth": figure}
    return Study(NAME, (*findings, *responses), figures, _CAPTIONS, ("compliant_3prs",), EXHIBITS)


def _finding(quantity: str, unit: str, ours: float, check: Check, reason: str = _NONE) -> Finding:
    return Finding(NAME, quantity, unit, None, float(ours), "not comparable", check, reason)


def _statics() -> list[Finding]:
    plant, _ = model()
    home = stacked(plant.mechanism.home())
    slider = 1e3 * float(jnp.asarray(plant.zero[0]))
    what = "slider at the rest angle of 45 deg, from where s = 0"
    rows = [_finding(what, "mm", slider, CHECKS["home"])]
    still = jnp.zeros(3)
    for height in (2e-3, -2e-3):
        once = contributions(plant.load, home + np.array([height, 0.0, 0.0]), still, still)
        twice = counted_twice(once)
        for parts, how, check in (
            (once, "flexures counted once", "forces"),
            (twice, "counted twice, as equation 59", "forces twice"),
        ):
            what = f"force of a slider at z = {1e3 * height:+g} mm, {how}"
            rows.append(_finding(what, "N", float(parts.total[0]), CHECKS[check]))
    return rows


def _modes() -> list[Finding]:
    plant, _ = model()
    home = np.asarray(stacked(plant.mechanism.home()))
    bare = eqx.tree_at(lambda r: r.rotors, plant.load, jnp.zeros(3))
    cases = {
        "sliders free, mechanism alone": natural_modes(bare, home),
        "sliders free": natural_modes(plant.load, home),
        "motors locked": natural_modes(plant.load, home, plant.actuators, "locked"),
    }
    return [
        _finding(
            f"natural frequency, {name}: {way}",
            "Hz",
            found.frequencies[k],
            CHECKS[name if name in CHECKS else _FREE],
        )
        for name, found in cases.items()
        for way, k in (("z", 0), ("tilt", 1))
    ]


def _tested(test: str, rotor: str, found: Steady) -> list[Finding]:
    wave = CHECKS[f"{test}, {rotor}, {_WAVE}"]
    errors = CHECKS.get(f"{test}, {rotor}, errors", UNCHECKED)
    height = CHECKS.get(f"{test}, {rotor}, height", UNCHECKED)
    rows = (
        ("fundamental of motor angle 1", "rad", found.angle, wave),
        ("fundamental of motor torque 1", "mN m", 1e3 * found.torque, wave),
        ("greatest motor error", "rad", found.motor_error, errors),
        ("greatest slider error", "mm", 1e3 * found.slider_error, errors),
        ("greatest error of height", "um", 1e6 * found.height_error, height),
    )
    return [
        _finding(f"{test}, J1 {rotor}: {name}", unit, value, check, _CURVES)
        for name, unit, value, check in rows
    ]


def _compensated() -> list[Finding]:
    plant, control = model()
    motion = motions()[_LIFT]
    feeds = {
        "velocity fed forward": FeedForward(velocity=True),
        "windup compensated": FeedForward(windup=True),
        "both": FeedForward(velocity=True, windup=True),
        "both, and torque": FeedForward(velocity=True, windup=True, torque=True),
    }
    checks = {
        "velocity fed forward": CHECKS["one feedforward"],
        "windup compensated": CHECKS["one feedforward"],
        "both": CHECKS["both"],
        "both, and torque": UNCHECKED,
    }
    why = "the paper's control feeds nothing forward"
    rows = []
    for name, feed in feeds.items():
        found = steady(track_plant(plant, control, motion, feed=feed, rate=_RATE))
        error = 1e6 * found.height_error
        what = f"test 1, {name}: greatest error of height"
        rows.append(_finding(what, "um", error, checks[name], why))
    return rows


def _bandwidths() -> tuple[list[Finding], Figure]:
    why = "the paper says that its model predicts the bandwidth, and prints none"
    rows, drawn = [], {}
    for label, rotor in _ROTORS.items():
        plant, control = model(rotor)
        home = np.asarray(stacked(plant.mechanism.home()))
        found = servo(plant, control, home, top=40.0)
        for band in found.bandwidths:
            way = band.coordinate
            for kind, value in (("gain at rest", band.relative), ("command", band.absolute)):
                assert value is not None, "it falls below -3 dB before 40 Hz"
                what = f"bandwidth of {way}, -3 dB of the {kind}, J1 {label}"
                rows.append(_finding(what, "Hz", value, CHECKS["bandwidth"], why))
        drawn[f"J1 {label}, linear"] = found.response
        if rotor == _ROTORS["as printed"]:
            small = 1e-4
            swept = swept_response(plant, control, home, top=30.0, amplitude=small)
            stepped = stepped_response(plant, control, home, top=30.0, amplitude=small)
            for name, item in (("swept", swept), ("stepped", stepped)):
                exact = linear_response(plant, found.loop, item.frequencies)
                most = 100 * np.abs(item.values / exact.values - 1).max()
                what = f"response, {name} from linear, 1 to 30 Hz"
                rows.append(_finding(what, "%", most, CHECKS["response"], why))
            drawn["swept, nonlinear"], drawn["stepped, nonlinear"] = swept, stepped
    return rows, _response_figure(drawn)


def _tests_figure(drawn: dict[str, Tracking]) -> Figure:
    """Motor angles and torques of both tests, as the paper's figures 8 and 9."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 7), layout="constrained")
        rows = figure.subplots(len(drawn), 2, squeeze=False)
        for row, (name, found) in zip(rows, drawn.items(), strict=True):
            shown = found.t >= found.t[-1] - 2 / _FREQUENCY
            for k, width in enumerate((2.2, 1.5, 0.8)):
                label = f"motor {k + 1}"
                row[0].plot(found.t[shown], found.motor[shown, k], lw=width, label=label)
                row[1].plot(found.t[shown], 1e3 * found.torque[shown, k], lw=width / 2, label=label)
            row[0].set(title=name, ylabel="motor angle [rad]", xlabel="t [s]")
            row[1].set(title=name, ylabel="motor torque [mN m]", xlabel="t [s]")
            legend_outside(row[1])
    return figure


def _response_figure(drawn: dict) -> Figure:
    """Responses of height and tilt, both rotors, measured ones beside."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.5), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, k, way in zip(panels, (0, 1), ("height z", "tilt psi"), strict=True):
            for name, item in drawn.items():
                kept = item.frequencies > 0.4
                size = 20 * np.log10(np.abs(item.values[kept, k]))
                axes.semilogx(item.frequencies[kept], size, _STYLES[item.method], ms=4, label=name)
            axes.axhline(-3.0103, color="black", lw=0.8, ls="--")
            axes.set(title=f"{way} over its command", xlabel="f [Hz]", ylim=(-20, 3))
        panels[0].set_ylabel("magnitude [dB]; dashed: -3 dB of the command")
        legend_outside(panels[1])
    return figure
