"""The data sheet as a page: sections for all robots, and a sentence where a file has no numbers."""

import re
from html import unescape

import pytest

from triskele.description import catalogue
from triskele.description.load import load, parse
from triskele.reports.datasheet import datasheet
from triskele.reports.datasheet_page import datasheet_page

SECTIONS = (
    "Geometry",
    "At home",
    "Workspace",
    "Torques and loads",
    "Payloads",
    "Stiffness",
    "Natural frequencies",
    "Assumptions",
)


def made(robot):
    """The page of a robot, looked at as a browser would: it is one file, and whole."""
    seen = []
    text = datasheet_page(datasheet(robot), "1.2.3", seen.append)
    assert "triskele 1.2.3" in text
    assert "http" not in re.sub(r"base64,[^']*", "", text)
    assert re.findall(r"<h2>(.*?)</h2>", text) == list(SECTIONS)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    return text


def section(text, title):
    """What stands under a heading, without figures."""
    part = text.split(f"<h2>{title}</h2>")[1].split("<h2>")[0]
    return unescape(re.sub(r"<img [^>]*>", "<img>", part))


def test_a_robot_of_geometry_alone_says_what_its_file_has_not():
    text = made(load("abb_irb360_1130"))
    assert "Volume 0." in section(text, "Workspace")
    assert "<img>" in section(text, "Workspace")
    assert "has no 'bodies', which torques needs" in section(text, "Torques and loads")
    assert "The file names no payloads." in section(text, "Payloads")
    for title in ("Stiffness", "Natural frequencies"):
        assert "has no 'bodies', which dynamics needs" in section(text, title)
    assert "limits.rod_tilt" in section(text, "Assumptions")


@pytest.mark.long
def test_a_3prs_has_springs_and_no_rods():
    text = made(load("compliant_3prs"))
    cycle = section(text, "Torques and loads")
    assert "Its joints are springs, of which no loads are given." in cycle
    assert "does not move along x or y" in cycle
    assert "per m z" in section(text, "Stiffness")
    assert "motors locked" in section(text, "Stiffness")
    assert re.search(r"motors locked</td><td class='number'>[\d.]+</td><td>z</td>", text)


@pytest.mark.long
def test_a_delta_whose_links_bend_has_stiffness_and_modes():
    text = made(load("flexible_delta"))
    assert "per rad about z" in section(text, "Stiffness")
    assert "It sags under its weight by (0.000, " in section(text, "Stiffness")
    assert section(text, "Natural frequencies").count("<tr>") == 1 + 8
    assert "<td class='short'>rod 1</td>" in section(text, "Torques and loads")


@pytest.mark.long
def test_a_robot_with_limits_and_payloads_is_rated():
    text = made(load("abb_irb360_6_1600"))
    cycle = section(text, "Torques and loads")
    rated = re.search(r"without payload: [\d.]+ s, ([\d.]+) cycles per minute", cycle)
    assert rated is not None
    payloads = section(text, "Payloads")
    slower = re.search(r">heavy plate</td><td class='number'>5</td>.*?<td[^>]*>([\d.]+)<", payloads)
    assert slower is not None
    assert "jerk of q1" in cycle


def test_a_robot_that_moves_in_a_plane_has_an_area_and_says_what_it_is_not():
    text = made(load("five_bar"))
    assert re.search(r"Area 0\.\d+ m²", section(text, "Workspace"))
    cycle = section(text, "Torques and loads")
    assert "Sine of x by" in cycle and "does not move along z" in cycle
    assert cycle.count("<td class='short'>rod ") == 2
    assert "per m x" in section(text, "Stiffness") and "per rad" not in section(text, "Stiffness")


@pytest.mark.long
def test_struts_are_called_so():
    cycle = section(made(load("rps_3")), "Torques and loads")
    assert "Strut loads" in cycle and "Rod loads" not in cycle
    assert "does not move along x or y" in cycle


@pytest.mark.long
def test_a_platform_that_turns_has_the_workspace_of_one_attitude():
    text = made(load("hexaglide_6pus"))
    assert "at a = 0 deg, b = 0 deg, c = 0 deg." in section(text, "Workspace")
    assert "<td class='short'>motor 6</td>" in section(text, "Torques and loads")


OTHERS = (  # whose cycles are not planned for minutes
    *("d3s_800", "omron_mini_delta", "omron_mini_delta_platens", "kossel_mini", "orthoglide"),
    *("planar_3rrr", "prs_rigid", "rrs_3"),
)


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_every_other_robot_has_a_page(name):
    made(load(name))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["delta", "3prs"])
def test_a_file_from_a_template_has_a_page(kind):
    text = made(parse(catalogue.template(kind)))
    assert "<table>" in section(text, "Torques and loads")
