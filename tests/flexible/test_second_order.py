"""What small deflections leave out, against exact kinematics and as a law of squares."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from soft_gears import geared

from triskele.description.load import load
from triskele.flexible.assembly import arm_turns, rest_poses
from triskele.flexible.modes import sag
from triskele.flexible.response import vibrate
from triskele.flexible.robot import flexible, links
from triskele.flexible.second_order import left_out, second_order
from triskele.kinematics.motion import line
from triskele.kinematics.velocity import jacobian

KUO = flexible(load("flexible_delta"))
PLACE = (0.06, -0.03, -0.55)


@eqx.filter_jit
def correction(robot, x, y, stiffened=False):
    return second_order(robot, links(robot), rest_poses(robot.mechanism, x), y, stiffened)


@pytest.mark.long
@pytest.mark.parametrize("name", ["omron_mini_delta_platens", "abb_irb360_6_1600"])
def test_arms_that_turn_in_their_gears_move_the_platform_as_joints_do(name):
    """With rods as good as rigid; to the second order, by derivatives of the rigid robot."""
    robot = geared(name, stiffness=(60.0, 90.0, 130.0))
    stiff = eqx.tree_at(
        lambda r: (r.rod_beam.axial, r.rod_beam.bending_y, r.rod_beam.bending_z),
        robot,
        replace_fn=lambda k: 1e5 * k,
    )
    x = (0.05, 0.03, -0.38) if "omron" in name else (0.2, -0.1, -0.95, 0.3)
    y = sag(stiff, x).y
    t, q = arm_turns(stiff, y), jnp.stack(robot.mechanism.inverse(x).components)
    turned = jnp.concatenate([t, jnp.zeros(len(x) - 3)])

    def along(s):
        return jnp.stack(robot.mechanism.forward(tuple(q + s * turned)).components)[:3]

    first = np.asarray(jacobian(robot.mechanism, q, jnp.asarray(x)))[:3, :3] @ np.asarray(t)
    second = np.asarray(jax.jacfwd(jax.jacfwd(along))(0.0)) / 2
    assert np.allclose(y[:3], first, rtol=0, atol=1e-3 * np.abs(first).max())
    found = np.asarray(correction(stiff, jnp.asarray(x), y, True))
    assert np.allclose(found[:3], second, rtol=0, atol=5e-3 * np.abs(second).max())
    assert np.abs(second).max() > 1e-3 * np.abs(first).max()


@pytest.mark.long
def test_it_goes_with_the_square_of_the_load():
    """A robot of twice the weight hangs twice as low, and leaves out four times as much."""
    heavy = eqx.tree_at(lambda r: r.gravity, KUO, 2 * KUO.gravity)
    x = jnp.asarray(PLACE)
    once, twice = (np.asarray(correction(r, x, sag(r, PLACE).y)) for r in (KUO, heavy))
    assert np.allclose(twice, 4 * once, rtol=0, atol=1e-6 * np.abs(once).max())


def test_it_is_what_exact_beams_hang_lower():
    """By Exudyn, with links four times as stiff: see `oracles/test_flexible_exudyn.py`."""
    steel = load("flexible_delta").materials["steel"]
    update = {"young_modulus": 4 * steel.young_modulus, "shear_modulus": 4 * steel.shear_modulus}
    materials = {"steel": steel.model_copy(update=update)}
    robot = flexible(load("flexible_delta").model_copy(update={"materials": materials}), elements=2)
    y = sag(robot, (0.1, 0.0, -0.5)).y
    found = np.asarray(correction(robot, jnp.array([0.1, 0.0, -0.5]), y))
    assert found[[0, 2]] == pytest.approx([-1.329e-5, -1.748e-5], rel=0.03)  # [m]
    assert found[4] == pytest.approx(4.77e-5, rel=0.03)  # [rad]


def test_along_a_motion_the_largest_is_told():
    motion = line((0.0, 0.0, -0.5), (0.03, 0.02, -0.52), duration=0.25, rate=400)
    told = left_out(vibrate(KUO, motion))
    start = np.asarray(correction(KUO, motion.x[0], sag(KUO, motion.x[0]).y))
    assert told.displacement > np.linalg.norm(start[:3])
    assert 0.005 < told.share < 0.1
    assert 0 < told.time <= 0.25
