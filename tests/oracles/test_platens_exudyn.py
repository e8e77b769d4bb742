"""The simulated Delta with platens, that the sensor of their deflection is judged by, is sound.

Its platens vibrate as the theory of beams says, at home they hang as it says, and the file that
the study reads is what `exudyn_platens.py` makes. Numbers in the last tests are of an earlier
simulation of the same robot, made apart from this one.
"""

import numpy as np
import pytest
from exudyn_platens import (
    BENDING,
    LINE_DENSITY,
    LINK_LENGTH,
    PINNED,
    STORED,
    STUDIED,
    Case,
    bending,
    cantilever,
    delta,
    link_angles,
    motor_angles,
    packed,
    platform,
    unpacked,
)

pytestmark = pytest.mark.oracle

STILL = Case(ramp=0.01, duration=0.01, amplitude=0.0)
CLAMPED = 1.87510407**2 * np.sqrt(BENDING / LINE_DENSITY) / LINK_LENGTH**2  # [rad/s]
CLAMPED_RATIO = 0.290590  # [m] deflection per slope of the first mode of a clamped platen


def largest(signals):
    return np.abs(signals).max(axis=0)


@pytest.fixture(scope="module")
def stored():
    with np.load(STORED) as file:
        assert f"{STUDIED.elements} geometrically exact beams" in str(file["made"])
        return {name: unpacked(file[name]) for name in file.files if name != "made"}


@pytest.mark.parametrize(("ends", "exact"), [("clamped", CLAMPED), ("pinned", PINNED)], ids=str)
def test_a_platen_vibrates_like_a_beam(ends, exact):
    coarse, fine = (bending(ends, Case(elements=n)) for n in (9, 18))
    off = [mode.frequencies[0] / exact - 1 for mode in (coarse, fine)]
    hertz = exact / (2 * np.pi)
    print(f"{ends}: {hertz:.3f} Hz, 9 and 18 beams off by {100 * off[0]:.3f}, {100 * off[1]:.3f} %")
    assert 0 < off[1] < 4e-3
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.1)
    assert fine.damping[0] == pytest.approx(0.01 * exact / PINNED, rel=5e-3)


def test_frequencies_are_those_of_the_paper():
    assert CLAMPED / (2 * np.pi) == pytest.approx(15.41826, abs=1e-4)
    assert PINNED / (2 * np.pi) == pytest.approx(43.28, abs=0.01)


def test_the_rigid_robot_at_home():
    phi, alpha = link_angles(np.zeros(3))
    assert platform(np.zeros(3)) == pytest.approx([0.0, 0.0, -np.sqrt(0.4**2 - 0.21**2)], abs=1e-12)
    assert phi == pytest.approx(np.pi - np.arccos(0.21 / 0.4), abs=1e-12)
    assert alpha == pytest.approx(0.0, abs=1e-12)


def test_platens_at_rest_sag_like_beams():
    """Of pinned ends the deflection is -p L^4 / 24 EI and half of L times the slope."""
    phi = link_angles(np.zeros(3))[0]
    L, p = LINK_LENGTH, -LINE_DENSITY * 9.81 * np.cos(phi)  # [N/m] along z of the link
    robot, alone = delta(STILL), cantilever(STILL)
    assert largest(np.ptp(robot.deflection, axis=0)) < 1e-10
    assert robot.deflection[-1] == pytest.approx(-p * L**4 / (24 * BENDING), rel=0.01)
    assert robot.slope[-1] == pytest.approx(2 * robot.deflection[-1] / L, rel=1e-3)
    assert alone.deflection[-1] == pytest.approx(p * L**4 / (8 * BENDING), rel=0.01)
    assert alone.slope[-1] == pytest.approx(p * L**3 / (6 * BENDING), rel=0.01)
    assert robot.tool[-1] == pytest.approx(platform(np.zeros(3)), abs=1e-7)
    assert robot.elbow[-1] - phi == pytest.approx(robot.deflection[-1] / L, rel=1e-3)
    assert robot.wrist[-1] - phi == pytest.approx(-robot.deflection[-1] / L, rel=1e-3)


def test_joints_follow_the_robot():
    case = Case(elements=6, ramp=0.2, duration=0.1)
    robot = delta(case)
    q = [motor_angles(case.ramp + 1e-3 * k, case) for k in range(len(robot.tool))]
    alpha = np.array([link_angles(at)[1] for at in q])
    off = largest(robot.tool - np.array([platform(at) for at in q]))
    print(f"platform within {1e6 * off.max():.1f} um of that of rigid links")
    assert len(q) == 101
    assert off.max() < 5e-5
    turned = (robot.elbow - robot.wrist) * np.cos(alpha)
    assert largest(robot.slope - turned).max() < 1e-3 * largest(robot.slope).max()


def test_what_is_packed_is_unpacked():
    signals = np.cumsum(np.random.default_rng(0).normal(size=(50, 2)), axis=0)
    assert largest(unpacked(packed(signals)) - signals).max() < 1e-12


def test_the_file_is_small_and_complete(stored):
    assert STORED.stat().st_size < 500_000
    assert {name: signal.shape for name, signal in stored.items()} == dict.fromkeys(
        ("delta", "slope", "elbow", "wrist", "tool", "cantilever_delta", "cantilever_slope"),
        (5001, 3),
    )
    q = [motor_angles(STUDIED.ramp + 1e-3 * k, STUDIED) for k in range(5001)]
    off = np.linalg.norm(stored["tool"] - np.array([platform(at) for at in q]), axis=1)
    print(f"platform within {1e6 * off.max():.2f} um of that of rigid links")
    assert off.max() == pytest.approx(5.2e-6, abs=0.5e-6)
    assert np.ptp(stored["tool"], axis=0) == pytest.approx([0.2871, 0.2810, 0.1335], abs=1e-4)


def test_the_file_agrees_with_an_earlier_simulation(stored):
    d, slope = stored["delta"], stored["slope"]
    v, a = np.gradient(d, 1e-3, axis=0), np.diff(d, n=2, axis=0) / 1e-6
    ratios = (d * slope).sum(axis=0) / (slope**2).sum(axis=0) / LINK_LENGTH
    print(f"deflection {1e3 * largest(d)} mm, {largest(v)} m/s, {largest(a)} m/s^2")
    print(f"deflection / (length slope): {ratios}")
    assert largest(d) == pytest.approx([1.81e-3, 1.71e-3, 1.91e-3], rel=0.01)
    assert largest(v) == pytest.approx([0.0399, 0.034, 0.046], rel=0.02)
    assert largest(a) == pytest.approx([1.37, 1.12, 1.91], rel=0.02)
    assert ratios == pytest.approx([0.482, 0.476, 0.488], abs=0.001)


def test_the_shape_of_a_clamped_platen_fits_the_cantilever_alone(stored):
    def off(kind):
        d, slope = stored[f"{kind}delta"], stored[f"{kind}slope"]
        return largest(CLAMPED_RATIO * slope - d) / largest(d)

    print(
        f"clamped shape off by {100 * off('')} % in the Delta, {100 * off('cantilever_')} % alone"
    )
    assert off("").max() == pytest.approx(0.521, abs=0.01)
    assert (off("cantilever_") > 0.012).all()
    assert (off("cantilever_") < 0.025).all()


@pytest.mark.slow
def test_the_file_can_be_made_again(stored):
    again = delta(STUDIED)
    off = {
        "delta": largest(again.deflection - stored["delta"]) / largest(stored["delta"]),
        "slope": largest(again.slope - stored["slope"]) / largest(stored["slope"]),
        "elbow [rad]": largest(again.elbow - stored["elbow"]),
        "wrist [rad]": largest(again.wrist - stored["wrist"]),
        "tool [m]": largest(again.tool - stored["tool"]),
    }
    print("; ".join(f"{name} off by {value.max():.1e}" for name, value in off.items()))
    assert max(off["delta"].max(), off["slope"].max()) < 1e-3
    assert max(off["elbow [rad]"].max(), off["wrist [rad]"].max()) < 1e-5
    assert off["tool [m]"].max() < 1e-8
