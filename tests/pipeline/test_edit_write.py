"""Check that changes are written below one folder only, even if it contains links."""

import os
import resource

import pytest

from kaizen_components.errors import Unavailable
from kaizen_components.pipeline.edits import write as edit_write
from kaizen_components.pipeline.edits.apply import EditRefused, write_changes


@pytest.fixture(params=["held open", "by path"])
def target(request, tmp_path, monkeypatch):
    """Return a folder to write into, beside another one. By path is for systems without dir_fd."""
    monkeypatch.setattr(edit_write, "HAS_DIR_FD", request.param == "held open")
    (tmp_path / "target").mkdir()
    (tmp_path / "target-evil").mkdir()
    (tmp_path / "target-evil" / "x").write_text("untouched")
    return tmp_path / "target"


def test_files_are_created_changed_and_deleted(target):
    (target / "old").mkdir()
    (target / "old" / "x").write_text("x")
    (target / "run.sh").write_text("a")
    (target / "run.sh").chmod(0o755)

    write_changes(str(target), {"a/b/c.py": b"c\n", "run.sh": b"b\n", "old/x": None})

    assert (target / "a/b/c.py").read_bytes() == b"c\n"
    assert (target / "run.sh").read_bytes() == b"b\n" and os.access(target / "run.sh", os.X_OK)
    assert sorted(os.listdir(target)) == ["a", "run.sh"]


@pytest.mark.parametrize(
    "path", ["../target-evil/x", "/etc/x", "a/../../target-evil/x", ".git/config", "..", "a\\b"]
)
def test_path_outside_folder_refuses_every_write(target, path):
    with pytest.raises(EditRefused):
        write_changes(str(target), {"fine.py": b"x", path: b"evil"})

    assert os.listdir(target) == []
    assert (target.parent / "target-evil/x").read_text() == "untouched"


@pytest.mark.parametrize("data", [b"evil", None])
def test_writing_through_symbolic_link_is_refused(target, data):
    outside = target.parent / "target-evil"
    (target / "folder").symlink_to(outside)
    (target / "file").symlink_to(outside / "x")
    (target / "dangling").symlink_to(outside / "new")

    for path in ("folder/x", "file", "dangling"):
        with pytest.raises(EditRefused):
            write_changes(str(target), {path: data})
    assert os.listdir(outside) == ["x"] and (outside / "x").read_text() == "untouched"


def test_writing_to_hard_link_leaves_other_file_unchanged(target):
    outside = target.parent / "target-evil" / "x"
    os.link(outside, target / "x")

    write_changes(str(target), {"x": b"mine"})

    assert outside.read_text() == "untouched" and (target / "x").read_bytes() == b"mine"


def test_writing_to_pipe_or_folder_is_refused(target):
    os.mkfifo(target / "pipe")
    (target / "folder").mkdir()

    for path in ("pipe", "folder", "pipe/x"):
        with pytest.raises(EditRefused):
            write_changes(str(target), {path: b"x"})


@pytest.mark.parametrize("moment", ["mkdir", "open", "stat", "chmod", "rename"])
def test_folder_swapped_for_link_is_not_followed(tmp_path, monkeypatch, moment):
    """Replace a folder by a link just before each system call in turn."""
    target, outside = tmp_path / "target", tmp_path / "outside"
    (target / "spot").mkdir(parents=True)
    outside.mkdir()
    real, calls = getattr(os, moment), []

    def swapping(*words, **more):
        if not calls and (moment != "open" or "dir_fd" in more):
            calls.append(words)
            os.replace(target / "spot", tmp_path / "moved")
            os.symlink(outside, target / "spot")
        return real(*words, **more)

    monkeypatch.setattr(os, moment, swapping)
    try:
        write_changes(str(target), {"spot/x.py": b"evil"})
    except EditRefused:
        pass

    assert calls and os.listdir(outside) == []


def test_full_disk_leaves_file_unchanged(target):
    (target / "x").write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(Unavailable, match="cannot be written"):
            write_changes(str(target), {"x": b"x" * 10_000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert os.listdir(target) == ["x"] and (target / "x").read_bytes() == b"old"
