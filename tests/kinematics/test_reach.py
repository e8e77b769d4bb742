"""Limits as slacks: each reason is provoked and its sentence is read."""

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Limits
from triskele.errors import OutOfReach
from triskele.kinematics.build import build
from triskele.kinematics.reach import check_reach, slack, slacks, worst_slack

FREE = Limits(singularity_margin=0.0)


@pytest.fixture(scope="module")
def irb():
    return build(load("abb_irb360_6_1600"))


@pytest.fixture(scope="module")
def stage():
    return build(load("compliant_3prs"))


POSE = jnp.array([0.3, 0.2, -1.0, 0.0])


def test_a_pose_inside_all_limits_is_silent(irb):
    limits = load("abb_irb360_6_1600").limits
    check_reach(irb, limits, POSE, "The pose")
    assert worst_slack(irb, limits, POSE) is None
    assert float(slack(irb, limits, POSE)) == min(
        float(item.room) for item in slacks(irb, limits, POSE)
    )


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (
            Limits(joint_angle=(0.3, 1.0)),
            r"q\d would be -?[\d.]+ deg, allowed is 17.19 to 57.3 deg",
        ),
        (Limits(rod_tilt=0.01), r"rod \d would tilt by -?[\d.]+ deg out of its limb plane"),
        (Limits(telescope_length=(0.5, 0.9)), r"the telescope would be 1\.\d+ m long, allowed"),
        (Limits(singularity_margin=0.99), r"(stretched or folded|loses stiffness)"),
    ],
)
def test_each_limit_of_a_delta_has_its_sentence(irb, limits, sentence):
    with pytest.raises(OutOfReach, match=sentence):
        check_reach(irb, limits, POSE, "The pose")


def test_limits_of_a_stage_have_their_sentences(stage):
    tilted = jnp.array([float(stage.home()[0]), 0.03, 0.0])
    with pytest.raises(OutOfReach, match=r"tilt by 1\.719 deg, allowed is 1 deg"):
        check_reach(stage, Limits(platform_tilt=float(np.radians(1.0))), tilted, "The pose")
    with pytest.raises(OutOfReach, match=r"s\d would be .* m, allowed is 0 to 0.001 m"):
        check_reach(stage, Limits(slider_position=(0.0, 0.001)), tilted, "The pose")


def test_a_leg_that_cannot_reach_is_named(irb):
    with pytest.raises(OutOfReach, match=r"The pose is out of reach: leg \d cannot reach"):
        check_reach(irb, FREE, jnp.array([5.0, 0.0, -1.0, 0.0]), "The pose")


def test_not_a_number_is_out_of_reach(irb):
    with pytest.raises(OutOfReach):
        check_reach(irb, FREE, jnp.array([np.nan, 0.0, -1.0, 0.0]), "The pose")


def test_the_guaranteed_cylinder_is_no_limit_unless_asked_for(irb):
    small = Limits(workspace_radius=0.1, workspace_height=(-1.1, -1.05))
    assert worst_slack(irb, small, POSE) is None
    reasons = [
        item.reason for item in slacks(irb, small, POSE, guaranteed=True) if float(item.room) < 0
    ]
    assert any("from the axis" in reason for reason in reasons)
    assert any("height" in reason for reason in reasons)
