"""How much of each limit a motion uses, with the peaks put where the test knows them."""

import jax.numpy as jnp
import numpy as np
import pytest
from random_motions import ROWS

from triskele.description.load import load
from triskele.dynamics.limits import limit_series
from triskele.dynamics.reactions import Reactions
from triskele.dynamics.torques import JointLoads, RodSeries
from triskele.kinematics.build import build
from triskele.kinematics.cycles import JointMotion
from triskele.kinematics.motion import Motion

IRB, PRS = load("abb_irb360_6_1600"), load("compliant_3prs")
T = np.linspace(0, 1, ROWS) ** 2  # unevenly spaced


def still(n, **peaks):
    """(ROWS, n) zeros but for the named column's peak: c1=(sample, value)."""
    values = np.zeros((ROWS, n))
    for column, (sample, value) in peaks.items():
        values[sample, int(column[1:])] = value
    return values


def uses(robot, x, joints, tau, loads=None):
    mechanism = build(robot)
    names, nothing = mechanism.platform_coordinates, jnp.zeros(np.shape(x))
    motion = Motion(jnp.asarray(T), jnp.asarray(x), *[nothing] * 3, coordinates=names)
    series = limit_series(robot, mechanism, motion, joints, tau, loads)
    found = [item.worst(T) for item in series]
    assert (np.diff([item.use for item in found]) < 1e-8).all()  # equal ones in the order of joints
    return {item.limit.label: item for item in found}


@pytest.fixture(scope="module")
def irb():
    """An IRB 360 that goes aside at sample 11; its motors may give 2 N m for long."""
    drives = IRB.motors.drives.model_copy(update={"continuous_torque": 2.0})
    motors = IRB.motors.model_copy(update={"drives": drives})
    x = np.tile([0.0, 0.0, -0.963, 0.0], (ROWS, 1))
    x[11] = [0.0, 0.553, -0.963, 0.0]  # half of a rod: a tilt of 30 degrees
    joints = JointMotion(
        *map(
            jnp.asarray,
            (
                still(4, c0=(3, np.radians(100)), c1=(4, np.radians(-9.5)), c3=(5, 50.0)),
                still(4, c1=(6, -10.0), c3=(7, 20.0)),
                still(4, c2=(8, 30.0)),
                still(4, c0=(9, -1000.0)),
            ),
        )
    )
    tau = still(4, c1=(7, -99.0))
    tau[:, 0] = np.sqrt(T)
    rods = RodSeries(
        names=("rod_1a", "rod_1b"),
        lower=still(2, c0=(5, 54.0), c1=(6, 10.0)),
        upper=still(2, c0=(5, -60.0), c1=(6, -5.0)),
        lower_lateral=still(2),
        upper_lateral=still(2),
        unique=True,
    )
    loads = JointLoads(
        rods=rods,
        bearing_force=still(4),
        bearing_moment=still(4),
        flange_force=still(3, c0=(8, 30.0), c2=(8, 40.0)),
        flange_moment=still(3, c0=(9, -3.0), c1=(9, 4.0), c2=(2, 100.0)),
        payload_force=still(3),
        reactions=Reactions(
            (), *[np.zeros((ROWS, 0, 3))] * 2, np.zeros((0, 6), bool), np.zeros((ROWS, 0, 3))
        ),
    )
    return uses(IRB.model_copy(update={"motors": motors}), x, joints, tau, loads)


@pytest.mark.parametrize(
    "name, allowed, worst, sample",
    [
        # Of torques and loads a tenth is kept free, of motions nothing.
        ("torque of motor 2", 0.9 * 132, -99.0, 7),
        ("tension of rod 1a", 0.9 * 120, -60.0, 5),
        ("tension of rod 1b", 0.9 * 120, 10.0, 6),
        ("force on the flange", 0.9 * 140, 50.0, 8),
        ("tilting moment on the flange", 0.9 * 10, 5.0, 9),
        ("speed of q2", np.radians(1088), -10.0, 6),
        ("speed of q4", np.radians(3200), 20.0, 7),
        ("speed of motor 2", np.radians(36000 / 33), -10.0, 6),
        ("speed of motor 4", np.radians(36000 / 11.25), 20.0, 7),
        ("acceleration of q3", np.radians(5000), 30.0, 8),
        ("jerk of q1", np.radians(1e5), -1000.0, 9),
        ("tilt of rod 1", np.radians(47), np.pi / 6, 11),
    ],
)
def test_a_magnitude_is_compared_with_what_is_allowed(irb, name, allowed, worst, sample):
    found = irb[name]
    assert np.allclose(found[1:], [allowed, worst, T[sample], abs(worst) / allowed], rtol=1e-12)


def test_a_range_is_used_from_its_middle(irb):
    # -46 to 100 degrees: 27 in the middle, 73 to either side.
    found = irb["position of q1"]
    assert np.allclose(found[1:], [np.radians(100), np.radians(100), T[3], 1], rtol=1e-12)
    assert not found.exceeded  # at the limit
    found = irb["position of q2"]
    assert np.allclose(found[1:], [*np.radians([-46, -9.5]), T[4], 0.5], rtol=1e-12)
    assert "position of q4" not in irb
    # 0.8 to 1.46 m; 1 m on the axis, hypot(1, 0.553) beside it is nearer to the middle.
    found = irb["length of the telescope"]
    assert np.allclose(found[1:], [0.8, 1.0, T[0], 0.13 / 0.33], rtol=1e-12)


def test_an_average_is_taken_over_time_however_it_is_sampled(irb):
    # tau^2 = t from 0 to 1 s: its mean is 1/2. Of 33 * 2 N m a tenth is kept free.
    found = irb["RMS torque of motor 1"]
    assert np.allclose(found[1:], [59.4, np.sqrt(0.5), 1.0, np.sqrt(0.5) / 59.4], rtol=1e-12)


def test_limits_that_the_file_lacks_are_left_out(irb):
    assert "torque of motor 4" not in irb
    assert "acceleration of q4" not in irb
    assert "RMS torque of motor 4" not in irb


def test_more_than_allowed_is_exceeded(irb):
    name = "speed of motor 2"
    assert not irb[name].exceeded
    assert irb[name]._replace(use=1.001).exceeded


def test_sliders_have_forces_and_positions_and_a_singularity_is_a_limit_from_below():
    drives = PRS.motors.drives.model_copy(update={"peak_torque": 0.1})
    robot = PRS.model_copy(
        update={
            "limits": PRS.limits.model_copy(update={"margin": 0.5}),
            "motors": PRS.motors.model_copy(update={"drives": drives}),
        }
    )
    mechanism = build(PRS)
    home = mechanism.home()
    q = np.tile(mechanism.inverse(home).value, (ROWS, 1))
    joints = JointMotion(*map(jnp.asarray, (q, still(3), still(3), still(3))))
    x = np.tile([float(value) for value in home], (ROWS, 1))
    found = uses(robot, x, joints, still(3, c1=(5, 20.0)))
    force = found["force of motor 2"]
    assert force.limit.unit == "N"
    assert np.allclose(force[1:], [20 * np.pi, 20.0, T[5], 1 / np.pi], rtol=1e-12)
    # -2.42 to 3.26 mm: 0.42 in the middle, and 0.3003 mm at home.
    found_at = found["position of s3"]
    assert np.allclose(found_at[1:], [-2.42e-3, 0.3003e-3, 0, 0.1197 / 2.84], rtol=1e-3)
    # Bars at 45 degrees hold a level platform by sin^3.
    margin = found["margin to singularities"]
    assert np.allclose(margin[1:], [0.02, 0.5**1.5, 0, 0.02 / 0.5**1.5], rtol=1e-9)
