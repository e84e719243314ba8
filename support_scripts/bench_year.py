"""How long a yearly report takes, and what it holds in memory, over records of every kind that it counts."""

import pathlib
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench_speed import MAX_RSS
from bench_world import (
    ACTORS,
    ROOT,
    SCOPES,
    BenchOptions,
    Row,
    make_environment,
    make_text,
    show_progress,
)

from kaizen_components.records.ids import format_time
from kaizen_components.records.ledger.hashing import read_log_end
from kaizen_components.records.ledger.transaction import RecordWriter
from kaizen_components.store.database import Store

YEAR = 2026
FIRST_MS, LAST_MS = (
    1_761_955_200_000,
    1_798_758_000_000,
)  # November 2025, to compare with, to the end of 2026
RECORDS_A_COMMIT = 20_000
SECONDS_MOST, MEGABYTES_MOST = 10, 300
KINDS = {
    "task": 25, "active": 12, "done": 22, "blocked": 1, "reopened": 1, "span": 22, "verification": 9, "proof": 6,
    "gotcha": 1, "learning": 0.3, "waiver": 0.2, "prediction": 0.2,
}  # fmt: skip
CONCLUSIONS = {
    "VERIFIED_ACCEPTABLE": 70, "ACCEPTABLE_WITH_CONCERNS": 12, "VERIFICATION_FAILED": 8, "PROOF_RECORDED": 6,
    "NEEDS_HUMAN_DECISION": 3, "STRUCTURAL_REWORK_RECOMMENDED": 1,
}  # fmt: skip
CHECKS = ("pytest -q", "ruff check .", "mypy", "make docs", "npm test", "cargo test")


def measure_year(asked: BenchOptions) -> Iterator[Row]:
    """A cold yearly report over records of every kind that it counts, spread over that year."""
    zones = ("Europe/Berlin",) if asked.quick else ("Europe/Berlin", "UTC", "Asia/Kathmandu")
    with _project(asked) as root:
        seconds, busy, megabytes = zip(*(_measured(root, zone) for zone in zones), strict=True)
    taken = f"{statistics.median(seconds):.1f} s (most {max(seconds):.1f} s; CPU {max(busy):.1f} s)"
    shown = f"{taken}, {max(megabytes):.0f} MB"
    met = max(seconds) < SECONDS_MOST and max(megabytes) < MEGABYTES_MOST
    promise = f"< {SECONDS_MOST} s, < {MEGABYTES_MOST} MB"
    yield Row(f"cold `R10` over {asked.records:,} records", shown, promise, met)


def _measured(root: pathlib.Path, zone: str) -> tuple[float, float, float]:
    """(seconds, seconds of CPU, megabytes) of the whole process that writes the report."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(pathlib.Path(folder, "year.html"))
        words = ["R10", "--year", str(YEAR), "--timezone", zone, "--out", out]
        argv = [sys.executable, "-c", MAX_RSS, str(ROOT / "kaizen.py"), *words]
        before, start = _busy(), time.perf_counter()
        done = subprocess.run(
            argv, env=make_environment(root), capture_output=True, check=True, text=True
        )
        seconds, busy = time.perf_counter() - start, _busy() - before
        if not pathlib.Path(out).exists():  # MAX_RSS does not say how its child ended
            raise RuntimeError("R10 wrote no report: " + done.stderr)
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, busy, int(done.stdout.split()[-1]) * unit / 1_000_000


def _busy() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def _project(asked: BenchOptions) -> Iterator[pathlib.Path]:
    """The project; below `--keep` it stays for the next run."""
    with tempfile.TemporaryDirectory(prefix="kaizen_bench_", dir=asked.keep) as temporary:
        made = pathlib.Path(temporary)
        kept = asked.keep / f"{asked.records}-year" if asked.keep else None
        if not kept or not kept.exists():
            store = Store(str(made))
            World(asked.records).write(store)
            store.close()
            if kept:  # a name that only a complete one has
                shutil.move(made, kept)
                made.mkdir()  # for its own end
        yield kept or made


class World:
    """So many records, in the order of their times: what a busy project does, thousands of times."""

    def __init__(self, records: int):
        self.records = records
        self.chance = random.Random(records)
        self.open: list[tuple[str, int]] = []  # (task, its newest revision)
        self.closed: list[tuple[str, int]] = []
        self.made = 0

    def write(self, store: Store) -> None:
        kinds = self.chance.choices(list(KINDS), list(KINDS.values()), k=self.records)
        while self.made < self.records:
            show_progress(f"{self.made:,} of {self.records:,} records")
            with store.begin_write_transaction() as connection:
                self.tx = RecordWriter(
                    connection, self.chance.choice(ACTORS), "K5", False, read_log_end(connection)
                )
                until = min(self.made + RECORDS_A_COMMIT, self.records)
                while self.made < until:
                    self.tx.at_ms = FIRST_MS + (LAST_MS - FIRST_MS) * self.made // self.records
                    self.tx.at = format_time(self.tx.at_ms)
                    getattr(self, "_" + kinds[self.made])()
                self.tx.finish()

    def _add(self, table: str, /, **values: Any) -> str:
        self.made += 1
        return str(self.tx.add(table, values)["id"])

    def _task(self) -> None:
        title, summary, scope = (
            make_text(self.chance, 5),
            make_text(self.chance, 25),
            self.chance.choice(SCOPES),
        )
        id = self._add(
            "task", title=title, summary=summary, scope=scope, priority="normal", status="open"
        )
        self.open.append((id, 1))

    def _revise(self, tasks: list[tuple[str, int]], status: str) -> None:
        at = self.chance.randrange(max(len(tasks) - 2_000, 0), len(tasks)) if tasks else -1
        if at < 0:
            self._task()
            return
        tasks[at], tasks[-1] = tasks[-1], tasks[at]
        id, rev = tasks.pop()
        self._add(
            "task_revision", task_id=id, rev=rev + 1, status=status, note=make_text(self.chance, 8)
        )
        (self.closed if status == "done" else self.open).append((id, rev + 1))

    def _active(self) -> None:
        self._revise(self.open, "active")

    def _done(self) -> None:
        self._revise(self.open, "done")

    def _blocked(self) -> None:
        self._revise(self.open, "blocked")

    def _reopened(self) -> None:
        self._revise(self.closed, "open")

    def _some_task(self) -> str | None:
        tasks = self.closed if self.chance.random() < 0.5 else self.open
        return self.chance.choice(tasks[-500:])[0] if tasks else None

    def _span(self) -> None:
        tokens = self.chance.randrange(50_000)
        self._add(
            "span", trace_id=f"run {self.made // 20}", task_id=self._some_task(), name="review", kind="model",
            status="ok", started_at=self.tx.at, duration_ms=tokens, tokens_in=tokens, tokens_out=tokens // 9,
            cost_usd=tokens * 3e-6,
        )  # fmt: skip

    def _verification(self) -> None:
        conclusion = self.chance.choices(list(CONCLUSIONS), list(CONCLUSIONS.values()))[0]
        task, summary = self._some_task(), make_text(self.chance, 12)
        self._add(
            "verification", task_id=task, scope="project", conclusion=conclusion, summary=summary
        )

    def _proof(self) -> None:
        command, passed = self.chance.choice(CHECKS), self.chance.random() < 0.9
        tree = f"{self.made // 300:064x}"
        self._add(
            "proof", task_id=self._some_task(), title=command, tier="witnessed", command=command, argv="[]",
            outcome="passed" if passed else "failed", exit_code=int(not passed), duration_ms=900, stdout_hash=tree,
            stderr_hash=tree, tree_hash=tree, platform="linux",
        )  # fmt: skip

    def _gotcha(self) -> None:
        title, summary = make_text(self.chance, 5), make_text(self.chance, 15)
        self._add("gotcha", title=title, summary=summary, scope="project", evidence='["seen"]')

    def _learning(self) -> None:
        self._add(
            "learning",
            title=make_text(self.chance, 5),
            summary=make_text(self.chance, 15),
            scope="project",
        )

    def _waiver(self) -> None:
        task, reason = self._some_task(), make_text(self.chance, 8)
        self._add(
            "waiver",
            gate="done",
            subject_id=task or "none",
            task_id=task,
            reason=reason,
            missing="[]",
        )

    def _prediction(self) -> None:
        review = self._add(
            "irl",
            title=make_text(self.chance, 4),
            summary=make_text(self.chance, 9),
            scope="project",
        )
        probability = self.chance.random()
        made = self._add(
            "irl_prediction",
            irl_id=review,
            summary=make_text(self.chance, 9),
            probability=probability,
            deadline=self.tx.at,
        )
        if self.chance.random() < 0.9:
            outcome = "happened" if self.chance.random() < probability else "did-not-happen"
            self._add(
                "irl_outcome",
                prediction_id=made,
                outcome=outcome,
                summary=make_text(self.chance, 9),
            )
