"""The time-optimal U-turn of an ABB IRB 360 with 2.5 kg, limited by what its rods carry.

800 mm along y and 180 mm up, as a B-spline. The paper prints the duration, about 0.48 s, and that
the speed attains the maximum velocity curve in its valleys at s = 0.2 and 0.8. It gives neither
control points nor the height of the path: the cubic B-spline of eight points that does so, from
z = -1 m, is used. Joint jerks are bounded along s, in which a start from rest is a step of
acceleration; and the load model leaves out lateral forces and the telescope's inertia.

Reference: D. Gnad, H. Gattringer, A. Mueller, W. Hoebarth, R. Riepl, L. Messner, Identification of
physically consistent dynamics parameter of the ABB IRB 360-6/1600 delta robot and its use for
time-optimal motion planning under consideration of constraint forces, Robotics and Autonomous
Systems, section 6.6.
"""

from typing import NamedTuple

import equinox as eqx
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from triskele.description.load import load
from triskele.description.schema import Robot
from triskele.dynamics.robot import rigid
from triskele.dynamics.rod_loads import rod_loads
from triskele.kinematics.build import build
from triskele.kinematics.cycles import joint_motion_along
from triskele.kinematics.path import BSpline, u_turn
from triskele.numerics import tabulate
from triskele.planning.plan import Plan, plan
from triskele.reports.figures import STYLE
from triskele.studies.reduced_loads import reduced_loads
from triskele.studies.study import (
    PAPER_ALONE,
    UNCHECKED,
    Check,
    Exhibit,
    Finding,
    Progress,
    Study,
    Verdict,
)

NAME = "irb360_planning"
_CAPTIONS = {
    "u_turn": (
        "Left, the speed on the path under its maximum velocity curve; right, what the rod that "
        "carries most bears when the paper's plan is put to both models. As in the paper's "
        "figures 15 and 16."
    ),
    "acceleration": (
        "Left, the path; right, the planned acceleration of the end effector, by the paper's "
        "program and by ours. As in the paper's figures 14 and 17."
    ),
}
_PAPER_DURATION = 0.48
_PAPER_VALLEYS = (0.2, 0.8)
_PAPER_ROD_FORCE = 108.0  #: 120 N less 10 %
_PAPER_LATERAL = 1.0
_CORNER = (
    "the paper does not give its control points; the corner alone changes the duration from 0.46 "
    "to 0.58 s"
)
_PROGRAMS = {"exact": "the paper's program, exact loads", "all limits": "all limits, true jerk"}
_NOT_STATED = "the paper does not state it"
_TESTS = "tests/published/test_irb360_planning.py::"
CHECKS = {
    "duration": Check("second program", "3 ms", _TESTS + "test_duration_of_the_published_program"),
    "true jerk": Check(
        "second program",
        "5 ms",
        _TESTS + "test_the_converged_duration_is_a_little_less_than_the_prototypes",
    ),
    "reduced loads": Check(
        "second program",
        "1e-3 N",
        "tests/published/test_rigid_dynamics.py::"
        "test_reduced_rod_forces_and_flange_loads_of_the_irb_360",
    ),
    "exact loads": Check(
        "Pinocchio",
        "1e-8 N",
        "tests/oracles/test_dynamics_pinocchio.py::"
        "test_pinocchio_needs_our_torques_and_its_joints_carry_our_loads",
    ),
    "acceleration": Check(
        "second differences of positions",
        "1 m/s^2",
        _TESTS + "test_acceleration_is_the_second_difference_of_positions",
    ),
    "prices": Check("solving again", "5 %", _TESTS + "test_prices_are_what_solving_again_gives"),
}
_DRAWING = "drawing or photograph without data"
_ROWS = {"loads": ("greatest rod force",), "speed": ("duration", "place")}
EXHIBITS = (
    Exhibit("Figure 1", "ball joint and spring clamp", why=_DRAWING),
    Exhibit("Figure 2", "the robot", why=_DRAWING),
    Exhibit("Figure 3", "chain diagram", why=_DRAWING),
    Exhibit("Figure 4", "one limb and its frames", why=_DRAWING),
    Exhibit("Figure 5", "task space as a hemisphere", why=_DRAWING),
    Exhibit("Figure 6", "bodies of the load computation", why=_DRAWING),
    Exhibit("Figure 14", "path of the U-turn", ("the path,",), "acceleration", why=_CORNER),
    Exhibit("Figure 15", "speed under the maximum velocity curve", _ROWS["speed"], "u_turn"),
    Exhibit("Figure 16", "rod forces along the U-turn", _ROWS["loads"], "u_turn"),
    Exhibit(
        "Figure 17",
        "acceleration of the end effector",
        ("greatest acceleration",),
        "acceleration",
        "planned; what a laser tracker measured is not public",
    ),
)


class Replay(NamedTuple):
    """Forces of the rods along a plan, by both load models, without friction."""

    t: np.ndarray  #: [s]
    exact: np.ndarray  #: tension at both ends [N]
    reduced: np.ndarray
    lateral: np.ndarray  #: across the rods, at both ends, magnitude [N]


def path(corner: float = 0.15) -> BSpline:
    """The U-turn; its corner has a radius of 50 mm."""
    return u_turn([0.0, -0.4, -1.0, 0.0], length=0.8, height=0.18, corner=corner)


def without_flange(robot: Robot) -> Robot:
    """`robot` without limits of the flange.

    By the paper's model, in which the telescope does not hang on the flange, they never bind.
    """
    limits = robot.limits.model_copy(update={"flange_force": None, "flange_torque": None})
    return robot.model_copy(update={"limits": limits})


def plans(progress: Progress | None = None) -> dict[str, Plan]:
    """The paper's program with its loads and with exact ones, and ours, step by step."""
    robot, curve, found = load("abb_irb360_6_1600"), path(), {}
    free = without_flange(robot)
    cases = {
        "reduced": (free, {"method": "largest-speed", "loads": reduced_loads, "friction": False}),
        "exact": (free, {"method": "largest-speed", "friction": False}),
        "least time": (free, {"method": "step-start", "friction": False}),
        "true jerk": (free, {"friction": False}),
        "all limits": (robot, {}),
    }
    for done, (name, (bounded, options)) in enumerate(cases.items(), 1):
        found[name] = plan(bounded, curve, "plate", **options)
        if progress is not None:
            progress(done / (len(cases) + 1))
    return found


def replayed(found: Plan, period: float = 1e-4) -> Replay:
    """Rod forces of a plan every `period` [s]."""
    model = rigid(found.robot, found.payload, friction=False)
    motion = found.motion(period=period)
    states = [np.asarray(part) for part in (motion.x, motion.xd, motion.xdd)]
    exact = tabulate(eqx.Partial(rod_loads, model))(*states)
    reduced = tabulate(eqx.Partial(reduced_loads, model))(*states)
    across = [
        np.linalg.norm(np.stack(force, axis=-1), axis=-1)
        for force in (*exact.lower_lateral, *exact.upper_lateral)
    ]
    return Replay(
        np.asarray(motion.t),
        np.stack((*exact.lower, *exact.upper), axis=-1),
        np.stack((*reduced.lower, *reduced.upper), axis=-1),
        np.stack(across, axis=-1),
    )


def touches(found: Plan) -> tuple[float, float]:
    """Where the plan comes nearest to the maximum velocity curve, in each half of the path."""
    near = found.speed / found.fastest
    first, second = (
        float(found.s[np.where(half, near, 0.0).argmax()])
        for half in (found.s < 0.5, found.s >= 0.5)
    )
    return first, second


def run(progress: Progress | None = None) -> Study:
    """Durations, valleys, and what the rods really carry."""
    found = plans(progress)
    forces = replayed(found["reduced"])
    findings = (
        *_durations(found),
        *_valleys(found["exact"]),
        *_forces(forces),
        *_limits(found),
        *_path_and_acceleration(found),
    )
    figures = {"u_turn": _figure(found, forces), "acceleration": _acceleration_figure(found)}
    if progress is not None:
        progress(1.0)
    return Study(NAME, findings, figures, _CAPTIONS, ("abb_irb360_6_1600",), EXHIBITS)


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


def _durations(found: dict[str, Plan]) -> tuple[Finding, ...]:
    rows = []
    for name, what in (("reduced", "its load model"), ("exact", "exact rod forces")):
        ours = found[name].duration
        agrees = round(ours, 2) == _PAPER_DURATION
        rows.append(
            _finding(
                f"duration, the paper's program with {what}",
                "s",
                _PAPER_DURATION,
                ours,
                "reproduced" if agrees else "differs",
                CHECKS["duration"] if name == "exact" else PAPER_ALONE,
                "" if agrees else _CORNER,
            )
        )
    others = {
        "least time": "duration, least time instead of the largest integral of squared speed",
        "true jerk": "duration, jerks bounded from rest to rest as well",
        "all limits": "duration, with friction, and the telescope hanging on the flange",
    }
    checks = {"least time": CHECKS["duration"], "true jerk": CHECKS["true jerk"]}
    for name, quantity in others.items():
        ours, check = found[name].duration, checks.get(name, UNCHECKED)
        rows.append(_finding(quantity, "s", None, ours, "not comparable", check, _NOT_STATED))
    return tuple(rows)


def _valleys(found: Plan) -> tuple[Finding, ...]:
    return tuple(
        _finding(
            f"place {k} where the speed attains the maximum velocity curve, s",
            "",
            paper,
            ours,
            "reproduced" if round(ours, 1) == paper else "differs",
            PAPER_ALONE,
            "" if round(ours, 1) == paper else _CORNER,
        )
        for k, (paper, ours) in enumerate(zip(_PAPER_VALLEYS, touches(found), strict=True), 1)
    )


def _forces(forces: Replay) -> tuple[Finding, ...]:
    rows = (
        (
            "greatest rod force of its plan by its own model",
            _PAPER_ROD_FORCE,
            forces.reduced,
            CHECKS["reduced loads"],
        ),
        (
            "greatest rod force of its plan by the exact model",
            _PAPER_ROD_FORCE,
            forces.exact,
            CHECKS["exact loads"],
        ),
        (
            "greatest lateral force on a rod",
            _PAPER_LATERAL,
            forces.lateral,
            CHECKS["exact loads"],
        ),
    )
    found = []
    for what, paper, values, check in rows:
        ours = float(np.abs(values).max())
        agrees = ours <= paper * 1.005
        reason = (
            ""
            if agrees
            else "the reduced model leaves out lateral forces of six rods, which add up on the "
            "platform, and the inertia of the telescope; the vertical motion on which it was "
            "validated cannot show either"
        )
        found.append(
            _finding(what, "N", paper, ours, "reproduced" if agrees else "differs", check, reason)
        )
    return tuple(found)


def _limits(found: dict[str, Plan]) -> tuple[Finding, ...]:
    motion = found["exact"].motion(period=1e-3)
    joints = joint_motion_along(build(found["exact"].robot), motion)
    step = np.degrees(np.abs(np.asarray(joints.qdd)[0]).max())
    rows = [
        _finding(
            "acceleration of an arm at the first instant of its plan",
            "deg/s^2",
            None,
            float(step),
            "not comparable",
            UNCHECKED,
            "a polynomial of s that starts from rest starts with a step of acceleration, which a "
            "jerk limit along s does not see",
        )
    ]
    for key in ("rod_force", "joint_jerk", "flange_force"):
        rows.append(
            _finding(
                f"time saved by 10 % more {key.replace('_', ' ')}",
                "ms",
                None,
                1e3 * found["all limits"].prices[key],
                "not comparable",
                CHECKS["prices"],
                _NOT_STATED,
            )
        )
    return tuple(rows)


def accelerations(found: Plan, period: float = 4e-4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times [s], positions [m] and accelerations [m/s^2] of the end effector in a plan."""
    motion = found.motion(period=period)
    return tuple(np.asarray(part) for part in (motion.t, motion.x[:, :3], motion.xdd[:, :3]))  # pyright: ignore[reportReturnType]


def _path_and_acceleration(found: dict[str, Plan]) -> tuple[Finding, ...]:
    _, x, _ = accelerations(found["exact"])
    rows = []
    for what, paper, k in (("across", 800.0, 1), ("up", 180.0, 2)):
        ours = 1e3 * float(np.ptp(x[:, k]))
        verdict: Verdict = "reproduced" if round(ours) == paper else "differs"
        rows.append(_finding(f"the path, {what}", "mm", paper, ours, verdict, PAPER_ALONE))
    for name, label in _PROGRAMS.items():
        _, _, xdd = accelerations(found[name])
        most = float(np.linalg.norm(xdd, axis=1).max())
        rows.append(
            _finding(
                f"greatest acceleration of the end effector, {label}",
                *("m/s^2", None, most, "not comparable", CHECKS["acceleration"], _NOT_STATED),
            )
        )
    return tuple(rows)


def _acceleration_figure(found: dict[str, Plan]) -> Figure:
    """The path, and the acceleration of the end effector along it: figures 14 and 17."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        way, push = figure.subplots(1, 2)
        _, x, _ = accelerations(found["exact"])
        way.plot(x[:, 1], x[:, 2], color="black")
        way.set(xlabel="y [m]", ylabel="z [m]", aspect="equal")
        for color, (name, label) in zip(("C0", "C1"), _PROGRAMS.items(), strict=True):
            t, _, xdd = accelerations(found[name])
            for k, axis, style in ((1, "y", "-"), (2, "z", "--")):
                push.plot(t, xdd[:, k], style, color=color, lw=1.1, label=f"{axis}, {label}")
        push.set(xlabel="t [s]", ylabel="acceleration of the end effector [m/s$^2$]")
        push.legend(fontsize=8)
    return figure


def _figure(found: dict[str, Plan], forces: Replay) -> Figure:
    """Squared path speed under the maximum velocity curve, and rod forces: figures 15 and 16."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        speed, force = figure.subplots(1, 2)
        exact = found["exact"]
        speed.plot(exact.s, exact.fastest**2, color="black", lw=1, label="maximum velocity curve")
        for color, (name, label) in zip(("C0", "C1"), _PROGRAMS.items(), strict=True):
            shown = f"{label}: {found[name].duration:.3f} s"
            speed.plot(found[name].s, found[name].speed ** 2, color=color, label=shown)
        speed.set(xlabel="s [1]", ylabel="squared path speed [1/s$^2$]", ylim=(0, 30))
        worst = int(np.abs(forces.exact).max(axis=0).argmax())
        force.plot(forces.t, forces.exact[:, worst], color="C3", label="exact model")
        force.plot(forces.t, forces.reduced[:, worst], color="C0", label="the paper's model")
        for sign, shown in ((-1, None), (1, f"{_PAPER_ROD_FORCE:g} N, allowed")):
            force.axhline(sign * _PAPER_ROD_FORCE, color="black", ls="--", lw=1, label=shown)
        force.set(xlabel="t [s]", ylabel="tension of the rod that carries most [N]")
        speed.legend(fontsize=8)
        force.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.6, 0.07))
    return figure
