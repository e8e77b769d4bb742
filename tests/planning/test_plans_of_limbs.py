"""Plans of each sample architecture, and what cannot be planned.

Each is judged by the multibody engine, which knows bodies and joints but no limbs: it moves the
motors as planned, and efforts and tensions are the multipliers of its joints. Speeds, accelerations
and jerks of the joints are differences of positions.
"""

import equinox as eqx
import numpy as np
import pytest
from limb_robots import SAMPLES, described

from triskele.description.load import load
from triskele.description.schema import Limits, Motor, Motors, Payload
from triskele.description.tables import Table
from triskele.dynamics.torques import torques
from triskele.errors import InputError, OutOfReach
from triskele.identification.probes import box, inside
from triskele.kinematics.build import build
from triskele.kinematics.cycles import rating_cycle
from triskele.kinematics.fit import motor_of
from triskele.kinematics.motion import along
from triskele.kinematics.path import Line, way_points
from triskele.multibody import from_robot, reactions_along
from triskele.numerics import tabulate
from triskele.planning.cycle import fitting_motion, rated_cycle, shown_cycle
from triskele.planning.plan import plan

QUICK = ("five_bar", "3rps", "two_axis_delta")
FINE, COARSE = 2e-4, 2e-3  # s, between samples for differences and for loads
RATES = {  # rad/s and m/s, and so on
    "joint_speed": (2.0, 0.6),
    "joint_acceleration": (30.0, 9.0),
    "joint_jerk": (2000.0, 600.0),
}


def a_line(robot):
    """From one pose to another, with every coordinate."""
    mechanism = build(robot)
    middle, half, _ = box(mechanism, robot.limits)
    ends = np.random.default_rng(3).uniform(-0.5, 0.5, (2, len(half)))
    return Line(*inside(mechanism, robot.limits, middle, middle + half * ends))


def at_home(robot):
    return np.array([float(value) for value in build(robot).home()])


def limited(robot, path):
    """`robot` with motors and limits half as strong again as it takes to creep along `path`."""
    mechanism = build(robot)
    joints, groups = mechanism.joint_coordinates, {}
    slow = along(path, duration=20.0, rate=5.0, coordinates=mechanism.platform_coordinates)
    creeping = torques(robot, slow)
    mixed = len({joint.unit for joint in joints if joint.drive == "drives"}) > 1
    for k, joint in enumerate(joints):
        table = joint.name if mixed else joint.drive
        groups.setdefault((table, joint.unit), []).append(k)
    motors = {
        drive: Motor(
            **{"gear_ratio" if unit == "rad" else "transmission": 1.0},
            peak_torque=max(1.5 * np.abs(creeping.tau[:, numbers]).max().item(), 0.2),
        )
        for (drive, unit), numbers in groups.items()
    }
    rates = {key: tuple(pair[j.unit == "m"] for j in joints) for key, pair in RATES.items()}
    rods = creeping.loads.rods
    force = None if rods is None else 1.5 * np.abs([rods.lower, rods.upper]).max().item()
    limits = Limits(**rates, rod_force=force)
    return robot.model_copy(update={"limits": limits, "motors": Motors(**motors)})


def through(path, robot):
    """A path through its ends and a point beside its middle."""
    a, b = np.asarray(path.start), np.asarray(path.end)
    beside = (a + b) / 2 + 0.06 * np.abs(b - a) * np.random.default_rng(0).normal(size=len(a))
    columns = np.stack([a, beside, b], axis=1)
    coordinates = build(robot).platform_coordinates
    table = {c.name: (c.unit, row) for c, row in zip(coordinates, columns, strict=True)}
    return way_points(Table(table, "ways.csv"), coordinates=coordinates)


def replayed(found):
    """How far the multibody engine uses each limit."""
    robot, mechanism = found.robot, build(found.robot)
    motion = found.motion(period=COARSE)
    held = reactions_along(from_robot(robot, driven="motors"), motion)
    peaks = [motor_of(robot.motors, c)[1].peak_torque for c in mechanism.joint_coordinates]
    uses = {"peak_torque": (np.abs(held.effort) / peaks).max()}
    poses = np.stack(tabulate(eqx.Partial(_poses, mechanism))(np.asarray(motion.x)), axis=-1)
    frames = dict(zip(mechanism.bodies, np.moveaxis(_frames(poses), 1, 0), strict=True))
    tensions = [
        np.abs(np.sum(held.of(end)[0] * frames[strut.body][:, 0], axis=1)).max()
        for strut in mechanism.struts
        for end in (strut.lower, strut.upper)
    ]
    uses["rod_force"] = max(tensions) / robot.limits.rod_force
    t = np.arange(0, found.duration, FINE)
    x = np.asarray(found.motion(period=FINE).x)[: len(t)]
    values = np.stack(tabulate(eqx.Partial(_joints, mechanism))(x), axis=-1)
    for key in RATES:
        values = np.gradient(values, FINE, axis=0)[2:-2]
        uses[key] = (np.abs(values) / getattr(robot.limits, key)).max()
    return uses


def _poses(mechanism, x):
    frames = mechanism.body_poses(mechanism.inverse(x).components, x)
    return tuple(entry + 0.0 * x[0] for frame in frames for axis in frame for entry in axis)


def _frames(columns):
    return columns.reshape(len(columns), -1, 4, 3)


def _joints(mechanism, x):
    return mechanism.inverse(x).components


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n in ("6rus", "6pus") else ()) for n in SAMPLES],
)
def test_the_multibody_engine_stays_within_every_limit_of_a_plan(name):
    path = a_line(described(name))
    robot = limited(described(name), path)
    for way in (path, through(path, robot)):
        found = plan(robot, way, cells=60)
        uses = replayed(found)
        planned = dict.fromkeys(uses, 0.0)
        for item in found.limits:
            planned[item.limit.key] = max(planned[item.limit.key], item.use)
        assert max(uses.values()) > 0.995
        for key, use in uses.items():
            assert use < 1.005, key
            # jerk jumps where the binding limit changes, and samples miss some of its peaks
            assert use == pytest.approx(planned[key], abs=0.02), key


@pytest.mark.parametrize("name", QUICK)
def test_a_plan_uses_what_the_torques_of_its_samples_use(name):
    path = a_line(described(name))
    found = plan(limited(described(name), path), path, cells=24)
    uses = {
        item.limit: item.use for item in torques(found.robot, found.motion(period=COARSE)).limits
    }
    assert max(uses.values()) < 1.02
    for item in found.limits:
        assert uses[item.limit] == pytest.approx(item.use, abs=0.03), item.limit


def test_a_plane_robot_picks_where_it_goes_up_and_moves_along_a_sine_where_it_does_not():
    motion, title = fitting_motion(described("two_axis_delta"))
    assert title.startswith("pick-and-place in 1 s, ")
    assert (np.ptp(np.asarray(motion.x), axis=0) > 1e-3).all()
    motion, title = fitting_motion(described("five_bar"))
    assert title.startswith("sine of x by ")
    assert np.ptp(np.asarray(motion.x), axis=0)[1] == 0
    remark = shown_cycle(described("five_bar")).remark
    assert "five_bar does not move along z; a pick needs x or y, and z" in remark


@pytest.mark.parametrize("name", ["6rus", "par4"])
def test_angles_rest_on_a_rated_cycle(name):
    robot = described(name)
    motion = rating_cycle(robot, rate=50)
    angles = [c.unit == "rad" for c in motion.coordinates]
    assert np.ptp(np.asarray(motion.x)[:, angles], axis=0).max() == 0
    with pytest.raises(InputError, match="--limit joint_acceleration=5000deg/s"):
        rated_cycle(robot)
    with pytest.raises(InputError, match=r"--limit joint_acceleration=50m/s\^2"):
        rated_cycle(described("6pus"))


def test_a_turn_on_the_spot_is_a_path_of_its_own():
    robot = described("6rus")
    home = at_home(robot)
    limits = Limits(joint_acceleration=(100.0,), joint_jerk=(1e4,))
    bounded = robot.model_copy(update={"limits": limits})
    found = plan(bounded, Line(home, home + 0.4 * np.eye(6)[5]), cells=24)
    motion = found.motion(period=COARSE)
    assert np.ptp(np.asarray(motion.x), axis=0)[:5].max() == 0
    with pytest.raises(OutOfReach, match=r"leaves the reach of 6rus at s = "):
        plan(bounded, Line(home, home + 3.0 * np.eye(6)[5]), cells=24)


def test_a_cup_on_a_platform_that_tilts_holds_along_its_own_axis():
    robot = described("3rps")
    limits = Limits(joint_acceleration=(20.0,), joint_jerk=(500.0,))
    robot = robot.model_copy(update={"limits": limits, "gravity": (0.0, 0.0, -9.81)})
    path = Line([0.5, -0.3, 0.5], [0.6, 0.4, 0.2])
    payload = Payload(mass=0.5, grip_force=20.0, grip_friction=0.5)
    found = plan(robot, path, payload, cells=24)
    planned = {item.limit.label: item.use for item in found.limits}
    replay = torques(robot, found.motion(period=COARSE), payload)
    uses = {item.limit.label: item.use for item in replay.limits}
    name = "grip on the payload"
    assert uses[name] == pytest.approx(planned[name], abs=0.03)
    assert planned[name] == pytest.approx(1.0, abs=1e-3)


def test_loads_of_flexures_are_not_planned():
    robot = load("compliant_3prs")
    limits = robot.limits.model_copy(update={"rod_force": 100.0, "joint_jerk": (50.0,)})
    path = Line(at_home(robot), at_home(robot) + 1e-3 * np.eye(3)[0])
    with pytest.raises(InputError, match="a robot with flexures are not modelled; leave rod_force"):
        plan(robot.model_copy(update={"limits": limits}), path)
