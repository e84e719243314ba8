"""The stage of the demo: it runs commands with an invented clock, random numbers and machine.

Every run gives the same bytes on every machine: while the stage is open, it replaces everything
that differs between runs, such as time, random numbers, processes, working tree and platform.
"""

import hashlib
import heapq
import pathlib
import platform
import random
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kaizen_components.call import Door  # noqa: E402  (the path must be set first)
from kaizen_components.records import ids  # noqa: E402
from kaizen_components.records.files import working_tree  # noqa: E402
from kaizen_components.records.work import lease  # noqa: E402
from kaizen_components.sandbox import process as runner  # noqa: E402
from kaizen_components.store import migrate  # noqa: E402

SEED = 20261005
ORIGIN = "kaizen.local/demo"
RANDOM_ORIGIN = "'kaizen.local/' || lower(hex(randomblob(8)))"  # of migration 0001
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
DAY_MINUTES = 9 * 60  # a working day, from 08:30 to 17:30 UTC
START_MS = 1_791_189_000_000  # Monday 2026-10-05 08:30 UTC
END_MS = START_MS + 42 * DAY_MS + 30 * MINUTE_MS  # Monday 2026-11-16 09:00 UTC
Life = Iterator[float]  # one course of events; yields the minutes of work until its next step
PLATFORM = {"system": "Linux", "release": "6.8.0", "machine": "x86_64"}


class Stage:
    """`with Stage(root) as stage:` then `stage.call("builder", "W1", title=…)`."""

    start_ms, end_ms = START_MS, END_MS

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.now_ms = START_MS
        self.dice = random.Random(SEED)
        self._ids = random.Random(SEED + 1)
        self.tree = "empty"  # stands for the content of the working tree; the next proof hashes it
        self.outcome = (0, "", 0)  # exit code, output and duration of the next command that is run
        self._before: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> "Stage":
        for place, name, stand_in in self._stand_ins():
            self._before.append((place, name, getattr(place, name)))
            setattr(place, name, stand_in)
        self.door = Door(str(self.root), keep_open=True)
        with self.door.store.gate:  # skip fsync: after a power cut, make the demo again
            self.door.store.open_writer().execute("PRAGMA synchronous = OFF")
        return self

    def __exit__(self, *exc: object) -> None:
        self.door.close()
        for place, name, before in reversed(self._before):
            setattr(place, name, before)

    def _stand_ins(self) -> list[tuple[Any, str, Any]]:
        clock = SimpleNamespace(
            strftime=time.strftime, gmtime=lambda: time.gmtime(self.now_ms // 1000)
        )
        statements, pin = migrate.split_statements, (RANDOM_ORIGIN, f"'{ORIGIN}'")
        return [
            (ids, "now_ms", lambda: self.now_ms),
            (ids, "random_number", lambda: self._ids.getrandbits(40)),
            (lease, "read_host_session", lambda: None),
            (migrate, "time", clock),
            (migrate, "split_statements", lambda text: [
                statement.replace(*pin) for statement in statements(text)
            ]),
            (runner, "run_process", lambda argv, cwd, timeout_s: self._make_result()),
            (working_tree, "read_working_tree", lambda root, cache=None: self._make_tree()),
            *((platform, name, lambda value=value: value) for name, value in PLATFORM.items()),
        ]  # fmt: skip

    def _make_tree(self) -> working_tree.WorkingTree:
        sha256 = hashlib.sha256(self.tree.encode()).hexdigest()
        return working_tree.WorkingTree(sha256, sha256[:40], 64)

    def _make_result(self) -> runner.ProcessResult:
        exit_code, output, duration_ms = self.outcome
        stdout = runner.Stream()
        stdout.take(output.encode())
        return runner.ProcessResult(exit_code, False, duration_ms, stdout, runner.Stream())

    def call(self, actor: str, code: str, **options: Any) -> dict[str, Any]:
        """Run a command, a few seconds after the previous one."""
        self.now_ms += self.dice.randrange(900, 9_000)
        return self.door(code, actor=actor, **options)

    def witness(
        self, actor: str, command: str, exit_code: int, output: str, **options: Any
    ) -> dict[str, Any]:
        """Run Q1 --run, as if the command had ended with this exit code and output."""
        duration_ms = self.dice.randrange(9_000, 95_000)
        self.outcome = (exit_code, output, duration_ms)
        self.now_ms += duration_ms
        return self.call(actor, "Q1", run=command.split(), **options)

    def moment(self, at_ms: int) -> str:
        return ids.format_time(at_ms)

    def play(self, *lives: Life) -> None:
        """Run the steps of all lives in the order of time, until the demo ends."""
        queue = [(START_MS, number, life) for number, life in enumerate(lives)]
        while queue and queue[0][0] < END_MS:
            at_ms, number, life = heapq.heappop(queue)
            self.now_ms = max(self.now_ms, at_ms)
            for minutes in life:
                heapq.heappush(queue, (add_work_minutes(self.now_ms, minutes), number, life))
                break
        self.now_ms = END_MS


def add_work_minutes(now_ms: int, minutes: float) -> int:
    """Return the moment after so many minutes of work. Nights and weekends are free."""
    past_days, rest_ms = divmod(now_ms - START_MS, DAY_MS)
    weeks, weekday = divmod(past_days, 7)
    worked: float = (weeks + 1) * 5 * DAY_MINUTES  # at the weekend
    if weekday < 5:
        worked = (weeks * 5 + weekday) * DAY_MINUTES + min(rest_ms / MINUTE_MS, DAY_MINUTES)
    days, rest = divmod(worked + minutes, DAY_MINUTES)
    weeks, weekday = divmod(int(days), 5)
    return START_MS + (weeks * 7 + weekday) * DAY_MS + round(rest * MINUTE_MS)
