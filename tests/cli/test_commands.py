"""Every command as a user types it: what it prints, what it writes, what it warns of.

Units are SI unless said; the joint angles of the IRB 360 are those of an independent
transcription of the closed form.
"""

import io
import json
import os
import re
import shlex
from contextlib import contextmanager

import numpy as np
import pytest
from rich import console
from shipped import SHIPPED

from triskele.cli import app, output
from triskele.description import catalogue
from triskele.description.load import load
from triskele.description.tables import Table, read_table, write_table
from triskele.export.motions import read_motion
from triskele.kinematics.build import build

IRB = "abb_irb360_6_1600"
POSE = ("0.2", "-0.3", "-1.0", "0.5")
JOINTS = (4.082327, 42.024601, 7.096374)  # [deg], of IRB at POSE
COMMANDS = ("robots", "show", "init", "check", "schema", "ik", "fk", "workspace", "motion")
COMMANDS += ("torques", "simulate", "reproduce")
BRISK = {"workspace": ("--resolution", "15"), "motion": ("--rate", "100")}
BRISK |= {"torques": ("--rate", "100"), "simulate": ("--rate", "100")}
SHEET = {
    *("robot", "kind", "title", "home", "joints_at_home", "units", "assembly_residual_m"),
    *("singularity_margins", "mobility", "bodies", "problems", "remarks", "assumptions"),
}
FACT = {"key", "text", "source"}


def succeeds(result):
    """The result of a command that must have worked."""
    assert result.code == 0, result.err
    assert "Traceback" not in result.err
    return result


def parsed(result):
    """The JSON on stdout; whatever else was said is on stderr, in notes."""
    remarks = succeeds(result).err.splitlines()
    assert all(line.startswith(("assumed: ", "wrote ", "beyond the limits ")) for line in remarks)
    return json.loads(result.out)


def is_figure(path):
    marks = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}
    return path.read_bytes().startswith(marks[path.suffix]) and path.stat().st_size > 5000


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_in_the_help_of_each_command_works(cli, files, command):
    text = succeeds(cli(command, "--help")).out
    example = re.search(r"Example: triskele (.+(?:\n {4,}.+)*)", text)
    assert example is not None
    arguments = shlex.split(example[1])
    assert arguments[0] == command
    if command == "check":  # the file of the example of `init`
        succeeds(cli("init", "delta", "my.toml"))
    before = files()
    succeeds(cli(*arguments, *BRISK.get(command, ())))
    written = [path.name for path in files() if path not in before]
    assert written == [word for word in arguments if "." in word and word[-1].isalpha()][:1] * (
        command != "check"
    )


def test_help_lists_every_command_and_no_arguments_are_a_call_for_help(cli):
    text = succeeds(cli("--help")).out
    assert all(re.search(rf"(?m)^  {command} +\w", text) for command in COMMANDS)
    assert cli().out == text
    assert cli("-h").out == text
    assert succeeds(cli("--version")).out == "triskele 0.1.0\n"


# Robot files


def test_robots_lists_what_ships(cli):
    text = succeeds(cli("robots")).out
    listed = parsed(cli("robots", "--json"))
    assert [item["name"] for item in listed] == list(catalogue.names())
    assert all(set(item) == {"name", "kind", "title", "summary"} for item in listed)
    assert all(item["name"] in text and item["summary"] in text for item in listed)


@pytest.mark.parametrize("robot", catalogue.names())
def test_every_shipped_robot_passes_its_check(cli, robot):
    data = parsed(cli("check", robot, "--json"))
    assert set(data) == SHEET
    assert data["robot"] == robot
    assert data["problems"] == data["remarks"] == []
    assert data["assembly_residual_m"] < 1e-12
    assert min(data["singularity_margins"].values()) > 0.1
    assert data["mobility"]["freedom"] == len(data["joints_at_home"])


def test_show_prints_the_geometry_as_the_file_writes_it_and_the_state_at_home(cli):
    result = succeeds(cli("show", IRB))
    for words in (
        "ABB IRB 360-6/1600 (abb_irb360_6_1600)",
        "rod_length 1106 mm",
        "telescope.lower_length 800 mm",
        "degrees of freedom 4",
        "z -893.382 mm, psi 0 deg",
        "q1 0 deg, q2 0 deg, q3 0 deg, q4 0 deg",
        "inertia feasible",
    ):
        assert words in " ".join(result.out.split())
    assert "the file also has: bodies, friction, motors, materials, sections" in result.out
    assumed = [fact for fact in load(IRB).facts if fact.assumed]
    assert len(result.err.splitlines()) == len(assumed) > 20
    assert "assumed: limits.rod_tilt = 47 deg (46.3 deg are needed to reach" in result.err


def test_show_in_json_holds_the_data_sheet_and_every_number_with_its_source(cli):
    data = parsed(cli("show", "compliant_3prs", "--json"))
    assert set(data) == SHEET | {"facts", "sections"}
    assert all(set(fact) == FACT for fact in data["facts"])
    assert data["sections"] == ["bodies", "motors", "flexures", "control"]
    assert data["home"]["z"] == pytest.approx(0.109215 * np.sin(np.pi / 4), abs=1e-9)
    assert data["units"] == {
        **{"z": "m", "psi": "rad", "theta": "rad"},
        **{"s1": "m", "s2": "m", "s3": "m"},
    }


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "PNG"])
def test_show_draws_the_robot(cli, tmp_path, suffix):
    result = succeeds(cli("show", "flexible_delta", "--out", f"robot.{suffix}"))
    assert f"wrote robot.{suffix}\n" in result.err
    written = tmp_path / f"robot.{suffix}"
    assert is_figure(written.rename(written.with_suffix(f".{suffix.lower()}")))


def test_show_writes_the_data_that_it_prints(cli, tmp_path):
    printed = parsed(cli("show", IRB, "--json", "--out", "robot.JSON"))
    assert json.loads((tmp_path / "robot.JSON").read_text(encoding="utf-8")) == printed


@pytest.mark.parametrize(
    ("kind", "freedom"), [("delta", 3), ("3prs", 3), ("five_bar", 2), ("par4", 4), ("6ups", 6)]
)
def test_init_writes_a_file_that_passes_the_check(cli, tmp_path, kind, freedom):
    result = succeeds(cli("init", kind, "mine.toml"))
    assert result.out == ""
    assert result.err == "wrote mine.toml; edit it, then: triskele check mine.toml\n"
    assert (tmp_path / "mine.toml").read_text(encoding="utf-8") == catalogue.template(kind)
    checked = succeeds(cli("check", "mine.toml"))
    assert f"degrees of freedom {freedom}" in " ".join(checked.out.split())
    assert "suspicious" not in checked.out
    assert "more, see `triskele show mine.toml`" in checked.err


def test_help_of_init_lists_the_templates(cli):
    words = re.findall(r"\w+", succeeds(cli("init", "--help")).out)
    assert set(catalogue.templates()) <= set(words)


def test_init_overwrites_only_with_force(cli, tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text("precious")
    refused = cli("init", "delta", "mine.toml")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "triskele: mine.toml: exists already; choose another name, or add --force.\n"
    )
    assert mine.read_text() == "precious"
    succeeds(cli("init", "delta", "mine.toml", "--force"))
    assert mine.read_text(encoding="utf-8") == catalogue.template("delta")


def test_schema_is_printed_or_written(cli, tmp_path):
    printed = parsed(cli("schema"))
    assert printed["$schema"].startswith("https://json-schema.org/")
    result = succeeds(cli("schema", "--out", "robot.schema.json"))
    assert (result.out, result.err) == ("", "wrote robot.schema.json\n")
    assert json.loads((tmp_path / "robot.schema.json").read_text(encoding="utf-8")) == printed


def edited(text, *changes):
    """`text` with each `key = ...` line of `changes` in place of the first one with that key."""
    for change in changes:
        key = change.split("=")[0].strip()
        text, count = re.subn(rf"(?m)^{key}\s*=.*$", change.replace("\\", r"\\"), text, count=1)
        assert count == 1, key
    return text


def test_check_finds_a_length_in_the_wrong_unit_suspicious(cli, tmp_path):
    changes = ('arm_length = "370 m"', 'rod_length = "960 m"')
    (tmp_path / "huge.toml").write_text(edited(catalogue.template("delta"), *changes))
    result = succeeds(cli("check", "huge.toml"))
    assert (
        "suspicious: geometry.arm_length: 370 m is a strange length; usual is 0.001 to 5 m. "
        "Is the unit right?\n" in result.out
    )
    remarks = parsed(cli("check", "huge.toml", "--json"))["remarks"]
    assert [remark.split(":")[0] for remark in remarks[:2]] == [
        *("geometry.arm_length", "geometry.rod_length")
    ]


def test_check_refuses_bodies_that_cannot_exist_and_names_each(cli, tmp_path):
    text = catalogue.template("delta")
    text = text.replace("[0.001, 0.012, 0.012]", "[0.001, 0.002, 0.012]")
    text = text.replace("[4e-4, 4e-4, 6e-4]", "[4e-4, 4e-4, 9e-4]")
    (tmp_path / "odd.toml").write_text(text)
    result = cli("check", "odd.toml")
    assert result.code == 2
    assert "inertia NOT feasible" in " ".join(result.out.split())
    problems = [line for line in result.err.splitlines() if not line.startswith("assumed: ")]
    assert problems == [
        "triskele: odd.toml, bodies.arm: no body has this inertia, one principal moment exceeds "
        "the sum of the others: 0.001, 0.002, 0.012 kg m^2.",
        "triskele: odd.toml, payloads.box: no body has this inertia, one principal moment exceeds "
        "the sum of the others: 0.0004, 0.0004, 0.0009 kg m^2.",
    ]
    shown = cli("check", "odd.toml", "--json")
    assert shown.code == 2
    assert [text.split(":")[0] for text in json.loads(shown.out)["problems"]] == [
        *("bodies.arm", "payloads.box")
    ]


def test_check_prints_each_problem_of_a_file_on_its_own_line(cli, tmp_path):
    text = edited(
        catalogue.template("delta"),
        'base_radius = "200 kg"',
        'arm_length = "-300 mm"',
        "rod_length = 700",
        "gear_ratio = 0",
    )
    (tmp_path / "bad.toml").write_text(text)
    result = cli("check", "bad.toml")
    assert (result.code, result.out) == (2, "")
    assert sorted(result.err.splitlines()) == [
        "triskele: bad.toml, geometry.arm_length: -0.3 m is not a length. It must be positive; "
        "did you mean 0.3 m?",
        "triskele: bad.toml, geometry.base_radius: 'kg' is not a unit of this quantity, which is "
        "measured in m.",
        'triskele: bad.toml, geometry.rod_length: 700 has no unit; write, for example, "700 m".',
        "triskele: bad.toml, motors.drives.gear_ratio: 0 is not a ratio. It must be positive.",
    ]
    others = cli("show", "bad.toml")
    assert others.err == (
        "triskele: bad.toml, geometry.base_radius: 'kg' is not a unit of this quantity, which is "
        "measured in m. (3 more: run `triskele check`).\n"
    )


def test_a_robot_of_ones_own_works_in_every_command(cli, tmp_path):
    succeeds(cli("init", "delta", "mine.toml"))
    mine = tmp_path / "mine.toml"
    text = mine.read_text(encoding="utf-8")
    mine.write_text(edited(text, 'name = "long_arm"', 'arm_length = "370 mm"'), encoding="utf-8")

    assert "arm_length 370 mm" in " ".join(succeeds(cli("show", mine)).out.split())
    data = parsed(cli("ik", mine, "100mm", "0", "-0.7", "--json"))
    assert data["robot"] == "long_arm"
    expected = build(load(mine)).inverse([0.1, 0.0, -0.7]).checked()
    assert list(data["joints"].values()) == pytest.approx(expected.tolist(), abs=1e-12)
    assert parsed(cli("workspace", mine, "--resolution", "15", "--json"))["volume"] > 0.1
    moved = parsed(cli("motion", mine, "pick-and-place", "--rate", "100", "--json"))
    assert moved["outside_limits"] is None
    assert moved["platform"]["y"]["greatest"] == pytest.approx(0.175, abs=1e-9)


# Position


def test_ik_of_the_irb_360_at_a_known_pose(cli):
    rows = dict(line.split(maxsplit=1) for line in succeeds(cli("ik", IRB, *POSE)).out.splitlines())
    for name, angle in zip(("q1", "q2", "q3"), JOINTS, strict=True):
        assert rows[name].endswith(f" {angle:.6f} deg")
    assert rows["q4"].split() == ["0.5", "rad", "28.647890", "deg"]
    assert rows["telescope"].split()[2:] == ["1097.892982", "mm"]


def test_all_working_modes_are_printed_one_to_a_line(cli):
    lines = succeeds(cli("ik", "d3s_800", "0", "0", "-0.9", "--all-modes")).out.splitlines()
    modes = [line for line in lines if line.startswith("working mode (")]
    assert len(modes) == 8
    assert modes[0] == "working mode (1, 1, 1): q1 0.143012, q2 0.143012, q3 0.143012"


def test_numbers_may_carry_units_and_signs(cli):
    plain = parsed(cli("ik", IRB, "0.2", "-0.3", "-1", "-0.5235987755982988", "--json"))
    units = parsed(cli("ik", IRB, "200mm", "-30 cm", "-1e3 mm", "-30deg", "--json"))
    assert plain["platform"] == pytest.approx(units["platform"], abs=1e-15)
    assert plain["joints"] == pytest.approx(units["joints"], abs=1e-12)
    after = parsed(cli("ik", "--json", IRB, "--", "+.2", "-.3", "-1", "-30 deg"))
    assert after["joints"] == pytest.approx(units["joints"], abs=1e-12)


def test_the_turn_of_the_flange_may_be_left_out(cli):
    three = parsed(cli("ik", IRB, "0.2", "-0.3", "-1", "--json"))
    assert three == parsed(cli("ik", IRB, "0.2", "-0.3", "-1", "0", "--json"))
    assert parsed(cli("fk", IRB, "0.1", "0.2", "-0.1", "--json"))["platform"]["psi"] == 0


def test_ik_in_json_holds_all_that_is_known_about_the_pose(cli, tmp_path):
    data = parsed(cli("ik", IRB, *POSE, "--json", "--all-modes", "--out", "pose.json"))
    assert set(data) == {
        *("robot", "platform", "joints", "passive", "units", "singularity_margins"),
        *("outside_limits", "assumptions", "working_modes"),
    }
    assert data == json.loads((tmp_path / "pose.json").read_text(encoding="utf-8"))
    assert data["outside_limits"] is None
    assert set(data["units"]) == {*data["platform"], *data["joints"], *data["passive"]}
    assert {fact["key"].split(".")[0] for fact in data["assumptions"]} == {"geometry", "limits"}
    modes = {tuple(item["mode"]): item["joints"] for item in data["working_modes"]}
    assert len(modes) == 8
    assert modes[1, 1, 1] == data["joints"]
    assert modes[-1, 1, 1]["q2"] == data["joints"]["q2"]
    assert abs(modes[-1, 1, 1]["q1"] - data["joints"]["q1"]) > 1


def test_a_pose_beyond_the_limits_is_answered_with_a_note(cli):
    result = succeeds(cli("ik", "d3s_800", "0", "0.65", "-0.9"))
    # asin(0.65 / 0.96) = 42.62 deg; the file allows 40
    assert "beyond the limits of the robot file: the tilt of rod 1 would be 42.62 deg" in result.err
    assert result.out.startswith("q1 ")


@pytest.mark.parametrize("robot", SHIPPED)
def test_ik_and_fk_come_back_to_home(cli, robot):
    home = [str(float(value)) for value in build(load(robot)).home()]
    there = parsed(cli("ik", robot, *home, "--json"))
    back = parsed(cli("fk", robot, *map(str, there["joints"].values()), "--json"))
    assert set(back) == {"robot", "joints", "platform", "units", "margin", "assumptions"}
    assert back["platform"] == pytest.approx(there["platform"], abs=1e-9)
    assert back["joints"] == there["joints"]


def test_fk_of_the_irb_360_returns_with_both_ways_to_assemble_it(cli, tmp_path):
    result = succeeds(cli("fk", IRB, *(f"{angle}deg" for angle in JOINTS), "0.5", "--all-modes"))
    rows = [line.split() for line in result.out.splitlines()]
    shown = [float(row[3]) for row in rows[:3]]
    assert shown == pytest.approx([200, -300, -1000], abs=1e-4)  # mm, from angles to 1e-6 deg
    assert [row[:2] for row in rows[4:]] == [["assembly", "mode:"]] * 2
    succeeds(cli("fk", IRB, "0", "0", "0", "0", "--out", "fk.json", "--all-modes"))
    data = json.loads((tmp_path / "fk.json").read_text(encoding="utf-8"))
    assert [mode["z"] for mode in data["assembly_modes"]] == pytest.approx([-0.893382, 0.893382])


def test_what_rounds_to_zero_is_printed_as_zero(cli):
    result = succeeds(cli("fk", IRB, "0", "0", "0", "0", "--all-modes"))
    assert "e-1" not in result.out
    assert "-0.000000" not in result.out


def test_assumed_numbers_are_repeated_on_stderr(cli):
    result = succeeds(cli("ik", "d3s_800", "0", "0", "-0.9"))
    assert result.err.splitlines() == [
        "assumed: geometry.azimuth = [0, 120, 240] deg (chain 1 on +x)",
        "assumed: geometry.connector_offset = 50 mm (not published; 20 to 100 mm change no torque "
        "by more than 5e-5 N m)",
    ]
    assert succeeds(cli("ik", "flexible_delta", "0", "0", "-0.6")).err.startswith("assumed: ")
    assert succeeds(cli("ik", "omron_mini_delta_platens", "0", "0", "-0.4")).err == ""


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_of_poses_becomes_a_table_of_joints(cli, tmp_path, suffix):
    columns = {
        "x": ("mm", [200.0, 0.0, -150.0]),
        "y": ("m", [-0.3, 0.0, 0.1]),
        "z": ("cm", [-100.0, -95.0, -110.0]),
        "psi": ("deg", [np.degrees(0.5), 0.0, -45.0]),
        "load": ("kg", [1.0, 2.0, 3.0]),
    }
    write_table(Table(columns), tmp_path / "poses.csv")
    result = succeeds(cli("ik", IRB, "--poses", "poses.csv", "--out", f"joints{suffix}"))
    assert result.out == ""
    assert result.err.startswith(f"wrote joints{suffix}\nassumed: geometry.azimuth")
    joints = read_table(tmp_path / f"joints{suffix}")
    assert joints.names == ("x", "y", "z", "psi", "load", "q1", "q2", "q3", "q4")
    angles = [np.degrees(joints.column(f"q{i}", "rad")[0]) for i in (1, 2, 3)]
    assert angles == pytest.approx(JOINTS, abs=1e-6)
    assert joints.column("q4", "rad") == pytest.approx([0.5, 0, -np.pi / 4], abs=1e-15)


# Workspace


def test_the_workspace_of_a_delta(cli, tmp_path):
    result = succeeds(cli("workspace", "d3s_800", "--resolution", "15", "--out", "space.json"))
    data = json.loads((tmp_path / "space.json").read_text(encoding="utf-8"))
    assert set(data) == {
        *("robot", "volume", "uncertainty", "unit", "bounds", "resolution"),
        *("held", "guaranteed_cylinder_room", "guaranteed_cylinder_worst", "assumptions"),
    }
    assert data["unit"] == "m^3"
    assert data["volume"] == pytest.approx(0.70, abs=0.05)
    assert set(data["bounds"]) == {"x", "y", "z"}
    assert data["guaranteed_cylinder_room"] > 0
    assert f"volume {data['volume']:.4g} m^3" in result.out
    assert "guaranteed cylinder: reachable everywhere" in result.out
    assert re.search(r"(?m)^least room at x = .* m: [\d.]+( deg| m|) to the limit of ", result.out)
    assert "assumed: limits.rod_tilt = 40 deg" in result.err
    inside = parsed(cli("workspace", "d3s_800", "--resolution", "15", "--guaranteed", "--json"))
    cylinder = np.pi * 0.4**2 * 0.2
    assert inside["volume"] == pytest.approx(cylinder, rel=0.1)


def test_the_workspace_of_a_3prs_is_one_of_heights_and_tilts(cli, tmp_path):
    arguments = ("compliant_3prs", "--resolution", "15", "--json", "--out", "space.png")
    data = parsed(cli("workspace", *arguments))
    assert data["unit"] == "m rad^2"
    assert set(data["bounds"]) == {"z", "psi", "theta"}
    assert data["bounds"]["psi"]["greatest"] == pytest.approx(np.radians(1), rel=0.2)
    assert data["guaranteed_cylinder_room"] is None
    assert is_figure(tmp_path / "space.png")


def test_progress_rises_from_0_to_1(cli, monkeypatch):
    seen: list[float] = []

    @contextmanager
    def recorded(label):
        yield seen.append

    monkeypatch.setattr("triskele.cli.move.progress_bar", recorded)
    succeeds(cli("workspace", "d3s_800", "--resolution", "15"))
    assert len(seen) > 15
    assert seen == sorted(seen)
    assert 0 <= seen[0] < 0.2
    assert seen[-1] == 1


def test_a_bar_is_drawn_on_a_terminal_when_the_work_takes_a_while(monkeypatch):
    screen, plain, make = io.StringIO(), io.StringIO(), console.Console
    monkeypatch.setattr(output, "PATIENCE", -1.0)
    for stream, terminal in ((screen, True), (plain, False)):

        def fake(file, stream=stream, terminal=terminal):
            return make(file=stream, force_terminal=terminal, width=60)

        monkeypatch.setattr(console, "Console", fake)
        with output.progress_bar("sampling") as report:
            report(0.5)
    assert "sampling" in screen.getvalue()
    assert plain.getvalue() == ""


# Motion

MOTIONS = {
    "line": ("--start=-0.1,0,-0.9", "--end", "0.1,100mm,-1,90deg", "--law", "polynomial5"),
    "circle": ("--centre", "0,0,-1", "--radius", "100mm"),
    "inverted-u": ("--start", "-0.1,0,-1", "--move", "0.2,0,0.05", "--duration", "1000 ms"),
    "fourier": ("--harmonics", "3", "--seed", "4", "--amplitude", "0.02"),
    "pick-and-place": ("--length", "0.5", "--height", "80mm", "--radius", "40 mm"),
    "rating-cycle": (),
}
RANGES = {  # of y, of z [m], by the numbers above
    "line": ((0, 0.1), (-1, -0.9)),
    "circle": ((-0.1, 0.1), (-1, -1)),
    "inverted-u": ((0, 0), (-1, -0.95)),
    "pick-and-place": ((-0.25, 0.25), (-1.025, -0.945)),
    "rating-cycle": ((-0.1525, 0.1525), (-1.025, -1.0)),
}


@pytest.mark.parametrize("kind", MOTIONS)
def test_every_kind_of_motion(cli, kind):
    arguments = ("motion", IRB, kind, *MOTIONS[kind], "--rate", "100")
    data = parsed(cli(*arguments, "--json"))
    assert set(data) == {
        *("robot", "samples", "duration", "platform", "joints", "assumptions", "outside_limits")
    }
    assert data["samples"] == 101
    assert data["duration"] == pytest.approx(1, abs=1e-12)
    assert data["outside_limits"] is None
    assert list(data["platform"]) == ["x", "y", "z", "psi"]
    assert list(data["joints"]) == ["q1", "q2", "q3", "q4"]
    for item in (*data["platform"].values(), *data["joints"].values()):
        assert set(item) == {
            *("unit", "least", "greatest", "peak_velocity", "peak_acceleration", "peak_jerk")
        }
    for name, (low, high) in zip("yz", RANGES.get(kind, ()), strict=False):
        reached = (data["platform"][name]["least"], data["platform"][name]["greatest"])
        assert reached == pytest.approx((low, high), abs=2e-4)


def test_a_motion_is_written_whole_and_can_be_read_again(cli, tmp_path):
    arguments = ("motion", IRB, "rating-cycle", "--rate", "100")
    for suffix, more in (("csv", ()), ("parquet", ("--figure", "motion.png"))):
        data = parsed(cli(*arguments, f"--out=motion.{suffix}", "--joints", *more, "--json"))
        motion = read_motion(tmp_path / f"motion.{suffix}")
        assert motion.x.shape == (101, 4)
        table = read_table(tmp_path / f"motion.{suffix}")
        assert np.abs(table.column("q1d", "rad/s")).max() == data["joints"]["q1"]["peak_velocity"]
    assert parsed(cli("motion", IRB, "motion.parquet", "--json")) == data
    assert is_figure(tmp_path / "motion.png")
    text = succeeds(cli("motion", IRB, "motion.csv")).out
    assert text.startswith("101 samples in 1 s; greatest magnitudes:\n")
    assert "velocity /s" in text.splitlines()[1]


def test_the_same_seed_makes_the_same_series(cli):
    arguments = ("motion", IRB, "fourier", "--rate", "100", "--json")
    first, again, other = (parsed(cli(*arguments, "--seed", seed)) for seed in (1, 1, 2))
    assert first == again
    assert first["platform"] != other["platform"]


def test_a_3prs_follows_a_line_of_its_own_coordinates(cli, tmp_path):
    data = parsed(
        cli(
            *("motion", "compliant_3prs", "line", "--start", "76mm,0,0"),
            *("--end", "78 mm,0.5deg,-0.25 deg", "--rate", "100", "--json", "--out", "tilt.pdf"),
        )
    )
    assert list(data["platform"]) == ["z", "psi", "theta"]
    assert data["platform"]["psi"]["greatest"] == pytest.approx(np.radians(0.5), abs=1e-12)
    assert data["joints"]["s1"]["unit"] == "m"
    assert is_figure(tmp_path / "tilt.pdf")


def test_a_motion_beyond_the_limits_is_made_with_a_note(cli):
    arguments = ("--start=0,0,-0.9", "--end", "0,0.85,-0.9", "--rate", "100", "--json")
    result = cli("motion", IRB, "line", *arguments)
    data = parsed(result)
    assert re.match(
        r"The motion leaves the reach of the robot between t = 0\.\d+ and 1 s; worst at 1 s: "
        r"the tilt of rod 1 would be 50\.\d+ deg, allowed is at most 47 deg\.",
        data["outside_limits"],
    )
    assert f"beyond the limits of the robot file: {data['outside_limits']}\n" in result.err


# What is not the user's fault


def test_ctrl_c_stops_with_130_and_leaves_nothing_behind(cli, files, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("triskele.kinematics.workspace.workspace", interrupted)
    result = cli("workspace", "d3s_800", "--out", "space.png")
    assert (result.code, result.out) == (130, "")
    assert result.err == "triskele: stopped; no file was left half written.\n"
    assert files() == {}


def test_a_full_disk_is_reported_in_a_sentence(cli, files, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "mine.toml")

    monkeypatch.setattr("triskele.description.files.write_whole", full)
    result = cli("init", "delta", "mine.toml")
    assert result.code == 2
    assert result.err == "triskele: mine.toml: No space left on device.\n"
    assert files() == {}


def test_compiled_code_is_kept_in_the_cache_of_the_user(monkeypatch, tmp_path):
    settings = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "triskele" / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.02",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    for name in settings:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    app.keep_compiled()
    assert {name: os.environ[name] for name in settings} == settings
    assert (tmp_path / "triskele" / "jax").is_dir()

    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "elsewhere")
    app.keep_compiled()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "elsewhere"

    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    app.keep_compiled()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ
