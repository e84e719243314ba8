"""VALIDATE reports new findings, accepts those of the base, and cannot be silenced by the candidate."""

import json
import os
import shutil
import sys

import pytest

from kaizen_components.errors import KaizenError
from kaizen_components.pipeline.gates.static import gate as static
from kaizen_components.pipeline.gates.static import own_command as own_gate
from kaizen_components.pipeline.gates.static import suppressions
from kaizen_components.pipeline.gates.static.tool_tree import ToolTree
from kaizen_components.pipeline.job import Job, Settings, Tools
from kaizen_components.pipeline.target.target import Target
from kaizen_components.pipeline.target.toolchain import find_tools

from .targets import FASTAPI, everything, repository, write

OLD = 'import os\n\nX: int = "wrong already"\n'
BASE = {
    "ruff.toml": 'lint.select = ["F", "E"]\n',
    "app/__init__.py": "",
    "app/main.py": OLD,
    "README.md": "# It\n",
}
GOOD = OLD + "\n\ndef double(number: int) -> int:\n    return number * 2\n"
UNUSED = OLD.replace("import os\n", "import os\nimport json\n")
WRONG = GOOD.replace("number * 2", "str(number)")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """Return one folder for all tests here: the memos in it must not change a verdict."""
    return str(tmp_path_factory.mktemp("scratch"))


@pytest.fixture
def judge(tmp_path, scratch):
    """Return judge(base, changes), which judges a repository exported and changed like in a run."""

    def judge_change(base, changes, **given):
        job = make_job(
            tmp_path / f"case {len(os.listdir(tmp_path))}",
            base,
            changes,
            given.pop("scratch", scratch),
            **given,
        )
        before = everything(job.base), everything(job.head)
        verdict = static.judge_static(job)
        assert (everything(job.base), everything(job.head)) == before, "the gate changed a tree"
        return verdict

    return judge_change


def make_job(place, base, changes, scratch, tests=(), granted=(), settings=None, versions=None):
    target = Target(str(repository(place / "repo", base)))
    commit = target.find_head()
    folders = [str(place / name) for name in ("base", "head")]
    for folder in folders:
        os.mkdir(folder)
        target.export_commit(commit, folder)
    write(folders[1], {path: data for path, data in changes.items() if data is not None})
    for path in (path for path, data in changes.items() if data is None):
        os.unlink(os.path.join(folders[1], path))
    objects = str(place / "objects")
    as_bytes = {
        path: data.encode() if isinstance(data, str) else data for path, data in changes.items()
    }
    head = target.write_commit(commit, as_bytes, "m", objects)
    found = find_tools(target, sys.executable)
    if versions is not None:
        found = Tools(
            found.python, found.reads, found.paths, {**found.versions, **versions}, found.install
        )
    trees = target.hash_files(commit), target.hash_files(head, objects)
    changed = target.find_changed_lines(commit, head, objects)
    settings = settings or Settings(minimum_level="L0")
    return Job(*folders, *trees, changed, found, settings, tests, granted, scratch)


def rules(verdict):
    return [(one.rule, one.path, one.line) for one in verdict.findings]


def test_findings_of_the_base_do_not_fail(judge):
    verdict = judge(BASE, {"app/main.py": GOOD})

    assert (verdict.reason, verdict.findings) == ("pass", [])
    assert verdict.facts["versions"].keys() >= {"python", "ruff", "mypy"}
    assert verdict.facts["mypy"] == {"base": 1, "head": 1}
    assert (
        verdict.runs[-1].tree != verdict.runs[0].tree or len(verdict.runs) == 3
    )  # another test may have measured the base


def test_findings_on_moved_lines_are_not_new(judge):
    moved = "# one\n# two\n" + OLD + "Y = X\n"

    assert judge(BASE, {"app/main.py": moved}).reason == "pass"


def test_second_occurrence_of_old_finding_is_new(judge):
    twice = OLD + "\n\ndef f() -> None:\n    import os\n"
    base = {**BASE, "app/main.py": OLD + "\n\ndef g() -> None:\n    import os\n"}
    both = base["app/main.py"].replace("def g", "def f() -> None:\n    import os\n\n\ndef g")

    assert rules(judge(BASE, {"app/main.py": twice})) == [
        ("F401", "app/main.py", 7),
        ("F811", "app/main.py", 7),
    ]
    assert {line for _, _, line in rules(judge(base, {"app/main.py": both}))} == {7}


def test_new_findings_have_path_and_line(judge):
    verdict = judge(BASE, {"app/main.py": WRONG.replace("import os\n", "import os\nimport json\n")})

    assert verdict.reason == "check"
    assert rules(verdict) == [("F401", "app/main.py", 2), ("return-value", "app/main.py", 8)]
    assert "json" in verdict.findings[0].text


def test_type_error_in_unchanged_file_is_found(judge):
    base = {
        **BASE,
        "app/lib.py": "def f() -> int:\n    return 1\n",
        "app/use.py": "from app.lib import f\n\nY: int = f()\n",
    }
    verdict = judge(base, {"app/lib.py": 'def f() -> str:\n    return ""\n'})

    assert rules(verdict) == [("assignment", "app/use.py", 3)]


def test_file_with_syntax_error_has_only_that_finding(judge):
    verdict = judge(BASE, {"app/main.py": "def (:\n", "app/other.py": "import json\n"})

    assert rules(verdict) == [("syntax", "app/main.py", 1)]


@pytest.mark.parametrize(
    "changes",
    [
        {"ruff.toml": "lint.select = []\n"},
        {"ruff.toml": None},
        {"app/ruff.toml": "lint.select = []\n"},
        {".ruff.toml": "exclude = ['app']\n"},
        {"pyproject.toml": "[tool.ruff]\nexclude = ['app']\n"},
        {".gitignore": "app/\n"},
        {"app/.ignore": "*\n"},
    ],
    ids=str,
)
def test_lint_settings_of_candidate_are_ignored(judge, changes):
    assert ("F401", "app/main.py", 2) in rules(
        judge(BASE, {"app/main.py": UNUSED, **changes}, granted=("**",))
    )


@pytest.mark.parametrize("name", ["mypy.ini", "setup.cfg"])
def test_mypy_settings_come_from_the_base(judge, name):
    base = {**BASE, name: "[mypy]\ndisallow_untyped_defs = True\nfiles = app\n"}
    verdict = judge(
        base,
        {
            "app/main.py": OLD + "\n\ndef f(x):\n    return x\n",
            name: "[mypy]\nignore_errors = True\n",
        },
    )

    assert rules(verdict) == [("no-untyped-def", "app/main.py", 6)]


def test_mypy_plugins_and_ruff_extends_come_from_base(tmp_path, scratch):
    base = {
        **BASE, "mypy.ini": "[mypy]\nplugins = tools/plugin.py, app.plugin\n",
        "ruff.toml": 'extend = "more/base.toml"\n',
        "more/base.toml": 'lint.select = ["F"]\n', "tools/plugin.py": "OLD = 1\n", "app/plugin.py": "OLD = 1\n",
    }  # fmt: skip
    changed = dict.fromkeys(
        ("more/base.toml", "tools/plugin.py", "app/plugin.py", "app/main.py"), "NEW = 1\n"
    )
    job = make_job(tmp_path / "case", base, changed, scratch, granted=("**",))
    room = ToolTree(job)
    room.fill_from(job.head)

    read = {name: (tmp_path / room.folder / name).read_text() for name in changed}
    assert read == {**{name: base[name] for name in changed}, "app/main.py": "NEW = 1\n"}


@pytest.mark.parametrize(
    "comment",
    ["# noqa", "# noqa: F401", "#NOQA", "# type: ignore", "# type:ignore[x]", "# ruff: noqa", "# mypy: ignore-errors",
     "# flake8: noqa", "# pragma: no cover", "# pylint: disable=all"],
)  # fmt: skip
def test_new_silencing_comment_is_a_finding(comment, tmp_path, scratch):
    job = make_job(tmp_path / "case", BASE, {"app/main.py": OLD + f"Y = 1  {comment}\n"}, scratch)

    assert [(one.rule, one.line) for one in suppressions.find_suppressions(job)] == [
        ("suppression", 4)
    ]


def test_old_suppressions_and_string_literals_are_accepted(tmp_path, scratch):
    base = {**BASE, "app/main.py": "import os  # noqa: F401\nY = 1\n"}
    edited = '"""Says # noqa."""\nimport os  # noqa:  F401\nY = "# type: ignore"\n'
    job = make_job(tmp_path / "case", base, {"app/main.py": edited}, scratch)
    more = make_job(
        tmp_path / "more", base, {"app/main.py": edited + "import json  # noqa: F401\n"}, scratch
    )

    assert suppressions.find_suppressions(job) == []
    assert [one.line for one in suppressions.find_suppressions(more)] == [4]


def test_added_no_type_check_and_stub_are_findings(tmp_path, scratch):
    changes = {
        "app/main.py": OLD + "import typing\n\n\n@typing.no_type_check\ndef f():\n    pass\n",
        "app/main.pyi": "",
    }
    job = make_job(tmp_path / "case", BASE, changes, scratch)

    assert sorted(one.rule for one in suppressions.find_suppressions(job)) == [
        "stub",
        "suppression",
    ]


def test_candidate_module_named_ruff_is_not_run(judge):
    forged = "import sys\nsys.stdout.write('[]')\nsys.exit(0)\n"
    verdict = judge(
        BASE, {"app/main.py": UNUSED, "ruff.py": forged, "mypy.py": forged, "json.py": forged}
    )

    assert ("F401", "app/main.py", 2) in rules(verdict)


def test_new_tests_are_not_checked_statically(judge):
    changes = {"app/main.py": GOOD, "tests/test_new.py": "import json\n"}

    assert judge(BASE, changes, tests=("tests/test_new.py",)).reason == "pass"


def test_tool_failing_on_base_blocks_the_gate(judge):
    broken = judge({**BASE, "ruff.toml": "lint.select = 1\n"}, {"app/main.py": GOOD})
    unparsable = judge({**BASE, "app/bad.py": "def (:\n"}, {"app/main.py": GOOD})

    assert broken.reason == unparsable.reason == "missing"
    assert broken.findings[0].rule == "ruff"
    assert "lint" in broken.findings[0].text
    assert os.sep + "static" + os.sep not in broken.findings[0].text
    assert unparsable.findings[0].rule == "mypy"
    assert "[gates.check]" in unparsable.findings[-1].text


def test_tool_failing_on_candidate_is_a_finding(judge):
    settings = {
        **BASE,
        "mypy.ini": "[mypy]\nfiles = app, lib\n",
        "lib/__init__.py": "",
        "lib/a.py": "",
    }
    verdict = judge(settings, {"lib/__init__.py": None, "lib/a.py": None})

    assert verdict.reason == "check"
    assert "mypy" in verdict.findings[0].rule


def test_missing_tools_are_reported_with_install_commands(tmp_path, scratch):
    job = make_job(tmp_path / "case", BASE, {"app/main.py": GOOD}, scratch)
    job.tools = Tools(
        job.tools.python, job.tools.reads, job.tools.paths, {"python": "3.11"}, "pip install"
    )
    verdict = static.judge_static(job)

    assert verdict.reason == "missing"
    assert [one.text.split(": ")[1] for one in verdict.findings] == [
        "pip install ruff",
        "pip install mypy",
    ]


def test_base_check_is_cached_by_tree_and_versions(judge, tmp_path):
    own = str(tmp_path / "own scratch")
    os.mkdir(own)
    first = judge(BASE, {"app/main.py": GOOD}, scratch=own)
    again = judge(BASE, {"app/main.py": UNUSED}, scratch=own)
    other = judge(BASE, {"app/main.py": UNUSED}, scratch=own, versions={"ruff": "0.0.1"})

    assert [len(verdict.runs) for verdict in (first, again, other)] == [5, 3, 5]


def test_candidates_of_equal_size_get_separate_verdicts(tmp_path, scratch):
    reasons = []
    for name, added in (("one", 'Y: int = "a"\n'), ("two", "Y: int = 123\n")):
        job = make_job(tmp_path / name, BASE, {"app/main.py": OLD + added}, scratch)
        os.utime(os.path.join(job.head, "app", "main.py"), (1e9, 1e9))
        reasons.append(static.judge_static(job).reason)

    assert reasons == ["check", "pass"]


def test_text_output_of_old_mypy_is_parsed(judge):
    verdict = judge(BASE, {"app/main.py": WRONG}, versions={"mypy": "1.4.0"})

    assert rules(verdict) == [("return-value", "app/main.py", 7)]
    assert "--output" not in verdict.runs[-1].argv


def test_lint_settings_of_outer_folders_are_ignored(judge, tmp_path):
    write(
        tmp_path, {"ruff.toml": "lint.select = []\n", "mypy.ini": "[mypy]\nignore_errors = True\n"}
    )
    scratch = tmp_path / "inside"
    scratch.mkdir()
    plain = {name: text for name, text in BASE.items() if name != "ruff.toml"}
    verdict = judge(plain, {"app/main.py": WRONG + "\nimport json\n"}, scratch=str(scratch))

    assert {"return-value", "F401"} <= {rule for rule, _, _ in rules(verdict)}


def test_imports_in_src_layout_are_resolved(judge):
    inner = "def f() -> int:\n    return 1\n"
    base = {
        "src/pkg/__init__.py": "",
        "src/pkg/sub/__init__.py": "",
        "src/pkg/sub/a.py": inner,
        "src/pkg/b.py": "",
    }
    good = judge(base, {"src/pkg/b.py": "from pkg.sub.a import f\n\nY: int = f()\n"})
    bad = judge(base, {"src/pkg/b.py": "from pkg.sub.a import f\n\nY: str = f()\n"})

    assert (good.reason, rules(bad)) == ("pass", [("assignment", "src/pkg/b.py", 3)])


def test_type_error_in_fastapi_route_is_found(judge):
    main = FASTAPI["app/main.py"]
    health = (
        '\n\n@app.get("/health")\ndef health() -> dict[str, str]:\n    return {"status": "ok"}\n'
    )
    good = judge(FASTAPI, {"app/main.py": main + health})
    bad = judge(FASTAPI, {"app/main.py": main + health.replace('"ok"', "1")})

    assert good.reason == "pass", [one.as_dict() for one in good.findings]
    assert rules(bad) == [("dict-item", "app/main.py", 13)]


def own_settings(command, replace=False, **given):
    return Settings(
        minimum_level="L0",
        commands={"check": command},
        replaces=["check"] if replace else [],
        **given,
    )


def test_project_check_runs_after_ours_or_replaces_them(judge):
    check = ["python", "-c", "import sys; sys.exit('bad' in open('data.txt').read())"]
    base = {**BASE, "data.txt": "good\n"}

    assert judge(base, {"data.txt": "better\n"}, settings=own_settings(check)).reason == "pass"
    assert judge(base, {"data.txt": "bad\n"}, settings=own_settings(check)).reason == "check"
    ours = judge(base, {"app/main.py": UNUSED}, settings=own_settings(check))
    assert (ours.reason, [rule for rule, _, _ in rules(ours)]) == ("check", ["F401"])
    assert (
        judge(base, {"app/main.py": UNUSED}, settings=own_settings(check, replace=True)).reason
        == "pass"
    )


def test_failing_project_check_reports_only_new_lines(judge):
    code = """import sys
for n, t in enumerate(open('d.txt'), 1):
    if 'bad' in t: print(f'd.txt:{n}: {t}')
sys.exit(1)"""
    check = ["python", "-c", code]
    base = {"d.txt": "bad one\n"}

    assert rules(
        judge(base, {"d.txt": "x\nbad one\nbad two\n"}, settings=own_settings(check, True))
    ) == [("own", "d.txt", 3)]
    assert (
        judge(base, {"d.txt": "x\nbad one\n"}, settings=own_settings(check, True)).reason
        == "missing"
    )
    allowed = own_settings(check, True, allow_failing_baseline=True)
    assert judge(base, {"d.txt": "x\nbad one\n"}, settings=allowed).reason == "pass"
    assert rules(judge(base, {"d.txt": "bad one\nbad two\n"}, settings=allowed)) == [
        ("own", "d.txt", 2)
    ]
    silent = own_settings(
        ["python", "-c", "import sys; sys.exit(1)"], True, allow_failing_baseline=True
    )
    assert (
        judge(base, {"d.txt": "x\n"}, settings=silent).reason == "missing"
    )  # without output, new failures cannot be told from old ones


def test_project_check_uses_protected_files_of_base(judge):
    base = {"check.py": "import sys; sys.exit(open('d.txt').read() != 'good')", "d.txt": "good"}
    changes = {"check.py": "", "d.txt": "bad"}

    assert (
        judge(
            base,
            changes,
            settings=own_settings(["python", "check.py"], True, protected=["check.py"]),
        ).reason
        == "check"
    )
    assert (
        judge(
            base, changes, settings=own_settings(["python", "check.py"], True, protected=[])
        ).reason
        == "pass"
    )


def test_newly_failing_project_tests_are_a_regression(tmp_path, scratch):
    settings = Settings(commands={"test": ["python", "check.py"]}, replaces=["test"])
    base = {"check.py": "import sys; sys.exit(open('d.txt').read() != 'good')", "d.txt": "good"}
    job = make_job(tmp_path / "case", base, {"d.txt": "bad"}, scratch, settings=settings)
    failing = make_job(
        tmp_path / "failing",
        {**base, "d.txt": "bad"},
        {"d.txt": "worse"},
        scratch,
        settings=settings,
    )

    assert (
        own_gate.judge_with_own_command(
            job, "test", lambda job: pytest.fail("our gate was run")
        ).reason
        == "regression"
    )
    assert own_gate.judge_base_command(job, "test").reason == "pass"
    assert own_gate.judge_base_command(failing, "test").reason == "check"
    failing.settings.allow_failing_baseline = True
    assert own_gate.judge_base_command(failing, "test").reason == "pass"


def test_project_check_below_minimum_sandbox_level_is_refused(tmp_path, scratch, monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")
    settings = Settings(commands={"test": ["true"]}, replaces=["test"], minimum_level="L3")
    job = make_job(
        tmp_path / "case", {"d.txt": "good"}, {"d.txt": "better"}, scratch, settings=settings
    )

    for judge in (own_gate.judge_own_command, own_gate.judge_base_command):
        with pytest.raises(KaizenError):
            judge(job, "test")
    assert static.judge_static(job).reason == "missing"


def test_invalid_cached_base_result_is_ignored(judge, tmp_path):
    own = tmp_path / "own scratch"
    own.mkdir()
    judge(BASE, {"app/main.py": GOOD}, scratch=str(own))
    (kept,) = own.glob("static-*.json")

    assert {tool: len(found) for tool, found in json.loads(kept.read_text()).items()} == {
        "ruff": 1,
        "mypy": 1,
    }
    kept.write_text("{")
    assert judge(BASE, {"app/main.py": GOOD}, scratch=str(own)).reason == "pass"
    shutil.rmtree(own)
