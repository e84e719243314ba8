"""How safe it is: many writers at once, kill -9, single changed bytes. Measured by counting what went wrong."""

import importlib
import multiprocessing
import pathlib
import random
import struct
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Barrier
from typing import Any, NamedTuple

from bench_world import (
    ROOT,
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
VERIFIER = ROOT / "support_scripts" / "verify_ledger.py"
spawning = multiprocessing.get_context("spawn")  # as real processes start: nothing is inherited


def find_problems(door: Door) -> list[str]:
    """What K1 --integrity and K8 object to."""
    found = []
    for code, options in (("K1", {"integrity": True}), ("K8", {})):
        try:
            door(code, **options)
        except KaizenError as error:
            found.append(f"{code}: {error.what}")
    return found


# A crowd


def measure_crowd(asked: BenchOptions) -> Iterator[Row]:
    """Many processes write at the same moment, each call opening and closing the database."""
    count = asked.pick(PROCESSES, 8)
    with temporary_project(1) as root:
        barrier = spawning.Barrier(count)
        with spawning.Pool(count, _take_place, (barrier,)) as pool:
            answers = pool.map(_write_many, [str(root)] * count, chunksize=1)
        door = Door(str(root))
        rows, found = count_records(door) - 1, find_problems(door)
        door.close()
    yield _crowd_row(count, rows, answers, found)


def _crowd_row(
    count: int, rows: int, answers: list[list[tuple[float, float]]], found: list[str]
) -> Row:
    calls = [call for answer in answers for call in answer]
    taken = [end - start for start, end in calls]
    total_s = max(end for _, end in calls) - min(start for start, _ in calls)
    expected = count * WRITES_EACH
    shown = (
        f"{rows:,} rows, {expected - len(calls)} failed, p50 {format_ms(percentile(taken, 50))}, "
        f"p99 {format_ms(percentile(taken, 99))}, {total_s:.1f} s in all; {', '.join(found) or 'K1 and K8 clean'}"
    )
    met = rows == len(calls) == expected and not found
    return Row(
        f"{count} processes x {WRITES_EACH} `W1` at once",
        shown,
        f"{expected:,} rows, none failed",
        met,
    )


_barrier: Barrier


def _take_place(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def _write_many(root: str) -> list[tuple[float, float]]:
    """When each write that succeeded began and ended."""
    door, done = Door(root), []
    _barrier.wait()
    for _ in range(WRITES_EACH):
        start = time.monotonic()
        try:
            door("W1", **W1)
        except KaizenError:
            continue
        done.append((start, time.monotonic()))
    return done


# kill -9


class Killed(NamedTuple):
    acknowledged: int
    lost: int
    unacknowledged: int
    problems: list[str]


def measure_kills(asked: BenchOptions) -> Iterator[Row]:
    """A writer is killed at a random moment, again and again, beginning with the creation of the database."""
    kills = asked.pick(200, 10)
    rng = random.Random(kills)
    each = []
    for number in range(kills // KILLS_A_PROJECT):
        show_progress(f"{number * KILLS_A_PROJECT} of {kills} kills")
        with temporary_project() as root:
            each.append(
                _killed(root, [_acknowledged(root, rng, kill) for kill in range(KILLS_A_PROJECT)])
            )
    acknowledged, lost, unacknowledged = (
        sum(counts) for counts in zip(*(one[:3] for one in each), strict=True)
    )
    found = [text for one in each for text in one.problems]
    shown = (
        f"{acknowledged:,} acknowledged, {lost} lost, {unacknowledged} more were whole; "
        f"{', '.join(found[:3]) or 'K1 and K8 clean'}"
    )
    met = acknowledged > kills and not lost and unacknowledged <= kills and not found
    yield Row(f"kill -9 at {kills} random moments", shown, "none lost, none half-written", met)


def _acknowledged(root: pathlib.Path, rng: random.Random, number: int) -> list[str]:
    """The ids that one writer reported before it was killed; every other one keeps its connection."""
    receiver, sender = spawning.Pipe(duplex=False)
    child = spawning.Process(target=_write_until_killed, args=(str(root), number % 2 == 1, sender))
    child.start()
    sender.close()
    receiver.recv()  # it is about to write
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


def _killed(root: pathlib.Path, reported: list[list[str]]) -> Killed:
    door = Door(str(root))
    found = find_problems(door)
    stored = {row[0] for row in door.store.reader().tuples("SELECT id FROM task")}
    door.close()
    ids = {one for ids in reported for one in ids}
    return Killed(len(ids), len(ids - stored), len(stored - ids), found)


# Flipped bytes


class Value(NamedTuple):
    table: str
    seq: int
    column: str
    stored: bytes | int


def measure_flips(asked: BenchOptions) -> Iterator[Row]:
    """Every byte of every value of a small database is changed in turn; both verifiers must see each."""
    with temporary_project() as root:
        place = _small_database(root)
        connection = Connection(place.database)
        verifiers = _verifiers(connection, place)
        assert not any(verify() for verify in verifiers.values()), (
            "the database must be clean to begin with"
        )
        tried, missed = 0, dict.fromkeys(verifiers, 0)
        for value, changed in list(_changes(connection))[:: asked.pick(1, 50)]:
            tried += 1
            for name in _blind(connection, verifiers, value, changed):
                missed[name] += 1
            show_progress(f"{tried:,} bytes flipped")
        connection.close()
    for name, count in missed.items():
        yield Row(
            f"{tried:,} flipped bytes, found by {name}", f"{tried - count:,}", "all", count == 0
        )
    if len(verifiers) == 1:
        yield Row(
            "flipped bytes, found by verify_ledger.py", "skipped: there is no verify_ledger.py"
        )


def _small_database(root: pathlib.Path) -> Place:
    """A record of every kind, in a file that lets itself be changed."""
    door = Door(str(root))
    record_every_kind(door, root)
    kinds = {row[0] for row in door.store.reader().tuples("SELECT DISTINCT kind FROM log")}
    assert kinds == set(KINDS), f"no record of {set(KINDS) - kinds}"
    door.close()
    _unlock(door.store.place)
    return door.store.place


def _unlock(place: Place) -> None:
    connection = Connection(place.database)
    connection.rows("PRAGMA journal_mode = DELETE")
    for (name,) in connection.tuples("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.close()


def _verifiers(connection: Connection, place: Place) -> dict[str, Callable[[], list[Any]]]:
    for pragma in ("ignore_check_constraints = ON", "foreign_keys = OFF", "synchronous = OFF"):
        connection.execute(f"PRAGMA {pragma}")
    connection.rows("PRAGMA journal_mode = MEMORY")
    anchors, _ = anchor.read_anchors(place.anchors)
    found = {"K8": lambda: Unlocked(connection, anchors).run()}
    if VERIFIER.exists():
        module = importlib.import_module("verify_ledger")
        paths = pathlib.Path(place.database), pathlib.Path(place.anchors)
        found["verify_ledger.py"] = lambda: module.verify(*paths).findings
    return found


class Unlocked(Verification):
    """K8 on a database whose triggers are gone on purpose, which it would report first."""

    def find_schema_problems(self) -> list[str]:
        return []


def _changes(connection: Connection) -> Iterator[tuple[Value, bytes | int | float]]:
    rng = random.Random(0)
    for table in ("log", *KINDS):
        for (column,) in connection.tuples(f"SELECT name FROM pragma_table_info('{table}')"):
            stored = f"SELECT seq, typeof({column}), CAST({column} AS BLOB) FROM {table}"
            for seq, kind, raw in connection.tuples(stored):
                for changed in _changed(kind, raw, rng):
                    stored_value = {"integer": int, "real": float}.get(kind, bytes)(raw)
                    yield Value(table, seq, column, stored_value), changed


def _changed(kind: str, raw: bytes | None, rng: random.Random) -> Iterator[bytes | int | float]:
    """The value with one byte changed, for each of its bytes; in an integer to one that is not taken."""
    if kind == "integer" and raw is not None:
        number = int(raw)
        yield from (number ^ 64 << place for place in range(0, max(number.bit_length(), 1), 8))
    elif kind == "real" and raw is not None:
        (bits,) = struct.unpack("<q", struct.pack("<d", float(raw)))
        yield from struct.unpack(
            "<6d", b"".join(struct.pack("<q", bits ^ 1 << 8 * place) for place in range(6))
        )
    elif raw is not None:
        for place in range(len(raw)):
            yield raw[:place] + bytes([raw[place] ^ rng.randrange(1, 256)]) + raw[place + 1 :]


def _blind(
    connection: Connection, verifiers: dict[str, Any], value: Value, changed: bytes | int | float
) -> list[str]:
    """Which verifiers do not see this change; it is undone afterwards."""
    _put(connection, value, value.seq, changed)
    blind = [name for name, verify in verifiers.items() if not verify()]
    _put(connection, value, changed if value.column == "seq" else value.seq, value.stored)
    return blind


def _put(
    connection: Connection, value: Value, seq: bytes | int | float, content: bytes | int | float
) -> None:
    new = "?" if isinstance(content, int | float) else "CAST(? AS TEXT)"
    connection.execute(
        f"UPDATE {value.table} SET {value.column} = {new} WHERE seq = ?", (content, seq)
    )
