"""A virtual sensor of deflection, on trial on a Delta with soft lower links and on a cantilever.

Bengoa et al. take the tip deflection of each platen from the slope at its end, by the first mode of
a clamped-free beam, and compare with a simulation in ADAMS. On a Delta nothing clamps a platen: its
joints are free at both ends, so that the shape is another one and the sensor is wrong by half.
Errors as small as theirs appear where a platen is clamped to the moving frame of the elbow and its
tip is free. That their reference behaved so is inferred from these numbers, not shown.

The references are simulated by Exudyn, apart from all of this package (`data/virtual_sensor.npz`,
made by `tests/oracles/exudyn_platens.py`): motors follow 0.5 rad sin(2 pi f t) with f = 3, 2.25 and
3.6 Hz, the reading of the paper's equation 40 that its amplitudes allow; 5 s at 1 kHz.

Reference: P. Bengoa et al., Sensors 17 (2017) 1934.
"""

from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from triskele.description.load import load
from triskele.description.schema import DeltaBodies, Robot
from triskele.flexible.beam import Beam
from triskele.flexible.robot import flexible
from triskele.kinematics.log import derivatives
from triskele.reports.figures import STYLE, legend_outside
from triskele.reports.sensing_figures import compared_figure, encoders_figure
from triskele.sensing.modal import Measured, modal_sensor
from triskele.sensing.observer import USUAL
from triskele.sensing.sense import Sensed, sense
from triskele.sensing.trial import EDGE, Errors, Truth, encoder_trials, errors_of
from triskele.studies.study import UNCHECKED, Check, Exhibit, Finding, Progress, Study, Verdict

NAME = "virtual_sensor"
_CAPTIONS = {
    "deflection": (
        "Deflection of a platen, as simulated by another program and as three sensors see it."
    ),
    "tool": (
        "Position of the tool as simulated by another program, and errors of the published closure "
        "and of ours; as in the paper's figures 8, 12 and 13."
    ),
    "encoders": "Errors of two sensors by the bits of encoders at the wrists.",
}
ROBOT = "omron_mini_delta_platens"
FREQUENCIES = np.array([3.0, 2.25, 3.6])  #: of the motors [Hz]
AMPLITUDE = 0.5  #: [rad]
LENGTH = 0.4  #: of a platen [m]
_STEP = 1e-3  #: [s]
_UNIT = 1e-12  #: of the stored integers [m or rad]
_BITS = (12, 14, 16, 17, 18, 20, 22)
_CLAIMED = {"deflection": 2.0, "speed": 6.0, "acceleration": 13.0}  #: %, "less than"
_LARGEST = {"deflection": 1e-4, "speed": 3e-3, "acceleration": 0.2}  #: m, m/s, m/s^2, "less than"
_CLAIMED_TOOL = {"x": 100.0, "y": 50.0, "z": 15.0}  #: um, "rises up to"
_FREE = (
    "the passive joints of a Delta carry no moment, so that its links bend as beams pinned at both "
    "ends; the sensor takes them as clamped and free"
)
_CANTILEVER = "here the platen is clamped to the moving elbow and its tip free, unlike on a Delta"
_OURS = "the paper has no such sensor"
_SHORTER = (
    "leaving deflection out altogether errs by less: its equation 42 makes bent links longer, and "
    "they are shorter"
)
_NODES = (
    "the paper prints matrices, no ratios; the first number of a node is the clamped shape of the "
    "paper, the second that of pins, which a Delta has"
)
_TESTS = "tests/published/test_virtual_sensor.py::"
CHECKS = {
    "frequencies": Check("second program", "1e-5", _TESTS + "test_modes_of_three_elements_clamped"),
    "clamped-free": Check("beam theory", "1e-6 m", _TESTS + "test_modes_of_three_elements_clamped"),
    "pinned-pinned": Check("beam theory", "2e-4", _TESTS + "test_modes_of_pins"),
    "errors": Check("second program", "3 %", _TESTS + "test_errors_of_sensors_against_exudyn"),
    "largest": Check(
        "second program", "4 %", _TESTS + "test_largest_errors_of_the_published_sensor"
    ),
    "cantilever": Check(
        "second program",
        "0.05 %",
        _TESTS + "test_the_published_sensor_is_right_on_a_cantilever",
    ),
    "tool": Check("second program", "0.2 um", _TESTS + "test_tool_positions_in_space"),
    "wrong model": Check(
        "beam theory",
        "3 % of the signal",
        _TESTS + "test_a_wrong_model_costs_what_beam_theory_says",
    ),
}
_DRAWING = "drawing without data"
_CURVES = "the paper shows curves without values"
EXHIBITS = (
    Exhibit("Table 1", "parameters of the robot", why=f"data of the robot file {ROBOT}"),
    Exhibit("Table 2", "parameters of the platens", why=f"data of the robot file {ROBOT}"),
    Exhibit("Figure 1", "a flexible arm", why=_DRAWING),
    Exhibit("Figure 2", "a flexible link between two stiff ones", why=_DRAWING),
    Exhibit("Figure 3", "degrees of freedom of an element", ("slope at 1/3", "deflection at 1/3")),
    Exhibit("Figure 4", "parameters of a Delta", why=_DRAWING),
    Exhibit("Figure 5", "frames of a Delta", why=_DRAWING),
    Exhibit("Figure 6", "encoder and its angle", why=_DRAWING),
    Exhibit("Figure 7", "picture of the simulated robot", why=_DRAWING),
    Exhibit("Figure 8", "path of the tool", figure="tool", why=_CURVES),
    Exhibit("Figure 9", "loop closure of a Delta", why=_DRAWING),
    Exhibit(
        "Figure 10",
        "deflection",
        (
            "its sensor on a Delta, error of deflection",
            "its sensor on a Delta, largest error of deflection",
        ),
        "deflection",
    ),
    Exhibit(
        "Figure 11",
        "errors of speed and acceleration",
        (
            "its sensor on a Delta, error of speed",
            "its sensor on a Delta, error of acceleration",
            "its sensor on a Delta, largest error of speed",
            "its sensor on a Delta, largest error of acceleration",
        ),
    ),
    Exhibit("Figure 12", "path of the tool, estimated and simulated", figure="tool", why=_CURVES),
    Exhibit("Figure 13", "error of the tool position", ("its tool position",), "tool"),
)


SCALED = {
    "rods 10 % heavier": 1.1,
    "rods 10 % lighter": 0.9,
    "rods 10 % stiffer": 1 / 1.1,
    "rods 10 % softer": 1 / 0.9,
    "platform 10 % heavier": 1.0,
}  #: static deflection of a pinned beam, density over modulus, relative to the true one


class Reference(NamedTuple):
    """What Exudyn simulated."""

    delta: Truth
    cantilever: Float[np.ndarray, "N 3"]  #: tip deflection [m]
    cantilever_slope: Float[np.ndarray, "N 3"]  #: tip slope [rad]
    made: str  #: how


def reference() -> Reference:
    """The stored simulations."""
    path = files("triskele.studies") / "data" / f"{NAME}.npz"
    with path.open("rb") as file, np.load(file) as stored:
        made = str(stored["made"])
        found = {
            name: _UNIT * stored[name].cumsum(axis=0).cumsum(axis=0)
            for name in stored.files
            if name != "made"
        }
    t = _STEP * np.arange(len(found["delta"]))
    w = 2 * np.pi * FREQUENCIES[None, :]
    q, qd = AMPLITUDE * np.sin(w * t[:, None]), AMPLITUDE * w * np.cos(w * t[:, None])
    truth = Truth(
        t, q, qd, -(w**2) * q, found["elbow"] - q, found["wrist"], found["delta"], found["tool"]
    )
    return Reference(truth, found["cantilever_delta"], found["cantilever_slope"], made)


def robot() -> Robot:
    """The robot, with encoders as fine as one likes."""
    return load(ROBOT).model_copy(update={"encoders": None})


def sensed(truth: Truth, described: Robot) -> dict[str, Sensed]:
    """The paper's sensor, and ours, without noise."""
    both, wrist = truth.log(hinges=("elbow", "wrist")), truth.log()
    elbow = truth.log(hinges=("elbow",))
    by = partial(sense, described, deviations=False)
    return {
        "paper": by(both, "modal", ends="clamped-free", closure="published"),
        "half": by(both, "modal"),
        "both": by(both, "chord"),
        "wrist": by(wrist, "chord"),
        "bent": by(wrist, "chord", closure="bent"),
        "rigid": by(wrist, "chord", closure="rigid"),
        "elbow": by(elbow, "chord"),
        "motors": by(wrist, "observer", encoders=False),
        "observer": by(wrist, "observer"),
    }


def on_cantilever(found: Reference, described: Robot) -> dict[str, Float[np.ndarray, " 3"]]:
    """Errors of the paper's sensor on the cantilever, limb by limb, relative to the largest."""
    beam = flexible(described).rod_beam
    ratio = float(modal_sensor(beam, LENGTH).tip_ratio[0])
    estimate, true = ratio * found.cantilever_slope, found.cantilever
    series = {"deflection": (estimate, true)}
    rates = zip(*(derivatives(part, _STEP, 5) for part in (estimate, true)), strict=True)
    series |= dict(zip(("speed", "acceleration"), rates, strict=True))
    return {
        name: np.abs(a - b).max(axis=0) / np.abs(b).max(axis=0) for name, (a, b) in series.items()
    }


def robustness(truth: Truth, described: Robot) -> dict[str, Errors]:
    """The observer when its model, or what it is told, is wrong; without wrists, and with them."""
    log, found = truth.log(), {}
    trusting = USUAL._replace(noise=1e-5)  # its wrist encoders
    changes = {
        "as it is": described,
        "rods 10 % heavier": _changed(described, density=1.1),
        "rods 10 % lighter": _changed(described, density=0.9),
        "rods 10 % stiffer": _changed(described, young_modulus=1.1),
        "rods 10 % softer": _changed(described, young_modulus=0.9),
        "platform 10 % heavier": _heavier_platform(described, 1.1),
    }
    by = partial(sense, sensor="observer", deviations=False)
    for name, wrong in changes.items():
        found[name] = errors_of(truth, by(wrong, log, encoders=False))
        seeing = by(wrong, log, tuning=trusting)
        found[f"{name}, with wrists"] = errors_of(truth, seeing)
    for bits in (16, 18, 20):
        seen = truth.log(motor_bits=bits)
        run = by(described, seen, encoders=False)
        found[f"motor encoders of {bits} bits"] = errors_of(truth, run)
    return found


def _changed(described: Robot, **factors: float) -> Robot:
    """With another density or modulus of the rods, and masses that go with it."""
    (name,) = described.materials
    material = described.materials[name]
    new = {key: getattr(material, key) * factor for key, factor in factors.items()}
    changed: dict = {"materials": {name: material.model_copy(update=new)}}
    if "density" in factors and isinstance(described.bodies, DeltaBodies):
        rod = described.bodies.rod
        weighed = {"mass": rod.mass * factors["density"]}
        changed["bodies"] = described.bodies.model_copy(
            update={"rod": rod.model_copy(update=weighed)}
        )
    return described.model_copy(update=changed)


def _heavier_platform(described: Robot, factor: float) -> Robot:
    assert described.bodies is not None
    platform = described.bodies.platform
    heavier = platform.model_copy(update={"mass": platform.mass * factor})
    bodies = described.bodies.model_copy(update={"platform": heavier})
    return described.model_copy(update={"bodies": bodies})


def run(progress: Progress | None = None) -> Study:
    """Modes, the paper's claims, what its sensor gives, and what ours give."""
    report = progress or (lambda part: None)
    found, described = reference(), robot()
    truth = found.delta
    estimates = sensed(truth, described)
    report(0.4)
    errors = {name: errors_of(truth, item) for name, item in estimates.items()}
    wrong = robustness(truth, described)
    report(0.7)
    trials = encoder_trials(described, truth, bits=_BITS)
    findings = (
        *_modes(described),
        *_claims(errors["paper"], on_cantilever(found, described)),
        *_largest(truth, estimates["paper"], errors["paper"]),
        *_ours(errors),
        *_robust(wrong),
    )
    figures = {
        "deflection": _compared(truth, estimates),
        "tool": _tool_figure(truth, estimates),
        "encoders": encoders_figure(described, trials),
    }
    report(1.0)
    return Study(NAME, findings, figures, _CAPTIONS, (ROBOT,), EXHIBITS)


def _finding(
    quantity: str,
    unit: str,
    paper: float | None,
    ours: float,
    check: Check,
    verdict: Verdict = "not comparable",
    reason: str = _OURS,
) -> Finding:
    return Finding(NAME, quantity, unit, paper, ours, verdict, check, reason)


def _modes(described: Robot) -> tuple[Finding, ...]:
    beam = flexible(described).rod_beam
    slopes = [Measured("slope", place) for place in (1.0, 2 / 3, 1 / 3)]
    clamped = modal_sensor(beam, LENGTH, measured=slopes, modes=3)
    why = "the paper prints matrices, no frequencies"
    hertz = (np.asarray(clamped.frequencies) / (2 * np.pi)).tolist()
    rows = [
        _finding(
            f"frequency {k} of a clamped platen, 3 elements", "Hz", None, f, CHECKS["frequencies"]
        )
        for k, f in enumerate(hertz, 1)
    ]
    for ends in ("clamped-free", "pinned-pinned"):
        ratio = float(modal_sensor(beam, LENGTH, ends=ends).tip_ratio[0]) / LENGTH
        what = f"tip deflection over length times slope, {ends}"
        rows.append(_finding(what, "1", None, ratio, CHECKS[ends]))
    return (*(row._replace(reason=why) for row in rows), *_inner_nodes(beam))


def _inner_nodes(beam: Beam) -> list[Finding]:
    """Deflection and slope of the two inner nodes of three elements, per slope of the tip."""
    shapes = {
        ends: modal_sensor(beam, LENGTH, ends=ends) for ends in ("clamped-free", "pinned-pinned")
    }
    return [
        _finding(
            f"{part} at {node}/3 of a platen over the slope at its tip, {ends}",
            unit,
            None,
            float(getattr(sensor, part)[node, 0]),
            CHECKS[ends],
            reason=_NODES,
        )
        for node in (1, 2)
        for part, unit in (("deflection", "m"), ("slope", "1"))
        for ends, sensor in shapes.items()
    ]


def _claims(errors: Errors, cantilever: Mapping[str, np.ndarray]) -> tuple[Finding, ...]:
    rows = []
    for part, claimed in _CLAIMED.items():
        ours = 100 * getattr(errors, part)
        what = f"its sensor on a Delta, error of {part}"
        verdict = _within(ours, claimed)
        rows.append(_finding(what, "%", claimed, ours, CHECKS["errors"], verdict, _FREE))
        ours = 100 * float(cantilever[part].max())
        what = f"its sensor on a cantilever, error of {part}"
        verdict = _within(ours, claimed)
        rows.append(_finding(what, "%", claimed, ours, CHECKS["cantilever"], verdict, _CANTILEVER))
    return tuple(rows)


def largest(truth: Truth, sensed: Sensed) -> dict[str, Float[np.ndarray, " 3"]]:
    """Largest errors, by limb [m, m/s, m/s^2], and of the tool along x, y, z [m]."""
    rough = slice(EDGE, len(truth.t) - EDGE)
    true = truth.deflection, *derivatives(truth.deflection, _STEP, 5), truth.tool
    parts = sensed.deflection, sensed.speed, sensed.acceleration, sensed.tool
    return {
        name: np.abs(a - b)[rough].max(axis=0)
        for name, a, b in zip((*_LARGEST, "tool"), true, parts, strict=True)
    }


def _largest(truth: Truth, sensed: Sensed, errors: Errors) -> tuple[Finding, ...]:
    """What figures 10, 11 and 13 are said to show."""
    found, rows = largest(truth, sensed), []
    units = {"deflection": "m", "speed": "m/s", "acceleration": "m/s^2"}
    for part, claimed in _LARGEST.items():
        ours = float(found[part].max())
        what = f"its sensor on a Delta, largest error of {part}"
        verdict = _within(ours, claimed)
        rows.append(_finding(what, units[part], claimed, ours, CHECKS["largest"], verdict, _FREE))
    for (axis, claimed), ours in zip(_CLAIMED_TOOL.items(), 1e6 * found["tool"], strict=True):
        what = f"its tool position on a Delta, error along {axis}"
        verdict = _within(ours, claimed)
        rows.append(
            _finding(what, "um", claimed, float(ours), CHECKS["largest"], verdict, _SHORTER)
        )
    what = "its tool position on a Delta, error in space"
    rows.append(_finding(what, "um", None, 1e6 * errors.tool, CHECKS["tool"], reason=_SHORTER))
    return tuple(rows)


def _within(ours: float, claimed: float) -> Verdict:
    """The paper says "less than"."""
    return "reproduced" if ours <= claimed else "differs"


def _ours(errors: Mapping[str, Errors]) -> tuple[Finding, ...]:
    names = {
        "half": "half the slope seen from the elbow",
        "wrist": "chord sensor, wrist encoder",
        "elbow": "chord sensor, elbow encoder",
        "both": "chord sensor, both encoders",
        "motors": "observer without passive encoders",
        "observer": "observer with wrist encoder",
    }
    own = {("motors", "acceleration"), *(("observer", part) for part in _CLAIMED)}
    rows = [
        _finding(
            f"{what}, error of {part}",
            "%",
            None,
            100 * getattr(errors[name], part),
            UNCHECKED if (name, part) in own else CHECKS["errors"],
        )
        for name, what in names.items()
        for part in _CLAIMED
    ]
    tools = {
        "rigid": "tool position, rigid kinematics, error",
        "bent": "tool position, chords shortened by bending, error",
        "wrist": "tool position, and stretched by tension, error",
    }
    rows += [
        _finding(what, "um", None, 1e6 * errors[name].tool, CHECKS["tool"])
        for name, what in tools.items()
    ]
    return tuple(rows)


def _robust(wrong: Mapping[str, Errors]) -> tuple[Finding, ...]:
    return tuple(
        _finding(
            f"observer, {name}, error of {part}",
            "%",
            None,
            100 * getattr(errors, part),
            CHECKS["wrong model"] if name in SCALED else UNCHECKED,
        )
        for name, errors in wrong.items()
        if name != "as it is"
        for part in ("deflection", "speed")
    )


def _compared(truth: Truth, estimates: Mapping[str, Sensed]) -> Figure:
    part = slice(0, 1500)
    shown = {
        "paper": "published sensor",
        "wrist": "chord sensor",
        "motors": "observer, motors only",
    }
    curves = {label: 1e3 * estimates[name].deflection[part, 0] for name, label in shown.items()}
    title = "Deflection of the platen of limb 1"
    return compared_figure(truth.t[part], 1e3 * truth.deflection[part, 0], curves, "mm", title)


def _tool_figure(truth: Truth, estimates: Mapping[str, Sensed]) -> Figure:
    """Coordinates of the tool, and errors in space: figures 8, 12 and 13 of the paper."""
    part = slice(0, 1500)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 5.5), layout="constrained")
        path, error = figure.subplots(2, 1, sharex=True)
        for k, axis in enumerate("xyz"):
            path.plot(truth.t[part], 1e3 * truth.tool[part, k], color=f"C{k}", label=axis)
        path.set_ylabel("position of the tool [mm]")
        labels = {"paper": "published closure", "rigid": "rigid links", "wrist": "chord sensor"}
        for k, (name, label) in enumerate(labels.items()):
            off = np.linalg.norm(estimates[name].tool - truth.tool, axis=1)
            error.semilogy(truth.t[part], 1e6 * off[part], color=f"C{k + 3}", lw=0.9, label=label)
        error.set(xlabel="t [s]", ylabel="error in space [um]")
        for axes in (path, error):
            legend_outside(axes)
    return figure
