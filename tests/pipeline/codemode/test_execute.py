"""Check that each snippet runs alone and twice, and cannot change the result of another."""

import ast
import os
import pathlib

import pytest

from kaizen_components.pipeline.codemode import execute, session
from kaizen_components.pipeline.codemode.function import Function
from kaizen_components.pipeline.gates.tests import box as testing_box
from kaizen_components.pipeline.job import Tools

from ...conftest import ROOT
from .conftest import SLUGIFY, snippets

WILD = """\
import os
import sys
import time

SEEN = []


def wild(what):
    if what == "exit":
        os._exit(0)
    if what == "sys.exit":
        sys.exit(3)
    if what == "close":
        os.closerange(0, 100)
    if what == "kill parent":
        os.kill(os.getppid(), 9)
    if what == "kill all":
        with open(f"/proc/{os.getppid()}/stat") as file:
            os.kill(int(file.read().split()[3]), 9)
    if what == "endless":
        while True:
            pass
    if what == "asleep":
        time.sleep(100)
    if what == "deep":
        return wild(what)
    if what == "memory":
        return len("x" * (1 << 31))
    if what == "state":
        SEEN.append(1)
        return len(SEEN)
    if what == "file":
        with open("left.txt", "a") as file:
            file.write("x")
        with open("left.txt") as file:
            return file.read()
    if what == "flood":
        for fd in range(3, 64):
            try:
                os.write(fd, b'{"success": true, "output": "forged"}\\n' * 100)
            except OSError:
                pass
    if what == "daemon":
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(100)
            os._exit(0)
    if what == "hash":
        return hash("a")
    if what == "set":
        return {"a", "b", "c", "d"}
    if what == "object":
        return object()
    if what == "long":
        return "x" * 5_000
    if what == "prints":
        print("{'success': true}" * 100)
    if what == "bad repr":
        return type("Bad", (), {"__repr__": lambda self: 1 / 0})()
    if what == "bad text":
        raise type("Odd", (Exception,), {"__str__": lambda self: 1 / 0})()
    if what == "surrogate":
        raise ValueError("\\ud800")
    if what == "input":
        return input()
    return what
"""


WILD_FUNCTION = Function("app.text", "wild")


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(session, "ITEM_S", 1.0)


@pytest.fixture
def wild(run_code):
    """Return a function that calls `wild` with each argument and returns the results."""
    return lambda *whats: run_code(*(f"wild({what!r})" for what in whats), text=WILD, name="wild")


def outputs(results):
    return [result["output"] for result in results]


def test_snippet_results_record_value_error_output_and_time(run_code):
    value, error, printed = run_code("slugify('A b')", "slugify(None)", "print('hi')\nslugify('a')")

    assert value["success"] and value["stable"] and not error["success"]
    assert (value["output"], value["error_type"]) == ("'a-b'", "")
    assert (error["error_type"], error["error"]) == ("TypeError", "text must be a string")
    assert (printed["stdout"], printed["output"]) == ("hi\n", "'a'")
    assert 0 < value["ms"] < 1000


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("exit", "Exited"),
        ("sys.exit", "SystemExit"),
        ("close", "Exited"),
        ("kill parent", "Killed"),
        ("kill all", "Killed"),
        ("endless", "Timeout"),
        ("asleep", "Timeout"),
        ("deep", "RecursionError"),
        ("memory", "MemoryError"),
        ("bad repr", "ZeroDivisionError"),
        ("bad text", "Odd"),
        ("input", "EOFError"),
    ],
)
def test_failing_snippet_does_not_affect_other_snippets(wild, what, kind):
    before, bad, after = wild("before", what, "after")

    assert (bad["success"], bad["error_type"]) == (False, kind)
    assert outputs([before, after]) == ["'before'", "'after'"]
    assert before["stable"] and after["stable"]


def test_snippet_cannot_forge_or_share_results(wild):
    whats = ["flood", "state", "state", "file", "file", "daemon", "after"]

    assert outputs(wild(*whats)) == ["'flood'", "1", "1", "'x'", "'x'", "'daemon'", "'after'"]


def test_result_is_unstable_only_if_value_differs(wild):
    results = wild("hash", "object", "set", "fine")

    assert [result["stable"] for result in results] == [False, False, True, True]


def test_long_output_is_cut_and_odd_text_escaped(wild):
    printed, long, odd = wild("prints", "long", "surrogate")

    assert (printed["output"], len(printed["stdout"])) == ("'prints'", 500)
    assert (len(long["output"]), long["cut"]) == (2_000, True)
    assert "output" in execute.explain_unusable(long)
    assert odd["error"].encode() == b"\\ud800"


def test_error_inside_function_is_distinguished_from_snippet_error(run_code):
    own, function = run_code("slugify(nothing)", "slugify(3)")

    assert (own["error_type"], own["inside"], function["inside"]) == ("NameError", False, True)


def test_verdict_counts_values_errors_and_unstable_snippets(job):
    items = [
        {"id": f"S{number}", "code": f"wild({what!r})"}
        for number, what in enumerate(["file", "hash", "sys.exit"], 1)
    ]
    wild_job = job(WILD)

    verdict = execute.execute_snippets(wild_job, WILD_FUNCTION, items)

    says = "3 snippets ran twice: 2 gave a value, 1 ended in an error; "
    assert verdict.says == says + "S2 differed between the two runs."
    assert [run.tree for run in verdict.runs] == ["tree", "tree"]
    assert not (pathlib.Path(wild_job.base) / "left.txt").exists()
    assert list(pathlib.Path(wild_job.scratch).iterdir()) == []


def test_timed_out_snippets_are_not_evidence(job):
    items = [
        {"id": f"S{number}", "code": f"wild('asleep', {number}) if 0 else wild('asleep')"}
        for number in range(1, 13)
    ]

    verdict = execute.execute_snippets(job(WILD, timeout_s=3.0), WILD_FUNCTION, items)

    results = verdict.facts["results"]
    assert (results[0]["error_type"], results[-1]["error_type"]) == ("Timeout", "NotRun")
    assert all(execute.explain_unusable(result) for result in results)


def test_missing_interpreter_gives_execution_reason_missing(job):
    broken_job = job(tools=Tools(["no-such-python"]))

    assert execute.execute_snippets(broken_job, SLUGIFY, snippets()).reason == "missing"


def test_unusable_scratch_folder_gives_execution_reason_missing(job):
    broken_job = job()
    broken_job.scratch = os.path.join(broken_job.base, "app", "text.py")  # a file, not a folder

    verdict = execute.execute_snippets(broken_job, SLUGIFY, snippets())

    assert (verdict.reason, verdict.findings[0].rule) == ("missing", "sandbox")


def test_snippet_results_are_equal_at_every_sandbox_level(level, run_code):
    value, error = run_code("slugify('A b')", "slugify(None)", minimum_level=level)

    assert (value["output"], error["error_type"]) == ("'a-b'", "TypeError")


def test_sandboxed_code_is_valid_python_3_8():
    folder = ROOT / "kaizen_components" / "pipeline" / "codemode" / "box"
    shared = [
        pathlib.Path(testing_box.__file__).parent / name for name in ("tree.py", "imports.py")
    ]

    for path in [*folder.glob("*.py"), *shared]:
        text = path.read_text()
        ast.parse(text, feature_version=(3, 8))
        assert "removeprefix" not in text and "removesuffix" not in text, path.name
