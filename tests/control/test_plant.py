"""Robots with actuators: linear and nonlinear rates agree, energy adds up, rest is rest.

The drives of a Delta are stiff here; those of the compliant 3PRS wind up.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.compliant.stiffness import linear
from triskele.control.plant import linear_plant, plant
from triskele.description.load import load
from triskele.description.schema import Control, Motor, Motors
from triskele.dynamics.energy import energy
from triskele.errors import MissingFact
from triskele.numerics import stacked

pytestmark = pytest.mark.long

STAGE = load("compliant_3prs")
BOTH = ["stage", pytest.param("delta", marks=pytest.mark.long)]
ASKEW = np.array([1.5e-3, np.radians(0.8), np.radians(-0.6)])


def omron():
    """A small Delta, with motors and control of our own."""
    robot = load("omron_mini_delta")
    motor = Motor(gear_ratio=20.0, rotor_inertia=2e-5, torque_constant=0.1, damping=1e-4)
    control = Control(
        position_gain=40.0, velocity_gain=0.3, integral_gain=6.0, position_period=1e-3
    )
    axis4 = None if robot.motors is None or robot.motors.axis4 is None else motor
    return robot.model_copy(
        update={"motors": Motors(drives=motor, axis4=axis4), "control": control, "friction": None}
    )


def rates(model):
    """dy/dt, and its derivatives by y and by currents; one compilation for all."""

    @eqx.filter_jit
    def found(model, at):
        def pushed(at):
            return model.rates(at[: -model.n], at[-model.n :])

        def along(u):
            return jax.jvp(pushed, (at,), (u,))

        return jax.lax.map(along, jnp.eye(len(at)))

    def split(y, current):
        value, slope = found(model, jnp.concatenate([jnp.asarray(y), jnp.asarray(current)]))
        slope = np.asarray(slope).T
        return np.asarray(value[0]), slope[:, : -model.n], slope[:, -model.n :]

    return split


def held(model, x):
    """State at rest at `x`, and the currents that hold it."""
    drive, at = jax.tree.map(np.asarray, model.actuators), linear(model.load, x)
    torque, still = at.tau / drive.ratio, np.zeros(model.n)
    current = torque / drive.torque_constant
    if not model.soft:
        return np.concatenate([x, still]), current
    th2 = drive.ratio * (at.q - np.asarray(model.zero))
    twist = np.asarray(drive.coupling.twist(jnp.asarray(torque)))
    return np.concatenate([x, still, th2 + twist, still]), current


def off(found, expected):
    """Largest difference by row, in parts of the row's largest number."""
    scale = np.abs(expected).max(axis=-1, keepdims=True)
    return (np.abs(found - expected) / np.where(scale > 0, scale, 1)).max()


@pytest.fixture(scope="module")
def stage():
    model = plant(STAGE)
    home = np.asarray(stacked(model.mechanism.home()))
    return model, rates(model), home + ASKEW


@pytest.fixture(scope="module")
def delta():
    model = plant(omron())
    home = np.asarray(stacked(model.mechanism.home()))
    return model, rates(model), home + 0.03 * np.arange(1, model.n + 1) / model.n


# Laws


@pytest.mark.parametrize("which", BOTH)
def test_what_is_held_stays(which, request):
    model, found, x = request.getfixturevalue(which)
    y, current = held(model, x)
    rate, _, _ = found(y, current)
    push = np.abs(found(y, current + 1.0)[0] - rate).max()
    assert np.abs(rate).max() < 1e-9 * push
    assert push > 1


@pytest.mark.parametrize("which", BOTH)
def test_linear_plant_is_the_derivative_of_the_rates(which, request):
    model, found, x = request.getfixturevalue(which)
    y, current = held(model, x)
    _, A, B = found(y, current)
    about = linear_plant(model, x)
    assert off(about.A, A) < 1e-8
    assert off(about.B, B) < 1e-8
    assert about.A.shape == ((4 if model.soft else 2) * model.n,) * 2


@pytest.mark.parametrize("which", BOTH)
def test_observed_angles_are_those_of_the_linear_plant(which, request):
    model, _, x = request.getfixturevalue(which)
    y, _ = held(model, x)
    motor, speed = jax.jacfwd(model.motor_angles)(jnp.asarray(y))
    turned, _ = jax.jacfwd(model.load_angles)(jnp.asarray(y))
    about = linear_plant(model, x)
    assert off(about.motor, np.asarray(motor)) < 1e-9
    assert off(about.speed, np.asarray(speed)) < 1e-9
    assert off(about.shaft, np.asarray(turned)[:, : model.n]) < 1e-9


def test_energy_falls_by_what_rubs(stage):
    """No current: d/dt (T + V + belt) = -(c1 th1'^2 + ct (th1' - th2')^2)."""
    model, found, x = stage
    drive, rng = model.actuators, np.random.default_rng(0)

    @eqx.filter_jit
    def power(y, rate):
        def stored(y):
            twist = y[6:9] - model.load_angles(y)[0]
            load = energy(model.load, tuple(y[:3]), tuple(y[3:6]))
            shafts = drive.rotor_inertia * y[9:] ** 2
            return load.total + jnp.sum(shafts + drive.coupling.stiffness * twist**2) / 2

        _, th2d = model.load_angles(y)
        lost = 0.003 * y[9:] ** 2 + 1.085e-5 * (y[9:] - th2d) ** 2
        return jax.jvp(stored, (y,), (rate,))[1], jnp.sum(lost)

    y, _ = held(model, x)
    for _ in range(5):
        moved = y + rng.normal(size=12) * np.repeat([1e-4, 0.02, 0.3, 30.0], 3)
        moved[1:3] += 0.01 * rng.normal(size=2)
        change, lost = (float(part) for part in power(moved, found(moved, np.zeros(3))[0]))
        assert lost > 0.1
        assert change == pytest.approx(-lost, rel=1e-9)


def test_without_friction_nothing_rubs():
    bare = plant(STAGE, friction=False)
    assert np.array_equal(bare.actuators.damping, np.zeros(3))
    assert np.array_equal(bare.actuators.coupling.damping, np.full(3, 1.085e-5))
    assert bare.load.drive_friction == (None,) * 3


def test_friction_of_a_motor_is_counted_once(stage):
    """In front of a belt it acts on the rotor alone; of a stiff drive, at the joint."""
    soft, stiff = stage[0], plant(omron())
    assert soft.load.drive_friction == (None,) * 3
    laws = [law for law in stiff.load.drive_friction if law is not None]
    assert len(laws) == stiff.n
    assert np.allclose([float(law.viscous) for law in laws], 400 * 1e-4)
    assert np.allclose(stiff.load.rotors, 400 * 2e-5)
    assert np.allclose(soft.load.rotors, 1256.637**2 * 4.817e-8, rtol=1e-6)


def test_motor_angles_are_counted_from_home(stage):
    model, _, _ = stage
    home = jnp.concatenate([stacked(model.mechanism.home()), jnp.zeros(9)])
    th2, th2d = model.load_angles(home)
    assert np.abs(th2).max() < 1e-10
    assert np.abs(th2d).max() == 0
    assert np.allclose(1e3 * np.asarray(model.zero), 0.3003, atol=5e-5)


# The algebraic loop


def slider_inertia(model):
    """Eigenvalues of M at the sliders, without J2: tilt twice, lift."""
    bare = eqx.tree_at(lambda robot: robot.rotors, model.load, jnp.zeros(3))
    at = linear(bare, stacked(model.mechanism.home()))
    back = np.linalg.inv(at.S)
    return np.sort(np.linalg.eigvalsh(back.T @ at.M @ back))


def test_a_delayed_acceleration_would_diverge(stage):
    """J2 th2'' = T - (M s'' + K s) / i with s'' of the step before; its gain is M / (i^2 J2)."""
    model, found, _ = stage
    M = slider_inertia(model)
    i, J2 = float(model.actuators.ratio[0]), float(model.actuators.load_inertia[0])
    gains = M / (i * i * J2)
    assert gains == pytest.approx([3.18, 3.18, 3.59], abs=0.005)
    for step in (1e-3, 1e-4, 1e-5, 1e-6):
        s = v = late = 0.0
        for _ in range(60):
            pushed = 1e-3 - (M[2] * late + 21954.6 * s) / i  # of a motor that pushes 1 mN m
            late = pushed / (J2 * i)
            v, s = v + step * late, s + step * v
            if abs(late) > 1e12:
                break
        assert abs(late) > 1e12, f"step {step}"
    # Ours has the inertia on the other side: under the same push it starts with F / (M + i^2 J2).
    x = np.asarray(stacked(model.mechanism.home()))
    y, current = held(model, x)
    y[6:9] += 1e-3 / 0.2444
    rate, _, _ = found(y, current)
    S = linear(model.load, x).S
    assert (S @ rate[3:6]) == pytest.approx(1e-3 * i / (M[2] + i * i * J2), rel=1e-6)


# Missing


def test_a_plant_needs_motors():
    with pytest.raises(MissingFact, match=r"motors\.drives"):
        plant(STAGE.model_copy(update={"motors": None}))
