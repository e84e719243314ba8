"""Proofs: Kaizen ran the command itself (witnessed), or an actor reports it (reported)."""

from __future__ import annotations

import os

from ...limits import TITLE_CHARS_MAX
from ..ledger.canonical import encode_canonical
from ..ledger.hashing import hash_text
from ..secrets import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...parameters import Row, Store, Writer


def store_output(store: Store, text: str) -> Row | None:
    """Store an output without secrets below AI/work; return the columns of its artifact."""
    if not text:
        return None
    text = scan.redact_secrets(text)
    sha256 = hash_text(text)
    name = f"{sha256[:20]}.txt"
    path = os.path.join(store.place.work, "proofs", name)
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.{os.getpid()}", path)
    path = f"AI/work/proofs/{name}"
    size = len(text.encode())
    return {"path": path, "name": name, "kind": "file", "sha256": sha256, "bytes": size}


def describe_platform() -> str:
    import platform

    return f"{platform.system()} {platform.release()} {platform.machine()}"


def add_title(words: Row, command: str | None) -> Row:
    """Add a title to the texts: the given one, or the first line of the summary or command."""
    title = words["title"] or (words["summary"] or command or "").strip().split("\n")[0]
    if len(title) > TITLE_CHARS_MAX:
        title = title[: TITLE_CHARS_MAX - 1] + "…"
    return {**words, "title": title}


def add_reported_proof(
    tx: Writer, values: Row, command: str | None, exit_code: int | None, of: Iterable[Row]
) -> Row:
    """Record a proof of a command that Kaizen did not run itself."""
    outcome = "unknown" if exit_code is None else "passed" if exit_code == 0 else "failed"
    values = {**add_title(values, command), "command": command, "exit_code": exit_code}
    return tx.add("proof", {**values, "tier": "reported", "outcome": outcome}, of=of)


def add_witnessed_proof(
    tx: Writer, values: Row, of: Iterable[Row], outputs: dict[str, Row | None]
) -> Row:
    """Record a proof and its outputs."""
    ids = {}
    for stream, artifact in outputs.items():
        if artifact:
            title = f"{stream} of a proof"
            row = tx.add("artifact", {"task_id": values["task_id"], "title": title, **artifact}, of)
            ids[f"{stream}_id"] = row["id"]
    argv = encode_canonical(values["argv"])
    return tx.add("proof", {**values, **ids, "tier": "witnessed", "argv": argv}, of=of)
