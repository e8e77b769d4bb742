"""MuJoCo gets our table of joints and one configuration, and judges all others."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from configurations import Numbers, Ours, robot
from equations import allowed
from mujoco_tree import Model, build_model, mujoco, positioned

from triskele.description import catalogue
from triskele.kinematics.mobility import mobility

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-9  # m, rad; m/s and rad/s per unit of motor speed


def off(model: Model, ours: Ours) -> tuple[float, float]:
    """Largest differences of body frames [m, -], and of points that should meet [m]."""
    data = positioned(model, ours.frames)
    frames = [
        np.column_stack([data.body(name).xmat.reshape(3, 3), data.body(name).xpos]) - frame
        for name, frame in ours.frames.items()
    ]
    return float(np.abs(frames).max()), float(np.abs(data.efc_pos).max())


def freedoms(model: Model, ours: Ours) -> tuple[Any, Numbers]:
    """MuJoCo's data, and a basis (nv, freedom) of the joint velocities that it allows."""
    data = positioned(model, ours.frames)
    return data, allowed(data.efc_J.reshape(data.nefc, model.model.nv))


@pytest.mark.parametrize("name", catalogue.names())
def test_our_bodies_are_where_mujoco_puts_them_and_meet_at_all_joints(name):
    mechanism, answers = robot(name)
    model = build_model(mechanism.joints(), answers[0].frames)
    frames, loops = np.max([off(model, ours) for ours in answers], axis=0)
    print(f"\n{name}: frames differ by {frames:.1e}, loops are open by {loops:.1e} m")
    assert max(frames, loops) < TOLERANCE, f"frames: {frames:.1e}, loops: {loops:.1e} m"


@pytest.mark.parametrize("name", catalogue.names())
def test_mujoco_moves_each_body_as_our_jacobian_does(name):
    mechanism, answers = robot(name)
    model = build_model(mechanism.joints(), answers[0].frames)
    worst = dict.fromkeys(mechanism.bodies, 0.0)
    for ours in answers:
        data, basis = freedoms(model, ours)
        motors = basis[model.motor_speeds]
        per_motor = basis @ np.linalg.inv(motors)
        for body, expected in ours.twists.items():
            J = np.zeros((6, model.model.nv))
            mujoco.mj_jacBody(model.model, data, J[:3], J[3:], model.model.body(body).id)
            difference = np.abs(J @ per_motor - expected).max() / max(1, np.abs(expected).max())
            worst[body] = max(worst[body], float(difference))
    body = max(worst, key=lambda key: worst[key])
    message = f"platform: {worst['platform']:.1e}; largest, {body}: {worst[body]:.1e}"
    print(f"\n{name}: velocities differ by (m/s, rad/s per unit of motor speed) {message}")
    assert worst[body] < TOLERANCE, message


@pytest.mark.parametrize("name", catalogue.names())
def test_mujoco_counts_as_many_freedoms(name):
    mechanism, answers = robot(name)
    model = build_model(mechanism.joints(), answers[0].frames)
    found = [freedoms(model, ours)[1].shape[1] for ours in answers]
    expected = [
        mobility(mechanism, jnp.asarray(ours.q), jnp.asarray(ours.x)).freedom for ours in answers
    ]
    print(f"\n{name}: {expected[0]} freedoms, MuJoCo: {found[0]} of {model.model.nv} in its tree")
    assert found == expected == [len(model.motors)] * len(answers)


@pytest.mark.parametrize("name", catalogue.names())
def test_mujoco_notices_any_joint_that_is_a_millimetre_off(name):
    mechanism, answers = robot(name)
    joints = mechanism.joints()
    for k, joint in enumerate(joints):
        moved = tuple(part + 1e-3 / 3**0.5 for part in joint.child_point)
        wrong = (*joints[:k], joint._replace(child_point=moved), *joints[k + 1 :])
        worst = np.max(off(build_model(wrong, answers[0].frames), answers[1]))
        assert worst > 1e-4, f"{joint.name}: only {worst:.1e} m"
