"""Modes against their own laws, differences of parameters, and forces worked out by hand."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from soft_gears import geared, with_control

from triskele.description.load import load
from triskele.description.schema import Payload
from triskele.errors import InputError
from triskele.flexible.assembly import rest_poses
from triskele.flexible.modes import (
    PARAMETERS,
    energies,
    frequencies_at,
    modes,
    platform_stiffness,
    rest_matrices,
    sag,
    sensitivities,
    tensions,
)
from triskele.flexible.robot import flexible, links

PLACE, CENTRE = (0.1, 0.0, -0.5), (0.0, 0.0, -0.5)
ROBOT = flexible(load("flexible_delta"))
IRB = load("abb_irb360_6_1600")  # rods in pairs, rigid arms
ASIDE = Payload(mass=1.0, centre_of_mass=(0.08, 0.0, -0.1), inertia=(0.01, 0.01, 0.01))
LEAVES = [
    "arm length [m]",
    "rod length [m]",
    "base radius [m]",
    "platform radius [m]",
    "arm mass [kg/m]",
    "arm G J [N m^2]",
    "arm E Iy [N m^2]",
    "rod E Iz [N m^2]",
    "rod mass [kg/m]",
]


def w(robot, x, count=8, **options):
    return np.asarray(modes(robot, x, count=count, **options).frequencies)


def scaled(robot, name, factor):
    return eqx.tree_at(PARAMETERS[name], robot, replace_fn=lambda leaf: factor * leaf)


def heavier(robot, part, factor):
    """The first of the ten parameters of platform or payload, the mass, times `factor`."""
    scale = jnp.ones(10).at[0].set(factor)
    return eqx.tree_at(lambda r: getattr(r, part), robot, replace_fn=lambda ten: scale * ten)


def per_percent(frequency, change, step=1e-4):
    """d log w / d log p of a frequency, by differences in `change(factor)`."""
    return np.log(frequency(change(1 + step)) / frequency(change(1 - step))) / (2 * step)


def relative(robot, x, mode):
    return {row.parameter: row.relative for row in sensitivities(robot, x, mode)}


# Equation (1)


def test_shapes_are_orthonormal_by_mass_and_orthogonal_by_stiffness():
    found = modes(ROBOT, PLACE, count=ROBOT.unknowns)
    M, K, *_ = (np.asarray(part) for part in rest_matrices(ROBOT, jnp.array(PLACE)))
    v, squares = np.asarray(found.shapes), np.asarray(found.frequencies) ** 2
    assert np.allclose(M, M.T, rtol=0, atol=1e-12 * M.max())
    assert np.allclose(v.T @ M @ v, np.eye(len(v)), rtol=0, atol=1e-9)
    assert np.allclose(v.T @ K @ v / squares.max(), np.diag(squares / squares.max()), atol=1e-9)
    low = v[:, :8]
    assert np.allclose(low.T @ K @ low, np.diag(squares[:8]), rtol=0, atol=1e-6 * squares[7])
    assert (np.diff(found.frequencies) >= 0).all()


def test_the_platform_of_a_mode_is_part_of_its_shape():
    found = modes(ROBOT, CENTRE, count=3)
    assert np.array_equal(found.platform, found.shapes[:6].T)
    assert found.directions[0] == "z"  # up and down, alone at the centre
    assert np.allclose(found.platform[0, [0, 1, 3, 4]], 0, atol=1e-9)
    assert {found.directions[1], found.directions[2]} <= {"x", "y", "about x", "about y"}


def test_shares_are_kinetic_energy_of_the_platform():
    """A platform that goes up and down has 1/2 m w^2 z^2 of its mode's 1/2 w^2."""
    found = modes(ROBOT, CENTRE, count=3)
    mass, share = float(ROBOT.platform[0] + ROBOT.carried[0]), float(found.shares[0].sum())
    assert share == pytest.approx(mass * float(found.platform[0, 2]) ** 2, rel=1e-9)
    assert 0.2 < share < 1  # rods and arms have the rest


def askew(rng):
    """A payload of any mass, centre and principal axes."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    a, b, c = rng.uniform(1e-4, 1e-2, 3)
    J = turn @ np.diag([b + c, a + c, a + b]) @ turn.T
    inertia = (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[1, 2], J[0, 2])
    centre = tuple(rng.uniform(-0.15, 0.15, 3))
    return Payload(mass=rng.uniform(0.02, 3.0), centre_of_mass=centre, inertia=inertia)


def shares_of(robot, rng, spread, height):
    """Shares of the bodies of a robot with any payload, somewhere, and the platform's by (1)."""
    ten = jnp.asarray(askew(rng).ten_parameters)
    robot = eqx.tree_at(lambda r: r.carried, robot, ten)
    x = rng.uniform(-spread, spread, 3) + np.array([0, 0, height])
    x = [*x, *rng.uniform(-3, 3, len(robot.mechanism.platform_coordinates) - 3)]
    found = modes(robot, x, count=12)
    both = (found.platform, found.later[:6].T)
    of_platform = sum(np.einsum("ka,ab,kb->k", part, found.inertia, part) for part in both)
    return energies(robot, found).shares, found.shares, of_platform


@pytest.mark.long
@pytest.mark.parametrize(
    ("robot", "spread", "height"),
    [
        (ROBOT, 0.1, -0.58),
        (flexible(IRB, elements=2, kept_modes=2), 0.2, -0.95),
        (geared("omron_mini_delta_platens"), 0.08, -0.36),
        (geared("flexible_delta", elements=2), 0.1, -0.58),
        (flexible(IRB, drives="servo"), 0.2, -0.95),
        (flexible(with_control(), drives="servo"), 0.15, -0.65),
    ],
    ids=["beams", "pairs", "gears, rigid arms", "gears, beams", "servo", "servo, gears, beams"],
)
def test_shares_of_all_bodies_are_the_whole_energy(robot, spread, height):
    """At 250 poses with 250 payloads each: no part is negative, nor more than all.

    With servos, the mean energy over a period, and that of the motors.
    """
    rng = np.random.default_rng(22)
    bodies, axes, platform = (
        np.array(part)
        for part in zip(*(shares_of(robot, rng, spread, height) for _ in range(250)), strict=True)
    )
    assert bodies.min() > -1e-9
    assert np.abs(bodies.sum(axis=2) - 1).max() < 1e-6
    assert axes.min() > -1e-12
    assert np.allclose(axes.sum(axis=2), platform, rtol=0, atol=1e-9)
    assert np.allclose(bodies[..., 0], platform, rtol=0, atol=1e-9)
    assert platform.max() > 0.5


def test_a_payload_off_centre_moves_with_the_platform():
    """Terms of the diagonal alone were more than all energy."""
    payload = Payload(mass=0.3, centre_of_mass=(0.03, 0.01, -0.1))
    robot = flexible(load("flexible_delta"), payload)
    found = modes(robot, (0.05, 0.07, -0.58))
    diagonal = (found.platform**2 * np.diag(found.inertia)[None]).sum(axis=1)
    assert diagonal.max() > 1.1  # what was called the share
    shares = energies(robot, found)
    assert shares.bodies == ("platform", "arms", "rods")
    assert np.allclose(shares.shares.sum(axis=1), 1, rtol=0, atol=1e-9)
    assert (shares.shares > 0.01).all()


def test_how_many_modes_are_asked_for_changes_no_label():
    few, many = modes(ROBOT, PLACE, count=4), modes(ROBOT, PLACE, count=20)
    assert many.directions[:4] == few.directions


def test_rods_that_swing_alone_are_called_links():
    """The thin rods of the ABB swing at 65 Hz, long before its platform does."""
    found = modes(flexible(IRB), (0.0, 0.0, -0.95, 0.0), count=13)
    assert found.directions[:12] == ("links",) * 12
    assert found.directions[12] in ("x", "y")


def test_frequencies_at_many_poses_are_those_of_each():
    x = np.array([PLACE, CENTRE, (-0.05, 0.06, -0.6)])
    calls = []
    found = frequencies_at(ROBOT, x, count=5, progress=calls.append)
    assert np.allclose(found, [w(ROBOT, tuple(at), 5) for at in x], rtol=1e-10, atol=0)
    assert calls == [1.0]


def test_many_poses_are_more_than_a_block():
    x = np.tile(np.array([PLACE, CENTRE]), (35, 1))
    calls = []
    found = frequencies_at(ROBOT, x, count=2, progress=calls.append)
    assert found.shape == (70, 2)
    assert np.allclose(found[::2], found[0][None], rtol=1e-12)
    assert np.allclose(found[1::2], found[1][None], rtol=1e-12)
    assert len(calls) == 2
    assert calls[-1] == 1.0


@pytest.mark.parametrize("count", [0, -1, 37])
def test_as_many_modes_as_unknowns_and_no_more(count):
    assert ROBOT.unknowns == 36
    with pytest.raises(InputError, match=rf"has 1 to 36 modes, not {count}\."):
        modes(ROBOT, CENTRE, count=count)


# What frequencies depend on


def test_sensitivities_are_derivatives_of_frequencies():
    for mode in (1, 3):
        found = relative(ROBOT, PLACE, mode)
        for name in LEAVES:
            off = per_percent(
                lambda r, k=mode: w(r, PLACE)[k - 1], lambda f, n=name: scaled(ROBOT, n, f)
            )
            assert found[name] == pytest.approx(off, abs=2e-6), (mode, name)


def test_sensitivity_to_the_mass_of_the_platform():
    (row,) = (r for r in sensitivities(ROBOT, PLACE, 2) if r.parameter == "platform mass [kg]")
    off = per_percent(lambda r: w(r, PLACE)[1], lambda f: heavier(ROBOT, "platform", f))
    assert row.value == pytest.approx(0.5)
    assert row.relative == pytest.approx(off, abs=2e-6)
    assert row.relative == pytest.approx(row.derivative * row.value / w(ROBOT, PLACE)[1])


def test_modes_that_share_a_frequency_have_the_sensitivity_of_their_mean():
    pair = w(ROBOT, CENTRE)[1:3]
    assert pair[0] == pytest.approx(pair[1], rel=1e-9)
    of_first, of_second = (relative(ROBOT, CENTRE, mode) for mode in (2, 3))
    for name in LEAVES:
        off = per_percent(lambda r: w(r, CENTRE)[1:3].mean(), lambda f, n=name: scaled(ROBOT, n, f))
        assert of_first[name] == pytest.approx(off, abs=2e-6), name
        assert of_second[name] == pytest.approx(of_first[name], abs=1e-9), name


def test_frequencies_go_with_the_root_of_all_stiffness_and_the_inverse_root_of_all_mass():
    found = relative(ROBOT, PLACE, 1)
    stiff = sum(value for name, value in found.items() if " E " in name or " G " in name)
    heavy = sum(value for name, value in found.items() if "mass" in name or "inertia" in name)
    assert stiff == pytest.approx(0.5, abs=1e-6)
    assert heavy == pytest.approx(-0.5, abs=1e-3)  # rotary inertia of bars is no parameter
    sizes = [abs(row.relative) for row in sensitivities(ROBOT, PLACE, 1)]
    assert sizes == sorted(sizes, reverse=True)


def test_sensitivity_to_masses_at_the_elbows():
    lumped = eqx.tree_at(
        lambda r: (r.arm_lumps, r.rod_lumps),
        ROBOT,
        (jnp.array([0.0, 0.02]), jnp.array([0.03, 0.0])),
    )

    def change(factor):
        lumps = (lumped.arm_lumps * factor, lumped.rod_lumps * factor)
        return eqx.tree_at(lambda r: (r.arm_lumps, r.rod_lumps), lumped, lumps)

    off = per_percent(lambda r: w(r, PLACE)[0], change)
    assert relative(lumped, PLACE, 1)["masses at the elbows [kg]"] == pytest.approx(off, abs=2e-6)


@pytest.mark.parametrize("mode", [0, -2])
def test_modes_are_counted_from_one(mode):
    with pytest.raises(InputError, match=f"mode is {mode}; modes are counted from 1"):
        sensitivities(ROBOT, PLACE, mode)


def test_a_payload_lowers_all_frequencies_and_the_platform():
    loaded = flexible(load("flexible_delta"), Payload(mass=0.5, inertia=(4e-4, 4e-4, 6e-4)))
    ratio = w(loaded, PLACE) / w(ROBOT, PLACE)
    assert (ratio <= 1 + 1e-12).all()
    assert ratio[0] < 0.8
    assert ratio[0] > np.sqrt(0.5) - 1e-12  # inertias of the platform double, nothing else
    deeper = sag(loaded, CENTRE).position[2] / sag(ROBOT, CENTRE).position[2]
    assert 1.5 < deeper < 2


# Tension


def by_hand(x, platform=0.5, rod=0.117, g=9.81):
    """Force on the end of a rod at the wrist, and on the arm at the elbow: along each link [N].

    In the plane of a limb, at the centre: the rod turns freely at both ends.
    """
    q = float(ROBOT.mechanism.inverse(jnp.array(x)).checked()[0])
    arm = np.array([np.cos(q), -np.sin(q)])
    elbow = np.array([0.1, 0.0]) + 0.5 * arm
    e = (np.array([0.05, x[2]]) - elbow) / 0.6
    c, s = -e[0], -e[1]
    weight = np.array([0.0, -rod * g])
    across = np.array([-e[1], e[0]])
    pull = (platform * g / 3 + rod * g * c**2 / 2) / s
    force = pull * e - (weight @ across) / 2 * across
    assert force[1] == pytest.approx(-platform * g / 3)  # a third of the platform
    return pull, (force + weight) @ arm


@eqx.filter_jit
def pulls(robot, x):
    return tensions(robot, links(robot), rest_poses(robot.mechanism, x), sag(robot, x).y)


def test_tensions_are_those_of_a_hanging_robot():
    rod, arm = by_hand(CENTRE)
    assert rod > 0 > arm  # rods hang, arms are pushed in
    assert np.allclose(pulls(ROBOT, jnp.array(CENTRE)), [[arm, rod]] * 3, rtol=1e-6)


def test_links_in_tension_are_stiffer():
    x = jnp.array(CENTRE)
    up = eqx.tree_at(lambda r: r.gravity, ROBOT, replace_fn=lambda g: -g)
    K, down, upward = (
        np.asarray(rest_matrices(robot, x, loaded).K)
        for robot, loaded in ((ROBOT, False), (ROBOT, True), (up, True))
    )
    added = down - K
    assert np.allclose(upward - K, -added, rtol=0, atol=1e-9 * np.abs(added).max())
    own = ROBOT.of_limb
    slopes = 6 + np.arange(3)[:, None] * own + 6 + np.arange(4)[None, :]  # of the rods
    for index in slopes:
        block = added[np.ix_(index, index)]
        assert np.linalg.eigvalsh((block + block.T) / 2).min() > 0  # in tension


def test_the_weight_changes_frequencies_little_and_the_other_way_upside_down():
    assert 1e-3 < np.abs(w(ROBOT, PLACE, loaded=True) / w(ROBOT, PLACE) - 1).max() < 0.03

    def change(factor):
        other = eqx.tree_at(lambda r: r.gravity, ROBOT, replace_fn=lambda g: factor * g)
        return w(other, PLACE, loaded=True) / w(ROBOT, PLACE) - 1

    assert np.allclose(change(0.0), 0, atol=1e-12)
    off = change(0.01)
    assert np.allclose(change(-0.01), -off, rtol=0, atol=0.01 * np.abs(off).max())
    assert off[1] > 0 > off[0]  # across, it hangs like a pendulum


# Rods in pairs, and a flange that turns


def turned(payload, angle):
    c, s = np.cos(angle), np.sin(angle)
    x, y, z = payload.centre_of_mass
    return payload.model_copy(update={"centre_of_mass": (c * x - s * y, s * x + c * y, z)})


def test_a_payload_aside_turns_with_the_flange():
    third = 2 * np.pi / 3
    robot, other = flexible(IRB, ASIDE), flexible(IRB, turned(ASIDE, -third))
    centre, aside = (0.0, 0.0, -1.0), (0.3, 0.1, -0.95)
    straight = w(robot, (*centre, 0.0), 20)
    assert np.allclose(w(robot, (*centre, third), 20), straight, rtol=1e-10)  # limbs are alike
    moved = w(robot, (*aside, third), 20)
    # Where the payload is counts, not how it came there.
    assert np.allclose(w(other, (*aside, 2 * third), 20), moved, rtol=1e-10)
    assert np.abs(w(robot, (*aside, 0.0), 20) / moved - 1).max() > 1e-4


def test_a_pose_and_its_payload_turn_together_by_a_third():
    third = 2 * np.pi / 3
    c, s = np.cos(third), np.sin(third)
    robot = flexible(IRB, ASIDE)
    here, there = (0.3, 0.1, -0.95, 0.4), (0.3 * c - 0.1 * s, 0.3 * s + 0.1 * c, -0.95, 0.4 + third)
    assert np.allclose(w(robot, there, 20), w(robot, here, 20), rtol=1e-9)
    assert np.abs(w(robot, (*there[:3], 0.4), 20) / w(robot, here, 20) - 1).max() > 1e-4


def test_the_stiffness_of_the_platform_carries_a_weight_that_is_hung_on_it():
    heavier = flexible(load("flexible_delta"), Payload(mass=0.2))
    x = (0.05, 0.02, -0.5)
    lowered = np.concatenate(
        [
            np.asarray(a) - np.asarray(b)
            for a, b in zip(sag(heavier, x)[1:], sag(ROBOT, x)[1:], strict=True)
        ]
    )
    K = platform_stiffness(ROBOT, x)
    assert np.allclose(K, K.T, rtol=1e-9, atol=1e-9 * np.abs(K).max())
    assert np.linalg.eigvalsh(K)[0] > 0
    force = K @ lowered
    assert np.allclose(force, [0, 0, -0.2 * 9.81, 0, 0, 0], atol=1e-7)
