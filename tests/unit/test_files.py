"""Files appear whole, with the permissions of any other new file, or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from engine.files import replace_file, replacing


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    usual, path = tmp_path / "usual", tmp_path / "made"
    usual.write_bytes(b"")
    replace_file(path, b"content")
    assert path.read_bytes() == b"content"
    assert path.stat().st_mode == usual.stat().st_mode
    assert sorted(tmp_path.iterdir()) == [path, usual]


def test_other_threads_keep_their_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(mask: int) -> int:
        raise AssertionError(f"the umask of the whole process was set to {mask}")

    monkeypatch.setattr(os, "umask", refuse)
    thread = threading.Thread(target=replace_file, args=(tmp_path / "made", b"content"))
    thread.start()
    thread.join()
    assert (tmp_path / "made").exists()


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half of the new")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_stay_links(tmp_path: Path) -> None:
    real, link = tmp_path / "folder" / "real", tmp_path / "link"
    real.parent.mkdir()
    real.write_bytes(b"old")
    link.symlink_to(real)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert list(real.parent.iterdir()) == [real]


def test_a_loop_of_links_is_replaced(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    replace_file(loop, b"new")
    assert loop.read_bytes() == b"new"


def test_pipes_are_written_into_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(pipe, b"content")
        assert os.read(reader, 100) == b"content"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
