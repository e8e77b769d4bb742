# ruff: noqa: E501  (sentences are compared whole)
"""Mechanism files: what is read from them, and one sentence for each mistake."""

import math

import pytest

from triskele.description import catalogue
from triskele.description.load import load, load_any, load_mechanism, parse
from triskele.description.mechanism import Mechanism
from triskele.errors import DescriptionError, TableError

PENDULUM = """
kind = "mechanism"
name = "pendulum"
title = "Pendulum"

[bodies.bob]
mass = "2 kg"
centre_of_mass = { value = [0, 0, -50], unit = "cm" }
inertia = { value = [0.01, 0.01, 0.01], unit = "kg m^2" }
orientation = { value = [0, 30, 0], unit = "deg" }

[joints.hinge]
kind = "revolute"
parent = "ground"
child = "bob"
axis = [0, 1, 0]
torque = "0.5 N m"
"""


def written(tmp_path, text):
    path = tmp_path / "it.toml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(tmp_path, old, new):
    assert PENDULUM.count(old) >= 1
    with pytest.raises(DescriptionError) as error:
        load_mechanism(written(tmp_path, PENDULUM.replace(old, new)))
    assert str(error.value).startswith(f"{tmp_path / 'it.toml'}")
    return str(error.value)


def test_numbers_become_si(tmp_path):
    found = load_mechanism(written(tmp_path, PENDULUM))
    assert isinstance(found, Mechanism)
    assert found.bodies["bob"].centre == (0.0, 0.0, -0.5)
    assert math.isclose(found.bodies["bob"].orientation[1], math.pi / 6)
    assert found.joints["hinge"].torque == 0.5
    assert found.joints["hinge"].driven
    assert not found.joints["hinge"].prescribed
    assert found.gravity == (0.0, 0.0, -9.81)


def test_directions_and_places_are_no_assumptions(tmp_path):
    keys = {fact.key for fact in load_mechanism(written(tmp_path, PENDULUM)).assumptions()}
    assert "bodies.bob.mass" in keys
    assert not any(key.endswith(("axis", "orientation")) for key in keys)


def test_the_template_is_a_mechanism():
    with pytest.raises(DescriptionError, match="is a mechanism of bodies and joints"):
        parse(catalogue.template("mechanism"))


def test_a_robot_is_no_mechanism_and_a_mechanism_no_robot(tmp_path):
    path = written(tmp_path, PENDULUM)
    with pytest.raises(DescriptionError, match="is a mechanism of bodies and joints, and this"):
        load(path)
    with pytest.raises(DescriptionError, match="describes a robot of kind delta"):
        load_mechanism("d3s_800")
    assert load_any("d3s_800") is load("d3s_800")


@pytest.mark.parametrize(
    "old, new, sentence",
    [
        ('child = "bob"', 'child = "bobb"', "joints.hinge: hangs on 'bobb', and no body is called so. Did you mean 'bob'?"),
        ('parent = "ground"', 'parent = "bob"', "joints.hinge: joins 'bob' to itself."),
        ('mass = "2 kg"', 'mass = "0 kg"', "bodies.bob.mass: 0 kg is not a mass. It must be positive."),
        ('"revolute"', '"revolut"', "joints.hinge.kind: 'revolut' is not a kind of joint. Did you mean 'revolute'?"),
        ("axis = [0, 1, 0]", "", "joints.hinge: a revolute joint needs an axis, such as axis = [0, 0, 1]."),
        ("axis = [0, 1, 0]", "axis = [0, 0, 0]", "joints.hinge.axis: a direction needs a length; write, for example, [0, 0, 1]."),
        ("axis = [0, 1, 0]", 'axis = ["0 mm", "1 mm", "0 mm"]', "joints.hinge.axis"),
        ('"revolute"', '"spherical"', "joints.hinge: torque belongs to a revolute joint, this one is spherical."),
        ('"revolute"', '"distance"', "joints.hinge: length belongs to a distance, and a distance needs its length."),
        ('torque = "0.5 N m"', 'torque = "0.5 N"', "joints.hinge.torque"),
        ('torque = "0.5 N m"', 'torqe = "0.5 N m"', "joints.hinge.torqe: no such key. Did you mean 'torque'?"),
        ('torque = "0.5 N m"', 'friction = { coulomb = "2 N" }', "joints.hinge: friction.coulomb is in N, but this joint turns: N m was expected."),
        ("[bodies.bob]", "[bodies.ground]", "the ground is there already"),
        ("[bodies.bob]", "[bodys.bob]", "bodys: no such key. Did you mean 'bodies'?"),
    ],
)  # fmt: skip
def test_a_mistake_gets_a_sentence_that_names_it(tmp_path, old, new, sentence):
    assert sentence in complaint(tmp_path, old, new)


def test_some_motors_may_be_driven_and_others_not(tmp_path):
    other = (
        PENDULUM
        + """
[bodies.second]
mass = "1 kg"
[joints.other]
kind = "revolute"
parent = "bob"
child = "second"
axis = [0, 1, 0]
drive = { speed = "1 rad/s" }
"""
    )
    joints = load_mechanism(written(tmp_path, other)).joints
    assert [item.prescribed for item in joints.values()] == [False, True]
    assert all(item.driven for item in joints.values())


def test_the_table_of_a_drive_is_beside_the_file_and_has_t_and_a_column(tmp_path):
    text = PENDULUM.replace('torque = "0.5 N m"', 'drive = { table = "way.csv" }')
    path = written(tmp_path, text)
    (tmp_path / "way.csv").write_text("t [s],hinge [deg]\n0,0\n1,90\n", encoding="utf-8")
    rows = load_mechanism(path).drive_table("hinge")
    assert rows is not None
    assert rows.q[1] == math.pi / 2
    for header, sentence in (
        ("time [s],hinge [deg]", "has no column `t [s]`"),
        ("t [s],hing [deg]", "has no column 'hinge'. Did you mean 'hing'?"),
        ("t [s],hinge [mm]", r"is in [m], but [rad] was expected"),
    ):
        (tmp_path / "way.csv").write_text(f"{header}\n0,0\n1,90\n", encoding="utf-8")
        with pytest.raises(TableError) as error:
            load_mechanism(path).drive_table("hinge")
        assert sentence in str(error.value)
