"""Manifests describe a database file, so that a copy can be compared later."""

import json
import os
import subprocess
import sys
from typing import Any

from ... import __version__
from ...errors import Conflict, Unavailable
from ...store.connection import Connection
from .. import ids
from ..kinds import KINDS
from . import anchor, health
from .hashing import hash_text


def describe_database(connection: Connection, path: str, name: str = "") -> dict[str, Any]:
    """Return row counts, hashes, log size and root of the file at `path`, under the name `name`."""
    facts = health.summarize_log(connection)
    schema = connection.tuples(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"
    )
    return {
        "engine": __version__,
        **facts,
        "checkpoint": anchor.format_checkpoint(
            facts["origin"], facts["entries"], facts["root"]
        ).strip(),
        "schema_hash": hash_text("\n".join(row[0] for row in schema)),
        "rows": {
            kind: connection.value(f"SELECT count(*) FROM {kind}") for kind in ("log", *KINDS)
        },
        "file": {
            "name": name or os.path.basename(path),
            "bytes": os.path.getsize(path),
            "sha256": hash_file(path),
        },
        "at": ids.format_time(ids.now_ms()),
    }


HASH_SCRIPT = """
import hashlib, sys
sys.stdout.write(hashlib.file_digest(open(sys.argv[1], "rb"), "sha256").hexdigest())
"""


def hash_file(path: str) -> str:
    """Hash a database file in another process.

    On POSIX, closing the file in this process would drop every lock that SQLite holds on it, and
    the next writer would remove the WAL that our readers need.
    """
    command = [sys.executable, "-I", "-c", HASH_SCRIPT, path]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def save_manifest(path: str, facts: dict[str, Any]) -> None:
    """Write the manifest; never overwrite a file."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "x", encoding="utf-8") as file:
            try:
                json.dump(facts, file, indent=2, ensure_ascii=False)
                file.write("\n")
                file.flush()
            except BaseException:
                os.unlink(path)  # a partial manifest would make the next try fail
                raise
    except FileExistsError:
        raise Conflict(
            "file_exists",
            f"{os.path.basename(path)} already exists.",
            "An existing file is never overwritten.",
            "Choose another --out.",
        ) from None
    except OSError as error:
        raise Unavailable(
            "cannot_write",
            f"{os.path.basename(path)} cannot be written.",
            str(error.strerror),
            "Choose another --out.",
        ) from None


def make_dated_path(folder: str, stem: str, ending: str) -> str:
    """Return a new file name: stem-20261116T031555123Z-0f1e2d3c4b.ending."""
    name = ids.make_id(stem, ids.format_time(ids.now_ms()), ids.random_number()).replace("_", "-")
    return os.path.join(folder, f"{name}.{ending}")
