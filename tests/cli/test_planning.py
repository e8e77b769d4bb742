"""The commands `plan` and `rate` as a user types them, and what they refuse.

Plans have few cells: it is the command line that is tested, not the planner.
"""

import contextlib
import io
import json
import os
import re
import shlex
from importlib import resources

import equinox as eqx
import numpy as np
import pytest

from triskele.cli import main
from triskele.cli.planning import _run_texts
from triskele.description.load import load
from triskele.description.tables import read_table
from triskele.dynamics.robot import rigid
from triskele.dynamics.rod_loads import rod_loads
from triskele.numerics import tabulate

pytestmark = pytest.mark.long

IRB = "abb_irb360_6_1600"
FEW = ("--cells", "40")
FINE = ("--period", "0.1ms")  # as many samples as of the U-turn: one compilation serves both
DIGEST = ("--start", "0,-0.4,-1.0", "--length", "0.8", "--height", "0.18", "--corner", "0.15")
WAYS = "x [mm],y [mm],z [mm]\n0,-300,-1000\n0,-300,-900\n{}0,300,-900\n0,300,-1000\n"


def succeeds(result):
    assert result.code == 0, result.err
    return result


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """Summary, folder and stderr of the U-turn of Gnad et al., written and drawn."""
    folder = tmp_path_factory.mktemp("plan")
    out, err = io.StringIO(), io.StringIO()
    files = ("--out", str(folder / "plan.csv"), "--figure", str(folder / "plan.png"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(folder / "cache"))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["plan", IRB, *DIGEST, "--payload", "plate", *FEW, "--json", *files])
    assert code == 0, err.getvalue()
    return json.loads(out.getvalue()), folder, err.getvalue()


def test_plan_finds_the_published_u_turn_and_what_bounds_it(planned):
    data, _, _ = planned
    assert data["duration"] == pytest.approx(0.524, abs=0.004)
    assert data["picks_per_minute"] == pytest.approx(30 / data["duration"])
    keys = {"unit", "peak", "rms", "speed_unit", "peak_speed"}
    assert all(set(item) == keys for item in data["drives"].values())
    assert list(data["drives"]) == ["motor_1", "motor_2", "motor_3", "motor_4"]
    assert {item["label"] for item in data["limits"][:2]} == {"jerk of q2", "jerk of q3"}
    gains = list(data["gains"].items())
    assert [key for key, _ in gains[:3]] == ["joint_jerk", "rod_force", "flange_force"]
    assert 0.005 < gains[0][1] < 0.015
    assert (data["gains_per"], data["raised_by"]) == ("way", 0.1)
    by_key = dict.fromkeys(data["gains"], 0.0)
    for item in data["limits"]:
        by_key[item["key"]] -= 0.1 * item["price"]
    assert by_key == pytest.approx(data["gains"])
    (runs,) = data["binding"]
    assert runs[0]["limit"] == "jerk of q3"
    assert all(run["from"] <= run["to"] and not run["whole"] for run in runs)
    assert data["unlimited"] == []  # axis 4 does not turn
    assert {"tension of rod 2b", "tension of rod 3a"} <= {run["limit"] for run in runs}


def test_the_replay_of_what_is_written_keeps_the_limits(planned):
    data, _, err = planned
    assert data["replay"]["period"] == 4e-4  # that of the robot's position control
    assert 0.99 < data["replay"]["worst"]["use"] < 1.005
    assert data["replay"]["exceeded"] == []
    assert data["replay"]["start_step"] < 1e-3
    assert "beyond a limit" not in err
    assert "step of acceleration" not in err


def test_the_table_and_the_figure_are_those_of_the_plan(planned):
    data, folder, err = planned
    table = read_table(folder / "plan.csv")
    assert table.rows == data["replay"]["samples"]
    t, q2 = table.column("t", "s"), table.column("q2", "rad")
    assert t[-1] == pytest.approx(data["duration"])
    assert np.allclose(np.diff(t)[:-1], 4e-4, atol=1e-12)
    assert np.allclose(np.gradient(q2, t)[5:-5], table.column("q2d", "rad/s")[5:-5], atol=2e-3)
    peak = np.abs(table.column("tau2", "N m")).max()
    assert peak == pytest.approx(abs(data["drives"]["motor_2"]["peak"]))
    assert np.allclose(table.column("y", "m")[[0, -1]], [-0.4, 0.4], atol=1e-9)
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")
    assert err.count("wrote ") == 2
    assert "assumed: " in err


def test_rates_of_the_platform_and_forces_of_the_rods_are_columns(planned):
    """Rates are derivatives of the columns beside them; tensions by the closed form of Deltas."""
    table = read_table(planned[1] / "plan.csv")
    t, names = table.column("t", "s")[:-1], ("x", "y", "z", "psi")
    x, xd, xdd = (
        np.stack([table.column(n + dots, u) for n, u in zip(names, units, strict=True)], axis=1)
        for dots, units in (
            ("", ("m", "m", "m", "rad")),
            ("d", ("m/s", "m/s", "m/s", "rad/s")),
            ("dd", ("m/s^2", "m/s^2", "m/s^2", "rad/s^2")),
        )
    )
    assert np.abs(xdd[:, 1]).max() > 30
    assert np.allclose(np.gradient(x[:-1], t, axis=0)[5:-5], xd[5:-6], atol=2e-3)
    assert np.allclose(np.gradient(xd[:-1], t, axis=0)[5:-5], xdd[5:-6], atol=0.3)
    loads = tabulate(eqx.Partial(rod_loads, rigid(load(IRB), "plate")))(x, xd, xdd)
    for end, forces in (("lower", loads.lower), ("upper", loads.upper)):
        for rod, force in zip(("1a", "1b", "2a", "2b", "3a", "3b"), forces, strict=True):
            assert np.allclose(table.column(f"rod_{rod}_{end}", "N"), force, atol=1e-6)


def test_plan_prints_times_drives_limits_gains_and_the_replay(cli):
    result = succeeds(cli("plan", IRB, *DIGEST, "--payload", "plate", *FEW, "--rate", "2000"))
    out = result.out
    assert re.match(r"0\.52\d\d s along the path \(minimum-time\)\n57\.\d picks per minute", out)
    assert "there, and back in the same time" in out
    assert re.search(r"(?m)^motor 2 +-\d+\.?\d* +\d+\.?\d* +N m +\d+\.?\d* +rad/s$", out)
    assert re.search(r"(?m)^jerk of q2 +1745 +rad/s\^3 +100\.0 +\d\.\d+$", out)
    assert "and 17 more limits" in out
    assert re.search(r"(?m)^if 10 % higher +gained per way \[ms\]$", out)
    assert re.search(
        r"--cells 40 is fewer than the \d+ that this path needs; \d+ are used", result.err
    )
    assert "not limited" not in result.err
    assert re.search(r"(?m)^joint_jerk +\d+\.\d\d$", out)
    assert "binding: s 0.000-0." in out
    assert max(map(len, out.splitlines())) <= 100
    assert re.search(r"(?m)^replay: 10\d\d samples, every 0\.5 ms: at most 100\.\d % of the ", out)


def test_methods_that_leave_jerks_out_say_so(cli, tmp_path):
    more = ("--method", "core", *FEW, "--dwell", "0.1", "--out", "c.npz")
    result = succeeds(cli("plan", IRB, *DIGEST, "--payload", "plate", *more))
    assert "0.1 s of rest after each way" in result.out
    assert "gained" not in result.out  # the core knows no prices
    assert "starts with a step of acceleration" in result.err
    assert (tmp_path / "c.npz").exists()


def test_limits_margins_and_tolerances_make_it_slower(cli, planned):
    more = ("--limit", "rod_force=100N", "--limit", "joint_jerk=8e4deg/s^3")
    more += ("--margin", "flange_force=30%", "--payload-tolerance", "10%", "--payload-grip", "500")
    command = ("plan", IRB, *DIGEST, "--payload", "plate", *FEW, *more, "--json")
    data = json.loads(succeeds(cli(*command)).out)
    assert data["duration"] > planned[0]["duration"] + 0.02
    allowed = {item["label"]: item["allowed"] for item in data["limits"]}
    assert allowed["tension of rod 1a"] == pytest.approx(90)  # of 100 N, a tenth kept free
    assert allowed["force on the flange"] == pytest.approx(98)  # of 140 N
    assert allowed["jerk of q1"] == pytest.approx(np.radians(8e4))
    assert "grip on the payload" in allowed
    assert data["replay"]["exceeded"] == []
    assert not any(fact["key"].startswith("limits.rod_force") for fact in data["assumptions"])


@pytest.mark.long
def test_rate_runs_there_and_back(cli, tmp_path):
    command = ("rate", IRB, "--payload", "1", "--turn", "90deg", *FEW, *FINE, "--out", "r.json")
    result = succeeds(cli(*command))
    assert re.match(r"0\.\d+ s there and back \(minimum-time\)\n\d+\.\d cycles per m", result.out)
    assert "gained per cycle [ms]" in result.out
    assert "binding there: " in result.out
    assert "binding back: " in result.out
    message = json.loads((tmp_path / "r.json").read_text())
    assert message["joint_names"] == ["q1", "q2", "q3", "q4"]
    turns = [point["positions"][3] for point in message["points"]]
    assert max(turns) == pytest.approx(np.pi / 2)
    assert np.allclose([turns[0], turns[-1]], 0, atol=1e-9)
    ends = [point["velocities"] for point in (message["points"][0], message["points"][-1])]
    assert np.allclose(ends, 0, atol=1e-6)


@pytest.mark.parametrize("command", ["plan", "rate"])
def test_the_example_in_the_help_works(cli, files, command):
    text = succeeds(cli(command, "--help")).out
    example = re.search(r"Example: triskele (.+(?:\n {4,}.+)*)", text)
    assert example is not None
    succeeds(cli(*shlex.split(example[1]), *FEW, *(FINE if command == "rate" else ())))
    assert files() == {}


def test_short_touches_are_counted_and_averages_come_first():
    whole, long, short = (
        {"from": a, "to": b, "limit": label, "whole": label == "RMS", "lasts": b - a}
        for a, b, label in ((0.0, 1.0, "RMS"), (0.1, 0.3, "jerk"), (0.4, 0.401, "force"))
    )
    assert _run_texts([whole, long, short], 0.01) == [
        "RMS over the whole motion",
        "s 0.100-0.300 jerk",
        "and 1 more, each for less than 10 ms",
    ]
    assert _run_texts([short], 0.01) == ["s 0.400-0.401 force"]
    assert _run_texts([], 0.01) == []


def with_continuous_torque(folder):
    """The IRB 360 with a limit of its RMS torques, as a file."""
    path = folder / "rms.toml"
    text = resources.files("triskele.description.robots").joinpath(f"{IRB}.toml").read_text()
    before = "peak_torque = { value = 4,"
    assert before in text
    path.write_text(text.replace(before, f'continuous_torque = "0.9 N m"\n{before}', 1))
    return path


def test_an_rms_limit_binds_is_priced_and_is_the_same_in_text_json_and_figure(
    cli, tmp_path, monkeypatch
):
    drawn = []
    monkeypatch.setattr(
        "triskele.reports.figures.save_figure", lambda figure, path: drawn.append(figure) or path
    )
    robot = with_continuous_torque(tmp_path)
    command = ("rate", robot, "--payload", "plate", "--turn", "90deg", *FEW, "--period", "1ms")
    result = succeeds(cli(*command, "--figure", "r.png"))
    data = json.loads(succeeds(cli(*command, "--json")).out)
    assert "binding there: RMS torque of motor 2 over the whole motion; s 0." in result.out
    assert re.search(r"(?m)^RMS torque of motor \d +26\.73 +N m +100\.0 +whole$", result.out)
    runs = data["binding"][0]
    assert (runs[0]["from"], runs[0]["to"], runs[0]["whole"]) == (0.0, 1.0, True)
    assert runs[0]["limit"] == "RMS torque of motor 2"
    gain = 1e3 * data["gains"]["continuous_torque"]
    assert 0.1 < 2 * gain / 1e3 / data["duration"] < 0.3  # T falls with the root, or faster
    assert data["gains_per"] == "cycle"
    assert re.search(rf"(?m)^continuous_torque +{gain:.2f}$", result.out)
    assert re.search(r"(?m)^if 10 % higher +gained per cycle \[ms\]$", result.out)
    (figure,) = drawn
    assert f"{data['duration']:.4f} s there and back" in figure.get_suptitle()
    worth = figure.axes[5]
    assert worth.get_xlabel() == "gained per cycle by 10 % more [ms]"
    bars = [bar.get_width() for bar in worth.patches]
    assert max(bars) == pytest.approx(gain)
    assert figure.axes[2].lines[0].get_xdata()[-1] == pytest.approx(data["duration"])


def test_what_no_limit_bounds_is_named(cli):
    result = succeeds(cli("plan", IRB, "--path", "rating-cycle", "--turn", "90deg", *FEW))
    lines = [line for line in result.err.splitlines() if line.startswith("not limited")]
    assert [re.sub(r"to [\d.]+ ", "to # ", line) for line in lines] == [
        f"not limited: the {quantity} of q4; the file has no {key} there, and the plan asks for "
        f"up to # {unit}"
        for quantity, key, unit in (
            ("acceleration", "limits.joint_acceleration", "rad/s^2"),
            ("jerk", "limits.joint_jerk", "rad/s^3"),
            ("torque", "motors.axis4.peak_torque", "N m"),
        )
    ]


def test_methods_with_cells_of_their_own_say_that_others_are_not_used(cli):
    result = succeeds(cli("plan", IRB, *DIGEST, "--method", "step-start", *FEW))
    assert "--cells is not used: the method step-start has 46 cells" in result.err


REFUSED = {
    "a method that does not exist": ("--method fastest", r"there is no 'fastest'. Known: core"),
    "a path that does not exist": ("--path u-trun", r"No path is called 'u-trun'. Did you mean"),
    "an option of another path": ("--radius 0.1", r"path u-turn has no use for --radius; it takes"),
    "an option of a path, for a table": ("--path w.csv --corner 1", r"way-points has no use for"),
    "way-points twice": ("--path w.csv", r"w\.csv: rows 3 and 4 are at the same place"),
    "no table": ("--path none.csv", r"none\.csv: no such file"),
    "a line without ends": ("--path line --start 0,0,-0.9", r"needs --start and --end"),
    "a limit without a value": ("--limit rod_force", r"'rod_force' is not a name and a value"),
    "an unknown limit": ("--limit rod_froce=1N", r"no limit 'rod_froce'. Did you mean 'rod_fo"),
    "a limit of zero": ("--limit rod_force=0N", r"rod_force: 0 N is not a force. It must be pos"),
    "a limit in a wrong unit": ("--limit rod_force=1kg", r"'kg' is not a unit of this quantity"),
    "an unknown margin": ("--margin rods=0.1", r"--margin: there is no limit 'rods'"),
    "all of a limit kept free": ("--margin rod_force=1", r"--margin rod_force is 1; it is a part"),
    "a grip without a payload": ("--payload-grip 9", r"--payload-grip needs --payload"),
    "friction without a grip": ("--payload 1 --grip-friction 1", r"needs --payload-grip"),
    "a tolerance of all": ("--payload 1 --payload-tolerance 1", r"is a part of the mass"),
    "a time backwards": ("--dwell -1", r"dwell is -1 s; it must not be negative"),
    "two periods": ("--period 1ms --rate 1000", r"--period and --rate say the same"),
    "no period": ("--period 0", r"--period is 0 s; it must be positive"),
    "too few cells": ("--cells 3", r"cells is 3; at least 8 are needed"),
    "half a cell": ("--cells 8.5", r"'8.5' is not a whole number"),
    "out of reach": (
        "--path line --start 0,0,-0.9 --end 0,0,-1.6",
        r"leaves the reach of abb_irb360_6_1600 at s = 1\.000 of the path \(0, 0, -1\.6, 0\)",
    ),
    "through what counts as singular": (
        "--limit singularity_margin=0.95",
        r"leaves the reach of abb_irb360_6_1600 at s = 0\.\d+ of the path .*loses stiffness",
    ),
    "too heavy to hold": (
        "--payload heavy_plate --limit rod_force=20N",
        r"Even at rest at s = \d\.\d+ of the path .* the tension of rod \d[ab] is .* cannot be car",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_one_sentence_and_no_file(cli, files, tmp_path, case):
    line, expected = REFUSED[case]
    (tmp_path / "w.csv").write_text(WAYS.format("0,0,-900\n0,0,-900\n"))
    before = files()
    code, out, err = cli("plan", IRB, *line.split(), "--out", "plan.csv", "--figure", "plan.png")
    assert (code, out) == (2, ""), err
    assert files() == before
    assert sorted(os.listdir(tmp_path)) == ["w.csv"]
    (sentence,) = err.splitlines()
    assert re.fullmatch(r"triskele: .*[^.][.?)]", sentence)
    assert re.search(expected, sentence), sentence


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("plan omron_mini_delta", r"nothing bounds how fast it may start. .* --limit joint_acc"),
        ("plan omron_mini_delta --turn 1", r"--turn needs a flange that turns; omron_mini_delta"),
        ("plan compliant_3prs", r"not move along x or y; a pick needs .*; it can follow a line"),
        (f"plan {IRB} --out plan.txt", r"must end in \.csv, \.parquet, \.npz, \.json, \.yaml"),
        (f"rate {IRB} --path line", r"No such option"),
        ("rate omron_mini_delta --turn 90deg", r"--turn needs a flange that turns"),
    ],
)
def test_a_robot_that_cannot_is_told_so(cli, files, line, expected):
    code, out, err = cli(*line.split())
    assert (code, out, files()) == (2, "", {})
    assert re.search(expected, err), err
