"""python-control finds the same margins and the same sampled response of the position loop.

At home the three drives of the compliant 3PRS are alike: in unison they lift, and in the two other
combinations they tilt. Each is a loop of one input and one output, which python-control takes.
"""

import numpy as np
import pytest

from triskele.control.cascade import cascade
from triskele.control.loop import loci, loop, margins, step, velocity_loop
from triskele.control.plant import linear_plant, plant
from triskele.description.load import load
from triskele.numerics import stacked

control = pytest.importorskip("control")
pytestmark = pytest.mark.oracle
LIFT = np.ones(3) / np.sqrt(3), np.array([1.0, 0.0, 0.0])  # of the drives, of z, psi, theta
TILT = np.array([2.0, -1.0, -1.0]) / np.sqrt(6), np.array([0.0, 0.0, 1.0])
WAYS = pytest.mark.parametrize("way", [LIFT, TILT], ids=["lift", "tilt"])


@pytest.fixture(scope="module")
def position_loop():
    robot = load("compliant_3prs")
    model = plant(robot)
    return loop(linear_plant(model, stacked(model.mechanism.home())), cascade(robot))


def single(item, way):
    """kV G_1 along one combination of drives, its five states, discretised by python-control."""
    F, G, _ = velocity_loop(item)
    drives, platform = way
    P = np.kron(np.eye(5)[:, :2], platform[:, None]) @ np.eye(2, 5)
    P = P + np.kron(np.eye(5)[:, 2:], drives[:, None]) @ np.eye(3, 5, 2)
    assert np.allclose(F @ P, P @ (P.T @ F @ P), rtol=0, atol=1e-6 * np.abs(F).max())
    N = np.hstack([item.plant.motor, np.zeros((3, 3))])
    parts = P.T @ F @ P, P.T @ G @ drives[:, None], item.kV * drives[None, :] @ N @ P
    return P, control.c2d(control.ss(*parts, 0), item.period, "zoh")


@WAYS
def test_steps_of_the_held_command(position_loop, way):
    P, theirs = single(position_loop, way)
    Phi, Gam, *_ = step(position_loop)
    assert np.allclose(P @ theirs.A, Phi @ P, rtol=0, atol=1e-8 * np.abs(Phi).max())
    assert np.allclose(P @ theirs.B[:, 0], Gam @ way[0], rtol=0, atol=1e-8 * np.abs(Gam).max())


def test_margins_are_the_least_of_both_ways(position_loop):
    ours = margins(position_loop)
    found = [control.stability_margins(single(position_loop, way)[1]) for way in (LIFT, TILT)]
    gains, phases = [item[0] for item in found], [item[1] for item in found]
    print(f"gain margins {gains}, ours {ours.gain:.6g}; phase {phases}, ours {ours.phase:.6g}")
    assert ours.gain == pytest.approx(min(gains), rel=1e-3)
    assert ours.phase == pytest.approx(min(phases), abs=0.05)
    first = found[int(np.argmin(phases))]
    assert ours.crossover == pytest.approx(first[4] / (2 * np.pi), rel=1e-3)


def test_loci_are_the_responses_of_both_ways(position_loop):
    f = np.array([1.0, 5.0, 9.0, 20.0, 60.0])
    ours = loci(position_loop, f)
    z = np.exp(2j * np.pi * f * position_loop.period)
    for way in (LIFT, TILT):
        theirs = np.array(single(position_loop, way)[1](z))
        miss = np.abs(ours - theirs[:, None]).min(axis=1) / np.abs(theirs)
        assert miss.max() < 1e-6
