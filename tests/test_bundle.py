"""Everyday commands start from one file of bytecode, and never from a stale or damaged one."""

import shutil
import subprocess
import sys

import pytest

from .conftest import ROOT

LOADED = "import kaizen_components.errors as errors; print(type(errors.__spec__.loader).__name__, errors.MARK)"


@pytest.fixture
def engine(tmp_path):
    """A copy of the engine with a bundle, and a mark in its errors.py."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(
        ROOT / "kaizen_components", tmp_path / "an engine" / "kaizen_components", ignore=ignored
    )
    mark(tmp_path / "an engine", "one")
    subprocess.run(
        [sys.executable, "-m", "kaizen_components.bundle"], cwd=tmp_path / "an engine", check=True
    )
    return tmp_path / "an engine"


def mark(engine, text):
    with open(engine / "kaizen_components" / "errors.py", "a", encoding="utf-8") as file:
        file.write(f"MARK = {text!r}\n")


def load(engine):
    done = subprocess.run(
        [sys.executable, "-c", LOADED], cwd=engine, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_bundle_works_after_engine_folder_moves(engine):
    moved = engine.rename(engine.parent / "moved")

    assert load(moved) == ["_Bundle", "one"]


def test_changed_source_is_not_read_from_bundle(engine):
    mark(engine, "two")

    assert load(engine) == ["SourceFileLoader", "two"]


@pytest.mark.parametrize(
    "harm", [lambda data: b"", lambda data: data[:-9], lambda data: b"\xff" * 99]
)
def test_damaged_bundle_is_ignored(engine, harm):
    bundle = next((engine / "kaizen_components" / "__pycache__").glob("hot.*.bundle"))
    bundle.write_bytes(harm(bundle.read_bytes()))

    assert load(engine) == ["SourceFileLoader", "one"]


def test_bundle_of_another_engine_version_is_ignored(engine):
    with open(engine / "kaizen_components" / "__init__.py", "a", encoding="utf-8") as file:
        file.write("# changed since\n")

    assert load(engine) == ["SourceFileLoader", "one"]


def test_bundle_contains_no_annotations(engine):
    script = LOADED.replace("errors.MARK", "errors.KaizenError.as_dict.__annotations__")
    done = subprocess.run([sys.executable, "-c", script], cwd=engine, capture_output=True)

    assert done.stdout.split() == [b"_Bundle", b"{}"]


def test_engine_loaded_from_bundle_can_write_bundle(engine):
    script = "from kaizen_components import bundle; bundle.write_bundle(); print(bundle.FLAGS)"
    done = subprocess.run([sys.executable, "-c", script], cwd=engine, capture_output=True)

    assert done.returncode == 0, done.stderr
