"""Proofs: what was witnessed, or what somebody reported."""

import os

from ..ledger.canonical import encode_canonical
from ..ledger.hashing import hash_text
from ..secrets import scan


def store_output(store, text):
    """Store the text of an output below AI/work, without its secrets; what the artifact says about it, or None."""
    if not text:
        return None
    text = scan.redact_secrets(text)
    sha256 = hash_text(text)
    name = f"{sha256[:20]}.txt"
    folder = os.path.join(store.place.work, "proofs")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.{os.getpid()}", path)
    return {
        "path": f"AI/work/proofs/{name}",
        "name": name,
        "kind": "file",
        "sha256": sha256,
        "bytes": len(text.encode()),
    }


def describe_platform():
    """Where a witnessed command ran."""
    import platform

    return f"{platform.system()} {platform.release()} {platform.machine()}"


def with_title(words, command):
    """The words with a title, which is the first line of something if nobody gave one."""
    title = words["title"] or (words["summary"] or command).strip().split("\n")[0]
    return {**words, "title": title if len(title) <= 200 else title[:199] + "…"}


def add_reported_proof(tx, values, command, exit_code, of):
    """What somebody else ran, or says they did."""
    outcome = "unknown" if exit_code is None else "passed" if exit_code == 0 else "failed"
    values = {
        **with_title(values, command),
        "tier": "reported",
        "outcome": outcome,
        "command": command,
    }
    return tx.add("proof", {**values, "exit_code": exit_code}, of=of)


def add_witnessed_proof(tx, values, of, outputs):
    """The proof and its outputs, in one transaction."""
    ids = {}
    for stream, kept in outputs.items():
        if kept:
            row = tx.add(
                "artifact",
                {"task_id": values["task_id"], "title": f"{stream} of a proof", **kept},
                of=of,
            )
            ids[f"{stream}_id"] = row["id"]
    return tx.add(
        "proof",
        {**values, **ids, "tier": "witnessed", "argv": encode_canonical(values["argv"])},
        of=of,
    )
