"""Count failures: many writers at once, writers killed by kill -9, single changed bytes."""

import multiprocessing
import pathlib
import random
import struct
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Barrier
from typing import NamedTuple

import verify_ledger
from bench_world import (
    W1,
    BenchOptions,
    Door,
    Row,
    count_records,
    format_ms,
    percentile,
    show_progress,
    temporary_project,
)
from every_kind import record_every_kind

from kaizen_components.errors import KaizenError
from kaizen_components.records.kinds import KINDS
from kaizen_components.records.ledger import anchor
from kaizen_components.records.ledger.verify import Verification
from kaizen_components.store.connection import Connection
from kaizen_components.store.place import Place

PROCESSES, WRITES_EACH = 64, 50
KILLS_A_PROJECT = 10
KILL_WITHIN_S = 0.15
spawning = multiprocessing.get_context("spawn")  # as real processes start: nothing is inherited


def find_problems(door: Door) -> list[str]:
    """Return the problems that K1 --integrity and K8 report."""
    problems = []
    for code, options in (("K1", {"integrity": True}), ("K8", {})):
        try:
            door(code, **options)
        except KaizenError as error:
            problems.append(f"{code}: {error.what}")
    return problems


# A crowd


def measure_crowd(options: BenchOptions) -> Iterator[Row]:
    """Let many processes write at the same moment, each call on a new connection."""
    count = options.pick(PROCESSES, 8)
    expected = count * WRITES_EACH
    with temporary_project(1) as root:
        barrier = spawning.Barrier(count)
        with spawning.Pool(count, _set_barrier, (barrier,)) as pool:
            answers = pool.map(_write_many, [str(root)] * count, chunksize=1)
        door = Door(str(root))
        rows, problems = count_records(door) - 1, find_problems(door)
        door.close()
    calls = [call for answer in answers for call in answer]
    times = [end - start for start, end in calls]
    total_s = max(end for _, end in calls) - min(start for start, _ in calls)
    measured = (
        f"{rows:,} rows, {expected - len(calls)} failed, p50 {format_ms(percentile(times, 50))}, "
        f"p99 {format_ms(percentile(times, 99))}, {total_s:.1f} s in all; "
        f"{', '.join(problems) or 'K1 and K8 clean'}"
    )
    met = rows == len(calls) == expected and not problems
    what = f"{count} processes x {WRITES_EACH} `W1` at once"
    yield Row(what, measured, f"{expected:,} rows, none failed", met)


_barrier: Barrier


def _set_barrier(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def _write_many(root: str) -> list[tuple[float, float]]:
    """Return (start, end) of each write that succeeded."""
    door, times = Door(root), []
    _barrier.wait()
    for _ in range(WRITES_EACH):
        start = time.monotonic()
        try:
            door("W1", **W1)
        except KaizenError:
            continue
        times.append((start, time.monotonic()))
    return times


# kill -9


def measure_kills(options: BenchOptions) -> Iterator[Row]:
    """Kill a writer at a random moment, many times, starting with the first write of a project."""
    kills = options.pick(200, 10)
    rng = random.Random(kills)
    acknowledged = lost = unacknowledged = 0
    problems = []
    for number in range(kills // KILLS_A_PROJECT):
        show_progress(f"{number * KILLS_A_PROJECT} of {kills} kills")
        with temporary_project() as root:
            ids = {id for kill in range(KILLS_A_PROJECT) for id in _kill_writer(root, rng, kill)}
            door = Door(str(root))
            problems += find_problems(door)
            stored = {row[0] for row in door.store.reader().tuples("SELECT id FROM task")}
            door.close()
        acknowledged += len(ids)
        lost += len(ids - stored)
        unacknowledged += len(stored - ids)
    measured = (
        f"{acknowledged:,} acknowledged, {lost} lost, {unacknowledged} more were whole; "
        f"{', '.join(problems[:3]) or 'K1 and K8 clean'}"
    )
    met = acknowledged > kills and not lost and unacknowledged <= kills and not problems
    yield Row(f"kill -9 at {kills} random moments", measured, "none lost, none half-written", met)


def _kill_writer(root: pathlib.Path, rng: random.Random, number: int) -> list[str]:
    """Kill a writer at a random moment; return the ids it reported.

    A writer with an odd number keeps its connection open.
    """
    receiver, sender = spawning.Pipe(duplex=False)
    child = spawning.Process(target=_write_until_killed, args=(str(root), number % 2 == 1, sender))
    child.start()
    sender.close()
    receiver.recv()  # the child is about to write
    time.sleep(rng.uniform(0, KILL_WITHIN_S))
    child.kill()
    ids = []
    try:
        while True:
            ids.append(receiver.recv())
    except EOFError:
        child.join()
    return ids


def _write_until_killed(root: str, keep_open: bool, acknowledge: Pipe) -> None:
    door = Door(root, keep_open=keep_open)
    acknowledge.send("")
    while True:
        acknowledge.send(door("W1", **W1)["id"])


# Flipped bytes


class VerificationWithoutSchema(Verification):
    """K8 without the check of the schema, because this benchmark drops the triggers."""

    def find_schema_problems(self) -> list[str]:
        return []


def measure_flips(options: BenchOptions) -> Iterator[Row]:
    """Change every byte of every value of a small database in turn; both verifiers must see it."""
    with temporary_project() as root:
        place = _make_small_database(root)
        connection = Connection(place.database)
        for pragma in ("ignore_check_constraints = ON", "foreign_keys = OFF", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.rows("PRAGMA journal_mode = MEMORY")
        anchors, _ = anchor.read_anchors(place.anchors)
        paths = pathlib.Path(place.database), pathlib.Path(place.anchors)
        verifiers: dict[str, Callable[[], object]] = {
            "K8": lambda: VerificationWithoutSchema(connection, anchors).run(),
            "verify_ledger.py": lambda: verify_ledger.verify(*paths).findings,
        }
        assert not any(verify() for verify in verifiers.values()), "the database is not clean"
        flips, missed = 0, dict.fromkeys(verifiers, 0)
        for value, content in list(_list_flips(connection))[:: options.pick(1, 50)]:
            flips += 1
            _store_value(connection, value, value.seq, content)
            for name, verify in verifiers.items():
                missed[name] += not verify()
            seq = content if value.column == "seq" else value.seq
            _store_value(connection, value, seq, value.content)
            show_progress(f"{flips:,} bytes flipped")
        connection.close()
    for name, count in missed.items():
        what = f"{flips:,} flipped bytes, found by {name}"
        yield Row(what, f"{flips - count:,}", "all", count == 0)


def _make_small_database(root: pathlib.Path) -> Place:
    """Make a database with a record of every kind, and drop the triggers that protect them."""
    door = Door(str(root))
    record_every_kind(door, root)
    kinds = {row[0] for row in door.store.reader().tuples("SELECT DISTINCT kind FROM log")}
    assert kinds == set(KINDS), f"no record of {set(KINDS) - kinds}"
    door.close()
    connection = Connection(door.store.place.database)
    connection.rows("PRAGMA journal_mode = DELETE")
    for (name,) in connection.tuples("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.close()
    return door.store.place


Content = bytes | int | float


class Value(NamedTuple):
    table: str
    seq: int
    column: str
    content: Content


def _list_flips(connection: Connection) -> Iterator[tuple[Value, Content]]:
    """Yield (value, changed content) for each byte of each value. Integers change bit by bit."""
    rng = random.Random(0)
    for table in ("log", *KINDS):
        for (column,) in connection.tuples(f"SELECT name FROM pragma_table_info('{table}')"):
            stored = f"SELECT seq, typeof({column}), CAST({column} AS BLOB) FROM {table}"
            for seq, kind, raw in connection.tuples(stored):
                flips: list[Content] = []
                if raw is None:
                    continue
                if kind == "integer":
                    bits = max(int(raw).bit_length(), 1)
                    flips += (int(raw) ^ 64 << place for place in range(0, bits, 8))
                elif kind == "real":
                    (number,) = struct.unpack("<q", struct.pack("<d", float(raw)))
                    packed = (struct.pack("<q", number ^ 1 << 8 * place) for place in range(6))
                    flips += struct.unpack("<6d", b"".join(packed))
                else:
                    for place, byte in enumerate(raw):
                        other = bytes([byte ^ rng.randrange(1, 256)])
                        flips.append(raw[:place] + other + raw[place + 1 :])
                content = {"integer": int, "real": float}.get(kind, bytes)(raw)
                yield from ((Value(table, seq, column, content), flip) for flip in flips)


def _store_value(connection: Connection, value: Value, seq: Content, content: Content) -> None:
    new = "?" if isinstance(content, int | float) else "CAST(? AS TEXT)"
    sql = f"UPDATE {value.table} SET {value.column} = {new} WHERE seq = ?"
    connection.execute(sql, (content, seq))
