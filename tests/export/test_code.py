"""Code of a robot: what it computes, what it says, and what it refuses."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiling import STRICT, needs
from every_robot import compared

import triskele as tk
from triskele.cli import main
from triskele.description import catalogue
from triskele.export.functions import functions


@pytest.fixture(scope="module")
def kossel(tmp_path_factory):
    """The monitor of a linear Delta, in which all its laws are, and the inverse."""
    folder = tmp_path_factory.mktemp("kossel") / "code"
    return tk.export_code(tk.load("kossel_mini"), folder, what=["inverse", "monitor"])


def test_c_is_what_the_library_computes_and_gives_numbers_whatever_goes_in(kossel):
    assert set(compared(kossel, "kossel_mini", 2000, "-O0")) == {"inverse", "monitor"}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.names())
def test_c_of_every_robot_agrees_at_a_million_states(name, tmp_path):
    written = tk.export_code(tk.load(name), tmp_path / "code")
    compared(written, name, 1_000_000, "-O1")


def self_test(folder, robot):
    """The exit code of the self-test."""
    options = (*STRICT, "-Wdouble-promotion", f"-D{robot.upper()}_SELFTEST_MAIN")
    sources = [f"{robot}.c", "selftest.c", "-lm"]
    subprocess.run([needs("gcc"), *options, *sources, "-o", "test"], cwd=folder, check=True)
    return subprocess.run([folder / "test"]).returncode


def test_the_self_test_passes_on_its_vectors_and_fails_on_others(kossel):
    golden = kossel.folder / "kossel_mini_golden.h"
    text = golden.read_text()
    assert self_test(kossel.folder, "kossel_mini") == 0
    digit = text.index("0.", text.index("inverse_out")) + 3  # of the first number
    golden.write_text(text[:digit] + ("1" if text[digit] != "1" else "2") + text[digit + 1 :])
    try:
        assert self_test(kossel.folder, "kossel_mini") == 1
    finally:
        golden.write_text(text)


def test_single_precision_passes_its_self_test(tmp_path):
    robot = tk.load("two_axis_linear_delta")
    written = tk.export_code(robot, tmp_path / "code", what=["inverse", "torques"], real="float")
    assert self_test(written.folder, robot.name) == 0
    assert all(1e-8 < vectors.error < 1e-5 for _, vectors in written.functions)


def test_a_javascript_module_passes_its_self_test_in_node(tmp_path):
    node, robot = needs("node"), tk.load("kossel_mini")
    written = tk.export_code(robot, tmp_path / "code", "js", ["inverse", "monitor"])
    subprocess.run([node, "selftest.mjs"], cwd=written.folder, check=True)
    golden = written.folder / "kossel_mini_golden.mjs"
    text = golden.read_text()
    digit = text.index("0.", text.index("wanted")) + 3
    golden.write_text(text[:digit] + ("1" if text[digit] != "1" else "2") + text[digit + 1 :])
    ran = subprocess.run([node, "selftest.mjs"], cwd=written.folder, capture_output=True, text=True)
    assert "1 golden vectors fail" in ran.stderr
    types = (written.folder / "kossel_mini.d.mts").read_text()
    assert "export declare function monitor(" in types
    assert "  worst: number;" in types


@pytest.mark.long
@pytest.mark.parametrize("real", ["double", "float"])
def test_a_microcontroller_passes_the_self_test_in_an_emulator(real, tmp_path):
    """Torques of an IRB 360 with friction on a Cortex-M7, in at most 40 kB of code."""
    robot = "abb_irb360_6_1600"
    tk.export_code(tk.load(robot), tmp_path / "code", what=["torques"], real=real)
    compiler, emulator = needs("arm-none-eabi-gcc"), needs("qemu-system-arm")
    processor = ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard")
    command = [compiler, *STRICT[:-1], "-Os", *processor]
    code, board = tmp_path / "code", Path(__file__).parent / "cortex"
    source = code / f"{robot}.c"
    subprocess.run([*command, "-c", source, "-o", tmp_path / "law.o"], check=True)
    sizes = subprocess.run(
        [needs("arm-none-eabi-size"), tmp_path / "law.o"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    text, data, bss = map(int, sizes.stdout.splitlines()[1].split()[:3])
    assert 5_000 < text <= 40_000
    assert data == bss == 0
    sources = [source, code / "selftest.c", board / "start.c"]
    linked = ["-nostartfiles", "-T", board / "memory.ld", "-lm", "-o", tmp_path / "test.elf"]
    subprocess.run([*command, f"-DSELFTEST={robot}_selftest", *sources, *linked], check=True)
    machine = ("-M", "mps2-an500", "-nographic", "-semihosting", "-kernel")
    ran = subprocess.run([emulator, *machine, tmp_path / "test.elf"], timeout=60, check=False)
    assert ran.returncode == 0


def test_the_monitor_finds_the_loads_and_limits_of_a_motion():
    """By the balance of every body along a motion, which shares no law of rods with it."""
    robot, payload = tk.load("abb_irb360_6_1600"), tk.Payload(
        mass=2.0, centre_of_mass=(0.01, -0.02, -0.05), inertia=(0.01, 0.02, 0.015)
    )  # fmt: skip
    motion = tk.pick_and_place(robot, length=0.5, height=0.1, duration=1.0, rate=50)
    demands = tk.torques(robot, motion, payload)
    (monitor,) = functions(robot, ["monitor"])
    carried = (payload.mass, *payload.centre_of_mass, *payload.inertia)
    joints = [np.asarray(part) for part in demands.joints[:3]]
    rows = np.hstack([*joints, np.tile(carried, (len(motion.t), 1))])
    outputs = monitor.at(rows)
    ports = [port.name for group in monitor.outputs for port in group.ports]
    column = dict(zip(ports, outputs.T, strict=True))
    for k, coordinate in enumerate(motion.coordinates):
        assert np.allclose(column[coordinate.name], np.asarray(motion.x)[:, k], atol=1e-12)
    for k in range(4):
        assert np.allclose(column[f"tau_q{k + 1}"], demands.tau[:, k], atol=1e-9)
    for k, rod in enumerate(demands.loads.rods.names):
        assert np.allclose(column[f"{rod}_lower"], demands.loads.rods.lower[:, k], atol=1e-8)
        assert np.allclose(column[f"{rod}_upper"], demands.loads.rods.upper[:, k], atol=1e-8)
    series = {item.limit.label: item.use for item in demands.series}
    names = [item.limit.label for item in monitor.limits]
    for k, name in enumerate(names):
        assert np.allclose(column[f"use_{k}"], series[name], rtol=1e-9, atol=1e-9), name
    history = ("jerk", "RMS", "torque rate", "tilting moment in", "force in", "grip")
    assert all(name.startswith(history) for name in set(series) - set(names))


def test_a_payload_on_a_platform_that_turns_is_that_of_the_library():
    """All seven numbers count: those of a payload of the file are parameters of the robot."""
    robot = tk.load("stewart_6ups")
    payload = tk.Payload(mass=20.0, centre_of_mass=(0.1, -0.2, 0.3), inertia=(2.0, 3.0, 4.0))
    random = np.random.default_rng(5)
    home = [float(value) for value in tk.build(robot).home()]
    motion = np.array([home, [0.0] * 6, [0.0] * 6]) + 0.05 * random.normal(size=(20, 3, 6))
    motion[:, 1:] *= 20
    x, xd, xdd = motion.swapaxes(0, 1)
    (torques,) = functions(robot, ["torques"])
    carried = (payload.mass, *payload.centre_of_mass, *payload.inertia)
    found = torques.at(np.hstack([x, xd, xdd, np.tile(carried, (20, 1))]))[:, :6]
    wanted = tk.torque_function(tk.rigid(robot, payload))(x, xd, xdd)
    assert np.allclose(found, wanted, rtol=1e-11)
    without = tk.torque_function(tk.rigid(robot))(x, xd, xdd)
    assert (np.abs(wanted - without).max(axis=0) > 1.0).all()


def test_the_header_says_what_it_was_made_of(kossel):
    text = (kossel.folder / "kossel_mini.h").read_text()
    for phrase in (
        "#define KOSSEL_MINI_INTERFACE 1",
        "kossel_mini.toml",
        "belongs to whoever generated it",
        "Assumed",
        "payload_mass [kg]",
        'extern "C"',
        "#define KOSSEL_MINI_LIMIT_TENSION_OF_ROD_1A ",
    ):
        assert phrase in text
    assert text.isascii()
    for name in kossel.files:
        assert "nan" not in (kossel.folder / name).read_text().lower().split(), name


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["kossel_mini", "--what", "invers"], "no function 'invers' to export. Did you mean"),
        (["kossel_mini", "--what", ","], "No function is named"),
        (["kossel_mini", "--target", "fortran"], "no target 'fortran'"),
        (["kossel_mini", "--real", "half"], "no type 'half'"),
        (["kossel_mini", "--target", "js", "--real", "float"], "computes in double precision"),
        (["abb_irb360_1130", "--what", "torques"], "has no 'bodies'"),
        (["d3s_800", "--what", "inverse,loads"], "d3s_800 has no 'loads' to export"),
        (
            ["two_axis_linear_delta", "--what", "forward", "--real", "float"],
            "wrong in single precision",
        ),
        (["no_such_robot"], "no_such_robot"),
    ],
)
def test_a_bad_request_is_one_sentence_and_nothing_is_written(
    arguments, sentence, tmp_path, capsys
):
    assert main(["export", *arguments, "--out", str(tmp_path / "code")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_with_files_is_kept(tmp_path, capsys):
    mine = tmp_path / "mine.txt"
    mine.write_text("mine")
    command = ["export", "two_axis_linear_delta", "--what", "inverse", "--out", str(tmp_path)]
    assert main(command) == 2
    assert "is not empty; name another folder, or give --force." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert main([*command[:-1], str(mine)]) == 2
    assert "is a file; name a folder." in capsys.readouterr().err
    assert main([*command[:-1], str(tmp_path / "no" / "folder")]) == 2
    assert main([*command, "--force", "--json"]) == 0
    assert '"operations": ' in capsys.readouterr().out
    assert mine.read_text() == "mine"
    assert (tmp_path / "two_axis_linear_delta.c").exists()
