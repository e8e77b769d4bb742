import numpy as np
import pytest
from irb360 import robot
from limb_robots import described

from triskele.description.load import load
from triskele.dynamics.robot import rigid
from triskele.errors import InputError, UnknownName
from triskele.identification.forms import (
    FORMS,
    forms_of,
    phi_of,
    start_of,
    ten_and_slope,
    ten_of,
)
from triskele.spatial.inertia import pseudo_inertia


def bodies(n=20):
    """Random bodies of positive density: clouds of points."""
    random = np.random.default_rng(0)
    for _ in range(n):
        points = random.normal(size=(6, 3)) * random.uniform(0.05, 1.0, 3) + random.normal(size=3)
        mass = random.uniform(0.1, 1.0, 6)
        S = np.einsum("i,ij,ik->jk", mass, points, points)
        O = np.trace(S) * np.eye(3) - S
        yield np.array([mass.sum(), *(mass @ points), *np.diag(O), O[0, 1], O[1, 2], O[0, 2]])


def test_coordinates_and_bodies_are_one_to_one():
    for ten in bodies():
        assert np.allclose(ten_of(phi_of(ten)), ten, rtol=1e-12, atol=1e-12)


def test_all_coordinates_are_bodies_and_slopes_are_derivatives():
    random = np.random.default_rng(1)
    for phi in 0.3 * random.normal(size=(10, 10)):
        ten, slope = ten_and_slope(phi)
        assert np.linalg.eigvalsh(np.asarray(pseudo_inertia(tuple(ten))))[0] > 0
        steps = 1e-6 * np.eye(10)
        numeric = [(ten_of(phi + e) - ten_of(phi - e)) / 2e-6 for e in steps]
        assert np.allclose(slope, np.array(numeric).T, rtol=1e-6, atol=1e-7)


def test_published_coordinates_of_rod_and_telescope():
    theta = np.asarray(robot().theta)
    expected = {
        (3, "symmetric_x"): (-0.8602, -0.7163, -5.0401, 0.4246),
        (11, "symmetric_z"): (-0.0406, -1.6808, -5.7415, -0.2375),
        (12, "symmetric_z"): (-0.2926, -1.3332, -5.2611, 0.2621),
    }
    for (place, name), numbers in expected.items():
        form = FORMS[name]
        phi = start_of(form, theta[place])
        u = np.linalg.lstsq(form.matrix, phi, rcond=None)[0]
        assert np.allclose(u, numbers, atol=6e-5)
        assert np.allclose(form.matrix @ u, phi)
        assert np.allclose(ten_of(phi), theta[place], atol=1e-12)


def test_forms_keep_to_their_shape():
    random = np.random.default_rng(2)
    theta = np.asarray(robot().theta)
    for name, place in (("symmetric_x", 3), ("planar_y", 0), ("scaled", 9)):
        form, ten = FORMS[name], theta[place]
        phi = start_of(form, ten)
        u = random.normal(size=form.matrix.shape[1]) * 0.3
        moved = ten_of(phi + form.matrix @ u)
        if name == "symmetric_x":
            assert moved[5] == pytest.approx(moved[6])
            assert np.allclose(moved[[2, 3, 7, 8, 9]], 0, atol=1e-15)
        elif name == "planar_y":
            assert moved[2] == pytest.approx(0, abs=1e-12)
        else:
            assert np.allclose(moved / moved[0], ten / ten[0])


def usual(robot):
    model = rigid(robot)
    parts = sorted({part.part for part in model.mechanism.parts})
    return {part: form.name for part, form in forms_of(model, parts).items()}


def test_the_usual_form_of_a_body_is_that_of_its_role():
    assert usual(load("abb_irb360_6_1600")) == {
        "arm": "planar_y",
        "end_effector": "full",
        "platform": "scaled",
        "rod": "symmetric_x",
        "telescope_lower": "symmetric_z",
        "telescope_upper": "symmetric_z",
    }
    assert usual(load("d3s_800"))["connector"] == "scaled"
    assert usual(load("compliant_3prs")) == {
        "bar": "full",
        "coupling": "scaled",
        "platform": "full",
    }
    assert usual(described("two_axis_delta")) == {
        "arm": "planar_y",
        "bracket": "scaled",
        "link": "full",
        "platform": "scaled",
        "rod": "full",
    }
    assert usual(described("par4"))["half"] == "scaled"


def test_struts_are_symmetric_about_their_length_if_the_file_has_them_so():
    robot = described("6ups")
    assert usual(robot) == {"cylinder": "full", "piston": "full", "platform": "full"}
    slender = {"centre_of_mass": (0.2, 0.0, 0.0), "inertia": (1e-4, 0.02, 0.02)}
    bodies = robot.bodies | {"piston": robot.bodies["piston"].model_copy(update=slender)}
    assert usual(robot.model_copy(update={"bodies": bodies}))["piston"] == "symmetric_x"


def test_a_body_that_cannot_exist_and_a_form_that_does_not():
    with pytest.raises(InputError, match="the rod cannot exist: its mass is -1 kg"):
        phi_of(np.array([-1.0, 0, 0, 0, 1, 1, 1, 0, 0, 0]), "the rod")
    with pytest.raises(UnknownName, match=r"No form is called 'planer_y'.*planar_y"):
        forms_of(robot(), ["arm"], {"arm": "planer_y"})
    with pytest.raises(UnknownName, match=r"There is no part 'arms'.*arm"):
        forms_of(robot(), ["arm"], {"arms": "planar_y"})
