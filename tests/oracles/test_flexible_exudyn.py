"""Exudyn bends the links of Kuo's Delta as we do: frequencies, sag, a circle.

Its beams are geometrically exact and lumped, ours linear and consistent (`exudyn_flexible.py`); the
stiffer the links, the less that differs. Links a hundred times as stiff have a hundredth of the
sag, and nothing of the second order to speak of.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exudyn_flexible import (
    SHEAR_MODULUS,
    YOUNG_MODULUS,
    Bar,
    circle_response,
    natural_frequencies,
    static_deflection,
    static_middles,
)

from triskele.description.load import load
from triskele.flexible.assembly import rest_poses
from triskele.flexible.middles import link_middles
from triskele.flexible.modes import modes, sag
from triskele.flexible.response import vibrate
from triskele.flexible.robot import flexible, links
from triskele.flexible.second_order import second_order
from triskele.kinematics.motion import circle

pytestmark = pytest.mark.oracle

CENTRE, PLACE = (0.0, 0.0, -0.5), (0.1, 0.0, -0.5)
KUO = load("flexible_delta")
ELEMENTS = 2


def robot(factor=1.0, elements=ELEMENTS, gravity=None):
    """E and G times `factor`."""
    steel = KUO.materials["steel"]
    moduli = {
        "young_modulus": factor * steel.young_modulus,
        "shear_modulus": factor * steel.shear_modulus,
    }
    update = {"materials": {**KUO.materials, "steel": steel.model_copy(update=moduli)}}
    if gravity is not None:
        update["gravity"] = gravity
    return flexible(KUO.model_copy(update=update), elements=elements)


def theirs(factor):
    return {"young_modulus": factor * YOUNG_MODULUS, "shear_modulus": factor * SHEAR_MODULUS}


@pytest.mark.parametrize("x", [CENTRE, PLACE])
@pytest.mark.parametrize("factor", [1.0, 100.0])
def test_frequencies_of_the_flexible_delta(x, factor):
    ours = np.asarray(modes(robot(factor), x).frequencies)
    found = natural_frequencies(x, elements=8, **theirs(factor))
    off = ours / found - 1
    print(f"x = {x[0]:g} m, E times {factor:g}: frequencies within {100 * np.abs(off).max():.2f} %")
    assert np.abs(off).max() < 5e-3
    assert np.abs(off[:3]).max() < 2e-3


@pytest.mark.parametrize("x", [CENTRE, PLACE])
def test_sag_of_stiff_links(x):
    ours, found = sag(robot(100.0), x), static_deflection(x, **theirs(100.0))
    for mine, other, unit in (
        (ours.position, found.displacement, "m"),
        (ours.rotation, found.rotation, "rad"),
    ):
        off, size = np.abs(np.asarray(mine) - other).max(), np.abs(other).max()
        print(f"x = {x[0]:g} m: sag {size:.3e} {unit}, difference {off:.1e}")
        assert off < 2e-3 * size + 1e-9


def test_links_at_half_length():
    """Under their weight, links a hundred times as stiff."""
    model = robot(100.0)
    poses = jax.tree.map(lambda leaf: leaf[None], rest_poses(model.mechanism, jnp.array(PLACE)))
    ours = link_middles(model, links(model), poses, np.asarray(sag(model, PLACE).y)[None])
    found = static_middles(PLACE, Bar(100.0 * YOUNG_MODULUS, 100.0 * SHEAR_MODULUS))
    assert ours.names == tuple(f"{part}_{i}" for part in ("arm", "rod") for i in (1, 2, 3))
    off = np.abs(ours.displacement[0] - found.displacement).max(axis=0)
    turned = np.abs(ours.twist[0] - found.rotation[:, 0]).max()
    sizes = np.abs(found.displacement).max(axis=0)
    print(f"at half length {sizes} m, differences {off}; twist off by {turned:.1e} rad")
    assert (off < 2e-3 * sizes + 1e-9).all()
    assert np.abs(found.rotation[:, 0]).max() > 1e-5
    assert turned < 2e-3 * np.abs(found.rotation[:, 0]).max() + 1e-9


def test_what_a_linear_sag_leaves_out():
    """At the true load, links turn by degrees as they bend; the second order is about a percent."""
    ours = float(sag(robot(), CENTRE).position[2])
    found = static_deflection(CENTRE).displacement[2]
    off = found / ours - 1
    print(f"sag {1e3 * ours:.4f} mm, geometrically exact {1e3 * found:.4f} mm: {100 * off:+.2f} %")
    assert ours == pytest.approx(-25.2697e-3, abs=1e-6)
    assert found == pytest.approx(-25.4929e-3, abs=1e-5)
    assert 0.005 < off < 0.015


@pytest.mark.parametrize("x", [CENTRE, PLACE])
def test_what_a_linear_sag_leaves_out_is_estimated(x):
    """Within 4 % where it is small, and within 35 % where it is a percent of links of 0.5 m."""
    for factor, within in ((4.0, 0.04), (1.0, 0.35)):
        model = robot(factor)
        y = np.asarray(sag(model, x).y)
        told = second_order(model, links(model), rest_poses(model.mechanism, jnp.array(x)), y)
        exact = static_deflection(x, elements=16, **theirs(factor)).displacement - y[:3]
        off = np.linalg.norm(np.asarray(told)[:3] - exact) / np.linalg.norm(exact)
        print(f"x = {x[0]:g} m, E times {factor:g}: {1e6 * np.linalg.norm(exact):.1f} um left out,")
        print(f"estimated within {100 * off:.1f} %")
        assert off < within


def test_the_way_around_a_circle():
    """Started straight, in full motion and without gravity: it swings, and nothing damps it."""
    motion = circle(CENTRE, 0.1, period=1.0, turns=0.25, rate=5000)
    ours = vibrate(robot(100.0, gravity=(0.0, 0.0, 0.0)), motion, start="straight")
    found = circle_response(duration=0.25, step=2e-4, **theirs(100.0))
    assert np.allclose(found.times, ours.t, rtol=0, atol=1e-9)
    assert np.allclose(motion.x[0], jnp.array([0.1, 0.0, -0.5]))
    offs = []
    for mine, other in ((ours.position, found.displacement), (ours.rotation, found.rotation)):
        offs.append(np.abs(mine - other).max())
    sizes = [np.abs(part).max() for part in (found.displacement, found.rotation)]
    print(f"around a circle: {1e6 * offs[0]:.2f} um of {1e6 * sizes[0]:.0f}", end=", ")
    print(f"{1e6 * offs[1]:.1f} urad of {1e6 * sizes[1]:.0f}")
    assert sizes[0] == pytest.approx(128e-6, rel=0.05)
    assert offs[0] < 1.5e-6
    assert offs[1] < 8e-6
