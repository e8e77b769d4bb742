"""Friction of a joint: each term where it is alone, and what holds for all of them."""

import jax.numpy as jnp
import numpy as np

from triskele.description.schema import JointFriction, SlideFriction
from triskele.laws.friction import friction_law

ALL = JointFriction(
    coulomb=(2.0, 3.0, 5.0),
    viscous=(0.4, 0.5, 0.6),
    stribeck=7.0,
    stribeck_speed=0.5,
    saturating=11.0,
    saturating_speed=4.0,
    smoothing_speed=0.01,
)


def effort(section, speed, drive=0):
    return float(friction_law(section, drive).effort(jnp.asarray(speed, float)))


def test_coulomb_friction_is_all_there_beyond_the_smoothing_and_three_quarters_at_it():
    section = JointFriction(coulomb=(2.0,), smoothing_speed=0.01)
    assert effort(section, 0.0) == 0
    assert np.isclose(effort(section, 0.01), 2 * np.tanh(1))
    assert np.isclose(effort(section, 1.0), 2, rtol=1e-15)
    assert np.isclose(effort(section, -30.0), -2, rtol=1e-15)


def test_viscous_friction_grows_with_the_speed():
    section = JointFriction(viscous=(0.4,))
    assert np.allclose([effort(section, speed) for speed in (-2.0, 0.0, 5.0)], [-0.8, 0, 2])


def test_stribeck_friction_peaks_at_low_speed_and_is_gone_at_high_speed():
    # 10 N m break loose, 3 N m are left; exp(-1) of the 7 N m between at the Stribeck speed.
    section = JointFriction(coulomb=(3.0,), stribeck=7.0, stribeck_speed=0.5, smoothing_speed=1e-3)
    assert np.isclose(effort(section, 0.01), 10, rtol=1e-3)
    assert np.isclose(effort(section, 0.5), 3 + 7 / np.e)
    assert np.isclose(effort(section, 1.0), 3 + 7 / np.e**4)
    assert np.isclose(effort(section, 5.0), 3, rtol=1e-15)


def test_saturating_friction_is_viscous_at_first_and_constant_later():
    section = JointFriction(saturating=11.0, saturating_speed=4.0)
    assert np.isclose(effort(section, 1e-4), 11 / 4 * 1e-4)
    assert np.isclose(effort(section, 4.0), 11 * np.tanh(1))
    assert np.isclose(effort(section, -400.0), -11)


def test_terms_add_up():
    w = 0.7
    dry = 2 + 7 * np.exp(-((w / 0.5) ** 2))
    assert np.isclose(effort(ALL, w), dry + 0.4 * w + 11 * np.tanh(w / 4), rtol=1e-14)


def test_each_drive_has_its_own_numbers_and_one_number_serves_all():
    far = [effort(ALL, 100.0, drive) - 11 for drive in range(3)]
    assert np.allclose(far, [2 + 40, 3 + 50, 5 + 60])
    assert effort(JointFriction(coulomb=(2.0,)), 1.0, drive=2) == effort(
        JointFriction(coulomb=(2.0,)), 1.0
    )


def test_a_slide_rubs_in_newtons():
    section = SlideFriction(coulomb=1.641, viscous=1.247, smoothing_speed=0.01)
    assert np.isclose(effort(section, -2.0), -1.641 - 2.494)


def test_friction_opposes_the_motion_alike_in_both_directions():
    law, speed = friction_law(ALL), jnp.linspace(0, 20, 2001)
    forwards, backwards = law.effort(speed), law.effort(-speed)
    assert np.allclose(forwards, -backwards, rtol=1e-14)
    assert (np.asarray(forwards)[1:] > 0).all()  # its power is never negative


def test_without_numbers_a_joint_is_free():
    assert effort(JointFriction(), 3.0) == 0
    assert friction_law(JointFriction()).stribeck is None
