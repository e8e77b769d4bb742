"""The Delta: laws for each structure, a 3-4-5 triangle by hand, edges, modes, the telescope."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.errors import OutOfReach
from triskele.kinematics.build import build
from triskele.kinematics.delta import Delta
from triskele.kinematics.singularity import singularity_margins
from triskele.kinematics.velocity import closure_jacobians, jacobian
from triskele.numerics import batch
from triskele.testing import check_mechanism, random_poses

# With R = r, L = 3, d = 5 each limb is a 3-4-5 triangle: arms level, platform 4 m below.
TRIANGLE = Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
LEVEL, BELOW = jnp.zeros(3), jnp.array([0.0, 0.0, -4.0])
IRB = build(load("abb_irb360_6_1600"))


def box(robot):
    """All that the arms can reach, and more; the flange turns freely."""
    reach = float((robot.arm_length + robot.rod_length).max())
    sides = [[-reach, reach], [-reach, reach], [-reach, 0.2 * reach], [-3, 3]]
    return np.array(sides[: len(robot.platform_coordinates)])


def uneven(robot):
    """Every length of every limb changed by up to 5 %, odd azimuths."""
    random = np.random.default_rng(1)
    five_percent = lambda length: length * jnp.asarray(random.uniform(0.95, 1.05, 3))  # noqa: E731
    return dataclasses.replace(
        robot,
        azimuth=jnp.array([0.4, 2.9, 4.1]),
        base_radius=five_percent(robot.base_radius),
        platform_radius=five_percent(robot.platform_radius),
        arm_length=five_percent(robot.arm_length),
        rod_length=five_percent(robot.rod_length),
    )


def clockwise(robot):
    return dataclasses.replace(robot, azimuth=-robot.azimuth)


def elbows_inwards(robot):
    return dataclasses.replace(robot, working_mode=(-1, 1, -1))


# Laws, in Python: each formula is evaluated once, and compiling them would take longer.


@pytest.mark.parametrize(
    "name, variants",
    [
        # one rod per limb
        pytest.param("flexible_delta", (uneven, clockwise, elbows_inwards), marks=pytest.mark.long),
        ("omron_mini_delta", (uneven,)),  # pairs
        ("d3s_800", (uneven,)),  # pairs with connecting rods
        ("abb_irb360_6_1600", (uneven, clockwise)),  # pairs and a telescope
    ],
)
def test_obeys_the_laws_of_a_mechanism_even_with_uneven_limbs(name, variants):
    for robot in (variant(build(load(name))) for variant in variants):
        check_mechanism(robot, random_poses(robot, box(robot), 200, margin=0.1))


# By hand


def test_triangle_hangs_four_metres_below_with_its_arms_level():
    assert np.allclose(TRIANGLE.inverse(BELOW).checked(), LEVEL, atol=1e-12)
    assert np.allclose(TRIANGLE.forward(LEVEL).checked(), BELOW, atol=1e-12)
    assert np.allclose(TRIANGLE.closure(LEVEL, BELOW), 0, atol=1e-12)


def test_margins_of_the_triangle():
    # The wrist is 4 m from the motor, square to the arm: k = 0. The spheres' centres are 3 m
    # from the axis, their radius is 5 m: 1 - 9/25.
    assert np.isclose(TRIANGLE.inverse(BELOW).margin, 1)
    assert np.isclose(TRIANGLE.forward(LEVEL).margin, 16 / 25)


def test_closure_is_half_the_difference_of_squares():
    # One metre too low: |s|^2 = 9 + 25, d^2 = 25.
    assert np.allclose(TRIANGLE.closure(LEVEL, jnp.array([0.0, 0.0, -5.0])), 4.5)


def test_arms_turn_down_when_the_platform_sinks():
    assert (TRIANGLE.inverse(jnp.array([0.0, 0.0, -5.0])).checked() > 0.3).all()


def test_an_arm_turns_up_when_the_platform_comes_towards_it():
    # Seen from motor 1 a platform moved by (1, 0, 0) is at (1, 0, -4): k = (17 + 9 - 25)/6.
    q = TRIANGLE.inverse(jnp.array([1.0, 0.0, -4.0])).checked()
    assert np.isclose(q[0], np.arctan2(4, 1) - np.arccos(1 / 6 / np.sqrt(17)), atol=1e-14)
    assert q[0] < 0 < q[1]
    assert np.isclose(q[1], q[2], atol=1e-14)


def test_level_arms_lower_the_platform_at_the_speed_of_their_elbows():
    velocity = jacobian(TRIANGLE, LEVEL, BELOW) @ jnp.ones(3)
    assert np.allclose(velocity, [0, 0, -3], atol=1e-12)


def test_longer_level_arms_raise_the_platform():
    # z = -sqrt(d^2 - L^2), hence dz/dL = L / sqrt(d^2 - L^2) = 3/4 and dz/dd = -5/4.
    dz = eqx.filter_grad(lambda robot: robot.forward(LEVEL).value[2])(TRIANGLE)
    assert np.isclose(dz.arm_length.sum(), 0.75, atol=1e-12)
    assert np.isclose(dz.rod_length.sum(), -1.25, atol=1e-12)
    assert np.isclose(dz.base_radius.sum(), 0.75, atol=1e-12)
    assert np.isclose(dz.platform_radius.sum(), -0.75, atol=1e-12)


def test_geometry_errors_move_the_platform_as_the_closure_says():
    """dx = -A^-1 dc/d(parameter): `forward` in reverse mode against `closure`, which it lacks."""
    robot = uneven(TRIANGLE)
    q = jnp.array([0.3, -0.2, 0.5])
    x = robot.forward(q).checked()
    A, _ = closure_jacobians(robot, q, x)
    dc = jax.jacrev(lambda robot: jnp.stack(robot.closure(q, x)))(robot)
    dx = jax.jacrev(lambda robot: robot.forward(q).value)(robot)
    for ours, loops in zip(jax.tree.leaves(dx), jax.tree.leaves(dc), strict=True):
        assert np.allclose(ours, -np.linalg.solve(np.array(A), loops), atol=1e-12)


def test_home_has_level_arms_or_is_halfway_down_the_axis_if_level_cannot_close():
    assert np.allclose(TRIANGLE.home(), BELOW, atol=1e-12)
    # Rods of 2.5 m cannot span 3 m. On the axis they reach from 0.5 m to 5.5 m.
    short = dataclasses.replace(TRIANGLE, rod_length=jnp.full(3, 2.5))
    assert np.allclose(short.home(), [0, 0, -3], atol=1e-12)
    with_flange = dataclasses.replace(short, telescope=jnp.array([0.1, 0.0]))
    assert np.allclose(with_flange.home(), [0, 0, -3, 0], atol=1e-12)
    # 2 m across: from there to 4.5 m in a straight line, in the middle 3.25 m.
    wide = dataclasses.replace(short, base_radius=jnp.full(3, 3.0), rod_length=jnp.full(3, 1.5))
    assert np.allclose(wide.home(), [0, 0, -np.sqrt(3.25**2 - 4)], atol=1e-12)
    assert wide.inverse(wide.home()).margin > 0


def test_rods_tilt_out_of_their_planes_by_the_sideways_part_of_the_pose():
    # x . v_1 = 2.5 m of the 5 m rod; limbs 2 and 3 see -+ half of it.
    tilts = TRIANGLE.passive(LEVEL, jnp.array([0.0, 2.5, -4.0]))
    assert np.allclose(np.degrees(tilts), [30, *(np.degrees(np.arcsin(-0.25)),) * 2], atol=1e-12)


# Limbs


@pytest.mark.parametrize(
    "field, opened",  # (span^2 + 4^2 - rod^2) / 2 with a span of 3.1 or 2.9 m, a rod of 5.1 m
    [
        ("arm_length", 0.305),
        ("base_radius", 0.305),
        ("platform_radius", -0.295),
        ("rod_length", -0.505),
    ],
)
def test_a_change_of_limb_two_opens_its_own_loop_alone(field, opened):
    lengths = getattr(TRIANGLE, field) + np.array([0.0, 0.1, 0.0])
    robot = dataclasses.replace(TRIANGLE, **{field: lengths})
    assert np.allclose(robot.closure(LEVEL, BELOW), [0, opened, 0], atol=1e-12)


def test_limbs_may_be_numbered_clockwise():
    other = clockwise(TRIANGLE)
    x = jnp.array([0.5, 1.0, -4.5])
    q = TRIANGLE.inverse(x).checked()
    assert np.allclose(other.inverse(x).checked(), q[jnp.array([0, 2, 1])], atol=1e-14)
    assert np.allclose(other.forward(q[jnp.array([0, 2, 1])]).checked(), x, atol=1e-13)
    assert np.isclose(
        singularity_margins(other, q[jnp.array([0, 2, 1])], x).type2,
        singularity_margins(TRIANGLE, q, x).type2,
    )


def test_turning_the_robot_turns_the_pose():
    angle = 0.7
    turned = dataclasses.replace(TRIANGLE, azimuth=TRIANGLE.azimuth + angle)
    x = np.array([0.5, 1.0, -4.5])
    c, s = np.cos(angle), np.sin(angle)
    there = jnp.array([c * x[0] - s * x[1], s * x[0] + c * x[1], x[2]])
    assert np.allclose(turned.inverse(there).value, TRIANGLE.inverse(jnp.asarray(x)).value)


# Edges


# Arms straight down with the rods in line, at 8 m; folded up, at 2 m; and beyond both.
@pytest.mark.parametrize(
    "height, margin, angle",
    [(-8.0, 0, 90), (-9.0, 1 - 65 / 54, 90), (-2.0, 0, -90), (-1.0, 1 - 15 / 6, -90)],
)
def test_beyond_its_reach_a_leg_is_held_stretched_or_folded_with_finite_gradients(
    height, margin, angle
):
    x = jnp.array([0.0, 0.0, height])
    solution = TRIANGLE.inverse(x)
    assert np.isclose(solution.margin, margin, atol=1e-14)
    assert np.allclose(np.degrees(solution.value), angle, atol=1e-6)
    # Reverse mode: the one that turns an untaken branch into NaN.
    for part in ("value", "margin"):
        assert np.isfinite(
            jax.jacrev(lambda x, part=part: getattr(TRIANGLE.inverse(x), part))(x)
        ).all()
    if margin < 0:
        with pytest.raises(OutOfReach, match="Out of reach"):
            solution.checked()


def test_gradients_are_finite_where_a_wrist_is_on_its_motor_axis():
    x = jnp.zeros(3)
    for part in ("value", "margin"):
        assert np.isfinite(
            jax.jacrev(lambda x, part=part: getattr(TRIANGLE.inverse(x), part))(x)
        ).all()


# Rods of 2 m cannot span the 3 m between elbow and wrist of level arms; 3 m just can.
@pytest.mark.parametrize("rod, margin", [(2.0, 1 - 9 / 4), (3.0, 0)])
def test_arms_too_wide_for_the_rods_hold_the_platform_in_the_plane_of_the_elbows(rod, margin):
    robot = dataclasses.replace(TRIANGLE, rod_length=jnp.full(3, rod))
    solution = robot.forward(LEVEL)
    assert np.isclose(solution.margin, margin, atol=1e-14)
    assert np.allclose(solution.value, 0, atol=1e-7)
    assert np.isfinite(jax.jacrev(lambda q: robot.forward(q).value)(LEVEL)).all()
    if margin < 0:
        assert robot.assembly_modes(LEVEL).shape == (0, 3)
        with pytest.raises(OutOfReach, match="some loop cannot close"):
            solution.checked()


def test_gradients_are_finite_where_the_elbows_are_in_line():
    # r = R + L puts the centres of all three spheres on the axis.
    robot = dataclasses.replace(TRIANGLE, platform_radius=jnp.full(3, 4.0))
    assert np.isfinite(robot.forward(LEVEL).value).all()
    assert np.isfinite(jax.jacrev(lambda q: robot.forward(q).value)(LEVEL)).all()


def test_a_pose_that_is_not_a_number_is_not_let_through():
    for solution in (
        TRIANGLE.inverse(jnp.full(3, jnp.nan)),
        TRIANGLE.forward(jnp.full(3, jnp.nan)),
    ):
        with pytest.raises(OutOfReach, match="Out of reach"):
            solution.checked()


def test_checks_work_under_jit_and_for_batches():
    reach = eqx.filter_jit(lambda x: TRIANGLE.inverse(x).checked())
    assert np.allclose(reach(BELOW), LEVEL)
    for x in (3 * BELOW, jnp.full(3, jnp.nan)):
        with pytest.raises(RuntimeError, match="Out of reach"):
            reach(x)
    batched = batch(TRIANGLE.inverse)(np.stack([BELOW, 3 * BELOW]))
    assert batched.value.shape == (2, 3)
    assert np.array_equal(batched.margin >= 0, [True, False])
    with pytest.raises(OutOfReach, match="Out of reach"):
        batched.checked()


# Modes


def test_elbows_inwards_point_the_level_arms_at_the_axis():
    robot = dataclasses.replace(TRIANGLE, working_mode=(-1, 1, -1))
    q = robot.inverse(BELOW).checked()
    assert np.allclose(np.abs(q), [np.pi, 0, np.pi], atol=1e-14)
    assert np.allclose(robot.closure(q, BELOW), 0, atol=1e-13)


def test_the_mirror_image_hangs_four_metres_above():
    robot = dataclasses.replace(TRIANGLE, assembly_mode=-1)
    assert np.allclose(robot.forward(LEVEL).checked(), -BELOW, atol=1e-12)
    assert np.allclose(TRIANGLE.assembly_modes(LEVEL), [BELOW, -BELOW], atol=1e-12)


# Bodies


def frames(robot, x):
    x = jnp.asarray(x)
    q = robot.inverse(x).checked()
    return dict(zip(robot.bodies, robot.body_poses(q, x), strict=True))


def test_the_bodies_of_each_structure():
    single, pair = build(load("flexible_delta")), build(load("d3s_800"))
    assert single.bodies == (*(f"arm_{i}" for i in "123"), *(f"rod_{i}" for i in "123"), "platform")
    assert len(pair.bodies) == 3 + 6 + 6 + 1
    assert pair.bodies[3:5] == ("rod_1a", "rod_1b")
    assert IRB.bodies[-4:] == ("platform", "end_effector", "telescope_upper", "telescope_lower")


def test_frames_of_the_level_triangle():
    found = frames(TRIANGLE, BELOW)
    arm, rod = found["arm_1"], found["rod_1"]
    assert np.allclose(arm, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], atol=1e-14)
    # From the elbow at 4 m inwards and down; the normal of the pair points outwards and up.
    assert np.allclose(rod.x, [-0.6, 0, -0.8], atol=1e-14)
    assert np.allclose(rod.z, [0.8, 0, -0.6], atol=1e-14)
    assert np.allclose(rod.p, [4, 0, 0], atol=1e-14)


def test_arms_turn_about_the_tangent_so_that_positive_is_down():
    q, x = jnp.array([jnp.pi / 2, 0.0, 0.0]), BELOW
    arm = TRIANGLE.body_poses(q, x)[0]
    assert np.allclose(arm[:3], [[0, 0, -1], [0, 1, 0], [1, 0, 0]], atol=1e-14)


def test_the_rods_of_a_pair_are_apart_by_their_spacing_along_the_tangent():
    found = frames(build(load("d3s_800")), [0.1, -0.05, -0.9])
    a, b = found["rod_2a"], found["rod_2b"]
    v = np.array([-np.sin(2 * np.pi / 3), np.cos(2 * np.pi / 3), 0])
    assert np.allclose(np.subtract(b.p, a.p), 0.095 * v, atol=1e-14)
    assert np.allclose(a.x, b.x)


def test_connectors_lie_between_the_rods_near_their_ends():
    robot = build(load("d3s_800"))
    found = frames(robot, [0.1, -0.05, -0.9])
    upper, lower = found["connector_3a"], found["connector_3b"]
    rods = [found["rod_3a"], found["rod_3b"]]
    for connector, along in ((upper, 0.05), (lower, 0.96 - 0.05)):
        hinges = [np.asarray(rod.at((along, 0.0, 0.0))) for rod in rods]
        assert np.allclose(connector.p, np.mean(hinges, axis=0), atol=1e-14)
        assert np.allclose(connector.x, (hinges[1] - hinges[0]) / 0.095, atol=1e-13)


# Telescope


def test_names_and_units_with_and_without_a_telescope():
    assert [c.name for c in TRIANGLE.joint_coordinates] == ["q1", "q2", "q3"]
    assert [(c.name, c.unit) for c in IRB.platform_coordinates] == [
        ("x", "m"), ("y", "m"), ("z", "m"), ("psi", "rad")
    ]  # fmt: skip
    assert [c.name for c in IRB.passive_coordinates] == ["tilt_1", "tilt_2", "tilt_3", "telescope"]


def test_the_flange_turns_as_motor_four_does_and_no_leg_notices():
    x = jnp.array([0.2, -0.3, -1.0, 0.5])
    q = IRB.inverse(x).checked()
    other = IRB.inverse(x.at[3].set(-2.0)).checked()
    assert q[3] == 0.5
    assert other[3] == -2.0
    assert np.array_equal(q[:3], other[:3])
    assert IRB.forward(q).checked()[3] == 0.5
    flange = frames(IRB, x)["end_effector"]
    c, s = np.cos(0.5), np.sin(0.5)
    assert np.allclose(flange, [[c, s, 0], [-s, c, 0], [0, 0, 1], [0.2, -0.3, -1.0]], atol=1e-15)


def test_the_telescope_spans_the_cardans():
    # Upper cardan 75 mm above the motors, lower one 38 mm above the platform.
    for x in ([0.0, 0.0, -0.963, 0.4], [0.6, 0.8, -0.963, 0.4]):
        *_, length = IRB.passive(IRB.inverse(jnp.asarray(x)).components, jnp.asarray(x))
        assert np.isclose(length, np.hypot(np.hypot(*x[:2]), 1.0), atol=1e-15)


def test_the_telescope_points_up_and_leans_after_the_platform():
    upper, lower = (
        frames(IRB, [0.0, 0.0, -0.963, 0.4])[f"telescope_{part}"] for part in ("upper", "lower")
    )
    c, s = np.cos(0.4), np.sin(0.4)
    assert np.allclose(upper, [[c, s, 0], [-s, c, 0], [0, 0, 1], [0, 0, 0.075]], atol=1e-14)
    assert np.allclose(lower.p, [0, 0, -0.925], atol=1e-14)
    # 0.75 m sideways along x, 1 m below: the bar is a 3-4-5 triangle turned about y.
    upper = frames(IRB, [0.75, 0.0, -0.963, 0.0])["telescope_upper"]
    assert np.allclose(upper[:3], [[0.8, 0, 0.6], [0, 1, 0], [-0.6, 0, 0.8]], atol=1e-14)
