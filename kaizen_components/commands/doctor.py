"""Report what works, what is missing and what to do: K11. One failing check never hides another."""

from __future__ import annotations

import os
import sys

from .. import __version__
from ..errors import KaizenError, explain_missing_package
from ..records.ledger import anchor
from ..records.ledger.health import summarize_log
from ..store import database
from ..store.connection import APPLICATION_ID, VFS, Connection, driver_connect
from ..store.gate import is_held
from ..store.migrate import require_listed_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..parameters import Row, Store

    Finding = tuple[str, str, str | None]  # state, message, what to do next

PATH_BYTES_MAX = 500
FREE_BYTES_LOW = 100 * 1024 * 1024
SQLITE_WRITE_LOCK_BYTE = "120"  # in the -shm file


def doctor(store: Store, *, gates: bool = False) -> Row:
    """Report what works here, what is missing and what to do, even if the database cannot be
    opened.

    Example: kaizen K11
    """
    checks = []
    for name, check in CHECKS.items():
        try:
            state, message, next_step = check(store)
        except Exception as error:  # a check that crashes is reported as failed
            state, message = (
                "fail",
                f"the check failed with a bug: {type(error).__name__}: {error}"[:300],
            )
            next_step = "Run `K11` again with KAIZEN_DEBUG=1, and report the output."
        checks.append({"check": name, "state": state, "says": message, "next": next_step})
    if gates:  # half a minute
        checks += check_gates()
    is_healthy = all(row["state"] != "fail" for row in checks)
    return {"healthy": is_healthy, "checks": checks, "engine": __version__}


def check_gates() -> list[Row]:
    """Try each step of each protocol on its own good and bad fixtures."""
    from ..pipeline.protocols.prove import prove_all

    rows_by_step: dict[str, list[Row]] = {}
    for row in prove_all():
        rows_by_step.setdefault(row["step"], []).append(row)
    findings = []
    for step, rows in rows_by_step.items():
        good = sum(row["expected"] == "pass" for row in rows)
        state, next_step = "ok", None
        message = f"accepts {good} good fixtures and refuses {len(rows) - good} bad ones"
        wrong = next((row for row in rows if not row["ok"]), None)
        if wrong:
            state = "fail"
            message = (
                f"The fixture {wrong['case']} gave {wrong['got']} instead of {wrong['expected']}."
            )
            message = f"{message} {wrong['says']}"
            next_step = (
                "Install ruff, mypy, pytest and coverage; if they are installed, report this."
            )
        findings.append(
            {"check": f"gate {step}", "state": state, "says": message[:300], "next": next_step}
        )
    return findings


def check_python(store: Store) -> Finding:
    """Check the Python version and the packages that Kaizen needs."""
    version = ".".join(map(str, sys.version_info[:3]))
    missing_packages = []
    for package, load in (("libsql", driver_connect), ("click", lambda: __import__("click"))):
        try:
            load()
        except (ImportError, KaizenError):
            missing_packages.append(package)
    if missing_packages:
        next_step = explain_missing_package("", "", "").next
        return "fail", f"Python {version} lacks {' and '.join(missing_packages)}", next_step
    return "ok", f"Python {version} with libsql and click", None


def check_engine(store: Store) -> Finding:
    """Check where the engine is and whether it has bytecode."""
    engine = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    message = (
        f"{__version__}, {'linked from another project' if os.path.islink(engine) else 'in place'}"
    )
    if not os.path.isdir(os.path.join(engine, "__pycache__")):
        return "warn", f"{message}, no bytecode", "Run `bash setup/setup.sh` for faster starts."
    return "ok", f"{message}, knows schema {database.SCHEMA_VERSION}", None


def check_root(store: Store) -> Finding:
    root = store.place.root
    name = os.path.basename(root) or root
    if not os.path.isdir(root):
        return "fail", f"{name} is not a folder", "Set KAIZEN_REPO_ROOT to the project's folder."
    return "ok", f"the project is {name}", None


def suggest_first_step(store: Store) -> str:
    if os.path.isdir(store.place.root):
        return "Run `K1` to create it."
    return "Set KAIZEN_REPO_ROOT to the project's folder first."


def check_folder(store: Store) -> Finding:
    """Check that AI/db exists, or can be created, and is writable."""
    folder = store.place.folder
    if len(os.fsencode(store.place.database)) > PATH_BYTES_MAX:
        return ("fail", "the path is too long for SQLite", "Move the project to a shorter path.")
    for part in (os.path.dirname(folder), folder):
        name = os.path.basename(part)
        if os.path.isdir(part) and not os.access(part, os.X_OK):
            return "fail", f"permission denied: {name}", f"Make {name} searchable for this user."
        if os.path.lexists(part) and not os.path.isdir(part):
            return "fail", f"{name} is not a folder", "Move it away, then run `K1`."
    if not os.path.isdir(folder):
        above = folder
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        if not os.access(above, os.W_OK):
            next_step = "Make the project's folder writable."
            return "fail", "AI/db is missing and cannot be created", next_step
        return "warn", "AI/db does not exist yet", suggest_first_step(store)
    if not os.access(folder, os.W_OK):
        return (
            "fail",
            "AI/db is read-only; reading works",
            "Make AI/db writable; without that, nothing can be recorded.",
        )
    return "ok", "AI/db is writable", None


def check_disk(store: Store) -> Finding:
    """Check the free space on the disk of the project."""
    root = store.place.root
    if not hasattr(os, "statvfs") or not os.path.isdir(root):
        return "warn", "free space is unknown here", None
    disk = os.statvfs(root)
    free = disk.f_bavail * disk.f_frsize
    if free < FREE_BYTES_LOW:
        return "fail", f"{free // 1024 // 1024} MB free", "Free some space before you write."
    return "ok", f"{free / 1024**3:.1f} GB free", None


def check_lock(store: Store) -> Finding:
    """Report which process is writing, even one that takes SQLite's lock without our gate.

    Opening and closing SQLite's file would drop every lock that this process has on it. So read
    /proc/locks instead, if the system has it.
    """
    if is_held(store.place.lock):
        next_step = "Wait a moment; the next write waits for its turn."
        return "warn", "another process is writing right now", next_step
    try:
        status = os.stat(os.path.realpath(store.place.database) + "-shm")
        with open("/proc/locks", encoding="ascii") as file:
            locks = [line.split() for line in file]
    except OSError:  # the database is not open anywhere, or this is not Linux
        return "ok", "no process is writing", None
    file_id = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    # number, kind, ADVISORY, READ or WRITE, process, file, first byte, last byte
    for words in locks:
        if words[3:4] == ["WRITE"] and words[5] == file_id and words[6] == SQLITE_WRITE_LOCK_BYTE:
            message = f"process {words[4]} holds SQLite's own write lock"
            return "warn", message, "If this is not Kaizen, wait until it ends, or end it."
    return "ok", "no process is writing", None


def check_database(store: Store) -> Finding:
    """Check that the database can be read and written, then its schema."""
    path = store.place.database
    try:
        os.stat(path)
    except PermissionError:
        next_step = "Make AI/db readable and searchable for this user."
        return "fail", "permission denied: cannot see AI/db", next_step
    except OSError:
        return "warn", "there is no database yet", suggest_first_step(store)
    if not os.path.isfile(path):
        return "fail", "kaizen.db is not a file", "Move it away, then run `K1`."
    if not os.access(path, os.R_OK):
        return (
            "fail",
            "permission denied: cannot read kaizen.db",
            "Make kaizen.db readable for this user.",
        )
    if os.access(store.place.folder, os.W_OK) and not os.access(path, os.W_OK):
        return (
            "fail",
            "kaizen.db is read-only",
            "Make kaizen.db writable; without that, nothing can be recorded.",
        )
    if os.path.getsize(path) == 0:
        return "warn", "kaizen.db is empty", "Run `K1`: it creates the schema."
    return read_briefly(store, inspect_schema)


def read_briefly(store: Store, look: Callable[[Connection], Finding]) -> Finding:
    """Return what `look` finds in the database; wait at most half a second for it."""
    try:
        connection = Connection(store.place.database, read_only=True, busy_timeout_s=0.5)
        try:
            return look(connection)
        finally:
            connection.close()
    except KaizenError as error:
        next_step = "Restore a backup from AI/db/backups, or move the file away and run `K1`."
        return "fail", f"{error.what} {error.why}", error.next if error.retryable else next_step


def inspect_schema(connection: Connection) -> Finding:
    """Compare the schema of the database with the schema of this engine."""
    version, newest = connection.value("PRAGMA user_version"), database.SCHEMA_VERSION
    if connection.value("PRAGMA application_id") != APPLICATION_ID:
        return "fail", "this is not a Kaizen database", "Move it away, then run `K1`."
    if version > newest:
        message = f"schema {version} is newer than this engine's {newest}"
        return "fail", message, "Update the engine (`git pull`, then `bash setup/setup.sh`)."
    if version == 0:
        message = "kaizen.db has tables, but its schema version is 0"
        return "fail", message, "Replace the file with a backup from AI/db/backups."
    if version < newest:
        require_listed_version(connection)
        message = f"schema {version} is older than this engine's {newest}"
        return "warn", message, "Run `K1`: it makes a backup and migrates."
    facts = summarize_log(connection)
    connection.tuples("SELECT seq, leaf FROM log ORDER BY seq DESC LIMIT 1")
    message = f"schema {version}, {facts['entries']} log entries, VFS {VFS}"
    return "ok", message, "`K8` checks every hash."


def check_anchors(store: Store) -> Finding:
    """Check that the newest checkpoint belongs to this database."""
    if not os.path.exists(store.place.anchors):
        return "warn", "no checkpoints yet", "The next write makes one."
    try:
        newest = anchor.read_last_anchor(store.place.anchors)
    except OSError as error:
        message = f"cannot read the checkpoints: {error.strerror}"
        return "fail", message, "Make AI/db/manifests readable."
    if newest is None:
        return (
            "warn",
            "the newest checkpoint is unreadable",
            "Run `K8`, which checks the other checkpoints.",
        )
    origin, size = newest[0], newest[1]
    if not os.path.isfile(store.place.database):
        message = f"the newest checkpoint has {size} entries, but there is no database"
        next_step = (
            "Restore a backup from AI/db/backups, or move the checkpoints away to start anew."
        )
        return "fail", message, next_step

    def compare_sizes(connection: Connection) -> Finding:
        facts = summarize_log(connection)
        if origin != facts["origin"] or size > facts["entries"]:
            message = f"the newest checkpoint has {size} entries, the database {facts['entries']}"
            return "fail", message, "Perhaps an older copy replaced the database; `K8` checks that."
        return "ok", f"the newest checkpoint has {size} entries", None

    return read_briefly(store, compare_sizes)


def check_sandbox(store: Store) -> Finding:
    """Try which sandbox the gates of a pipeline get here."""
    from ..sandbox import run as sandbox

    level = sandbox.detect_level()
    if level == "L3":
        return "ok", f"L3, {sandbox.describe_level('L3')}", None
    message = f"{level}: {sandbox.explain_level('L3') or 'KAIZEN_SANDBOX_MAX limits it.'}"
    if sandbox.level_works("L3"):
        return "warn", message, "Unset KAIZEN_SANDBOX_MAX."
    return "warn", message, sandbox.suggest_remedy()


CHECKS = {
    "python": check_python,
    "engine": check_engine,
    "root": check_root,
    "folder": check_folder,
    "disk": check_disk,
    "lock": check_lock,
    "database": check_database,
    "anchors": check_anchors,
    "sandbox": check_sandbox,
}
