"""Check that the fixture of an accepted spec can be run later against the current function."""

import json
import subprocess
import sys

import pytest

from kaizen_components.pipeline.codemode.cases import parse_spec
from kaizen_components.pipeline.codemode.fixture import fixture_path, read_fixture, render_fixture
from kaizen_components.pipeline.codemode.function import Function

from ...conftest import ROOT
from ..targets import everything, repository
from .conftest import HONEST, REQUEST, SLUGIFY, case, spec_text


def render(text=None, function=SLUGIFY):
    return render_fixture(parse_spec(text or spec_text()), function, "run_1", REQUEST, "abc")


@pytest.fixture
def target(tmp_path):
    return repository(tmp_path / "target app", {"app/__init__.py": "", "app/text.py": HONEST})


@pytest.fixture
def fixture(tmp_path):
    path = tmp_path / fixture_path(SLUGIFY)
    path.parent.mkdir(parents=True)
    path.write_text(render())
    return path


def run(path, repo, *options):
    words = [sys.executable, "-m", "kaizen_components.pipeline.codemode", str(path)]
    words += ["--repo", str(repo), "--python", sys.executable, *options]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True)


def test_parsed_fixture_equals_its_spec(fixture):
    parsed = read_fixture(str(fixture))

    assert str(fixture).endswith("evals/codemode/app_text_slugify.yml")
    assert parsed.cases == parse_spec(spec_text()).cases
    fields = (parsed.function, parsed.request, parsed.run, parsed.base_commit)
    assert fields == (str(SLUGIFY), REQUEST, "run_1", "abc")
    assert render() == fixture.read_text()


def test_fixture_passes_and_changes_no_file(fixture, target):
    before = everything(target), fixture.read_bytes()

    done = run(fixture, target)

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "C1 pass  slugify('') gives ''"
    assert lines[-1] == "5 passed, 0 failed: app.text:slugify"
    assert (everything(target), fixture.read_bytes()) == before


def test_uncommitted_change_of_function_fails_its_case(fixture, target):
    (target / "app" / "text.py").write_text(HONEST.replace('"-".join', '"_".join'))

    done = run(fixture, target, "--json")

    assert done.returncode == 1
    report = json.loads(done.stdout)
    (bad,) = [row for row in report["cases"] if not row["ok"]]
    assert (report["passed"], report["failed"], bad["id"]) == (4, 1, "C2")
    assert (bad["expected"], bad["got"]) == ("gives 'hello-world'", "gives 'hello_world'")
    line = "C2 FAIL  slugify('Hello World') gives 'hello-world', but it gives 'hello_world'"
    assert line in run(fixture, target).stdout


def test_missing_function_fails_every_case(fixture, target):
    (target / "app" / "text.py").write_text("")

    done = run(fixture, target)

    assert done.returncode == 1
    assert "does not define the function slugify" in done.stdout


def test_fixture_of_coroutine_function_passes(tmp_path):
    text = (
        "import asyncio\n\n\nasync def wait(n):\n    await asyncio.sleep(0)\n    return [n] * n\n"
    )
    target = repository(tmp_path / "app", {"src/pkg/__init__.py": "", "src/pkg/aio.py": text})
    calls = [f"import asyncio\nn = {n}\nasyncio.run(wait(n))" for n in (0, 1, 2)]
    cases = [case(n + 1, code, f"S{n + 1}", expect=[n] * n) for n, code in enumerate(calls)]
    function = Function.parse("src/pkg/aio.py:wait")
    path = tmp_path / "aio.yml"
    path.write_text(render(spec_text(cases, str(function)), function))

    done = run(path, target)

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed: pkg.aio:wait"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "Cannot read"),
        ("form: '2'\n", "is not a fixture"),
        (spec_text(), "form: Field required"),
        (b"\xff\xfe", "not UTF-8 text"),
        ("x" * 1_000_000, "characters"),
    ],
)
def test_invalid_fixture_exits_2(tmp_path, target, text, says):
    path = tmp_path / "bad.yml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    done = run(path, target)

    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_missing_repository_exits_2(fixture, tmp_path):
    done = run(fixture, tmp_path / "nowhere", "--json")

    assert done.returncode == 2
    assert json.loads(done.stderr)["code"] == "no_target"
