"""The commands `bandwidth`, `simulate --motion` and `modes` of a robot with springs."""

import json

import numpy as np
import pytest

from triskele.description.tables import read_table

STAGE = "compliant_3prs"
WAVE = ("--motion", "sine", "--amplitude", "2mm,0,0", "--duration", "0.2")


def succeeds(result):
    assert result.code == 0, result.err
    return result


def test_bandwidth_in_json_with_a_table_and_a_figure(cli, tmp_path):
    result = succeeds(
        cli("bandwidth", STAGE, "--json", "--out", "bode.csv", "--figure", "bode.png")
    )
    found = json.loads(result.out)
    bands = {item["coordinate"]: item for item in found["bandwidths"]}
    assert bands["z"]["relative"] == pytest.approx(15.96, abs=0.01)
    assert bands["psi"]["absolute"] == pytest.approx(12.22, abs=0.01)
    assert found["margins"]["gain_limit"] == pytest.approx(519.9, abs=0.1)
    assert found["slowest"]["growth"] < 1
    table = read_table(tmp_path / "bode.csv")
    assert "f [Hz]" in (tmp_path / "bode.csv").read_text().splitlines()[0]
    assert "z_phase [rad]" in (tmp_path / "bode.csv").read_text().splitlines()[0]
    gain = np.asarray(table["z_gain"].values)
    assert gain[0] == pytest.approx(bands["z"]["gain"])
    f = np.asarray(table["f"].values)
    assert np.interp(15.961, f, gain) == pytest.approx(gain[0] / np.sqrt(2), rel=1e-3)
    assert (tmp_path / "bode.png").read_bytes().startswith(b"\x89PNG")
    assert "assumed: motors.drives.coupling_stiffness" in result.err


def test_gains_of_the_command_line_take_the_place_of_the_files(cli):
    slow = json.loads(succeeds(cli("bandwidth", STAGE, "--position-gain", "30", "--json")).out)
    assert slow["bandwidths"][0]["relative"] < 8
    assert slow["margins"]["gain_limit"] == pytest.approx(519.9, abs=0.1)
    late = json.loads(succeeds(cli("bandwidth", STAGE, "--late", "--json")).out)
    assert late["bandwidths"][0]["relative"] == pytest.approx(20.2, abs=0.1)
    assert late["bandwidths"][0]["peak"] == pytest.approx(1.22, abs=0.005)


@pytest.mark.long
def test_sensitivity_names_what_would_be_unstable(cli):
    result = succeeds(cli("bandwidth", STAGE, "--position-gain", "300", "--sensitivity"))
    (row,) = [line for line in result.out.splitlines() if line.startswith("position_gain")]
    assert row.endswith("unstable")


def test_a_motion_is_followed_with_a_table_and_a_figure(cli, tmp_path):
    files = ("--out", "run.csv", "--figure", "run.png")
    result = succeeds(cli("simulate", STAGE, *WAVE, *files, "--json"))
    found = json.loads(result.out)
    assert found["ended"] is None and 0 < found["step_error"] < 1e-5
    table = read_table(tmp_path / "run.csv")
    asked, reached = (np.asarray(table[name].values) for name in ("z_command", "z"))
    assert np.abs(asked - reached).max() == pytest.approx(found["platform"]["z"]["error_peak"])
    torque, current = (np.asarray(table[f"{name}1"].values) for name in ("torque", "current"))
    assert np.allclose(torque, 0.0302 * current)
    assert table["motor1"].unit == "rad"
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_feeding_forward_is_worth_it(cli):
    plain, fed = (
        json.loads(succeeds(cli("simulate", STAGE, *WAVE, *feed, "--json")).out)
        for feed in ((), ("--feed", "velocity,windup"))
    )
    rms = [item["platform"]["z"]["error_rms"] for item in (plain, fed)]
    assert rms[1] < rms[0] / 4


def test_modes_of_a_robot_with_springs(cli):
    found = json.loads(succeeds(cli("modes", STAGE, "--json")).out)["modes"]
    assert found["motors locked"][0]["frequency"] == pytest.approx(172.05, abs=0.01)
    assert found["sliders free, motors off"][1]["frequency"] == pytest.approx(83.56, abs=0.01)
    shape = found["motors locked"][0]["shape"]
    assert abs(shape["z"]) > 1e3 * abs(shape["psi"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bandwidth", STAGE, "--position-gain", "700"), ("unstable", "700", "519.9")),
        (("bandwidth", STAGE, "--velocity-period", "1ms", "--velocity-gain", "20"), ("1 ms",)),
        (("bandwidth", STAGE, "--velocity-period", "3ms"), ("multiple",)),
        (("bandwidth", STAGE, "--position-gain", "-3"), ("position_gain", "positive")),
        (("bandwidth", STAGE, "--position-gain", "65 mm"), ("--position-gain",)),
        (("bandwidth", STAGE, "--method", "sweep"), ("--method", "swept")),
        (("bandwidth", STAGE, "--top", "150"), ("100 Hz",)),
        (("bandwidth", STAGE, "--reference", "500"), ("reference",)),
        (("bandwidth", STAGE, "--feed", "speed"), ("--feed", "velocity")),
        (("bandwidth", STAGE, "--map", "--sensitivity"), ("--map",)),
        (("bandwidth", STAGE, "--map", "--points", "2"), ("--points",)),
        (("bandwidth", "omron_mini_delta"), ("omron_mini_delta", "control")),
        (("simulate", STAGE, *WAVE, "--step", "3ms"), ("3 ms", "coupling mode", "189.9 Hz")),
        (("simulate", STAGE, *WAVE, "--torque", "0"), ("--torque", "--motion")),
        (("simulate", STAGE, "--amplitude", "2mm"), ("--amplitude", "--motion")),
        (("simulate", STAGE, "--feed", "windup"), ("--feed", "--motion")),
        (("simulate", STAGE, "--motion", "joint-sine"), ("--amplitude",)),
        pytest.param(
            ("simulate", STAGE, "--motion", "joint-sine", "--amplitude", "200mm"),
            ("closed",),
            marks=pytest.mark.long,
        ),
        (("modes", STAGE, "--map"), ("--map", STAGE)),
        (("modes", STAGE, "--at", "0.2", "0", "0"), ("--at", "reach")),
    ],
)
def test_a_mistake_gets_a_sentence_and_no_file(cli, files, arguments, words):
    before = files()
    result = cli(*arguments)
    assert result.code == 2, result.out
    assert result.err.startswith("triskele: ") and "Traceback" not in result.err
    for word in words:
        assert word in result.err
    assert set(files()) == set(before)


@pytest.mark.long
def test_bandwidth_says_which_links_it_leaves_out(cli):
    irb = "abb_irb360_6_1600"
    found = json.loads(succeeds(cli("bandwidth", irb, "--json")).out)["links_left_out"]
    assert 60 < found["links"] < 70 < found["platform"]
    out = succeeds(cli("bandwidth", irb)).out
    line = f"they swing from {found['links']:.4g} Hz, the platform with them from"
    assert f"links that bend are left out: {line} {found['platform']:.4g} Hz\n" in out
    assert max(map(len, out.splitlines())) <= 100
    assert "left out" not in cli("bandwidth", STAGE).out
