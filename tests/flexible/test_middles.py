"""Links at half length: loads of single links by hand, and all discretisations alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description.load import load
from triskele.flexible.assembly import rest_poses
from triskele.flexible.middles import link_middles
from triskele.flexible.modes import sag
from triskele.flexible.robot import flexible, links

KUO = load("flexible_delta")
PLACE = (0.1, 0.0, -0.5)


def hanging(**options):
    robot = flexible(KUO, **options)
    poses = jax.tree.map(lambda leaf: leaf[None], rest_poses(robot.mechanism, jnp.array(PLACE)))
    found = link_middles(robot, links(robot), poses, np.asarray(sag(robot, PLACE).y)[None])
    return robot, poses, found


def test_weight_between_nodes_bends_a_link_as_a_clamped_beam():
    """Nodes of cubic elements are exact: between them q l^4 / 384 E I is left out of one."""
    robot, poses, one = hanging()
    _, _, two = hanging(elements=2)
    missing = two.displacement[0] - one.displacement[0]
    for part, length, beam, first in (
        ("arm", 0.5, robot.arm_beam, 0),
        ("rod", 0.6, robot.rod_beam, 3),
    ):
        R = np.asarray(getattr(poses, part))[0, :, 0, :, :3]
        q = 7800.0 * 0.005**2 * np.einsum("iab,a->ib", R, np.asarray(robot.gravity))
        stiffness = np.array([float(beam.bending_z), float(beam.bending_y)])
        expected = q[:, 1:] * length**4 / 384 / stiffness[None, :]
        assert np.allclose(missing[first : first + 3, 1:], expected, rtol=1e-6, atol=1e-12)
        assert np.abs(expected).max() > 2e-5
        along = q[:, 0] * length**2 / 8 / float(beam.axial)
        assert np.allclose(missing[first : first + 3, 0], along, rtol=1e-5, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("options", [{"elements": 3}, {"elements": 1, "family": "cubic/quintic"}])
def test_finer_links_are_where_two_elements_are(options):
    _, _, two = hanging(elements=4)
    _, _, other = hanging(**options)
    size = np.abs(two.displacement).max()
    # linear elements lack q h^2 / 8 E A of stretch, three of them in the middle
    assert np.allclose(other.displacement[..., 1:], two.displacement[..., 1:], atol=2e-3 * size)
    assert np.allclose(other.displacement[..., 0], two.displacement[..., 0], atol=1e-6 * size)
    turned = np.abs(two.twist).max()
    assert np.allclose(other.twist, two.twist, rtol=1e-6, atol=1e-8 * turned)  # and of rounding
