"""Fixtures: the sandbox levels that work here, factory runs, and instant gates."""

import os

import pytest

from kaizen_components.sandbox import run as sandbox

from . import fast_gates as scripted
from .factory import Run, environment, run_words, server, target

BOXES = ("L3", "L2", "L1")


@pytest.fixture(params=BOXES)
def level(request, monkeypatch):
    """Return each sandbox level that works here; on CI all of them must."""
    return held_to(request.param, monkeypatch)


@pytest.fixture
def strongest(monkeypatch):
    return held_to("L3", monkeypatch)


def held_to(name, monkeypatch):
    if not sandbox.level_works(name):
        reason = f"{name} does not work here: {sandbox.explain_level(name)}"
        pytest.fail(f"{reason} CI must not skip") if os.environ.get("CI") else pytest.skip(reason)
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", name)
    return name


@pytest.fixture
def folder(tmp_path):
    """A folder with a space and non-ASCII letters in its name."""
    place = tmp_path / "a träe" / "folder"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def factory(tmp_path, root, cli):
    """`factory(model, "--apply", …)` does a factory run on the command line with a scripted model."""

    def run(model, *more, settings="", repo=None, env=None, **words):
        repo = repo or target(tmp_path / "targetapp", settings)
        with server(model) as serving:
            done = cli(
                *run_words(repo, *more, **words), env={**environment(serving.url), **(env or {})}
            )
        return Run(cli, root, repo, done)

    return run


@pytest.fixture
def fast_gates(monkeypatch):
    """Install scripted gates, here and in commands that tests/warm.py starts."""
    monkeypatch.setenv(scripted.VARIABLE, "1")
    scripted.install()
    yield
    scripted.uninstall()


@pytest.fixture
def real_gates(fast_gates, monkeypatch):
    """Use the shipped gates in a module whose other tests use scripted ones."""
    monkeypatch.delenv(scripted.VARIABLE)
    scripted.uninstall()
