"""The commands `excite`, `identify` and `friction` as a user types them, and what they refuse."""

import json

import numpy as np
import pytest

from triskele.description.load import load
from triskele.description.schema import Friction, JointFriction
from triskele.description.tables import Table, read_table, write_table
from triskele.identification.synthetic import synthetic_log
from triskele.kinematics.build import build
from triskele.kinematics.cycles import joint_strokes
from triskele.kinematics.motion import fourier, resting

ROBOT = "omron_mini_delta"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two logs of the small Delta, with noise."""
    folder = tmp_path_factory.mktemp("logs")
    for seed, name in enumerate(("a.csv", "b.csv")):
        random = np.random.default_rng(seed)
        size = np.array([0.05, 0.05, 0.03]) / np.arange(1, 9)[:, None]
        found = resting(*(random.normal(size=(2, 8, 3)) * size))
        motion = fourier((0, 0, -0.36), found.sine, found.cosine, period=4.0, rate=200)
        log = synthetic_log(load(ROBOT), motion, 0.02, seed=seed)
        write_table(log, folder / name)
    return folder


def test_identify_prints_a_verdict_and_writes_robot_page_and_figure(cli, logs, tmp_path):
    arguments = ("--log", logs / "a.csv", "--hold-out", logs / "b.csv")
    files = ("--out", "mine.toml", "--html", "mine.html", "--figure", "mine.png")
    result = cli("identify", ROBOT, *arguments, *files)
    assert result.code == 0, result.err
    assert "base parameters (18)" in result.out
    assert "arm.mc_x + 0.3 rod.m - 1.875 rod.zz" in result.out
    assert "not told by these logs: arm.m" in result.out
    assert "identified robot" in result.out
    assert cli("check", "mine.toml").code == 0
    robot = load(tmp_path / "mine.toml")
    assert any(fact.source == "identified from a.csv" for fact in robot.facts)
    page = (tmp_path / "mine.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("data:image/") == 2
    assert (tmp_path / "mine.png").read_bytes().startswith(b"\x89PNG")
    asked = cli("identify", ROBOT, *arguments, "--json")
    data = json.loads(asked.out)
    assert data["robot"] == ROBOT
    assert data["rank"] == 18
    assert np.allclose(data["held_out"]["consistent"], 0.02, rtol=0.1)


def test_identify_refuses_bad_logs_and_bad_names(cli, logs, tmp_path, files):
    log = read_table(logs / "a.csv")
    columns = {name: (log[name].unit, log[name].values) for name in log.names}
    columns["tau1"], columns["tau2"] = columns["tau2"], columns["tau1"]
    write_table(Table(columns), tmp_path / "swapped.csv")
    before = files()
    for arguments, sentence in (
        (("--log", "swapped.csv", "--out", "r.toml"), "columns 2 and 1 are swapped"),
        (("--log", "none.csv"), "none.csv: no such file"),
        (("--log", "swapped.csv", "--out", "r.txt"), "the name must end in .toml"),
        (("--log", "swapped.csv", "--html", "r.pdf"), "the name must end in .html"),
        (("--log", "swapped.csv", "--cutoff", "-3"), "--cutoff is -3 Hz; it must be positive"),
    ):
        result = cli("identify", ROBOT, *arguments)
        assert (result.code, result.out) == (2, "")
        assert sentence in result.err
        assert result.err.count("\n") == 1
    assert files() == before
    taken = cli("identify", ROBOT, "--log", "swapped.csv", "--no-check", "--json")
    assert taken.code == 0
    assert not json.loads(taken.out)["usable"] or max(json.loads(taken.out)["noise"]) > 0.1


@pytest.fixture(scope="module")
def strokes(tmp_path_factory):
    """A log of two drives of the small Delta that go to and fro; its file has no friction."""
    folder, mechanism = tmp_path_factory.mktemp("strokes"), build(load(ROBOT))
    friction = Friction(drives=JointFriction(coulomb=(0.05,), viscous=(0.03,)))
    robot = load(ROBOT).model_copy(update={"friction": friction})
    for k in (0, 1):
        motion = joint_strokes(
            mechanism, k, (0.2, 0.5, 1.0), stroke=0.4, acceleration=20.0, rate=200.0
        )
        write_table(synthetic_log(robot, motion, 0.02, seed=k), folder / f"drive{k + 1}.csv")
    return folder


def test_friction_prints_curves_and_writes_points_and_figure(cli, strokes, tmp_path):
    arguments = ("--log", strokes / "drive1.csv", "--log", strokes / "drive2.csv")
    result = cli("friction", ROBOT, *arguments, "--out", "curve.csv", "--figure", "curve.png")
    assert result.code == 0, result.err
    assert "drive 2: speed [rad/s], friction [N m]" in result.out
    assert result.out.count("Coulomb and viscous; under [friction.drives]:") == 2
    assert "the load is taken away by the model and both directions" in result.out
    points = read_table(tmp_path / "curve.csv")
    assert points.rows == 6
    wanted = 0.05 + 0.03 * points.column("speed", "rad/s")
    assert np.allclose(points.column("fitted", "N m"), wanted, atol=5e-3)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    alone = cli("friction", ROBOT, *arguments[:2], "--no-model", "--json")
    data = json.loads(alone.out)
    assert (data["modelled"], data["drives"][0]["shape"]) == (False, "Coulomb and viscous")


def test_friction_refuses_what_tells_nothing(cli, strokes, logs, files):
    before = files()
    for arguments, sentence in (
        (("--log", logs / "a.csv", "--out", "c.csv"), "no drive has moves at constant speed"),
        (("--log", strokes / "drive1.csv", "--drive", "7"), "There is no drive 7"),
        (("--log", strokes / "drive1.csv", "--least", "-1"), "--least is -1 s; it must be"),
        (("--log", strokes / "drive1.csv", "--out", "c.txt"), "the name must end in .csv"),
    ):
        result = cli("friction", ROBOT, *arguments)
        assert (result.code, result.out) == (2, "")
        assert sentence in result.err and result.err.count("\n") == 1
    assert files() == before


def test_excite_refuses_what_makes_no_sense(cli):
    for arguments, sentence in (
        (("--criterion", "best"), "No criterion is called 'best'"),
        (("--noise", "1"), "--noise is that of --log"),
        (("--noise", "x", "--log", "a.csv"), "--noise is 'x'; write numbers"),
        (("--duration", "0"), "--duration is 0 s; it must be positive"),
    ):
        result = cli("excite", ROBOT, *arguments)
        assert result.code == 2
        assert sentence in result.err


@pytest.mark.long
def test_excite_writes_motion_log_and_figure(cli, tmp_path):
    files = ("--out", "m.csv", "--figure", "m.png", "--log", "l.csv", "--noise", "0.02")
    result = cli("excite", ROBOT, "--steps", "20", "--duration", "3s", "--json", *files)
    assert result.code == 0, result.err
    data = json.loads(result.out)
    assert data["base_parameters"] == 18
    assert read_table(tmp_path / "m.csv").rows == 1501
    assert read_table(tmp_path / "l.csv").rows == 1501
    assert (tmp_path / "m.png").exists()
