"""A slice of the hundred thousand bad inputs of `fuzzing.py`, and that it notices what is bad."""

import fuzzing
import pytest
from fuzzing import Case, as_command, case, fuzzed, judged


def test_cases_are_made_from_their_numbers_and_differ():
    made = [case(number, 1) for number in range(300)]
    assert made == [case(number, 1) for number in range(300)]
    assert len(set(made)) > 290
    assert {item.kind for item in made} == {"file", "table", "options"}
    assert made != [case(number, 2) for number in range(300)]


def test_a_slice_ends_in_results_and_sentences():
    counted, failures = fuzzed(range(40), 22)
    assert failures == []
    assert sum(counted.values()) == 40


@pytest.mark.long
def test_more_of_them_and_some_as_commands():
    _, failures = fuzzed(range(100, 250), 22, subprocesses=4)
    assert failures == []


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (lambda made: 1 / 0, "ZeroDivisionError"),
        (lambda made: print("[1.0, NaN]"), "NaN in what is printed"),
        (lambda made: _endless(), "takes more than 0.1 s"),
    ],
)
def test_what_is_bad_is_noticed(monkeypatch, tmp_path, broken, why):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fuzzing, "_read", broken)
    monkeypatch.setattr(fuzzing, "SLOW", 0.1)
    found = judged(7, Case("file", (), "mine.toml", b""))
    assert found is not None
    assert why in found.why


def _endless() -> None:
    while True:
        pass


def test_a_command_without_a_sentence_is_noticed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fuzzing.sys, "executable", "false")
    assert as_command(7, Case("options", ("robots",), "mine.toml", b"")) is None  # code 1, quiet
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexit 2\n")
    silent.chmod(0o755)
    monkeypatch.setattr(fuzzing.sys, "executable", str(silent))
    found = as_command(7, Case("options", ("robots",), "mine.toml", b""))
    assert found is not None
    assert found.why == "no sentence"
