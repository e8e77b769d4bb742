"""The closed loop in time: order of the integration, limits, delays, rest, and what is refused.

All runs of the stage share one compiled loop where they can: gains, motors and motions are
arguments of it, and all motions have 100 periods.
"""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.control.cascade import Cascade, FeedForward, cascade
from triskele.control.commands import resampled
from triskele.control.plant import plant
from triskele.control.track import track_plant
from triskele.description.load import load
from triskele.description.schema import Control, Motor, Motors
from triskele.errors import InputError, MissingFact
from triskele.kinematics.motion import Motion, line, sine
from triskele.numerics import stacked

pytestmark = pytest.mark.long

STAGE = load("compliant_3prs")
PLANT, CONTROL = plant(STAGE), cascade(STAGE)
HOME = np.asarray(stacked(PLANT.mechanism.home()))
TILT = PLANT.mechanism.platform_coordinates
UP = np.array([1e-3, 0.0, 0.0])


def lifted(duration=0.5, by=UP, start=HOME):
    return line(start, start + by, duration=duration, coordinates=TILT)


def followed(motion, control=CONTROL, model=PLANT, rate=5000.0, **options):
    """25 samples a period, as of the published tests: one compilation for all of these runs."""
    return track_plant(model, control, motion, rate=rate, **options)


def with_limit(amperes):
    return eqx.tree_at(lambda p: p.actuators.current_limit, PLANT, jnp.full(3, amperes, float))


def with_gains(**gains):
    return dataclasses.replace(
        CONTROL, **{name: jnp.asarray(v, float) for name, v in gains.items()}
    )


def steps(command, count=100, start=HOME):
    """Rest at `start`, and from the second period on beside it, all derivatives zero."""
    x = np.tile(start, (count + 1, 1))
    x[1:] += command
    still = jnp.zeros((count + 1, 3))
    return Motion(
        jnp.asarray(5e-3 * np.arange(count + 1)), jnp.asarray(x), still, still, still, TILT
    )


# Laws


def test_a_command_that_stands_still_keeps_everything_still():
    pose = HOME + np.array([1e-3, 0.01, -0.005])
    found = followed(steps(0.0, 100, pose))
    assert np.abs(found.x - found.x[0]).max() < 1e-9 * np.abs(HOME).max()
    assert np.abs(found.motor - found.motor[0]).max() < 1e-9
    assert np.abs(found.motor_speed).max() < 1e-8
    assert np.ptp(found.current, axis=0).max() < 1e-9
    assert np.abs(found.motor_error).max() < 1e-9  # the encoder is where it should be
    # The load hangs back by the twist of the belts, and the motors hold it.
    assert found.error[0, 0] == pytest.approx(1e-3 * (1 - 0.946), rel=0.05)
    assert np.abs(found.torque).max() > 1e-3


def test_half_the_step_has_a_sixteenth_of_the_error():
    runs = [followed(steps(UP), step=2e-4 / parts).x for parts in (1, 2, 8)]
    coarse, fine = (np.abs(run - runs[2]).max() for run in runs[:2])
    assert coarse / fine == pytest.approx(16, rel=0.15)


def test_the_error_of_the_step_is_measured():
    motion = steps(UP)
    found = followed(motion, step=2e-4, measure_error=True)
    half, tiny = followed(motion, step=1e-4), followed(motion, step=2.5e-5)
    change = np.abs(half.x - found.x)[:, 0].max() / 1e-3
    truth = np.abs(tiny.x - found.x)[:, 0].max() / 1e-3
    assert found.step_error == pytest.approx(change, rel=0.05)
    assert truth == pytest.approx(16 / 15 * change, rel=0.1)
    assert found.step == pytest.approx(2e-4)
    assert followed(motion).step_error is None


def test_records_begin_at_the_start_and_end_with_the_motion():
    found = followed(lifted())
    assert found.t == pytest.approx(2e-4 * np.arange(2501))
    assert found.ended is None
    assert found.command[-1] - HOME == pytest.approx(UP, abs=1e-12)
    assert found.command[0] == pytest.approx(HOME, abs=1e-15)
    assert np.allclose(found.error, found.command - found.x)
    assert np.allclose(found.torque, 0.0302 * found.current)
    assert np.allclose(found.motor_command, 1256.637 * (found.joint_command - 0.3003e-3), atol=1e-3)


# Limits


def test_a_current_stays_within_its_limit_and_the_integral_does_not_wind_up():
    """A jump of 1 mm asks for 80 A; with 3 A the way is long, and then the stage stops at once."""
    jump = steps(UP)
    limited = followed(jump, model=with_limit(3.0))
    free = followed(jump)
    assert np.abs(limited.current).max() == pytest.approx(3.0, abs=1e-12)
    assert np.abs(free.current).max() > 50
    way = UP[0] * 0.946
    overshoot = (limited.x[:, 0] - limited.x[0, 0]).max() / way - 1
    assert overshoot < 0.05
    assert abs(limited.x[-1, 0] - free.x[-1, 0]) < 1e-3 * way


def test_an_integral_that_winds_up_overshoots():
    """The same PI with the limit, without the freeze, in a few lines: what it is good for."""
    kV, kP, kI, kT, c1 = 65.0, 1.0, 8.0, 0.0302, 0.003
    J, target = 1.423e-4 + 4.817e-8 + 0.27296 / 1256.637**2, 1.2566 * 4
    highest = {}
    for freeze in (True, False):
        th = w = z = top = 0.0
        for _ in range(400):
            w_c = kV * (target - th)
            for _ in range(50):
                error = w_c - w
                wanted = kP * error + kI * z
                current = min(max(wanted, -1.0), 1.0)
                if not (freeze and wanted != current and wanted * error > 0):
                    z += 1e-4 * error
                w += 1e-4 * (kT * current - c1 * w) / J
                th += 1e-4 * w
            top = max(top, th)
        highest[freeze] = top / target - 1
    assert highest[False] > 2 * highest[True] + 0.05
    # And ours, limited as much, is the one that freezes.
    far = eqx.tree_at(lambda p: p.actuators.current_limit, PLANT, jnp.full(3, 4.0, float))
    found = followed(steps(2 * UP), model=far)
    over = found.motor[:, 0].max() / found.motor_command[-1, 0] - 1
    assert over < 0.05


def test_a_limit_that_is_not_reached_changes_nothing():
    motion = lifted()
    one, other = followed(motion), followed(motion, model=with_limit(1e3))
    assert np.array_equal(one.x, other.x)


# Delay


@pytest.mark.long
def test_a_late_loop_answers_one_period_later():
    late = cascade(STAGE, delay=1)
    now, then = followed(steps(UP)), followed(steps(UP), late)
    moved, moved_later = (np.abs(run.x[:, 0] - run.x[0, 0]) > 1e-9 for run in (now, then))
    # The jump is seen at 5 ms, sample 25, and answered up to the next period.
    assert 25 < np.argmax(moved) < 30
    assert np.argmax(moved_later) == np.argmax(moved) + 25
    assert np.allclose(then.x[50:76, 0], now.x[25:51, 0], rtol=0, atol=1e-15)


# Feed-forward


def test_velocity_and_windup_fed_forward_track_better():
    motion = sine(HOME, UP, frequency=2.0, duration=0.5, coordinates=TILT)
    kept = slice(750, None)  # after the start
    size = {}
    for name, feed in {
        "none": FeedForward(),
        "velocity": FeedForward(velocity=True),
        "both": FeedForward(velocity=True, windup=True),
        "all": FeedForward(velocity=True, windup=True, torque=True),
    }.items():
        found = followed(motion, feed=feed)
        size[name] = np.abs(found.error[kept, 0]).max(), np.abs(found.motor_error[kept]).max()
    assert size["velocity"][1] < 0.3 * size["none"][1]
    assert size["velocity"][0] > 0.1 * size["none"][0]  # the belts still give way
    assert size["both"][0] < 0.6 * size["velocity"][0]
    assert size["all"][0] < 0.3 * size["velocity"][0]


# Refused


def test_a_gain_that_is_too_high_is_refused_with_the_limit():
    with pytest.raises(InputError, match=r"position_gain is 600 1/s.*stable up to 5[0-9]{2}"):
        followed(lifted(), with_gains(position_gain=600.0))
    wild = followed(steps(UP), with_gains(position_gain=700.0), unstable=True)
    calm = followed(steps(UP), with_gains(position_gain=450.0))
    assert np.ptp(wild.x[-250:, 0]) > 5 * np.ptp(wild.x[125:375, 0])
    assert np.ptp(calm.x[-250:, 0]) < 0.1 * np.ptp(calm.x[125:375, 0])


def test_a_velocity_loop_that_is_sampled_too_slowly_is_refused():
    light = eqx.tree_at(lambda p: p.actuators.rotor_inertia, PLANT, jnp.full(3, 1.423e-5, float))
    slow = cascade(STAGE, velocity_period=5e-3)
    with pytest.raises(InputError, match=r"velocity loop is unstable: velocity_gain 1 .*5 ms"):
        followed(lifted(), slow, light)


def test_a_step_that_is_too_large_is_refused_with_the_mode():
    """Locked motors: 190 Hz; the coupled modes are higher. |s| dt = 2.8 is the end."""
    with pytest.raises(InputError, match=r"step of 5 ms .*coupling mode at [0-9.]+ Hz") as told:
        followed(lifted(), step=5e-3, rate=200.0)
    assert "at most" in str(told.value)
    most = float(str(told.value).split("at most ")[1].split(" ms")[0])
    hertz = float(str(told.value).split("mode at ")[1].split(" Hz")[0])
    assert 150 < hertz < 400
    assert most * 1e-3 * 2 * np.pi * hertz == pytest.approx(2.7, rel=0.01)
    with pytest.raises(InputError, match="step"):
        followed(lifted(), step=-1e-3)


def test_windup_of_stiff_drives_is_refused():
    motors = STAGE.motors.drives.model_copy(update={"coupling_stiffness": None})
    stiff = plant(
        STAGE.model_copy(update={"motors": STAGE.motors.model_copy(update={"drives": motors})})
    )
    with pytest.raises(InputError, match="coupling_stiffness"):
        followed(lifted(), model=stiff, feed=FeedForward(windup=True))


def test_a_motion_of_other_coordinates_is_refused():
    with pytest.raises(InputError, match="psi"):
        followed(line((0, 0, 0.077), (0, 0, 0.078), duration=0.1))


def test_control_that_is_not_there_is_named():
    with pytest.raises(MissingFact, match="'control'"):
        cascade(STAGE.model_copy(update={"control": None}))
    with pytest.raises(MissingFact, match=r"control\.position_gain"):
        cascade(STAGE.model_copy(update={"control": Control(velocity_gain=1.0)}))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"position_gain": -1.0}, "position_gain is -1"),
        ({"velocity_gain": 0.0}, "velocity_gain is 0"),
        ({"integral_gain": -1.0}, "integral_gain is -1"),
        ({"velocity_period": 3e-3}, "no whole multiple of velocity_period"),
        ({"velocity_period": 1e-2}, "no whole multiple of velocity_period"),
        ({"delay": 2}, "delay is 2"),
    ],
    ids=str,
)
def test_control_that_makes_no_sense_is_refused(change, told):
    with pytest.raises(InputError, match=told):
        cascade(STAGE, **change)


def test_a_continuous_position_loop_has_no_periods():
    gains = CONTROL.position_gain, CONTROL.velocity_gain, CONTROL.integral_gain
    with pytest.raises(InputError, match="delay"):
        Cascade(*gains, None, None, 1)
    with pytest.raises(InputError, match="sampled position loop"):
        Cascade(*gains, None, 1e-3)


# Commands


def test_a_motion_is_resampled_by_its_own_derivatives():
    motion = sine(HOME, (1e-3, 0.01, 0.02), frequency=3.0, duration=0.5, rate=200, coordinates=TILT)
    t = np.linspace(0, 0.6, 241)
    found, w = resampled(motion, t), 6 * np.pi
    inside = t <= 0.5
    expected = np.sin(w * t[inside])
    assert np.asarray(found.x)[inside, 0] - HOME[0] == pytest.approx(1e-3 * expected, abs=1e-11)
    assert np.asarray(found.xd)[inside, 1] == pytest.approx(
        0.01 * w * np.cos(w * t[inside]), abs=1e-7
    )
    assert np.asarray(found.xdd)[inside, 2] == pytest.approx(-0.02 * w * w * expected, abs=2e-3)
    assert np.allclose(found.x[-1], motion.x[-1], rtol=0, atol=1e-16)
    assert not np.asarray(found.xd)[t > 0.5].any()


# A Delta


@pytest.mark.long
def test_a_delta_with_torque_fed_forward_tracks_much_better():
    robot = load("omron_mini_delta")
    motor = Motor(gear_ratio=20.0, rotor_inertia=2e-5, torque_constant=0.1)
    control = Control(
        position_gain=40.0, velocity_gain=0.3, integral_gain=6.0, position_period=1e-3
    )
    robot = robot.model_copy(update={"motors": Motors(drives=motor), "control": control})
    model, rule = plant(robot), cascade(robot)
    home = np.asarray(stacked(model.mechanism.home()))
    motion = line(home, home + np.array([0.1, -0.05, 0.05]), duration=0.25)
    worst = {}
    for name, feed in {
        "none": FeedForward(),
        "velocity": FeedForward(velocity=True),
        "both": FeedForward(velocity=True, torque=True),
    }.items():
        worst[name] = np.abs(followed(motion, rule, model, rate=1000.0, feed=feed).error).max()
    print({name: f"{1e6 * value:.1f} um" for name, value in worst.items()})
    assert worst["velocity"] < 0.05 * worst["none"]
    assert worst["both"] < 0.5 * worst["velocity"]  # what is left: a staircase of 1 ms


def test_without_an_integral_an_error_holds_the_robot_still():
    """I = kP kV (th_c - th1) at rest; nothing drops at the start."""
    run = followed(steps(0 * UP), with_gains(integral_gain=0.0))
    assert np.ptp(run.x, axis=0).max() < 1e-12
    assert np.ptp(run.current, axis=0).max() < 1e-9
    error = run.motor_command[0] - run.motor[0]
    assert np.allclose(run.current[0], 1.0 * 65.0 * error, rtol=1e-6)
    assert run.current[0, 0] > 0.01


def test_a_continuous_position_loop_is_not_simulated():
    free = dataclasses.replace(CONTROL, position_period=None)
    with pytest.raises(InputError, match="position_period"):
        followed(lifted(), free)
