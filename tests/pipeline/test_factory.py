"""The factory from the command line, against a scripted model and a real FastAPI project."""

import json
import subprocess

import pytest

from ..conftest import LAUNCHER
from .factory import FASTAPI, GOOD, QUICK, ROUTE, SPEC, Model, environment, main_with, run_words, server, target, whole
from .targets import everything

GATES = ("ready", "validate", "test")


@pytest.fixture
def factory(tmp_path, cli):
    """`factory(model, …)`: a run of the factory; the answer, and what is in the records about it."""

    def run(model, *more, settings="mutation_s = 10\n", repo=None, **words):
        repo = repo or target(tmp_path / "targetapp", settings)
        with server(model) as serving:
            done = cli(*run_words(repo, *more, **words), env=environment(serving.url))
        return Run(cli, repo, done)

    return run


class Run:
    def __init__(self, cli, repo, done):
        self.cli = cli
        self.repo = repo
        self.done = done
        self.answer = done.json if done.out else done.error

    @property
    def card(self):
        return self.cli("P2", "--id", self.answer["id"], "--json").json

    @property
    def steps(self):
        return [(gate["step"], gate["attempt"], gate["reason"]) for gate in self.card["gates"]]

    @property
    def trace(self):
        path = LAUNCHER  # only for its type
        path = self.repo.parent / "a project" / "AI" / "work" / "runs" / self.answer["id"] / "trace.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.repo, check=True, capture_output=True, text=True).stdout


def test_health_is_built_in_one_attempt(factory, strongest):
    run = factory(Model())

    assert run.done.exit_code == 0, run.done.err
    assert (run.answer["outcome"], run.answer["build_attempts"]) == ("accepted", 1)
    print(run.steps, run.card)
    assert 0
