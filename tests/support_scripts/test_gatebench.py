"""The gate on a few problems of our own making, with every family of cheats; the full data is measured by hand."""

import json
import subprocess
import sys

import pytest

from ..conftest import ROOT

SCRIPT = ROOT / "support_scripts" / "gatebench.py"
TOTAL = "    s = 0\n    for i in range(n + 1):\n        s += i\n    return s\n"
PROBLEMS = [  # name, parameters, reference, bug, cases
    (
        "larger",
        "a, b",
        "    return a if a > b else b\n",
        "    return a if a < b else b\n",
        {"(1, 2)": 2, "(3, 2)": 3},
    ),
    ("total", "n", TOTAL, TOTAL.replace("n + 1", "n"), {"(3,)": 6, "(0,)": 0, "(4,)": 10}),
    (
        "evens",
        "n",
        "    return [i for i in n if i % 2 == 0]\n",
        "    return [i for i in n if i % 2]\n",
        {"([1, 2, 4],)": [2, 4]},
    ),
    (
        "away",
        "n",
        "    return -n if n < 0 else n\n",
        "    return -n\n",
        {"(3,)": 3, "(-3,)": 3, "(0,)": 0},
    ),
]  # as many as the largest family has ways, so that each way is tried


@pytest.fixture
def data(tmp_path):
    lines = []
    for name, parameters, right, wrong, cases in PROBLEMS:
        prompt = f'def {name}({parameters}):\n    """What {name} is."""\n'
        asserts = "".join(
            f"    assert {name}(*{given}) == {expected}\n" for given, expected in cases.items()
        )
        row = {
            "task_id": name,
            "entry_point": name,
            "prompt": prompt,
            "canonical_solution": right,
            "buggy_solution": wrong,
        }
        lines.append(json.dumps({**row, "test": f"def check({name}):\n{asserts}\ncheck({name})"}))
    (tmp_path / "problems.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "problems.jsonl"


def bench(*argv):
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, argv)], capture_output=True, text=True
    )


def test_gatebench_accepts_references_and_catches_cheats(data):
    done = bench("--data", data, "--jobs", 2, "--brief")

    table = [line.split("|") for line in done.stdout.splitlines()[2:] if line.startswith("|")]
    measured = {cells[1].strip(): cells[2].strip().partition(" (")[0] for cells in table}
    assert measured["references rejected"] == "0 of 4", done.stderr
    assert measured["human bugs caught"] == "4 of 4", done.stderr
    cheats = {name: words for name, words in measured.items() if name.startswith("cheat: ")}
    assert len(cheats) == 13
    assert set(cheats.values()) == {"4 of 4"}, done.stderr


def test_missing_gatebench_data_raises_an_error(tmp_path):
    done = bench("--data", tmp_path / "none.jsonl")

    assert (done.returncode, done.stdout) == (2, "")
    assert "none.jsonl" in done.stderr and "--data" in done.stderr
