"""Mechanism files become systems that are assembled, or a sentence says why not."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from triskele.description import catalogue
from triskele.description.load import load_mechanism
from triskele.errors import DescriptionError
from triskele.multibody.from_file import from_file
from triskele.multibody.integrate import simulate
from triskele.multibody.joints import Body, Joint, system
from triskele.multibody.redundancy import mobility
from triskele.multibody.solve import violation
from triskele.multibody.system import origins


@pytest.fixture
def mechanism(tmp_path):
    """A function that reads the five-bar of the template, with some text replaced."""

    def read(*changes):
        text = catalogue.template("mechanism")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "five_bar.toml"
        path.write_text(text, encoding="utf-8")
        return load_mechanism(path)

    return read


def tip(crank, side):
    """Angle of a crank of 120 mm, 50 mm to one side: where its elbow is [m]."""
    return np.array([side * 0.05 + 0.12 * np.cos(crank), 0.12 * np.sin(crank)])


def test_the_five_bar_is_assembled_where_two_circles_meet(mechanism):
    model = from_file(mechanism())
    assert violation(model.system.with_free_motors(), model.start)[0] < 1e-12
    counted = mobility(model.system.with_free_motors(), model.start)
    assert (counted.freedom, counted.redundant) == (2, 0)
    left, right = np.radians(120), np.radians(60 + 15)  # the drives at t = 0
    places = np.asarray(origins(model.system, model.start))
    assert np.allclose(places[2, :2], tip(left, -1), atol=1e-12)
    assert np.allclose(places[3, :2], tip(right, 1), atol=1e-12)


def test_a_third_hinge_is_redundant_and_said_to_be_so(mechanism):
    model = from_file(mechanism(('kind        = "inline"', 'kind        = "revolute"')))
    counted = mobility(model.system.with_free_motors(), model.start)
    assert (counted.freedom, counted.redundant) == (2, 3)
    assert set(counted.stressed) == {
        "left_motor",
        "right_motor",
        "left_elbow",
        "right_elbow",
        "tip",
    }
    assert "3 redundant conditions. These conditions follow from the others: tip: " in str(counted)
    assert "force along z, moment about" in str(counted)


def test_its_motors_follow_the_drives_and_do_the_work(mechanism):
    model = from_file(mechanism())
    run = simulate(model.system, model.start, 0.5, signal=model.actuation.signal, rate=50.0)
    assert np.allclose(run.q[:, 0], np.radians(120 + 15 * np.sin(2 * np.pi * run.t)), atol=1e-12)
    assert run.imbalance < 1e-8
    assert run.gap.max() < 1e-14


def test_a_spring_a_damper_and_a_load_keep_the_balance_of_energy(mechanism):
    text = """
[joints.left_motor.spring]
stiffness = "2 N m/rad"
rest = "100 deg"
damping = "0.02 N m s/rad"
[springs.balance]
parent = "ground"
child = "right_coupler"
child_point = { value = [180, 0, 0], unit = "mm" }
stiffness = "30 N/m"
length = "100 mm"
damping = "0.5 N s/m"
[loads.tool]
body = "left_coupler"
point = { value = [180, 0, 0], unit = "mm" }
force = { value = [1, -2, 0], unit = "N" }
"""
    drives = [("[joints.left_motor.drive]", "#"), ("[joints.right_motor.drive]", "#")]
    cut = [
        (f"{key} = ", f"#{key} = ") for key in ("start    ", "amplitude", "frequency", "phase    ")
    ]
    other = ('source    = "assumed: template value, replace it"', "")
    made = mechanism(*drives, *cut, other, ("# A spring from point", text + "\n# A spring"))
    model = from_file(made)
    assert not model.system.prescribed
    run = simulate(model.system, model.start, 0.5, rate=50.0)
    assert run.lost[-1] > 1e-3
    assert np.abs(run.energy - run.energy[0]).max() > 1e-2
    assert run.imbalance < 1e-7


def test_a_loop_that_cannot_close_names_the_joint_and_the_gap(mechanism):
    short = mechanism(("value = [180, 0, 0]", "value = [20, 0, 0]"))
    with pytest.raises(DescriptionError, match=r"cannot be assembled; at best a gap of 0\.\d+ m"):
        from_file(short)


def test_a_body_that_moves_without_inertia_is_named(mechanism):
    bare = """
[bodies.speck]
mass = "10 g"
[joints.pin]
kind = "spherical"
parent = "left_coupler"
child = "speck"
"""
    made = mechanism(("# A spring from point", bare + "\n# A spring"))
    with pytest.raises(DescriptionError, match=r"bodies\.speck: can move without moving any mass"):
        from_file(made)


def test_an_impossible_body_is_refused(mechanism):
    made = mechanism(("value = [1e-5, 4e-4, 4e-4]", "value = [1e-5, 4e-4, 9e-4]"))
    with pytest.raises(DescriptionError, match=r"bodies\.left_crank: no such body exists"):
        from_file(made)


def test_a_rough_guess_is_enough(mechanism):
    exact = from_file(mechanism())
    rough = from_file(mechanism(("value = [-110, 104, 0]", "value = [-80, 140, 20]")))
    assert jnp.allclose(exact.start.r, rough.start.r, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"kind": "revolut"}, "'revolut' is not a kind of joint. Did you mean 'revolute'?"),
        ({"kind": "distance"}, "a distance needs its length."),
        ({"kind": "universal", "motor": True}, "motor belongs to a revolute or prismatic or"),
        ({"kind": "universal", "rotor": 0.1}, "rotor belongs to a revolute or prismatic joint."),
        ({"bending": (1.0, 1.0, 1.0)}, "bending belongs to a spherical joint."),
        ({"child": "bobb"}, "hangs on 'bobb', no such body. Did you mean 'bob'?"),
    ],
)
def test_parts_made_in_python_are_checked_as_well(change, sentence):
    bob = Body("bob", (1.0, *([0.0] * 3), 1.0, 1.0, 1.0, *([0.0] * 3)), np.eye(3, 4))
    joint = Joint("hinge", "revolute", "ground", "bob")._replace(**change)
    with pytest.raises(DescriptionError, match=re.escape(f"pendulum, joints.hinge: {sentence}")):
        system("pendulum", [bob], [joint])
