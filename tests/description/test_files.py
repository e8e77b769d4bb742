"""Files are written whole or not at all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from triskele.description import files
from triskele.description.files import write_whole
from triskele.errors import InputError


def test_text_and_bytes_are_written_and_replace_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    assert write_whole(path, "äöü\n") == path
    assert path.read_bytes() == "äöü\n".encode()
    write_whole(str(path), b"\x00\x01")
    assert path.read_bytes() == b"\x00\x01"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_rights_that_the_user_chose(tmp_path):
    before = os.umask(0o027)
    try:
        path = write_whole(tmp_path / "a.txt", "a")
        assert path.stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = write_whole(tmp_path / "a.txt", "old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
from triskele.description import files
{how}
files.write_whole(sys.argv[1], b"x" * 1000)
"""
DIE = "lambda *_: os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize("without_names", [True, False])
def test_a_killed_writer_leaves_the_old_file_and_what_it_left_is_swept(tmp_path, without_names):
    path = write_whole(tmp_path / "a.txt", "old")
    other = tmp_path / ".a.txt.notes.md"  # of the user
    other.write_text("mine")
    how = "" if without_names else "del os.O_TMPFILE\n"
    script = KILLED.format(how=f"{how}os.fsync = {DIE}")
    ended = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    left = {item.name for item in tmp_path.iterdir()} - {path.name, other.name}
    assert len(left) == (0 if without_names else 1)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert {item.name for item in tmp_path.iterdir()} == {path.name, other.name}


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    steps = []
    real, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: (steps.append("fsync"), real(file)))
    monkeypatch.setattr(Path, "replace", lambda *a: (steps.append("replace"), replace(*a)))
    write_whole(tmp_path / "a.txt", "a")
    assert steps == ["fsync", "replace", "fsync"]  # the file, its name, the folder


def test_a_directory_is_no_file_to_write(tmp_path):
    with pytest.raises(InputError, match="is a directory; name a file to write"):
        write_whole(tmp_path, "a")


def test_the_directory_must_exist(tmp_path):
    with pytest.raises(InputError, match=r"a\.txt: the directory .*none does not exist\."):
        write_whole(tmp_path / "none" / "a.txt", "a")


def test_the_directory_must_be_writable(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written to"):
        write_whole(tmp_path / "a.txt", "a")
