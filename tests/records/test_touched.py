"""Which files were worked on lately, by git's account."""

import os
import time

import pytest

from kaizen_components.records.files import recent_files as module
from kaizen_components.records.files.recent_files import list_recent_files

from ..conftest import git


@pytest.fixture
def repository(root):
    git(root, "init", "-q", ".")
    return root


def write(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(time.time_ns()))


def commit(root, *names):
    write(root, *names)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "m")


def test_changed_files_are_listed_before_committed_ones(repository):
    commit(repository, "first.py")
    commit(repository, "src/second.py", "odd name ü.py")
    write(repository, "first.py", "src/new.py", "AI/work/x.txt")
    git(repository, "add", "first.py")

    assert list_recent_files(str(repository)) == [
        "first.py",
        "src/new.py",
        "odd name ü.py",
        "src/second.py",
    ]


def test_recent_file_paths_are_relative_to_project(repository):
    commit(repository, "part/in.py", "outside.py")
    write(repository, "part/new.py", "also-outside.py")

    assert list_recent_files(str(repository / "part")) == ["new.py", "in.py"]


def test_recent_commits_and_paths_are_limited(repository, monkeypatch):
    for number in range(module.COMMITS + 2):
        commit(repository, f"file{number:02}.py")
    assert list_recent_files(str(repository)) == [
        f"file{number:02}.py" for number in range(11, 1, -1)
    ]

    monkeypatch.setattr(module, "PATHS_MAX", 3)
    assert len(list_recent_files(str(repository))) == 3


def test_repository_without_commit_lists_untracked(repository):
    write(repository, "a.py")

    assert list_recent_files(str(repository)) == ["a.py"]


def test_folder_without_git_has_no_recent_files(root, monkeypatch):
    write(root, "a.py")
    assert list_recent_files(str(root)) == []

    git(root, "init", "-q", ".")
    monkeypatch.setenv("PATH", "")
    assert list_recent_files(str(root)) == []


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for git")
def test_hanging_git_command_gives_no_recent_files(root, monkeypatch, tmp_path):
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    start = time.monotonic()

    assert list_recent_files(str(root)) == []
    assert time.monotonic() - start < 30
