import numpy as np
import pytest
from irb360 import L_A, L, excited, robot, without_balls

from triskele.errors import InputError
from triskele.identification.base import base_parameters, rank_of
from triskele.identification.forms import forms_of, reduced
from triskele.identification.regressor import INERTIA, driven_regressor

BODIES = ("arm", "rod", "platform", "telescope_upper", "telescope_lower")


def named(Y, keep):
    return Y.only([p for p in Y.parameters if keep(p)])


def small():
    """The paper's reduced set: strut 4, arm 4 (with its mass), platform 1, telescope 8, rotor 1."""
    model, parts = robot(), [part.part for part in robot().mechanism.parts]
    tens = {part: np.asarray(model.theta[parts.index(part)]) for part in BODIES}
    Y = reduced(without_balls(), tens, forms_of(model, BODIES))
    return named(Y, lambda p: p.name in (*INERTIA, "rotor"))


def test_counts_of_the_irb360():
    Y = without_balls()
    inertia = named(Y, lambda p: p.name in (*INERTIA, "rotor"))
    no_flange = named(inertia, lambda p: p.part != "end_effector")
    assert [len(part.parameters) for part in (Y, inertia, no_flange)] == [71, 61, 51]
    found = [base_parameters(part) for part in (Y, inertia, no_flange)]
    assert [part.rank for part in found] == [37, 27, 25]
    assert all(part.gap > 1e6 and part.clear for part in found)
    assert len(small().parameters) == 18
    assert base_parameters(small()).rank == 11
    assert base_parameters(excited()).rank == 39  # and both coefficients of the balls


def test_the_eleven_formulas_span_what_torques_see():
    """B1 to B11, written down by hand, vanish on the null space of Y and nowhere else."""
    Y = small()
    place = {str(p): k for k, p in enumerate(Y.parameters)}
    formulas = (
        {
            "arm.yy": 1,
            "rod.m": 2 * L_A**2,
            "rod.mc_x": -4 * L_A**2 / L,
            "rod.yy": 2 * (L_A / L) ** 2,
        },
        {"arm.mc_x": 1, "rod.m": 2 * L_A, "rod.mc_x": -2 * L_A / L},
        {"arm.mc_z": 1},
        {"platform.m": 1, "telescope_lower.m": 1, "rod.yy": 6 / L**2},
        {"rod.mc_x": 1 / L, "rod.yy": -1 / L**2},
        {"rod.xx": 1},
        {"telescope_upper.xx": 1, "telescope_lower.xx": 1},
        {"telescope_upper.zz": 1, "telescope_lower.zz": 1},
        {"telescope_upper.mc_z": 1},
        {"telescope_lower.mc_z": 1},
        {"drive_4.rotor": 1},
    )
    B = np.zeros((11, len(place)))
    for row, formula in zip(B, formulas, strict=True):
        for name, value in formula.items():
            row[place[name]] = value
    rows = Y.rows / np.linalg.norm(Y.rows, axis=0).clip(1e-30)
    _, values, V = np.linalg.svd(Y.rows)
    assert values[10] > 1e6 * values[11]
    null = V[11:]
    assert np.abs(B @ null.T).max() < 1e-12
    assert np.linalg.matrix_rank(B) == 11
    assert rows.shape[1] - 11 == len(null)
    # And ours say the same: each is a multiple of the others.
    ours = base_parameters(Y).read
    assert np.linalg.matrix_rank(np.vstack([B, ours]), tol=1e-9) == 11


def test_formulas_are_printed_in_the_robots_own_parameters():
    base = base_parameters(without_balls())
    formulas = base.formulas()
    assert "arm.mc_x + rod.m - 0.8175 rod.zz" in formulas
    assert "platform.m + 4.905 rod.zz + end_effector.m + telescope_lower.m" in formulas
    assert "drive_4.rotor + end_effector.zz" in formulas
    kinds = base.kinds()
    assert (kinds["arm.mc_z"], kinds["rod.m"], kinds["telescope_upper.m"]) == (
        "alone",
        "combined",
        "none",
    )


def test_both_forms_of_the_combinations_reproduce_the_torques():
    Y = without_balls()
    base = base_parameters(Y)
    picked = Y.rows[:, list(base.picked)]
    assert np.allclose(picked @ base.combinations, Y.rows, atol=1e-9)
    assert np.allclose(base.to_read() @ base.combinations, base.read, atol=1e-9)


def test_of_arms_alone_three_moments_and_two_frictions_each():
    random = np.random.default_rng(3)
    q, qd, qdd = random.uniform(-1, 1, (3, 64, 4))
    base = base_parameters(driven_regressor(robot(), q, qd, qdd))
    assert base.rank == 3 * (3 + 2) + 3
    assert {"arm_2.mc_x", "arm_3.yy", "drive_4.rotor"} <= set(base.formulas())


def test_a_rank_needs_a_fall_and_enough_rows():
    assert rank_of(np.array([1.0, 0.5, 1e-15])) == (2, pytest.approx(0.5 / 3e-15))
    assert rank_of(np.array([1.0, 0.5, 0.1]))[0] == 3
    with pytest.raises(InputError, match="4 rows cannot tell 71 parameters apart"):
        Y = without_balls()
        base_parameters(Y._replace(matrix=Y.matrix[:1]))
