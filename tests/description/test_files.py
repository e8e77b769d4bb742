"""Files are written whole or not at all."""

import os
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
