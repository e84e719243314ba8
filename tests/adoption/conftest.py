"""A repository that is going to adopt the engine, and what it looks like to the byte."""

import os
import stat
import subprocess
import sys

import pytest

from ..conftest import ROOT, git


@pytest.fixture
def repo(tmp_path):
    """Somebody's repository with a space in its name, and a first commit."""
    folder = tmp_path / "other repo"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "README.md").write_text("Theirs.\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def seen(folder):
    """Every path below a folder but .git and AI: its mode, and its bytes or where it leads."""
    found = {}
    for here, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one not in (".git", "AI", "__pycache__")]
        for name in [*folders, *files]:
            path = os.path.join(here, name)
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            if os.path.islink(path):
                found[os.path.relpath(path, folder)] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                found[os.path.relpath(path, folder)] = ("folder", mode)
            else:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = (mode, file.read())
    return found


@pytest.fixture
def as_user(root, tool):
    """`as_user("SK1")`: the command line without an administrator's way round the rights of files."""
    drop = [tool("setpriv"), "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []

    def run(*words):
        argv = [*drop, sys.executable, str(ROOT / "kaizen.py"), *words, "--json"]
        env = {**os.environ, "KAIZEN_REPO_ROOT": str(root)}
        return subprocess.run(argv, capture_output=True, text=True, cwd=root, env=env)

    return run
