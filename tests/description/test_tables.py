"""Tables: what is written is read again to the last bit, and every mistake has its sentence."""

import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triskele.description import tables
from triskele.description.tables import Table, read_table, write_table
from triskele.errors import InputError, TableError
from triskele.units import to_si

FORMATS = ("csv", "parquet")
SHARED_FOLDER = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)
NAMES = st.text(min_size=1, max_size=12).filter(
    lambda name: (
        name.isprintable()
        and name == name.strip()
        and not name.startswith("#")
        and not set(name) & set(',;"[]')
    )
)
COHERENT = st.sampled_from(["s", "m", "rad/s^2", "N m s/rad", "1", "Hz", "kg m^2", "J"])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def random_tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(1, 8))
    column = st.tuples(COHERENT, st.lists(NUMBERS, min_size=rows, max_size=rows))
    return Table(draw(st.dictionaries(NAMES, column, min_size=1, max_size=5)))


def bits(table: Table) -> list[tuple[str, str, list[int]]]:
    """Names, units and the very bits of the values, so that -0.0 is not 0.0."""
    return [
        (name, table[name].unit, table[name].values.view(np.int64).tolist()) for name in table.names
    ]


def read(folder: Path, text: str | bytes, name: str = "log.csv") -> Table:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path)


def complaint(folder: Path, text: str | bytes, name: str = "log.csv") -> str:
    """The sentence, with the folder taken off the file's name."""
    with pytest.raises(TableError) as error:
        read(folder, text, name)
    message = str(error.value)
    assert message.startswith(f"{folder / name}")
    return message.removeprefix(f"{folder}/")


@SHARED_FOLDER
@given(table=random_tables(), kind=st.sampled_from(FORMATS))
def test_what_is_written_is_read_again_to_the_last_bit(tmp_path: Path, table: Table, kind: str):
    path = write_table(table, tmp_path / f"log.{kind}")
    assert bits(read_table(path)) == bits(table)


@SHARED_FOLDER
@given(text=st.text(alphabet='t x[]ms,;"#\n\r\t0123.e-nan\x00\x0c', max_size=60))
def test_any_text_is_a_table_or_a_table_error(tmp_path: Path, text: str):
    for content in (text, "t [s],x [m]\n" + text):
        try:
            table = read(tmp_path, content)
        except TableError as error:
            assert str(error).endswith((".", "?"))
        else:
            assert all(np.isfinite(table[name].values).all() for name in table.names)


@SHARED_FOLDER
@given(data=st.binary(max_size=80), kind=st.sampled_from(FORMATS))
def test_any_bytes_are_a_table_or_a_table_error(tmp_path: Path, data: bytes, kind: str):
    try:
        read(tmp_path, data, f"log.{kind}")
    except TableError as error:
        assert str(error).endswith((".", "?"))


@pytest.mark.parametrize(
    ("unit", "si", "value", "expected"),
    [
        ("mm", "m", 1106, 1.106),
        ("ms", "s", 3, 0.003),
        ("deg", "rad", 180, math.pi),
        ("rpm", "rad/s", 30, math.pi),
        ("%", "1", 50, 0.5),
        ("", "1", 2, 2.0),
        ("1", "1", 2, 2.0),
        ("mm/s^2", "m/s^2", 9810, 9.81),
        ("N mm/deg", "N m/rad", math.pi, 0.18),
        ("g cm^2", "kg m^2", 1, 1e-7),
        ("bar", "Pa", 2, 2e5),
        ("in", "m", 10, 0.254),
        ("mm^5 K", "m^5 K", 1, 1e-15),
        ("Hz", "Hz", 7, 7.0),
        ("N  m", "N m", 7, 7.0),
    ],
)
def test_columns_are_converted_to_si(tmp_path, unit, si, value, expected):
    table = read(tmp_path, f"value [{unit}]\n{value}\n")
    assert table["value"].unit == si
    assert table["value"].values.tolist() == pytest.approx([expected], rel=1e-15)
    assert table.column("value", si)[0] == pytest.approx(to_si(value, unit, si), rel=1e-15)


def test_a_whole_number_of_millimetres_is_the_nearest_float(tmp_path):
    millimetres = range(1, 3000)
    table = read(tmp_path, "x [mm]\n" + "\n".join(map(str, millimetres)))
    assert table.column("x", "m").tolist() == [float(f"{n}e-3") for n in millimetres]


def test_reading_passes_over_comments_empty_lines_marks_and_quotes(tmp_path):
    text = '\ufeff# from the controller\r\n\r\n"t [s]", "x [mm]" ,psi[deg]\r\n0, 1 ,2e0\r\n'
    table = read(tmp_path, f"{text}  # a pause\r\n \r\n+1,-2.5,.5")
    assert table.names == ("t", "x", "psi")
    assert table.rows == 2
    assert table.column("t", "s").tolist() == [0, 1]
    assert table.column("x", "m").tolist() == [0.001, -0.0025]


def test_a_csv_is_what_a_human_would_write(tmp_path):
    table = Table({"t": ("ms", [0, 100]), "tau 1": ("N m", [0.1 + 0.2, -1e-9]), "k": ("", [1, 2])})
    path = write_table(table, tmp_path / "log.CSV")
    expected = "t [s],tau 1 [N m],k [1]\n0.0,0.30000000000000004,1.0\n0.1,-1e-09,2.0\n"
    assert path.read_text(encoding="utf-8") == expected


def test_a_parquet_file_says_its_units_to_other_programs_too(tmp_path):
    path = write_table(Table({"x": ("mm", [250])}), tmp_path / "log.parquet")
    schema = pq.read_table(path).schema
    assert schema.names == ["x [m]"]
    assert schema.field(0).metadata[b"unit"] == b"m"


def parquet(
    folder: Path, *columns: tuple[str, str | None, list], name: str = "log.parquet"
) -> Path:
    fields = [
        pa.field(header, pa.array(values).type, metadata=None if unit is None else {"unit": unit})
        for header, unit, values in columns
    ]
    arrays = [pa.array(values) for _, _, values in columns]
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), folder / name)
    return folder / name


def test_parquet_of_other_programs_may_name_units_in_either_place(tmp_path):
    path = parquet(
        tmp_path,
        ("t [ms]", None, [0, 5]),
        ("x", "mm", [1.0, 2.0]),
        ("psi [deg]", "deg", [180.0, 0.0]),
    )
    table = read_table(path)
    assert table.column("t", "s").tolist() == [0, 0.005]
    assert table.column("x", "m").tolist() == [0.001, 0.002]
    assert table.column("psi", "rad").tolist() == [math.pi, 0]


def test_values_are_a_copy_that_cannot_be_changed():
    values = np.array([1.0, 2.0])
    table = Table({"x": ("m", values)})
    values[0] = 7
    assert table.column("x", "m")[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        table.column("x", "m")[0] = 7


BAD_CSV = {
    "": "log.csv: is empty; a header, such as `t [s],x [m]`, and rows were expected.",
    "# only\n\n  \n": "log.csv: is empty; a header, such as `t [s],x [m]`, and rows were expected.",
    "t [s],x [m]\n": "log.csv: has a header, but no rows.",
    "t [s],x [m]\n# none\n\n": "log.csv: has a header, but no rows.",
    "t [s],x\n1,2\n": (
        "log.csv, line 1, column 'x': has no unit; write `x [m]`, or `x [1]` for a plain number."
    ),
    "# c\nx [m],t [s\n1,2\n": (
        "log.csv, line 2, column 't [s': has no unit; write `t [m]`, or `t [1]` for a plain number."
    ),
    "t [s],x [m] y\n1,2\n": (
        "log.csv, line 1, column 'x [m] y': has no unit; write `x [m]`, or `x [1]` for a plain "
        "number."
    ),
    "1,2\n3,4\n": (
        "log.csv, line 1, column '1': has no unit; write `1 [m]`, or `1 [1]` for a plain number."
    ),
    "t [s],[m]\n1,2\n": "log.csv, line 1, column 2: has no name; write `x [m]`, say.",
    "t [s],\n1,2\n": "log.csv, line 1, column 2: has no name; write `x [m]`, say.",
    "t [s],x [m],x [m]\n1,2,3\n": "log.csv, line 1, column 'x': appears twice.",
    "x [m],x [mm]\n1,2\n": "log.csv, line 1, column 'x': appears twice.",
    "t [s],x [metre]\n1,2\n": "log.csv, column 'x': unit 'metre': 'metre' is not a unit.",
    "t [s],x [m/]\n1,oops\n": "log.csv, line 2, column 'x': 'oops' is not a number.",
    "t [s],x [mn]\n1,2\n": "unit 'mn': 'mn' is not a unit. Did you mean 'min'?",
    "t [s],x [m]\n1,2\n3\n": "log.csv, line 3: has 1 cell; the header has 2: t, x.",
    "t [s],x [m]\n1,2\n#\n3,4,5\n": "log.csv, line 4: has 3 cells; the header has 2: t, x.",
    "t [s],x [m]\n1,2,3\n4,5,6\n": "log.csv, line 2: has 3 cells; the header has 2: t, x.",
    "t [s],x [m]\n1,2,\n": "log.csv, line 2: has 3 cells; the header has 2: t, x.",
    "t [s]\n1\n2,5\n": "log.csv, line 3: has 2 cells; the header has 1: t.",
    "t [s],x [m]\n1,2\n\n3,abc\n": "log.csv, line 4, column 'x': 'abc' is not a number.",
    "t [s],x [m]\n1,2 mm\n": "log.csv, line 2, column 'x': '2 mm' is not a number.",
    "t [s],x [m]\n1,2 # why\n": "log.csv, line 2, column 'x': '2 # why' is not a number.",
    "t [s],x [m]\n1;5,2\n": "log.csv, line 2, column 't': '1;5' is not a number.",
    't [s],x [m]\n1,"2\n': "log.csv, line 2, column 'x': '\"2' is not a number.",
    "t [s],x [m]\n1,1_000\n": "log.csv, line 2, column 'x': '1_000' is not a number.",
    "t [s],x [m]\n1,0x1F\n": "log.csv, line 2, column 'x': '0x1F' is not a number.",
    "t [s],x [m]\n1,True\n": "log.csv, line 2, column 'x': 'True' is not a number.",
    "t [s],x [m]\n1,1+2j\n": "log.csv, line 2, column 'x': '1+2j' is not a number.",
    "t [s],x [m]\n,2\n": "log.csv, line 2, column 't': is empty; every cell needs a number.",
    "t [s],x [m]\n1, \n": "log.csv, line 2, column 'x': is empty; every cell needs a number.",
    "t [s],x [m]\n1,nan\n": "log.csv, line 2, column 'x': 'nan' is not a finite number.",
    "t [s],x [m]\n1,2\n1,-inf\n": "log.csv, line 3, column 'x': '-inf' is not a finite number.",
    "t [s],x [m]\n1,1e400\n": "log.csv, line 2, column 'x': '1e400' is not a finite number.",
    "t [s],x [km]\n1,2\n1,1e308\n": "log.csv, column 'x', row 2: inf is not a finite number.",
    "t [s];x [m]\n1;2\n": (
        "log.csv, line 1: columns are separated by semicolons; use commas, and points in numbers."
    ),
    "t [s]\tx [m]\n1\t2\n": (
        "log.csv, line 1: columns are separated by tabs; use commas, and points in numbers."
    ),
    't [s],"a,b [m]"\n1,2\n': "log.csv, line 1, column '\"a': has no unit; write",
    't [s],"a [m]\n1,2\n': "log.csv, column '\"a': is not a name for a column.",
    f"x [{'GPa^9 ' * 9}]\n1\n": "is too far from SI to convert.",
    b"t [s]\n\xb5\n": "log.csv: is not a text file in UTF-8.",
    "t [s]\n1\n".encode("utf-16"): "log.csv: is not a text file in UTF-8.",
}


@pytest.mark.parametrize("text", BAD_CSV)
def test_a_broken_csv_is_refused_in_one_sentence(tmp_path, text):
    assert BAD_CSV[text] in complaint(tmp_path, text)


BAD_PARQUET = {
    "text": ([("t [s]", None, ["a", "b"])], "column 't': holds string, not numbers."),
    "truth": ([("t [s]", None, [True])], "column 't': holds bool, not numbers."),
    "lists": ([("t [s]", None, [[1.0], [2.0]])], "column 't': holds list<"),
    "null": ([("t [s]", None, [1.0, None])], "column 't', row 2: is empty"),
    "nan": ([("t [s]", None, [1.0, math.nan])], "column 't', row 2: nan is not a finite number."),
    "no unit": ([("t", None, [1.0])], "column 't': has no unit; write `t [m]`"),
    "no name": ([("[s]", None, [1.0])], "column 1: has no name"),
    "unknown unit": ([("t", "sec", [1.0])], "column 't': unit 'sec': 'sec' is not a unit."),
    "two units": ([("t [ms]", "s", [1.0])], "column 't': its name says [ms], its metadata [s]."),
    "twice": ([("t [s]", None, [1.0]), ("t", "s", [1.0])], "column 't': appears twice."),
    "same name": ([("t [s]", None, [1.0]), ("t [s]", None, [1.0])], "column 't': appears twice."),
    "no rows": ([("t [s]", None, [])], "has no rows."),
    "no columns": ([], "has no columns."),
}


@pytest.mark.parametrize("case", BAD_PARQUET)
def test_a_parquet_file_that_is_no_table_is_refused_in_one_sentence(tmp_path, case):
    columns, expected = BAD_PARQUET[case]
    with pytest.raises(TableError) as error:
        read_table(parquet(tmp_path, *columns))
    assert expected in str(error.value)
    assert str(tmp_path / "log.parquet") in str(error.value)


@pytest.mark.parametrize("cut", [0, 4, 30, -1])
def test_a_truncated_parquet_file_is_refused_in_one_sentence(tmp_path, cut):
    whole = parquet(tmp_path, ("t [s]", None, [1.0, 2.0])).read_bytes()
    message = complaint(tmp_path, whole[:cut], "cut.parquet")
    assert message.startswith("cut.parquet: is not a Parquet file that can be read: ")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, "table: has no columns."),
        ({"x": ("m", [])}, "table, column 'x': has shape (0,); a list of numbers was expected."),
        ({"x": ("m", 1.0)}, "table, column 'x': has shape (); a list"),
        ({"x": ("m", [[1.0]])}, "table, column 'x': has shape (1, 1); a list"),
        ({"x": ("m", ["a"])}, "table, column 'x': holds something that is not a number."),
        ({"x": ("m", [[1], [2, 3]])}, "table, column 'x': holds something that is not a number."),
        ({"x": ("m", [0, math.inf])}, "table, column 'x', row 2: inf is not a finite number."),
        ({"x": ("mm", [math.nan])}, "table, column 'x', row 1: nan is not a finite number."),
        ({"x": ("parsec", [1])}, "table, column 'x': unit 'parsec': 'parsec' is not a unit."),
        (
            {"t": ("s", [1, 2]), "x": ("m", [1])},
            "table, column 'x': has 1 rows, but 't' has 2.",
        ),
        *(
            ({name: ("m", [1])}, f"table, column '{name}': is not a name for a column.")
            for name in ("", " x", "x ", "#x", "x[1]", "a,b", "a;b", 'a"b', "a\nb", "\ufeffx")
        ),
    ],
)
def test_a_table_that_could_not_be_written_is_not_made(columns, expected):
    with pytest.raises(TableError) as error:
        Table(columns)
    assert str(error.value).startswith(expected)


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("torqe", "N m", "log.csv: there is no column 'torqe'. Did you mean 'torque'?"),
        ("zzz", "N m", "log.csv: there is no column 'zzz'. Known: torque, x."),
        ("x", "rad", "log.csv, column 'x': is in [m], but [rad] was expected."),
        ("torque", "N m/rad", "column 'torque': is in [N m], but [N m/rad] was expected."),
        ("x", "", "log.csv, column 'x': is in [m], but [1] was expected."),
    ],
)
def test_asking_for_what_is_not_there_says_what_is(tmp_path, name, unit, expected):
    table = read(tmp_path, "x [mm],torque [N m]\n1,2\n")
    assert "x" in table
    assert "y" not in table
    with pytest.raises(TableError) as error:
        table.column(name, unit)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("none.csv", "none.csv: no such file."),
        ("none.parquet", "none.parquet: no such file."),
        ("folder.csv", "folder.csv: is a directory; a table (.csv or .parquet) was expected."),
        ("log.xlsx", "log.xlsx: '.xlsx' is not a kind of table; tables end in .csv or .parquet."),
        ("log", "log: has no extension; tables end in .csv or .parquet."),
        ("file.csv/log.csv", "log.csv: cannot be read: Not a directory."),
        ("n" * 300 + ".csv", ".csv: cannot be read: File name too long."),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, expected):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file.csv").write_text("x")
    with pytest.raises(TableError) as error:
        read_table(str(tmp_path / name))
    assert str(error.value).endswith(expected)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("log.txt", TableError, "'.txt' is not a kind of table; tables end in .csv or .parquet."),
        ("folder.csv", InputError, "is a directory; name a file to write."),
        ("none/log.csv", InputError, "does not exist."),
        ("none/log.parquet", InputError, "does not exist."),
    ],
)
def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path, name, kind, expected):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(kind) as error:
        write_table(Table({"x": ("m", [1])}), tmp_path / name)
    assert str(error.value).endswith(expected)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_an_impossible_target_is_refused_before_the_work_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_csv_text", lambda table: pytest.fail("too late"))
    with pytest.raises(InputError):
        write_table(Table({"x": ("m", [1])}), tmp_path / "none" / "log.csv")


def test_a_hundred_thousand_rows_are_read_quickly_and_an_error_at_their_end_is_found(tmp_path):
    values = np.random.default_rng(0).normal(size=(13, 100_000))
    table = Table({f"c{j}": ("m/s", column) for j, column in enumerate(values)})
    path = write_table(table, tmp_path / "log.csv")
    begin = time.process_time()
    again = read_table(path)
    assert time.process_time() - begin < 5  # [s]; about 0.6 on a quiet machine
    assert bits(again) == bits(table)
    with path.open("a") as file:
        file.write(",".join(["0"] * 12) + ",?\n")
    begin = time.process_time()
    with pytest.raises(TableError, match=r"line 100002, column 'c12': '\?' is not a number"):
        read_table(path)
    assert time.process_time() - begin < 10


def test_importing_tables_is_cheap():
    heavy = "{'numpy', 'pyarrow', 'jax', 'scipy'}"
    code = f"import sys, triskele.description.tables; sys.exit(str({heavy} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.stderr.strip() == "set()"
