"""What works, what is missing, what to do: K11. Every check stands alone, so that one failure hides no other."""

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

PATH_BYTES_MAX = 500
FREE_BYTES_LOW = 100 * 1024 * 1024
SQLITE_WRITE_LOCK_BYTE = "120"  # of the -shm file: SQLite's format of it


def doctor(store, *, gates=False):
    """Say what works here, what is missing and what to do; also for a database that cannot be opened.

    Example: kaizen K11
    """
    every = (_python, _engine, _root, _folder, _disk, _lock, _database, _anchors, _sandbox)
    checks = [_made(check, store) for check in every]
    checks += _gates() if gates else []
    failed = [row["check"] for row in checks if row["state"] == "fail"]
    return {"healthy": not failed, "checks": checks, "engine": __version__}


def _made(check, store):
    """One check as a row; one that breaks is a finding too, and hides no other."""
    try:
        name, state, says, *next_step = check(store)
    except Exception as error:
        name, state, says = (
            check.__name__.strip("_"),
            "fail",
            f"the check broke: {type(error).__name__}: {error}"[:300],
        )
        next_step = ["Run it again with KAIZEN_DEBUG=1 and report it."]
    return {
        "check": name,
        "state": state,
        "says": says,
        "next": next_step[0] if next_step else None,
    }


def _gates():
    """Each step of each protocol on its own fixtures: half a minute, so only when it is asked for."""
    from ..pipeline.protocols.prove import prove_all

    by_step: dict[str, list] = {}
    for row in prove_all():
        by_step.setdefault(row["step"], []).append(row)
    return [_gate(step, rows) for step, rows in by_step.items()]


def _gate(step, rows):
    good = sum(row["expected"] == "pass" for row in rows)
    wrong = [row for row in rows if not row["ok"]]
    if not wrong:
        says = f"takes {good} good and refuses {len(rows) - good} bad fixtures"
        return {"check": f"gate {step}", "state": "ok", "says": says, "next": None}
    first = wrong[0]
    says = f"{first['case']}: {first['got']} instead of {first['expected']}. {first['says']}"[:300]
    return {
        "check": f"gate {step}", "state": "fail", "says": says,
        "next": "Install ruff, mypy, pytest and coverage beside Kaizen; if they are there, report it.",
    }  # fmt: skip


def _python(store):
    version = ".".join(map(str, sys.version_info[:3]))
    missing = []
    for package, load in (("libsql", driver_connect), ("click", lambda: __import__("click"))):
        try:
            load()
        except (ImportError, KaizenError):
            missing.append(package)
    if missing:
        says = f"Python {version} lacks {' and '.join(missing)}"
        return "python", "fail", says, explain_missing_package("", "", "").next
    return "python", "ok", f"Python {version} with libsql and click"


def _engine(store):
    engine = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    linked = "linked from another project" if os.path.islink(engine) else "in place"
    if not os.path.isdir(os.path.join(engine, "__pycache__")):
        return (
            "engine",
            "warn",
            f"{__version__}, {linked}, no bytecode",
            "Run `bash setup/setup.sh`: starts get faster.",
        )
    return "engine", "ok", f"{__version__}, {linked}, knows schema {database.SCHEMA_VERSION}"


def _root(store):
    root = store.place.root
    name = os.path.basename(root) or root
    if not os.path.isdir(root):
        return (
            "root",
            "fail",
            f"{name} is not a folder",
            "Set KAIZEN_REPO_ROOT to the project's folder.",
        )
    return "root", "ok", f"the records of {name}"


def _first(store):
    is_there = os.path.isdir(store.place.root)
    return (
        "Run `K1` to create it." if is_there else "Name the project's folder first, as said above."
    )


def _folder(store):
    folder = store.place.folder
    if len(os.fsencode(store.place.database)) > PATH_BYTES_MAX:
        return (
            "folder",
            "fail",
            "the path is too long for SQLite",
            "Move the project to a shorter path.",
        )
    for part in (os.path.dirname(folder), folder):
        if os.path.isdir(part) and not os.access(part, os.X_OK):
            return (
                "folder",
                "fail",
                f"{os.path.basename(part)} may not be looked into",
                "Give this user the right to.",
            )
        if os.path.lexists(part) and not os.path.isdir(part):
            return (
                "folder",
                "fail",
                f"{os.path.basename(part)} is not a folder",
                "Move it away, then run `K1`.",
            )
    if not os.path.isdir(folder):
        above = folder
        while not os.path.isdir(above):
            above = os.path.dirname(above)
        if not os.access(above, os.W_OK):
            return (
                "folder",
                "fail",
                "AI/db is missing and cannot be made",
                "Make the project's folder writable.",
            )
        return "folder", "warn", "AI/db is not there yet", _first(store)
    if not os.access(folder, os.W_OK):
        return (
            "folder",
            "fail",
            "AI/db cannot be written; reading works",
            "Make AI/db writable to record anything.",
        )
    return "folder", "ok", "AI/db can be written"


def _disk(store):
    place = store.place.root
    if not hasattr(os, "statvfs") or not os.path.isdir(place):
        return "disk", "warn", "free space is unknown here"
    disk = os.statvfs(place)
    free = disk.f_bavail * disk.f_frsize
    if free < FREE_BYTES_LOW:
        return (
            "disk",
            "fail",
            f"{free // 1024 // 1024} MB free",
            "Free some space before you write.",
        )
    return "disk", "ok", f"{free / 1024**3:.1f} GB free"


def _lock(store):
    if is_held(store.place.lock):
        return (
            "lock",
            "warn",
            "another process is writing right now",
            "Wait a moment; writers queue by themselves.",
        )
    process = _writer_past_the_gate(os.path.realpath(store.place.database) + "-shm")
    if process:
        says = f"process {process} holds SQLite's own lock on writing"
        return "lock", "warn", says, "If it is not Kaizen: let it end what it writes, or close it."
    return "lock", "ok", "nobody is writing"


def _writer_past_the_gate(shared):
    """Who holds SQLite's lock on writing, as far as the system tells. To ask the lock itself would mean to open and
    close its file, which drops every lock that this process has on it."""
    try:
        found = os.stat(shared)
        with open("/proc/locks", encoding="ascii") as file:
            held = [line.split() for line in file]
    except OSError:  # no such file: nobody has the database open, or this is not Linux
        return None
    file_id = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    for (
        words
    ) in held:  # number, kind, ADVISORY, READ or WRITE, process, file, first byte, last byte
        if words[3:4] == ["WRITE"] and words[5] == file_id and words[6] == SQLITE_WRITE_LOCK_BYTE:
            return words[4]
    return None


def _database(store):
    path = store.place.database
    try:
        os.stat(path)
    except PermissionError:
        return (
            "database",
            "fail",
            "cannot be seen",
            "Make AI/db readable and searchable for this user.",
        )
    except OSError:
        return "database", "warn", "there is none yet", _first(store)
    if not os.path.isfile(path):
        return "database", "fail", "kaizen.db is not a file", "Move it away, then run `K1`."
    if not os.access(path, os.R_OK):
        return "database", "fail", "kaizen.db cannot be read", "Make it readable for this user."
    if os.access(store.place.folder, os.W_OK) and not os.access(path, os.W_OK):
        return (
            "database",
            "fail",
            "kaizen.db cannot be written",
            "Make it writable to record anything.",
        )
    if os.path.getsize(path) == 0:
        return "database", "warn", "kaizen.db is empty", "Run `K1`: it builds the schema in it."
    return _with_connection(store, "database", _opened)


def _with_connection(store, name, look):
    """What `look` says of a short read of the database; it waits half a second at most."""
    try:
        connection = Connection(store.place.database, read_only=True, busy_timeout_s=0.5)
        try:
            return look(connection)
        finally:
            connection.close()
    except KaizenError as error:
        next_step = "Restore a backup from AI/db/backups, or move the file away and run `K1`."
        return (
            name,
            "fail",
            f"{error.what} {error.why}",
            error.next if error.retryable else next_step,
        )


def _opened(connection):
    version = connection.value("PRAGMA user_version")
    if connection.value("PRAGMA application_id") != APPLICATION_ID:
        return "database", "fail", "this is not a Kaizen database", "Move it away, then run `K1`."
    if version > database.SCHEMA_VERSION:
        says = f"schema {version} is newer than this engine's {database.SCHEMA_VERSION}"
        return (
            "database",
            "fail",
            says,
            "Update the engine (`git pull`, then `bash setup/setup.sh`).",
        )
    if version == 0:
        says = "kaizen.db has tables, but says that it has no schema yet"
        return "database", "fail", says, "Put a backup from AI/db/backups in its place."
    if version < database.SCHEMA_VERSION:
        require_listed_version(connection)
        says = f"schema {version} is older than this engine's {database.SCHEMA_VERSION}"
        return "database", "warn", says, "Run `K1`: it makes a backup and migrates."
    facts = summarize_log(connection)
    connection.tuples("SELECT seq, leaf FROM log ORDER BY seq DESC LIMIT 1")
    return (
        "database",
        "ok",
        f"schema {version}, {facts['entries']} log entries, VFS {VFS}",
        "`K8` checks every hash.",
    )


def _anchors(store):
    if not os.path.exists(store.place.anchors):
        return "anchors", "warn", "no checkpoints yet", "The next write makes one."
    try:
        newest = anchor.read_last_anchor(store.place.anchors)
    except OSError as error:
        return (
            "anchors",
            "fail",
            f"checkpoints cannot be read: {error.strerror}",
            "Make AI/db/manifests readable.",
        )
    if newest is None:
        return "anchors", "warn", "the newest checkpoint is unreadable", "`K8` uses the others."
    if not os.path.isfile(store.place.database):
        says = f"the newest checkpoint has {newest[1]} entries, and there is no database"
        return (
            "anchors",
            "fail",
            says,
            "Restore a backup from AI/db/backups; or move the checkpoints away to start anew.",
        )
    return _with_connection(
        store, "anchors", lambda connection: _compared(newest, summarize_log(connection))
    )


def _compared(newest, facts):
    if newest[0] != facts["origin"] or newest[1] > facts["entries"]:
        says = f"the newest checkpoint has {newest[1]} entries, the database {facts['entries']}"
        return "anchors", "fail", says, "Was an older file put in place? `K8` says more."
    return "anchors", "ok", f"the newest checkpoint has {newest[1]} entries"


def _sandbox(store):
    """What the gates of a pipeline run in, found by trying."""
    from ..sandbox import run as sandbox

    level = sandbox.detect_level()
    if level == "L3":
        return "sandbox", "ok", f"L3, {sandbox.describe_level('L3')}"
    says = f"{level}: {sandbox.explain_level('L3') or 'KAIZEN_SANDBOX_MAX holds it down.'}"
    return (
        "sandbox",
        "warn",
        says,
        "Unset KAIZEN_SANDBOX_MAX." if sandbox.level_works("L3") else sandbox.suggest_remedy(),
    )
