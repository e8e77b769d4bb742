"""The assembly of the flexible Delta in thirty variables, read in four ways.

Y.-L. Kuo, "Mathematical modeling and analysis of the Delta robot with flexible links" (2016),
equations (47) to (61), Tables 2 and 3. Frequencies, apart from those of Table 2, were computed by
another program; the paper's own follow from none of the readings.
"""

from typing import get_args

import numpy as np
import pytest

from triskele.errors import UnknownName
from triskele.studies.kuo_assembly import (
    Limb,
    Variant,
    assembled,
    derived,
    frequencies,
    limbs,
    printed,
)

VARIANTS = get_args(Variant)
TABLE_2 = [17.5260, 22.6888, 24.9084, 45.5079, 55.9026, 59.0686, 73.2587, 74.2479]
SOMEWHERE = Limb(2.0, (-0.4, -1.9, 0.3), 0.5, 0.6, 0.1, 0.05)  # no sine or cosine vanishes
ONE = {
    "as printed": [14.5029, 20.0645, 21.2924, 42.5865, 45.3299, 48.6960, 58.5258, 74.1131],
    "as derived": [15.8857, 18.1720, 22.3353, 40.0633, 41.7528, 48.3072, 62.5461, 75.1326],
    "made consistent": [20.6864, 22.8664, 25.0248, 63.5335, 64.9121, 64.9951, 185.9691, 190.3354],
}
EIGHT = {
    "as printed": [14.5026, 20.0619, 21.2892, 42.5020, 45.2519, 48.6167, 58.3575, 73.8984],
    "as derived": [15.8850, 18.1695, 22.3280, 40.0201, 41.7131, 48.1899, 62.2784, 74.5866],
    "misprints corrected": [15.0555, 16.2689, 16.4008, 39.2006, 58.2076, 58.9173, 83.5908, 86.3484],
    "made consistent": [20.6838, 22.8647, 25.0229, 63.2679, 64.6633, 64.7480, 175.2076, 179.0077],
}

by_variant = pytest.mark.parametrize("variant", VARIANTS)


def moved(displacements=(0, 0, 0), rotations=(0, 0, 0)):
    """H of equation (46), or a translation."""
    a, b, c = rotations
    H = np.eye(4)
    H[:3, :3] += [[0, -c, b], [c, 0, -a], [-b, a, 0]]
    H[:3, 3] = displacements
    return H


def along_x(d):
    return moved((d, 0, 0))


def about_y(angle):
    H, c, s = np.eye(4), np.cos(angle), np.sin(angle)
    H[0, 0], H[0, 2], H[2, 0], H[2, 2] = c, s, -s, c
    return H


def about_z(angle):
    H, c, s = np.eye(4), np.cos(angle), np.sin(angle)
    H[0, 0], H[0, 1], H[1, 0], H[1, 1] = c, -s, s, c
    return H


def platform(limb, V):
    """Pose at the end of the chain (47) as (position, attitude), V being V_B and V_D."""
    phi_1, phi_2, phi_3 = limb.angles
    H_B, H_D = moved(V[:3], V[3:6]), moved(V[6:9], V[9:])
    H = about_z(limb.azimuth) @ along_x(limb.base_radius) @ about_y(phi_1)
    H = H @ along_x(limb.arm_length) @ H_B @ about_y(phi_2) @ about_z(phi_3)
    H = H @ along_x(limb.rod_length) @ H_D @ about_z(-phi_3) @ about_y(-phi_1 - phi_2)
    H = H @ along_x(-limb.platform_radius) @ about_z(-limb.azimuth)
    return np.array([*H[:3, 3], H[2, 1], H[0, 2], H[1, 0]])


def test_angles_close_the_chain():
    found = limbs()
    phi = np.degrees([limb.angles for limb in found])
    assert np.allclose(np.degrees([limb.azimuth for limb in found]), [0, 120, 240])
    assert np.allclose(phi[:, 0], [-10.7637, -29.3019, -29.3019], rtol=0, atol=1e-4)
    assert np.allclose(phi[:, 0] + phi[:, 1], [-137.336, -154.533, -154.533], rtol=0, atol=1e-3)
    assert np.allclose(phi[:, 2], [0, -8.299, 8.299], rtol=0, atol=1e-3)
    for limb in found:
        assert np.allclose(platform(limb, np.zeros(12)), [0.1, 0, 0.5, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("limb", [*limbs(), SOMEWHERE])
def test_relation_is_the_linearised_chain(limb):
    step = 1e-4 * np.eye(12)
    J = [(platform(limb, row) - platform(limb, -row)) / 2e-4 for row in step]
    assert np.allclose(np.hstack(derived(limb)), np.transpose(J), rtol=0, atol=1e-8)


def test_printed_matrices_are_interchanged_and_have_one_wrong_entry_each():
    theirs, ours = printed(SOMEWHERE), derived(SOMEWHERE)
    wrong_52 = np.argwhere(np.abs(theirs.elbow - ours.wrist) > 1e-12) + 1
    wrong_53 = np.argwhere(np.abs(theirs.wrist - ours.elbow) > 1e-12) + 1
    assert wrong_52.tolist() == [[1, 4]]
    assert wrong_53.tolist() == [[3, 6]]
    assert np.isclose(theirs.elbow[0, 3], -ours.wrist[0, 3])
    assert np.isclose(theirs.wrist[2, 5] / ours.elbow[2, 5], 0.5 / 0.6)  # L_1 for L_2


@pytest.mark.parametrize("variant", ONE)
def test_frequencies_with_one_element_per_link(variant):
    assert np.allclose(frequencies(variant), ONE[variant], rtol=0, atol=1e-4)


@by_variant
def test_frequencies_with_eight_elements_per_link(variant):
    found = frequencies(variant, elements=8)
    assert np.allclose(found, EIGHT[variant], rtol=0, atol=1e-4)
    assert np.all(found < frequencies(variant))


@by_variant
def test_two_quintic_elements_are_better_than_eight_cubic_ones(variant):
    found = frequencies(variant, elements=2, family="cubic/quintic")
    assert np.all(found < np.array(EIGHT[variant]) + 5e-5)
    assert np.allclose(found, EIGHT[variant], rtol=1.2e-5)


@pytest.mark.parametrize(
    "family, elements, count",
    [("linear/cubic", n, dof) for n, dof in ((1, 30), (2, 66), (8, 282))]
    + [("cubic/quintic", n, dof) for n, dof in ((1, 78), (2, 138))],
)
def test_number_of_variables_is_that_of_tables_2_and_3(family, elements, count):
    M, K = assembled("as printed", elements=elements, family=family)
    assert M.shape == K.shape == (count, count)


@by_variant
def test_no_reading_gives_table_2(variant):
    """Closest is the first, within 21 %; the last meets modes 2 and 3 within 1 %."""
    off = np.abs(frequencies(variant, elements=8) / TABLE_2 - 1)
    assert off.max() > 0.2
    if variant == "made consistent":
        assert off[1:3].max() < 0.01


@by_variant
def test_frequencies_repeat_every_third_of_a_turn(variant):
    """As Fig. 4 shows, but not with the sign that is printed in entry (1, 4) of (52)."""
    c, s = np.cos(2 * np.pi / 3), np.sin(2 * np.pi / 3)
    change = frequencies(variant, position=(0.1 * c, 0.1 * s, 0.5)) / frequencies(variant) - 1
    if variant == "as printed":
        assert 0.01 < np.abs(change).max() < 0.02
    else:
        assert np.abs(change).max() < 1e-9


def test_an_unknown_reading_is_refused():
    with pytest.raises(UnknownName, match="No reading of the assembly is called 'as writen'"):
        frequencies("as writen")
