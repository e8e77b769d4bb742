"""Rigid torques of the Delta of Kuo (2016), along its circle and its inverted U.

The paper shows torques as curves only (figures 5 and 14), so nothing can be compared; these
are our values, of three models: rods as they are (distributed mass), rods halved to their
ends, and rods whole at both ends, as the paper's equations have them.

The paper's z axis points down and ours up: its frame turned by pi about x is ours, which
exchanges limbs 2 and 3. Its "inverted U" with d_z = +0.2 m leads away from the base.

Reference: Y.-L. Kuo, Mathematical modeling and analysis of the Delta robot with flexible
links, 2016, sections 5.3 and 5.4.
"""

import equinox as eqx
import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from triskele.description.load import load
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.kinematics.motion import Motion, circle, inverted_u
from triskele.numerics import Scalars, tabulate
from triskele.reports.figures import STYLE
from triskele.studies.lumped_delta import LumpedDelta, lumped_delta, lumped_efforts
from triskele.studies.study import Check, Exhibit, Finding, Progress, Study

NAME = "rigid_delta"
_CAPTIONS = {
    "torques": (
        "Torques of the rigid robot along both motions, as in the paper's figures 5 and 14: rods "
        "with distributed mass, halved to their ends, and whole at both ends."
    ),
}
_ONLY_CURVES = "the paper shows torques as curves only (figures 5 and 14)"
_TESTS = "tests/published/test_rigid_dynamics.py::"
CHECKS = {
    "distributed rods": Check(
        "Pinocchio",
        "1e-8 N m",
        "tests/oracles/test_dynamics_pinocchio.py::"
        "test_pinocchio_needs_our_torques_and_its_joints_carry_our_loads",
    ),
    "lumped rods": Check("second program", "1e-6 N m", _TESTS + "test_torques_of_lumped_rods"),
}
_CIRCLE, _U = ("circle",), ("inverted U",)
EXHIBITS = (
    Exhibit("Figure 5", "torques along the circle", _CIRCLE, "torques", _ONLY_CURVES),
    Exhibit("Figure 14", "torques along the inverted U", _U, "torques", _ONLY_CURVES),
)
ORDER = [0, 2, 1]  # our limbs in the order of the paper
Torques = Float[np.ndarray, "N 3"]


def run(progress: Progress | None = None) -> Study:
    """Torques along both motions, by three models."""
    model = rigid(load("flexible_delta"))
    halved, whole = lumped_delta(model), lumped_delta(model, whole=True)
    found: dict[str, tuple[Motion, dict[str, Torques]]] = {}
    for done, (name, motion) in enumerate(motions().items(), 1):
        arrays = tuple(np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))
        tau = tabulate(eqx.Partial(inverse_dynamics, model))(*arrays)
        models = {"distributed rods": np.stack(tau, axis=-1)}
        for label, lumped in (("rods halved", halved), ("rods whole, as printed", whole)):
            tau = tabulate(eqx.Partial(_lumped, lumped))(*arrays)
            models[label] = np.stack(tau, axis=-1)
        found[name] = motion, {label: values[:, ORDER] for label, values in models.items()}
        if progress is not None:
            progress(done / 2)
    findings = tuple(
        _finding(f"{name}, {label}: {end} torque of motor {k + 1}", float(most(tau[:, k])), label)
        for name, (_, models) in found.items()
        for label, tau in models.items()
        for k in range(3)
        for end, most in (("least", np.min), ("greatest", np.max))
    )
    figures = {"torques": _figure(found)}
    return Study(NAME, findings, figures, _CAPTIONS, ("flexible_delta",), EXHIBITS)


def _finding(quantity: str, ours: float, label: str) -> Finding:
    check = CHECKS[label if label in CHECKS else "lumped rods"]
    return Finding(NAME, quantity, "N m", None, ours, "not comparable", check, _ONLY_CURVES)


def motions() -> dict[str, Motion]:
    """The motions of sections 5.3 and 5.4 in our frame."""
    turning = circle([0.0, 0.0, -0.5], 0.1, period=1.0)
    mirrored = _mirrored(turning)
    times = [0.0, 0.2, 0.4, 0.6, 0.8]
    away = inverted_u([-0.08, 0.02, -0.5], [0.16, -0.04, -0.2], times=times)
    return {"circle": mirrored, "inverted U": away}


def _mirrored(motion: Motion) -> Motion:
    """The circle run clockwise, as the paper's looks from above in our frame."""
    flip = np.array([[1.0, -1.0, 1.0]])
    parts = (motion.x, motion.xd, motion.xdd, motion.xddd)
    x, xd, xdd, xddd = (part * flip for part in parts)
    return Motion(motion.t, x, xd, xdd, xddd, motion.coordinates)


def _lumped(model: LumpedDelta, x: Scalars, xd: Scalars, xdd: Scalars) -> Scalars:
    """A kernel for `numerics.tabulate`."""
    return lumped_efforts(model, x, xd, xdd).tau


def _figure(found: dict[str, tuple[Motion, dict[str, Torques]]]) -> Figure:
    """Both motions side by side; models as line styles, motors as colours."""
    styles = ("-", "--", ":")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4), layout="constrained")
        panels = figure.subplots(1, 2)
        for axes, (name, (motion, models)) in zip(panels, found.items(), strict=True):
            for style, (label, tau) in zip(styles, models.items(), strict=True):
                for k in range(3):
                    shown = f"motor {k + 1}, {label}" if k == 0 or style == "-" else None
                    axes.plot(motion.t, tau[:, k], style, color=f"C{k}", lw=1.3, label=shown)
            axes.set(title=name, xlabel="t [s]", ylabel="torque [N m], positive downwards")
        panels[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    return figure
