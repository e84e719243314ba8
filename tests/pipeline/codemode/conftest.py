"""Define a function to explore, and answers that an agent could give about it."""

import json
import os
import sys

import pytest
import yaml

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
VALUES = ["'Hello World'", "''", "'a'", "'  a  b '", "'a_b'", "'A' * 60", "'Ünder'", "'1 2'"]
ERRORS = ["None", "3", "'a' * 61", ""]
CALLS = [(f"slugify({text})", "value") for text in VALUES]
CALLS += [(f"slugify({text})", "error") for text in ERRORS]
TOOLS = Tools([sys.executable], (sys.prefix, sys.base_prefix))


def snippets(calls=CALLS, first=1):
    return [
        {"id": f"S{number}", "description": f"tries {number}", "code": code, "expects": expects}
        for number, (code, expects) in enumerate(calls, first)
    ]


def case(number, call, source, **end):
    row = {"id": f"C{number}", "description": f"shows {number}", "call": call}
    return {**row, **end, "from": source}


CASES = [
    case(1, "slugify('')", "requirement", expect="''"),
    case(2, "slugify('Hello World')", "S1", expect="'hello-world'"),
    case(3, "slugify(None)", "S9", raises="TypeError", match="must be a string"),
    case(4, "slugify('a' * 61)", "S11", raises="ValueError"),
    case(5, "slugify('A' * 60)", "S6", expect=repr("a" * 60)),
]


def change_case(number, **fields):
    return [{**row, **fields} if row["id"] == f"C{number}" else row for row in CASES]


def spec_text(cases=CASES, function="app.text:slugify"):
    spec = {"function": function, "cases": cases}
    return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True)


def finding_texts(verdict):
    return " | ".join(finding.text for finding in verdict.findings)


def make_job(folder, text=HONEST, files=None, tools=TOOLS, **settings):
    """Return a job whose base tree has the function and these files."""
    base, scratch = folder / f"base {len(os.listdir(folder))}", folder / "scratch"
    write(base, {"app/__init__.py": "", "app/text.py": text, **(files or {})})
    scratch.mkdir(exist_ok=True)
    settings = Settings(
        **{"minimum_level": "L0", "timeout_s": 120.0, "mutation_s": 60.0, **settings}
    )
    return Job(str(base), str(base), "tree", "tree", {}, tools, settings, scratch=str(scratch))


@pytest.fixture
def job(tmp_path):
    return lambda *args, **options: make_job(tmp_path, *args, **options)


@pytest.fixture
def run_code(job):
    """Return a function that runs pieces of code and returns their results."""

    def run(*codes, text=HONEST, name="slugify", **options):
        items = [{"id": f"S{number}", "code": code} for number, code in enumerate(codes, 1)]
        function = Function("app.text", name)
        verdict = execute.execute_snippets(job(text, **options), function, items)
        assert verdict.reason == "pass", verdict.findings[0].text
        return verdict.facts["results"]

    return run


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """Return the results of the snippets on the honest function."""
    job = make_job(tmp_path_factory.mktemp("explored"))
    verdict = execute.execute_snippets(job, SLUGIFY, snippets())
    return execute.add_code(snippets(), verdict.facts["results"])


def fence(rows):
    """Return the snippets as JSON with a sentence and a fence around it, as agents write them."""
    return f"Here they are.\n```json\n{json.dumps({'snippets': rows})}\n```\n"
