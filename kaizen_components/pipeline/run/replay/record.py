"""What stays of a replay: its report as a file and an artifact; a witnessed proof too, if every verdict is the same."""

import json
import os
from typing import Any

from ....records.ledger.hashing import hash_text
from ....records.quality import proof
from ....records.secrets import scan
from ....records.work.command_line import join_words
from .difference import MISSING
from .integrity import CHANGED
from .replay import FOLDER


def record_replay(
    write, store, run: dict[str, Any], report: dict[str, Any], seen: dict[str, Any]
) -> dict[str, Any]:
    """What P6 says, once it is on record."""
    kept = {
        **_write_report(store, run, report),
        "title": f"Replay of {run['id']}",
        "about_id": run["id"],
    }
    ids = write(lambda tx: _recorded(tx, run, report, seen, kept))
    code = exit_code(report)
    rows = report["steps"]
    return {
        "id": run["id"], "kind": "run", "same": report["same"], "verdicts": _count_verdicts(report),
        "different": sum(row["same"] is False and row["replayed"] != CHANGED for row in rows),
        "answers_changed": _answers_changed(report),
        "questions_changed": sum(not row["same"] for row in report["questions"]),
        "steps": rows, "questions": report["questions"], "changed": report["changed"], "path": kept["path"], **ids,
        **({"exit_code": code} if code else {}),
    }  # fmt: skip


def _count_verdicts(report):
    return sum(row["same"] is not None and row["replayed"] != CHANGED for row in report["steps"])


def _answers_changed(report):
    return sum(row["replayed"] == CHANGED for row in report["steps"])


def exit_code(report: dict[str, Any]) -> int:
    """0 the same; 5 if it cannot be told, because something that was there then is missing now; else 1."""
    different = [row for row in report["steps"] if row["same"] is False]
    if _answers_changed(report):
        return 1
    return 0 if not different else 5 if any(row["replayed"] == MISSING for row in different) else 1


def _write_report(store, run, report):
    """The report as a file that is named by its content: the same replay twice is one file."""
    text = json.dumps(_redact(report), indent=1, ensure_ascii=False) + "\n"
    sha256 = hash_text(text)
    name = f"{run['id']}-{sha256[:12]}.json"
    path = os.path.join(store.place.work, FOLDER, name)
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.{os.getpid()}", path)
    size = len(text.encode())
    return {
        "path": f"AI/work/{FOLDER}/{name}",
        "name": name,
        "kind": "file",
        "sha256": sha256,
        "bytes": size,
    }


def _redact(value):
    if isinstance(value, dict):
        return {name: _redact(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_redact(one) for one in value]
    return scan.redact_secrets(value) if isinstance(value, str) else value


def _recorded(tx, run, report, seen, kept):
    task = tx.find("task", run["task_id"])
    if not report["same"] or not _count_verdicts(report):
        return {
            "artifact_id": tx.add("artifact", {"task_id": task["id"], **kept}, of=(task, run))["id"]
        }
    argv = ["kaizen", "P6", "--id", run["id"]]
    values = {
        "task_id": task["id"], "about_id": run["id"], "title": f"Replay of {run['id']}",
        "summary": f"Judged again, {_count_verdicts(report)} verdicts are as recorded.", "argv": argv,
        "command": join_words(argv), "exit_code": 0, "outcome": "passed", "stdout_hash": kept["sha256"],
        "stderr_hash": hash_text(""), "commit_hash": run["base_commit"], "platform": proof.describe_platform(), **seen,
    }  # fmt: skip
    row = proof.add_witnessed_proof(tx, values, (task, run), {"stdout": kept})
    return {"artifact_id": row["stdout_id"], "proof_id": row["id"]}
