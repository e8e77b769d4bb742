"""The data sheet: what a robot is at home, and what is wrong or strange about its numbers."""

import json
import math
import re

import pytest

from triskele.description import catalogue
from triskele.description.load import load, parse
from triskele.errors import DescriptionError
from triskele.reports.datasheet import datasheet

DELTA = catalogue.template("delta")
MOBILITY = {  # moving bodies, freedom: counted on the drawing
    "abb_irb360_6_1600": (3 + 6 + 1 + 3, 4),
    "d3s_800": (3 + 6 + 6 + 1, 3),
    "flexible_delta": (3 + 3 + 1, 3),
    "compliant_3prs": (3 + 3 + 1, 3),
}


def edited(*changes):
    """The robot of the template, each `key = ...` line of `changes` in place of its own."""
    text = DELTA
    for change in changes:
        key = change.split("=")[0].strip()
        text, count = re.subn(rf"(?m)^{key}\s*=.*$", change, text, count=1)
        assert count == 1
    return parse(text)


@pytest.mark.parametrize("name", MOBILITY)
def test_a_shipped_robot_closes_at_home_and_has_the_freedom_of_its_drives(name):
    sheet = datasheet(load(name))
    bodies, freedom = MOBILITY[name]
    assert len(sheet.mechanism.bodies) == bodies
    assert sheet.mobility.bodies == bodies
    assert sheet.mobility.freedom == freedom == len(sheet.joints_at_home)
    assert sheet.residual < 1e-12  # m
    assert sheet.type1 > 0.1
    assert sheet.type2 > 0.1
    assert sheet.problems == sheet.remarks == ()
    assert all(fact.assumed for fact in sheet.assumptions)


def test_home_of_a_delta_has_level_arms_by_hand():
    # R + L - r = 450 mm, rod 700 mm: z = -sqrt(0.7^2 - 0.45^2) m
    sheet = datasheet(parse(DELTA))
    assert sheet.home == pytest.approx({"x": 0, "y": 0, "z": -math.sqrt(0.2875)}, abs=1e-12)
    assert sheet.joints_at_home == pytest.approx({"q1": 0, "q2": 0, "q3": 0}, abs=1e-12)
    # The rod is at acos(0.45 / 0.7) below the arm: the margin of type 1 is the sine of it.
    assert sheet.type1 == pytest.approx(math.sqrt(0.2875) / 0.7, abs=1e-12)


def test_the_sheet_is_plain_data():
    sheet = datasheet(load("abb_irb360_6_1600"))
    data = json.loads(json.dumps(sheet.as_json(), allow_nan=False))
    assert data["home"] == sheet.home
    assert data["units"]["psi"] == "rad"
    assert data["bodies"][0] == "arm_1"
    assert data["mobility"]["freedom"] == 4
    assert data["assumptions"][0]["key"] == "gravity"


def test_a_robot_without_bodies_has_no_problem_with_them():
    sheet = datasheet(load("abb_irb360_1130"))
    assert sheet.robot.bodies is None
    assert sheet.problems == ()


def test_bodies_that_cannot_exist_are_problems():
    text = DELTA.replace("[1e-5, 0.0049, 0.0049]", "[1e-5, 0.0049, 0.0149]")
    text = text.replace("[4e-4, 4e-4, 6e-4]", "[4e-4, 4e-4, 9e-4]")
    rod, payload = datasheet(parse(text)).problems
    assert rod == (
        "bodies.rod: no body has this inertia, one principal moment exceeds the sum of the "
        "others: 1e-05, 0.0049, 0.0149 kg m^2."
    )
    assert payload.startswith("payloads.box: no body has this inertia, ")


def test_numbers_in_the_wrong_unit_are_remarked():
    remarks = datasheet(edited('arm_length = "300 m"', 'rod_length = "700 m"')).remarks
    assert remarks[0] == (
        "geometry.arm_length: 300 m is a strange length; usual is 0.001 to 5 m. Is the unit right?"
    )
    assert remarks[1].startswith("geometry.rod_length: 700 m is a strange length")


def test_a_home_outside_the_limits_is_remarked():
    robot = edited('joint_angle = { value = [10, 95], unit = "deg" }')
    (remark,) = datasheet(robot).remarks
    assert re.fullmatch(
        r"limits: home is outside: q\d would be .* deg, allowed is 10 to 95 deg\.", remark
    )


def test_a_robot_that_cannot_be_assembled_is_refused():
    with pytest.raises(DescriptionError, match="my_delta, geometry: the robot cannot be assembled"):
        datasheet(edited('base_radius = "2 m"'))
