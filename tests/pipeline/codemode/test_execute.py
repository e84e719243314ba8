"""The engine runs the snippets: alone, in time, twice; and nothing that one does changes what another shows."""

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


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(session, "ITEM_S", 1.0)


@pytest.fixture
def wild(ran):
    """`wild("exit", "fine")`: what became of each call."""
    return lambda *whats: ran(*(f"wild({what!r})" for what in whats), text=WILD, name="wild")


def test_values_errors_prints_and_times_are_recorded(ran):
    value, error, printed = ran("slugify('A b')", "slugify(None)", "print('hi')\nslugify('a')")

    assert (value["success"], value["output"], value["error_type"], value["stable"]) == (
        True,
        "'a-b'",
        "",
        True,
    )
    assert (error["success"], error["error_type"], error["error"]) == (
        False,
        "TypeError",
        "text must be a string",
    )
    assert (printed["stdout"], printed["output"]) == ("hi\n", "'a'")
    assert 0 < value["ms"] < 1000


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("exit", "Exited"), ("sys.exit", "SystemExit"), ("close", "Exited"), ("kill parent", "Killed"),
        ("kill all", "Killed"), ("endless", "Timeout"), ("asleep", "Timeout"), ("deep", "RecursionError"),
        ("memory", "MemoryError"), ("bad repr", "ZeroDivisionError"), ("bad text", "Odd"), ("input", "EOFError"),
    ],
)  # fmt: skip
def test_whatever_one_snippet_does_the_others_are_as_they_were(wild, what, kind):
    before, bad, after = wild("before", what, "after")

    assert (bad["success"], bad["error_type"]) == (False, kind)
    assert [(one["output"], one["stable"]) for one in (before, after)] == [
        ("'before'", True),
        ("'after'", True),
    ]


def test_written_into_every_open_file_a_result_is_still_not_forged(wild):
    results = wild("flood", "after")

    assert [one["output"] for one in results] == ["'flood'", "'after'"]


def test_what_a_snippet_prints_is_no_result(wild):
    (printed,) = wild("prints")

    assert (printed["output"], len(printed["stdout"])) == ("'prints'", 500)


def test_state_and_files_of_one_snippet_are_not_seen_by_the_next(wild):
    assert [one["output"] for one in wild("state", "state", "file", "file")] == [
        "1",
        "1",
        "'x'",
        "'x'",
    ]


def test_a_process_that_a_snippet_leaves_behind_does_not_hold_up_the_others(wild):
    results = wild("daemon", "after")

    assert [one["output"] for one in results] == ["'daemon'", "'after'"]


def test_what_differs_between_two_processes_is_unstable_and_what_only_looks_different_is_not(wild):
    assert [one["stable"] for one in wild("hash", "object", "set", "fine")] == [
        False,
        False,
        True,
        True,
    ]


def test_long_output_is_cut_and_says_so(wild):
    (long,) = wild("long")

    assert (len(long["output"]), long["cut"]) == (2_000, True)
    assert "output" in execute.explain_unusable(long)


def test_text_that_no_file_could_hold_is_made_readable(wild):
    (odd,) = wild("surrogate")

    assert odd["error"].encode() == b"\\ud800"


def test_an_error_of_the_snippet_itself_is_told_from_one_of_the_function(ran):
    own, functions = ran("slugify(nothing)", "slugify(3)")

    assert (own["error_type"], own["inside"], functions["inside"]) == ("NameError", False, True)


def test_the_gate_says_how_many_gave_a_value_and_which_differed(job):
    items = [
        {"id": "S1", "code": "wild('a')"},
        {"id": "S2", "code": "wild('hash')"},
        {"id": "S3", "code": "wild('sys.exit')"},
    ]

    verdict = execute.execute_snippets(job(WILD), Function("app.text", "wild"), items)

    assert (
        verdict.says
        == "3 snippets ran twice: 2 gave a value, 1 ended in an error; S2 differed between the two runs."
    )
    assert [run.tree for run in verdict.runs] == ["tree", "tree"]


def test_those_out_of_time_are_named_and_are_no_evidence(job):
    verdict = execute.execute_snippets(job(WILD, timeout_s=10.0), Function("app.text", "wild"), [
        {"id": f"S{number}", "code": f"wild('asleep', {number}) if 0 else wild('asleep')"} for number in range(1, 21)
    ])  # fmt: skip

    kinds = [one["error_type"] for one in verdict.facts["results"]]
    assert (kinds[0], kinds[-1]) == ("Timeout", "NotRun")
    assert all(execute.explain_unusable(one) for one in verdict.facts["results"])


def test_without_an_interpreter_nothing_passes(job):
    assert (
        execute.execute_snippets(job(tools=Tools(["no-such-python"])), SLUGIFY, snippets()).reason
        == "missing"
    )


def test_a_disk_that_cannot_be_written_to_is_missing_and_no_crash(job):
    made = job()
    made.scratch = os.path.join(made.base, "app", "text.py")  # a file, where a folder should be

    verdict = execute.execute_snippets(made, SLUGIFY, snippets())

    assert (verdict.reason, verdict.findings[0].rule) == ("missing", "sandbox")


def test_every_box_that_works_here_gives_the_same(level, ran):
    value, error = ran("slugify('A b')", "slugify(None)", minimum_level=level)

    assert (value["output"], error["error_type"]) == ("'a-b'", "TypeError")


def test_the_base_is_left_as_it_was(job):
    made = job(WILD)
    execute.execute_snippets(
        made, Function("app.text", "wild"), [{"id": "S1", "code": "wild('file')"}]
    )

    assert not (pathlib.Path(made.base) / "left.txt").exists()
    assert list(pathlib.Path(made.scratch).iterdir()) == []


def test_what_runs_in_the_box_is_written_for_old_pythons_too():
    folder = ROOT / "kaizen_components" / "pipeline" / "codemode" / "box"
    shared = [
        pathlib.Path(testing_box.__file__).parent / name for name in ("tree.py", "imports.py")
    ]

    for path in [*folder.glob("*.py"), *shared]:
        text = path.read_text()
        ast.parse(text, feature_version=(3, 8))
        assert "removeprefix" not in text and "removesuffix" not in text, path.name
