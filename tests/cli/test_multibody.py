# ruff: noqa: E501  (sentences are compared whole)
"""`reactions`, and the multibody engine of `simulate`, `check` and `show`."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from triskele.description import catalogue
from triskele.description.tables import read_table

EXAMPLES = Path(__file__).parents[2] / "examples" / "mechanisms"


@pytest.fixture
def five_bar(tmp_path):
    """The template of a mechanism, as a file in the directory of the test."""
    (tmp_path / "five_bar.toml").write_text(catalogue.template("mechanism"), encoding="utf-8")
    return "five_bar.toml"


def test_check_says_how_freely_a_mechanism_moves(cli, five_bar):
    code, out, err = cli("check", five_bar)
    assert code == 0
    assert "Five-bar: a mechanism of 5 joints" in out
    assert "2 degrees of freedom, no redundant conditions" in out
    assert "assumed: bodies.left_crank.mass = 0.30 kg (template value, replace it)" in err
    data = json.loads(cli("check", five_bar, "--json").out)
    assert data["mobility"]["freedom"] == 2
    assert data["residual"] < 1e-12


def test_a_mechanism_is_simulated_with_its_drives_into_a_table_and_a_figure(
    cli, five_bar, tmp_path
):
    code, out, err = cli(
        "simulate", five_bar, "--duration", "0.5", "--rate", 50, "--out", "run.csv", "--figure", "run.png"
    )  # fmt: skip
    assert code == 0, err
    assert "0.5 s in" in out
    table = read_table(tmp_path / "run.csv")
    t, angle = table["t"].values, table["left_motor_q"].values
    assert np.allclose(angle, np.radians(120 + 15 * np.sin(2 * np.pi * t)), atol=1e-9)
    assert table["left_motor_effort"].unit == "N m"
    assert table["gap"].values.max() < 1e-13
    assert (tmp_path / "run.png").stat().st_size > 10_000


@pytest.fixture
def crane(tmp_path):
    """The crane of the examples, with its table, in the directory of the test."""
    for name in ("crane.toml", "crane_trolley.csv"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    return "crane.toml"


@pytest.mark.long
def test_drives_and_speeds_may_be_given_on_the_command_line(cli, crane, tmp_path):
    t = np.linspace(0, 0.4, 9)
    rows = "\n".join(f"{now!r},{1e3 * now**3!r}" for now in t.tolist())
    (tmp_path / "way.csv").write_text(f"t [s],rail_q [mm]\n{rows}\n", encoding="utf-8")
    code, _, err = cli(
        "simulate", crane, "--duration", "0.4", "--rate", 50, "--out", "run.csv",
        "--drives", "way.csv", "--speed", "swing=-6 deg/s", "--torque", "0",
    )  # fmt: skip
    assert code == 0, err
    table = read_table(tmp_path / "run.csv")
    assert np.allclose(table["rail_q"].values, table["t"].values ** 3, atol=1e-9)
    assert table["swing_qd"].values[0] == pytest.approx(-np.radians(6), abs=1e-9)
    assert not table["swing_effort"].values.any()


def test_drives_out_of_reach_end_in_a_sentence_with_the_time(cli, tmp_path):
    """Couplers of 125 mm: elbows may be 250 mm apart, and drives of 40 deg part them further."""
    text = catalogue.template("mechanism").replace("value = [180, 0, 0]", "value = [125, 0, 0]")
    text = text.replace('"15 deg"', '"40 deg"')
    (tmp_path / "short.toml").write_text(text, encoding="utf-8")
    code, _, err = cli("simulate", "short.toml", "--out", "run.csv")
    assert code == 2
    assert not (tmp_path / "run.csv").exists()
    assert "my_five_bar: at t = 0.186444 s: drives ask for more than joints can reach" in err
    t = 0.186444
    left, right = np.radians([120 + 40 * np.sin(2 * np.pi * t), 60 + 40 * np.cos(2 * np.pi * t)])
    apart = np.hypot(
        0.1 + 0.12 * (np.cos(right) - np.cos(left)), 0.12 * (np.sin(right) - np.sin(left))
    )
    assert apart == pytest.approx(0.25, abs=1e-6)


def test_reactions_of_a_mechanism_hold_its_weight(cli, five_bar, tmp_path):
    code, out, err = cli(
        "reactions", five_bar, "--duration", "0.5", "--rate", 50, "--out", "held.csv", "--json"
    )
    assert code == 0, err
    data = json.loads(out)
    assert data["joints"]["tip"]["force_unique"]
    assert data["gap"] < 1e-13
    table = read_table(tmp_path / "held.csv")
    carried = table["left_motor_fy"].values + table["right_motor_fy"].values
    assert abs(carried.mean() - 9.81) < 0.3  # of 1 kg that moves


def test_show_draws_a_mechanism_and_lists_its_numbers(cli, five_bar, tmp_path):
    code, out, err = cli("show", five_bar, "--out", "it.png")
    assert code == 0, err
    assert "bodies.left_crank.mass" in out
    assert (tmp_path / "it.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("ik", "five_bar.toml", 0, 0, 0), "five_bar.toml: is a mechanism of bodies and joints, and this needs a robot; mechanisms have the commands `check`, `simulate` and `reactions`."),
        (("simulate", "five_bar.toml", "--at", "0,0,0"), "my_five_bar is a mechanism of its own: --at is for robots."),
        (("simulate", "five_bar.toml", "--engine", "reduced"), "my_five_bar is a mechanism of its own: --engine reduced is for robots."),
        (("simulate", "five_bar.toml", "--torque", "1,2"), "my_five_bar: its motors follow drives; --torque has no use."),
        (("simulate", "five_bar.toml", "--speed", "2rad/s"), "--speed: '2rad/s' names no joint; write, for example, left_motor=2rad/s."),
        (("simulate", "five_bar.toml", "--speed", "left_motor=2rad/s"), "my_five_bar, joints.left_motor: follows a drive, which has a speed of its own."),
        (("simulate", "five_bar.toml", "--speed", "tip=2rad/s"), "my_five_bar, joints.tip: a speed at the start belongs to a revolute or prismatic joint, this one is inline."),
        (("simulate", "d3s_800", "--drives", "way.csv"), "d3s_800 is a robot: --drives is for mechanisms; robots have --motion."),
        (("simulate", "five_bar.toml", "--integrator", "euler"), "--integrator: there is no 'euler'. Known: adams, alpha, runge-kutta."),
        (("simulate", "five_bar.toml", "--step", "1 ms"), "--step belongs to --integrator alpha; the others choose their steps."),
        (("simulate", "five_bar.toml", "--integrator", "alpha", "--tolerance", "1e-6"), "--integrator alpha has fixed steps: give --step, not --tolerance."),
        (("simulate", "d3s_800", "--engine", "multibodi"), "--engine: there is no 'multibodi'. Did you mean 'multibody'?"),
        (("simulate", "d3s_800", "--step", "1 ms"), "--step belongs to --engine multibody."),
        (("reactions", "five_bar.toml", "--payload", "1"), "my_five_bar is a mechanism of its own: --payload is for robots."),
        (("reactions", "five_bar.toml", "--length", "1"), "my_five_bar moves as its drives say: --length has no use; it takes --duration and --rate."),
        (("reactions", "d3s_800", "--rods", "rubber"), "--rods: there is no 'rubber'. Known: built, distance, isostatic."),
        (("reactions", "compliant_3prs", "--motion", "line", "--driven", "platform", "--start", "0.1,0,0", "--end", "0.1,0,0"), "compliant_3prs: only a platform that translates along x, y and z can be driven itself."),
        (("reactions", "flexible_delta", "--rods", "distance"), "flexible_delta: rods of constant distance leave 6 degrees of freedom for 3 drives; only pairs of rods keep a platform level by their lengths alone."),
        (("reactions", "stewart_6ups", "--rods", "distance"), "stewart_6ups has no rods that could be constant distances."),
        (("reactions", "two_axis_delta", "--driven", "platform"), "two_axis_delta: only a platform that translates along x, y and z can be driven itself."),
        (("reactions", "abb_irb360_1130"), "abb_irb360_1130 has no 'bodies', which the multibody engine needs; add it."),
    ],
)  # fmt: skip
def test_what_makes_no_sense_gets_a_sentence(cli, files, five_bar, arguments, sentence):
    before = files()
    code, out, err = cli(*arguments)
    assert code == 2
    assert err.strip().splitlines()[-1] == f"triskele: {sentence}"
    assert not out
    assert files() == before
