"""Artifacts: the hash of a file or folder at one moment, and whether it is still the same."""

from __future__ import annotations

import os

from ...errors import Busy, Integrity, NotFound, Refused, Unavailable, Usage
from ..kinds import SEARCHABLE
from ..ledger.transaction import make_receipt
from . import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...parameters import Place, Reader, Row, Writer

COLUMNS = (
    "id, at, kind, path, CASE WHEN path IS NULL THEN name END AS name, sha256, actor, test, title"
)
HISTORY = """
SELECT id, at, actor, bytes, sha256 FROM artifact WHERE path = ? AND id <> ?
ORDER BY seq DESC LIMIT 50"""
PROOFS = """
SELECT id, at, 'stdout' AS stream, outcome, command FROM proof WHERE stdout_id = ?
UNION ALL
SELECT id, at, 'stderr', outcome, command FROM proof WHERE stderr_id = ?"""
NEWER = "SELECT id FROM artifact WHERE path = ? AND seq > ? ORDER BY seq DESC LIMIT 1"
# A test record never replaces a real one.
NEWEST = """
SELECT id, path, files, sha256 FROM artifact a
WHERE path IS NOT NULL
  AND NOT EXISTS (
      SELECT 1 FROM artifact n WHERE n.path = a.path AND n.seq > a.seq AND n.test = a.test)
ORDER BY path, seq"""
COUNTS = "SELECT count(path) AS inside, count(*) - count(path) AS external FROM artifact"

STATES = ("ok", "changed", "missing", "unreadable")


def measure_artifact(place: Place, path: str, allow_external: bool) -> Row:
    """Return the columns of an artifact. Of a path outside the project, record only the name."""
    find = files.find_project_path if allow_external else files.require_project_path
    relative = find(place.root, path)
    target = os.path.join(place.root, path) if relative is None else relative
    sha256, size, count = files.measure_path(place, target)
    kind = "external" if relative is None else "file" if count is None else "folder"
    name = files.get_base_name(target)
    return {
        "path": relative, "name": name, "kind": kind, "sha256": sha256, "bytes": size,
        "files": count,
    }  # fmt: skip


def add_artifact(
    tx: Writer,
    facts: Row,
    title: str | None,
    summary: str | None,
    task_id: str | None,
    about: str | None,
) -> Row:
    """Record an artifact, with its task and the record that it is about."""
    task = tx.find("task", task_id) if task_id else None
    _, subject = tx.find_any(SEARCHABLE, about) if about else (None, None)
    values = {
        "task_id": task and task["id"], "about_id": subject and subject["id"], "title": title,
        "summary": summary, **facts,
    }  # fmt: skip
    row = tx.add("artifact", values, of=[record for record in (task, subject) if record])
    return make_receipt("artifact", row, **_select_facts(facts))


def _select_facts(record: Row) -> Row:
    names = ("path", "name", "sha256", "bytes", "files")
    return {name: record[name] for name in names if record[name] is not None}


def find_related(db: Reader, record: Row) -> Row:
    """Return the task, the subject, other artifacts of the path, and proofs with this output."""
    related: Row = {}
    if record["task_id"]:
        task = db.find("task", record["task_id"])
        related["task"] = {"id": task["id"], "title": task["title"], "state": task["status"]}
    if record["about_id"]:
        kind, subject = db.find_any(SEARCHABLE, record["about_id"])
        related["about"] = {"id": subject["id"], "kind": kind, "title": subject.get("title")}
    related["same_path"] = db.rows(HISTORY, (record["path"], record["id"]))
    related["proofs"] = db.rows(PROOFS, (record["id"], record["id"]))
    return related


def build_filters(
    db: Reader,
    place: Place,
    task_id: str | None,
    path: str | None,
    actor: str | None,
    since: str | None,
    until: str | None,
) -> Row:
    """Return the conditions of a list. `path` also matches everything below it."""
    filters: Row = {
        "task_id = ?": task_id and db.resolve("task", task_id), "actor = ?": actor,
        "at >= ?": since, "at < ?": until,
    }  # fmt: skip
    relative_path = path and (
        files.find_project_path(place.root, path) or files.use_forward_slashes(path)
    )
    if relative_path == ".":
        filters["path >= ?"] = ""
    elif relative_path:  # the range lets SQLite use the index: "0" follows "/"
        filters["path >= ?"] = relative_path
        filters["path < ?"] = relative_path + "0"
        filters["instr(path || '/', ?) = 1"] = relative_path + "/"
    return filters


def verify_artifact(db: Reader, place: Place, ref: str, path: str | None) -> Row:
    """Compare one artifact with its file now; raise Integrity if they differ."""
    record = db.find("artifact", ref)
    if record["kind"] == "external" and path is None:
        raise Usage(
            "no_place",
            f"The path of {record['name']!r} is unknown.",
            "Only the name and the hash of a file outside the project are recorded.",
            "Give the path with --path.",
        )
    if record["kind"] != "external" and path is not None:
        raise Usage(
            "place_is_known",
            f"The path of {record['id']} is already recorded: {record['path']}.",
            "--path is only for artifacts outside the project.",
            "Omit --path; `A2` hashes any other file.",
        )
    db.release_snapshot()
    finding = compare_artifact(place, record, path)
    if finding["state"] == "ok":
        return {"id": record["id"], "kind": "artifact", "state": "ok", **_select_facts(record)}
    newer = db.value(NEWER, (record["path"], record["seq"])) if record["path"] else None
    is_missing = finding["state"] == "missing"
    found_text = finding["found"]
    actual = (
        "nothing" if found_text is None else found_text if " " in found_text else found_text + "…"
    )
    why = f"Expected {finding['expected']}…, found {actual}."
    error = Integrity(
        "artifact_missing" if is_missing else "artifact_changed",
        f"{finding['path']} {'is gone' if is_missing else 'is not what was recorded'}.",
        why + (f" A newer record of this path is {newer}." if newer else ""),
        "Restore it, or record what it is now with `A1`. "
        f"`A3 --id {finding['id']}` shows the record.",
    )
    error.findings = [finding]
    raise error


def compare_artifact(place: Place, record: Row, path: str | None = None) -> Row:
    """Return the state of an artifact's file now, with short hashes for people to compare."""
    shown_path = record["path"] or record["name"]
    expected = record["sha256"][:12]
    finding = {
        "state": "ok",
        "path": shown_path,
        "expected": expected,
        "found": None,
        "id": record["id"],
    }
    if files.find_project_path(place.root, path or shown_path) is None and path is None:
        return {**finding, "state": "changed", "found": "a link that leads out of the project"}
    try:
        sha256, _, count = files.measure_path(place, path or shown_path)
    except NotFound:
        return {**finding, "state": "missing"}
    except Refused as error:
        return {**finding, "state": "changed", "found": "a " + error.code.replace("_", " ")}
    is_same = sha256 == record["sha256"] and (count is None) == (record["files"] is None)
    return {**finding, "state": "ok" if is_same else "changed", "found": sha256[:12]}


def verify_newest(db: Reader, place: Place, report_progress: Callable[[int, int], object]) -> Row:
    """Verify the newest artifact of every path; continue after one that differs."""
    rows, counts = db.rows(NEWEST), db.one(COUNTS) or {}
    db.release_snapshot()
    findings, states = [], dict.fromkeys(STATES, 0)
    for number, row in enumerate(rows):
        report_progress(number, len(rows))
        try:
            finding = compare_artifact(place, row)
        except (Unavailable, Busy) as error:
            finding = {
                "state": "unreadable", "path": row["path"], "found": error.what, "id": row["id"],
            }  # fmt: skip
        states[finding["state"]] += 1
        if finding["state"] != "ok":
            findings.append(finding)
    superseded = counts["inside"] - len(rows)
    answer = {
        "checked": len(rows),
        **states,
        "external": counts["external"],
        "superseded": superseded,
    }
    if not findings:
        return answer
    differs = states["changed"] + states["missing"] > 0
    first = findings[0]
    failure = (Integrity if differs else Unavailable)(
        "artifacts_differ" if differs else "artifacts_unreadable",
        f"{len(findings)} of {len(rows)} artifacts are not verified; "
        f"the first is {first['path']!r}, "
        f"{first['state']}.",
        ", ".join(f"{number} {name}" for name, number in answer.items() if name != "checked") + ".",
        "`A3 --id ID` shows a record; if the change is intended, record it with `A1 --path PATH`.",
    )
    failure.findings = findings
    raise failure
