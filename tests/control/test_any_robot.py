"""Closed loops of robots with two to six drives that turn, slide or grow.

Motors whose rotors outweigh the robot answer alike, whatever they move: by hand,

    th / r = kV kT (kP s + kI) / (J s^3 + kT kP s^2 + kT kI s + kV kT (kP s + kI))
"""

import numpy as np
import pytest
from limb_robots import SAMPLES, described

from triskele.control.bandwidth import bandwidth, linear_response, stepped_response
from triskele.control.cascade import cascade
from triskele.control.loop import loop, response
from triskele.control.plant import linear_plant, plant
from triskele.description.schema import Control, Motor, Motors
from triskele.errors import MissingFact
from triskele.kinematics.build import build
from triskele.kinematics.fit import slides

QUICK = ("five_bar", "6ups")
KV, KP, KI, KT = 20.0, 0.1, 0.5, 0.5


def equipped(name, *, period=1e-3, strong=1.0, **facts):
    """A sample robot with a motor at each drive, and its control, `strong` times as strong."""
    robot, own = described(name), {}
    for joint in build(robot).joint_coordinates:
        i = {"transmission": 300.0} if slides(joint) else {"gear_ratio": 30.0}
        own[joint.name] = Motor(torque_constant=KT, **i, **facts)
    gains = {"position_gain": KV, "velocity_gain": strong * KP, "integral_gain": strong * KI}
    control = Control(**gains, position_period=period)
    return robot.model_copy(update={"motors": Motors(**own), "control": control})


def at_home(robot):
    return np.array([float(np.asarray(value)) for value in build(robot).home()])


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in SAMPLES]
)
def test_motors_that_outweigh_their_robot_answer_alike(name):
    J, strong = 10.0, 1e3
    robot = equipped(name, period=None, strong=strong, rotor_inertia=strong * J)
    model = plant(robot)
    frequencies = np.array([0.01, 0.05, 0.1, 0.3])
    about = loop(linear_plant(model, at_home(robot)), cascade(robot))
    found = response(about, frequencies)
    s = 2j * np.pi * frequencies
    through = KV * KT * (KP * s + KI)
    by_hand = through / (J * s**3 + KT * KP * s**2 + KT * KI * s + through)
    units = np.array(model.mechanism.scales().platform, float)
    metres = found * units[:, None] / units[None, :]
    expected = by_hand[:, None, None] * np.eye(model.n)
    assert np.abs(metres - expected).max() < 1e-4 * np.abs(by_hand).max()
    assert np.abs(by_hand).min() < 0.1 * np.abs(by_hand).max()


@pytest.mark.parametrize(
    "name", ["five_bar", *(pytest.param(n, marks=pytest.mark.long) for n in ("6ups", "par4"))]
)
def test_a_hard_coupling_is_as_good_as_none(name):
    facts = {"rotor_inertia": 1e-4, "damping": 1e-3}
    soft = equipped(name, coupling_stiffness=1e6, coupling_damping=10.0, **facts)
    stiff = equipped(name, **facts)
    found, expected = (bandwidth(robot, top=15.0) for robot in (soft, stiff))
    for ours, theirs in zip(found.bandwidths, expected.bandwidths, strict=True):
        assert ours.coordinate == theirs.coordinate
        assert ours.relative == pytest.approx(theirs.relative, rel=1e-3)
    assert found.margins.gain_limit == pytest.approx(expected.margins.gain_limit, rel=0.02)


@pytest.mark.long
@pytest.mark.parametrize("name", ["linear_delta", "five_bar"])
def test_a_simulated_robot_answers_as_its_linear_model(name):
    robot = equipped(name, rotor_inertia=1e-4, damping=1e-3)
    model, rule, x = plant(robot), cascade(robot), at_home(robot)
    found = stepped_response(model, rule, x, top=6.0, count=3, lowest=2.0, amplitude=1e-4)
    exact = linear_response(model, loop(linear_plant(model, x), rule), found.frequencies)
    assert np.abs(found.values / exact.values - 1).max() < 2e-3


def test_the_motor_that_is_missing_is_named():
    robot = equipped("linear_delta")
    motors = robot.motors.model_copy(update={"q3": None})
    with pytest.raises(MissingFact, match=r"no 'motors\.drives', which a closed loop"):
        plant(robot.model_copy(update={"motors": motors}))
    lost = robot.motors.model_copy(update={"q3": Motor(torque_constant=1.0)})
    with pytest.raises(MissingFact, match=r"no 'motors\.q3\.transmission'"):
        plant(robot.model_copy(update={"motors": lost}))
