"""The gate on two tiny candidates of its own, one good and one bad: a gate that cannot tell them apart is not used."""

import hashlib
import os
import sys
import tempfile
from typing import Any

from ...job import Job, Settings, Tools
from ...target.fixture_tree import write_tree
from .gate import judge_tests

BASE = {
    "sums.py": "def one():\n    return 1\n",
    "tests/test_sums.py": "from sums import one\n\n\ndef test_one():\n    assert one() == 1\n",
}
NEW = "tests/test_double.py"
TEST = "from sums import double\n\n\ndef test_double():\n    assert double(3) == 6\n    assert double(-1) == -2\n"
GOOD = BASE["sums.py"] + "\n\ndef double(number):\n    return number * 2\n"
BAD = BASE["sums.py"] + "\n\ndef double(number):\n    return number * number\n"
CASES = {"good": (GOOD, "pass"), "bad": (BAD, "check")}


def prove_test_gate(tools: Tools | None = None) -> list[dict[str, Any]]:
    """For each candidate what the gate should say, what it said, and whether that is the same; a few seconds."""
    tools = tools or Tools([sys.executable], (sys.prefix, sys.base_prefix))
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as place:
        write_tree(os.path.join(place, "base"), BASE)
        os.makedirs(os.path.join(place, "scratch"))
        return [_proved(place, name, tools) for name in CASES]


def _proved(place, name, tools):
    text, expected = CASES[name]
    head = os.path.join(place, name)
    write_tree(head, {**BASE, "sums.py": text, NEW: TEST})
    changed = {"sums.py": {3, 4, 5, 6}, NEW: set(range(1, 7))}
    settings = Settings(
        repeats=1, mutation_s=60.0, timeout_s=120.0, minimum_level="L0"
    )  # our own code is in it
    tree = hashlib.sha256(text.encode()).hexdigest()
    verdict = judge_tests(
        Job(
            os.path.join(place, "base"),
            head,
            "proof",
            tree,
            changed,
            tools,
            settings,
            (NEW,),
            (),
            os.path.join(place, "scratch"),
        )
    )
    return {
        "case": name,
        "expected": expected,
        "got": verdict.reason,
        "says": verdict.says,
        "ok": verdict.reason == expected,
    }
