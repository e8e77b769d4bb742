"""Identification of each sample architecture, from logs that its own file would write.

The rank of the regressor is counted a second time, by energies: torques show a parameter where the
energy of the robot does, up to a constant. Poses and their rates are all that this count shares.
"""

import equinox as eqx
import jax
import numpy as np
import pytest
from limb_robots import SAMPLES, described

from triskele.description.schema import Friction, JointFriction, Motor, Motors, SlideFriction
from triskele.description.tables import Table
from triskele.dynamics.inverse import inverse_dynamics, unit_inertias
from triskele.dynamics.robot import rigid
from triskele.errors import InputError, TableError
from triskele.identification.base import base_parameters, rank_of
from triskele.identification.identify import arms_alone, identify
from triskele.identification.probes import RANDOM, box, probes
from triskele.identification.regressor import (
    INERTIA,
    driven_regressor,
    groups,
    own_sections,
    parameter_values,
    torque_regressor,
)
from triskele.identification.signals import samples
from triskele.identification.synthetic import synthetic_log
from triskele.identification.update import with_arms
from triskele.identification.weighted import base_fit
from triskele.kinematics.build import build
from triskele.kinematics.motion import fourier, resting
from triskele.kinematics.reach import slack
from triskele.numerics import jvp, spread, tabulate

QUICK = ("five_bar", "two_axis_linear_delta", "3rps")
EACH = [n if n in QUICK else pytest.param(n, marks=pytest.mark.long) for n in SAMPLES]
LONG = pytest.mark.long, pytest.mark.slow  # the last for all but a few: half a minute each
FEW = ("delta", "keops", "3rps", "6ups")
ONE = [n if n == QUICK[0] else pytest.param(n, marks=LONG[: 1 if n in FEW else 2]) for n in SAMPLES]
HARMONICS, PERIOD, RATE = 6, 4.0, 250.0
NOISE = 0.01  # of the efforts


def rubbing(robot):
    """`robot` with rotors, and friction that differs from drive to drive."""
    joints, counts = build(robot).joint_coordinates, {}
    mixed = robot.geometry.telescope is None and len({joint.unit for joint in joints}) > 1
    for joint in joints:  # one table for all, or, where some slide and some turn, one for each
        table = joint.name if mixed else joint.drive
        counts[table] = counts.get(table, 0) + 1
    friction = {
        table: JointFriction(
            coulomb=tuple(1 + 0.2 * (k + offset) for k in range(n)),
            viscous=tuple(2 + 0.3 * (k + offset) for k in range(n)),
        )
        for offset, (table, n) in enumerate(counts.items())
    }
    if robot.geometry.telescope is not None:
        friction["telescope"] = SlideFriction(coulomb=2.0, viscous=3.0)
    motors = Motors(**{table: Motor(reflected_inertia=0.02) for table in counts})
    return robot.model_copy(update={"friction": Friction(**friction), "motors": motors})


def wandering(robot, seed):
    """A random periodic motion through the workspace that starts from rest."""
    mechanism = build(robot)
    middle, half, _ = box(mechanism, robot.limits)
    room = tabulate(eqx.Partial(slack, mechanism, robot.limits, guaranteed=True))
    shape = (2, HARMONICS, len(middle))
    rows = np.random.default_rng(seed).normal(size=shape) / np.arange(1, HARMONICS + 1)[:, None]
    sine, cosine = resting(*rows)
    coordinates = mechanism.platform_coordinates

    def moved(size):
        terms = size * sine, size * cosine
        options = {"period": PERIOD, "rate": RATE, "coordinates": coordinates}
        return fourier(middle, *terms, **options)

    size = 0.7 * half / np.abs(np.asarray(moved(np.ones(len(half))).x) - middle).max(axis=0)
    while (np.asarray(room(np.asarray(moved(size).x))) < 0.02).any():
        size = 0.8 * size
    return moved(size)


def rough_logs(robot, seeds):
    """Logs of different motions, and the noise on their efforts [N m, N]."""
    model, motions = rigid(robot), [wandering(robot, seed) for seed in seeds]
    clean = efforts(model, motions[0])
    noise = NOISE * np.sqrt(np.mean(clean**2, axis=0))
    logs = [
        synthetic_log(robot, motion, noise.tolist(), seed=seed, rates=True)
        for motion, seed in zip(motions, seeds, strict=True)
    ]
    return logs, noise


def efforts(model, log):
    states = (np.asarray(part) for part in (log.x, log.xd, log.xdd))
    return np.stack(tabulate(eqx.Partial(inverse_dynamics, model))(*states), axis=-1)


def rank_by_energy(robot, parameters):
    """How many combinations of inertia and rotors the energies of random states show, and a gap."""
    model = rigid(robot)
    mechanism, g = model.mechanism, np.asarray(model.gravity)

    def leaves(x):
        q = mechanism.inverse(x).components
        poses = jax.tree.leaves(mechanism.body_poses(q, x))
        return tuple(spread(value, x[0]) for value in (*q, *poses))

    states, n = probes(mechanism, robot.limits), len(mechanism.joint_coordinates)
    moving = tabulate(lambda x, xd: jvp(leaves, (x,), (xd,)))(states.x[:RANDOM], states.xd[:RANDOM])
    T, Td = (np.stack(part[n:], axis=-1).reshape(RANDOM, -1, 4, 3) for part in moving)
    qd = np.stack(moving[1][:n], axis=-1)
    units = unit_inertias()
    kinetic = np.einsum("nbkr,nblr,klp->nbp", Td, Td, units) / 2
    potential = -np.einsum("r,nbkr,kp->nbp", g, T, units[:, 3])
    members = groups(mechanism, own_sections(robot, mechanism))
    parts = dict.fromkeys(p.part for p in parameters if p.name in INERTIA)
    energy = [(kinetic + potential)[:, members[part].members].sum(axis=1) for part in parts]
    rotors = np.nonzero(np.asarray(model.rotors))[0]
    table = np.concatenate([*energy, qd[:, rotors] ** 2 / 2], axis=1)
    table = table[1:] - table[0]
    lengths = np.linalg.norm(table, axis=0)
    used = lengths > 1e-10 * lengths.max()
    return rank_of(np.linalg.svd(table[:, used] / lengths[used], compute_uv=False))


@pytest.mark.parametrize("name", EACH)
def test_base_parameters_come_back_from_a_log(name):
    robot = rubbing(described(name))
    model = rigid(robot)
    asked = probes(model.mechanism, robot.limits)
    base = base_parameters(torque_regressor(model, asked.x, asked.xd, asked.xdd))
    rank, gap = rank_by_energy(robot, base.parameters)
    frictions = sum(p.name in ("coulomb", "viscous") for p in base.parameters)
    assert base.rank == rank + frictions
    assert base.clear
    assert gap > 1e4

    motion = wandering(robot, seed=1)
    log = samples(robot, model, synthetic_log(robot, motion, rates=True))
    np.testing.assert_allclose(log.x, np.asarray(motion.x)[1:-1], atol=1e-9)
    Y = torque_regressor(model, log.x, log.xd, log.xdd)
    p = parameter_values(model, Y.parameters)
    exact = base_fit(Y, log.tau, base)
    assert np.all(np.abs(exact.read - base.read @ p) < 1e-6 * np.abs(base.read) @ np.abs(p))

    noise = NOISE * np.sqrt(np.mean(log.tau**2, axis=0))
    rough = log.tau + np.random.default_rng(2).normal(size=log.tau.shape) * noise
    found = base_fit(Y, rough, base, sigma=noise)
    error = found.values - base.combinations @ p
    square = error @ np.linalg.solve(found.covariance, error) / base.rank
    assert abs(square - 1) < 4 * np.sqrt(2 / base.rank)


@pytest.mark.parametrize("name", ONE)
def test_a_file_with_wrong_masses_is_put_right_by_logs(name):
    robot = rubbing(described(name))
    model = rigid(robot)
    wrong = {part: body.model_copy(update={"mass": 1.2 * body.mass})
             for part, body in robot.bodies.items()}  # fmt: skip
    before = robot.model_copy(update={"bodies": wrong})
    logs, noise = rough_logs(robot, (3, 4))
    found = identify(before, logs[:1], logs[1:])
    verdict, (held,) = found.verdict, found.held_out
    assert verdict.rank == verdict.possible
    assert verdict.converged
    assert verdict.least_inertia > 0
    assert np.allclose(verdict.held_out.consistent, noise, rtol=0.1)
    errors = [
        np.sqrt(np.mean((efforts(rigid(r), held) - efforts(model, held)) ** 2, axis=0)) / noise
        for r in (found.robot, before)
    ]
    assert errors[0].max() < 1 < errors[1].max() / 3


def test_a_body_with_a_section_of_its_own_has_parameters_of_its_own():
    robot = rubbing(described("five_bar"))
    rod = robot.bodies["rod"]
    heavy = rod.model_copy(update={"mass": 2 * rod.mass})
    robot = robot.model_copy(update={"bodies": robot.bodies | {"rod_2": heavy}})
    assert own_sections(robot, build(robot)) == ("rod_2",)
    wrong = robot.model_copy(update={"bodies": robot.bodies | {"rod_2": rod}})
    logs, noise = rough_logs(robot, (5,))
    found = identify(wrong, logs)
    (seen,), parts = found.logs, {p.part for p in found.fit.unknowns.parameters}
    assert {"rod", "rod_2"} <= parts
    error = efforts(rigid(found.robot), seen) - efforts(rigid(robot), seen)
    assert (np.sqrt(np.mean(error**2, axis=0)) < 0.5 * noise).all()
    facts = {fact.key: fact.source for fact in found.robot.facts}
    assert facts["bodies.rod_2.first_moment"].startswith("identified from synthetic log")
    assert found.robot.bodies["rod"].mass == pytest.approx(rod.mass, rel=0.2)
    assert found.robot.bodies["rod_2"].mass > 1.3 * rod.mass


def test_a_log_in_millimetres_is_named():
    robot = described("linear_delta")
    limits = robot.limits.model_copy(update={"slider_position": (-0.3, 1.2)})
    robot = rubbing(robot.model_copy(update={"limits": limits}))
    log = synthetic_log(robot, wandering(robot, seed=6))
    large = {
        name: (log[name].unit, (1e3 if name.startswith("q") else 1.0) * log[name].values)
        for name in log.names
    }
    samples(robot, rigid(robot), log)
    with pytest.raises(TableError, match=r"q1 to q3 reach .* m; these are millimetres.* q1 \[mm\]"):
        samples(robot, rigid(robot), Table(large, "a.csv"))


def test_arms_of_a_plane_robot_alone_are_a_first_stage():
    robot = rubbing(described("five_bar"))
    model = rigid(robot)
    q, qd, qdd = np.random.default_rng(7).uniform(-1, 1, (3, 400, 2))
    Y = driven_regressor(model, q, qd, qdd)
    tau = Y.matrix @ parameter_values(model, Y.parameters)
    columns = {"t": ("s", np.arange(400) / 100)}
    for order, part in enumerate((q, qd, qdd)):
        unit = "rad" + ("", "/s", "/s^2")[order]
        columns |= {f"q{'d' * order}{k + 1}": (unit, part[:, k]) for k in range(2)}
    log = Table(columns | {f"tau{k + 1}": ("N m", tau[:, k]) for k in range(2)}, "arms.csv")
    found = arms_alone(robot, [log])
    told = dict(zip(found.base.formulas(), found.read, strict=True))
    arm = robot.bodies["arm"].ten_parameters
    assert told["arm_1.mc_x"] == pytest.approx(arm[1], rel=1e-6)
    assert told["arm_2.yy + drive_2.rotor"] == pytest.approx(arm[5] + 0.02, rel=1e-6)
    heavier = {"mass": 1.5 * robot.bodies["arm"].mass}
    bodies = robot.bodies | {"arm": robot.bodies["arm"].model_copy(update=heavier)}
    rough = robot.model_copy(update={"bodies": bodies, "friction": None})
    better = with_arms(rough, found, [log])
    assert better.bodies["arm"].ten_parameters[5] == pytest.approx(arm[5], rel=1e-6)
    assert better.friction.drives.viscous == pytest.approx((2.0, 2.3), rel=1e-6)
    for other in ("linear_delta", "6ups"):
        with pytest.raises(InputError, match=f"{other} has no arms that could be moved alone"):
            arms_alone(described(other), [log])
