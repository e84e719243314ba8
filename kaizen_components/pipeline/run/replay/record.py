"""Record a replay: its report, and a witnessed proof if every verdict is the same."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ....records.ledger.hashing import hash_text
from ....records.quality import proof
from ....records.secrets import scan
from ....records.work.command_line import join_words
from ..results import write_file
from .difference import MISSING
from .integrity import CHANGED
from .replay import FOLDER

if TYPE_CHECKING:
    from ....parameters import Row, Store, WriteLater, Writer


def record_replay(
    write: WriteLater, store: Store, run: Row, report: dict[str, Any], proof_values: dict[str, Any]
) -> dict[str, Any]:
    """Record the report, with a proof if no verdict changed; return the answer of `kaizen P6`."""
    rows = report["steps"]
    verdicts = [row for row in rows if row["replayed"] != CHANGED]
    judged_count = sum(row["same"] is not None for row in verdicts)
    # The name has the hash of the content, so equal reports share a file.
    text = json.dumps(_redact(report), indent=1, ensure_ascii=False) + "\n"
    sha256 = hash_text(text)
    name = f"{run['id']}-{sha256[:12]}.json"
    artifact = {
        "path": f"AI/work/{FOLDER}/{name}",
        **write_file(os.path.join(store.place.work, FOLDER, name), text.encode()),
        "title": f"Replay of {run['id']}",
        "about_id": run["id"],
    }

    def add_records(tx: Writer) -> dict[str, Any]:
        task = tx.find("task", run["task_id"])
        if not report["same"] or not judged_count:
            row = tx.add("artifact", {"task_id": task["id"], **artifact}, of=(task, run))
            return {"artifact_id": row["id"]}
        argv = ["kaizen", "P6", "--id", run["id"]]
        values = {
            "task_id": task["id"], "about_id": run["id"], "title": f"Replay of {run['id']}",
            "summary": f"A replay gave the same {judged_count} verdicts.", "argv": argv,
            "command": join_words(argv), "exit_code": 0, "outcome": "passed", "stdout_hash": sha256,
            "stderr_hash": hash_text(""), "commit_hash": run["base_commit"],
            "platform": proof.describe_platform(), **proof_values,
        }  # fmt: skip
        row = proof.add_witnessed_proof(tx, values, (task, run), {"stdout": artifact})
        return {"artifact_id": row["stdout_id"], "proof_id": row["id"]}

    ids = write(add_records)
    code = choose_exit_code(report)
    return {
        "id": run["id"], "kind": "run", "same": report["same"], "verdicts": judged_count,
        "different": sum(row["same"] is False for row in verdicts),
        "answers_changed": len(rows) - len(verdicts),
        "questions_changed": sum(not row["same"] for row in report["questions"]),
        "steps": rows, "questions": report["questions"], "changed": report["changed"],
        "path": artifact["path"], **ids, **({"exit_code": code} if code else {}),
    }  # fmt: skip


def choose_exit_code(report: dict[str, Any]) -> int:
    """Return 0 if all verdicts are the same, 5 if a tool is missing now, else 1."""
    different_results = [row["replayed"] for row in report["steps"] if row["same"] is False]
    if not different_results:
        return 0
    return 5 if MISSING in different_results and CHANGED not in different_results else 1


def _redact(value: Any) -> Any:
    """Return JSON data with the secrets in its texts redacted."""
    if isinstance(value, dict):
        return {name: _redact(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redact(inner) for inner in value]
    return scan.redact_secrets(value) if isinstance(value, str) else value
