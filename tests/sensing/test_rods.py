"""What rods feel, against kinematics, the exact balance of all bodies, and statics by hand."""

import equinox as eqx
import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Payload
from triskele.dynamics.torques import torques
from triskele.errors import InputError, MissingFact
from triskele.kinematics.build import build
from triskele.kinematics.cycles import joint_motion_along, pick_and_place
from triskele.numerics import tabulate
from triskele.sensing.rods import rod_angles, rod_state, soft_rods

ROBOT = load("omron_mini_delta_platens")


@pytest.fixture(scope="module")
def moved():
    motion = pick_and_place(ROBOT, length=0.2, height=0.05, duration=0.4, rate=4000)
    joints = joint_motion_along(build(ROBOT), motion)
    rows = [np.asarray(part) for part in (joints.q, joints.qd, joints.qdd)]
    state = tabulate(eqx.Partial(rod_state, soft_rods(ROBOT)))(*rows)
    return motion, rows, state


def test_the_platform_is_where_the_motion_has_it(moved):
    motion, _, state = moved
    assert np.stack(state.x, axis=1) == pytest.approx(np.asarray(motion.x), abs=1e-12)


def test_tensions_are_those_of_the_exact_balance(moved):
    """Platens are thin: rotary inertia about their own axes is all that differs."""
    motion, _, state = moved
    rods = torques(ROBOT, motion).loads.rods
    mean = np.stack(state.tension, axis=1)
    # of a load that grows linearly, the mean is that of the ends and a twelfth of the gradient
    ends = (rods.lower + rods.upper) / 2
    assert np.abs(mean - ends).max() < 0.02 * np.abs(ends).max()


def test_accelerations_across_the_rods_are_those_of_the_bodies(moved):
    """From positions of elbows and wrists, differentiated twice by hand."""
    motion, (q, _, _), state = moved
    delta, h = build(ROBOT), float(motion.t[1] - motion.t[0])
    phi, x = np.asarray(delta.azimuth), np.asarray(motion.x)
    out = 0.1 + 0.15 * np.cos(q)
    elbow = np.stack([out * np.cos(phi), out * np.sin(phi), -0.15 * np.sin(q)], axis=-1)
    b = np.gradient(np.gradient(elbow, h, axis=0), h, axis=0)
    angle = np.stack(state.angle, axis=1)
    n = np.stack([np.sin(angle) * np.cos(phi), np.sin(angle) * np.sin(phi), np.cos(angle)], axis=-1)
    g = np.array([0, 0, -9.81])
    at_elbow = ((b - g) * n).sum(axis=-1)[3:-3]
    at_wrist = ((np.asarray(motion.xdd) - g)[:, None, :] * n).sum(axis=-1)
    size = np.abs(at_wrist).max()
    assert np.abs(np.stack(state.elbow, axis=1)[3:-3] - at_elbow).max() < 2e-3 * size
    assert np.stack(state.wrist, axis=1) == pytest.approx(at_wrist, abs=1e-9 * size)
    radial = np.stack([np.cos(phi), np.sin(phi)], axis=-1)
    wrist = x[:, None, :2] + 0.04 * radial
    span = ((wrist - elbow[..., :2]) * radial).sum(axis=-1)
    drop = x[:, None, 2] - elbow[..., 2]
    assert angle == pytest.approx(np.arctan2(-drop, span), abs=1e-12)


def test_a_robot_that_stands_pulls_its_rods_by_its_weight():
    rods = soft_rods(ROBOT)
    still = (0.0, 0.0, 0.0)
    state = rod_state(rods, still, still, still)
    weight = 9.81 * (0.1278 + 3 * 0.04932 / 2)  # half of each rod hangs on the wrists
    vertical = np.sin(float(state.angle[0]))
    S = (weight - 3 * 0.04932 / 2 * 9.81 * vertical**2) / (3 * vertical)
    hanging = 0.04932 * 9.81 / 2 * vertical  # below the middle of a rod
    assert float(state.tension[0]) == pytest.approx(S + hanging, rel=1e-9)


def test_angles_alone_are_those_of_the_state():
    q = (0.3, -0.2, 0.1)
    rods, still = soft_rods(ROBOT), (0.0, 0.0, 0.0)
    state = rod_state(rods, q, still, still)
    angle, cosine = rod_angles(rods.mechanism, q)
    assert [float(a) for a in angle] == pytest.approx([float(a) for a in state.angle])
    assert [float(a) for a in cosine] == pytest.approx([float(a) for a in state.cosine])


def test_payload_pulls_and_bending_arms_are_refused():
    assert float(soft_rods(ROBOT, None).platform) == pytest.approx(0.1278)
    assert float(soft_rods(ROBOT, Payload(mass=0.5)).platform) == pytest.approx(0.6278)
    with pytest.raises(InputError, match="arms that bend"):
        soft_rods(load("flexible_delta"))
    with pytest.raises(MissingFact, match=r"sections\.rod"):
        soft_rods(load("omron_mini_delta"))
