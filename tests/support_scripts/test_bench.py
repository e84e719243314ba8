"""The benchmarks run and report. How fast they find it to be is theirs to say: a test has no stopwatch."""

import json
import os
import re
import subprocess
import sys

import pytest

from ..conftest import ROOT

SCRIPT = ROOT / "support_scripts" / "bench.py"

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="posix_spawn, kill -9 and getrusage are POSIX"
)


def bench(*argv):
    return subprocess.run([sys.executable, str(SCRIPT), *argv], capture_output=True, text=True)


def test_benchmark_table_says_which_promises_are_met():
    done = bench("--quick", "memory", "batch")

    table, conditions = done.stdout.split("\n\n")
    head, rule, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()
    ]
    assert head == ["what", "measured", "promise", "met"]
    assert rule == ["---"] * 4
    assert [(what, promise) for what, _, promise, _ in rows] == [
        ("memory of a cold `W1`", "<= 40 MB"),
        ("`K5`, 500 `W1` lines", ">= 2,000 records/s"),
    ]
    assert re.fullmatch(r"\d+\.\d MB", rows[0][1])
    met = [row[3] for row in rows]
    assert set(met) <= {"yes", "**no**"}
    assert done.returncode == (1 if "**no**" in met else 0), done.stderr
    assert re.fullmatch(r"\w+ 3\.\d+\.\S+, \w+ \w+, \d{4}-\d\d-\d\d\n", conditions)


def test_benchmark_json_has_the_rows_of_table():
    report = json.loads(bench("--quick", "--json", "memory").stdout)

    assert [row["what"] for row in report["rows"]] == ["memory of a cold `W1`"]
    assert report["rows"][0]["met"] in (True, False)


def test_database_kept_by_benchmark_is_reused(tmp_path):
    argv = ("--quick", "--json", "--records", "200", "--keep", str(tmp_path), "scale")
    first = json.loads(bench(*argv).stdout)
    inode = (tmp_path / "200" / "AI" / "db" / "kaizen.db").stat().st_ino

    second = json.loads(bench(*argv).stdout)
    assert (tmp_path / "200" / "AI" / "db" / "kaizen.db").stat().st_ino == inode
    assert [row["promise"] for row in first["rows"]] == [row["promise"] for row in second["rows"]]


def test_benchmark_measures_the_report_of_a_year():
    (row,) = json.loads(bench("--quick", "--json", "--records", "2000", "year").stdout)["rows"]

    assert (row["what"], row["promise"]) == ("cold `R10` over 2,000 records", "< 10 s, < 300 MB")
    assert re.fullmatch(r"\d+\.\d s \(most \d+\.\d s; CPU \d+\.\d s\), \d+ MB", row["measured"])


def test_digest_is_measured_in_filled_database():
    rows = json.loads(bench("--quick", "--json", "--records", "200", "digest").stdout)["rows"]

    assert [row["promise"] for row in rows] == ["<= 100 ms"] * 3 + [""]
    assert all("`R0` at 200 records" in row["what"] for row in rows)


def test_unknown_benchmark_name_is_a_usage_error():
    done = bench("speed")

    assert done.returncode == 2
    assert "no benchmark speed; there are cold, memory" in done.stderr


def test_readme_figures_equal_those_of_benchmark_page():
    page, readme = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("docs/benchmarks.md", "README.md")
    )
    figures = (
        readme.split("<!-- bench: begin -->\n")[1].split("<!-- bench: end -->")[0].splitlines()
    )

    assert len(figures) == 7 and set(figures) <= set(page.splitlines())
    assert not [line for line in page.splitlines() if "**no**" in line]
