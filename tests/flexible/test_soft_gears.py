"""Soft gears in motion: torques, other models of the same arm, and how they settle."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from soft_gears import geared

from triskele.description.load import load
from triskele.description.schema import CrossSection, Material, Motor, Motors
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import DescriptionError, InputError, MissingFact
from triskele.flexible.assembly import Damping, arm_motions, arm_turns, moving_link, rest_poses
from triskele.flexible.link import W1
from triskele.flexible.loads import motor_torques
from triskele.flexible.modes import modes, rest_matrices, sag
from triskele.flexible.response import vibrate
from triskele.flexible.robot import flexible, links
from triskele.flexible.settling import settling
from triskele.kinematics.motion import Motion, line

KUO, PLATENS = load("flexible_delta"), load("omron_mini_delta_platens")
START, END = (0.0, 0.0, -0.38), (0.04, 0.03, -0.36)
QUICK = line(START, END, duration=0.15, rate=2000)
DAMPED, MORE = Damping(4.0, 1e-4), Damping(30.0, 1e-4)


def with_motors(robot, **keys):
    return robot.model_copy(update={"motors": Motors(drives=Motor(**keys))})


def dwelling(motion, seconds):
    """`motion`, and then nothing."""
    step = float(motion.t[1] - motion.t[0])
    n = round(seconds / step)
    t = np.concatenate([motion.t, float(motion.t[-1]) + step * np.arange(1, n + 1)])
    x = np.concatenate([motion.x, np.tile(np.asarray(motion.x)[-1:], (n, 1))])
    rest = [np.pad(np.asarray(p), ((0, n), (0, 0))) for p in (motion.xd, motion.xdd, motion.xddd)]
    return Motion(*map(jnp.asarray, (t, x, *rest)), coordinates=motion.coordinates)


def apart(ours, theirs):
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


def beams_for_arms(factor):
    """The platens with arms as beams of the weight and inertia of rigid ones, E times `factor`."""
    length, mass = 0.15, 0.0365
    steel = Material(young_modulus=2e11 * factor, poisson_ratio=0.3, density=mass / length / 1e-4)
    tube = CrossSection(shape="rectangle", material="stiff", width=0.01, height=0.01)
    return PLATENS.model_copy(
        update={
            "materials": {**PLATENS.materials, "stiff": steel},
            "sections": PLATENS.sections.model_copy(update={"arm": tube}),
        }
    )


@pytest.mark.long
@pytest.mark.parametrize("stiffened", [False, True])
def test_rigid_arms_are_stiff_beams(stiffened):
    """In a soft gear, along a motion; the weight of an arm pulls at either."""
    soft = {"stiffness": (40.0, 50.0, 60.0), "inertia": 1e-4}
    beams = geared(beams_for_arms(100.0), **soft)
    ten = np.array(beams.arm)
    ten[5] = float(beams.arm_beam.mass) * 0.15**3 / 3  # about the motor, as a slender bar
    bars = eqx.tree_at(lambda r: r.arm, geared(PLATENS, **soft), ten)
    ours, theirs = (
        vibrate(r, QUICK, damping=DAMPED, stiffened=stiffened, method="generalised-alpha")
        for r in (bars, beams)
    )
    assert np.ptp(theirs.position, axis=0).max() > 1e-3
    assert apart(ours.position, theirs.position) < 2e-3
    assert apart(ours.torque, theirs.torque) < 2e-3
    w = [modes(r, END, count=9, loaded=stiffened).frequencies for r in (bars, beams)]
    assert np.allclose(*w, rtol=1e-3)


def test_a_stiff_gear_asks_for_the_torque_of_a_rigid_robot():
    """Rotor and what turns beyond the gear included."""
    keys = {"gear_ratio": 10.0, "rotor_inertia": 2e-4, "load_inertia": 1e-4}
    soft = with_motors(PLATENS, coupling_stiffness=1e5, **keys)
    model = flexible(soft)
    assert np.allclose(model.gears.stiffness, 1e7)
    assert np.allclose(model.gears.inertia, 1e-2)
    assert np.allclose(model.rotors, 2e-2)
    slow = line(START, END, duration=0.5, rate=500)
    found = vibrate(model, slow, damping=Damping(0.0, 1e-3), method="generalised-alpha")
    body = rigid(with_motors(PLATENS, **keys))
    for k in (0, 60, 125, 190):
        tau = inverse_dynamics(body, slow.x[k], slow.xd[k], slow.xdd[k])
        assert np.allclose(found.torque[k], np.asarray(tau), rtol=0, atol=5e-3)
    assert np.abs(found.torque[60] - found.torque[0]).max() > 0.1


@pytest.mark.parametrize("own", [0.0, 0.4])
def test_a_gear_carries_what_its_arm_takes_at_the_root(own):
    """Anyhow displaced and moving, accelerated as the matrices say: k t + c t' and J t'' - M_y."""
    robot, x = geared(KUO, damping=own), jnp.array([0.05, 0.02, -0.55])
    y, yd = np.random.default_rng(3).normal(size=(2, robot.unknowns)) * [[1e-3], [1e-1]]
    M, K, f, _, C = map(np.asarray, rest_matrices(robot, x, damping=DAMPED))
    ydd = np.linalg.solve(M, -(C @ yd + K @ y + f))
    parts, poses = links(robot), rest_poses(robot.mechanism, x)
    tau = motor_torques(robot, parts, poses, y, yd, ydd, DAMPED)
    d = arm_motions(robot, jnp.asarray(y), jnp.asarray(yd), jnp.asarray(ydd))
    arm = parts.arm
    root = []
    for i in range(3):
        m = moving_link(robot, jax.tree.map(lambda leaf, i=i: leaf[i], arm), poses.arm[i], None)
        rates = m.C + DAMPED.mass * arm.M[i] + DAMPED.stiffness * arm.K[i]
        root.append((m.M @ d.dd[i] + rates @ d.d1[i] + m.K @ d.d[i] + m.f)[W1])
    expected = 2e-3 * np.asarray(arm_turns(robot, ydd)) - np.array(root)
    assert np.allclose(tau, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("own", [0.0, 0.3])
def test_a_soft_gear_settles_as_an_integration_does(own):
    """Damped in proportion, or by itself, which couples the modes."""
    robot = geared(PLATENS, stiffness=(50.0, 60.0, 70.0), inertia=1e-4, damping=own)
    found = vibrate(robot, QUICK, damping=MORE)
    longer = vibrate(robot, dwelling(QUICK, 0.3), damping=MORE)
    n = len(QUICK.t) - 1
    deviation = longer.position[n:] - np.asarray(sag(robot, END).position)[None]
    size = np.linalg.norm(deviation, axis=1)
    after = settling(found, size.max() / 5)
    assert after.amplitude == pytest.approx(size.max(), rel=0.02)
    last = longer.t[n + np.flatnonzero(size > size.max() / 5)[-1]] - longer.t[n]
    assert after.time == pytest.approx(last, abs=3e-3)
    inside = longer.t[n:] - longer.t[n]
    ours = np.stack([np.interp(inside, after.t, d) for d in after.deviation.T], axis=1)
    inside = inside <= after.t[-1]
    assert np.allclose(ours[inside], deviation[inside], rtol=0, atol=0.03 * size.max())


@pytest.mark.long
def test_stiffened_links_settle_about_where_they_hang():
    """Weight pulls at rods and lifts them; what is left after a long dwell is that sag."""
    motion = dwelling(line((0.0, 0.0, -0.5), (0.03, 0.02, -0.5), duration=0.25, rate=500), 1.5)
    found = vibrate(flexible(KUO), motion, damping=Damping(20.0, 5e-3), stiffened=True)
    after = settling(found, 1e-4)
    assert after.amplitude < 2e-6
    plain = eqx.tree_at(lambda r: r.stiffened, found, False)
    assert settling(plain, 1e-4).amplitude > 20 * after.amplitude


# The file


def test_what_a_gear_is_made_of_is_asked_for():
    with pytest.raises(MissingFact, match=r"motors\.drives\.gear_ratio', which a coupling_stiff"):
        flexible(with_motors(KUO, coupling_stiffness=100.0))
    one = Motors(drives=Motor(gear_ratio=3.0, coupling_stiffness=100.0), q2=Motor(gear_ratio=3.0))
    with pytest.raises(
        DescriptionError, match=r"motors\.drives has a coupling_stiffness and motors\.q2"
    ):
        flexible(KUO.model_copy(update={"motors": one}))
    with pytest.raises(InputError, match="the same both ways"):
        flexible(
            with_motors(
                KUO, gear_ratio=3.0, coupling_stiffness=100.0, coupling_stiffness_reverse=50.0
            )
        )
    same = with_motors(KUO, gear_ratio=3.0, coupling_stiffness=9.0, coupling_stiffness_reverse=9.0)
    assert np.allclose(flexible(same).gears.stiffness, 81.0)
