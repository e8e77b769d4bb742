"""Tables of numbers with units: the only reader and writer of CSV and Parquet.

A column is called `name [unit]` in a file, such as `t [s]`, `x [mm]` or `tau1 [N m]`, and is
kept in SI units. A plain number says so, `gain [1]` or `gain []`; a header without brackets
is refused, because a forgotten unit is the commonest way to be wrong by a thousand.

CSV is UTF-8 with commas and decimal points; empty lines, and lines that begin with #, are
passed over. Floats are written with as many digits as it takes to read the same ones again.
Parquet repeats the unit in the metadata of each field. Every cell is a finite number.

Nothing here imports JAX, and NumPy and PyArrow only when a table is at hand.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triskele.description.files import LARGEST_TABLE, check_readable, check_writable, write_whole
from triskele.errors import InputError, TableError, UnitError, did_you_mean, shortened
from triskele.units import BASE, Dimension, parse_unit, same_dimension

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike

_HEADER = re.compile(r"\s*(.*?)\s*\[([^\[\]]*)\]\s*", re.DOTALL)
_USUAL = (
    "1, m, rad, s, kg, A, K, m/s, rad/s, m/s^2, rad/s^2, m/s^3, rad/s^3, N, N m, N/m, N m/rad, "
    "N s/m, N m s/rad, kg m, kg m^2, Pa, W, V, N m/A, rad/m, m^2, m^3, m^4, kg/m, kg/m^3"
)
_USUAL_UNITS = {parse_unit(unit).dimension: unit for unit in _USUAL.split(", ")}
_EXTENSIONS = (".csv", ".parquet")
_MOST_CELLS = 1 << 27  #: of a Parquet file, which may hold a number a billion times in a few bytes


class Column(NamedTuple):
    """One column: what it is measured in, and its numbers."""

    unit: str  #: SI, such as `N m`; `1` for a plain number
    values: "np.ndarray"  #: (rows,), double precision, finite


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, by name and in order.

    Given in any unit, they are kept in SI.

    >>> table = Table({"t": ("s", [0.0, 0.1]), "x": ("mm", [250, 300])})
    >>> table.column("x", "m")
    array([0.25, 0.3 ])
    """

    columns: Mapping[str, tuple[str, "ArrayLike"]]  #: name -> `Column`, once constructed
    place: str = "table"  #: where it came from, named in errors

    def __post_init__(self) -> None:
        """Convert to SI and refuse what could not be written and read again."""
        converted = {
            name: _column(f"{self.place}, column '{name}'", name, unit, values)
            for name, (unit, values) in self.columns.items()
        }
        if not converted:
            raise TableError(f"{self.place}: has no columns.")
        first, *others = converted
        for name in others:
            rows, expected = len(converted[name].values), len(converted[first].values)
            if rows != expected:
                raise TableError(
                    f"{self.place}, column '{name}': has {rows} rows, but '{first}' has {expected}."
                )
        object.__setattr__(self, "columns", converted)

    def __contains__(self, name: str) -> bool:
        """Whether there is a column `name`."""
        return name in self.columns

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self.columns)

    @property
    def rows(self) -> int:
        """How many rows there are, at least one."""
        return len(self[self.names[0]].values)

    def __getitem__(self, name: str) -> Column:
        """The column `name`, unit and values; an error names what exists."""
        if name not in self.columns:
            raise TableError(
                f"{self.place}: there is no column '{name}'. {did_you_mean(name, self.names)}"
            )
        return Column(*self.columns[name])  # pyright: ignore[reportArgumentType]

    def column(self, name: str, unit: str) -> "np.ndarray":
        """Values of `name` in SI; an error unless it is measured in something like `unit`."""
        found = self[name]
        if not same_dimension([found.unit, unit]):
            raise TableError(
                f"{self.place}, column '{name}': is in [{found.unit}], "
                f"but [{unit or '1'}] was expected."
            )
        return found.values


def _column(place: str, name: str, unit: str, values: "ArrayLike") -> Column:
    """A column in SI, or the sentence that says what is wrong with it at `place`."""
    import numpy as np

    forbidden = set(',;"[]') & set(name)
    if forbidden or not name.isprintable() or name != name.strip() or name[:1] in ("", "#"):
        raise TableError(
            f"{place}: is not a name for a column. Names have no brackets, quotes, "
            "commas or semicolons, and do not begin with #."
        )
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TableError(f"{place}: holds something that is not a number.") from None
    if array.ndim != 1 or not array.size:
        raise TableError(f"{place}: has shape {array.shape}; a list of numbers was expected.")
    try:
        unit, array = _to_si(" ".join(unit.split()), array)
    except UnitError as error:
        raise TableError(f"{place}: {error}") from None
    except OverflowError:
        raise TableError(f"{place}: [{unit}] is too far from SI to convert.") from None
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise TableError(f"{place}, row {row + 1}: {array[row]} is not a finite number.")
    array.flags.writeable = False
    return Column(unit or "1", array)


def _to_si(unit: str, values: "np.ndarray") -> tuple[str, "np.ndarray"]:
    """The SI unit, which is `unit` itself if it is coherent, and the values in it."""
    import numpy as np

    ratio, pi_power, dimension = parse_unit(unit)
    if ratio == 1 and not pi_power:
        return unit, values
    # Dividing by 1000 gives the nearest float to 1106 mm, multiplying by 0.001 does not.
    with np.errstate(over="ignore"):
        values = values * float(ratio.numerator) / float(ratio.denominator)
        return _si(dimension), values * np.pi**pi_power


def _si(dimension: Dimension) -> str:
    """How the SI unit of that dimension is usually written."""
    if dimension in _USUAL_UNITS:
        return _USUAL_UNITS[dimension]
    factors = [f"{base}^{power}" for base, power in zip(BASE, dimension, strict=True) if power]
    return " ".join(factors).replace("^1 ", " ").removesuffix("^1")


# Reading


def read_table(path: str | Path) -> Table:
    """The table in a .csv or .parquet file, in SI units."""
    path = Path(path)
    extension = _extension(path)
    try:
        if path.is_dir():
            raise TableError(f"{path}: is a directory; a table ({_known()}) was expected.")
        check_readable(path, LARGEST_TABLE)
        return _read_csv(path) if extension == ".csv" else _read_parquet(path)
    except InputError as error:
        raise TableError(str(error)) from None
    except FileNotFoundError:
        raise TableError(f"{path}: no such file.") from None
    except UnicodeDecodeError:
        raise TableError(f"{path}: is not a text file in UTF-8.") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror or error}.") from None


def _extension(path: Path) -> str:
    extension = path.suffix.lower()
    if extension not in _EXTENSIONS:
        ending = f"'{extension}' is not a kind of table" if extension else "has no extension"
        raise TableError(f"{path}: {ending}; tables end in {_known()}.")
    return extension


def _known() -> str:
    return " or ".join(_EXTENSIONS)


def _read_csv(path: Path) -> Table:
    # Universal newlines, and without the mark that Excel puts in front.
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    numbered = _lines(lines)
    first, header = next(numbered, (0, ""))
    if not first:
        raise TableError(
            f"{path}: is empty; a header, such as `t [s],x [m]`, and rows were expected."
        )
    columns = _headers(f"{path}, line {first}", _header_cells(header))
    data = [line for _, line in numbered]
    if not data:
        raise TableError(f"{path}: has a header, but no rows.")
    values = _numbers(data, len(columns))
    if values is None:
        raise _broken_row(path, lines, columns)
    return Table({name: (unit, values[:, j]) for j, (name, unit) in enumerate(columns)}, str(path))


def _lines(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines that count, with their numbers in the file, from 1."""
    for number, line in enumerate(lines, start=1):
        text = line.lstrip()
        if text and not text.startswith("#"):
            yield number, line


def _header_cells(line: str) -> list[str]:
    """The cells of a header, without the quotes that other programs put round them."""
    return [re.sub(r'\s*"([^"]*)"\s*', r"\1", cell) for cell in line.split(",")]


def _headers(place: str, cells: Sequence[str]) -> list[tuple[str, str]]:
    """Name and unit of each column, from cells such as `x [mm]`."""
    for mark, spelt in ((";", "semicolons"), ("\t", "tabs")):
        if len(cells) == 1 and mark in cells[0]:
            raise TableError(
                f"{place}: columns are separated by {spelt}; use commas, and points in numbers."
            )
    columns: dict[str, str] = {}
    for position, cell in enumerate(cells, start=1):
        match = _HEADER.fullmatch(cell)
        name = shortened(match[1] if match else cell.partition("[")[0].strip())
        if not name:
            raise TableError(f"{place}, column {position}: has no name; write `x [m]`, say.")
        if match is None:
            raise TableError(
                f"{place}, column '{shortened(cell.strip())}': has no unit; write `{name} [m]`, or "
                f"`{name} [1]` for a plain number."
            )
        unit = match[2]
        if name in columns:
            raise TableError(f"{place}, column '{name}': appears twice.")
        columns[name] = unit
    return list(columns.items())


def _numbers(lines: Sequence[str], width: int) -> "np.ndarray | None":
    """All cells at once, (rows, width), or None if some are not finite numbers."""
    import numpy as np

    try:
        values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    return values if values.shape[1] == width and np.isfinite(values).all() else None


def _broken_row(path: Path, lines: Sequence[str], columns: list[tuple[str, str]]) -> TableError:
    """The error for the first row that `_numbers` could not take, found by halving."""
    _, *rows = _lines(lines)
    width = len(columns)
    low, high = 0, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        broken = _numbers([line for _, line in rows[low:middle]], width) is None
        low, high = (low, middle) if broken else (middle, high)
    number, line = rows[low]
    cells = line.split(",")
    if len(cells) != width:
        has = f"{len(cells)} cell{'s' * (len(cells) > 1)}"
        names = shortened(", ".join(name for name, _ in columns), 400)
        return TableError(f"{path}, line {number}: has {has}; the header has {width}: {names}.")
    wrong = (j for j, cell in enumerate(cells) if not cell.strip() or _numbers([cell], 1) is None)
    j = next(wrong, 0)
    return TableError(
        f"{path}, line {number}, column '{columns[j][0]}': {_what_is_wrong(cells[j])}"
    )


def _what_is_wrong(cell: str) -> str:
    text = cell.strip()
    if not text:
        return "is empty; every cell needs a number."
    try:
        finite = float(text) - float(text) == 0
    except ValueError:
        finite = True
    return f"'{shortened(text)}' is not a {'number' if finite else 'finite number'}."


def _read_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            parquet = pq.ParquetFile(file)
            cells = parquet.metadata.num_rows * parquet.metadata.num_columns
            if cells > _MOST_CELLS:
                raise TableError(f"{path}: has {cells} cells; at most {_MOST_CELLS} are read.")
            found = parquet.read()
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise TableError(f"{path}: is not a Parquet file that can be read: {reason}.") from None
    if not found.num_columns or not found.num_rows:
        raise TableError(f"{path}: has no {'rows' if found.num_columns else 'columns'}.")
    names = [_field_name(path, field) for field in found.schema]
    columns = _headers(str(path), names)
    return Table(
        {
            name: (unit, _arrow_values(f"{path}, column '{name}'", values))
            for (name, unit), values in zip(columns, found.columns, strict=True)
        },
        str(path),
    )


def _field_name(path: Path, field: "pa.Field") -> str:
    """`name [unit]`, the unit from the metadata if the name has none."""
    unit = (field.metadata or {}).get(b"unit")
    match = _HEADER.fullmatch(field.name)
    if unit is None or match is None:
        return field.name if unit is None else f"{field.name} [{unit.decode(errors='replace')}]"
    if match[2].strip() != unit.decode(errors="replace").strip():
        raise TableError(
            f"{path}, column '{match[1]}': its name says [{match[2]}], "
            f"its metadata [{unit.decode(errors='replace')}]."
        )
    return field.name


def _arrow_values(place: str, values: "pa.ChunkedArray") -> "np.ndarray":
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_floating(values.type) and not pa.types.is_integer(values.type):
        raise TableError(f"{place}: holds {values.type}, not numbers.")
    if values.null_count:
        row = values.is_null().index(True).as_py()
        raise TableError(f"{place}, row {row + 1}: is empty; every cell needs a number.")
    return values.to_numpy().astype(np.float64)


# Writing


def write_table(table: Table, path: str | Path) -> Path:
    """Write `table` to a .csv or .parquet file, whole or not at all; the path is returned."""
    path = Path(path)
    extension = _extension(path)
    check_writable(path)
    return write_whole(path, _csv_text(table) if extension == ".csv" else _parquet_bytes(table))


def _csv_text(table: Table) -> str:
    columns = [table[name] for name in table.names]
    header = [f"{name} [{table[name].unit}]" for name in table.names]
    rows = zip(*(map(repr, column.values.tolist()) for column in columns), strict=True)
    return "\n".join([",".join(header), *map(",".join, rows), ""])


def _parquet_bytes(table: Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [table[name] for name in table.names]
    fields = [
        pa.field(f"{name} [{column.unit}]", pa.float64(), False, {"unit": column.unit})
        for name, column in zip(table.names, columns, strict=True)
    ]
    sink = pa.BufferOutputStream()
    arrays = [pa.array(column.values) for column in columns]
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), sink)
    return sink.getvalue().to_pybytes()
