"""Springs in drives and rods of any robot: by hand, by textbook formulas, by a model of our own.

The model of our own is a 6-RUS of arms and a platform, joined by springs instead of rods, in twelve
coordinates; its energies are written down here, and share nothing with the library.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from limb_robots import SAMPLES, described
from scipy.linalg import eigh

from triskele.compliant.stiffness import (
    Springs,
    modes_by_drives,
    moving_coordinates,
    natural_modes,
    sprung_modes,
)
from triskele.description.load import load, parse
from triskele.description.schema import Motor, Motors, Sections
from triskele.dynamics.forward import mass_matrix
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import rigid
from triskele.errors import InputError, MissingFact
from triskele.kinematics.build import build
from triskele.numerics import single

RIGID = np.inf


def at_home(robot):
    return np.array([float(np.asarray(value)) for value in robot.mechanism.home()])


def weightless(robot, rotors=None):
    """A robot without gravity, with inertia at its joints."""
    n = len(robot.rotors)
    own = np.zeros(n) if rotors is None else np.asarray(rotors, float)
    return eqx.tree_at(lambda r: (r.gravity, r.rotors), robot, (np.zeros(3), own))


def joint_slopes(mechanism, x, h=1e-4):
    """dq/dx by differences of `inverse`, of fourth order."""

    def q(at):
        return np.array(mechanism.inverse(tuple(at)).components, float)

    def slope(d):
        return (8 * (q(x + d) - q(x - d)) - q(x + 2 * d) + q(x - 2 * d)) / (12 * h)

    return np.stack([slope(d) for d in h * np.eye(len(x))], axis=1)


def together(drives, rods):
    return Springs(np.asarray(drives, float), np.asarray(drives, float), np.asarray(rods, float))


# By hand

HEXAPOD = """
kind = "limbs"
name = "hexapod"
title = "Symmetrical hexapod"
gravity = "[0, 0, 0] m/s^2"
[geometry.platform]
coordinates = ["x", "y", "z", "a", "b", "c"]
home = "[0, 0, 600] mm"
[geometry.limbs]
around = "[-12, 12, 108, 132, 228, 252] deg"
end_around = "[-48, 48, 72, 168, 192, 288] deg"
drive = "strut"
base = "[500, 0, 0] mm"
end = "[300, 0, 0] mm"
[bodies]
cylinder = { mass = "1e-9 kg" }
piston = { mass = "1e-9 kg" }
platform = { mass = "8 kg", inertia = "[0.3, 0.3, 0.5] kg m^2" }
"""


def test_struts_of_a_symmetrical_hexapod():
    """k sum u u' of the directions u: 6 k (h/L)^2 along z, 3 k (1 - (h/L)^2) along x and y."""
    robot = parse(
        HEXAPOD
        + '[motors.drives]\ntransmission = "100 rad/m"\ncoupling_stiffness = "300 N m/rad"\n'
    )
    found = modes_by_drives(robot, None, at_home(rigid(robot)))
    (modes,) = found.values()
    assert list(found) == ["motors locked"]
    assert modes.stiffness is not None
    k, h = 100**2 * 300.0, 0.6
    square = 0.5**2 + 0.3**2 - 2 * 0.5 * 0.3 * np.cos(np.radians(36)) + h * h
    up = h * h / square
    assert modes.stiffness[2, 2] == pytest.approx(6 * k * up, rel=1e-12)
    assert np.diag(modes.stiffness)[:2] == pytest.approx(3 * k * (1 - up), rel=1e-12)
    lift = np.sqrt(6 * k * up / 8) / (2 * np.pi)
    assert np.abs(modes.frequencies - lift).min() < 1e-6 * lift
    assert modes.mass == pytest.approx(np.diag([8, 8, 8, 0.3, 0.3, 0.5]), abs=1e-6)
    assert [names for names in moving_coordinates(build(robot), modes) if "z" in names] == [["z"]]


def test_rods_that_stretch_take_a_third_of_their_mass_along():
    """Carriages held: a slender rod whose lower end moves with v has the energy m v^2 / 6."""
    robot = described("linear_delta")
    m, L = 0.6, 0.28
    slender = {"mass": m, "centre_of_mass": (L / 2, 0.0, 0.0)}
    bodies = dict(robot.bodies)
    bodies["rod"] = type(bodies["rod"])(**slender, inertia=(0.0, m * L**2 / 12, m * L**2 / 12))
    bodies["platform"] = type(bodies["rod"])(mass=2.0)
    geometry = robot.geometry.limbs[0].model_copy(update={"rod_length": (L,)})
    even = robot.geometry.model_copy(update={"limbs": (geometry,)})
    model = weightless(rigid(robot.model_copy(update={"bodies": bodies, "geometry": even})))
    found = sprung_modes(model, at_home(model), together([RIGID] * 3, [1e6] * 3))
    assert found.mass == pytest.approx((2.0 + 6 * m / 3) * np.eye(3), abs=1e-12)


# Textbook


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("five_bar", "6ups", "telescope_delta")
        else pytest.param(name, marks=pytest.mark.long)
        for name in SAMPLES
    ],
)  # fmt: skip
def test_springs_of_drives_are_seen_through_the_jacobian(name):
    """K = J^-T k J^-1, M that of the dynamics; and C = C_drives + C_rods."""
    random = np.random.default_rng(3)
    n = len(build(described(name)).joint_coordinates)
    rotors = random.uniform(0.1, 0.5, n)
    robot = weightless(rigid(described(name)), rotors)
    x, unit = at_home(robot), np.array(robot.mechanism.scales().joints, float)
    k = random.uniform(1e5, 3e5, n) * unit**2
    rods = random.uniform(1e5, 3e5, n)
    if len(robot.mechanism.working_mode) < n:
        rods[-1] = RIGID  # axis 4 has no rod
    soft = sprung_modes(robot, x, together(k, [RIGID] * n))
    S = joint_slopes(robot.mechanism, x)
    K = S.T @ np.diag(k) @ S
    M = np.array([np.array(row, float) for row in single(eqx.Partial(mass_matrix, robot))(x)])
    assert np.abs(soft.stiffness - K).max() < 1e-8 * np.abs(K).max()
    assert np.abs(soft.mass - M).max() < 1e-10 * np.abs(M).max()
    w = np.sqrt(eigh(K, M, eigvals_only=True)) / (2 * np.pi)
    assert soft.frequencies == pytest.approx(w, rel=1e-7)
    both = sprung_modes(robot, x, together(k, rods))
    stiff = sprung_modes(robot, x, together(1e6 * k, rods))
    C = np.linalg.inv(both.stiffness)
    series = np.linalg.inv(soft.stiffness) + np.linalg.inv(stiff.stiffness)
    series -= np.linalg.inv(soft.stiffness) / 1e6
    assert np.abs(C - series).max() < 1e-9 * np.abs(C).max()
    assert (both.frequencies < soft.frequencies).all()


# A model of our own

AROUND = np.radians([-15, 15, 105, 135, 225, 255])
ENDS = np.radians([-40, 40, 80, 160, 200, 280])
R, r, L, D = 0.3, 0.12, 0.2, 0.6  #: radii, arm, rod [m]
ARM, CENTRE, ABOUT = 1.5, 0.08, 0.004  #: mass, its place along the arm, inertia across it
PLATFORM, SECOND = 3.0, (0.02, 0.03, 0.04)  #: mass, inertia
G = (0.5, -1.0, -9.0)
HOME = np.array([0.02, -0.03, -0.5, 0.05, -0.04, 0.1])
K_ARM, K_ROD = np.linspace(2e4, 4e4, 6), np.linspace(3e6, 2e6, 6)
HEXA = f"""
kind = "limbs"
name = "hexa"
title = "Hexa"
gravity = "{list(G)} m/s^2"
[geometry.platform]
coordinates = ["x", "y", "z", "a", "b", "c"]
home = "{HOME[:3].tolist()} m"
home_angles = "{HOME[3:].tolist()} rad"
[geometry.limbs]
around = "[-15, 15, 105, 135, 225, 255] deg"
end_around = "[-40, 40, 80, 160, 200, 280] deg"
drive = "arm"
base = "[{R}, 0, 0] m"
arm_length = "{L} m"
rod_length = "{D} m"
end = "[{r}, 0, 0] m"
[bodies]
rod = {{ mass = "1e-9 kg" }}
[bodies.arm]
mass = "{ARM} kg"
centre_of_mass = "[{CENTRE}, 0, 0] m"
inertia = "[0.001, {ABOUT}, {ABOUT}] kg m^2"
[bodies.platform]
mass = "{PLATFORM} kg"
inertia = "{list(SECOND)} kg m^2"
"""


def turned(a, b, c):
    """Rz(c) Ry(b) Rx(a)."""
    X = jnp.array([[1, 0, 0], [0, jnp.cos(a), -jnp.sin(a)], [0, jnp.sin(a), jnp.cos(a)]])
    Y = jnp.array([[jnp.cos(b), 0, jnp.sin(b)], [0, 1, 0], [-jnp.sin(b), 0, jnp.cos(b)]])
    Z = jnp.array([[jnp.cos(c), -jnp.sin(c), 0], [jnp.sin(c), jnp.cos(c), 0], [0, 0, 1]])
    return Z @ Y @ X


def arms(q):
    """Motors, and unit vectors along the arms."""
    e = jnp.stack([jnp.cos(AROUND), jnp.sin(AROUND), jnp.zeros(6)], axis=1)
    down = jnp.array([[0.0, 0.0, -1.0]])
    return R * e, jnp.cos(q)[:, None] * e + jnp.sin(q)[:, None] * down


def lengths(y):
    """From elbow to wrist, for y = (x, q)."""
    A, a = arms(y[6:])
    ends = jnp.stack([r * jnp.cos(ENDS), r * jnp.sin(ENDS), jnp.zeros(6)], axis=1)
    W = y[None, :3] + ends @ turned(y[3], y[4], y[5]).T
    return jnp.sqrt(((W - A - L * a) ** 2).sum(axis=1))


def weight(y):
    A, a = arms(y[6:])
    g = jnp.array(G)
    return -PLATFORM * y[:3] @ g - ARM * ((A + CENTRE * a) @ g).sum()


def mass(y):
    """Of the platform and of the arms about their motors."""

    def turning(rate):
        _, Rd = jax.jvp(lambda t: turned(*t), (y[3:6],), (rate,))
        I = jnp.array(SECOND)
        second = jnp.diag(I.sum() / 2 - I)
        return jnp.trace(Rd @ second @ Rd.T) / 2

    found = np.diag([PLATFORM] * 3 + [0.0] * 3 + [ABOUT + ARM * CENTRE**2] * 6)
    found[3:6, 3:6] = jax.hessian(turning)(jnp.zeros(3))
    return found


@pytest.fixture(scope="module")
def own():
    """M and K of the twelve coordinates at home, springs stretched as the weight asks for."""
    q = np.array(build(parse(HEXA)).inverse(tuple(HOME)).components, float)
    y = jnp.asarray(np.concatenate([HOME, q]))
    assert np.allclose(lengths(y), D, atol=1e-12)
    slopes, pull = (np.asarray(f(y)) for f in (jax.jacfwd(lengths), jax.grad(weight)))
    tension = np.linalg.solve(slopes[:, :6].T, -pull[:6])
    efforts = pull[6:] + slopes[:, 6:].T @ tension

    def energy(y):
        stretched = lengths(y) - D + tension / K_ROD
        wound = y[6:] - q - efforts / K_ARM
        return weight(y) + (K_ROD * stretched**2).sum() / 2 + (K_ARM * wound**2).sum() / 2

    assert np.abs(jax.grad(energy)(y)).max() < 1e-9
    return mass(y), np.asarray(jax.hessian(energy)(y))


def test_a_hexa_of_springs_has_the_same_modes(own):
    M, K = own
    robot = rigid(parse(HEXA))
    found = sprung_modes(robot, HOME, together(K_ARM, K_ROD))
    expected = np.sqrt(eigh(K, M, eigvals_only=True)) / (2 * np.pi)
    assert found.frequencies == pytest.approx(expected[:6], rel=1e-7)


def test_the_platform_of_a_hexa_is_as_stiff_as_its_springs_let_it_be(own):
    """Energy with the arms where they rest: K_xx - K_xq K_qq^-1 K_qx."""
    _, K = own
    condensed = K[:6, :6] - K[:6, 6:] @ np.linalg.solve(K[6:, 6:], K[6:, :6])
    found = sprung_modes(rigid(parse(HEXA)), HOME, together(K_ARM, K_ROD))
    assert np.abs(found.stiffness - condensed).max() < 1e-9 * np.abs(condensed).max()


@pytest.mark.parametrize("held", ["arms", "rods"])
def test_a_hexa_with_one_kind_of_springs(own, held):
    """Coordinates of the arms left out; or rods that keep their length, under the same tension."""
    M, K = own
    q = np.array(build(parse(HEXA)).inverse(tuple(HOME)).components, float)
    slopes = np.asarray(jax.jacfwd(lengths)(jnp.asarray(np.concatenate([HOME, q]))))
    following = -np.linalg.solve(slopes[:, 6:], slopes[:, :6])
    Z = np.vstack([np.eye(6), np.zeros((6, 6)) if held == "arms" else following])
    springs = together(*(([RIGID] * 6, K_ROD) if held == "arms" else (K_ARM, [RIGID] * 6)))
    found = sprung_modes(rigid(parse(HEXA)), HOME, springs)
    expected = np.sqrt(eigh(Z.T @ K @ Z, Z.T @ M @ Z, eigvals_only=True)) / (2 * np.pi)
    assert found.frequencies == pytest.approx(expected, rel=1e-7)


# A 3PRS made of limbs


@pytest.fixture(scope="module")
def stages():
    """The compliant 3PRS, and the same machine written as limbs."""
    stage = load("compliant_3prs")
    z = float(np.asarray(build(stage).home()[0]))
    text = f"""
    kind = "limbs"
    name = "stage"
    title = "Compliant 3PRS of limbs"
    gravity = "[0, 0, -9.81] m/s^2"
    [geometry.platform]
    coordinates = ["z", "psi", "theta"]
    home = "[0, 0, {z!r}] m"
    [geometry.limbs]
    around = "[0, 120, 240] deg"
    drive = "slide"
    base = "[125.137, 0, 0] mm"
    rail = "inwards"
    across = [0, -1, 0]
    rod_length = "109.215 mm"
    upper = "revolute"
    end = "[47.61, 0, 0] mm"
    bodies = ["coupling", "bar"]
    """
    bodies = {part: stage.body(part) for part in ("coupling", "bar", "platform")}
    same = {"bodies": bodies, "motors": stage.motors, "flexures": stage.flexures}
    return stage, parse(text).model_copy(update=same)


def test_flexures_of_limbs_are_those_of_the_3prs(stages):
    x = np.array([0.0782, 0.012, -0.009])
    xd, xdd = np.array([0.05, 0.4, -0.3]), np.array([2.0, -30.0, 20.0])
    ours, theirs = (np.array(inverse_dynamics(rigid(robot), x, xd, xdd), float) for robot in stages)
    assert np.abs(ours - theirs).max() < 1e-12 * np.abs(ours).max()
    assert np.abs(ours).max() > 10


def test_modes_of_limbs_are_those_of_the_3prs(stages):
    x = np.array([0.0782, 0.012, -0.009])
    ours, theirs = (modes_by_drives(robot, None, x) for robot in stages)
    assert list(ours) == list(theirs)
    assert len(ours) == 3
    for name, modes in ours.items():
        assert theirs[name].frequencies == pytest.approx(modes.frequencies, rel=1e-11)
        off = theirs[name].stiffness - modes.stiffness
        assert np.abs(off).max() < 1e-12 * np.abs(modes.stiffness).max()


def test_a_stage_of_arms_with_flexures_has_drives_and_gears():
    robot = described("planar_3rrr")
    motor = Motor(gear_ratio=20.0, coupling_stiffness=30.0, load_inertia=1e-5)
    flexures = type(load("compliant_3prs").flexures)(revolute_bending=20.0)
    changes = {"flexures": flexures, "motors": Motors(drives=motor), "gravity": (0.0, 0.0, 0.0)}
    found = modes_by_drives(robot.model_copy(update=changes), None, at_home(rigid(robot)))
    assert list(found) == ["drives free, motors off", "drives and gears free", "motors locked"]
    off, free, locked = (modes.frequencies for modes in found.values())
    assert (free < off).all()
    assert (free < locked).all()


# Parts of a robot may be stiff


def test_a_stiff_axis_4_stands_while_the_arms_give_way():
    robot = described("telescope_delta")
    soft = Motor(gear_ratio=20.0, coupling_stiffness=30.0, load_inertia=1e-5)
    motors = Motors(drives=soft, axis4=Motor(gear_ratio=9.0))
    model = robot.model_copy(update={"motors": motors})
    (found,) = modes_by_drives(model, None, at_home(rigid(robot))).values()
    assert found.shapes.shape == (4, 3)
    assert np.abs(found.shapes[3]).max() < 1e-12
    assert found.stiffness is found.mass is None
    every = Motors(drives=soft, axis4=soft)
    (free,) = modes_by_drives(
        robot.model_copy(update={"motors": every}), None, at_home(rigid(robot))
    ).values()
    assert free.shapes.shape == (4, 4)


def test_drives_of_their_own_have_springs_of_their_own():
    """A q2 twice as stiff adds its share: J^-T k J^-1."""
    robot = described("linear_delta").model_copy(update={"gravity": (0.0, 0.0, 0.0)})
    one = Motor(transmission=300.0, coupling_stiffness=30.0)
    two = Motor(transmission=300.0, coupling_stiffness=60.0)
    x = at_home(rigid(robot))
    S = joint_slopes(build(robot), x)
    before, after = (
        modes_by_drives(robot.model_copy(update={"motors": Motors(drives=one, **more)}), None, x)
        for more in ({}, {"q2": two})
    )
    added = after["motors locked"].stiffness - before["motors locked"].stiffness
    assert added == pytest.approx(300**2 * 30 * np.outer(S[1], S[1]), rel=1e-6, abs=1e-3)


# Refused


def test_what_to_add_is_said():
    robot = described("6ups")
    x = at_home(rigid(robot))
    with pytest.raises(MissingFact, match=r"6ups states no stiffness.*transmission.*motors\.drive"):
        modes_by_drives(robot, None, x)
    with pytest.raises(MissingFact, match=r"delta states no stiffness.*gear_ratio"):
        modes_by_drives(described("delta"), None, at_home(rigid(described("delta"))))
    lost = Motors(q3=Motor(coupling_stiffness=3.0))
    with pytest.raises(MissingFact, match=r"motors\.q3\.transmission"):
        modes_by_drives(robot.model_copy(update={"motors": lost}), None, x)


def test_a_robot_without_springs_does_not_move():
    robot = rigid(described("five_bar"))
    with pytest.raises(InputError, match=r"cannot move.*coupling_stiffness or sections\.rod"):
        natural_modes(robot, at_home(robot), drives="locked")


def test_rods_alone_are_enough():
    robot = described("five_bar").model_copy(update={"sections": Sections(rod_stiffness=1e6)})
    x = at_home(rigid(robot))
    (found,) = modes_by_drives(robot, None, x).values()
    assert natural_modes(
        rigid(robot), x, drives="locked", rods=[1e6] * 2
    ).frequencies == pytest.approx(found.frequencies)
