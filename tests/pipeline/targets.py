"""Target repositories for tests of the pipeline."""

import hashlib
import os
import pathlib
import shutil
import tempfile

from ..conftest import git

MADE = tempfile.TemporaryDirectory(prefix="kaizen-repositories-")
FASTAPI = {
    "app/__init__.py": "",
    "app/main.py": (
        "from fastapi import FastAPI\n\napp = FastAPI()\n\n\n"
        '@app.get("/")\ndef root() -> dict[str, str]:\n    return {"service": "targetapp"}\n'
    ),
    "tests/test_main.py": (
        "from fastapi.testclient import TestClient\n\nfrom app.main import app\n\nclient = TestClient(app)\n\n\n"
        'def test_root() -> None:\n    assert client.get("/").json() == {"service": "targetapp"}\n'
    ),
}


def write(folder, files):
    for name, content in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def repository(folder, files):
    """Create a git repository with these files in one commit; equal ones are copied from a cache."""
    key = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
    made = pathlib.Path(MADE.name, key)
    if not made.exists():
        made.mkdir()
        git(made, "init", "-q", "-b", "main")
        write(made, files)
        git(made, "add", "-A", "-f")
        git(made, "commit", "-q", "-m", "first")
    shutil.copytree(made, folder, symlinks=True, dirs_exist_ok=True)
    git(folder, "update-index", "-q", "--refresh")  # the copies have times of their own
    return pathlib.Path(folder)


def everything(folder):
    """Return every path below a folder, with .git, and its kind and content."""
    found = {}
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(here, name)
            status = os.lstat(path)
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                content = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            else:
                content = "folder"
            found[os.path.relpath(path, folder)] = (status.st_mode, content)
    return found
