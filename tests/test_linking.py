"""Sibling projects link the engine and keep their own data."""

import os
import shutil
import subprocess
import sys

import pytest

from .conftest import LAUNCHER, ROOT

TASK = ("W1", "--title", "t", "--summary", "s")


@pytest.fixture
def engine(tmp_path):
    """A home of the engine, as a clone would be, with no data in it."""
    home = tmp_path / "engine home"
    home.mkdir()
    shutil.copytree(
        ROOT / "kaizen_components",
        home / "kaizen_components",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    shutil.copy(LAUNCHER, home)
    return home


@pytest.fixture
def sibling(tmp_path, engine):
    """Another project: its own launcher, and a link to the engine."""
    folder = tmp_path / "sibling project"
    folder.mkdir()
    shutil.copy(LAUNCHER, folder)
    os.symlink(engine / "kaizen_components", folder / "kaizen_components", target_is_directory=True)
    return folder


def run(launcher, *argv, cwd="/", **env):
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("KAIZEN_")
    }
    done = subprocess.run(
        [sys.executable, str(launcher), *argv],
        cwd=cwd,
        env={**environment, **env},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def has_data(folder):
    return (folder / "AI" / "db" / "kaizen.db").exists()


def test_linked_project_writes_its_own_database(sibling, engine):
    run(sibling / "kaizen.py", *TASK)

    assert has_data(sibling) and not has_data(engine) and not (engine / "AI").exists()
    assert "linked from another project" in run(sibling / "kaizen.py", "K11")


@pytest.mark.parametrize("where", ["engine home", "sibling project", "elsewhere"])
def test_launcher_works_from_any_working_directory(sibling, engine, tmp_path, where):
    folder = tmp_path / where
    folder.mkdir(exist_ok=True)
    run(sibling / "kaizen.py", *TASK, cwd=folder)

    assert (
        has_data(sibling) and not has_data(engine) and not (tmp_path / "elsewhere" / "AI").exists()
    )


def test_launcher_works_by_relative_path(sibling, engine):
    run("kaizen.py", *TASK, cwd=sibling)
    run("../sibling project/kaizen.py", *TASK, cwd=engine)

    assert "2 rows" in run("kaizen.py", "W9", cwd=sibling)
    assert not has_data(engine)


def test_symlinked_launcher_stores_data_in_its_own_folder(engine, tmp_path):
    folder = tmp_path / "all linked"
    folder.mkdir()
    os.symlink(engine / "kaizen.py", folder / "kaizen.py")
    run(folder / "kaizen.py", *TASK)

    assert has_data(folder) and not has_data(engine)


def test_root_variable_overrides_folder_of_launcher(sibling, engine, tmp_path):
    shared = tmp_path / "shared plane"
    shared.mkdir()
    run(sibling / "kaizen.py", *TASK, KAIZEN_REPO_ROOT=str(shared))
    run(engine / "kaizen.py", *TASK, KAIZEN_REPO_ROOT=str(shared))

    assert "2 rows" in run(sibling / "kaizen.py", "W9", KAIZEN_REPO_ROOT=str(shared))
    assert not has_data(sibling) and not has_data(engine)


def test_empty_root_variable_is_ignored(sibling):
    run(sibling / "kaizen.py", *TASK, KAIZEN_REPO_ROOT="")

    assert has_data(sibling)


def test_relative_root_variable_starts_at_working_directory(sibling, tmp_path):
    (tmp_path / "data").mkdir()
    run(sibling / "kaizen.py", *TASK, cwd=tmp_path, KAIZEN_REPO_ROOT="data")

    assert has_data(tmp_path / "data")


def test_git_worktree_has_its_own_records(engine, tmp_path):
    def git(*argv):
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
        subprocess.run(["git", *identity, *argv], cwd=engine, check=True, capture_output=True)

    (engine / ".gitignore").write_text("AI/\n__pycache__/\n")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")
    run(engine / "kaizen.py", *TASK)
    tree = tmp_path / "a worktree"
    git("worktree", "add", "-q", "--detach", str(tree))
    run(tree / "kaizen.py", *TASK)
    deeper = tree / "deep"
    deeper.mkdir()
    run("-m", "kaizen_components", *TASK, cwd=deeper, PYTHONPATH=str(tree))

    assert "1 row\n" in run(engine / "kaizen.py", "W9")
    assert "2 rows" in run(tree / "kaizen.py", "W9")
    assert not (deeper / "AI").exists()


def test_nearest_project_above_working_folder_gets_record(engine):
    run(engine / "kaizen.py", *TASK)
    inner = engine / "vendor" / "other"
    (inner / ".git").mkdir(parents=True)
    run("-m", "kaizen_components", *TASK, cwd=inner, PYTHONPATH=str(engine))

    assert has_data(inner)


def test_linked_projects_share_only_engine(sibling, engine, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(LAUNCHER, other)
    os.symlink(engine / "kaizen_components", other / "kaizen_components")
    run(sibling / "kaizen.py", *TASK)

    assert (
        subprocess.run(
            [sys.executable, str(other / "kaizen.py"), "W9"], capture_output=True
        ).returncode
        == 3
    )


def test_missing_engine_fails_except_in_hook(sibling, engine):
    os.rename(engine, engine.parent / "moved")
    launch = [sys.executable, str(sibling / "kaizen.py")]
    asked = subprocess.run([*launch, "K1"], capture_output=True, text=True)
    hook = subprocess.run([*launch, "hook", "stop"], input="{}", capture_output=True, text=True)

    assert (
        asked.returncode == 5
        and "engine is missing" in asked.stderr
        and "Traceback" not in asked.stderr
    )
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, "", "")


SNIPPET = """
import os
from pathlib import Path
os.environ.setdefault("KAIZEN_REPO_ROOT", str(Path(__file__).resolve().parents[0]))
from kaizen_components.args import main
raise SystemExit(main())
"""


def test_five_line_launcher_stores_data_beside_itself(sibling, engine):
    (sibling / "kaizen.py").write_text(SNIPPET)
    run(sibling / "kaizen.py", *TASK)

    assert has_data(sibling) and not has_data(engine)
