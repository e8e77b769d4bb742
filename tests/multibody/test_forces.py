"""Forces against potentials and losses written out by hand, and the balance of energy.

One mechanism carries every element there is; those that a test does not ask for are zero.
States are random. Where accelerations are asked for, joints fit, elsewhere nothing does.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from linkages import accelerated
from scipy.spatial.transform import Rotation

from triskele.laws.friction import FrictionLaw
from triskele.laws.springs import Spring
from triskele.multibody import GROUND, Body, Joint, Load, State, Tether, assembled, system
from triskele.multibody.forces import energies, forces
from triskele.multibody.system import motion_of

RANDOM = np.random.default_rng(4)
NAMES = "abcdef"
MASS, CENTRES = RANDOM.uniform(1, 3, 6), RANDOM.uniform(-0.2, 0.2, (6, 3))
CHAIN = {
    "hinge": ("revolute", GROUND, "a"),
    "slide": ("prismatic", "a", "b"),
    "bush": ("spherical", "b", "c"),
    "ball": ("spherical", "c", "d"),
    "cross": ("universal", "d", "e"),
    "cardan": ("spherical", GROUND, "f"),
}
POINTS = {name: RANDOM.uniform(-0.4, 0.4, (2, 3)) for name in [*CHAIN, "far", "near", "load"]}
FRAMES = {name: Rotation.random(2, rng=RANDOM).as_matrix() for name in CHAIN}
TETHERS = {"far": (GROUND, "e"), "near": ("a", "d")}
FORCE, MOMENT = np.array([3.0, -2.0, 5.0]), np.array([0.5, 0.4, -0.7])
GRAVITY, BENDING = np.array([1.0, 2.0, -9.0]), np.array([20.0, 30.0, 40.0])
STORES = ("gravity", "hinge spring", "slide spring", "bushing", "tethers", "force")
RUBS = ("hinge", "slide", "cardan", "ball", "cross", "dampers", "moment")
EFFORTS, ROTORS = np.array([2.0, -3.0, 1.5]), np.array([0.4, 0.7, 0.2])


def law(scale):
    dry, oil = jnp.asarray(2.0 * scale), jnp.asarray(0.3 * scale)
    return FrictionLaw(coulomb=dry, viscous=oil, smoothing_speed=jnp.asarray(0.5))


def rubbing(speed):
    """The same law."""
    return 2.0 * np.tanh(speed / 0.5) + 0.3 * speed


def mechanism(*elements):
    """With these elements; the others are there and zero. All have the same structure."""
    on = {name: float(name in elements) for name in STORES + RUBS}

    def spring(joint, k, rest):
        return {"spring": Spring(jnp.asarray(k * on[f"{joint} spring"]), jnp.asarray(rest))}

    more = {
        "hinge": {"motor": True, "rotor": ROTORS[0], "friction": law(on["hinge"])}
        | spring("hinge", 7.0, 0.3),
        "slide": {"motor": True, "rotor": ROTORS[1], "friction": law(on["slide"])}
        | spring("slide", 50.0, 0.1),
        "bush": {"bending": tuple(BENDING * on["bushing"])},
        "ball": {"friction": law(on["ball"])},
        "cross": {"friction": law(on["cross"])},
        "cardan": {"motor": True, "rotor": ROTORS[2], "friction": law(on["cardan"])},
    }
    joints = [
        Joint(name, *CHAIN[name], *POINTS[name], *FRAMES[name], **more[name]) for name in CHAIN
    ]
    bodies = []
    for name, m, (x, y, z) in zip(NAMES, MASS, CENTRES, strict=True):
        about = m * np.array(
            [y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -y * z, -x * z]
        ) + [0.1, 0.2, 0.15, 0.01, 0.02, -0.03]
        bodies.append(Body(name, (m, m * x, m * y, m * z, *about), np.eye(3, 4)))
    tethers = [
        Tether(name, *ends, *POINTS[name], 60.0 * on["tethers"], 0.4, 9.0 * on["dampers"])
        for name, ends in TETHERS.items()
    ]
    load = Load("load", "c", POINTS["load"][0], FORCE * on["force"], MOMENT * on["moment"])
    return system(
        "all",
        bodies,
        joints,
        gravity=tuple(GRAVITY * on["gravity"]),
        tethers=tethers,
        loads=[load],
        size=0.5,
    )


def state(seed):
    random = np.random.default_rng(seed)
    r, v, w = random.uniform(-1, 1, (3, 6, 3))
    p = Rotation.random(6, rng=random).as_quat()[:, [3, 0, 1, 2]]
    return State(*(jnp.asarray(part) for part in (r, p, 3 * v, 3 * w)))


@eqx.filter_jit
def felt(built, state, efforts):
    """Power of all forces, energies and the sum of forces and moments on bodies and ground."""
    motion = motion_of(built, state)
    wrench = forces(built, motion, efforts)
    twist = jnp.concatenate([motion.v, motion.w], axis=1)
    moment = wrench[:, 3:] + jnp.cross(motion.r, wrench[:, :3])
    found = energies(built, motion)
    total = jnp.concatenate([wrench[:, :3], moment], axis=1).sum(axis=0)
    return jnp.sum(wrench * twist), found, total


# By hand, with numpy


class Hand:
    """The mechanism at a time t after a state."""

    def __init__(self, state, t=0.0, vd=0.0, wd=0.0):
        r, p, v, w = (np.array(part) for part in state)
        R = Rotation.from_quat(p[:, [1, 2, 3, 0]]) * Rotation.from_rotvec(w * t + wd * t**2 / 2)
        self.A = dict(zip(NAMES, R.as_matrix(), strict=True)) | {GROUND: np.eye(3)}
        self.r = dict(zip(NAMES, r + v * t + vd * t**2 / 2, strict=True)) | {GROUND: np.zeros(3)}
        self.w = dict(zip(NAMES, R.apply(w), strict=True)) | {GROUND: np.zeros(3)}
        self.centre = dict(zip(NAMES, CENTRES, strict=True)) | {GROUND: np.zeros(3)}

    def point(self, body, u):
        return self.r[body] + self.A[body] @ (u - self.centre[body])

    def axes(self):
        """Where hinge, slide and cardan are."""
        (_, i, j), (E, F) = CHAIN["hinge"], FRAMES["hinge"]
        turn = (self.A[i] @ E).T @ self.A[j] @ F
        (_, i, j), (E, _) = CHAIN["slide"], FRAMES["slide"]
        u, v = POINTS["slide"]
        way = (self.A[i] @ E[:, 2]) @ (self.point(j, v) - self.point(i, u))
        (_, i, j), (E, F) = CHAIN["cardan"], FRAMES["cardan"]
        fork = (self.A[i] @ E).T @ self.A[j] @ F[:, 2]
        return np.array([np.arctan2(turn[1, 0], turn[0, 0]), way, np.arctan2(-fork[0], fork[1])])

    def stretches(self):
        ends = ((*TETHERS[name], *POINTS[name]) for name in TETHERS)
        spans = [self.point(j, v) - self.point(i, u) for i, j, u, v in ends]
        return np.linalg.norm(spans, axis=1) - 0.4

    def potential(self, element):
        (_, i, j), (E, F) = CHAIN["bush"], FRAMES["bush"]
        bent = Rotation.from_matrix((self.A[j] @ F).T @ self.A[i] @ E).as_euler("XYZ")
        return {
            "gravity": lambda: (
                -sum(MASS[k] * GRAVITY @ self.r[name] for k, name in enumerate(NAMES))
            ),
            "hinge spring": lambda: 7.0 * (self.axes()[0] - 0.3) ** 2 / 2,
            "slide spring": lambda: 50.0 * (self.axes()[1] - 0.1) ** 2 / 2,
            "bushing": lambda: BENDING @ bent**2 / 2,
            "tethers": lambda: 60.0 * np.sum(self.stretches() ** 2) / 2,
            "force": lambda: -FORCE @ self.point("c", POINTS["load"][0]),
        }[element]()


def slope(function):
    """Derivative at 0, of the fourth order."""
    h = 1e-3
    return (8 * (function(h) - function(-h)) - function(2 * h) + function(-2 * h)) / (12 * h)


def bend(function):
    """Second derivative at 0, of the fourth order."""
    h = 1e-3
    far, near = (function(k * h) + function(-k * h) for k in (2, 1))
    return (16 * near - far - 30 * function(0.0)) / (12 * h**2)


def lost(state, element):
    """Power that one element turns into heat."""
    hand = Hand(state)
    qd = slope(lambda t: Hand(state, t).axes())
    stretch = slope(lambda t: Hand(state, t).stretches())

    def ball(name):
        _, i, j = CHAIN[name]
        speed = np.linalg.norm(hand.w[j] - hand.w[i])
        return rubbing(speed) * speed

    return {
        "hinge": rubbing(qd[0]) * qd[0],
        "slide": rubbing(qd[1]) * qd[1],
        "cardan": rubbing(qd[2]) * qd[2],
        "ball": ball("ball"),
        "cross": ball("cross"),
        "dampers": 9.0 * np.sum(stretch**2),
        "moment": -MOMENT @ hand.w["c"],
    }[element]


@pytest.mark.parametrize("element", STORES)
def test_forces_are_the_slope_of_the_energy_that_is_stored(element):
    built, _ = mechanism(element)
    for seed in range(3):
        now = state(seed)
        power, energy, _ = felt(built, now, jnp.zeros(3))
        assert energy.lost == 0
        assert np.isclose(energy.potential, Hand(now).potential(element), rtol=1e-13)
        change = slope(lambda t, now=now: Hand(now, t).potential(element))
        assert abs(change) > 0.1
        assert np.isclose(power, -change, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("element", RUBS)
def test_friction_and_dampers_take_the_power_that_is_lost(element):
    built, _ = mechanism(element)
    for seed in range(3):
        now = state(seed)
        power, energy, _ = felt(built, now, jnp.zeros(3))
        assert energy.potential == 0
        assert np.isclose(energy.lost, lost(now, element), rtol=1e-7, atol=1e-7)
        assert np.isclose(power, -energy.lost, rtol=1e-12)
        assert element == "moment" or energy.lost > 0.1


def test_bodies_and_rotors_move_with_kinetic_energy():
    built, _ = mechanism()
    for seed in range(3):
        now = state(seed)
        qd = slope(lambda t, now=now: Hand(now, t).axes())
        moving = MASS @ np.sum(now.v**2, axis=1) + ROTORS @ qd**2
        moving += np.einsum("bi,bij,bj->", now.w, built.inertia, now.w)
        energy = felt(built, now, jnp.zeros(3))[1]
        assert np.isclose(energy.kinetic, moving / 2, rtol=1e-8)
        assert np.isclose(energy.total, energy.kinetic + energy.potential, rtol=1e-15)


def test_efforts_of_motors_work_along_their_axes():
    built, _ = mechanism()
    for seed in range(3):
        now = state(seed)
        qd = slope(lambda t, now=now: Hand(now, t).axes())
        for k in range(3):
            power = felt(built, now, jnp.asarray(np.where(np.arange(3) == k, EFFORTS, 0.0)))[0]
            assert np.isclose(power, EFFORTS[k] * qd[k], rtol=1e-7, atol=1e-7)


def test_what_acts_on_one_body_acts_on_another_or_on_the_ground():
    inner = [name for name in STORES + RUBS if name not in ("gravity", "force", "moment")]
    built, _ = mechanism(*inner)
    for seed in range(3):
        total = felt(built, state(seed), jnp.asarray(EFFORTS))[2]
        moment = total[3:] + _gyroscopic(built, state(seed))
        assert np.allclose(total[:3], 0, rtol=0, atol=1e-12)
        assert np.allclose(moment, 0, rtol=0, atol=1e-11)


def _gyroscopic(built, now):
    A = np.asarray(motion_of(built, now).A)[:-1]
    spin = np.cross(now.w, np.einsum("bij,bj->bi", built.inertia, now.w))
    return np.einsum("bij,bj->i", A, spin)


def test_energy_grows_by_what_motors_do_and_friction_leaves_over():
    """Rates of all energies by hand, with the accelerations of the engine."""
    built, guess = mechanism(*STORES, *RUBS)
    assert built.coupled
    for seed in range(3):
        now = assembled(built, guess._replace(v=state(seed).v, w=state(seed).w))
        hand = Hand(now)
        vd, wd = np.split(np.asarray(accelerated(built, now, jnp.asarray(EFFORTS)).twist), 2, 1)
        wd = np.array([hand.A[name].T @ wd[k] for k, name in enumerate(NAMES)])
        change = np.sum(MASS * np.sum(now.v * vd, axis=1))
        change += np.einsum("bi,bij,bj->", now.w, built.inertia, wd)
        qd = slope(lambda t, now=now: Hand(now, t).axes())
        qdd = bend(lambda t, now=now, vd=vd, wd=wd: Hand(now, t, vd, wd).axes())
        change += ROTORS @ (qd * qdd)
        for element in STORES:
            change += slope(lambda t, now=now, e=element: Hand(now, t).potential(e))
        heat = sum(lost(now, element) for element in RUBS)
        assert abs(change) > 1
        assert np.isclose(change, EFFORTS @ qd - heat, rtol=0, atol=1e-6 * abs(heat))
