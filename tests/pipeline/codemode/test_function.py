"""Check how the function of a run is named, found in the base and imported in the sandbox."""

import pytest

from kaizen_components.errors import Usage
from kaizen_components.pipeline.codemode.function import Function, read_source
from kaizen_components.pipeline.codemode.gates import check_function
from kaizen_components.pipeline.job import Tools

from .conftest import HONEST, SLUGIFY, TOOLS, finding_texts


@pytest.mark.parametrize(
    "name, function",
    [
        ("app.text:slugify", SLUGIFY),
        ("src/app/text.py:slugify", SLUGIFY),
        ("./app/text.py:slugify", SLUGIFY),
        ("app/__init__.py:slugify", Function("app", "slugify")),
    ],
)
def test_function_name_is_accepted_with_module_or_file(name, function):
    assert Function.parse(name) == function


@pytest.mark.parametrize(
    "name",
    [
        *["", "slugify", "app.text", "app.text:", ":f", "app text:f", "app.text:a b", "a..b:f"],
        *["../x.py:f", "a" * 5000, "a\0b:f"],
    ],
)
def test_error_for_invalid_function_name_shows_valid_form(name):
    with pytest.raises(Usage) as refused:
        Function.parse(name)

    assert "--function app.text:slugify" in refused.value.next
    assert len(refused.value.what) < 120


def test_method_is_refused_with_the_reason():
    with pytest.raises(Usage) as refused:
        Function.parse("app.text:Slugger.slugify")

    assert "method" in refused.value.why


def test_existing_function_passes(job):
    verdict = check_function(job(), SLUGIFY)

    assert verdict.reason == "pass" and verdict.runs
    assert verdict.facts["path"] == "app/text.py"
    assert verdict.facts["lines"] == [4, 9]


def test_function_below_src_is_found(job):
    tools = Tools(TOOLS.python, TOOLS.reads, ("src", "."))
    made = job(files={"src/other/text.py": HONEST}, tools=tools)

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
def test_missing_function_is_refused_with_advice(job, name, says):
    text = HONEST + "\n\nclass Slugger:\n    pass\n"
    made = job(text, {"app/__init__.py": "from .text import slugify\n"})

    verdict = check_function(made, Function.parse(name))

    assert verdict.reason == "check"
    assert says in finding_texts(verdict)


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
def test_module_that_cannot_be_imported_is_reported(job, text, reason, says):
    verdict = check_function(job(HONEST + text), SLUGIFY)

    assert verdict.reason == reason
    assert says in finding_texts(verdict)


def test_function_check_in_weaker_sandbox_has_reason_missing(job, monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L0")

    assert check_function(job(minimum_level="L1"), SLUGIFY).reason == "missing"


def test_source_includes_decorators_of_function(tmp_path):
    function = "@functools.cache\ndef one():\n    return 1\n"
    (tmp_path / "deco.py").write_text(f"import functools\n\n\n{function}\n\ntwo = 2\n")

    assert read_source(str(tmp_path), Function("deco", "one")) == function


def test_later_of_two_function_definitions_is_used(tmp_path):
    text = "if True:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n"
    (tmp_path / "twice.py").write_text(text)

    assert "return 2" in read_source(str(tmp_path), Function("twice", "f"))
