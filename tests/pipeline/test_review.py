"""What is said about a diff before anybody is asked for an opinion."""

import pytest

from kaizen_components.pipeline.review import objections

BASE = {
    "app/main.py": b"import json\n", "app/db.py": b"import sqlite3\n", "requirements.txt": b"fastapi\n",
    "migrations/001.sql": b"", "src/shop/money.py": b"import fastapi\n",
}  # fmt: skip
SPEC = {"criteria": [], "constraints": [], "out_of_scope": [], "grants": []}


def rules(changes, **spec):
    found = objections({**SPEC, **spec}, changes, BASE.get, set(BASE))
    return [(one.rule, one.path) for one in found]


@pytest.mark.parametrize(
    "text",
    ["app/db.py", "Changes to app/db.py", "changing `app/db.py`.", "Touching app/*", "modify the file app/db.py"],
)
def test_a_path_out_of_scope_is_objected_to(text):
    assert rules({"app/db.py": b"x = 1\n"}, out_of_scope=[text]) == [("out-of-scope", "app/db.py")]


@pytest.mark.parametrize("text", ["Other routes in app/main.py", "Any other route", "New functions beside app/main.py"])
def test_a_file_that_is_only_mentioned_may_change(text):
    assert rules({"app/main.py": b"x = 1\n"}, out_of_scope=[text]) == []


def test_new_dependencies_are_objected_to():
    assert rules({"requirements.txt": b"requests\n"}) == [("dependency", "requirements.txt")]
    assert rules({"app/main.py": b"import json\nimport requests\n"}) == [("dependency", "app/main.py")]


@pytest.mark.parametrize(
    "source", [b"import os, sqlite3\n", b"from app import db\n", b"from shop.money import x\n", b"import fastapi\n"]
)
def test_what_is_there_already_needs_no_new_dependency(source):
    assert rules({"app/main.py": source}) == []


def test_a_changed_schema_is_objected_to_unless_it_is_granted():
    change = {"migrations/002.sql": b"CREATE TABLE x (y);\n"}

    assert rules(change) == [("schema", "migrations/002.sql")]
    assert rules(change, grants=["migrations/**"]) == []
