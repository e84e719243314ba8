"""Add a command as CONTRIBUTING.md says, once, in a copy of the repository."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from kaizen_components.store.database import SCHEMA_VERSION

from .conftest import ROOT

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "AI", ".*_cache", ".hypothesis")
BLOCK = re.compile(r"^```(?:python|sql)\n(?:#|--) ([\w/.]+)(?:, in (\w+))?\n(.*?)^```", re.M | re.S)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy the repository and make the changes that the page describes."""
    place = tmp_path_factory.mktemp("contributing") / "a copy"
    shutil.copytree(ROOT, place, ignore=LEFT_OUT)
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path, table, text in BLOCK.findall(page):
        file = place / path
        if table:
            whole = file.read_text(encoding="utf-8")
            found = re.search(rf"^{table} = [{{(]\n", whole, re.M)
            assert found, f"{path} has no {table}"
            text = whole[: found.end()] + text + whole[found.end() :]
        file.write_text(text, encoding="utf-8")
    now, then = (f"SCHEMA_VERSION = {version}" for version in (SCHEMA_VERSION, SCHEMA_VERSION + 1))
    assert f"`{then}`" in page, "the page counts on from the newest migration"
    replace_once(place / "kaizen_components/store/database.py", now, then)
    (call,) = re.findall(r"`(call\(.*?\))` in `record_every_kind`", page)
    replace_once(
        place / "support_scripts/every_kind.py", '    call("K7")\n', f'    {call}\n    call("K7")\n'
    )
    replace_once(
        place / "tests/test_declaration.py", '"P1": ["run"],', '"P1": ["run"], "W16": ["bookmark"],'
    )
    return place


def replace_once(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path.name} has no {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def run_in(copy, *words, **env):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("KAIZEN_", "PYTEST_"))
    }
    return subprocess.run(
        [sys.executable, *words],
        cwd=copy,
        env={**environment, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_documented_steps_add_working_command(copy):
    docs = run_in(copy, "support_scripts/make_docs.py")
    assert docs.returncode == 0, docs.stderr
    names = ("commands/test_bookmark", "test_declaration", "reports/test_ledger_story")
    files = [f"tests/{name}.py" for name in names]
    chosen = "W16 or bookmark or every_kind or write_command or limits or downwards"
    done = run_in(copy, "-m", "pytest", "-n", "0", *files, "-k", chosen)

    assert done.returncode == 0, done.stdout[-3000:]


def test_documented_steps_for_kind_list_its_files():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    assert {path.partition("kaizen_components/")[2] or path for path, _, _ in BLOCK.findall(page)} == {
        "index.py", "commands/bookmark.py", "store/migrations/0020_bookmark.sql", "records/kinds.py",
        "tests/commands/test_bookmark.py",
    }  # fmt: skip


def test_command_added_as_documented_has_help_and_json(copy, tmp_path):
    made = run_in(copy, "kaizen.py", "W16", "--title", "x", "--url", "https://example.org", "--json",
                  KAIZEN_REPO_ROOT=str(tmp_path))  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["kind"] == "bookmark"
    assert "--url" in run_in(copy, "kaizen.py", "W16", "--help").stdout
    assert "bookmark-add" in run_in(copy, "kaizen.py", "bookmark-ad").stderr
