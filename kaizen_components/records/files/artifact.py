"""Artifacts: what a file or a folder was at one moment, by its hash, and whether it still is."""

import os

from ...errors import Busy, Integrity, NotFound, Refused, Unavailable, Usage
from ..kinds import SEARCHABLE
from ..ledger.transaction import make_receipt
from . import files

COLUMNS = (
    "id, at, kind, path, CASE WHEN path IS NULL THEN name END AS name, sha256, actor, test, title"
)
HISTORY = "SELECT id, at, actor, bytes, sha256 FROM artifact WHERE path = ? AND id <> ? ORDER BY seq DESC LIMIT 50"
PROOFS = """
SELECT id, at, 'stdout' AS stream, outcome, command FROM proof WHERE stdout_id = ?
UNION ALL
SELECT id, at, 'stderr', outcome, command FROM proof WHERE stderr_id = ?"""
NEWER = "SELECT id FROM artifact WHERE path = ? AND seq > ? ORDER BY seq DESC LIMIT 1"
# A test record never stands for a real one.
NEWEST = """
SELECT id, path, files, sha256 FROM artifact a
WHERE path IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM artifact n WHERE n.path = a.path AND n.seq > a.seq AND n.test = a.test)
ORDER BY path, seq"""
COUNTS = "SELECT count(path) AS inside, count(*) - count(path) AS external FROM artifact"

STATES = ("ok", "changed", "missing", "unreadable")


def measure_artifact(place, path, allow_external):
    """What stands at a path now, as a record has it; of a place outside the project, its name and hash only."""
    find = files.find_project_path if allow_external else files.require_project_path
    relative = find(place.root, path)
    there = os.path.join(place.root, path) if relative is None else relative
    sha256, size, count = files.measure_path(place, there)
    kind = "file" if count is None else "folder"
    return {
        "path": relative, "name": files.get_base_name(there),
        "kind": "external" if relative is None else kind, "sha256": sha256, "bytes": size, "files": count,
    }  # fmt: skip


def add_artifact(tx, facts, title, summary, task_id, about):
    task = tx.find("task", task_id) if task_id else None
    _, subject = tx.find_any(SEARCHABLE, about) if about else (None, None)
    values = {
        "task_id": task and task["id"], "about_id": subject and subject["id"], "title": title, "summary": summary,
        **facts,
    }  # fmt: skip
    row = tx.add("artifact", values, of=[record for record in (task, subject) if record])
    shown = {
        name: facts[name]
        for name in ("path", "name", "sha256", "bytes", "files")
        if facts[name] is not None
    }
    return make_receipt("artifact", row, **shown)


def find_related(db, record):
    """What an artifact belongs to, what else was recorded of its path, and the proofs whose output it is."""
    found = {}
    if record["task_id"]:
        task = db.find("task", record["task_id"])
        found["task"] = {"id": task["id"], "title": task["title"], "state": task["status"]}
    if record["about_id"]:
        kind, subject = db.find_any(SEARCHABLE, record["about_id"])
        found["about"] = {"id": subject["id"], "kind": kind, "title": subject.get("title")}
    return {
        **found,
        "same_path": db.rows(HISTORY, (record["path"], record["id"])),
        "proofs": db.rows(PROOFS, (record["id"], record["id"])),
    }


def build_filters(db, place, task_id, path, actor, since, until):
    """Conditions for a list. A path stands for itself and for all that is below it; its range is what the index has."""
    chosen = {
        "task_id = ?": task_id and db.resolve("task", task_id), "actor = ?": actor, "at >= ?": since, "at < ?": until,
    }  # fmt: skip
    wanted = path and (files.find_project_path(place.root, path) or files.use_forward_slashes(path))
    if wanted == ".":
        chosen["path >= ?"] = ""
    elif wanted:
        chosen |= {
            "path >= ?": wanted,
            "path < ?": wanted + "0",
            "instr(path || '/', ?) = 1": wanted + "/",
        }
    return chosen


def verify_artifact(db, place, ref, path):
    """One artifact against what is there now."""
    record = db.find("artifact", ref)
    _require_place(record, path)
    db.let_go()
    found = compare_artifact(place, record, path)
    if found["state"] != "ok":
        newer = db.value(NEWER, (record["path"], record["seq"])) if record["path"] else None
        raise _mismatch_error(found, newer)
    shown = {
        name: record[name]
        for name in ("path", "name", "sha256", "bytes", "files")
        if record[name] is not None
    }
    return {"id": record["id"], "kind": "artifact", "state": "ok", **shown}


def _require_place(record, path):
    if record["kind"] == "external" and path is None:
        raise Usage(
            "no_place",
            f"Nobody knows where {record['name']!r} is.",
            "Of a file outside the project only the name and the hash are kept.",
            "Say with --path where it is now.",
        )
    if record["kind"] != "external" and path is not None:
        raise Usage(
            "place_is_known",
            f"{record['id']} is of {record['path']}, inside the project.",
            "--path is for artifacts from outside.",
            "Leave --path out; `A2` hashes any other file.",
        )


def compare_artifact(place, record, path=None):
    """A finding: how the artifact stands to what is there now; hashes are short, as people compare them."""
    shown = record["path"] or record["name"]
    finding = {
        "state": "ok",
        "path": shown,
        "expected": record["sha256"][:12],
        "found": None,
        "id": record["id"],
    }
    if files.find_project_path(place.root, path or shown) is None and path is None:
        return {**finding, "state": "changed", "found": "a link that leads out of the project"}
    try:
        sha256, _, count = files.measure_path(place, path or shown)
    except NotFound:
        return {**finding, "state": "missing"}
    except Refused as error:
        return {**finding, "state": "changed", "found": "a " + error.code.replace("_", " ")}
    same = sha256 == record["sha256"] and (count is None) == (record["files"] is None)
    return {**finding, "state": "ok" if same else "changed", "found": sha256[:12]}


def _mismatch_error(found, newer):
    missing = found["state"] == "missing"
    error = Integrity(
        "artifact_missing" if missing else "artifact_changed",
        f"{found['path']} is not there any more."
        if missing
        else f"{found['path']} is not what was recorded.",
        f"Expected {found['expected']}…, found {_short(found['found'])}."
        + (f" A newer record of this path is {newer}." if newer else ""),
        f"Bring it back as it was, or record what it is now with `A1`; `A3 --id {found['id']}` shows the record.",
    )
    error.findings = [found]
    return error


def _short(found):
    return "nothing" if found is None else found if " " in found else found + "…"


def verify_newest(db, place, step):
    """The newest artifact of every path, all of them whatever is found; `step` is told how far it is."""
    rows, counts = db.rows(NEWEST), db.one(COUNTS)
    db.let_go()
    findings, states = [], dict.fromkeys(STATES, 0)
    for done, row in enumerate(rows):
        step(done, len(rows))
        try:
            found = compare_artifact(place, row)
        except (Unavailable, Busy) as error:
            found = {
                "state": "unreadable",
                "path": row["path"],
                "found": error.what,
                "id": row["id"],
            }
        states[found["state"]] += 1
        findings += [found] if found["state"] != "ok" else []
    answer = {
        "checked": len(rows), **states, "external": counts["external"], "superseded": counts["inside"] - len(rows),
    }  # fmt: skip
    if findings:
        raise _verification_error(findings, answer)
    return answer


def _verification_error(findings, answer):
    kind = Integrity if answer["changed"] + answer["missing"] else Unavailable
    first = findings[0]
    error = kind(
        "artifacts_differ" if kind is Integrity else "artifacts_unreadable",
        f"{len(findings)} of {answer['checked']} artifacts are not verified; the first is {first['path']!r}, "
        f"{first['state']}.",
        ", ".join(f"{number} {name}" for name, number in answer.items() if name != "checked") + ".",
        "`A3 --id ID` shows a record; where a change is meant, record it with `A1 --path PATH`.",
    )
    error.findings = findings
    return error
