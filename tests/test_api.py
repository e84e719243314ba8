"""The engine as a Python class."""

import inspect
import subprocess
import sys

import pytest

import kaizen_components
from kaizen_components import api
from kaizen_components.errors import NotFound, Usage
from kaizen_components.index import COMMANDS

from .conftest import ROOT


@pytest.fixture
def engine(root):
    with kaizen_components.Kaizen(str(root), actor="ada") as opened:
        yield opened


def test_api_method_runs_its_command(engine):
    task = engine.task_start(title="Fix the parser", summary="It drops a line.", body=None)
    engine.task_update(id=task["id"], status="active")

    (listed,) = engine.task_list(limit=5)["records"]
    assert (listed["id"], listed["status"], listed["actor"]) == (task["id"], "active", "ada")


def test_api_has_method_with_options_for_every_command(engine):
    for name in COMMANDS.values():
        method = getattr(engine, name.replace("-", "_"))
        assert method.__doc__ and "json" not in inspect.signature(method).parameters
    assert "title" in inspect.signature(engine.task_start).parameters
    assert "pipeline_run" in dir(engine)


def test_failed_command_raises_its_engine_error(engine):
    engine.db_check()
    with pytest.raises(NotFound):
        engine.task_inspect(id="task_none")
    with pytest.raises(Usage, match="no option --colour"):
        engine.task_start(title="t", summary="s", colour="red")
    with pytest.raises(AttributeError, match="no command 'task-begin'"):
        engine.task_begin()


def test_api_stub_is_up_to_date():
    stub = (ROOT / "kaizen_components/api.pyi").read_text()

    assert stub == api.render_stub(), "run `make docs`"


def test_type_checker_reports_wrong_options(tmp_path):
    (tmp_path / "uses.py").write_text(
        "from kaizen_components import Kaizen\n"
        'Kaizen("x").task_start(title="t", summary="s", priority="high")\n'
        'Kaizen("x").task_start(title="t", summary="s", priority="soon")\n'
        'Kaizen("x").task_begin()\n'
    )
    command = [sys.executable, "-m", "mypy", "--config-file=", str(tmp_path / "uses.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line] == [
        "3",
        "4",
    ]
