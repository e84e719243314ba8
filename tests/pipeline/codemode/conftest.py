"""Functions to be explored, and the answers that an agent might give about one of them."""

import json
import os
import sys

import pytest

from kaizen_components.pipeline.codemode import execute
from kaizen_components.pipeline.codemode.function import Function
from kaizen_components.pipeline.job import Job, Settings, Tools

from ..targets import write

collect_ignore_glob = ["test_*.py"] if os.name == "nt" else []  # code is run in forks
SLUGIFY = Function("app.text", "slugify")
REQUEST = "slugify(text) lower-cases and joins words with hyphens; slugify('') is ''"
HONEST = """\
import re


def slugify(text):
    if not isinstance(text, str):
        raise TypeError("text must be a string")
    if len(text) > 60:
        raise ValueError("too long")
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))
"""
CALLS = (  # what an agent tries, and what it expects of it
    ("slugify('Hello World')", "value"), ("slugify('')", "value"), ("slugify('a')", "value"),
    ("slugify('  a  b ')", "value"), ("slugify('a_b')", "value"), ("slugify('A' * 60)", "value"),
    ("slugify('Ünder')", "value"), ("slugify('1 2')", "value"), ("slugify(None)", "error"), ("slugify(3)", "error"),
    ("slugify('a' * 61)", "error"), ("slugify()", "error"),
)  # fmt: skip


def snippets(calls=CALLS, first=1):
    return [
        {"id": f"S{number}", "description": f"tries {number}", "code": code, "expects": expects}
        for number, (code, expects) in enumerate(calls, first)
    ]


def told(given):
    """As an agent writes it, with a fence and a word round it."""
    return f"Here they are.\n```json\n{json.dumps({'snippets': given})}\n```\n"


def case(number, call, source, **end):
    return {
        "id": f"C{number}",
        "description": f"shows {number}",
        "call": call,
        **end,
        "from": source,
    }


CASES = [
    case(1, "slugify('')", "requirement", expect="''"),
    case(2, "slugify('Hello World')", "S1", expect="'hello-world'"),
    case(3, "slugify(None)", "S9", raises="TypeError", match="must be a string"),
    case(4, "slugify('a' * 61)", "S11", raises="ValueError"),
    case(5, "slugify('A' * 60)", "S6", expect=repr("a" * 60)),
]


def spec_text(cases=CASES, function="app.text:slugify"):
    import yaml

    return yaml.safe_dump(
        {"function": function, "cases": cases}, sort_keys=False, allow_unicode=True
    )


@pytest.fixture
def job(tmp_path):
    """`job({"app/text.py": …})`: the base tree with these files, ready to be judged."""

    def made(text=HONEST, files=None, tools=None, **settings):
        base = tmp_path / f"base {len(os.listdir(tmp_path))}"
        write(base, {"app/__init__.py": "", "app/text.py": text, **(files or {})})
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        given = Settings(
            **{"minimum_level": "L0", "timeout_s": 120.0, "mutation_s": 60.0, **settings}
        )
        tools = tools or Tools([sys.executable], (sys.prefix, sys.base_prefix))
        return Job(str(base), str(base), "tree", "tree", {}, tools, given, scratch=str(scratch))

    return made


@pytest.fixture
def ran(job):
    """`ran("f(1)", text=…)`: what became of each piece of code, by the code."""

    def run(*codes, text=HONEST, name="slugify", **given):
        items = [{"id": f"S{number}", "code": code} for number, code in enumerate(codes, 1)]
        verdict = execute.execute_snippets(job(text, **given), Function("app.text", name), items)
        assert verdict.reason == "pass", verdict.findings[0].text
        return verdict.facts["results"]

    return run


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """What the honest function did when it was explored."""
    place = tmp_path_factory.mktemp("explored")
    write(place / "base", {"app/__init__.py": "", "app/text.py": HONEST})
    (place / "scratch").mkdir()
    job = Job(
        str(place / "base"), str(place / "base"), "tree", "tree", {},
        Tools([sys.executable], (sys.prefix, sys.base_prefix)), Settings(minimum_level="L0", timeout_s=120.0),
        scratch=str(place / "scratch"),
    )  # fmt: skip
    return execute.add_code(
        snippets(), execute.execute_snippets(job, SLUGIFY, snippets()).facts["results"]
    )
