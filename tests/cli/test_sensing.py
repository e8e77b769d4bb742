"""The commands `sense` and `encoders` as a user types them, and what they refuse."""

import json
import re

import numpy as np
import pytest

from triskele.description.tables import Table, read_table, write_table

PLATENS = "omron_mini_delta_platens"
PICK = ("--length", "0.2", "--height", "0.05", "--duration", "0.4")


def succeeds(result):
    assert result.code == 0, result.err
    return result


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    """One run of `encoders`, with all it writes."""
    import contextlib
    import io

    from triskele.cli import main

    folder = tmp_path_factory.mktemp("encoders")
    out, err = io.StringIO(), io.StringIO()
    arguments = ["encoders", PLATENS, *PICK, "--bits", "14,18", "--rates", "1000,500"]
    for name, file in (("--log", "log.csv"), ("--out", "rows.csv"), ("--figure", "bits.png")):
        arguments += [name, str(folder / file)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    assert code == 0, err.getvalue()
    return folder, out.getvalue(), err.getvalue()


def test_encoders_prints_errors_for_bits_rates_and_sensors(tried):
    folder, out, err = tried
    rows = re.findall(r"(?m)^(chord|observer) +(\d+) +(\d+) +(\S+) +(\S+) +(\S+)$", out)
    assert len(rows) == 8
    error = {(sensor, int(hz), int(bits)): float(d) for sensor, hz, bits, d, *_ in rows}
    assert error["chord", 1000, 18] < error["chord", 1000, 14]
    assert error["chord", 1000, 18] < 3
    assert "largest deflection" in out
    assert "sensors in the table: 0 = chord, 1 = observer" in err
    table = read_table(folder / "rows.csv")
    assert table["rate"].unit == "1/s" or table["rate"].unit == "Hz"
    assert table.rows == 8
    assert (folder / "bits.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("sensor", ["chord", "modal", "observer"])
def test_sense_reads_what_encoders_wrote(cli, tried, tmp_path, sensor):
    log, out = tried[0] / "log.csv", tmp_path / "sensed.csv"
    result = succeeds(cli("sense", PLATENS, "--log", log, "--sensor", sensor, "--out", out))
    assert f"{sensor} sensor, 401 samples in 0.4 s" in result.out
    limbs = re.findall(r"(?m)^limb (\d)" + 6 * r" +(\S+)" + "$", result.out)
    table = read_table(out)
    largest = [1e3 * np.abs(table[f"delta{i}"].values).max() for i in (1, 2, 3)]
    assert [float(row[1]) for row in limbs] == pytest.approx(largest, abs=1e-4)
    assert "tool: up to" in result.out
    assert re.search(
        r"\+- of the tool, parts of the variance: zeros of the motors \d+ %", result.out
    )
    assert "encoders.motor_zero_deviation = 0.02 deg" in result.err
    assert "assumed: " in result.err


def test_sense_as_json_with_a_figure_and_by_the_motors_alone(cli, tried, tmp_path):
    log, figure = tried[0] / "log.csv", tmp_path / "sensed.png"
    options = ("--sensor", "observer", "--motors-only", "--json", "--figure", figure)
    data = json.loads(succeeds(cli("sense", PLATENS, "--log", log, *options)).out)
    assert data["sensor"] == "observer"
    assert data["deflection"]["unit"] == "m"
    assert len(data["deflection"]["largest"]) == 3
    assert data["tool"]["from_rigid"] < 1e-4
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_sense_fits_zeros_and_says_which_the_log_shows(cli, tried):
    log = tried[0] / "log.csv"
    result = succeeds(cli("sense", PLATENS, "--log", log, "--fit", "zeros,E"))
    rows = re.findall(r"(?m)^zero of (\w+) \[deg\]" + 3 * r" +(\S+)" + " +(yes|no)$", result.out)
    assert [row[0] for row in rows] == ["q1", "q2", "q3", "wrist1", "wrist2", "wrist3"]
    assert all(abs(float(row[1])) < 0.02 for row in rows)
    assert "E against the file [%]" in result.out
    assert "motor_zero_deviation" not in result.err
    data = json.loads(succeeds(cli("sense", PLATENS, "--log", log, "--fit", "E", "--json")).out)
    assert [item["name"] for item in data["fit"]] == ["E"]


def spoilt(log, change) -> Table:
    table = read_table(log)
    columns = {name: (table[name].unit, table[name].values.copy()) for name in table.names}
    change(columns)
    return Table(columns, "log")


def in_degrees(columns):
    for i in (1, 2, 3):
        columns[f"wrist{i}"] = ("rad", np.degrees(columns[f"wrist{i}"][1]))


def gap(columns):
    columns["t"] = ("s", columns["t"][1] + 0.05 * (np.arange(401) >= 100))


def backwards(columns):
    columns["t"][1][50] = 0.0


def stuck(columns):
    columns["wrist3"][1][200:206] = columns["wrist3"][1][199]


def late(columns):
    for i in (1, 2, 3):
        columns[f"wrist{i}"] = (
            "rad",
            np.r_[columns[f"wrist{i}"][1][:1], columns[f"wrist{i}"][1][:-1]],
        )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (stuck, r"row 201, column 'wrist3': 6 of 401 samples repeat the one before"),
        (late, r"column 'wrist1': is (0\.9|1\.0)\S* \+- \S+ samples \(\S+ ms\) late"),
        (in_degrees, r"column 'wrist\d': .* rad, where the rod stands at"),
        (gap, r"row 101, column 't': a gap of 0.051 s"),
        (backwards, r"row 51, column 't': 0 s comes after 0.049 s"),
        (lambda columns: columns.pop("q2"), "no column 'q2'"),
        (lambda c: c.update(q1=("m", c["q1"][1])), r"column 'q1': is in \[m\]"),
    ],
)
def test_bad_logs_are_named_by_row_and_column_and_nothing_is_written(
    cli, tried, tmp_path, change, sentence
):
    bad, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    write_table(spoilt(tried[0] / "log.csv", change), bad)
    result = cli("sense", PLATENS, "--log", bad, "--out", out)
    assert result.code == 2
    assert re.search(sentence, result.err), result.err
    assert "Traceback" not in result.err
    assert not out.exists()


def test_cells_that_are_no_numbers_are_named(cli, tried, tmp_path):
    lines = (tried[0] / "log.csv").read_text().splitlines()
    cells = lines[7].split(",")
    lines[7] = ",".join(["nan" if k == 3 else cell for k, cell in enumerate(cells)])
    bad = tmp_path / "bad.csv"
    bad.write_text("\n".join(lines))
    result = cli("sense", PLATENS, "--log", bad)
    assert result.code == 2
    assert re.search(r"line 8, column '\w+': 'nan' is not a finite number", result.err)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("sense", PLATENS, "--log", "no.csv"), "no.csv: no such file"),
        (("sense", "flexible_delta", "--log", "{log}"), "arms that bend"),
        (("sense", "omron_mini_delta", "--log", "{log}"), "sections"),
        (("sense", PLATENS, "--log", "{log}", "--sensor", "cord"), "Did you mean 'chord'"),
        (("sense", PLATENS, "--log", "{log}", "--motors-only"), "--sensor observer"),
        (("sense", PLATENS, "--log", "{log}", "--window", "4"), "5, 7, 9"),
        (("sense", PLATENS, "--log", "{log}", "--out", "x.txt"), "must end in"),
        (("sense", PLATENS, "--log", "{log}", "--ends", "clamped-free"), "of --sensor modal"),
        (("sense", PLATENS, "--log", "{log}", "--noise", "1e-5"), "tune --sensor observer"),
        (("sense", PLATENS, "--log", "{log}", "--fit", "zero"), "'zero' cannot be fitted"),
        (("encoders", PLATENS, "--sensors", "chord,foo"), "No sensor is called 'foo'"),
        (("encoders", PLATENS, "--bits", "0"), "from 1 to 40"),
        (
            ("encoders", PLATENS, *PICK, "--bits", "16", "--rates", "1000,50"),
            "The slowest rate leaves 21 samples",
        ),
        (("encoders", PLATENS, "--bits", "many"), "write 12,14,16 or 12-23"),
        (("encoders", PLATENS, "--bits", "20-12"), "write 12,14,16 or 12-23"),
        (("encoders", PLATENS, "--rates", "1000,300"), "a half, a third"),
        (("encoders", PLATENS, "--rates", "1000", "--rate", "500"), "exclude one another"),
        (("encoders", "compliant_3prs", "--motion", "fourier"), "not a Delta"),
    ],
)
def test_mistakes_give_one_sentence(cli, tried, arguments, sentence):
    log = str(tried[0] / "log.csv")
    result = cli(*(text.replace("{log}", log) for text in arguments))
    assert result.code == 2, result.out
    assert sentence in result.err
    assert "Traceback" not in result.err
