"""Reading robot files: what is found where, and one sentence for every way to break a file."""

import os
import re
import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from triskele.description import catalogue, kinds
from triskele.description.load import LARGEST, load, parse
from triskele.description.provenance import Fact
from triskele.description.schema import DeltaRobot
from triskele.errors import DescriptionError, TriskeleError, UnknownName

TRIANGLE = """
kind = "delta"
name = "triangle"
title = "3-4-5"
source = "geometry"

[geometry]
base_radius = "1 m"
platform_radius = "1 m"
arm_length = { value = 3, unit = "m", source = "drawing 1" }
rod_length = "5 m"

[limits]
source = "assumed: a guess"
rod_tilt = "40 deg"
margin = { value = 0.1, source = "the boss" }
"""


def problems(text, place="mine.toml"):
    """The sentences with which `text` is refused, without the place they begin with."""
    with pytest.raises(DescriptionError) as caught:
        parse(text, place)
    return [problem.removeprefix(place + ", ") for problem in caught.value.problems]


# Laws: whatever is done to a file, it loads or is refused with a sentence.

BAD_VALUES = [
    *("nan", "-inf", "-1", "0", "1e999", "9" * 400, "9" * 5000, "true", "1979-05-27", "[]", "{}"),
    *('""', '"nan m"', '"-370 mm"', '"1e-999999999 mm"', '"5 parsec"', '"mm^99999999"', "[[1]]"),
    *("{ value = nan, unit = 3 }", "{ value = {} }", "{ value = [], unit = 'mm' }", "'delta'"),
    *("[nan, 'x', {}]", "{ source = 3 }", "{ value = 1, unit = '', source = [] }", '"\\u0000"'),
]
TEXTS = [*map(catalogue.text, catalogue.names()), *map(catalogue.template, catalogue.templates())]
FILES = st.sampled_from(TEXTS)
ASSIGNMENT = re.compile(r"(?m)^([\w.]+\s*=).*$")


def loads_or_is_refused(text):
    """Assert that `text` is a robot, or that the error is ours and reads as a sentence."""
    try:
        parse(text, "broken.toml")
    except TriskeleError as error:
        assert re.match(r"broken\.toml[:,] ", str(error)), str(error)


@settings(deadline=None, max_examples=150)
@given(FILES, st.floats(0, 1))
def test_a_file_cut_off_anywhere_is_refused_with_a_sentence(text, part):
    loads_or_is_refused(text[: int(part * len(text))])


@settings(deadline=None, max_examples=150)
@given(FILES, st.integers(0, 400))
def test_a_file_that_lost_a_line_is_refused_with_a_sentence(text, number):
    lines = text.splitlines()
    del lines[number % len(lines)]
    loads_or_is_refused("\n".join(lines))


@settings(deadline=None, max_examples=300)
@given(FILES, st.integers(0, 400), st.sampled_from(BAD_VALUES))
def test_a_file_with_a_senseless_value_is_refused_with_a_sentence(text, number, value):
    found = list(ASSIGNMENT.finditer(text))
    place = found[number % len(found)]
    changed = f"{text[: place.start()]}{place[1]} {value}{text[place.end() :]}"
    loads_or_is_refused(changed)


@settings(deadline=None, max_examples=150)
@given(FILES, st.integers(0, 400), st.integers(0, 400))
def test_a_file_with_two_values_exchanged_is_refused_with_a_sentence(text, one, other):
    values = ASSIGNMENT.findall(text)
    lines = text.splitlines()
    places = [i for i, line in enumerate(lines) if ASSIGNMENT.match(line)]
    i, j = places[one % len(values)], places[other % len(values)]
    (key_i, _, value_i), (key_j, _, value_j) = lines[i].partition("="), lines[j].partition("=")
    lines[i], lines[j] = f"{key_i}={value_j}", f"{key_j}={value_i}"
    loads_or_is_refused("\n".join(lines))


@settings(deadline=None)
@given(st.text())
@example("kind = []")
@example("kind = {}")
@example("x = " + "[" * 5000)
@example('kind = "delta"\ngeometry = 3\nmaterials = [1]\npayloads.x = 2\nbodies.arm = "no"')
def test_any_text_is_refused_with_a_sentence(text):
    loads_or_is_refused(text)


# What comes out.


def test_a_shipped_robot_is_loaded_by_name_and_a_file_by_path(tmp_path):
    path = tmp_path / "triangle.toml"
    path.write_text("\ufeff" + TRIANGLE.replace("\n", "\r\n"), encoding="utf-8")
    assert load("abb_irb360_6_1600") is load("abb_irb360_6_1600")
    assert load(path) == load(str(path)) == parse(TRIANGLE)


def test_numbers_come_out_in_si():
    robot = parse(TRIANGLE)
    assert isinstance(robot, DeltaRobot)
    assert robot.geometry.arm_length == (3.0, 3.0, 3.0)
    assert robot.limits.rod_tilt == pytest.approx(0.6981317)
    assert robot.gravity == (0.0, 0.0, -9.81)


def test_a_source_is_inherited_from_the_table_and_the_file_in_the_order_of_the_file():
    facts = parse(TRIANGLE).facts
    assert set(facts) == {
        Fact("limits.rod_tilt", "40 deg", "assumed: a guess"),
        Fact("limits.margin", "0.1", "the boss"),
        Fact("geometry.base_radius", "1 m", "geometry"),
        Fact("geometry.platform_radius", "1 m", "geometry"),
        Fact("geometry.arm_length", "3 m", "drawing 1"),
        Fact("geometry.rod_length", "5 m", "geometry"),
    }
    places = [TRIANGLE.index(fact.key.split(".")[1]) for fact in facts]
    assert places == sorted(places)


def test_assumptions_are_those_that_say_so_and_those_without_any_source():
    robot = parse(TRIANGLE)
    assert [fact.key for fact in robot.assumptions()] == ["limits.rod_tilt"]
    assert robot.assumptions("geometry") == ()
    unsourced = parse(TRIANGLE.replace('source = "geometry"', ""))
    assert [fact.reason for fact in unsourced.assumptions("geometry")] == ["no source given"] * 3
    assert unsourced.assumptions("limits")[0].reason == "assumed: a guess"


def test_facts_are_found_in_named_tables_too():
    keys = {fact.key for fact in load("abb_irb360_6_1600").facts}
    assert {
        "materials.cfrp.density",
        "payloads.plate.mass",
        "geometry.telescope.upper_length",
    } <= keys


def test_reading_robots_imports_neither_jax_nor_numpy():
    modules = "load, save, json_schema, catalogue, files, provenance"
    code = f"import sys; from triskele.description import {modules}; load.load('d3s_800'); "
    code += "print(*{'jax', 'numpy'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split() == []


# What is refused, and how.


def test_a_misspelt_key_comes_before_the_missing_one_it_causes():
    found = problems(TRIANGLE.replace("arm_length", "arm_lenght"))
    assert found == [
        "geometry.arm_lenght: no such key. Did you mean 'arm_length'?",
        "geometry.arm_length: is missing.",
    ]


def test_the_message_is_the_first_problem_and_counts_the_others():
    with pytest.raises(DescriptionError) as caught:
        parse(TRIANGLE.replace("arm_length", "arm_lenght"), "mine.toml")
    assert str(caught.value).startswith("mine.toml, geometry.arm_lenght: no such key.")
    assert str(caught.value).endswith("(1 more: run `triskele check`)")
    assert isinstance(caught.value, ValueError)


def test_unknown_keys_are_answered_with_those_that_exist():
    (tables,) = problems(TRIANGLE + "\n[frictions]")
    assert tables == "frictions: no such key. Did you mean 'friction'?"
    (nested,) = problems(TRIANGLE + '\n[friction.drives]\ncolumb = "1 N m"')
    assert nested == "friction.drives.columb: no such key. Did you mean 'coulomb'?"
    named = problems(TRIANGLE + '\n[payloads.box]\nmas = "1 kg"')
    assert named[0] == "payloads.box.mas: no such key. Did you mean 'mass'?"
    assert named[1] == "payloads.box.mass: is missing."
    (far,) = problems(TRIANGLE + '\n[control]\nxyz = "1 s"')
    assert far.startswith("control.xyz: no such key. Known: integral_gain, position_gain")


def test_a_wrong_number_is_named_with_its_place():
    (sentence,) = problems(TRIANGLE.replace('"5 m"', '"-5 m"'))
    assert sentence == (
        "geometry.rod_length: -5 m is not a length. It must be positive; did you mean 5 m?"
    )


def test_a_wrong_word_is_named_with_its_place():
    (sentence,) = problems(TRIANGLE.replace('"triangle"', '"3-4-5"'))
    assert sentence.startswith("name: '3-4-5' does not fit: string should match pattern")
    (sentence,) = problems(TRIANGLE + "\n[friction]\ndrives = 3")
    assert sentence.startswith("friction.drives: 3 does not fit: ")


def test_a_contradiction_within_a_table_is_named_with_the_table():
    (sentence,) = problems(TRIANGLE.replace("[limits]", 'connector_offset = "1 m"\n[limits]'))
    assert sentence == ("geometry: connector_offset needs rod_spacing: a single rod has no pair.")


def test_the_kind_must_be_known(monkeypatch):
    monkeypatch.setattr(kinds, "_ADDED", {})  # what other tests registered
    (missing,) = problems("x = 1")
    assert missing == "kind: is missing. Known: 3prs, delta, limbs, mechanism."
    (wrong,) = problems('kind = "detla"')
    assert wrong == "kind: 'detla' is not a kind of robot. Did you mean 'delta'?"


def test_broken_toml_is_refused_with_the_line():
    (sentence,) = problems("kind = ")
    assert re.fullmatch(r"mine\.toml: is not valid TOML: Invalid value \(at .*\)\.", sentence)


def test_an_empty_file_is_told_how_to_begin():
    (sentence,) = problems("# nothing yet\n")
    assert sentence == "mine.toml: is empty. `triskele init delta mine.toml` writes a start."


def test_an_unknown_robot_is_answered_with_the_likeliest_one():
    with pytest.raises(UnknownName) as caught:
        load("abb_irb360")
    assert str(caught.value).startswith(
        "No robot is called 'abb_irb360'. Did you mean 'abb_irb360_"
    )
    assert str(caught.value).endswith("give its path, ending in .toml.")
    assert isinstance(caught.value, KeyError)


def test_a_missing_file_is_answered_with_the_shipped_robots():
    with pytest.raises(DescriptionError, match=r"none\.toml: no such file\. Shipped robots: abb_"):
        load("none.toml")


def test_what_is_no_readable_text_file_is_refused(tmp_path):
    with pytest.raises(DescriptionError, match="is a directory; a robot file was expected"):
        load(tmp_path)
    image = tmp_path / "image.toml"
    image.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(DescriptionError, match=r"image\.toml: is not a text file in UTF-8\."):
        load(image)
    with pytest.raises(DescriptionError, match=r"cannot be read: File name too long\."):
        load("x" * 5000 + ".toml")
    with pytest.raises(DescriptionError, match=r"'a\\x00\.toml': is not a file name"):
        load("a\x00.toml")


# Limits on size, depth and kind of files

LONG = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 20_000 + " = 1",
        "x = { a" + ' . "a"' * 20_000 + " = 1 }",
        "[a" + ".'a'" * 20_000 + "]",
        "[[" + "a." * 20_000 + "a]]",
    ],
)
def test_a_dotted_key_without_an_end_is_refused_at_once(text):
    began = time.process_time()
    (problem,) = problems(text)
    assert "has more than 16 parts" in problem
    assert time.process_time() - began < 1.0  # tomllib takes 44 s


def test_keys_of_the_format_and_dots_in_sentences_are_no_deep_keys():
    dotted = TRIANGLE + "\n[payloads.a]\nmass = '1 kg'\nsource = 'see 1.2.3.4.5.6.7 ... p. 5'"
    assert parse(dotted).payloads["a"].mass == 1


@pytest.mark.parametrize(
    "old, new",
    [
        ('"1 m"', f'"{"9" * LONG} x"'),
        ('"1 m"', f'"{"x" * LONG}"'),
        ('"1 m"', f'{{ value = 1, unit = "{"m" * LONG}" }}'),
        ('"1 m"', f'{{ value = 1, unit = ["{"m" * LONG}"] }}'),
        ('"1 m"', f"{{ {'v' * LONG} = 1 }}"),
        ('"1 m"', "[" * 300 + "]" * 300),
        ('"delta"', f'"{"d" * LONG}"'),
        ("base_radius", "b" * LONG),
        ('"triangle"', f'"{"!" * LONG}"'),
        ("[limits]", f"[{'l' * LONG}]"),
    ],
)
def test_a_sentence_quotes_a_long_value_by_its_beginning(old, new):
    assert max(map(len, problems(TRIANGLE.replace(old, new)))) < 500


def test_a_pipe_a_device_and_a_large_file_are_refused_at_once(tmp_path):
    pipe, endless, large = (tmp_path / f"{name}.toml" for name in ("pipe", "endless", "large"))
    os.mkfifo(pipe)  # opening it would wait for a writer
    endless.symlink_to("/dev/zero")
    large.write_text("#" * (LARGEST + 1))
    for path, expected in ((pipe, "a pipe"), (endless, "a device"), (large, "at most 1 MB")):
        with pytest.raises(DescriptionError, match=expected):
            load(path)


@pytest.mark.parametrize("number", ["1e300", "-1e25", "1e-300"])
def test_a_number_that_nothing_can_be_computed_with_is_refused(number):
    (problem,) = problems(TRIANGLE.replace("value = 3", f"value = {number}"))
    assert problem.startswith("geometry.arm_length: ")
    body = "[payloads.a]\nmass = '1 kg'\ncentre_of_mass = { value = [-1e300, 0, 0], unit = 'mm' }"
    (problem,) = problems(f"{TRIANGLE}\n{body}")
    assert (
        problem == "payloads.a.centre_of_mass: -1e+297 m is not a position: the number is too "
        "large."
    )
