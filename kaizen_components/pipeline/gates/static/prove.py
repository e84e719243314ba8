"""VALIDATE on candidates of its own, good and bad: a gate that cannot tell them apart is not used (K11, CI)."""

import os
import sys
import tempfile
from typing import Any

from ...job import Job, Settings, Tools
from ...target.fixture_tree import write_tree
from .gate import judge_static

BASE = {
    "sums.py": '"""Sums."""\n\nOLD: int = "was wrong before"\n',
    "ruff.toml": 'lint.select = ["F"]\n',
}
ADDED = "\n\ndef double(number: int) -> int:\n    return number * 2\n"
CASES = {  # name -> (what is added to sums.py, other files, the reason that the gate must give)
    "good": (ADDED, {}, "pass"),
    "syntax": ("\n\ndef double(:\n", {}, "check"),
    "ruff": ("\nimport os\n", {}, "check"),
    "mypy": (ADDED.replace("number * 2", "str(number)"), {}, "check"),
    "silenced": ("\nimport os  # noqa: F401\n", {}, "check"),
    "settings": ("\nimport os\n", {"ruff.toml": "lint.select = []\n"}, "check"),
}


def prove_static_gate(tools: Tools | None = None) -> list[dict[str, Any]]:
    """For each candidate what the gate should say, what it said, and whether that is the same; a few seconds."""
    tools = tools or Tools([sys.executable], (sys.prefix, sys.base_prefix), versions=_versions())
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        write_tree(os.path.join(place, "base"), BASE)
        os.makedirs(os.path.join(place, "scratch"))
        return [_proved(place, name, tools) for name in CASES]


def _proved(place, name, tools):
    added, others, expected = CASES[name]
    head = os.path.join(place, name)
    write_tree(head, {**BASE, **others, "sums.py": BASE["sums.py"] + added})
    lines = range(BASE["sums.py"].count("\n") + 1, (BASE["sums.py"] + added).count("\n") + 1)
    changed = {"sums.py": set(lines), **{path: {1} for path in others}}
    settings = Settings(timeout_s=120.0, minimum_level="L0")  # our own code is in it
    scratch = os.path.join(place, "scratch")
    verdict = judge_static(
        Job(
            os.path.join(place, "base"),
            head,
            "proof",
            name,
            changed,
            tools,
            settings,
            scratch=scratch,
        )
    )
    return {
        "case": name, "expected": expected, "got": verdict.reason, "says": verdict.says,
        "ok": verdict.reason == expected,
    }  # fmt: skip


def _versions():
    from importlib import metadata

    found = {"python": sys.version.split()[0]}
    for name in ("ruff", "mypy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found
