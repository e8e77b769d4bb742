"""Commands of position and motion, for platforms with two to six coordinates of any kind."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from limb_robots import text

from triskele.cli.shapes import PATHS, Asked, route
from triskele.description.load import load
from triskele.description.tables import Table, read_table, write_table
from triskele.kinematics.build import build
from triskele.kinematics.mechanism import AbstractMechanism


class Platform(NamedTuple):
    """What a sample robot can do."""

    space: str  #: word and unit of its workspace
    circle: bool
    pick: str  #: what it lacks for a way up and across; empty if nothing


NO_HEIGHT = "does not move along z; a pick needs x or y, and z"
NO_WAY = "does not move along x or y; a pick needs x or y, and z"
PLATFORMS = {
    "five_bar": Platform("area m^2", True, NO_HEIGHT),
    "two_axis_delta": Platform("area m^2", True, ""),
    "planar_3rrr": Platform("area m^2", True, NO_HEIGHT),
    "3rrs": Platform("volume m rad^2", False, NO_WAY),
    "par4": Platform("volume m^3", True, ""),
    "6ups": Platform("volume m^3", True, ""),
}
by_platform = pytest.mark.parametrize("name", PLATFORMS)
quickly = pytest.mark.parametrize(  # what is traced for these takes seconds
    "name",
    [pytest.param(n, marks=[pytest.mark.long] * (n in ("3rrs", "6ups"))) for n in PLATFORMS],
)


BUILT: dict[str, AbstractMechanism] = {}


def built_once(robot):
    """The mechanism of a sample robot; to build it is what takes most of these commands' time."""
    return BUILT.setdefault(robot.name, BUILT.get(robot.name) or build(robot))


@pytest.fixture
def made(cli, tmp_path, monkeypatch):
    """Write a sample robot and run a command on it: what it printed as JSON, or its sentence."""
    for module in ("kinematics.build", "kinematics.cycles", "reports.datasheet"):
        monkeypatch.setattr(f"triskele.{module}.build", built_once)

    def run(name, *arguments):
        file = tmp_path / f"{name}.toml"
        file.write_text(text(name), encoding="utf-8")
        command, *more = arguments
        result = cli(command, file, *more)
        assert result.code in (0, 2), result.err
        if result.code:
            assert result.err.count("\n") == 1
            return result.err.removeprefix("triskele: ").removesuffix("\n")
        return json.loads(result.out) if "--json" in more else result.out

    return run


@quickly
def test_position_is_solved_there_and_back(made, name):
    assert name in made(name, "show")
    at_home = made(name, "check", "--json")
    pose = {key: value + 0.01 for key, value in at_home["home"].items()}
    found = made(name, "ik", *pose.values(), "--json")
    assert found["platform"] == pose
    assert found["outside_limits"] is None
    back = made(name, "fk", *found["joints"].values(), "--json")
    assert back["platform"] == pytest.approx(pose, abs=1e-9)
    assert {key: back["units"][key] for key in pose} == {
        key: "m" if key in "xyz" else "rad" for key in pose
    }
    assert len(list(pose)) == len(list(found["joints"]))


@pytest.mark.parametrize("name", ["planar_3rrr", pytest.param("6ups", marks=pytest.mark.long)])
def test_all_assemblies_are_listed_that_of_the_file_first(made, tmp_path, name):
    home = made(name, "check", "--json")["home"]
    joints = made(name, "ik", *home.values(), "--json")["joints"]
    found = made(name, "fk", *joints.values(), "--all-modes", "--json")
    modes = found["assembly_modes"]
    assert modes[0] == pytest.approx(found["platform"], abs=1e-9)
    assert len(modes) > 1
    mechanism = built_once(load(tmp_path / f"{name}.toml"))
    for mode in modes:
        gaps = mechanism.closure(tuple(joints.values()), tuple(mode.values()))
        assert np.abs(np.array(gaps, float)).max() < 1e-9
    printed = made(name, "fk", *joints.values(), "--all-modes")
    assert printed.count("assembly mode: ") == len(modes)


def test_joints_out_of_the_assembly_of_the_file_are_answered_by_the_others(made):
    """At home the motors of this 3-RRR close the loops twice; far from it, not at all."""
    said = made("planar_3rrr", "fk", "0", "0", "0")
    assert said.startswith("The loops of planar_3rrr cannot be closed with q1 = 0 rad, q2 = ")


def test_a_strut_has_one_working_mode_and_an_arm_two(made):
    home = made("6ups", "check", "--json")["home"]
    assert len(made("6ups", "ik", *home.values(), "--all-modes", "--json")["working_modes"]) == 1
    home = made("five_bar", "check", "--json")["home"]
    assert (
        len(made("five_bar", "ik", *home.values(), "--all-modes", "--json")["working_modes"]) == 4
    )


@by_platform
def test_a_workspace_is_over_lengths_or_what_is_named(made, tmp_path, name):
    measure, unit = PLATFORMS[name].space.split(" ", 1)
    found = made(name, "workspace", "--resolution", "9", "--json", "--out", "space.png")
    assert found["unit"] == unit
    assert found[measure] > 0
    assert (tmp_path / "space.png").stat().st_size > 10_000
    names = list(made(name, "check", "--json")["home"])
    assert {*found["bounds"], *found["held"]} == set(names)
    last, first = names[-1], names[0]
    options = ("--over", last, "--at", f"{first}={found['bounds'][first]['least'] * 0:g}")
    if last == first or name == "3rrs":
        return
    line = made(name, "workspace", "--resolution", "9", *options, "--json", "--out", "line.png")
    assert list(line["bounds"]) == [last]
    assert line["length"] > 0
    assert line["held"][first] == {"value": 0.0, "unit": "m"}


def test_an_orientation_workspace_is_held_where_it_is_asked_for(made):
    printed = made(
        *("6ups", "workspace", "--over", "c,a", "--at", "z=700mm,b=0deg", "--resolution", "9")
    )
    first, *_, held = printed.splitlines()
    assert first.startswith("area ")
    assert " rad^2 (+- " in first
    assert held == "with x = 0 m, y = 0 m, z = 0.7 m, b = 0 rad"
    for arguments, expected in (
        (("--over", "x,q"), "There is no coordinate 'q'. Known: a, b, c, x, y, z."),
        (("--at", "z"), "--at: 'z' is no name with a value, such as c=0.1."),
        (("--at", "psi=1deg"), "--at: there is no coordinate 'psi'. Known: a, b, c, x, y, z."),
        (("--at", "a=5mm"), "--at: a: 'mm' is not a unit of this quantity, which is measured in"),
        (("--over", "x,y,z,a"), "A workspace is sampled over one to 3 different coordinates of x,"),
    ):
        assert made("6ups", "workspace", *arguments).startswith(expected)


KINDS = ("line", "circle", "inverted-u", "fourier", "sine", "pick-and-place", "rating-cycle")


@quickly
def test_every_kind_of_motion_or_why_not(made, tmp_path, name):
    platform = PLATFORMS[name]
    home = made(name, "check", "--json")["home"]
    start = ",".join(f"{value:.9f}" for value in home.values())
    end = ",".join(f"{value + 0.01:.9f}" for value in home.values())
    move = ",".join("0.01" for _ in home)
    options = {
        "line": (f"--start={start}", f"--end={end}"),
        "inverted-u": (f"--start={start}", f"--move={move}"),
        "fourier": ("--amplitude", "0.003", "--harmonics", "2"),
    }
    able = [kind for kind in (*KINDS[:2], *KINDS[3:5]) if kind != "circle" or platform.circle]
    for kind in KINDS:
        told = made(name, "motion", kind, *options.get(kind, ()), "--rate", "20", "--json")
        if kind == "circle" and not platform.circle:
            lacks = f"moves in {', '.join(home)}, and a circle needs two lengths"
        else:
            lacks = platform.pick if kind in ("inverted-u", *KINDS[5:]) else ""
        if lacks:
            assert told == f"{name} {lacks}; it can follow a {', '.join(able)} or joint-sine."
            continue
        assert list(told["platform"]) == list(home), kind
        moved = [key for key, item in told["platform"].items() if item["peak_velocity"] > 1e-9]
        if kind == "circle":
            assert set(moved) == {"x", "z"} & set(home) if "y" not in home else {"x", "y"}
        if kind in ("pick-and-place", "rating-cycle"):
            assert set(moved) == {"z", "y" if "y" in home else "x"}
    amplitude = "1mm" if name == "6ups" else "1deg"
    told = made(name, "motion", "joint-sine", "--amplitude", amplitude, "--rate", "20", "--json")
    assert told["samples"] == 21
    made(name, "motion", "sine", "--rate", "20", "--joints", "--out", "sine.csv")
    table = read_table(tmp_path / "sine.csv")
    for key in home:
        unit = "m" if key in "xyz" else "rad"
        assert table[key].unit == unit
        assert table[f"{key}ddd"].unit == f"{unit}/s^3"
    again = made(name, "motion", "sine.csv", "--json")
    assert again["platform"] == made(name, "motion", "sine", "--rate", "20", "--json")["platform"]


def test_the_plane_of_a_circle_can_be_chosen(made):
    told = made("6ups", "motion", "circle", "--plane", "z,x", "--radius", "20mm", "--json")
    ranges = {key: item["greatest"] - item["least"] for key, item in told["platform"].items()}
    assert ranges == pytest.approx({"x": 0.04, "z": 0.04, "y": 0, "a": 0, "b": 0, "c": 0}, abs=1e-6)
    said = made("6ups", "motion", "circle", "--plane", "x,a")
    assert said == "plane is x, a; expected are two of x, y, z."
    said = made("planar_3rrr", "motion", "line", "--plane", "x,y")
    assert said.startswith("The motion line has no use for --plane; it takes --start, --end, ")


# Paths, which the planner runs along


@pytest.mark.parametrize("name", ["two_axis_delta", "par4", "6ups"])
def test_ways_up_across_and_down_are_in_the_vertical_plane(name, tmp_path, monkeypatch):
    (tmp_path / f"{name}.toml").write_text(text(name), encoding="utf-8")
    robot = load(tmp_path / f"{name}.toml")
    mechanism = built_once(robot)
    monkeypatch.setattr("triskele.kinematics.cycles.build", built_once)
    names = [c.name for c in mechanism.platform_coordinates]
    up, across = names.index("z"), names.index("y" if "y" in names else "x")
    home = np.array(mechanism.home(), float)
    turned = names.index("c") if "c" in names else None
    for kind in ("u-turn", "u-turn-legs", "pick-and-place", "rating-cycle"):
        assert kind in PATHS
        options = {} if kind == "rating-cycle" else {"length": "0.2", "height": "0.05"}
        options |= {} if turned is None else {"turn": "10deg"}
        path = route(Asked(robot, mechanism, options), kind)
        start, middle, end = (np.asarray(path(s)) for s in (0.0, 0.5, 1.0))
        wide, high = (0.305, 0.025) if kind == "rating-cycle" else (0.2, 0.05)
        change = np.zeros(len(names))
        change[across] = wide
        if turned is not None:
            change[turned] = np.radians(10)
        assert np.allclose(end - start, change, rtol=0, atol=1e-12), kind
        assert middle[up] == pytest.approx(home[up] + high, abs=0.2 * high)
        assert middle[across] == pytest.approx(home[across], abs=1e-12)
    # Way-points say what they move; angles of which they do not speak stay at home.
    monkeypatch.chdir(tmp_path)
    columns = {c.name: c for c in mechanism.platform_coordinates if c.unit == "m"}
    rows = {key: ("m", home[names.index(key)] + np.array([0, 0.01, 0.03])) for key in columns}
    write_table(Table(rows), "ways.csv")
    path = route(Asked(robot, mechanism, {}), "ways.csv")
    expected = home + np.where([c.unit == "m" for c in mechanism.platform_coordinates], 0.03, 0.0)
    assert np.allclose(path(1.0), expected, rtol=0, atol=1e-12)
