"""The objections that reject a diff without asking a reviewer."""

import pytest

from kaizen_components.pipeline.answers.contracts import MODELS
from kaizen_components.pipeline.answers.parse import AnswerRefused, validate_answer
from kaizen_components.pipeline.spec import filter_grants
from kaizen_components.pipeline.target.review import find_objections

BASE = {
    "app/main.py": b"import json\n", "app/db.py": b"import sqlite3\n", "requirements.txt": b"fastapi\n",
    "migrations/001.sql": b"", "src/shop/money.py": b"import fastapi\n",
    "pyproject.toml": b'[project]\ndependencies = ["httpx>=0.28", "typing-extensions"]\n',
}  # fmt: skip
SPEC = {"criteria": [], "constraints": [], "out_of_scope": [], "grants": []}


def rules(changes, **spec):
    found = find_objections({**SPEC, **spec}, changes, BASE.get, set(BASE))
    return [(one.rule, one.path) for one in found]


@pytest.mark.parametrize(
    "text",
    [
        "app/db.py",
        "Changes to app/db.py",
        "changing `app/db.py`.",
        "Touching app/*",
        "modify the file app/db.py",
    ],
)
def test_change_of_path_out_of_scope_raises_objection(text):
    assert rules({"app/db.py": b"x = 1\n"}, out_of_scope=[text]) == [("out-of-scope", "app/db.py")]


@pytest.mark.parametrize(
    "text", ["Other routes in app/main.py", "Any other route", "New functions beside app/main.py"]
)
def test_out_of_scope_location_does_not_forbid_its_file(text):
    assert rules({"app/main.py": b"x = 1\n"}, out_of_scope=[text]) == []


def test_new_dependency_raises_objection():
    assert rules({"requirements.txt": b"requests\n"}) == [("dependency", "requirements.txt")]
    assert rules({"app/main.py": b"import json\nimport requests\n"}) == [
        ("dependency", "app/main.py")
    ]


@pytest.mark.parametrize(
    "source",
    [
        b"import os, sqlite3\n",
        b"from app import db\n",
        b"from shop.money import x\n",
        b"import fastapi\n",
    ],
)
def test_import_of_existing_module_is_allowed(source):
    assert rules({"app/main.py": source}) == []


@pytest.mark.parametrize(
    "path, source",
    [
        ("tests/test_calc.py", b"from calc import double\n"), ("app/main.py", b"import calc\n"),
        ("app/main.py", b"from shelf.book import Book\n"), ("app/main.py", b"import httpx, typing_extensions\n"),
    ],
)  # fmt: skip
def test_import_of_added_or_required_module_is_allowed(path, source):
    assert rules({path: source, "calc.py": b"", "src/shelf/book.py": b""}) == []


@pytest.mark.parametrize(
    "path", ["backend/requirements.txt", "frontend/package.json", "package-lock.json", "x/uv.lock"]
)
def test_changed_dependency_file_in_any_folder_raises_objection(path):
    assert rules({path: b"{}"}) == [("dependency", path)]


GRANTS = [
    "**",
    "*",
    "**/*",
    "*.py",
    "tests/**",
    "tests/test_main.py",
    "pyproject.toml",
    "uv.lock",
    ".kaizen/**",
]


@pytest.mark.parametrize(
    "request_, counts",
    [
        ("add a /settings endpoint", ["pyproject.toml"]),
        ("make the old tests faster", ["tests/**", "tests/test_main.py"]),
        ("upgrade the dependencies", ["pyproject.toml", "uv.lock"]),
        ("change test_main.py", ["tests/test_main.py"]),
        ("loosen the gates in .kaizen/**", [".kaizen/**"]),
        ("add a /health endpoint", []),
    ],
)
def test_plan_grants_only_requested_paths(request_, counts):
    assert filter_grants(GRANTS, request_) == counts


def test_review_rejection_without_criterion_is_refused():
    with pytest.raises(AnswerRefused, match="criterion"):
        validate_answer(
            '{"verdict": "reject", "reasons": [{"text": "I do not like it"}]}', MODELS["review"]
        )


def test_changed_database_schema_needs_a_grant():
    change = {"migrations/002.sql": b"CREATE TABLE x (y);\n"}

    assert rules(change) == [("schema", "migrations/002.sql")]
    assert rules(change, grants=["migrations/**"]) == []
