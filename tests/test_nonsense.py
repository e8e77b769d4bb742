"""What `check` says of files that nobody can mean, and that it is silent on all that ship."""

import json

import pytest
from nonsense import Nonsense, enlarged, nonsense, slips, sources, spoken_of, statements

from triskele.description import catalogue
from triskele.description.load import parse

SEED, MANY = 22, 300
LIMBS = {name for name, text in sources().items() if '"limbs"' in text}


def unheard(cases: list[Nonsense]) -> list[str]:
    """Names of the files about which nothing is said."""
    return [case.name for case in cases if spoken_of(case.text) is None]


def test_the_list_is_seeded_and_has_robots_of_all_kinds():
    cases = nonsense(MANY, SEED)
    assert cases == nonsense(MANY, SEED)
    assert len({case.name for case in cases}) == len({case.text for case in cases}) == MANY
    for kind in ("delta", "3prs", "limbs", "mechanism"):
        assert sum(f'"{kind}"' in case.text for case in cases) >= 5


@pytest.mark.long
def test_statements_by_hand_are_spoken_of():
    cases = statements()
    assert len(unheard(cases)) <= 0.05 * len(cases), unheard(cases)


@pytest.mark.long
@pytest.mark.slow
def test_nineteen_of_twenty_nonsense_files_are_spoken_of():
    silent = unheard(nonsense(MANY, SEED))
    assert len(silent) <= 0.05 * MANY, silent


@pytest.mark.long
def test_a_slice_of_the_list_is_spoken_of():
    some = nonsense(MANY, SEED)[len(statements()) :: 6]
    assert len(unheard(some)) <= 0.05 * len(some) + 1, unheard(some)


def test_a_slice_of_slips_of_deltas_is_spoken_of():
    some = [case for case in slips() if case.name.partition(",")[0] not in LIMBS][::80]
    assert len(some) > 8
    assert len(unheard(some)) <= 0.05 * len(some), unheard(some)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n in LIMBS else n for n in sources()]
)
def test_what_ships_gets_no_remark(name):
    assert spoken_of(sources()[name], assemble=False) is None


@pytest.mark.parametrize("size", [0.5, 2.0])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n in LIMBS else n for n in sources()]
)
def test_what_ships_gets_no_remark_half_or_twice_as_large(name, size):
    if (name, size) == ("stewart_6ups", 2.0):
        pytest.skip("six metres from the axis are unusual for any robot")
    assert spoken_of(enlarged(sources()[name], size), assemble=False) is None


def test_a_machine_twice_as_large_weighs_eight_times_as_much_and_falls_as_fast():
    text = enlarged(catalogue.template("delta"), 2.0)
    small, large = parse(catalogue.template("delta")), parse(text)
    assert large.geometry.arm_length == pytest.approx([2 * v for v in small.geometry.arm_length])
    assert large.bodies.arm.mass == pytest.approx(8 * small.bodies.arm.mass)
    assert large.bodies.arm.inertia == pytest.approx([32 * v for v in small.bodies.arm.inertia])
    assert large.motors.drives.peak_torque == pytest.approx(16 * small.motors.drives.peak_torque)
    assert large.limits.joint_acceleration[0] * 2 == pytest.approx(
        small.limits.joint_acceleration[0]
    )
    assert large.gravity == small.gravity
    assert large.limits.joint_angle == pytest.approx(small.limits.joint_angle)


def test_a_mechanism_file_gets_its_remarks(cli_check):
    text = catalogue.template("mechanism").replace("[0, -9.81, 0]", "[0, -1.62, 0]", 1)
    code, out = cli_check(text)
    assert code == 0
    assert "suspicious: gravity: 1.62 m/s^2, as on the Moon; on Earth it is 9.81." in out
    _, out = cli_check(text, "--json")
    assert json.loads(out)["remarks"] == [
        "gravity: 1.62 m/s^2, as on the Moon; on Earth it is 9.81."
    ]


@pytest.fixture
def cli_check(tmp_path, capsys):
    """A function that runs `check` on a text, and returns its code and what it prints."""
    from triskele.cli import main

    def run(text: str, *options: str) -> tuple[int, str]:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        code = main(["check", str(path), *options])
        return code, capsys.readouterr().out

    return run
