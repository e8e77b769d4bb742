"""Some hundred ways to be wrong, and one sentence for each.

Whatever is typed, a mistake ends with exit code 2, one line on stderr that names what is wrong,
nothing on stdout and no file. Most cases are made from the files that ship: each key misspelt,
each number given a sign, a unit or a size that it cannot have.
"""

import os
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from triskele.description import catalogue
from triskele.description.load import load
from triskele.description.provenance import quantities
from triskele.description.quantity import Quantity

IRB, D3S, PRS = "abb_irb360_6_1600", "d3s_800", "compliant_3prs"
TEXTS = {name: catalogue.text(name) for name in (IRB, PRS)}
FILE = "mine.toml"


class Case(NamedTuple):
    """What is typed, the file beside it, and what the answer must contain."""

    name: str
    arguments: tuple[str, ...]
    expected: str  #: regular expression
    file: tuple[str, str | bytes] | None = None


def said(name: str, line: str, expected: str) -> Case:
    """A case that needs no file; `line` is split at blanks."""
    return Case(name, tuple(line.split()), expected)


def robot(name: str, text: str | bytes, expected: str, *command: str) -> Case:
    """A case about a robot file."""
    return Case(name, command or ("show", FILE), expected, (FILE, text))


def refused(cli, files, tmp_path, case: Case) -> str:
    """Run a case, assert all that holds for every mistake, and return the sentence."""
    if case.file is not None:
        name, content = case.file
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    before, names = files(), sorted(os.listdir(tmp_path))
    code, out, err = cli(*case.arguments)
    assert (code, out) == (2, ""), err
    assert (files(), sorted(os.listdir(tmp_path))) == (before, names)
    (sentence,) = err.splitlines()
    assert re.fullmatch(r"triskele: .*[^.][.?)]", sentence)
    assert "Traceback" not in sentence
    assert not re.search(r"\bNone\b|\b(np|jnp|Path)\.|array\(|<class|pydantic|\{[a-z]+\}", sentence)
    assert re.search(case.expected, sentence), sentence
    return sentence


# Files that are no robot files

TEMPLATE = catalogue.template("delta")


def not_files() -> Iterator[Case]:
    yield said("unknown robot", "show d3s_80", r"No robot is called 'd3s_80'. Did you mean 'd3s_8")
    yield said("far from any robot", "ik puma 0 0 0", r"No robot is called 'puma'. Known: abb_irb")
    yield said("robot in capitals", "show D3S_800", r"No robot is called 'D3S_800'\.")
    long = r"No robot is called 'x{79}\.\.\. \(\d+ characters\)"
    yield Case("a name of ten thousand letters", ("show", "x" * 10_000), long)
    yield Case("no name at all", ("show", ""), r"No robot is called ''\.")
    yield said("no such file", "show nowhere.toml", r"nowhere.toml: no such file. Shipped robots")
    yield said("no such folder", "show a/b/c.toml", r"a/b/c.toml: no such file")
    yield Case("a folder", ("show", "./"), r"is a directory; a robot file was expected")
    yield Case("a name with a null", ("show", "a\0b.toml"), r"is not a file name")
    yield said("a name too long", f"show {'x' * 300}.toml", r"cannot be read: File name too long")
    yield robot("empty", "", r"mine.toml: is empty. `triskele init delta mine.toml` writes")
    yield robot("only blanks", " \n\t\n", r"mine.toml: is empty")
    yield robot("only a comment", "# nothing", r"mine.toml: is empty")
    yield robot("binary", bytes(range(256)), r"mine.toml: is not a text file in UTF-8")
    yield robot("a picture", b"\x89PNG\r\n\x1a\n" + bytes(64), r"is not a text file in UTF-8")
    yield robot("latin 1", 'title = "Schöne"'.encode("latin-1"), r"is not a text file in UTF-8")
    yield robot("JSON", '{"kind": "delta"}', r"is not valid TOML: .*line 1")
    yield robot("words", "a robot with three arms", r"is not valid TOML: Expected '='.*line 1")
    yield robot("a key twice", TEMPLATE + "\nmass = '1 kg'" * 2, r"not valid TOML: .*overwrite")
    yield robot("too deep", "a = " + "[" * 5000, r"is not valid TOML")
    for command in ("check", "ik", "fk", "workspace", "motion"):
        more = ("circle",) if command == "motion" else ()
        arguments = (command, FILE, *more)
        yield robot(f"empty for {command}", "", r"mine.toml: is empty", *arguments)


def truncated() -> Iterator[Case]:
    """Files cut in the middle of a line: within the key, after the sign, within the value."""
    for name, text in TEXTS.items():
        lines = [match for match in re.finditer(r"(?m)^(\w+)\s*=\s*(?=[\"{])", text)]
        for match in lines[:: len(lines) // 6]:
            for part, cut in (
                ("key", match.end(1) - 1),
                ("sign", match.end()),
                ("value", match.end() + 2),
            ):
                title = f"{name} cut at {cut}, in the {part} of {match[1]}"
                yield robot(title, text[:cut], r"mine.toml: is not valid TOML: .*at end of|line")


# Robot files with one mistake


def assignments(text: str) -> Iterator[tuple[int, str, str]]:
    """Number of the line, section and key of each assignment in `text`."""
    section = ""
    for number, line in enumerate(text.splitlines()):
        if match := re.match(r"\[([\w.]+)\]", line):
            section = f"{match[1]}."
        elif match := re.match(r"(\w+)\s*=", line):
            yield number, section, match[1]


def with_line(text: str, number: int, line: str | None) -> str:
    """`text` with another line at `number`, or without it."""
    lines = text.splitlines()
    lines[number : number + 1] = [] if line is None else [line]
    return "\n".join(lines)


def with_value(text: str, key: str, value: str) -> str:
    """`text` with `value` at the dotted `key`."""
    found = [(n, k) for n, section, k in assignments(text) if section + k == key]
    ((number, last),) = found
    return with_line(text, number, f"{last} = {value}")


def misspelt() -> Iterator[Case]:
    """Each key of two files with a letter too many, and each section."""
    for name, text in TEXTS.items():
        for number, section, key in assignments(text):
            line = text.splitlines()[number]
            place = f"{section}{key}x"
            expected = rf"mine.toml, {re.escape(place)}: no such key\. Did you mean '{key}'\?"
            if key == "source":  # belongs everywhere, so it is in no list
                expected = rf"mine.toml, {re.escape(place)}: no such key\."
            if key == "kind":
                expected = r"mine.toml, kind: is missing\."
            changed = with_line(text, number, re.sub(r"^\w+", f"{key}x", line))
            yield robot(f"{name}, {place}", changed, expected)
        for section in sorted(set(re.findall(r"(?m)^\[(\w+)\]", text))):
            changed = re.sub(rf"(?m)^\[{section}\b", f"[{section}x", text)
            place = rf"mine.toml, {section}x: no such key\. Did you mean '{section}'\?"
            yield robot(f"{name}, [{section}x]", changed, place)
    for deep in ("telescope", "telescope.upper"):
        text = f"{TEXTS[IRB]}\n[geometry.{deep}.more]\nlength = '1 m'"
        yield robot(f"a section below {deep}", text, r"geometry\.telescope\.(more|upper): no such")
    for changed, expected in (
        ('{ valu = 500, unit = "mm" }', r"is a table without a value; write .* \(unknown: valu\)"),
        ('{ value = 500, units = "mm" }', r"geometry.arm_length: .*unknown: units"),
        ("{ value = 500, unit = 3 }", r"geometry.arm_length: the unit must be text, such as \"m\""),
        ("{ }", r"geometry.arm_length: is a table without a value"),
        ("true", r"geometry.arm_length: True is not a length; write, for example, \"0.5 m\""),
        ("[]", r"geometry.arm_length: has 0 numbers; expected one number, or three, one per limb"),
        ('["1 m", "1 m"]', r"geometry.arm_length: has 2 numbers; expected one number, or three"),
        ("1979-05-27", r"geometry.arm_length: .* is not a length"),
        ('"500"', r"geometry.arm_length: '500' has no unit; write, for example, '500 m'"),
        ('"500 mm mm"', r"geometry.arm_length: 'mm mm' is not a unit of this quantity"),
        ('"long"', r"geometry.arm_length: 'long' is not a number with a unit, such as '0.5 m'"),
        ('"500 milimetres"', r"geometry.arm_length: unit 'milimetres': 'milimetres' is not a unit"),
        ('""', r"geometry.arm_length: '' is not a number with a unit"),
    ):
        yield robot(
            f"arm_length = {changed}",
            with_value(TEXTS[IRB], "geometry.arm_length", changed),
            expected,
        )


def wrong_values(rules: Quantity) -> Iterator[tuple[str, str, str]]:
    """What a number cannot be: in words, as TOML, and what is said then."""
    unit, name = rules.unit, rules.name
    yield "kelvin", '"5 K"', r"'K' is not a unit of this quantity, which is measured in"
    yield "nan", f'{{ value = nan, unit = "{unit}" }}', r".*nan.* is not a finite number|has 1 num"
    if unit:
        yield "no unit", "5", rf'5 has no unit; write, for example, "5 {re.escape(unit)}"'
    if rules.least == 0:
        yield "negative", f'"-5 {unit}"', rf"-5.* is not a {name}\. It must be .* did you mean 5"
    if rules.open_end:
        yield "zero", f'"0 {unit}"', rf"0.* is not a {name}\. It must be positive\."
    if rules.most < 1e9:
        yield "too large", f'"1e9 {unit}"', rf"1e\+09.* is too large: a {name} is at most"
    if rules.shape == "range":
        inverted = r"the range is inverted or empty: 2 .* is not below 1 "
        yield "inverted", f'{{ value = [2, 1], unit = "{unit}" }}', inverted
    if rules.shape != "number":
        five = f'{{ value = [1, 1, 1, 1, 1], unit = "{unit}" }}'
        yield "five numbers", five, r"has 5 numbers( for 4 drives)?; expected "


def out_of_bounds() -> Iterator[Case]:
    """Each number of two files with a value, a sign or a unit that it cannot have."""
    for name, text in TEXTS.items():
        written = {section + key for _, section, key in assignments(text)}
        for key, rules, _ in quantities(load(name)):
            for title, value, expected in wrong_values(rules) if key in written else ():
                place = rf"mine.toml, {re.escape(key)}: {expected}"
                yield robot(f"{name}, {key}: {title}", with_value(text, key, value), place)


def incomplete() -> Iterator[Case]:
    """Files that lack a key, and files whose parts do not fit."""
    for name, text in TEXTS.items():
        needed = ("base_radius", "platform_radius", "arm_length", "rod_length", "bar_length")
        for number, section, key in assignments(text):
            if section == "geometry." and key in needed:
                missing = rf"mine.toml, geometry\.{key}: is missing\."
                yield robot(f"{name} without {key}", with_line(text, number, None), missing)
            if not section and key in ("name", "title"):
                missing = rf"mine.toml, {key}: is missing\."
                yield robot(f"{name} without {key}", with_line(text, number, None), missing)
        section = re.search(r"(?ms)^\[geometry\].*?(?=^\[bodies\])", text)
        assert section is not None
        without = text.replace(section[0], "")
        yield robot(f"{name} without geometry", without, r"mine.toml, geometry: is missing\.")
    delta = TEXTS[IRB]
    for kind, expected in (
        ('"delt"', r"kind: 'delt' is not a kind of robot. Did you mean 'delta'\?"),
        ('"hexapod"', r"kind: 'hexapod' is not a kind of robot. Known: 3prs, .*delta"),
        ("3", r"kind: '3' is not a kind of robot"),
        ("[1]", r"kind: '\[1\]' is not a kind of robot"),
        ('""', r"kind: '' is not a kind of robot"),
        ('"3prs"', r"geometry\.\w+: no such key"),
    ):
        yield robot(f"kind = {kind}", with_value(delta, "kind", kind), expected)
    for key, value, expected in (
        ("name", '"My robot"', r"mine.toml, name: 'My robot' does not fit: .*pattern"),
        ("title", "3", r"mine.toml, title: 3 does not fit: .*string"),
        ("sections.rod.material", '"wood"', r"sections.rod.material: 'wood' is not under \[mat"),
        ("sections.rod.shape", '"square"', r"sections.rod.shape: 'square' does not fit: .*tube"),
        ("sections.rod.inner_radius", '"9 mm"', r"inner_radius must be less than outer_radius"),
        (
            "geometry.azimuth",
            '{ value = [0, 0, 120], unit = "deg" }',
            r"two limbs have the same az",
        ),
        ("geometry", "3", r"geometry: 3 does not fit"),
    ):
        if key == "geometry":
            section = re.search(r"(?ms)^\[geometry\].*?(?=^\[bodies\])", delta)
            assert section is not None
            text = "geometry = 3\n" + delta.replace(section[0], "")
        else:
            text = with_value(delta, key, value)
        yield robot(f"{key} = {value}", text, expected)


# Robots that cannot be built or used


def unusable() -> Iterator[Case]:
    wide = with_value(TEXTS[IRB], "geometry.base_radius", '"3 m"')
    for command in (("show", FILE), ("ik", FILE, "0", "0", "-1"), ("workspace", FILE)):
        expected = r"geometry: the robot cannot be assembled, .* Compare the lengths"
        yield robot(f"short legs for {command[0]}", wide, expected, *command)
    flat = with_value(TEXTS[PRS], "geometry.rest_angle", '"45 deg"')
    flat = with_value(flat, "limits.slider_position", '{ value = [10, 20], unit = "mm" }')
    yield robot(
        *(
            "sliders that cannot be at home",
            flat,
            r"out of reach: s1 would be .*allowed is 0.01 to",
        ),
        *("workspace", FILE, "--resolution", "15"),
    )
    away = re.sub(r"(?m)^workspace_.*$", "", TEMPLATE)
    away = with_value(away, "limits.joint_angle", '{ value = [50, 95], unit = "deg" }')
    yield robot(
        *("home outside the limits", away, r"The home position is out of reach: q\d would be "),
        *("workspace", FILE, "--resolution", "15"),
    )
    yield robot(
        *("no cylinder", away, r"my_delta has no 'limits.workspace_height', which --guaranteed"),
        *("workspace", FILE, "--guaranteed"),
    )


# Numbers

NOT_NUMBERS = {
    "": r"'' is not a number with a unit, such as '0.5 m'",
    " ": r"' ' is not a number with a unit",
    "nan": r"nan is not a finite number",
    "-nan": r"-nan is not a finite number",
    "inf": r"inf is not a finite number",
    "-inf": r"-inf is not a finite number",
    "1e400": r"1e400 is not a finite number",
    "-1e400": r"-1e400 is not a finite number",
    "1e400 mm": r"1e400 mm is not a finite number",
    "abc": r"'abc' is not a number with a unit",
    "1,5": r"unit ',5': ',5' is not a unit",
    "0x10": r"unit 'x10': 'x10' is not a unit",
    "1e": r"unit 'e': 'e' is not a unit",
    "-5kg": r"'kg' is not a unit of this quantity, which is measured in m",
    "5deg": r"'deg' is not a unit of this quantity, which is measured in m",
    "5 parsec": r"unit 'parsec': 'parsec' is not a unit",
    "1 2": r"unit '2': '2' is not a unit",
    "½": r"'½' is not a number with a unit",
}


def numbers() -> Iterator[Case]:
    for place, name in enumerate("xyz"):
        for text, expected in NOT_NUMBERS.items():
            given = ["0", "0", "-0.9"]
            given[place] = text
            title = f"ik, {name} = {text!r}"
            yield Case(title, ("ik", D3S, *given), rf"triskele: {name}: {expected}")
    for place, name in enumerate(("q1", "q2", "q3", "q4")):
        for text in ("", "nan", "word", "5mm", "1e999"):
            given = ["0"] * 4
            given[place] = text
            title = f"fk, {name} = {text!r}"
            expected = rf"triskele: {name}: .*{text.removeprefix('5')}"
            yield Case(title, ("fk", IRB, *given), expected)
    yield said("3prs, height in degrees", f"ik {PRS} 5deg 0 0", r"z: 'deg' is not a unit .* in m\.")
    yield said("3prs, tilt in mm", f"ik {PRS} 0.076 1mm 0", r"psi: 'mm' is not a unit .* in rad\.")
    for robot_, count in ((D3S, 3), (IRB, 4), (PRS, 3)):
        for command, what in (("ik", "The pose"), ("fk", "The joint vector")):
            for given in {0, 1, 2, count + 1, 9}:
                shown = given or "none"
                expected = rf"{what} of {robot_} is {count} numbers, \w+ \[\w+\], .*; {shown} given"
                line = f"{command} {robot_} {'0 ' * given}"
                yield said(f"{command}, {given} numbers for {robot_}", line, expected)


def beyond_reach() -> Iterator[Case]:
    for robot_, poses in (
        (D3S, ("0 0 5", "0 0 -9", "3 0 -0.9", "0 -3 -0.9", "0 0 0", "0.9 0 -0.8")),
        (IRB, ("0 0 -2 0", "5 5 -1 0", "1e6 0 0 0")),
        (PRS, ("1 0 0", "0.2 0 0", "77mm 80deg 0", "-1 0 0")),
    ):
        for pose in poses:
            first = pose.split()[0].removesuffix("mm")
            expected = (
                rf"The pose \w+ = .*{re.escape(first[:1])}.* is out of reach: leg [123] cannot "
                r"reach \(margin -.*\)\. Home is \w+ = "
            )
            yield said(f"ik {robot_} {pose}", f"ik {robot_} {pose}", expected)
    upside = r"z = 0.845 m is out of reach: the platform loses stiffness"
    yield said("ik, above the motors", f"ik {D3S} 0 0 0.845", upside)
    for robot_, joints in (
        (D3S, "2.35 0.98 0.63"),
        (IRB, "-0.49 -0.32 -2.75 0"),
        ("flexible_delta", "0.91 1.35 1.9"),
        (PRS, "0.24 0.13 0.29"),
    ):
        expected = rf"The loops of {robot_} cannot be closed with \w+ = .* (rad|m)\."
        yield said(f"fk {robot_} {joints}", f"fk {robot_} {joints}", expected)


# Options, commands, outputs


def usage() -> Iterator[Case]:
    for line, expected in (
        ("shw", r"No such command 'shw'. Did you mean 'show'\? See `triskele --help`"),
        ("frobnicate", r"No such command 'frobnicate'. See `triskele --help`"),
        ("--bogus", r"No such option: --bogus. See `triskele --help`"),
        ("--verison", r"No such option: --verison \(Possible options: --version\)"),
        ("robots --jsn", r"No such option: --jsn \(Possible options: --json\)"),
        ("robots d3s_800", r"Got unexpected extra argument\(s\) \(d3s_800\)"),
        ("show", r"Missing argument 'robot'. See `triskele show --help`"),
        ("show d3s_800 more", r"Got unexpected extra argument\(s\) \(more\)"),
        ("show d3s_800 --out", r"Option '--out' requires an argument"),
        ("check", r"Missing argument 'robot'"),
        ("init", r"Missing argument 'kind'"),
        ("init delta", r"Missing argument 'path'"),
        ("init detla a.toml", r"There is no template 'detla'. Did you mean 'delta'\?"),
        ("init hexapod a.toml", r"There is no template 'hexapod'. Known: 3prs, .*delta"),
        ("init delta a.txt", r"a.txt: the name must end in .toml"),
        ("init delta a", r"a: the name must end in .toml"),
        ("init delta no/where/a.toml", r"the directory no/where does not exist"),
        ("schema --json", r"No such option: --json"),
        ("ik", r"Missing argument 'robot'"),
        ("ik d3s_800 0 0 -0.9 --jsno", r"There is no option '--jsno'. Did you mean '--json'\?"),
        ("ik d3s_800 0 0 -0.9 -j", r"There is no option '-j'"),
        ("ik --al-modes d3s_800 0 0 -0.9", r"There is no option '--al-modes'. Did you mean '--all"),
        ("fk", r"Missing argument 'robot'"),
        ("fk d3s_800 0 0 0 --poses a.csv", r"There is no option '--poses'"),
        ("workspace", r"Missing argument 'robot'"),
        ("workspace d3s_800 --resolution 0", r"resolution of 0 is not between 8 and 512"),
        ("workspace d3s_800 --resolution 7", r"resolution of 7 is not between 8 and 512"),
        ("workspace d3s_800 --resolution -3", r"resolution of -3 is not between 8 and 512"),
        ("workspace d3s_800 --resolution 100000", r"100000 is not between 8 and 512"),
        ("workspace d3s_800 --resolution 9.5", r"'--resolution': '9.5' is not a whole number"),
        ("workspace d3s_800 --resolution many", r"'--resolution': 'many' is not a whole number"),
        ("workspace d3s_800 --resolution nan", r"'--resolution': 'nan' is not a whole number"),
        ("motion", r"Missing argument 'robot'"),
        ("motion d3s_800", r"Missing argument 'kind'"),
        ("motion d3s_800 circle 3", r"Got unexpected extra argument"),
    ):
        yield said(line, line, expected)


def outputs() -> Iterator[Case]:
    """Each command that writes, into places and formats that it cannot."""
    commands = {
        f"show {D3S}": (".txt", ".csv"),
        "schema": (".txt", ".toml"),
        f"ik {D3S} 0 0 -0.9": (".png", ".txt"),
        f"fk {D3S} 0 0 0": (".csv", ".png"),
        f"workspace {D3S}": (".csv", ".gif"),
        f"motion {D3S} circle": (".json", ".txt"),
    }
    for line, suffixes in commands.items():
        good = ".csv" if line.startswith("motion") else ".json"
        for suffix in suffixes:
            expected = rf"out{suffix}: the name must end in \."
            yield said(f"{line} to {suffix}", f"{line} --out out{suffix}", expected)
        yield said(f"{line} without suffix", f"{line} --out out", r"out: the name must end in \.")
        nowhere = rf"no/out{good}: the directory no does not exist"
        yield said(f"{line} nowhere", f"{line} --out no/out{good}", nowhere)
    for command in ("torques", "simulate"):
        line = f"{command} {D3S}"
        yield said(
            f"{command} to .txt", f"{line} --out a.txt", r"a.txt: the name must end in \.csv"
        )
        yield said(f"{command} drawn as .csv", f"{line} --figure a.csv", r"must end in \.png")
        yield said(
            f"{command} nowhere", f"{line} --out no/a.csv", r"the directory no does not exist"
        )
        both = f"{line} --out a.png --figure b.png"
        yield said(f"{command} drawn twice", both, r"both figures; give one")
    motion = f"motion {D3S} circle"
    yield said("figure as table", f"{motion} --figure a.csv", r"a.csv: the name must end in .png")
    yield said("two figures", f"{motion} --out a.png --figure b.png", r"both figures; give one")
    yield said("joints of nothing", f"{motion} --joints", r"--joints adds columns .* --out motion")
    yield said("joints of a figure", f"{motion} --joints --out a.png", r"--joints adds columns")


# Tables

HEADER = "x [m],y [m],z [m]"
GOOD = f"{HEADER}\n0,0,-0.9\n0.1,0,-0.9\n"
TABLES = {
    "empty": ("", r"poses.csv: is empty; a header, such as `t \[s\],x \[m\]`"),
    "header only": (HEADER, r"poses.csv: has a header, but no rows"),
    "ragged": (GOOD + "0.2,0\n", r"poses.csv, line 4: has 2 cells; the header has 3: x, y, z"),
    "too wide": (GOOD + "0,0,-1,0\n", r"poses.csv, line 4: has 4 cells; the header has 3"),
    "nan": (GOOD + "0,nan,-1\n", r"poses.csv, line 4, column 'y': 'nan' is not a finite number"),
    "infinite": (GOOD + "0,0,-inf\n", r"line 4, column 'z': '-inf' is not a finite number"),
    "overflow": (GOOD + "1e400,0,-1\n", r"line 4, column 'x': '1e400' is not a finite number"),
    "a word": (GOOD + "0,left,-1\n", r"poses.csv, line 4, column 'y': 'left' is not a number"),
    "an empty cell": (GOOD + "0,,-1\n", r"line 4, column 'y': is empty; every cell needs a num"),
    "no z": ("x [m],y [m]\n0,0\n", r"poses.csv: there is no column 'z'. Known: x, y"),
    "misspelt": (GOOD.replace("z [m]", "zz [m]"), r"no column 'z'. Did you mean 'zz'\?"),
    "no unit": (GOOD.replace("z [m]", "z"), r"line 1, column 'z': has no unit; write `z \[m\]`"),
    "wrong unit": (GOOD.replace("z [m]", "z [deg]"), r"column 'z': is in \[rad\], but \[m\] was"),
    "no such unit": (GOOD.replace("z [m]", "z [ell]"), r"column 'z': unit 'ell': 'ell' is not a"),
    "twice": (GOOD.replace("y [m]", "x [m]"), r"line 1, column 'x': appears twice"),
    "semicolons": (GOOD.replace(",", ";"), r"columns are separated by semicolons; use commas"),
    "tabs": (GOOD.replace(",", "\t"), r"columns are separated by tabs; use commas"),
    "nameless": (GOOD.replace("y [m]", "[m]"), r"line 1, column 2: has no name"),
    "binary": (b"\xff\xfe\x00\x01", r"poses.csv: is not a text file in UTF-8"),
    "beyond reach": (
        GOOD + "0,0,-5\n0,0,-6\n",
        r"2 of 4 poses are out of reach, the first in row 3: x = 0 m, y = 0 m, z = -5 m",
    ),
}
TIMED = "t [s],x [m],y [m],z [m]\n0,0,0,-0.9\n0.1,0.01,0,-0.9\n"
MOTIONS = {
    "empty": ("", r"samples.csv: is empty"),
    "no time": (GOOD, r"samples.csv: there is no column 't'"),
    "time in metres": (
        TIMED.replace("t [s]", "t [m]"),
        r"'t': is in \[m\], but \[s\] was expected",
    ),
    "time falls": (
        TIMED + "0.05,0,0,-0.9\n",
        r"samples.csv, row 3, column 't': time does not rise",
    ),
    "time stands": (
        TIMED + "0.1,0,0,-0.9\n",
        r"samples.csv, row 3, column 't': time does not rise",
    ),
    "one row": ("\n".join(TIMED.splitlines()[:2]), r"has one row; a motion needs at least two"),
    "no z": ("t [s],x [m],y [m]\n0,0,0\n1,0,0\n", r"samples.csv: there is no column 'z'"),
    "nan": (TIMED + "0.2,nan,0,-0.9\n", r"line 4, column 'x': 'nan' is not a finite number"),
    "half a velocity": (
        "t [s],x [m],y [m],z [m],xd [m/s]\n0,0,0,-0.9,0\n1,0,0,-0.9,0\n",
        r"samples.csv: there is no column 'yd'",
    ),
    "beyond reach": (
        TIMED + "0.2,5,0,-0.9\n",
        r"The motion leaves the reach of the robot between t = 0.2 and 0.2 s; worst at 0.2 s: leg",
    ),
}


def tables() -> Iterator[Case]:
    typed = ("ik", D3S, "--poses", "poses.csv", "--out", "joints.csv")
    for name, (text, expected) in TABLES.items():
        yield Case(f"poses: {name}", typed, expected, ("poses.csv", text))
    for name, (text, expected) in MOTIONS.items():
        arguments = ("motion", D3S, "samples.csv", "--out", "again.csv")
        yield Case(f"samples: {name}", arguments, expected, ("samples.csv", text))
    beside = ("poses.csv", GOOD)
    for arguments, expected in (
        (("ik", D3S, "--poses", "none.csv", "--out", "a.csv"), r"none.csv: no such file"),
        (("ik", D3S, "--poses", "poses.txt", "--out", "a.csv"), r"'.txt' is not a kind of table"),
        (("ik", D3S, "--poses", "poses", "--out", "a.csv"), r"poses: has no extension; tables end"),
        (("ik", D3S, "0", "0", "-0.9", "--out", "a.csv"), r"a.csv: one pose is written as .json"),
        (("ik", D3S, "--poses", "poses.csv"), r"With --poses, name a table to write, such as"),
        ((*typed[:4], "--out", "a.json"), r"a.json: the name must end in .csv or .parquet"),
        ((*typed, "0", "0", "-0.9"), r"Give --poses or coordinates, not both"),
        ((*typed, "--json"), r"Give --poses or --json, not both"),
        ((*typed, "--all-modes"), r"Give --poses or --all-modes, not both"),
        (("ik", IRB, *typed[2:]), r"poses.csv: there is no column 'psi'"),
        (("ik", PRS, *typed[2:]), r"poses.csv: there is no column 'psi'"),
        (("motion", D3S, "none.csv"), r"none.csv: no such file"),
        (("motion", D3S, "none.parquet"), r"none.parquet: no such file"),
        (("motion", D3S, "poses.csv", "--rate", "10"), r"A table of samples has no use for --rate"),
    ):
        yield Case(" ".join(arguments), arguments, expected, beside)
    arguments = ("ik", D3S, "--poses", "poses.parquet", "--out", "a.csv")
    expected = r"poses.parquet: is not a Parquet file that can be read"
    yield Case("a CSV called parquet", arguments, expected, ("poses.parquet", GOOD))


# Motions


def motions() -> Iterator[Case]:
    line = "line --start 0,0,-0.9 --end"
    for typed, expected in (
        (
            "square",
            r"No motion is called 'square'. Known: circle, fourier, inverted-u, joint-sine, line",
        ),
        ("cirle", r"No motion is called 'cirle'. Did you mean 'circle'\?"),
        ("samples.txt", r"samples.txt: '.txt' is not a kind of table; tables end in"),
        ("line", r"A line needs --start and --end, such as --start 0,0,-0.845\."),
        ("line --start 0,0,-0.9", r"A line needs --start and --end"),
        ("line --end 0,0,-0.9", r"A line needs --start and --end"),
        (f"{line} 0,0", r"--end: a pose of d3s_800 is 3 numbers, x \[m\], .*; 2 given"),
        (f"{line} 0,0,0,0", r"--end: a pose of d3s_800 is 3 numbers, x \[m\], .*; 4 given"),
        (f"{line} 0,0,nan", r"--end: z: nan is not a finite number"),
        (f"{line} 0,,0", r"--end: y: '' is not a number with a unit"),
        (f"{line} 0;0;0", r"--end: a pose of d3s_800 is 3 numbers.*; 1 given"),
        (f"{line} 0,0,-900g", r"--end: z: 'g' is not a unit of this quantity"),
        (f"{line} 0,0,-0.9", r"start and end are the same point, \[0.0, 0.0, -0.9\]"),
        (f"{line} 0,0,-5", r"The motion leaves the reach of the robot between t = .* s: leg"),
        (f"{line} 0,0,-1 --law cubic", r"--law: there is no 'cubic'. Known: polynomial5, poly"),
        (f"{line} 0,0,-1 --law polynomial6", r"--law: there is no 'polynomial6'. Did you mean"),
        (f"{line} 0,0,-1 --radius 1", r"motion line has no use for --radius; it takes --start,"),
        ("circle --duration 0", r"--duration is 0 s; it must be positive"),
        ("circle --duration -1", r"--duration is -1 s; it must be positive"),
        ("circle --duration nan", r"--duration: nan is not a finite number"),
        ("circle --duration inf", r"--duration: inf is not a finite number"),
        ("circle --duration soon", r"--duration: 'soon' is not a number with a unit, such as '0.5"),
        ("circle --duration 5mm", r"--duration: 'mm' is not a unit .* is measured in s"),
        ("circle --rate 0", r"--rate is 0 Hz; it must be positive"),
        ("circle --rate -5", r"--rate is -5 Hz; it must be positive"),
        ("circle --rate fast", r"--rate: 'fast' is not a number with a unit, such as '0.5 Hz'"),
        ("circle --rate 5mm", r"--rate: 'mm' is not a unit .* is measured in Hz"),
        ("circle --rate 1e9", r"1 s at 1e\+09 Hz are 1e\+09 samples; at most 5,000,000 are made"),
        ("circle --duration 1h --rate 10kHz", r"3600 s at 10000 Hz are 3.6e\+07 samples"),
        ("circle --radius 0", r"--radius is 0 m; it must be positive"),
        ("circle --radius -0.1", r"--radius is -0.1 m; it must be positive"),
        ("circle --radius wide", r"--radius: 'wide' is not a number"),
        ("circle --radius 3 --rate 100", r"The motion leaves the reach of the robot between t = 0"),
        ("circle --centre 0,0", r"--centre: a pose of d3s_800 is 3 numbers"),
        ("circle --centre 0,0,3 --rate 100", r"The motion leaves the reach of the robot"),
        (
            "circle --start 0,0,-0.9",
            r"motion circle has no use for --start; it takes --centre, --r",
        ),
        ("circle --seed 1", r"motion circle has no use for --seed"),
        (
            "inverted-u",
            r"An inverted-u needs --start and --move, such as --start 0,0,-0.845 --move",
        ),
        ("inverted-u --start 0,0,-0.9", r"An inverted-u needs --start and --move"),
        ("inverted-u --start 0,0,-0.9 --move 0,0", r"--move: a pose of d3s_800 is 3 numbers"),
        (
            "inverted-u --start 0,0,-1 --move 0,0,1 --duration 0",
            r"--duration is 0 s; it must be pos",
        ),
        ("inverted-u --start 0,0,-1 --move 0,0,1 --duration -2", r"--duration is -2 s; it must be"),
        ("inverted-u --start 0,0,-1 --move 0,0,1 --rate 100", r"The motion leaves the reach"),
        ("fourier --harmonics 0", r"--harmonics is 0; it must be from 2 to 100"),
        ("fourier --harmonics 1", r"--harmonics is 1; it must be from 2 to 100"),
        ("fourier --harmonics 101", r"--harmonics is 101; it must be from 2 to 100"),
        ("fourier --harmonics few", r"'--harmonics': 'few' is not a whole number"),
        ("fourier --seed -1", r"--seed is -1; it must not be negative"),
        ("fourier --seed 1.5", r"'--seed': '1.5' is not a whole number"),
        (
            "fourier --amplitude 1,2",
            r"--amplitude: an amplitude for d3s_800 is 3 numbers.*; 2 given",
        ),
        ("fourier --amplitude nan", r"--amplitude: x: nan is not a finite number"),
        ("fourier --amplitude 5 --rate 100", r"The motion leaves the reach of the robot"),
        ("pick-and-place --length 0", r"--length is 0 m; it must be positive"),
        ("pick-and-place --length -0.3", r"--length is -0.3 m; it must be positive"),
        ("pick-and-place --height 0", r"--height is 0 m; it must be positive"),
        ("pick-and-place --height up", r"--height: 'up' is not a number"),
        ("pick-and-place --radius 1", r"radius is 1 m, but between way_points .* room for 0.1 m"),
        ("pick-and-place --length 9 --rate 100", r"The motion leaves the reach of the robot"),
        ("pick-and-place --law uniform", r"pick-and-place has no use for --law; it takes --length"),
        (
            "rating-cycle --length 1",
            r"rating-cycle has no use for --length; it takes --duration, --",
        ),
        ("rating-cycle --duration 0", r"--duration is 0 s; it must be positive"),
    ):
        yield said(f"motion {typed}", f"motion {D3S} {typed}", expected)
    able = r"; it can follow a line, fourier, sine or joint-sine\."
    flat = "moves in z, psi, theta, and a circle needs two lengths"
    yield said(f"motion {PRS} circle", f"motion {PRS} circle", rf"{PRS} {flat}{able}")
    for kind in ("inverted-u", "pick-and-place", "rating-cycle"):
        expected = rf"{PRS} does not move along x or y; a pick needs x or y, and z{able}"
        yield said(f"motion {PRS} {kind}", f"motion {PRS} {kind}", expected)
    expected = r"A line needs --start and --end, such as --start 0.077,0,0\."
    yield said("line of a 3prs", f"motion {PRS} line", expected)


def dynamics() -> Iterator[Case]:
    """Payloads that cannot exist, motions that cannot be, robots without masses."""
    for command in ("torques", "simulate"):
        for typed, expected in (
            ("--payload -1", r"--payload is -1 kg; a payload has a positive mass"),
            ("--payload 0", r"--payload is 0 kg; a payload has a positive mass"),
            ("--payload nan", r"has no payload 'nan' \(it has none\); give a mass"),
            ("--payload 1e400", r"--payload: 1e400 is not a finite number"),
            (
                "--payload brick",
                r"has no payload 'brick' .*; give a mass, such as 2.5",
            ),
            ("--payload 3mm", r"--payload: .*'3mm'|--payload: .*mm"),
            ("--payload 2 --payload-inertia 1,1,3", r"cannot exist: one principal moment exceeds"),
            ("--payload 2 --payload-inertia -1,1,1", r"The payload cannot exist"),
            ("--payload 2 --payload-inertia 1,1", r"--payload-inertia is three numbers.*2 given"),
            ("--payload 2 --payload-centre 0,0", r"--payload-centre is three numbers.*2 given"),
            ("--payload 2 --payload-centre 0,x,0", r"--payload-centre: "),
            ("--payload-centre 0,0,0", r"--payload-centre needs --payload"),
            ("--payload-inertia 0,0,0", r"--payload-inertia needs --payload"),
        ):
            yield said(f"{command} {typed}", f"{command} {D3S} {typed}", expected)
        lacking = f"{command} abb_irb360_1130"
        yield said(lacking, lacking, r"abb_irb360_1130 has no 'bodies', which dynamics needs; add")
    for typed, expected in (
        ("--motion square", r"No motion is called 'square'"),
        ("--motion none.csv", r"none.csv: no such file"),
        ("--motion circle --radius 3 --rate 100", r"The motion leaves the reach of the robot"),
        ("--motion circle --start 0,0,-1", r"motion circle has no use for --start"),
    ):
        yield said(f"torques {typed}", f"torques {D3S} {typed}", expected)
    for typed, expected in (
        ("--at 0,0,-5", r"The start is out of reach: leg"),
        ("--at 0,0", r"--at: a pose of d3s_800 is 3 numbers.*2 given"),
        ("--speed 1,2", r"--speed: a velocity of d3s_800 is 3 numbers.*2 given"),
        ("--torque 1,2", r"--torque: the efforts of d3s_800 is 3 numbers.*2 given"),
        ("--torque strong", r"--torque: the efforts of d3s_800 is 3 numbers"),
        ("--duration 0", r"--duration is 0 s; it must be positive"),
        ("--rate -1", r"--rate is -1 Hz; it must be positive"),
        ("--tolerance 2", r"tolerance between 0 and 1"),
    ):
        yield said(f"simulate {typed}", f"simulate {D3S} {typed}", expected)
    yield said("no study", "reproduce rigid", r"There is no study 'rigid'. Did you mean 'rigid_d")
    missing = r"--figures no: there is no such folder"
    yield said("no folder", "reproduce rigid_delta --figures no", missing)


FAMILIES = (
    *(not_files, truncated, misspelt, out_of_bounds, incomplete, unusable, numbers),
    *(beyond_reach, usage, outputs, tables, motions, dynamics),
)
CASES = [case for family in FAMILIES for case in family()]


def test_there_are_many_cases_and_no_two_are_the_same():
    assert len(CASES) >= 300
    assert len({(case.arguments, case.file) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_mistake_is_answered_with_one_sentence(cli, files, tmp_path, case):
    refused(cli, files, tmp_path, case)


# What needs more than a file


def test_a_robot_file_that_may_not_be_read(cli, files, tmp_path):
    if os.geteuid() == 0 or sys.platform == "win32":
        pytest.skip("root may read everything")
    path = tmp_path / FILE
    path.write_text(TEMPLATE)
    path.chmod(0)
    try:
        result = cli("show", FILE)
    finally:
        path.chmod(0o600)
    assert result.code == 2
    assert result.err == "triskele: mine.toml: cannot be read: Permission denied.\n"


@pytest.mark.parametrize(
    "line",
    [f"show {D3S}", "schema", f"ik {D3S} 0 0 -0.9", f"fk {D3S} 0 0 0", f"workspace {D3S}"],
)
def test_a_folder_is_not_overwritten(cli, tmp_path, line):
    (tmp_path / "out.json").mkdir()
    result = cli(*line.split(), "--out", "out.json")
    assert (result.code, result.out) == (2, "")
    assert result.err == "triskele: out.json: is a directory; name a file to write.\n"
    assert os.listdir(tmp_path) == ["out.json"]


def test_a_folder_in_place_of_a_table(cli, tmp_path):
    (tmp_path / "poses.csv").mkdir()
    for arguments in (("ik", D3S, "--poses", "poses.csv", "--out", "a.csv"), ("motion", D3S)):
        result = cli(*arguments, *(["poses.csv"] if arguments[0] == "motion" else []))
        assert result.code == 2
        assert "poses.csv: is a directory; a table (.csv or .parquet) was expected." in result.err
