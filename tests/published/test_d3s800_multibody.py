"""The D3S-800 of 17 bodies in absolute coordinates, against numbers computed elsewhere.

Elshami, Shehata, Bai, Zhao, "Multibody Dynamics Modeling of Delta Robot with Experimental
Validation". The paper shows curves only; reference numbers were computed independently, by a
closed form in three coordinates and by another multibody program, which agree to all digits.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from triskele.description.load import load
from triskele.multibody.adams import adams
from triskele.multibody.along import reactions_along
from triskele.multibody.from_robot import from_robot
from triskele.multibody.generalised_alpha import generalised_alpha
from triskele.multibody.integrate import simulate
from triskele.multibody.solve import accelerations
from triskele.studies import d3s800

ROBOT = load("d3s_800")
WEIGHT = 594.486
# Path coordinate s [m]; torques of the motors; force and moment (x, y) on the base.
TABLE = np.array(
    [
        [-0.25, -18.50677, -22.94545, -33.27486, -0.0512, -0.0382, 594.3529, -11.0243, 11.8283],
        [-0.05, -24.55541, -25.31895, -27.33829, -0.0128, 0.0156, 594.3157, -2.2108, 2.2474],
        [0.00, -25.77231, -25.77308, -25.77153, 0.0000, 0.0289, 594.3170, 0.0015, 0.0000],
        [0.05, -26.91935, -26.18401, -24.10833, 0.0125, 0.0408, 594.3227, 2.2839, -2.2473],
        [0.25, -31.21595, -27.54405, -15.73462, 0.0476, 0.0618, 594.3739, 12.6101, -11.8028],
    ]
)
FREE = {
    0.1: (0.101383459, 0.050597787, -0.902106733),
    0.2: (0.103874711, 0.051619223, -1.072711462),
    0.3: (0.093396772, 0.046630905, -1.298138854),
    0.5: (-0.304424821, -0.574285292, -0.851512453),
    1.0: (-0.360029543, -0.888853602, -0.561556080),
    2.0: (0.762326860, -0.128114805, -0.889172484),
    3.0: (-0.067617112, 0.555318054, -0.747718917),
    5.0: (0.318610578, -0.581675927, -0.869785849),
}


@pytest.fixture(scope="module")
def held():
    """Reactions along the path, motors driven and end effector driven."""
    return {
        driven: reactions_along(from_robot(ROBOT, driven=driven), d3s800.path())
        for driven in ("motors", "platform")
    }


def test_torques_and_base_reactions_along_the_line(held):
    rows = np.rint((TABLE[:, 0] + 0.25) / 0.001).astype(int)
    force, moment = held["motors"].of("stand")
    assert np.allclose(held["motors"].effort[rows], TABLE[:, 1:4], rtol=0, atol=1e-5)
    assert np.allclose(force[rows], TABLE[:, 4:7], rtol=0, atol=1e-4)
    assert np.allclose(moment[rows, :2], TABLE[:, 7:], rtol=0, atol=1e-4)
    assert np.abs(moment[:, 2]).max() < 0.0014 + 5e-5


def test_the_base_carries_the_weight_only_if_the_motors_drive(held):
    """Driven at its end effector, a third of the weight hangs on what moves it."""
    by_motors, by_platform = (held[key].of("stand")[0][:, 2] for key in ("motors", "platform"))
    assert np.isclose(9.81 * 60.6, WEIGHT, rtol=0, atol=1e-9)
    assert np.allclose([by_motors.min(), by_motors.max()], [594.3156, 594.3739], rtol=0, atol=1e-3)
    extremes = [by_platform.min(), by_platform.max()]
    assert np.allclose(extremes, [385.8824, 399.8682], rtol=0, atol=1e-3)
    driver = held["platform"].effort[:, 2]
    assert np.allclose([driver.min(), driver.max()], [194.4847, 208.4346], rtol=0, atol=1e-3)
    assert np.allclose(by_platform + driver, by_motors, rtol=0, atol=1e-9)


def test_base_forces_of_arms_and_efforts_are_unique_and_the_rest_is_not(held):
    joints, unique = held["motors"].joints, held["motors"].unique
    assert held["motors"].unique_effort.all()
    for name, flags in zip(joints, unique, strict=True):
        if name == "stand":
            assert flags.all()
        elif name.startswith("motor"):  # the moment about the axis is the drive's own
            assert flags.tolist() == [True, True, True, False, False, True]
        else:
            assert not flags[:3].any()


def by_hand(model, run):
    """Largest violation of the joint of arm 1: its points, and its axis times the size [m]."""
    names = list(model.system.bodies)
    (joint,) = (item for item in model.parts.joints if item.name == "motor_1")
    (at, R), (other, S) = (
        (
            run.origins[:, names.index(body)],
            Rotation.from_quat(run.states.p[:, names.index(body)], scalar_first=True).as_matrix(),
        )
        for body in (joint.parent, joint.child)
    )
    points = at + R @ joint.point - other - S @ joint.child_point
    axes = np.einsum("nij,jk,nil,l->nk", R, joint.frame[:, :2], S, joint.child_frame[:, 2])
    return max(np.abs(points).max(), float(model.system.size) * np.abs(axes).max())


@pytest.mark.long
def test_speed_of_motor_1_and_violation_of_its_joint_in_5_s():
    model = from_robot(ROBOT, driven="motors")
    loose = d3s800._driven(model, tolerance=1e-11, longest_step=0.05, stabilised=False)
    assert d3s800.arm_violation(model, loose) <= 3e-13
    coarse = d3s800._driven(model, tolerance=1e-3, stabilised=False, rate=2.0)
    for run in (loose, coarse):
        assert d3s800.arm_violation(model, run) == pytest.approx(by_hand(model, run), abs=1e-13)
    assert by_hand(model, coarse) > 1e-9
    kept = d3s800._driven(model, tolerance=1e-6, longest_step=0.05)
    assert by_hand(model, kept) <= 1e-13
    assert d3s800.arm_violation(model, kept) <= 1e-14
    assert kept.gap.max() <= 1e-14
    assert np.abs(np.linalg.norm(kept.states.p, axis=-1) - 1).max() <= 5e-15
    speeds = kept.qd[[0, 40, 50, 60, 100], 0]
    known = [-0.16970992, -0.11771090, -0.10264825, -0.08696375, -0.02186003]
    assert np.allclose(speeds, known, rtol=0, atol=1e-8)


@pytest.fixture(scope="module")
def falling():
    """The robot with its motors off, and where it starts."""
    model = from_robot(ROBOT)
    return model, model.at(jnp.array([0.1, 0.05, -0.847]))


def errors(model, run, *times):
    """Largest error of a coordinate of the platform at each time [m]."""
    x = run.origins[:, model.system.body("platform")]
    places = [int(np.abs(run.t - t).argmin()) for t in times]
    return [np.abs(x[k] - FREE[t]).max() for k, t in zip(places, times, strict=True)]


@pytest.mark.long
def test_five_seconds_of_free_motion_through_30_singularities(falling):
    model, start = falling
    run = simulate(model.system, start, 5.0, rate=10.0, tolerance=1e-9)
    assert run.ended is None
    assert np.isclose(run.energy[0], -54.878041453, rtol=0, atol=1e-9)
    assert run.imbalance <= 5e-6
    assert run.gap.max() <= 1e-13
    assert run.slip.max() <= 1e-12
    assert max(errors(model, run, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)) <= 1e-8
    assert max(errors(model, run, 3.0)) <= 1e-7
    assert max(errors(model, run, 5.0)) <= 2e-5


@pytest.mark.long
def test_adams_converges_with_its_tolerance_and_drifts_if_nothing_holds_it(falling):
    model, start = falling
    runs = [adams(model.system, start, 3.0, rate=10.0, tolerance=tol) for tol in (1e-6, 1e-8)]
    coarse, fine = (errors(model, run, 3.0)[0] for run in runs)
    assert fine <= coarse / 100
    assert max(run.gap.max() for run in runs) <= 1e-12
    loose = adams(model.system, start, 3.0, rate=10.0, tolerance=1e-6, stabilised=False)
    assert loose.gap.max() > 1e-6


@pytest.mark.long
def test_generalised_alpha_of_1_ms_is_off_by_a_quarter_of_a_millimetre_after_1_s(falling):
    """2.7e-4 m, of which the digits of two other programs agree."""
    model, start = falling
    run = generalised_alpha(model.system, start, 1.0, step=1e-3, every=100)
    assert np.isclose(errors(model, run, 1.0)[0], 2.7e-4, rtol=0.05)
    assert run.gap.max() <= 1e-12


@pytest.mark.parametrize("rods", ["built", "isostatic"])
def test_accelerations_under_given_torques(rods):
    """The unit test of all programs that were compared; redundant joints or not."""
    model = from_robot(ROBOT, rods=rods)
    x = jnp.array([0.1 / np.sqrt(2), 0.1 / np.sqrt(2), -0.847])
    state = model.at(x, jnp.array([0.3, -0.2, 0.5]))
    solve = eqx.filter_jit(accelerations)
    for tau, known in (
        ([-20.0, -30.0, -25.0], [-2.51596007, 0.23294913, -0.57953781]),
        ([0.0, 0.0, 0.0], [0.15998759, 0.22233154, -10.90971174]),
    ):
        found = solve(model.system, state, jnp.array(tau)).twist[model.system.body("platform")]
        assert np.allclose(found[:3], known, rtol=0, atol=1e-8)
        assert np.allclose(found[3:], 0, rtol=0, atol=1e-9)
