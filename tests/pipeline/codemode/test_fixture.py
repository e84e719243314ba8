"""An accepted spec is a file that runs later, from any shell, against whatever the function does then."""

import json
import subprocess
import sys

import pytest

from kaizen_components.pipeline.codemode import fixture
from kaizen_components.pipeline.codemode.cases import parse_spec
from kaizen_components.pipeline.codemode.function import Function

from ...conftest import ROOT
from ..targets import everything, repository
from .conftest import HONEST, REQUEST, SLUGIFY, case, spec_text

FILES = {"app/__init__.py": "", "app/text.py": HONEST}


@pytest.fixture
def target(tmp_path):
    return repository(tmp_path / "target app", FILES)


@pytest.fixture
def made(tmp_path):
    """The fixture on disk."""
    path = tmp_path / fixture.fixture_path(SLUGIFY)
    path.parent.mkdir(parents=True)
    path.write_text(
        fixture.render_fixture(parse_spec(spec_text()), SLUGIFY, "run_1", REQUEST, "abc")
    )
    return path


def run(path, repo, *more):
    words = [
        sys.executable,
        "-m",
        "kaizen_components.pipeline.codemode",
        str(path),
        "--repo",
        str(repo),
        *more,
    ]
    return subprocess.run(
        [*words, "--python", sys.executable], cwd=ROOT, capture_output=True, text=True
    )


def test_a_fixture_lies_where_its_function_says():
    assert (
        fixture.fixture_path(Function("app.text", "slugify"))
        == "evals/codemode/app_text_slugify.yml"
    )


def test_a_fixture_reads_as_the_spec_that_it_was_made_from(made):
    found = fixture.read_fixture(str(made))

    assert [one.as_dict() for one in found.cases] == [
        one.as_dict() for one in parse_spec(spec_text()).cases
    ]
    assert (found.function, found.request, found.run, found.base_commit) == (
        str(SLUGIFY),
        REQUEST,
        "run_1",
        "abc",
    )


def test_the_same_spec_gives_the_same_bytes(made):
    assert (
        fixture.render_fixture(parse_spec(spec_text()), SLUGIFY, "run_1", REQUEST, "abc")
        == made.read_text()
    )


def test_it_runs_later_and_leaves_everything_as_it_was(made, target):
    before = everything(target), made.read_bytes()

    done = run(made, target)

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "C1 pass  slugify('') gives ''"
    assert lines[-1] == "5 passed, 0 failed: app.text:slugify"
    assert (everything(target), made.read_bytes()) == before


def test_a_function_that_changed_since_fails_by_name_even_if_it_is_not_committed(made, target):
    (target / "app" / "text.py").write_text(HONEST.replace('"-".join', '"_".join'))

    done = run(made, target, "--json")

    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["passed"], found["failed"]) == (4, 1)
    assert [
        (one["id"], one["expected"], one["got"]) for one in found["cases"] if not one["ok"]
    ] == [("C2", "gives 'hello-world'", "gives 'hello_world'")]
    assert (
        "C2 FAIL  slugify('Hello World') gives 'hello-world': not so, it gives 'hello_world'"
        in run(made, target).stdout
    )


def test_a_function_that_is_gone_fails_every_case(made, target):
    (target / "app" / "text.py").write_text("")

    done = run(made, target)

    assert done.returncode == 1
    assert "does not define the function slugify" in done.stdout


def test_functions_that_need_more_than_a_call_can_have_a_spec_too(tmp_path):
    """A coroutine and a generator, in a package below src, with setup before the call."""
    text = (
        "import asyncio\n\n\nasync def wait(n):\n    await asyncio.sleep(0)\n    return [n] * n\n"
    )
    target = repository(tmp_path / "app", {"src/pkg/__init__.py": "", "src/pkg/aio.py": text})
    calls = [f"import asyncio\nn = {n}\nasyncio.run(wait(n))" for n in (0, 1, 2)]
    cases = [case(n + 1, code, f"S{n + 1}", expect=[n] * n) for n, code in enumerate(calls)]
    function = Function.parse("src/pkg/aio.py:wait")
    path = tmp_path / "aio.yml"
    path.write_text(
        fixture.render_fixture(
            parse_spec(spec_text(cases, str(function))), function, "run_1", "waits", "abc"
        )
    )

    done = run(path, target)

    assert (done.returncode, done.stdout.splitlines()[-1]) == (
        0,
        "3 passed, 0 failed: pkg.aio:wait",
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("", "is no fixture"),
        ("form: '2'\n", "is no fixture"),
        (spec_text(), "form: Field required"),
        (b"\xff\xfe", "no text in UTF-8"),
        ("x" * 1_000_000, "characters"),
    ],
)
def test_what_is_no_fixture_cannot_be_decided(tmp_path, target, text, says):
    path = tmp_path / "bad.yml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    done = run(path, target)

    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_folder_that_is_no_repository_cannot_be_decided(made, tmp_path):
    done = run(made, tmp_path / "nowhere", "--json")

    assert done.returncode == 2
    assert json.loads(done.stderr)["code"] == "no_target"
