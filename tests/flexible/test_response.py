"""Responses against modes, other steps, other models of the same robot, and statics by hand."""

from itertools import pairwise

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import InputError
from triskele.flexible.assembly import Damping, rest_poses
from triskele.flexible.loads import motor_torques
from triskele.flexible.modes import modes, rest_matrices, sag
from triskele.flexible.response import fitted_damping, steady, vibrate
from triskele.flexible.robot import flexible, links
from triskele.kinematics.coordinates import coordinates_of
from triskele.kinematics.motion import Motion, circle, line

KUO, IRB = load("flexible_delta"), load("abb_irb360_6_1600")
ROBOT = flexible(KUO)
CENTRE, PLACE = (0.0, 0.0, -0.5), (0.1, 0.0, -0.5)
QUICK = {"duration": 0.25, "start": CENTRE, "end": (0.03, 0.02, -0.52)}
WELL = Damping(10.0, 1e-3)  # 26 % at 20 rad/s
ROUND = circle(CENTRE, 0.05, period=1.0, rate=250)


def standing(x, duration=0.5, rate=500):
    """A motion that goes nowhere."""
    n = round(duration * rate) + 1
    still = jnp.zeros((n, len(x)))
    t = jnp.linspace(0, duration, n)
    named = coordinates_of(len(x))
    return Motion(t, still + jnp.array(x)[None], still, still, still, coordinates=named)


def tiled(motion, turns):
    parts = [np.asarray(p) for p in (motion.x, motion.xd, motion.xdd, motion.xddd)]
    parts = [np.concatenate([np.tile(p[:-1], (turns, 1)), p[-1:]]) for p in parts]
    t = np.linspace(0, turns * float(motion.duration), len(parts[0]))
    return Motion(jnp.asarray(t), *map(jnp.asarray, parts), coordinates=motion.coordinates)


def size(values):
    return np.abs(values).max()


# At rest


@pytest.fixture(scope="module")
def released():
    """Held straight until t = 0."""
    return vibrate(ROBOT, standing(PLACE), start="straight")


def test_a_robot_that_is_let_go_swings_about_its_sag(released):
    """Newmark's step turns a mode by 2 atan(w h / 2), and that is all that it does wrong."""
    found = modes(ROBOT, PLACE, count=ROBOT.unknowns)
    v, w = np.asarray(found.shapes), np.asarray(found.frequencies)
    rest, M = np.asarray(sag(ROBOT, PLACE).y), np.asarray(rest_matrices(ROBOT, jnp.array(PLACE)).M)
    e, n, h = v.T @ M @ rest, np.arange(len(released.t)), released.t[1]
    phases = np.outer(n, 2 * np.arctan(w * h / 2))
    by_steps = rest[None] - (np.cos(phases) * e[None]) @ v.T
    assert np.allclose(released.y, by_steps, rtol=0, atol=1e-8 * size(rest))
    exact = rest[None] - (np.cos(np.outer(released.t, w)) * e[None]) @ v.T
    assert np.allclose(released.position, exact[:, :3], rtol=0, atol=0.01 * size(rest[:3]))
    assert size(released.position[:, 2] / rest[2]) == pytest.approx(2, abs=0.1)


def test_energy_stays(released):
    M, K, *_ = (np.asarray(part) for part in rest_matrices(ROBOT, jnp.array(PLACE)))
    z = released.y - np.asarray(sag(ROBOT, PLACE).y)[None]
    energy = sum(
        np.einsum("ta,ab,tb->t", part, matrix, part) / 2
        for part, matrix in ((z, K), (released.yd, M))
    )
    assert np.allclose(energy, energy[0], rtol=1e-9)
    assert energy[0] > 0


def test_a_robot_that_hangs_keeps_hanging():
    found = vibrate(ROBOT, standing(PLACE, 0.1), start="static")
    assert np.allclose(found.y, np.asarray(sag(ROBOT, PLACE).y)[None], rtol=0, atol=1e-10)
    loaded = vibrate(ROBOT, standing(PLACE, 0.1), start="loaded")
    assert np.allclose(loaded.y, found.y, rtol=0, atol=1e-10)


def test_damping_takes_the_share_of_its_ratio():
    """Alone at the centre, up and down, the lowest mode decays by exp(-d w t)."""
    found = vibrate(ROBOT, standing(CENTRE, 1.0), damping=Damping(1.0, 0.0), start="straight")
    w = float(modes(ROBOT, CENTRE, count=1).frequencies[0])
    z = found.position[:, 2] / float(sag(ROBOT, CENTRE).position[2]) - 1
    after = round(2 * np.pi / w / found.t[1])
    peaks = [np.abs(z[k : k + after]).max() for k in (0, 2 * after)]
    assert peaks[1] / peaks[0] == pytest.approx(np.exp(-0.5 * 2 * after * found.t[1]), rel=0.03)


# Torques and stresses


@eqx.filter_jit
def hanging(robot, x):
    """Torques of the motors, as they are at rest."""
    still = jnp.zeros(robot.unknowns)
    poses = rest_poses(robot.mechanism, x)
    return motor_torques(robot, links(robot), poses, sag(robot, x).y, still, still)


def carrying(robot, payload, x):
    """Torques of the same robot, if nothing bends."""
    still = jnp.zeros(len(x))
    tau = inverse_dynamics(rigid(robot, payload, friction=False), jnp.array(x), still, still)
    return np.asarray(tau)[:3]


@pytest.mark.parametrize(
    ("robot", "payload", "x"),
    [
        (KUO, None, PLACE),
        (KUO, None, (-0.06, 0.05, -0.6)),
        (IRB, "plate", (0.0, 0.0, -1.0, 0.0)),  # rigid arms; the telescope hangs straight
    ],
)
def test_at_rest_motors_carry_the_weight_whatever_bends(robot, payload, x):
    found, expected = hanging(flexible(robot, payload), jnp.array(x)), carrying(robot, payload, x)
    assert np.allclose(found, expected, rtol=0, atol=1e-6 * size(expected))


def test_a_response_has_the_torques_of_its_samples():
    found = vibrate(ROBOT, standing(PLACE, 0.1)).torque
    expected = carrying(KUO, None, PLACE)
    assert np.allclose(found, expected[None], rtol=0, atol=1e-6 * size(expected))


def test_stress_of_an_arm_is_that_of_its_root():
    """At the centre an arm bends in one plane: stress N / A + M c / I, by the motor's torque M."""
    light = eqx.tree_at(
        lambda r: (r.arm_beam.mass, r.arm_beam.rotary), ROBOT, replace_fn=lambda part: 1e-6 * part
    )
    A, section = 0.005**2, 0.005**3 / 6
    motion = standing(CENTRE, 0.004)
    q = float(ROBOT.mechanism.inverse(jnp.array(CENTRE)).checked()[0])
    arm = np.array([np.cos(q), -np.sin(q)])
    for robot, tolerance in ((light, 1e-5), (ROBOT, 0.05)):
        found = vibrate(robot, motion)
        strains = found.strains()
        assert strains.names == ("arm_1", "arm_2", "arm_3", "rod_1", "rod_2", "rod_3")
        assert np.allclose(strains.stress, 210e9 * strains.strain, rtol=1e-12)
        moment = abs(found.torque[0, 0])
        down = (0.5 / 3 + 0.117) * 9.81  # on the elbow: a third of the platform, and a rod
        # M = l |e x F| with F = (across, -down), pulled in by the rod; N is F along the arm.
        across = (moment - 0.5 * down * arm[0]) / (0.5 * arm[1])
        normal = abs(np.array([across, -down]) @ arm)
        expected = moment / section + normal / A
        assert np.allclose(strains.stress[0, :3], expected, rtol=tolerance)
        assert np.allclose(strains.strain[0, :3], strains.strain[0, 0], rtol=1e-6)
        assert (strains.strain[0, 3:] < 0.2 * strains.strain[0, 0]).all()


# Steps


def moved(rate, **options):
    motion = line(QUICK["start"], QUICK["end"], duration=QUICK["duration"], rate=rate)
    found = vibrate(ROBOT, motion, damping=WELL, **options)
    return found.y[-1, :6]


def test_both_methods_are_of_second_order_and_agree():
    exact = moved(6400)
    for options in ({}, {"method": "generalised-alpha", "spectral_radius": 0.8}):
        errors = [size((moved(rate, **options) - exact)[:3]) for rate in (200, 400, 800)]
        assert errors[2] < 1e-3 * size(exact[:3])
        for coarse, fine in pairwise(errors):
            assert coarse / fine == pytest.approx(4, rel=0.3), (options, errors)


def test_the_steady_response_is_what_remains():
    found = steady(ROBOT, ROUND, damping=WELL)
    n = len(ROUND.t) - 1
    long = vibrate(ROBOT, tiled(ROUND, 4), damping=WELL)
    assert np.allclose(long.position[-n - 1 :], found.position, rtol=0, atol=1e-6 * size(found.y))
    assert np.allclose(long.torque[-n - 1 :], found.torque, rtol=0, atol=1e-5 * size(found.torque))
    assert size(long.position[: n + 1] - found.position) > 0.01 * size(found.position)
    assert np.allclose(found.y[-1], found.y[0], rtol=0, atol=1e-8 * size(found.y))


# Condensed links


@pytest.fixture(scope="module")
def around():
    """A quarter of a circle by links whole, condensed without loss, and condensed, twice as fine.

    Rods turn, and with them what their ends mean.
    """

    def found(kept, rate):
        motion = circle(CENTRE, 0.1, period=1.0, turns=0.25, rate=rate)
        return vibrate(flexible(KUO, elements=2, kept_modes=kept), motion, damping=WELL)

    return {(kept, rate): found(kept, rate) for kept in (None, 6, 2) for rate in (500, 1000)}


def off(around, part, kept, rate):
    ours, theirs = (getattr(around[k, rate], part) for k in (kept, None))
    return size(ours - theirs) / size(theirs)


def test_links_condensed_without_loss_are_the_whole_links(around):
    """But for the steps: unknowns are others, that change with the pose."""
    assert around[6, 500].robot.unknowns == around[None, 500].robot.unknowns == 72
    for part, tolerance in (("position", 1e-6), ("rotation", 2e-5), ("torque", 2e-5)):
        assert off(around, part, 6, 500) < tolerance, part
        assert off(around, part, 6, 1000) < tolerance / 3, part


def test_links_condensed_to_two_modes_are_nearly_so(around):
    assert around[2, 500].robot.unknowns == 48
    for part in ("position", "rotation", "torque"):
        assert off(around, part, 2, 1000) < 1e-3, part


# Damping


def test_two_ratios_are_met_and_more_in_the_mean():
    w = np.array([20.0, 60.0])
    exact = fitted_damping(w, np.array([0.02, 0.04]))
    assert [exact.ratio(float(value)) for value in w] == pytest.approx([0.02, 0.04])
    many = np.array([20.0, 25.0, 40.0, 60.0])
    fitted = fitted_damping(many, np.full(4, 0.05))
    ratios = np.array([fitted.ratio(float(value)) for value in many])
    assert ratios.mean() == pytest.approx(0.05, rel=0.05)
    assert (fitted.mass >= 0) and (fitted.stiffness >= 0)
    falling = fitted_damping(w, np.array([0.09, 0.01]))  # steeper than 1 / w: no stiffness
    assert falling.stiffness == 0
    assert fitted_damping(w, np.zeros(2)) == Damping(0.0, 0.0)
    with pytest.raises(InputError, match="Frequencies to be damped are positive"):
        fitted_damping(np.array([0.0, 1.0]), np.zeros(2))


# Mistakes


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "newmrak"}, r"There is no method 'newmrak'. Did you mean 'newmark'"),
        ({"start": "statik"}, r"start is 'statik'. Did you mean 'static'"),
        ({"method": "generalised-alpha", "spectral_radius": 1.5}, r"spectral_radius is 1.5; it is"),
    ],
)
def test_what_does_not_exist_is_named(options, sentence):
    with pytest.raises(InputError, match=sentence):
        vibrate(ROBOT, standing(CENTRE), **options)


def test_steps_too_long_are_refused_with_a_rate_that_is_enough():
    with pytest.raises(
        InputError, match=r"step of 0.05 s cannot resolve the lowest mode, 3\.\d+ Hz"
    ):
        vibrate(ROBOT, standing(CENTRE, rate=20))
    with pytest.raises(InputError, match=r"a rate of at least (\d+) Hz") as raised:
        steady(ROBOT, circle(CENTRE, 0.05, period=1.0, rate=10))
    rate = float(str(raised.value).split("at least ")[1].split(" Hz")[0])
    steady(ROBOT, circle(CENTRE, 0.05, period=1.0, rate=rate))


def test_motions_that_samples_do_not_resolve_are_refused():
    with pytest.raises(InputError, match=r"acceleration jumps by .* Raise its rate"):
        vibrate(ROBOT, line(CENTRE, PLACE, duration=0.1, rate=80))
    with pytest.raises(InputError, match="fewer than three samples"):
        vibrate(ROBOT, standing(CENTRE, 0.001, 1000))


def test_what_does_not_repeat_has_no_steady_response():
    with pytest.raises(InputError, match=r"does not end as it began: its position differs by 0.1"):
        steady(ROBOT, line(CENTRE, PLACE, duration=0.5, rate=200))
    with pytest.raises(InputError, match="does not end as it began"):
        steady(ROBOT, circle(CENTRE, 0.05, period=1.0, turns=0.5, rate=200))
