"""Show that the gates pass tiny good candidates and refuse bad ones (K11, CI)."""

import os
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from typing import Any

from ..job import Job, Settings, Tools
from ..target.fixture_tree import write_tree
from ..verdict import Verdict
from .static.gate import judge_static
from .tests.gate import judge_tests

STATIC_BASE = {
    "sums.py": '"""Sums."""\n\nOLD: int = "was wrong before"\n',
    "ruff.toml": 'lint.select = ["F"]\n',
}
TYPED = "\n\ndef double(number: int) -> int:\n    return number * 2\n"
STATIC_CASES = {  # name -> (text appended to sums.py, other files, expected reason)
    "good": (TYPED, {}, "pass"),
    "syntax": ("\n\ndef double(:\n", {}, "check"),
    "ruff": ("\nimport os\n", {}, "check"),
    "mypy": (TYPED.replace("number * 2", "str(number)"), {}, "check"),
    "silenced": ("\nimport os  # noqa: F401\n", {}, "check"),
    "settings": ("\nimport os\n", {"ruff.toml": "lint.select = []\n"}, "check"),
}
TEST_BASE = {
    "sums.py": "def one():\n    return 1\n",
    "tests/test_sums.py": "from sums import one\n\n\ndef test_one():\n    assert one() == 1\n",
}
NEW_TESTS = {
    "tests/test_double.py": "from sums import double\n\n\n"
    "def test_double():\n    assert double(3) == 6\n    assert double(-1) == -2\n"
}
TEST_CASES = {
    "good": ("\n\ndef double(number):\n    return number * 2\n", NEW_TESTS, "pass"),
    "bad": ("\n\ndef double(number):\n    return number * number\n", NEW_TESTS, "check"),
}


def prove_static_gate(tools: Tools | None = None) -> list[dict[str, Any]]:
    """Return the expected and the actual reason for each candidate. Takes a few seconds."""
    versions = {"python": sys.version.split()[0]}
    for name in ("ruff", "mypy"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    tools = tools or Tools([sys.executable], (sys.prefix, sys.base_prefix), versions=versions)
    return _judge_cases(judge_static, STATIC_BASE, STATIC_CASES, tools, ())


def prove_test_gate(tools: Tools | None = None) -> list[dict[str, Any]]:
    """Return the expected and the actual reason for each candidate. Takes a few seconds."""
    tools = tools or Tools([sys.executable], (sys.prefix, sys.base_prefix))
    # Block installed plugins: loading them would slow down each session.
    plugins = {plugin.name for plugin in metadata.entry_points(group="pytest11")}
    addopts = " ".join(f"-p no:{name}" for name in sorted(plugins))
    base = {**TEST_BASE, "pytest.ini": f"[pytest]\naddopts = {addopts}\n"}
    return _judge_cases(judge_tests, base, TEST_CASES, tools, tuple(NEW_TESTS))


def _judge_cases(
    judge: Callable[[Job], Verdict],
    base: dict[str, str],
    cases: dict[str, tuple[str, dict[str, str], str]],
    tools: Tools,
    tests: tuple[str, ...],
) -> list[dict[str, Any]]:
    """Judge the base plus each case's text, and compare the reason with the expected one."""
    # The weakest level is enough: the code is ours.
    settings = Settings(repeats=1, mutation_s=60.0, timeout_s=120.0, minimum_level="L0")
    rows = []
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        folder, scratch = os.path.join(place, "base"), os.path.join(place, "scratch")
        write_tree(folder, base)
        os.makedirs(scratch)
        for name, (added_text, other_files, expected_reason) in cases.items():
            head = os.path.join(place, name)
            text = base["sums.py"]
            write_tree(head, {**base, **other_files, "sums.py": text + added_text})
            changed_lines = {
                path: set(range(1, body.count("\n") + 1)) for path, body in other_files.items()
            }
            changed_lines["sums.py"] = set(
                range(text.count("\n") + 1, (text + added_text).count("\n") + 1)
            )
            job = Job(
                folder,
                head,
                "proof",
                name,
                changed_lines,
                tools,
                settings,
                tests=tests,
                scratch=scratch,
            )
            verdict = judge(job)
            rows.append(
                {
                    "case": name,
                    "expected": expected_reason,
                    "got": verdict.reason,
                    "says": verdict.says,
                    "ok": verdict.reason == expected_reason,
                }
            )
    return rows
