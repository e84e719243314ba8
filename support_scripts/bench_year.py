"""Measure the time and the memory of a yearly report over records of every kind it counts."""

import pathlib
import random
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench_speed import measure_process
from bench_world import ACTORS, SCOPES, BenchOptions, Row, make_text, show_progress

from kaizen_components.records.ids import format_time
from kaizen_components.records.ledger.hashing import read_log_end
from kaizen_components.records.ledger.transaction import RecordWriter
from kaizen_components.store.database import Store

YEAR = 2026
# From November 2025, so that the year can be compared with earlier months, to the end of 2026.
FIRST_MS, LAST_MS = 1_761_955_200_000, 1_798_758_000_000
RECORDS_A_COMMIT = 20_000
SECONDS_MOST, MEGABYTES_MOST = 10, 300
KINDS = {
    "task": 25, "active": 12, "done": 22, "blocked": 1, "reopened": 1, "span": 22,
    "verification": 9, "proof": 6, "gotcha": 1, "learning": 0.3, "waiver": 0.2, "prediction": 0.2,
}  # fmt: skip
CONCLUSIONS = {
    "VERIFIED_ACCEPTABLE": 70, "ACCEPTABLE_WITH_CONCERNS": 12, "VERIFICATION_FAILED": 8,
    "PROOF_RECORDED": 6, "NEEDS_HUMAN_DECISION": 3, "STRUCTURAL_REWORK_RECOMMENDED": 1,
}  # fmt: skip
STATUSES = {"active": "active", "done": "done", "blocked": "blocked", "reopened": "open"}
CHECKS = ("pytest -q", "ruff check .", "mypy", "make docs", "npm test", "cargo test")


def measure_year(options: BenchOptions) -> Iterator[Row]:
    """Measure a cold yearly report over records of every kind that it counts, over that year."""
    zones = ("Europe/Berlin",) if options.quick else ("Europe/Berlin", "UTC", "Asia/Kathmandu")
    seconds, cpu_seconds, megabytes = [], [], []
    with _make_project(options) as root, tempfile.TemporaryDirectory() as folder:
        for number, zone in enumerate(zones):
            out = pathlib.Path(folder, f"year{number}.html")
            words = ("R10", "--year", str(YEAR), "--timezone", zone, "--out", str(out))
            before, start = _measure_cpu(), time.perf_counter()
            memory_mb, errors = measure_process(root, *words)
            seconds.append(time.perf_counter() - start)
            cpu_seconds.append(_measure_cpu() - before)
            megabytes.append(memory_mb)
            if not out.exists():  # MAX_RSS ignores the exit code of the command
                raise RuntimeError("R10 wrote no report: " + errors)
    measured = (
        f"{statistics.median(seconds):.1f} s (most {max(seconds):.1f} s; "
        f"CPU {max(cpu_seconds):.1f} s), {max(megabytes):.0f} MB"
    )
    met = max(seconds) < SECONDS_MOST and max(megabytes) < MEGABYTES_MOST
    promise = f"< {SECONDS_MOST} s, < {MEGABYTES_MOST} MB"
    yield Row(f"cold `R10` over {options.records:,} records", measured, promise, met)


def _measure_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _make_project(options: BenchOptions) -> Iterator[pathlib.Path]:
    """Make the project. With `--keep` it stays there for the next run."""
    with tempfile.TemporaryDirectory(prefix="kaizen_bench_", dir=options.keep) as temporary:
        new = pathlib.Path(temporary)
        old = options.keep / f"{options.records}-year" if options.keep else None
        if not old or not old.exists():
            store = Store(str(new))
            World(options.records).write(store)
            store.close()
            if old:  # move it only when it is complete
                shutil.move(new, old)
                new.mkdir()  # for the end of the temporary folder
        yield old or new


class World:
    """Write the records of a busy project in the order of their times."""

    def __init__(self, records: int):
        self.records = records
        self.rng = random.Random(records)
        self.open: list[tuple[str, int]] = []  # (task, its newest revision)
        self.closed: list[tuple[str, int]] = []
        self.count = 0

    def write(self, store: Store) -> None:
        kinds = self.rng.choices(list(KINDS), list(KINDS.values()), k=self.records)
        while self.count < self.records:
            show_progress(f"{self.count:,} of {self.records:,} records")
            with store.begin_write_transaction() as connection:
                actor, end = self.rng.choice(ACTORS), read_log_end(connection)
                self.tx = RecordWriter(connection, actor, "K5", False, end)
                until = min(self.count + RECORDS_A_COMMIT, self.records)
                while self.count < until:
                    self.tx.at_ms = FIRST_MS + (LAST_MS - FIRST_MS) * self.count // self.records
                    self.tx.at = format_time(self.tx.at_ms)
                    self.add_record(kinds[self.count])
                self.tx.finish()

    def add_record(self, kind: str) -> None:
        rng = self.rng
        if kind == "task":
            self._add_task()
        elif kind in STATUSES:
            self._revise_task(self.closed if kind == "reopened" else self.open, STATUSES[kind])
        elif kind == "span":
            tokens = rng.randrange(50_000)
            self._add(
                "span", trace_id=f"run {self.count // 20}", task_id=self._pick_task(),
                name="review", kind="model", status="ok", started_at=self.tx.at,
                duration_ms=tokens, tokens_in=tokens, tokens_out=tokens // 9,
                cost_usd=tokens * 3e-6,
            )  # fmt: skip
        elif kind == "verification":
            conclusion = rng.choices(list(CONCLUSIONS), list(CONCLUSIONS.values()))[0]
            verdict = {"conclusion": conclusion, "summary": make_text(rng, 12)}
            self._add("verification", task_id=self._pick_task(), scope="project", **verdict)
        elif kind == "proof":
            command, passed = rng.choice(CHECKS), rng.random() < 0.9
            tree = f"{self.count // 300:064x}"
            self._add(
                "proof", task_id=self._pick_task(), title=command, tier="witnessed",
                command=command, argv="[]", outcome="passed" if passed else "failed",
                exit_code=int(not passed), duration_ms=900, stdout_hash=tree, stderr_hash=tree,
                tree_hash=tree, platform="linux",
            )  # fmt: skip
        elif kind in ("gotcha", "learning"):
            more = {"evidence": '["seen"]'} if kind == "gotcha" else {}
            self._add(kind, **self._make_texts(5, 15), scope="project", **more)
        elif kind == "waiver":
            task, reason = self._pick_task(), make_text(rng, 8)
            about = {"gate": "done", "subject_id": task or "none", "task_id": task}
            self._add("waiver", **about, reason=reason, missing="[]")
        else:
            review = self._add("irl", **self._make_texts(4, 9), scope="project")
            probability, summary = rng.random(), make_text(rng, 9)
            guess = {"probability": probability, "deadline": self.tx.at, "summary": summary}
            prediction = self._add("irl_prediction", irl_id=review, **guess)
            if rng.random() < 0.9:
                outcome = "happened" if rng.random() < probability else "did-not-happen"
                values = {"outcome": outcome, "summary": make_text(rng, 9)}
                self._add("irl_outcome", prediction_id=prediction, **values)

    def _add(self, table: str, /, **values: Any) -> str:
        self.count += 1
        return str(self.tx.add(table, values)["id"])

    def _make_texts(self, title_words: int, summary_words: int) -> dict[str, str]:
        texts = {"title": title_words, "summary": summary_words}
        return {name: make_text(self.rng, words) for name, words in texts.items()}

    def _add_task(self) -> None:
        values = {"scope": self.rng.choice(SCOPES), "priority": "normal", "status": "open"}
        self.open.append((self._add("task", **self._make_texts(5, 25), **values), 1))

    def _revise_task(self, tasks: list[tuple[str, int]], status: str) -> None:
        if not tasks:
            self._add_task()
            return
        at = self.rng.randrange(max(len(tasks) - 2_000, 0), len(tasks))
        tasks[at], tasks[-1] = tasks[-1], tasks[at]
        id, rev = tasks.pop()
        note = make_text(self.rng, 8)
        self._add("task_revision", task_id=id, rev=rev + 1, status=status, note=note)
        (self.closed if status == "done" else self.open).append((id, rev + 1))

    def _pick_task(self) -> str | None:
        tasks = self.closed if self.rng.random() < 0.5 else self.open
        return self.rng.choice(tasks[-500:])[0] if tasks else None
