"""VALIDATE: what is new is found, what was there is not held against anybody, and nothing is hidden from it."""

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
    """One for all tests here: what is kept in it must not change any verdict."""
    return str(tmp_path_factory.mktemp("scratch"))


@pytest.fixture
def judged(tmp_path, scratch):
    """`judged(base, changes)`: the verdict on a real repository, exported and changed as a run does it."""

    def judge(base, changes, **given):
        job = made(
            tmp_path / f"case {len(os.listdir(tmp_path))}",
            base,
            changes,
            given.pop("scratch", scratch),
            **given,
        )
        before = everything(job.base), everything(job.head)
        verdict = static.judge_static(job)
        assert (everything(job.base), everything(job.head)) == before, (
            "a gate writes into neither tree"
        )
        return verdict

    return judge


def made(place, base, changes, scratch, tests=(), granted=(), settings=None, versions=None):
    target = Target(str(repository(place / "repo", base)))
    commit = target.head()
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
    head = target.commit(commit, as_bytes, "m", objects)
    found = find_tools(target, sys.executable)
    if versions is not None:
        found = Tools(
            found.python, found.reads, found.paths, {**found.versions, **versions}, found.install
        )
    return Job(
        *folders, target.tree(commit), target.tree(head, objects), target.changed_lines(commit, head, objects), found,
        settings or Settings(minimum_level="L0"), tests, granted, scratch,
    )  # fmt: skip


def rules(verdict):
    return [(one.rule, one.path, one.line) for one in verdict.findings]


def test_old_findings_are_not_held_against_a_change_and_every_run_is_recorded(judged):
    verdict = judged(BASE, {"app/main.py": GOOD})

    assert (verdict.reason, verdict.findings) == ("pass", [])
    assert verdict.facts["versions"].keys() >= {"python", "ruff", "mypy"}
    assert verdict.facts["mypy"] == {"base": 1, "head": 1}
    assert (
        verdict.runs[-1].tree != verdict.runs[0].tree or len(verdict.runs) == 3
    )  # the base may be known already


def test_findings_that_only_moved_are_old(judged):
    moved = "# one\n# two\n" + OLD + "Y = X\n"

    assert judged(BASE, {"app/main.py": moved}).reason == "pass"


def test_one_more_of_the_same_is_new_and_it_is_the_one_on_the_changed_line(judged):
    twice = OLD + "\n\ndef f() -> None:\n    import os\n"
    base = {**BASE, "app/main.py": OLD + "\n\ndef g() -> None:\n    import os\n"}
    both = base["app/main.py"].replace("def g", "def f() -> None:\n    import os\n\n\ndef g")

    assert rules(judged(BASE, {"app/main.py": twice})) == [
        ("F401", "app/main.py", 7),
        ("F811", "app/main.py", 7),
    ]
    assert {line for _, _, line in rules(judged(base, {"app/main.py": both}))} == {7}


def test_a_new_finding_of_each_tool_is_named_with_its_place(judged):
    verdict = judged(
        BASE, {"app/main.py": WRONG.replace("import os\n", "import os\nimport json\n")}
    )

    assert verdict.reason == "check"
    assert rules(verdict) == [("F401", "app/main.py", 2), ("return-value", "app/main.py", 8)]
    assert "json" in verdict.findings[0].text


def test_a_change_that_breaks_a_file_which_it_does_not_touch_is_noticed(judged):
    base = {
        **BASE,
        "app/lib.py": "def f() -> int:\n    return 1\n",
        "app/use.py": "from app.lib import f\n\nY: int = f()\n",
    }
    verdict = judged(base, {"app/lib.py": 'def f() -> str:\n    return ""\n'})

    assert rules(verdict) == [("assignment", "app/use.py", 3)]


def test_what_does_not_compile_is_said_before_anything_else(judged):
    verdict = judged(BASE, {"app/main.py": "def (:\n", "app/other.py": "import json\n"})

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
def test_settings_of_the_candidate_do_not_count(judged, changes):
    assert ("F401", "app/main.py", 2) in rules(
        judged(BASE, {"app/main.py": UNUSED, **changes}, granted=("**",))
    )


@pytest.mark.parametrize("name", ["mypy.ini", "setup.cfg"])
def test_settings_of_mypy_come_from_the_base(judged, name):
    base = {**BASE, name: "[mypy]\ndisallow_untyped_defs = True\nfiles = app\n"}
    verdict = judged(
        base,
        {
            "app/main.py": OLD + "\n\ndef f(x):\n    return x\n",
            name: "[mypy]\nignore_errors = True\n",
        },
    )

    assert rules(verdict) == [("no-untyped-def", "app/main.py", 6)]


def test_a_plugin_of_mypy_and_a_file_that_ruff_extends_come_from_the_base(tmp_path, scratch):
    base = {
        **BASE, "mypy.ini": "[mypy]\nplugins = tools/plugin.py, app.plugin\n",
        "ruff.toml": 'extend = "more/base.toml"\n',
        "more/base.toml": 'lint.select = ["F"]\n', "tools/plugin.py": "OLD = 1\n", "app/plugin.py": "OLD = 1\n",
    }  # fmt: skip
    changed = dict.fromkeys(
        ("more/base.toml", "tools/plugin.py", "app/plugin.py", "app/main.py"), "NEW = 1\n"
    )
    job = made(tmp_path / "case", base, changed, scratch, granted=("**",))
    room = ToolTree(job)
    room.fill_from(job.head)

    read = {name: (tmp_path / room.folder / name).read_text() for name in changed}
    assert read == {**{name: base[name] for name in changed}, "app/main.py": "NEW = 1\n"}


@pytest.mark.parametrize(
    "comment",
    ["# noqa", "# noqa: F401", "#NOQA", "# type: ignore", "# type:ignore[x]", "# ruff: noqa", "# mypy: ignore-errors",
     "# flake8: noqa", "# pragma: no cover", "# pylint: disable=all"],
)  # fmt: skip
def test_a_silencing_comment_on_a_new_line_is_a_finding(comment, tmp_path, scratch):
    job = made(tmp_path / "case", BASE, {"app/main.py": OLD + f"Y = 1  {comment}\n"}, scratch)

    assert [(one.rule, one.line) for one in suppressions.find_suppressions(job)] == [
        ("suppression", 4)
    ]


def test_silencing_that_was_there_may_stay_and_text_that_looks_so_is_text(tmp_path, scratch):
    base = {**BASE, "app/main.py": "import os  # noqa: F401\nY = 1\n"}
    edited = '"""Says # noqa."""\nimport os  # noqa:  F401\nY = "# type: ignore"\n'
    job = made(tmp_path / "case", base, {"app/main.py": edited}, scratch)
    more = made(
        tmp_path / "more", base, {"app/main.py": edited + "import json  # noqa: F401\n"}, scratch
    )

    assert suppressions.find_suppressions(job) == []
    assert [one.line for one in suppressions.find_suppressions(more)] == [4]


def test_no_type_check_and_a_stub_before_a_source_are_findings(tmp_path, scratch):
    changes = {
        "app/main.py": OLD + "import typing\n\n\n@typing.no_type_check\ndef f():\n    pass\n",
        "app/main.pyi": "",
    }
    job = made(tmp_path / "case", BASE, changes, scratch)

    assert sorted(one.rule for one in suppressions.find_suppressions(job)) == [
        "stub",
        "suppression",
    ]


def test_modules_of_the_candidate_do_not_pass_for_tools(judged):
    forged = "import sys\nsys.stdout.write('[]')\nsys.exit(0)\n"
    verdict = judged(
        BASE, {"app/main.py": UNUSED, "ruff.py": forged, "mypy.py": forged, "json.py": forged}
    )

    assert ("F401", "app/main.py", 2) in rules(verdict)


def test_new_tests_are_not_the_builders_and_are_left_out(judged):
    changes = {"app/main.py": GOOD, "tests/test_new.py": "import json\n"}

    assert judged(BASE, changes, tests=("tests/test_new.py",)).reason == "pass"


def test_a_tool_that_cannot_judge_the_base_blocks_and_says_how_to_go_on(judged):
    broken = judged({**BASE, "ruff.toml": "lint.select = 1\n"}, {"app/main.py": GOOD})
    unparsable = judged({**BASE, "app/bad.py": "def (:\n"}, {"app/main.py": GOOD})

    assert broken.reason == unparsable.reason == "missing"
    assert broken.findings[0].rule == "ruff"
    assert "lint" in broken.findings[0].text
    assert os.sep + "static" + os.sep not in broken.findings[0].text
    assert unparsable.findings[0].rule == "mypy"
    assert "[gates.check]" in unparsable.findings[-1].text


def test_a_tool_that_breaks_only_on_the_candidate_is_a_finding(judged):
    settings = {
        **BASE,
        "mypy.ini": "[mypy]\nfiles = app, lib\n",
        "lib/__init__.py": "",
        "lib/a.py": "",
    }
    verdict = judged(settings, {"lib/__init__.py": None, "lib/a.py": None})

    assert verdict.reason == "check"
    assert "mypy" in verdict.findings[0].rule


def test_missing_tools_and_a_weak_sandbox_are_not_a_pass(tmp_path, scratch):
    job = made(tmp_path / "case", BASE, {"app/main.py": GOOD}, scratch)
    job.tools = Tools(
        job.tools.python, job.tools.reads, job.tools.paths, {"python": "3.11"}, "pip install"
    )
    verdict = static.judge_static(job)

    assert verdict.reason == "missing"
    assert [one.text.split(": ")[1] for one in verdict.findings] == [
        "pip install ruff",
        "pip install mypy",
    ]


def test_the_base_is_looked_at_once_per_tree_and_versions(judged, tmp_path):
    own = str(tmp_path / "own scratch")
    os.mkdir(own)
    first = judged(BASE, {"app/main.py": GOOD}, scratch=own)
    again = judged(BASE, {"app/main.py": UNUSED}, scratch=own)
    other = judged(BASE, {"app/main.py": UNUSED}, scratch=own, versions={"ruff": "0.0.1"})

    assert [len(verdict.runs) for verdict in (first, again, other)] == [5, 3, 5]


def test_two_candidates_of_one_size_and_second_are_not_mistaken_for_each_other(tmp_path, scratch):
    reasons = []
    for name, added in (("one", 'Y: int = "a"\n'), ("two", "Y: int = 123\n")):
        job = made(tmp_path / name, BASE, {"app/main.py": OLD + added}, scratch)
        os.utime(os.path.join(job.head, "app", "main.py"), (1e9, 1e9))
        reasons.append(static.judge_static(job).reason)

    assert reasons == ["check", "pass"]


def test_an_old_mypy_without_json_is_read_by_its_lines(judged):
    verdict = judged(BASE, {"app/main.py": WRONG}, versions={"mypy": "1.4.0"})

    assert rules(verdict) == [("return-value", "app/main.py", 7)]
    assert "--output" not in verdict.runs[-1].argv


def test_settings_of_folders_around_the_run_are_not_the_targets(judged, tmp_path):
    write(
        tmp_path, {"ruff.toml": "lint.select = []\n", "mypy.ini": "[mypy]\nignore_errors = True\n"}
    )
    scratch = tmp_path / "inside"
    scratch.mkdir()
    plain = {name: text for name, text in BASE.items() if name != "ruff.toml"}
    verdict = judged(plain, {"app/main.py": WRONG + "\nimport json\n"}, scratch=str(scratch))

    assert {"return-value", "F401"} <= {rule for rule, _, _ in rules(verdict)}


def test_a_src_layout_with_subpackages_is_checked_as_it_is_imported(judged):
    inner = "def f() -> int:\n    return 1\n"
    base = {
        "src/pkg/__init__.py": "",
        "src/pkg/sub/__init__.py": "",
        "src/pkg/sub/a.py": inner,
        "src/pkg/b.py": "",
    }
    good = judged(base, {"src/pkg/b.py": "from pkg.sub.a import f\n\nY: int = f()\n"})
    bad = judged(base, {"src/pkg/b.py": "from pkg.sub.a import f\n\nY: str = f()\n"})

    assert (good.reason, rules(bad)) == ("pass", [("assignment", "src/pkg/b.py", 3)])


def test_a_fastapi_application_gets_a_route_and_its_type_error_is_seen(judged):
    main = FASTAPI["app/main.py"]
    health = (
        '\n\n@app.get("/health")\ndef health() -> dict[str, str]:\n    return {"status": "ok"}\n'
    )
    good = judged(FASTAPI, {"app/main.py": main + health})
    bad = judged(FASTAPI, {"app/main.py": main + health.replace('"ok"', "1")})

    assert good.reason == "pass", [one.as_dict() for one in good.findings]
    assert rules(bad) == [("dict-item", "app/main.py", 13)]


def own(command, replace=False, **given):
    return Settings(
        minimum_level="L0",
        commands={"check": command},
        replaces=["check"] if replace else [],
        **given,
    )


def test_a_command_of_the_repositorys_own_runs_after_ours_or_instead_of_them(judged):
    check = ["python", "-c", "import sys; sys.exit('bad' in open('data.txt').read())"]
    base = {**BASE, "data.txt": "good\n"}

    assert judged(base, {"data.txt": "better\n"}, settings=own(check)).reason == "pass"
    assert judged(base, {"data.txt": "bad\n"}, settings=own(check)).reason == "check"
    ours = judged(base, {"app/main.py": UNUSED}, settings=own(check))
    assert (ours.reason, [rule for rule, _, _ in rules(ours)]) == ("check", ["F401"])
    assert judged(base, {"app/main.py": UNUSED}, settings=own(check, replace=True)).reason == "pass"


def test_of_a_command_that_fails_on_the_base_only_new_lines_count(judged):
    code = """import sys
for n, t in enumerate(open('d.txt'), 1):
    if 'bad' in t: print(f'd.txt:{n}: {t}')
sys.exit(1)"""
    check = ["python", "-c", code]
    base = {"d.txt": "bad one\n"}

    assert rules(judged(base, {"d.txt": "x\nbad one\nbad two\n"}, settings=own(check, True))) == [
        ("own", "d.txt", 3)
    ]
    assert judged(base, {"d.txt": "x\nbad one\n"}, settings=own(check, True)).reason == "missing"
    allowed = own(check, True, allow_failing_baseline=True)
    assert judged(base, {"d.txt": "x\nbad one\n"}, settings=allowed).reason == "pass"
    assert rules(judged(base, {"d.txt": "bad one\nbad two\n"}, settings=allowed)) == [
        ("own", "d.txt", 2)
    ]
    silent = own(["python", "-c", "import sys; sys.exit(1)"], True, allow_failing_baseline=True)
    assert (
        judged(base, {"d.txt": "x\n"}, settings=silent).reason == "missing"
    )  # nothing shows that it is no worse


def test_a_command_reads_protected_files_of_the_base(judged):
    base = {"check.py": "import sys; sys.exit(open('d.txt').read() != 'good')", "d.txt": "good"}
    changes = {"check.py": "", "d.txt": "bad"}

    assert (
        judged(
            base, changes, settings=own(["python", "check.py"], True, protected=["check.py"])
        ).reason
        == "check"
    )
    assert (
        judged(base, changes, settings=own(["python", "check.py"], True, protected=[])).reason
        == "pass"
    )


def test_tests_of_the_repositorys_own_that_passed_before_are_a_regression(tmp_path, scratch):
    settings = Settings(commands={"test": ["python", "check.py"]}, replaces=["test"])
    base = {"check.py": "import sys; sys.exit(open('d.txt').read() != 'good')", "d.txt": "good"}
    job = made(tmp_path / "case", base, {"d.txt": "bad"}, scratch, settings=settings)
    failing = made(
        tmp_path / "failing",
        {**base, "d.txt": "bad"},
        {"d.txt": "worse"},
        scratch,
        settings=settings,
    )

    assert (
        own_gate.judge_with_own_command(
            job, "test", lambda job: pytest.fail("it is replaced")
        ).reason
        == "regression"
    )
    assert own_gate.judge_base_command(job, "test").reason == "pass"
    assert own_gate.judge_base_command(failing, "test").reason == "check"
    failing.settings.allow_failing_baseline = True
    assert own_gate.judge_base_command(failing, "test").reason == "pass"


def test_a_command_of_the_repositorys_own_is_not_run_in_a_weaker_box_than_it_asks_for(
    tmp_path, scratch, monkeypatch
):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")
    settings = Settings(commands={"test": ["true"]}, replaces=["test"], minimum_level="L3")
    job = made(
        tmp_path / "case", {"d.txt": "good"}, {"d.txt": "better"}, scratch, settings=settings
    )

    for judge in (own_gate.judge_own_command, own_gate.judge_base_command):
        with pytest.raises(KaizenError):
            judge(job, "test")


def test_what_is_kept_about_a_base_is_plain_data(judged, tmp_path):
    own = tmp_path / "own scratch"
    own.mkdir()
    judged(BASE, {"app/main.py": GOOD}, scratch=str(own))
    (kept,) = own.glob("static-*.json")

    assert {tool: len(found) for tool, found in json.loads(kept.read_text()).items()} == {
        "ruff": 1,
        "mypy": 1,
    }
    kept.write_text("{")
    assert judged(BASE, {"app/main.py": GOOD}, scratch=str(own)).reason == "pass"
    shutil.rmtree(own)
