"""What is kept on disk: found by another process, never wrong, never in the way."""

import errno
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import triskele
from triskele.programs import store

SOURCES = Path(triskele.__file__).parent


@pytest.fixture
def folder(tmp_path):
    """A folder in which things are kept during a test."""
    store.keep_in(tmp_path / "kept")
    yield tmp_path / "kept"
    store.keep_in(None)


def test_what_was_kept_is_read_again(folder):
    assert store.read("a") is None
    store.write("a", b"some bytes")
    store.write("b", b"")
    assert store.read("a") == b"some bytes"
    assert store.read("b") == b""
    store.write("a", b"others")
    assert store.read("a") == b"others"
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]


def test_nothing_is_kept_unless_a_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store.keep_in(None)
    store.write("a", b"some bytes")
    assert store.read("a") is None
    assert not list(tmp_path.iterdir())


def test_the_folder_is_for_its_owner_alone(folder):
    store.write("a", b"")
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "a").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damaged",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"another program\n" + data,
        lambda data: data[:20] + bytes([data[20] ^ 1]) + data[21:],
        lambda data: bytes(len(data)),
    ],
)
def test_a_damaged_file_is_ignored_and_replaced(folder, damaged):
    store.write("a", b"some bytes")
    path = folder / "a"
    path.write_bytes(damaged(path.read_bytes()))
    assert store.read("a") is None
    store.write("a", b"some bytes")
    assert store.read("a") == b"some bytes"


def test_a_folder_in_the_place_of_a_file_is_ignored(folder):
    (folder / "a").mkdir(parents=True)
    assert store.read("a") is None
    store.write("a", b"some bytes")
    assert store.read("a") is None
    assert [path.name for path in folder.iterdir()] == ["a"]


# Folders that cannot be written


def refused(*_, **__):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_a_folder_that_cannot_be_made_costs_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    store.keep_in(tmp_path / "file" / "kept")
    try:
        store.write("a", b"some bytes")
        assert store.read("a") is None
    finally:
        store.keep_in(None)


def test_what_is_in_a_folder_that_cannot_be_written_is_read(folder, monkeypatch):
    store.write("a", b"some bytes")
    for module, name in ((os, "utime"), (os, "mkdir"), (tempfile, "mkstemp")):
        monkeypatch.setattr(module, name, refused)
    store.write("b", b"others")
    assert store.read("a") == b"some bytes"
    assert store.read("b") is None
    assert [path.name for path in folder.iterdir()] == ["a"]


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    store.write("a", b"some bytes")

    class Full:
        def __init__(self, handle, mode):
            os.close(handle)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fdopen", Full)
    store.write("b", b"others")
    assert store.read("a") == b"some bytes"
    assert [path.name for path in folder.iterdir()] == ["a"]


# Several processes

COUNT = 40
WRITER = """
import sys
from triskele.programs import store

store.keep_in(sys.argv[1])
for k in range(int(sys.argv[2])):
    data = sys.argv[3].encode() * 5000
    store.write(f"{k % 4}", data)
    found = store.read(f"{k % 4}")
    assert found is not None and len(set(found)) == 1 and len(found) == 5000
"""


def python(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return out


def test_two_processes_that_write_at_once_read_whole_files(folder):
    writers = [python(WRITER, folder, COUNT, letter) for letter in "xy"]
    for writer in writers:
        finished(writer)
    for k in range(4):
        assert store.read(str(k)) in (b"x" * 5000, b"y" * 5000)
    assert sorted(path.name for path in folder.iterdir()) == ["0", "1", "2", "3"]


def test_threads_that_write_at_once_read_whole_files(folder):
    def work(letter):
        for k in range(50):
            store.write(str(k % 3), letter * 1000)
            found = store.read(str(k % 3))
            assert found is not None
            assert len(set(found)) == 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [b"a", b"b", b"c", b"d"]))


LAW = """
import sys, time
import equinox as eqx
import numpy as np
import triskele as tk
from triskele.dynamics.inverse import inverse_dynamics
from triskele.numerics import tabulate
from triskele.programs import kernel, native, store

store.keep_in(sys.argv[1])
if sys.argv[2] == "kept":  # then nothing is traced or compiled
    kernel._traced = kernel.trace = native.object_code = None
robot = tk.rigid(tk.load("omron_mini_delta"))
x = np.array([[0.0, 0.0, -0.4], [0.05, -0.02, -0.45]])
tau = tabulate(eqx.Partial(inverse_dynamics, robot))(x, 0 * x + 0.1, 0 * x + 1)
print(*(float(part).hex() for column in tau for part in column))
print(kernel._KERNELS and [k is not None for k in kernel._KERNELS.values()])
"""


def test_a_law_is_neither_traced_nor_compiled_in_a_second_process(folder):
    first = finished(python(LAW, folder, "new")).splitlines()
    names = sorted(path.suffix for path in folder.iterdir())
    assert names == [".code", ".program"]
    second = finished(python(LAW, folder, "kept")).splitlines()
    assert first == second
    assert second[1] == "[True]"
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert finished(python(LAW, folder, "new")).splitlines() == first  # damaged, and made anew
    assert finished(python(LAW, folder, "kept")).splitlines() == first


# Room


def test_what_was_not_used_for_longest_goes_when_there_is_too_much(folder, monkeypatch):
    size = len(store._MAGIC) + 32 + 100
    monkeypatch.setattr(store, "LARGEST", 8 * size)
    for k in range(8):
        store.write(str(k), bytes(100))
        os.utime(folder / str(k), (1000 + k, 1000 + k))
    assert len(list(folder.iterdir())) == 8
    assert store.read("1") is not None  # used now, the latest
    store.write("8", bytes(100))
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["1", "6", "7", "8"]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= store.LARGEST // 2


def test_what_is_larger_than_the_room_is_not_in_the_way(folder, monkeypatch):
    monkeypatch.setattr(store, "LARGEST", 1000)
    store.write("a", bytes(100))
    store.write("b", bytes(5000))
    assert store.read("b") is None
    store.write("c", bytes(100))
    assert store.read("c") == bytes(100)


def test_files_that_another_process_deletes_meanwhile_are_no_matter(folder, monkeypatch):
    for name in "abc":
        store.write(name, bytes(100))
    entries = list(os.scandir(folder))
    (folder / "b").unlink()
    monkeypatch.setattr(os, "scandir", lambda _: entries)
    monkeypatch.setattr(store, "LARGEST", 50)
    store.write("d", bytes(100))
    assert store.read("a") is None


# Names


def test_names_are_those_of_files_and_differ_with_each_part():
    one = store.name_of("law", "robot")
    assert one == store.name_of("law", "robot")
    assert one.isalnum()
    others = [("law", "robots"), ("lawr", "obot"), ("law",), ("law", "robot", ""), ("robot", "law")]
    assert len({one, *(store.name_of(*parts) for parts in others)}) == 6


def test_names_differ_when_a_source_of_the_package_changes(monkeypatch):
    one = store.name_of("law")
    monkeypatch.setattr(store, "_sources", lambda: "others")
    assert store.name_of("law") != one


def test_any_source_of_the_package_counts_by_content_and_by_name(tmp_path, monkeypatch):
    package = tmp_path / "triskele"
    (package / "programs").mkdir(parents=True)
    (package / "programs" / "store.py").write_text("")
    law = package / "law.py"
    law.write_text("a = 1\n")
    monkeypatch.setattr(store, "__file__", str(package / "programs" / "store.py"))
    sources = store._sources.__wrapped__
    first = sources()
    law.write_text("a = 2\n")
    second = sources()
    law.rename(package / "rule.py")
    third = sources()
    (package / "rule.py").write_text("a = 1\n")
    (package / "rule.py").rename(law)
    assert len({first, second, third}) == 3
    assert sources() == first


def test_versions_of_jax_and_numpy_count(monkeypatch):
    first = store._sources.__wrapped__()
    monkeypatch.setattr("jax.__version__", "0.0.0")
    assert store._sources.__wrapped__() != first


def test_the_sources_are_those_of_this_package():
    assert (SOURCES / "programs" / "store.py").samefile(store.__file__)
