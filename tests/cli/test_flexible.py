"""The commands `modes` and `vibrate` as a user types them, and what they refuse.

Links are of one element and motions are short: it is the command line that is tested.
"""

import contextlib
import io
import json
import os
import re
import shlex

import numpy as np
import pytest

from triskele.cli import main
from triskele.description import catalogue
from triskele.description.load import load
from triskele.description.tables import read_table
from triskele.kinematics.cycles import pick_and_place
from triskele.sensing.trial import simulated

KUO = "flexible_delta"
SHORT = ("--motion", "line", "--start", "0,0,-0.5", "--end", "0.03,0,-0.5", "--duration", "0.25")
AROUND = ("circle", "--centre", "0,0,-0.5", "--radius", "0.1")
LOWEST = [3.27165, 3.59126, 3.97643]  # [Hz] at (0.1, 0, -0.5); Kuo's robot, one element


def succeeds(result):
    assert result.code == 0, result.err
    return result


def loads(text):
    """JSON, strictly: no NaN, no Infinity."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def png(path):
    return path.read_bytes().startswith(b"\x89PNG")


# modes


def test_modes_prints_frequencies_ways_and_sag(cli, files):
    result = succeeds(cli("modes", KUO, "--at", "0.1", "0", "-500mm", "--count", "3"))
    row = r"(?m)^ *(\d+) +(\d\.\d+) +(\d+\.\d+) +(\S.*?) +([\d.]+) +([\d.]+) +([\d.]+)$"
    rows = re.findall(row, result.out)
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert np.allclose([float(row[1]) for row in rows], LOWEST, rtol=1e-4)
    assert np.allclose([float(row[2]) / float(row[1]) for row in rows], 2 * np.pi, rtol=1e-4)
    assert {row[3] for row in rows} <= {"x", "y", "z", "about x", "about y", "about z", "links"}
    assert all(50 < float(row[4]) < 100 for row in rows)  # a heavy platform on light links
    assert all(sum(map(float, row[4:])) == pytest.approx(100, abs=0.16) for row in rows)
    assert "drives: clamped; motors held, gears rigid (the file has no coupling_sti" in result.out
    assert "sag under its weight: 0.844, 0.000, -25.537 mm" in result.out
    assert "assumed: " in result.err
    assert max(map(len, result.out.splitlines())) <= 100
    assert files() == {}


def test_modes_as_json_with_a_table_and_a_figure(cli, tmp_path):
    more = ("--sensitivity", "1", "--json", "--out", "m.csv", "--figure", "m.png")
    data = loads(succeeds(cli("modes", KUO, "--at", "0.1", "0", "-0.5", *more)).out)
    assert data["robot"] == KUO
    assert data["unknowns"] == 36
    assert [mode["frequency"] for mode in data["modes"][:3]] == pytest.approx(LOWEST, rel=1e-4)
    assert data["sag"]["position"] == pytest.approx([8.436e-4, 0, -0.0255372], abs=1e-6)
    assert data["sensitivities"]["mode"] == 1
    of = {row["parameter"]: row["relative"] for row in data["sensitivities"]["rows"]}
    assert of["platform mass [kg]"] < 0 < of["arm E Iy [N m^2]"]
    table = read_table(tmp_path / "m.csv")
    assert table.names == ("x", "y", "z", *(f"f{k}" for k in range(1, 9)))
    assert table["f1"].unit == "Hz"
    assert table.column("f1", "Hz") == pytest.approx([LOWEST[0]], rel=1e-4)
    assert png(tmp_path / "m.png")


def test_sensitivities_are_printed_largest_first(cli):
    out = succeeds(cli("modes", KUO, "--sensitivity", "2")).out
    head, *rows = out[out.index("parameter") :].splitlines()
    assert "% of mode 2 per %" in head
    shares = [abs(float(row.split()[-1])) for row in rows if "[" in row]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) > 5


def test_a_map_covers_a_level(cli, tmp_path):
    more = ("--points", "7", "--count", "3", "--level", "-0.55", "--json")
    files = ("--out", "map.json", "--figure", "map.png")
    data = loads(succeeds(cli("modes", KUO, "--map", *more, *files)).out)
    assert data["level"] == -0.55
    assert len(data["modes"]) == 3
    columns = json.loads((tmp_path / "map.json").read_text())
    f1 = np.array(columns["f1"]["values"])
    assert len(f1) == data["poses"] > 4
    assert set(columns["z"]["values"]) == {-0.55}
    first = data["modes"][0]
    assert (first["least"], first["greatest"]) == pytest.approx((f1.min(), f1.max()))
    at = [columns[axis]["values"][f1.argmin()] for axis in "xyz"]
    assert first["at_least"] == pytest.approx(at)
    assert png(tmp_path / "map.png")


def test_modes_along_a_circle_repeat_every_third(cli, tmp_path):
    more = ("--rate", "60", "--count", "2", "--out", "a.csv", "--figure", "a.svg")
    result = succeeds(cli("modes", KUO, "--along", *AROUND, *more))
    assert "61 poses along the motion" in result.out
    assert "least [Hz]" in result.out
    table = read_table(tmp_path / "a.csv")
    assert table.names == ("t", "x", "y", "z", "f1", "f2")
    f1 = table.column("f1", "Hz")
    assert np.allclose(f1[:21], f1[20:41], rtol=1e-8)
    assert np.ptp(f1) > 1e-3
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


@pytest.mark.long
def test_convergence_prints_four_models(cli, tmp_path):
    result = succeeds(
        cli(
            "modes",
            KUO,
            "--at",
            "0.1",
            "0",
            "-0.5",
            "--convergence",
            "--count",
            "2",
            "--out",
            "c.csv",
        )
    )
    rows = re.findall(r"(?m)^ *(\d) +(\d+) +([\d.]+) +([\d.]+) *$", result.out)
    assert [(row[0], row[1]) for row in rows] == [
        ("1", "36"),
        ("2", "72"),
        ("4", "144"),
        ("8", "288"),
    ]
    w1 = [float(row[2]) for row in rows]
    assert w1 == sorted(w1, reverse=True)
    assert w1 == pytest.approx([20.5573, 20.5549, 20.5548, 20.5547], abs=2e-4)
    assert read_table(tmp_path / "c.csv").column("w1", "rad/s") == pytest.approx(w1, abs=1e-4)


def test_a_payload_changes_the_modes_and_condensing_the_unknowns(cli):
    def lowest(*more):
        data = loads(succeeds(cli("modes", KUO, "--count", "1", "--json", *more)).out)
        return data["modes"][0]["frequency"], data["unknowns"]

    plain, unknowns = lowest()
    assert lowest("--payload", "0.5kg")[0] < 0.85 * plain
    assert lowest("--elements", "2", "--keep", "0")[1] == unknowns


def test_servos_of_the_file_are_in_modes(cli):
    """Of a robot with rods in pairs; on its servos it swings at 10 Hz, and at 65 Hz clamped."""
    irb = ("modes", "abb_irb360_6_1600", "--count", "5")
    data = loads(succeeds(cli(*irb, "--payload", "plate", "--json")).out)
    assert len(data["modes"]) == 5
    assert data["drives"] == "servo"
    assert 5 < data["modes"][0]["frequency"] < 15
    assert data["servo"]["damping"] == {"value": [pytest.approx(136.125)] * 3, "unit": "N m s/rad"}
    assert all(-1e-9 < mode["damping_ratio"] < 1 for mode in data["modes"])
    assert all(sum(m["shares"].values()) == pytest.approx(1, abs=1e-6) for m in data["modes"])
    shown = succeeds(cli(*irb))
    assert re.search(r"(?m)^ +1 +10\.\d+ +64\.\d+ +88\.\d+ +z ", shown.out)
    assert "drives: servo of 8168 N m/rad and 136.1 N m s/rad at the arms; gears rigid" in shown.out
    assert re.search(r"(?m)^without a swing fade at 1/s: 32\.\d", shown.out)
    assert "control.velocity_gain" in shown.err or "more, see" in shown.err
    held = succeeds(cli(*irb, "--drives", "clamped")).out
    assert "drives: clamped; motors held, gears rigid (as asked)" in held
    assert re.search(r"(?m)^ +1 +65\.\d+ +41\d\.\d+ +links", held)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("modes", KUO, "--drives", "servo"), "has no 'control', which a drive held by its servo"),
        (("modes", KUO, "--drives", "geared"), "has no 'motors.drives.coupling_stiffness', which"),
        (("modes", KUO, "--drives", "soft"), "drives is 'soft'."),
        (("modes", "par4", "--drives", "servo"), "--drives is for links that bend"),
        (
            ("modes", "abb_irb360_6_1600", "--sensitivity", "1"),
            "for motors that are held; add --dr",
        ),
        (("vibrate", KUO, *SHORT, "--feed", "velocity"), "for servos; the drives here are clamped"),
        (("vibrate", "abb_irb360_6_1600", "--feed", "speed"), "--feed: there is no 'speed'"),
    ],
)
def test_drives_that_cannot_be_are_refused(cli, command, sentence):
    result = cli(*command)
    assert result.code == 2
    assert sentence in " ".join(result.err.split())


@pytest.mark.long
def test_gears_of_the_file_are_in_modes(cli, tmp_path):
    """Half the frequency, and all of the energy in four kinds of bodies."""
    soft = loads(succeeds(cli("modes", "geared_delta", "--count", "3", "--json")).out)
    text = catalogue.text("geared_delta")
    (tmp_path / "rigid.toml").write_text(re.sub(r"(?m)^coupling_stiffness.*$", "", text))
    rigid = loads(succeeds(cli("modes", "rigid.toml", "--count", "3", "--json")).out)
    assert soft["gears"] == pytest.approx([34375.0] * 3)
    assert rigid["gears"] is None
    assert soft["modes"][0]["frequency"] < 0.6 * rigid["modes"][0]["frequency"]
    shares = soft["modes"][0]["shares"]
    assert sorted(shares) == ["arms", "gears", "platform", "rods"]
    assert sum(shares.values()) == pytest.approx(1, abs=1e-6)
    shown = cli("modes", "geared_delta", "--count", "3")
    assert "drives: geared; motors held, gears of 3.438e+04 N m/rad at the arms" in shown.out
    assert "motors.drives.coupling_stiffness" in shown.err or "more, see" in shown.err


PICK = ("--length", "0.1", "--height", "0.03", "--duration", "0.4")


@pytest.mark.long
def test_three_commands_agree_on_rods_that_stand_for_pairs(cli, tmp_path):
    """The same pick of the same robot, whose platform pairs keep level."""
    platens = "omron_mini_delta_platens"
    lowest = loads(succeeds(cli("modes", platens, "--count", "1", "--json")).out)["modes"][0]
    assert lowest["frequency"] == pytest.approx(48.03, abs=0.02)
    files = ("--out", "v.csv", "--rate", "1000", "--elements", "2", "--stiffened", "--json")
    swung = loads(succeeds(cli("vibrate", platens, *PICK, *files)).out)
    table = read_table(tmp_path / "v.csv")
    way = np.stack([table.column(f"d{axis}", "m") for axis in "xyz"], axis=1)
    assert 1e-7 < np.abs(way).max() < 1e-5
    robot = load(platens)
    motion = pick_and_place(robot, length=0.1, height=0.03, duration=0.4)
    truth = simulated(robot, motion)  # what `encoders` judges its sensors by
    theirs = truth.tool - np.asarray(motion.x)[:, :3]
    assert len(theirs) == table.rows
    assert np.allclose(way, theirs, rtol=0, atol=1e-3 * np.abs(theirs).max())
    assert swung["deviation"]["x"]["greatest"] == pytest.approx(way[:, 0].max())
    text = catalogue.text(platens)
    (tmp_path / "alone.toml").write_text(re.sub(r"(?m)^single_rod.*$", "", text))
    alone = loads(succeeds(cli("modes", "alone.toml", "--count", "1", "--json")).out)
    assert alone["modes"][0]["frequency"] < 0.3 * lowest["frequency"]
    told = cli("encoders", "alone.toml", *PICK, "--bits", "17")
    assert told.code == 2
    assert re.search(r"single rods, which let its platform turn.*single_rod = \"pair\"", told.err)


# vibrate


@pytest.fixture(scope="module")
def vibrated(tmp_path_factory):
    """Summary, folder and stderr of a short line."""
    folder = tmp_path_factory.mktemp("vibrate")
    out, err = io.StringIO(), io.StringIO()
    files = ("--out", "v.csv", "--figure", "v.png", "--animation", "v.npz", "--enlarged", "2")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(folder / "cache"))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["vibrate", KUO, *SHORT, *files, "--json"])
    assert code == 0, err.getvalue()
    return loads(out.getvalue()), folder, err.getvalue()


def test_vibrate_sums_up_deviations_torques_stress_and_settling(vibrated):
    data, folder, err = vibrated
    assert (data["samples"], data["unknowns"]) == (251, 36)
    assert data["duration"] == pytest.approx(0.25)
    assert list(data["deviation"]) == ["x", "y", "z", "rx", "ry", "rz"]
    assert data["deviation"]["z"]["least"] < -0.02
    assert list(data["torque"]) == ["motor_1", "motor_2", "motor_3"]
    assert list(data["stress"]) == [f"{part}_{k}" for part in ("arm", "rod") for k in (1, 2, 3)]
    after = data["settling"]
    assert after["tolerance"] == 1e-3
    assert after["amplitude"] > 1e-3
    assert 0 < after["time"] < 10
    ratio = [
        data["damping"]["mass"] / 2 / w + data["damping"]["stiffness"] * w / 2 for w in (20, 60)
    ]
    assert ratio == pytest.approx([0.05, 0.05], rel=0.15)  # of steel, as its file assumes
    assert err.count("wrote ") == 3
    assert png(folder / "v.png")


def test_the_table_of_a_response_has_the_numbers_of_its_summary(vibrated):
    data, folder, _ = vibrated
    table = read_table(folder / "v.csv")
    assert table.rows == 251
    assert table["dz"].unit == "m"
    dz, tau = table.column("dz", "m"), table.column("tau1", "N m")
    assert (dz.min(), dz[-1]) == pytest.approx(
        (data["deviation"]["z"]["least"], data["deviation"]["z"]["end"])
    )
    assert tau.max() == pytest.approx(data["torque"]["motor_1"]["greatest"])
    stress = table.column("arm_1_stress", "Pa")
    assert stress.max() == pytest.approx(data["stress"]["arm_1"]["greatest"])
    assert np.allclose(table.column("x", "m")[[0, -1]], [0, 0.03])


def test_the_animation_has_the_bent_robot_in_pictures(vibrated):
    _, folder, _ = vibrated
    table = read_table(folder / "v.csv")
    with np.load(folder / "v.npz", allow_pickle=False) as found:
        t, points, platform = found["t"], found["points"], found["platform"]
        assert list(found["links"]) == [f"{part}_{k}" for part in ("arm", "rod") for k in (1, 2, 3)]
        assert found["enlarged"] == 2
    assert len(t) == 13  # 50 per second
    assert points.shape == (13, 6, 13, 3)
    assert np.allclose(points[:, :3, -1], points[:, 3:, 0], atol=1e-12)  # joined at the elbows
    rows = np.searchsorted(table.column("t", "s"), t - 1e-9)
    z = table.column("z", "m")[rows] + 2 * table.column("dz", "m")[rows]
    assert np.allclose(platform[:, 2], z, atol=1e-12)


def test_vibrate_prints_what_matters(cli):
    out = succeeds(cli("vibrate", KUO, *SHORT)).out
    assert out.startswith("251 samples in 0.25 s, 36 unknowns\n")
    assert re.search(r"(?m)^z +-\d+\.\d{3} +-?\d+\.\d{3} +-\d+\.\d{3} +mm$", out)
    assert re.search(r"(?m)^motor 1 +-\d", out)
    assert re.search(r"(?m)^largest stress \d+\.?\d* MPa, in (arm|rod) \d$", out)
    told = re.search(r"(?m)^left out by small deflections: about (\S+) mm, (\S+) % of the lar", out)
    assert told is not None
    assert 0.1 < float(told[1]) < 3
    assert 0.5 < float(told[2]) < 10
    assert re.search(
        r"(?m)^swings by \d+\.?\d* mm after the stop, within 1 mm after \d\.\d+ s$", out
    )
    assert max(map(len, out.splitlines())) <= 100


def test_deflections_that_are_not_small_are_warned_of(cli):
    """With five times the payload's weight, by a part that grows with it."""
    heavy = cli("vibrate", KUO, *SHORT, "--payload", "3kg", "--json")
    told = loads(succeeds(heavy).out)["left_out"]
    assert told["share"] > 0.05
    found = re.search(r"warning: deflections are not small at (\S+) s: .* about (\S+) %", heavy.err)
    assert found is not None
    assert float(found[2]) == pytest.approx(100 * told["share"], rel=0.06)
    assert "warning" not in cli("vibrate", KUO, *SHORT, "--tolerance", "50mm").err


def test_without_damping_it_does_not_settle(cli):
    out = succeeds(cli("vibrate", KUO, *SHORT, "--damping", "0")).out
    assert "and does not settle within 1 mm" in out
    data = loads(succeeds(cli("vibrate", KUO, *SHORT, "--damping", "0", "--json")).out)
    assert data["settling"]["time"] is None


def test_a_motion_that_stops_but_for_rounding_settles(cli):
    command = ("vibrate", KUO, *SHORT[:-1], "0.3", "--json")
    assert "settling" in loads(succeeds(cli(*command)).out)


def test_the_steady_response_to_a_circle_has_no_settling(cli):
    more = ("--motion", *AROUND, "--steady", "--rate", "250", "--json")
    data = loads(succeeds(cli("vibrate", KUO, *more)).out)
    assert "settling" not in data
    # Kuo's robot, 5 %: z between 24.8 and 26.0 mm below, x within 8.5 mm (`published`).
    assert data["deviation"]["z"]["least"] == pytest.approx(-0.0259, abs=3e-4)
    assert data["deviation"]["x"]["greatest"] == pytest.approx(0.0078, abs=1e-3)


def test_comparing_finds_slower_and_shaped_motions_smoother(cli, tmp_path):
    more = ("--compare", "--rate", "400", "--tolerance", "0.5mm")
    result = succeeds(cli("vibrate", KUO, *SHORT, *more, "--out", "c.csv", "--figure", "c.png"))
    rows = re.findall(
        r"(?m)^ *([\d.]+ s(?:, ZVD?)?) +([\d.]+) +([\d.]+) +([\d.]+) +(\S+)$", result.out
    )
    assert len(rows) == 15
    left = {row[0]: float(row[3]) for row in rows}
    assert left["0.25 s, ZV"] < 0.3 * left["0.25 s"]
    assert left["0.625 s"] < 0.3 * left["0.25 s"]
    table = read_table(tmp_path / "c.csv")
    assert table.rows == 15
    assert table["left"].unit == "m"
    assert png(tmp_path / "c.png")


@pytest.mark.parametrize("command", ["modes", "vibrate"])
def test_the_example_in_the_help_works(cli, files, command):
    text = succeeds(cli(command, "--help")).out
    example = re.search(r"Example: triskele (.+(?:\n {4,}.+)*)", text)
    assert example is not None
    succeeds(cli(*shlex.split(example[1])))
    assert files() == {}


# Mistakes


def changed(old, new):
    text = catalogue.text(KUO)
    assert old in text
    return text.replace(old, new)


HEXAPOD = """
kind = "limbs"
name = "hexapod"
title = "Hexapod"
[geometry.platform]
coordinates = ["x", "y", "z", "a", "b", "c"]
home = "[0, 0, 600] mm"
[geometry.limbs]
around = "[-12, 12, 108, 132, 228, 252] deg"
end_around = "[-48, 48, 72, 168, 192, 288] deg"
drive = "strut"
base = "[500, 0, 0] mm"
end = "[300, 0, 0] mm"
[bodies]
cylinder = { mass = "1 kg" }
piston = { mass = "1 kg" }
platform = { mass = "8 kg", inertia = "[0.3, 0.3, 0.5] kg m^2" }
"""
STEEL = """
[sections.rod]
shape = "tube"
material = "steel"
outer_radius = "12 mm"
inner_radius = "10 mm"
[materials.steel]
young_modulus = "210 GPa"
poisson_ratio = 0.3
density = "7800 kg/m^3"
"""


def test_modes_of_a_hexapod_of_stretching_struts(cli, tmp_path):
    (tmp_path / "hexapod.toml").write_text(HEXAPOD + STEEL)
    pose = ("0.05", "-0.02", "650mm", "5deg", "0", "-0.1")
    found = cli("modes", "hexapod.toml", "--at", *pose, "--json")
    data = loads(succeeds(found).out)
    assert list(data["modes"]) == ["motors locked"]
    shapes = [mode["shape"] for mode in data["modes"]["motors locked"]]
    assert len(shapes) == 6
    assert list(shapes[0]) == ["x", "y", "z", "a", "b", "c"]
    w = [mode["frequency"] for mode in data["modes"]["motors locked"]]
    assert w == sorted(w)
    with_commas = cli("modes", "hexapod.toml", "--json", "--at", ",".join(pose))
    assert loads(with_commas.out) == data
    shown = cli("modes", "hexapod.toml", "--at", *pose)
    assert f"motors locked  {w[0]:.4g}" in shown.out
    K = np.array(data["stiffness"]["motors locked"])
    assert np.allclose(K, K.T, rtol=1e-9)
    few = cli("modes", "hexapod.toml", "--at", "0", "0", "0.6")
    assert few.code == 2
    assert "is 6 numbers, x [m]" in few.err


def test_a_hexapod_without_stiffness_is_told_what_to_add(cli, tmp_path):
    (tmp_path / "hexapod.toml").write_text(HEXAPOD)
    for command, told in (
        ("modes", r"hexapod states no stiffness.*transmission.*\[sections\.rod\]"),
        ("vibrate", r"hexapod is not a Delta.*springs along their axis"),
        ("encoders", r"hexapod is not a Delta"),
    ):
        result = cli(command, "hexapod.toml")
        assert result.code == 2
        assert re.search(told, result.err), result.err


REFUSED = {
    "a pose out of reach": (f"modes {KUO} --at 0 0 -1.5", r"--at.*reach|reach.*--at|cannot reach"),
    "a pose and a map": (f"modes {KUO} --at 0 0 -0.5 --map", r"--at, --map and --along exclude"),
    "a map along a motion": (f"modes {KUO} --map --along circle", r"exclude one another"),
    "a level without a map": (f"modes {KUO} --level -0.5", r"--level is the height of a --map"),
    "enlarging no animation": (f"vibrate {KUO} --enlarged 10", r"--enlarged is for --animation"),
    "a method of the steady": (
        f"vibrate {KUO} --steady --method generalised-alpha",
        r"--steady is found by newmark",
    ),
    "a shape without a motion": (
        f"modes {KUO} --radius 0.1",
        r"--radius shapes a motion; name one",
    ),
    "a map of nothing": (f"modes {KUO} --map --level -3", r"Nothing is within reach at z = -3 m"),
    "a map of two points": (f"modes {KUO} --map --points 2", r"--points is 2; it must be from 5"),
    "no modes": (f"modes {KUO} --count 0", r"This model has 1 to 36 modes, not 0"),
    "no modes of a map": (f"modes {KUO} --map --points 5 --count 0", r"modes|--count"),
    "too many modes": (f"modes {KUO} --count 37", r"This model has 1 to 36 modes, not 37"),
    "mode zero": (f"modes {KUO} --sensitivity 0", r"modes are counted from 1"),
    "an unknown family": (f"modes {KUO} --family cubic", r"cubic/quintic"),
    "no elements": (f"modes {KUO} --elements 0", r"elements is 0|[Ee]lements"),
    "half an element": (f"modes {KUO} --elements 1.5", r"'1.5' is not a whole number"),
    "more modes kept than there are": (f"modes {KUO} --keep 5", r"kept_modes is 5; "),
    "a robot without sections": ("modes omron_mini_delta", r"sections"),
    "a robot that is no Delta": (
        "modes compliant_3prs",
        r"is for links that bend; those of compliant_3prs do not",
    ),
    "a 3PRS that vibrates": ("vibrate compliant_3prs", r"."),
    "steps too long": (
        f"vibrate {KUO} --rate 20",
        r"time step of .* at least \d+ Hz|Raise its rate",
    ),
    "more than all damping": (f"vibrate {KUO} --damping 2", r"--damping is 2; a damping ratio is"),
    "negative damping": (f"vibrate {KUO} --damping -0.1", r"--damping is -0.1; a damping ratio is"),
    "an unknown method": (f"vibrate {KUO} --method euler", r"There is no method 'euler'"),
    "no tolerance": (f"vibrate {KUO} --tolerance 0", r"--tolerance is 0 m; it must be positive"),
    "a steady line": (f"vibrate {KUO} {' '.join(SHORT)} --steady", r"does not end as it began"),
    "comparing what is steady": (
        f"vibrate {KUO} --compare --steady",
        r"--compare goes with neither",
    ),
    "comparing circles": (f"vibrate {KUO} --motion circle --compare", r"does not stop"),
    "a motion out of reach": (
        f"vibrate {KUO} --motion line --start 0,0,-0.5 --end 0,0,-1.4",
        r"reach|leaves|outside",
    ),
    "an unknown motion": (f"vibrate {KUO} --motion cirle", r"'cirle'. Did you mean 'circle'"),
    "a film of another kind": (f"vibrate {KUO} --animation film.gif", r"must end in \.npz"),
}


def refused(cli, files, tmp_path, line, expected):
    before, names = files(), sorted(os.listdir(tmp_path))
    code, out, err = cli(*line.split())
    assert (code, out) == (2, ""), err
    assert (files(), sorted(os.listdir(tmp_path))) == (before, names)
    (sentence,) = err.splitlines()
    assert re.fullmatch(r"triskele: .*[^.][.?)]", sentence), sentence
    assert not re.search(r"\bNone\b|\b(np|jnp|Path)\.|array\(|<class|Traceback", sentence)
    assert re.search(expected, sentence), sentence


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_one_sentence_and_no_file(cli, files, tmp_path, case):
    line, expected = REFUSED[case]
    refused(cli, files, tmp_path, f"{line} --out out.csv --figure out.png", expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('young_modulus = "210 GPa"', 'young_modulus = "0 GPa"', r"young_modulus.*positive"),
        ('young_modulus = "210 GPa"', 'young_modulus = "-1 GPa"', r"young_modulus.*positive"),
        ('density       = "7800 kg/m^3"', 'density = "78000 kg/m^3"', r"density|weighs 0\.975 kg"),
        ('width        = "5 mm"', 'width = "700 mm"', r"sections\.\w+: .*0\.7 m across|width"),
        ('material     = "steel"', 'material = "stele"', r"stele"),
    ],
)
def test_links_that_are_no_beams_are_refused(cli, files, tmp_path, old, new, expected):
    (tmp_path / "mine.toml").write_text(changed(old, new))
    refused(cli, files, tmp_path, "modes mine.toml --out out.csv", expected)
