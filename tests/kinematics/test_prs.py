"""The 3PRS: laws with even and uneven legs, published formulas, Newton's success and failure."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from triskele.errors import OutOfReach
from triskele.kinematics.prs import Prs
from triskele.kinematics.singularity import singularity_margins
from triskele.kinematics.velocity import closure_jacobians, platform_motion, time_derivative
from triskele.numerics import batch
from triskele.testing import check_mechanism, random_poses

# Ruiz et al., Robotics 11 (2022) 4, Table 1.
a, b, L = 0.125137, 0.04761, 0.109215
ROBOT = Prs.symmetric(base_radius=a, platform_radius=b, bar_length=L)
HOME = jnp.stack(ROBOT.home())
BOX = np.array([[0.02, L], [-0.7, 0.7], [-0.7, 0.7]])
TILTED = HOME + jnp.array([0.002, np.radians(1), np.radians(-0.5)])


def uneven(robot):
    """Every length changed by up to 5 %, azimuths by some degrees."""
    random = np.random.default_rng(2)
    five_percent = lambda length: length * jnp.asarray(random.uniform(0.95, 1.05, 3))  # noqa: E731
    return dataclasses.replace(
        robot,
        azimuth=robot.azimuth + jnp.array([0.03, -0.05, 0.04]),
        base_radius=five_percent(robot.base_radius),
        platform_radius=five_percent(robot.platform_radius),
        bar_length=five_percent(robot.bar_length),
        rest_angle=jnp.asarray(0.7, float),
    )


def clockwise(robot):
    return dataclasses.replace(robot, azimuth=-robot.azimuth)


def grid(*values):
    return np.stack([axis.ravel() for axis in np.meshgrid(*values, indexing="ij")], axis=1)


POSES = grid(np.linspace(0.05, 0.1, 3), np.linspace(-0.9, 0.9, 7), np.linspace(-0.9, 0.9, 7))


# Laws, in Python: each formula is evaluated once, and compiling them would take longer.


@pytest.mark.long
def test_obeys_the_laws_of_a_mechanism_even_with_uneven_legs_numbered_clockwise():
    robot = clockwise(uneven(ROBOT))
    with jax.disable_jit():
        check_mechanism(robot, random_poses(robot, BOX, 200, margin=0.1))


def test_platform_jerk_is_the_third_derivative_of_newtons_solution():
    q = ROBOT.inverse(TILTED).checked()
    rates = jnp.array([[1.0, 2.0, -1.0], [3.0, -1.0, 0.5], [0.1, 0.4, 7.0]])

    def along(t):
        qd, qdd, qddd = rates
        return ROBOT.forward(tuple(q + t * qd + t * t / 2 * qdd + t**3 / 6 * qddd)).components

    motion = platform_motion(ROBOT, q, TILTED, *map(tuple, rates))
    third = time_derivative(time_derivative(time_derivative(along)))(jnp.zeros(()))
    assert np.allclose(motion.jerk, third, rtol=1e-10)


def test_geometry_errors_move_the_platform_as_the_closure_says():
    """dx = -A^-1 dc for a change of all lengths and angles at once."""
    robot = uneven(ROBOT)
    q = robot.inverse(TILTED).checked()
    change = jax.tree.map(lambda leaf: jnp.linspace(0.1, 0.3, leaf.size).reshape(leaf.shape), robot)
    _, dc = jax.jvp(lambda robot: jnp.stack(robot.closure(q, TILTED)), (robot,), (change,))
    with jax.disable_jit():  # compiling this takes longer than a loop in Python
        _, dx = jax.jvp(lambda robot: robot.forward(q).value, (robot,), (change,))
    A, _ = closure_jacobians(robot, q, TILTED)
    assert np.allclose(dx, -np.linalg.solve(np.array(A), dc), rtol=1e-10)


# By hand


def test_home_is_level_with_bars_at_the_rest_angle():
    q = ROBOT.inverse(HOME).checked()
    assert np.allclose(HOME, [L / np.sqrt(2), 0, 0], atol=1e-16)
    assert np.allclose(q, a - b - L / np.sqrt(2), atol=1e-16)
    assert np.allclose(ROBOT.passive(q, HOME), [np.pi / 4] * 3 + [0] * 9, atol=1e-15)


def test_flexures_are_free_where_all_bars_stand_at_the_rest_angle():
    robot = dataclasses.replace(ROBOT, rest_angle=jnp.asarray(0.6, float))
    home = jnp.stack(robot.home())
    passive = robot.passive(robot.inverse(home).components, home)
    assert np.allclose(passive, [0.6] * 3 + [0] * 9, atol=1e-15)


def test_a_lift_bends_the_flexures_by_what_the_bars_turn():
    x = jnp.array([0.09, 0.0, 0.0])
    alpha = np.arcsin(0.09 / L)
    expected = [alpha] * 3 + [alpha - np.pi / 4, 0, 0] * 3
    assert np.allclose(ROBOT.passive(ROBOT.inverse(x).components, x), expected, atol=1e-14)


def test_flexure_angles_turn_the_bar_into_the_platform():
    """[m n l]_bar' R [m n l]_rest = Rx(beta_m) Ry(beta_n) Rz(beta_l), uneven legs, 34 degrees."""
    robot = dataclasses.replace(uneven(ROBOT), rest_angle=jnp.asarray(0.6, float))
    x = jnp.array([0.07, 0.2, -0.3])
    q = robot.inverse(x).checked()
    *_, bar_1, bar_2, bar_3, platform = map(np.asarray, robot.body_poses(q, x))
    angles = np.reshape(robot.passive(q, x)[3:], (3, 3))
    for bar, azimuth, beta in zip((bar_1, bar_2, bar_3), robot.azimuth, angles, strict=True):
        e = np.array([np.cos(azimuth), np.sin(azimuth), 0])
        up = np.array([0, 0, 1])
        along = -np.cos(0.6) * e + np.sin(0.6) * up
        across = np.cross(e, up)
        rest = np.stack([across, np.cross(along, across), along], axis=1)
        turned = bar[[1, 2, 0]] @ platform[:3].T @ rest
        assert np.allclose(Rotation.from_euler("XYZ", beta).as_matrix(), turned, atol=1e-14)


def test_motion_of_the_sliders_at_home():
    # All inwards by what the platform rises, for bars at 45 degrees; a tilt lifts B_i.
    h = b * np.sqrt(3) / 2
    expected = [[1, 0, -b], [1, h, b / 2], [1, -h, b / 2]]
    found = jax.jacfwd(lambda x: ROBOT.inverse(x).value)(HOME)
    assert np.allclose(found, expected, atol=1e-15)


def test_margins_of_a_level_platform():
    # With alpha the inclination of the bars: cos^2 to reach, cos and sin^3 from singularities.
    # Rows of dc/dx are 1.177 sin(alpha) long, and shortened to 1 where they are longer.
    for alpha in np.radians([5.0, 45.0, 85.0]):
        x = jnp.array([L * np.sin(alpha), 0.0, 0.0])
        solution = ROBOT.inverse(x)
        margins = singularity_margins(ROBOT, solution.components, x)
        assert np.isclose(solution.margin, np.cos(alpha) ** 2)
        assert np.allclose(margins.type1, np.cos(alpha))
        row = np.sin(alpha) * np.sqrt(1 + 1 / (1.5 * np.sqrt(3)))
        assert np.isclose(margins.type2, (np.sin(alpha) / max(row, 1)) ** 3)


def test_names_and_units():
    assert [(c.name, c.unit) for c in ROBOT.joint_coordinates] == [
        ("s1", "m"), ("s2", "m"), ("s3", "m")
    ]  # fmt: skip
    assert [c.unit for c in ROBOT.platform_coordinates] == ["m", "rad", "rad"]
    names = [c.name for c in ROBOT.passive_coordinates]
    assert names[2:7] == ["alpha_3", "beta_m1", "beta_n1", "beta_l1", "beta_m2"]
    assert ROBOT.bodies[2:5] == ("coupling_3", "bar_1", "bar_2")


# Parasitic motions


def test_parasitic_motions_of_even_legs_are_the_published_ones():
    """Ruiz et al. 2022, equation (A6)."""

    def parasitic(x):
        pose = ROBOT.platform_pose(x)
        return pose.p[0], pose.p[1], pose.x[1], pose.y[1]

    p_x, p_y, sine, cosine = map(np.asarray, batch(parasitic)(POSES))
    psi, theta = POSES[:, 1:].T
    phi = np.arctan2(np.sin(psi) * np.sin(theta), np.cos(psi) + np.cos(theta))
    assert np.allclose(np.arctan2(sine, cosine), phi, atol=1e-15)
    c, s = np.cos(phi), np.sin(phi)
    expected = np.cos(theta) * c + np.sin(psi) * np.sin(theta) * s - np.cos(psi) * c
    assert np.allclose(p_x, b / 2 * expected, atol=1e-16)
    assert np.allclose(p_y, -b * np.cos(psi) * s, atol=1e-16)


@pytest.mark.parametrize("robot", [ROBOT, uneven(ROBOT), clockwise(ROBOT)])
def test_spherical_joints_stay_in_their_leg_planes(robot):
    def sideways(robot, x):
        pose = robot.platform_pose(x)
        s, c = jnp.sin(robot.azimuth), jnp.cos(robot.azimuth)
        joints = [
            pose.at((radius * c[i], radius * s[i], 0.0))
            for i, radius in enumerate(robot.platform_radius)
        ]
        return tuple(c[i] * B[1] - s[i] * B[0] for i, B in enumerate(joints))

    assert np.abs(batch(eqx.Partial(sideways, robot))(POSES)).max() < 1e-16


def test_the_platform_is_tilted_about_x_then_y():
    pose = ROBOT.platform_pose(TILTED)
    psi, theta = np.asarray(TILTED[1:])
    normal = [np.sin(theta) * np.cos(psi), -np.sin(psi), np.cos(theta) * np.cos(psi)]
    assert np.allclose(pose.z, normal, atol=1e-15)


# Edges


# The bars stand upright at z = L; above, the loops are open.
@pytest.mark.parametrize("height, margin", [(L, 0), (1.2 * L, 1 - 1.44)])
def test_beyond_its_reach_a_bar_is_held_upright_with_finite_gradients(height, margin):
    x = jnp.array([height, 0.0, 0.0])
    solution = ROBOT.inverse(x)
    assert np.isclose(solution.margin, margin, atol=1e-15)
    assert np.allclose(solution.value, a - b, atol=1e-9)
    assert np.isfinite(jax.jacrev(lambda x: ROBOT.inverse(x).value)(x)).all()
    if margin < 0:
        with pytest.raises(OutOfReach, match="Out of reach"):
            solution.checked()


def test_sliders_too_far_apart_have_no_forward_solution():
    """Sliders at -50 mm: the bars of 109 mm cannot span 128 mm."""
    solution = ROBOT.forward(jnp.full(3, -0.05))
    assert solution.margin == -1
    assert np.isfinite(solution.value).all()
    with pytest.raises(OutOfReach, match="Out of reach"):
        solution.checked()


def test_a_slider_that_is_not_a_number_is_not_let_through_and_spoils_no_neighbour():
    q = np.tile(ROBOT.inverse(TILTED).value, (2, 1))
    q[0, 1] = np.nan
    solution = ROBOT.forward(tuple(jnp.asarray(q.T)))
    assert not solution.margin[0] >= 0
    assert np.allclose(solution.value[1], TILTED, atol=1e-13)
    with pytest.raises(OutOfReach, match="Out of reach"):
        solution.checked()


# Modes


def test_bars_lean_outwards_in_the_other_working_mode():
    # Ruiz et al. 2022, (A13): the plus root is not the machine.
    robot = dataclasses.replace(ROBOT, working_mode=(1, -1, 1))
    q = robot.inverse(HOME).checked()
    assert np.allclose(q, a - b + L / np.sqrt(2) * np.array([-1, 1, -1]), atol=1e-15)
    assert np.allclose(robot.closure(q, HOME), 0, atol=1e-16)


def test_the_platform_below_the_sliders_is_the_other_assembly_mode():
    robot = dataclasses.replace(ROBOT, assembly_mode=-1)
    q = ROBOT.inverse(TILTED).checked()
    solution = robot.forward(q)
    assert np.allclose(solution.checked(), -TILTED, atol=1e-13)
    assert np.isclose(solution.margin, ROBOT.forward(q).margin)


@pytest.mark.parametrize("robot", [ROBOT, uneven(ROBOT)])
def test_all_assembly_modes_close_and_are_mirrored_in_the_plane_of_the_sliders(robot):
    q = robot.inverse(TILTED).checked()
    modes = np.asarray(robot.assembly_modes(q))
    assert len(modes) == 8
    loops = batch(lambda x: robot.closure(q, x))(modes)
    assert np.abs(loops).max() < 1e-9 * L**2

    def has(pose):
        return (np.abs(modes - pose).max(axis=1) < 1e-9).sum() == 1

    assert has(np.asarray(TILTED))
    assert all(has(-pose) for pose in modes)


def test_sliders_too_far_apart_have_no_assembly_mode():
    assert ROBOT.assembly_modes(jnp.full(3, -0.05)).shape == (0, 3)


# Bodies


def test_frames_at_home():
    coupling, bar, platform = (
        ROBOT.body_poses(ROBOT.inverse(HOME).value, HOME)[k] for k in (0, 3, 6)
    )
    half = np.sqrt(0.5)
    slider = b + L * half
    assert np.allclose(coupling, [[-1, 0, 0], [0, -1, 0], [0, 0, 1], [slider, 0, 0]], atol=1e-15)
    expected = [[-half, 0, half], [0, -1, 0], [half, 0, half], [slider, 0, 0]]
    assert np.allclose(bar, expected, atol=1e-15)
    assert np.allclose(platform, [*np.eye(3), [0, 0, L * half]], atol=1e-15)
