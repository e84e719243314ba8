"""The function that a run is about: named by its user, found in the base, importable in the sandbox."""

import pytest

from kaizen_components.errors import Usage
from kaizen_components.pipeline.codemode.function import Function, read_source
from kaizen_components.pipeline.codemode.gates import check_function
from kaizen_components.pipeline.job import Tools

from .conftest import HONEST, SLUGIFY


@pytest.mark.parametrize(
    "name",
    ["app.text:slugify", "app/text.py:slugify", "src/app/text.py:slugify", "./app/text.py:slugify"],
)
def test_a_function_is_named_by_its_module_or_its_file(name):
    assert Function.parse(name) == SLUGIFY


def test_the_file_of_a_package_is_the_package():
    assert Function.parse("app/__init__.py:slugify") == Function("app", "slugify")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "slugify",
        "app.text",
        "app.text:",
        ":slugify",
        "app text:slugify",
        "app.text:a b",
        "../x.py:f",
        "a" * 5000,
        "a..b:f",
        "a\0b:f",
    ],
)
def test_what_names_no_function_is_a_usage_error_that_shows_the_form(name):
    with pytest.raises(Usage) as refused:
        Function.parse(name)

    assert "--function app.text:slugify" in refused.value.next
    assert len(refused.value.what) < 120


def test_a_method_is_refused_with_the_reason():
    with pytest.raises(Usage) as refused:
        Function.parse("app.text:Slugger.slugify")

    assert "method" in refused.value.why


def test_a_function_that_is_there_passes(job):
    verdict = check_function(job(), SLUGIFY)

    assert (verdict.reason, verdict.facts["path"], verdict.facts["lines"]) == (
        "pass",
        "app/text.py",
        [4, 9],
    )
    assert verdict.runs


def test_a_function_below_src_is_found(job):
    tools = job().tools
    made = job(
        files={"src/other/text.py": HONEST}, tools=Tools(tools.python, tools.reads, ("src", "."))
    )

    assert check_function(made, Function("other.text", "slugify")).reason == "pass"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("app.text:slugfy", "Did you mean app.text:slugify?"),
        ("app.txt:slugify", "Did you mean app.text:slugify?"),
        ("app:slugify", "Name it where it is defined, such as app.text:slugify."),
        ("app.text:Slugger", "is a class"),
        ("nothing.like.it:f", "as an import statement would"),
    ],
)
def test_a_function_that_is_not_there_is_refused_with_what_to_do(job, name, says):
    text = HONEST + "\n\nclass Slugger:\n    pass\n"
    verdict = check_function(
        job(text, {"app/__init__.py": "from .text import slugify\n"}), Function.parse(name)
    )

    assert verdict.reason == "check"
    assert says in verdict.findings[0].text


@pytest.mark.parametrize(
    ("text", "reason", "says"),
    [
        ("import no_such_package\n", "missing", "pip install no_such_package"),
        ("1 / 0\n", "check", "ZeroDivisionError"),
        ("import os\nos._exit(0)\n", "check", "ended the process"),
        ("def broken(:\n", "check", "not valid Python"),
        ("slugify = None\n", "check", "not callable"),
    ],
)
def test_a_module_that_cannot_be_imported_is_said_before_anybody_thinks(job, text, reason, says):
    verdict = check_function(job(HONEST + text), SLUGIFY)

    assert verdict.reason == reason
    assert says in verdict.findings[0].text


def test_without_an_interpreter_it_is_missing_and_never_a_pass(job):
    assert check_function(job(tools=Tools(["no-such-python"])), SLUGIFY).reason == "missing"


def test_a_sandbox_that_is_too_weak_is_missing(job, monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L0")

    assert check_function(job(minimum_level="L1"), SLUGIFY).reason == "missing"


def test_the_source_of_a_function_has_its_decorators_and_nothing_else(tmp_path):
    (tmp_path / "deco.py").write_text(
        "import functools\n\n\n@functools.cache\ndef one():\n    return 1\n\n\ntwo = 2\n"
    )

    assert (
        read_source(str(tmp_path), Function("deco", "one"))
        == "@functools.cache\ndef one():\n    return 1\n"
    )


def test_the_last_definition_of_a_function_counts(tmp_path):
    (tmp_path / "twice.py").write_text(
        "if True:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n"
    )

    assert "return 2" in read_source(str(tmp_path), Function("twice", "f"))
