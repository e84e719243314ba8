"""Define a repository that will adopt the engine, and read all its files."""

import os
import stat
import subprocess
import sys

import pytest

from ..conftest import ROOT, git


@pytest.fixture
def repo(tmp_path):
    """Return a repository with a space in its name and one commit."""
    folder = tmp_path / "other repo"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "README.md").write_text("Theirs.\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def read_all(folder):
    """Return {path: (mode, content or link target)} below a folder, without .git and AI."""
    contents = {}
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", "AI", "__pycache__")]
        for name in [*folders, *files]:
            path = os.path.join(here, name)
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            if os.path.islink(path):
                contents[os.path.relpath(path, folder)] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                contents[os.path.relpath(path, folder)] = ("folder", mode)
            else:
                with open(path, "rb") as file:
                    contents[os.path.relpath(path, folder)] = (mode, file.read())
    return contents


@pytest.fixture
def as_user(root, tool):
    """Return a function that runs a command without the privileges of root on files."""
    drop = [tool("setpriv"), "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []

    def run(*words):
        argv = [*drop, sys.executable, str(ROOT / "kaizen.py"), *words, "--json"]
        env = {**os.environ, "KAIZEN_REPO_ROOT": str(root)}
        return subprocess.run(argv, capture_output=True, text=True, cwd=root, env=env)

    return run
