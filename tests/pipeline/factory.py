"""A scripted model for the factory, and the target that it works on: a real FastAPI project."""

import json
import os
import subprocess
import sys

from ..model_server import Answer, ModelServer
from .targets import FASTAPI, repository

# Plugins of our own environment, which a target would not have: to load them is most of what a short session takes.
LEAN = {"pytest.ini": "[pytest]\naddopts = --disable-plugin-autoload\n"}

REQUEST = "add a /health endpoint returning status ok"
BEGINNINGS = {  # how the prompt of each step begins
    "plan": "You plan a change", "scout": "You read a repository", "build": "You change a repository",
    "tests": "You write ", "review": "You review a change",
}  # fmt: skip
SPEC = {
    "title": "Add a health endpoint",
    "criteria": [
        {
            "id": "C1",
            "text": 'GET /health answers with status 200 and the JSON body {"status": "ok"}',
        }
    ],
    "constraints": ["GET / keeps its answer"],
    "out_of_scope": ["Any other route"],
}
BRIEF = {
    "files": ["app/main.py", "tests/test_main.py"],
    "conventions": ["routes are functions that return a dict"],
}
ROUTE = '\n\n@app.get("/health")\ndef health() -> dict[str, str]:\n    return {"status": "ok"}\n'
TEST = (
    "from fastapi.testclient import TestClient\n\nfrom app.main import app\n\n\n"
    "def test_health_answers_ok() -> None:  # C1\n"
    '    answer = TestClient(app).get("/health")\n'
    '    assert answer.status_code == 200\n    assert answer.json() == {"status": "ok"}\n'
)
APPROVE = {"verdict": "approve"}


def whole(path, text):
    return f"FILE: {path}\n<<<<<<< WHOLE\n{text}>>>>>>> END\n"


def main_with(route):
    return whole("app/main.py", FASTAPI["app/main.py"] + route)


GOOD = {
    "plan": [json.dumps(SPEC)], "scout": [json.dumps(BRIEF)], "build": [main_with(ROUTE)],
    "tests": [whole("tests/test_health.py", TEST)], "review": [json.dumps(APPROVE)],
}  # fmt: skip
# The same in plain Python, which is imported ten times as fast: for real gates where it is not about FastAPI.
PLAIN_FILES = {
    "app/main.py": 'def root() -> dict[str, str]:\n    return {"service": "targetapp"}\n',
    "tests/test_main.py": (
        'from app.main import root\n\n\ndef test_root() -> None:\n    assert root() == {"service": "targetapp"}\n'
    ),
}
PLAIN_TEST = "from app.main import health\n\n\ndef test_health_is_ok() -> None:\n    assert health() == {'status': 'ok'}\n"
PLAIN_ROUTE = '\n\ndef health() -> dict[str, str]:\n    return {"status": "ok"}\n'
PLAIN = {
    "build": [whole("app/main.py", PLAIN_FILES["app/main.py"] + PLAIN_ROUTE)],
    "tests": [whole("tests/test_health.py", PLAIN_TEST)],
}
# Gates of the target's own, which take no time: for what is not about the gates. New tests need the new route.
NEEDS = "import os; assert not os.path.exists('tests/test_health.py') or '/health' in open('app/main.py').read()"
QUICK = (
    '[gates.check]\ncommand = ["python", "-c", "pass"]\nreplace = true\n'
    f'[gates.test]\ncommand = ["python", "-c", "{NEEDS}"]\nreplace = true\n'
)


class Model:
    """Answers each step from its own list: each answer once, the last one for ever.

    An answer is a text, an `Answer`, or a function from the question to a text.
    """

    def __init__(self, **answers):
        self.answers = {**GOOD, **answers}
        self.asked = []  # (step, what it was asked)

    def __call__(self, request):
        system, user = (message["content"] for message in request["messages"][:2])
        step = next(step for step, words in BEGINNINGS.items() if system.startswith(words))
        number = sum(one == step for one, _ in self.asked)
        self.asked.append((step, user))
        answer = self.answers[step][min(number, len(self.answers[step]) - 1)]
        answer = answer(user) if callable(answer) else answer
        return answer if isinstance(answer, Answer) else Answer(answer)

    def questions(self, step):
        return [asked for one, asked in self.asked if one == step]


def server(model):
    return ModelServer(model)


def environment(url):
    return {"KAIZEN_LLM_BASE_URL": url, "KAIZEN_LLM_MODEL": "scripted", "KAIZEN_LLM_PRICES": "1,2"}


def target(folder, settings="", files=None):
    """Create a FastAPI project in git with these gate settings."""
    return repository(
        folder,
        {
            **FASTAPI,
            **LEAN,
            **({".kaizen/pipeline.toml": settings} if settings else {}),
            **(files or {}),
        },
    )


def run_words(repo, *more, request=REQUEST, python=sys.executable):
    where = os.fspath(repo)
    tools = ["--python", python] if python else []
    return ["pipeline", "run", "--request", request, "--repo", where, *tools, *more, "--json"]


class Run:
    """A finished command of a run, with its records and its target."""

    def __init__(self, cli, root, repo, done):
        self.cli = cli
        self.root = root
        self.repo = repo
        self.done = done
        self.answer = (
            done.json if done.out else json.loads(done.err.splitlines()[-1])
        )  # after the progress

    @property
    def id(self):
        return self.answer["id"]

    @property
    def card(self):
        return self.cli("P2", "--id", self.id, "--json").json

    @property
    def steps(self):
        return [(gate["step"], gate["attempt"], gate["reason"]) for gate in self.card["gates"]]

    @property
    def folder(self):
        return self.root / "AI" / "work" / "runs" / self.id

    @property
    def trace(self):
        return [json.loads(line) for line in (self.folder / "trace.jsonl").read_text().splitlines()]

    def events(self, name):
        return [event for event in self.trace if event["event"] == name]

    def git(self, *words):
        return subprocess.run(
            ["git", *words], cwd=self.repo, check=True, capture_output=True, text=True
        ).stdout
