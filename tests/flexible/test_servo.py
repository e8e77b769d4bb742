"""Motors held by their servos: poles of the loop that `control` has, limits, energy, settling."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import eigh
from soft_gears import with_control

from triskele.control.cascade import cascade
from triskele.control.loop import loop
from triskele.control.loop import poles as loop_poles
from triskele.control.plant import linear_plant, plant
from triskele.control.track import track
from triskele.description.load import load
from triskele.errors import InputError, MissingFact
from triskele.flexible.assembly import Damping, arm_turns, motor_turns
from triskele.flexible.modes import modes, platform_stiffness, rest_matrices, sag
from triskele.flexible.poles import poles
from triskele.flexible.response import steady, vibrate
from triskele.flexible.robot import flexible, stated_drives
from triskele.flexible.servo import Feed, feed_forward
from triskele.flexible.settling import settling
from triskele.kinematics.motion import Motion, circle, line

IRB = load("abb_irb360_6_1600")
X = (0.2, -0.1, -0.65)
GEARED = with_control()
MODEL = flexible(GEARED, drives="servo")
DAMPED = Damping(2.0, 1e-5)
FRICTIONLESS = eqx.tree_at(
    lambda r: (r.servo.friction, r.servo.beyond, r.gears.damping), MODEL, (np.zeros(3),) * 3
)


def stiff(robot, factor=1e6):
    """Links that do not bend."""
    for part in ("arm_beam", "rod_beam"):
        if getattr(robot, part) is None:
            continue
        robot = eqx.tree_at(
            lambda r, p=part: [
                getattr(getattr(r, p), key)
                for key in ("axial", "torsion", "bending_y", "bending_z")
            ],
            robot,
            replace_fn=lambda value: factor * value,
        )
    return robot


def gains(robot, factor, integral=None):
    """All gains of the servos times `factor`."""
    held = robot.servo
    by = factor if integral is None else integral
    return eqx.tree_at(
        lambda r: (r.servo.stiffness, r.servo.damping, r.servo.integral),
        robot,
        (factor * held.stiffness, factor * held.damping, by * held.integral),
    )


def matrices(robot, x):
    rest = rest_matrices(robot, np.asarray(x, float))
    return tuple(np.asarray(part) for part in (rest.M, rest.C, rest.K))


def slow(p, below=2000.0):
    """Poles below a rate, a row for each of a pair, in order."""
    return np.sort_complex(p[(np.abs(p) < below) & (np.imag(p) >= 0)])


def poles_of(robot, x):
    return slow(poles(robot, *matrices(robot, x)).p)


def continuous(robot, x):
    about = loop(linear_plant(plant(robot), np.asarray(x)), cascade(robot))
    return about, slow(loop_poles(about._replace(period=None)))


def dwelling(motion, seconds):
    """`motion`, and then nothing."""
    step = float(motion.t[1] - motion.t[0])
    n = round(seconds / step)
    t = np.concatenate([motion.t, float(motion.t[-1]) + step * np.arange(1, n + 1)])
    x = np.concatenate([motion.x, np.tile(np.asarray(motion.x)[-1:], (n, 1))])
    rest = [np.pad(np.asarray(p), ((0, n), (0, 0))) for p in (motion.xd, motion.xdd, motion.xddd)]
    return Motion(*map(jnp.asarray, (t, x, *rest)), coordinates=motion.coordinates)


# Poles


def test_poles_are_those_of_the_closed_loop_that_has_rigid_links():
    """Rotors behind soft gears: the poles of another model, with friction and without bending."""
    robot = with_control(gravity=(0.0, 0.0, 0.0))
    _, theirs = continuous(robot, X)
    ours = poles_of(stiff(flexible(robot, drives="servo")), X)
    assert len(ours) == len(theirs) == 10
    assert np.allclose(ours, theirs, rtol=2e-3, atol=0)
    assert np.abs(ours / theirs - 1)[np.abs(theirs) < 130].max() < 3e-4  # but for what rods weigh
    assert np.abs(poles_of(MODEL, X)[0] / theirs[0] - 1) > 1e-4  # links that bend are others


def of_irb():
    """The IRB 360 without telescope and weight, rods as heavy as their beams with their lumps."""
    bare = IRB.model_copy(update={"gravity": (0.0, 0.0, 0.0)})
    model = flexible(bare, drives="servo")
    length, own = 1.106, float(model.rod_beam.mass)
    root, tip = np.asarray(model.rod_lumps)
    nothing = {"mass": 1e-9, "first_moment": (0.0,) * 3, "inertia_at_origin": (1e-9,) * 3}
    turning = own * length**3 / 3 + tip * length**2
    rod = {
        "mass": own * length + root + tip,
        "first_moment": (own * length**2 / 2 + tip * length, 0.0, 0.0),
        "inertia_at_origin": (1.5e-5, turning, turning),
    }
    bodies = {k: getattr(bare.bodies, k) for k in ("telescope_upper", "telescope_lower")}
    bodies = {k: body.model_copy(update=nothing) for k, body in bodies.items()}
    bodies["rod"] = bare.bodies.rod.model_copy(update=rod)
    friction = bare.friction.model_copy(update={"telescope": None})
    update = {"bodies": bare.bodies.model_copy(update=bodies), "friction": friction}
    return bare.model_copy(update=update)


@pytest.mark.long
def test_poles_of_the_irb_360():
    """Of the same bodies to six digits; of the file's, whose telescope turns, within 2.5 %.

    Its loop is sampled every 0.4 ms, which moves poles by 2.2 % at most.
    """
    x = (0.2, -0.1, -0.95, 0.3)
    robot = of_irb()
    _, theirs = continuous(robot, x)
    ours = poles_of(stiff(flexible(robot, drives="servo")), x)
    assert len(ours) == 6
    for p in ours:  # two more are those of axis 4
        assert np.abs(theirs / p - 1).min() < 1e-5
    model, (about, theirs) = flexible(IRB, drives="servo"), continuous(IRB, x)
    z = loop_poles(about)
    sampled = np.log(z[np.abs(z) > 1e-9]) / about.period
    ours = slow(poles(model, *matrices(model, x)).p, below=150.0)
    assert len(ours) == 6
    for p in ours:
        near = theirs[np.abs(theirs / p - 1).argmin()]
        assert np.abs(near / p - 1) < 0.025
        assert np.abs(sampled / near - 1).min() < 0.022
    found = modes(model, x, count=15)
    assert found.frequencies[0] / (2 * np.pi) == pytest.approx(11.3, abs=0.1)  # [Hz]
    assert 0.8 < found.ratios[0] < 0.9
    held = modes(flexible(IRB), x, count=1)
    assert held.frequencies[0] / (2 * np.pi) == pytest.approx(65.3, abs=0.1)  # its rods
    assert "links" not in found.directions[:3]
    assert found.directions[3] == "links"


def test_high_gains_hold_and_no_gains_let_go():
    held = np.asarray(modes(flexible(GEARED), X, count=6).frequencies)
    for factor in (1e3, 1e6):
        found = modes(gains(FRICTIONLESS, factor), X, count=6)
        off = np.abs(found.frequencies / held - 1).max()
        assert off < 30 / factor + 1e-6
    assert np.abs(found.ratios).max() < 1e-4
    M, _, K = matrices(gains(FRICTIONLESS, 0.0), X)
    free = np.sqrt(np.maximum(eigh((K + K.T) / 2, M, eigvals_only=True), 0.0))
    assert (free[:3] < 1e-3 * free[3]).all()  # the motors turn, and the platform with them
    found = modes(gains(FRICTIONLESS, 1e-9), X, count=6).frequencies
    swinging = found[found > 0.5 * free[3]][:3]
    assert np.allclose(swinging, free[3:6], rtol=1e-4)
    assert np.abs(modes(MODEL, X, count=3).frequencies / held[:3] - 1).min() > 0.05


def test_what_damps_takes_the_energy_of_a_mode():
    """Without integrators, Re p = -v*Cv / 2 v*Mv, for every pole that swings; all fade."""
    robot = gains(MODEL, 1.0, integral=0.0)
    M, C, K = matrices(robot, X)
    assert np.linalg.eigvalsh((C + C.T) / 2).min() > -1e-9 * np.abs(C).max()
    found = poles(robot, M, C, K)
    chosen = found.swinging()[:20]
    v = found.shapes[:, chosen]
    lost, moving = (np.real(np.einsum("ak,ab,bk->k", v.conj(), A, v)) for A in (C, M))
    scale = np.abs(found.p[chosen])
    assert np.allclose(np.real(found.p[chosen]), -lost / (2 * moving), rtol=0, atol=1e-7 * scale)
    assert np.real(found.p).max() < 1e-9 * scale.max()
    p, all_of_them = poles_of(MODEL, X), poles(MODEL, *matrices(MODEL, X))
    assert np.real(p).max() < 0
    assert len(all_of_them.p) == 2 * MODEL.unknowns + 3
    n, states = MODEL.unknowns, all_of_them
    z = states.vectors[2 * n :]
    s = states.shapes[[6 + k * MODEL.of_limb + MODEL.motor_turn - 6 for k in range(3)]]
    kV = np.asarray(MODEL.servo.position_gain)[:, None]
    assert np.allclose(
        states.p * z, (kV + states.p) * s, rtol=0, atol=1e-6 * np.abs(z * states.p).max()
    )


def test_integrators_hold_what_hangs_on_them():
    """With them the platform is as stiff as with motors held, and hangs as low; without, softer."""
    held, proportional = flexible(GEARED), gains(MODEL, 1.0, integral=0.0)
    assert np.allclose(sag(MODEL, X).position, sag(held, X).position, rtol=1e-9)
    assert np.allclose(sag(MODEL, X).y[:6], sag(held, X).y[:6], rtol=1e-6, atol=1e-12)
    K = [platform_stiffness(robot, X) for robot in (MODEL, held, proportional)]
    assert np.allclose(K[0], K[1], rtol=1e-6, atol=1e-9 * np.abs(K[1]).max())
    assert K[2][2, 2] < 0.5 * K[1][2, 2]
    lower = sag(proportional, X).position[2] - sag(held, X).position[2]
    assert lower < 2 * sag(held, X).position[2] < 0


# Along a motion

MOTION = line((0.0, 0.0, -0.65), (0.05, 0.03, -0.63), duration=0.15, rate=4000)


@pytest.fixture(scope="module")
def run():
    return vibrate(MODEL, MOTION, damping=DAMPED)


def test_the_torque_of_a_motor_is_that_of_its_loop(run):
    """Of inertia and gear by one account, of gains and what they see by another."""
    held, q = (
        MODEL.servo,
        np.array([MODEL.mechanism.inverse(x).value for x in np.asarray(MOTION.x)]),
    )
    qd = np.gradient(q, np.asarray(MOTION.t), axis=0, edge_order=2)
    s, sd = (np.stack([np.asarray(motor_turns(MODEL, z)) for z in zs]) for zs in (run.y, run.yd))
    asked = held.stiffness * s + held.damping * (sd + qd) + held.integral * run.integral
    expected = -asked - held.friction * (sd + qd)
    assert np.allclose(run.torque, expected, rtol=0, atol=2e-3 * np.abs(expected).max())
    rate = np.gradient(run.integral, run.t, axis=0, edge_order=2)
    expected = held.position_gain * s + sd + qd
    assert np.allclose(rate, expected, rtol=0, atol=2e-3 * np.abs(expected).max())
    lag = np.abs(s).max() / np.abs(qd).max()
    assert 0.2 < lag * 60 < 1.2  # behind by what the position gain needs
    assert np.abs(arm_turns(MODEL, run.y[400]) - s[400]).max() > 1e-6  # by the gears


def test_servos_settle_as_an_integration_does(run):
    longer = vibrate(MODEL, dwelling(MOTION, 0.25), damping=DAMPED)
    n = len(MOTION.t) - 1
    deviation = longer.position[n:] - np.asarray(sag(MODEL, MOTION.x[-1]).position)[None]
    size = np.linalg.norm(deviation, axis=1)
    after = settling(run, size.max() / 20)
    assert after.amplitude == pytest.approx(size.max(), rel=0.01)
    t = longer.t[n:] - longer.t[n]
    last = t[np.flatnonzero(size > size.max() / 20)[-1]]
    assert after.time == pytest.approx(last, abs=1e-3)
    inside = t <= after.t[-1]
    ours = np.stack([np.interp(t[inside], after.t, d) for d in after.deviation.T], axis=1)
    assert np.allclose(ours, deviation[inside], rtol=0, atol=0.01 * size.max())


def test_without_integrators_a_robot_at_rest_loses_energy():
    robot = gains(MODEL, 1.0, integral=0.0)
    found = vibrate(robot, dwelling(MOTION, 0.25), damping=DAMPED)
    M, _, K = matrices(robot, tuple(np.asarray(MOTION.x)[-1]))
    n = len(MOTION.t) - 1
    z, zd = found.y[n:] - np.asarray(sag(robot, MOTION.x[-1]).y)[None], found.yd[n:]
    energy = (np.einsum("ka,ab,kb->k", zd, M, zd) + np.einsum("ka,ab,kb->k", z, K, z)) / 2
    assert (np.diff(energy) < 1e-9 * energy[0]).all()
    assert energy[-1] < 1e-3 * energy[0]


def test_what_is_fed_forward_leaves_little_behind(run):
    """Velocity takes the lag, torque what is left but for bending; the torques stay."""
    told = [
        vibrate(MODEL, MOTION, damping=DAMPED, feed=feed)
        for feed in (Feed(velocity=True), feed_forward(GEARED, MOTION))
    ]
    sizes = [np.abs(found.position).max() for found in (run, *told)]
    assert sizes[1] < 0.3 * sizes[0]
    assert sizes[2] < 0.3 * sizes[1]
    assert np.allclose(told[1].position[0], sag(MODEL, MOTION.x[0]).position, atol=1e-9)
    after = settling(told[1], 1e-3)
    assert after.amplitude < 2 * sizes[2]
    with pytest.raises(InputError, match="held need nothing fed forward"):
        vibrate(flexible(GEARED), MOTION, feed=Feed(velocity=True))
    wild = gains(MODEL, 50.0, integral=50.0)
    held = (MODEL.servo.damping, 50 * MODEL.servo.position_gain)
    wild = eqx.tree_at(lambda r: (r.servo.damping, r.servo.position_gain), wild, held)
    assert modes(wild, X).grows
    assert not modes(MODEL, X).grows
    with pytest.raises(InputError, match="servos, gears and links is unstable where the motion"):
        vibrate(wild, MOTION)
    with pytest.raises(InputError, match=r"are 5 rows of 3; this motion has 601 samples"):
        vibrate(MODEL, MOTION, feed=Feed(torque=np.zeros((5, 3))))


@pytest.mark.long
def test_a_period_of_servos_ends_as_it_began():
    around = circle((0.0, 0.0, -0.65), 0.05, period=0.4, rate=2000)
    found = steady(MODEL, around, damping=DAMPED)
    assert np.allclose(found.y[0], found.y[-1], rtol=0, atol=1e-9 * np.abs(found.y).max())
    assert np.allclose(found.integral[0], found.integral[-1], atol=1e-9)
    assert np.abs(found.position).max() > 1e-3


@pytest.mark.long
def test_the_tool_lags_as_the_nonlinear_loop_has_it():
    """Rigid links, nonlinear, sampled, of `control`, for a robot whose links hardly count."""
    motion = line((0, 0, -0.95, 0), (0.05, 0.03, -0.93, 0), duration=0.3, rate=2000)
    run = track(IRB, motion, friction=False, rate=1000.0)
    model = flexible(IRB, drives="servo")
    model = eqx.tree_at(lambda r: r.servo.friction, model, np.zeros(3))
    ours = vibrate(model, motion, damping=DAMPED)
    inside = run.t <= float(motion.t[-1]) + 1e-9
    rows = np.searchsorted(np.asarray(motion.t), run.t[inside] - 1e-9)
    lag = -run.error[inside][:, :3]
    size = np.abs(lag).max()
    assert size > 5e-3
    assert np.abs(lag - ours.position[rows]).max() < 0.01 * size


# The file


def test_a_file_says_what_holds_its_motors():
    names = ("flexible_delta", "geared_delta", "abb_irb360_6_1600")
    assert [stated_drives(load(name)) for name in names] == ["clamped", "geared", "servo"]
    assert stated_drives(GEARED) == "servo"
    assert MODEL.unknowns == flexible(GEARED).unknowns + 3
    assert MODEL.held.unknowns == flexible(GEARED).unknowns
    assert flexible(GEARED, drives="clamped").gears is None
    with pytest.raises(MissingFact, match=r"has no 'control', which a drive held by its servo"):
        flexible(load("flexible_delta"), drives="servo")
    with pytest.raises(InputError, match=r"drives is 'soft'\."):
        flexible(GEARED, drives="soft")
    motor = GEARED.motors.drives.model_copy(update={"rotor_inertia": None})
    light = GEARED.model_copy(update={"motors": GEARED.motors.model_copy(update={"drives": motor})})
    with pytest.raises(InputError, match="a rotor without inertia; add rotor_inertia"):
        flexible(light, drives="servo")
