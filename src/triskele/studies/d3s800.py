"""The D3S-800 in absolute coordinates, on the straight path of its experiment.

The end effector moves at 100 mm/s along 45 deg at z = -847 mm for 5 s. The paper prints one
number, the violation of a joint; base reactions and motor speed are curves without values. It
does not say where the path starts, what drives the robot, or how joints are stabilised. Here
the path runs from -0.25 m to +0.25 m through the axis, and the motors drive; that the end
effector drives, with the motors free, is computed beside it.

Reference: M. Elshami, M. Shehata, Q. Bai, X. Zhao, Multibody dynamics modeling of Delta robot
with experimental validation, section 4.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from triskele.description.load import load
from triskele.kinematics.motion import Motion, line, uniform
from triskele.multibody.adams import adams
from triskele.multibody.along import reactions_along
from triskele.multibody.from_robot import RobotSystem, from_robot
from triskele.multibody.integrate import Run
from triskele.multibody.joints import system
from triskele.multibody.reactions import JointReactions
from triskele.multibody.redundancy import mobility
from triskele.multibody.solve import joint_gaps
from triskele.multibody.system import State, System
from triskele.numerics import AnyArray, stacked
from triskele.reports.figures import STYLE
from triskele.studies.study import (
    Check,
    Exhibit,
    Finding,
    Progress,
    Study,
    Verdict,
)

NAME = "d3s800"
_CAPTIONS = {
    "line": (
        "Violation of a joint, load on the base and speed of the motors along the line, as in the "
        "paper's figures 3, 4 and 6."
    ),
}
_HEIGHT, _SPEED, _DURATION = -0.847, 0.1, 5.0
_ALONG = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
_START = -0.25 * _ALONG + np.array([0.0, 0.0, _HEIGHT])
_END = 0.25 * _ALONG + np.array([0.0, 0.0, _HEIGHT])
_PAPER_VIOLATION = 3e-13
_LONGEST_STEP = 0.05  #: [s]
_CURVES = "the paper shows a curve without values"
_NOT_STATED = "the paper does not state it"
_TESTS = "tests/published/test_d3s800_multibody.py::"
CHECKS = {
    "freedom": Check(
        "MuJoCo", "exact", "tests/oracles/test_mujoco.py::test_mujoco_counts_as_many_freedoms"
    ),
    "table 1": Check(
        "second program",
        "exact",
        "tests/multibody/test_redundancy.py::test_the_joints_of_table_1_leave_18_degrees_of_freedom",
    ),
    "violation": Check(
        "numpy",
        "1e-13 m",
        _TESTS + "test_speed_of_motor_1_and_violation_of_its_joint_in_5_s",
    ),
    "redundancy": Check(
        "Exudyn",
        "exact",
        "tests/oracles/test_multibody_exudyn.py::"
        "test_exudyn_needs_our_torques_and_knows_which_loads_are_unique",
    ),
    "base": Check(
        "second program",
        "1e-3 N",
        _TESTS + "test_the_base_carries_the_weight_only_if_the_motors_drive",
    ),
    "speed": Check(
        "closed form",
        "1e-8 rad/s",
        _TESTS + "test_speed_of_motor_1_and_violation_of_its_joint_in_5_s",
    ),
    "torque": Check(
        "second program",
        "1e-5 N m",
        _TESTS + "test_torques_and_base_reactions_along_the_line",
    ),
}
_DATA = "data of the robot file d3s_800"
EXHIBITS = (
    Exhibit("Table 1", "joints of one chain", ("degrees of freedom", "redundant")),
    Exhibit("Table 2", "dimensions, masses and inertia", why=_DATA),
    Exhibit("Figure 1", "drawing of the multibody model", why="drawing without data"),
    Exhibit("Figure 2", "drawings of two joints", why="drawing without data"),
    Exhibit(
        "Figure 3",
        "violation of a joint, and position of the end effector",
        ("violation",),
        "line",
        "the position is the prescribed line, whose start is not printed",
    ),
    Exhibit("Figure 4", "force and moment on the base", ("base reaction",), "line", _CURVES),
    Exhibit("Figure 5", "photograph of the experiment", why="photograph without data"),
    Exhibit(
        "Figure 6",
        "speed of motor 1, measured and computed",
        ("speed of motor 1",),
        "line",
        "the measured curve has no values",
    ),
)


def table_1(model: RobotSystem) -> System:
    """The robot with the joints of Table 1 as printed, seven of each chain.

    The second forearm hangs at the first by one rod alone: its balls at arm and end effector, and
    the hinge of the second rod at the first forearm, are not in the table.
    """
    omitted = {
        name.format(i)
        for name in ("elbow_rod_{}b", "wrist_rod_{}b", "hinge_rod_{}ab")
        for i in (1, 2, 3)
    }
    listed = [joint for joint in model.parts.joints if joint.name not in omitted]
    return system("Table 1", model.parts.bodies, listed)[0]


class MotorAngles(eqx.Module):
    """Angles of the motors while the end effector moves along the line."""

    model: RobotSystem

    def __call__(self, t: Array) -> Float[AnyArray, "3"]:
        """At the time t [s]."""
        x = jnp.asarray(_START) + _SPEED * t * jnp.asarray(_ALONG)
        return stacked(self.model.mechanism.inverse(tuple(x)).components)


class _Models(NamedTuple):
    """The same robot, with its motors driven, and with its end effector driven."""

    motors: RobotSystem
    platform: RobotSystem


def run(progress: Progress | None = None) -> Study:
    """Mobility, violations, base reactions and motor speed."""

    def report(part: float) -> None:
        if progress is not None:
            progress(part)

    robot = load("d3s_800")
    models = _Models(from_robot(robot, driven="motors"), from_robot(robot, driven="platform"))
    motion = path()
    held = [reactions_along(model, motion) for model in models]
    report(0.3)
    runs = {}
    settings = {
        "not stabilised": {"tolerance": 1e-11, "longest_step": _LONGEST_STEP, "stabilised": False},
        "default tolerance of ode113": {"tolerance": 1e-3, "stabilised": False, "rate": 2.0},
        "projected": {"tolerance": 1e-6, "longest_step": _LONGEST_STEP},
    }
    for done, (name, setting) in enumerate(settings.items(), 1):
        runs[name] = _driven(models.motors, **setting)
        report(0.3 + 0.2 * done)
    findings = (
        *_mobility(models.motors),
        *_violations(models.motors, runs),
        *_base(held),
        *_motors(motion, held[0], runs["projected"]),
    )
    figures = {"line": _figure(models.motors, motion, held, runs)}
    report(1.0)
    return Study(NAME, findings, figures, _CAPTIONS, ("d3s_800",), EXHIBITS)


def path() -> Motion:
    """The path of the end effector, 100 mm/s."""
    return line(_START, _END, duration=_DURATION, law=uniform, rate=100.0)


def start(model: RobotSystem) -> State:
    """Where the robot is at the start, moving already."""
    return jax.jit(lambda x, xd: model.at(x, xd))(jnp.asarray(_START), jnp.asarray(_SPEED * _ALONG))


def _driven(model: RobotSystem, **setting: float) -> Run:
    bare = model._replace(parts=model.parts._replace(bodies=(), joints=()))
    options = {"rate": 20.0} | setting
    return adams(model.system, start(model), _DURATION, signal=MotorAngles(bare), **options)  # pyright: ignore[reportArgumentType]


def _finding(
    quantity: str,
    unit: str,
    paper: float | None,
    ours: float,
    verdict: Verdict,
    check: Check,
    reason: str = "",
) -> Finding:
    return Finding(NAME, quantity, unit, paper, ours, verdict, check, reason)


def _mobility(model: RobotSystem) -> tuple[Finding, ...]:
    counted = mobility(model.system.with_free_motors(), start(model))
    listed = mobility(table_1(model), start(model))
    agrees: Verdict = "reproduced" if counted.freedom == 3 else "differs"
    return (
        _finding(
            "degrees of freedom, joints of Table 1 alone",
            "",
            3.0,
            float(listed.freedom),
            "differs",
            CHECKS["table 1"],
            "the table leaves out three joints of each chain: both balls of the second forearm and "
            "a hinge of the second rod",
        ),
        _finding("degrees of freedom", "", 3.0, float(counted.freedom), agrees, CHECKS["freedom"]),
        _finding(
            "redundant conditions of the joints",
            "",
            None,
            float(counted.redundant),
            "not comparable",
            CHECKS["redundancy"],
            _NOT_STATED,
        ),
    )


def arm_violation(model: RobotSystem, run: Run) -> float:
    """The largest residual of the joint between arm 1 and the base [m]."""
    gaps = np.asarray(joint_gaps(model.system, jax.tree.map(jnp.asarray, run.states)))
    names = [joint.name for joint in model.system.joints]
    return float(gaps[:, names.index("motor_1")].max())


def _violations(model: RobotSystem, runs: dict[str, Run]) -> tuple[Finding, ...]:
    found = []
    for name, run in runs.items():
        ours = arm_violation(model, run)
        holds = ours <= _PAPER_VIOLATION
        reason = (
            ""
            if holds
            else ("steps of 0.5 s at a tolerance of 1e-3: the violation is what the steps make it")
        )
        found.append(
            _finding(
                f"violation of the joint of arm 1, Adams, {name}",
                "m",
                _PAPER_VIOLATION,
                ours,
                "reproduced" if holds else "differs",
                CHECKS["violation"],
                reason,
            )
        )
    return tuple(found)


def _base(held: list[JointReactions]) -> tuple[Finding, ...]:
    found = []
    for name, item in zip(("motors", "end effector"), held, strict=True):
        force = item.of("stand")[0][:, 2]
        for end, value in (("least", force.min()), ("greatest", force.max())):
            found.append(
                _finding(
                    f"base reaction in z, {name} driven, {end}",
                    "N",
                    None,
                    float(value),
                    "not comparable",
                    CHECKS["base"],
                    f"{_CURVES}; it says the weight, 594.486 N, which only motors that carry it "
                    "put on the base",
                )
            )
    return tuple(found)


def _motors(motion: Motion, held: JointReactions, run: Run) -> tuple[Finding, ...]:
    speeds, torques = run.qd[:, 0], held.effort[:, 0]
    at = {"start": 0, "end": -1}
    return tuple(
        _finding(
            f"{what} of motor 1 at the {when}",
            unit,
            None,
            float(values[k]),
            "not comparable",
            CHECKS[what],
            _CURVES,
        )
        for what, unit, values in (("speed", "rad/s", speeds), ("torque", "N m", torques))
        for when, k in at.items()
    )


def _figure(
    model: RobotSystem, motion: Motion, held: list[JointReactions], runs: dict[str, Run]
) -> Figure:
    """Violation, base force and moment, motor speed: figures 3, 4 and 6 of the paper."""
    t = np.asarray(motion.t)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 7), layout="constrained")
        (gap, force), (speed, moment) = figure.subplots(2, 2)
        names = [joint.name for joint in model.system.joints]
        for name, run in runs.items():
            gaps = np.asarray(joint_gaps(model.system, jax.tree.map(jnp.asarray, run.states)))
            values = np.maximum(gaps[:, names.index("motor_1")], 1e-18)
            gap.semilogy(run.t, values, label=name, lw=1.4)
        gap.axhline(_PAPER_VIOLATION, color="black", ls=":", lw=1, label="paper, at most")
        gap.set(xlabel="t [s]", ylabel="violation of the joint of arm 1 [m]")
        for style, label, item in zip("-:", ("motors", "end effector"), held, strict=False):
            for k, axis in enumerate("xyz"):
                shown = f"{axis}, {label} driven"
                force.plot(t, item.of("stand")[0][:, k], style, color=f"C{k}", label=shown)
        force.set(xlabel="t [s]", ylabel="force on the base [N]")
        for k, axis in enumerate("xyz"):
            moment.plot(t, held[0].of("stand")[1][:, k], color=f"C{k}", label=axis)
        moment.set(xlabel="t [s]", ylabel="moment on the base [N m], motors driven")
        run = runs["projected"]
        for k in range(3):
            speed.plot(run.t, run.qd[:, k], color=f"C{k}", label=f"motor {k + 1}")
        speed.set(xlabel="t [s]", ylabel="speed [rad/s]")
        for axes in (gap, force, speed, moment):
            columns = 2 if axes in (gap, force) else 3
            axes.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns)
    return figure
