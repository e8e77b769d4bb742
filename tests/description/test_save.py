"""Writing robot files: what was read comes back, bit by bit, with its sources."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triskele.description import catalogue
from triskele.description.load import load, parse
from triskele.description.save import save, to_toml
from triskele.description.schema import DeltaRobot, Material
from triskele.errors import InputError

ROBOTS = [
    *map(load, catalogue.names()),
    *(parse(catalogue.template(kind)) for kind in catalogue.templates() if kind != "mechanism"),
]


def delta(**fields: Any) -> DeltaRobot:
    """A Delta made in Python, with these lengths or sections instead of the usual ones."""
    lengths = {"base_radius": 0.2, "platform_radius": 0.05, "arm_length": 0.3, "rod_length": 0.7}
    geometry = {key: fields.pop(key, value) for key, value in lengths.items()}
    usual = {"kind": "delta", "name": "x", "title": "X", "geometry": geometry}
    return DeltaRobot.model_validate(usual | fields)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
def test_a_robot_survives_being_written_with_all_its_sources(robot):
    again = parse(to_toml(robot))
    assert again == robot
    sources = {fact.key: fact.source for fact in robot.facts}  # facts come in the file's order
    assert {fact.key: fact.source for fact in again.facts} == sources
    assert again.model_fields_set == robot.model_fields_set
    assert to_toml(again) == to_toml(robot)


@settings(deadline=None)
@given(st.lists(st.floats(1e-5, 10), min_size=3, max_size=3), st.text(), st.text(min_size=1))
def test_any_number_and_any_text_survive_being_written(lengths, text, name):
    soft = Material(young_modulus=1e9, density=lengths[0], poisson_ratio=0.3)
    robot = delta(title=text, source=text, materials={name: soft}, arm_length=lengths)
    assert parse(to_toml(robot)) == robot


def test_numbers_are_written_in_si_with_unit_and_source():
    lines = to_toml(load("abb_irb360_6_1600")).splitlines()
    assert lines[:3] == [
        'kind = "delta"',
        'name = "abb_irb360_6_1600"',
        'title = "ABB IRB 360-6/1600"',
    ]
    assert (
        'rod_spacing = { value = 0.1, unit = "m", source = "ABB STEP model of this variant" }'
        in lines
    )
    assert 'margin = { value = 0.1, source = "Gnad et al., section 6.6" }' in lines
    assert lines.index("[geometry]") < lines.index("[bodies]") < lines.index("[friction.drives]")


def test_uneven_limbs_are_written_one_by_one_and_even_ones_once():
    uneven = delta(rod_length=(0.7, 0.71, 0.69))
    text = to_toml(uneven)
    assert 'rod_length = { value = [0.7, 0.71, 0.69], unit = "m" }' in text
    assert 'arm_length = { value = 0.3, unit = "m" }' in text


def test_an_empty_table_stays_an_empty_table():
    robot = delta(friction={})
    assert parse(to_toml(robot)).friction == robot.friction
    assert robot.friction is not None


LIMBS = """
kind = "limbs"
name = "mixed"
title = "Arms and slides"
[geometry.platform]
coordinates = ["x", "y", "c"]
[[geometry.limbs]]
source = "drawing"
around = "[90, 210] deg"
drive = "arm"
base = "[300, 0, 0] mm"
axis = "up"
zero = [0, 3, 4]
arm_length = "180 mm"
rod_length = "200 mm"
branch = [1, -1]
[[geometry.limbs]]
drive = "slide"
rail = "tangential"
rod_length = { value = 0.2, unit = "m", source = "ruler" }
[motors.drives]
gear_ratio = 20
[motors.q3]
transmission = "300 rad/m"
reflected_inertia = { value = 2, unit = "kg", source = "data sheet" }
[friction.q3]
coulomb = "3 N"
[limits]
joint_angle = ["[-30, 80] deg", "[-20, 70] deg"]
joint_speed = ["3 rad/s", "3 rad/s", "1 m/s"]
torque_rate = "5 N/s"
"""


def test_limbs_and_drives_of_their_own_are_read_again():
    robot = parse(LIMBS)
    text = to_toml(robot)
    again = parse(text)
    assert again == robot
    speeds, rates = again.limits.joint_speed, again.limits.torque_rate
    assert [value.unit for value in speeds or ()] == ["rad/s", "rad/s", "m/s"]
    assert [value.unit for value in rates or ()] == ["N/s"]
    assert again.motors.q3.reflected_inertia.unit == "kg"
    assert again.friction.q3.coulomb[0].unit == "N"
    sources = {fact.key: fact.source for fact in robot.facts}
    assert sources["geometry.limbs.1.base"] == "drawing"
    assert sources["motors.q3.reflected_inertia"] == "data sheet"
    assert {fact.key: fact.source for fact in again.facts} == sources
    assert text.count("[[geometry.limbs]]") == 2
    assert 'joint_speed = { value = ["3.0 rad/s", "3.0 rad/s", "1.0 m/s"] }' in text


def test_a_saved_file_is_loaded_again(tmp_path):
    robot = load("compliant_3prs")
    path = save(robot, tmp_path / "mine.toml")
    assert load(path) == robot
    assert path.read_text(encoding="utf-8") == to_toml(robot)


def test_a_file_is_not_saved_into_nowhere(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        save(load("d3s_800"), tmp_path / "nowhere" / "mine.toml")
