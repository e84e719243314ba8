"""The improvement lab: the case set of a contract, and proposals for a better result on it."""

from __future__ import annotations

import os

from ...errors import NotFound, Refused, Unavailable, Usage
from ...limits import TITLE_CHARS_MAX
from .. import ids
from ..files.files import find_project_path, hash_file
from ..kinds import SEARCHABLE
from ..ledger.canonical import encode_canonical
from ..ledger.hashing import hash_text
from ..ledger.reference import BY_PREFIX
from ..ledger.transaction import make_receipt
from ..search import full_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...parameters import Row, Writer

# The cases, in the order of the manifest. `hash` is the content hash of the newest revision.
EVAL_CASES = """
SELECT 'eval_case' AS kind, c.id, c.title, c.summary, l.content_hash AS hash
FROM eval_case c JOIN log l ON l.seq = c.seq {where} ORDER BY c.seq"""
FAILED_VERDICTS = """
SELECT 'verification' AS kind, c.id, c.summary AS title, c.summary, l.content_hash AS hash
FROM verification_current c JOIN log l ON l.seq = c.seq {where} ORDER BY c.seq"""
OPEN_GOTCHAS = """
SELECT 'gotcha' AS kind, c.id, c.title, c.summary, coalesce(
           (SELECT r.content_hash FROM gotcha_revision g JOIN log r ON r.seq = g.seq
            WHERE g.gotcha_id = c.id ORDER BY g.rev DESC LIMIT 1), l.content_hash) AS hash
FROM gotcha_current c JOIN log l ON l.seq = c.seq {where} ORDER BY c.seq"""
CORRECTIONS = """
SELECT 'irl_correction' AS kind, c.id, c.summary AS title, c.summary, l.content_hash AS hash
FROM irl_correction c JOIN irl i ON i.id = c.irl_id JOIN log l ON l.seq = c.seq {where}
ORDER BY c.seq"""


def assemble_cases(
    tx: Writer, contract: str, title: str | None, summary: str | None, filters: Row
) -> Row:
    """Record the case set; `filters` are the options by name."""
    task = tx.find("task", filters["task_id"]) if filters["task_id"] else None
    filters = {**filters, "task_id": task and task["id"]}
    cases, dropped = _drop_duplicates(_find_cases(tx, filters))
    if not cases:
        raise Refused(
            "no_cases",
            f"No case fits the contract {contract!r}.",
            "Cases are eval cases, blocking verdicts that nothing superseded, active gotchas and "
            "corrections by people; records made with --test do not count.",
            "Use fewer filters, or record a case: `Q3` adds an eval case.",
        )
    manifest = encode_canonical(cases)
    used_filters = {name: value for name, value in filters.items() if value is not None}
    values = {
        "title": title or f"Cases of {contract}"[:TITLE_CHARS_MAX],
        "summary": summary,
        "contract": contract,
        "scope": filters["scope"] or "project",
        "cases": manifest,
        "manifest_hash": hash_text(manifest),
        "filters": encode_canonical(used_filters),
    }
    row = tx.add("lab", values, of=(task,) if task else ())
    facts = {"contract": contract, "title": row["title"], "manifest_hash": row["manifest_hash"]}
    kinds = [case["kind"] for case in cases]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    receipt = make_receipt("lab", row, **facts)
    return {**receipt, "kinds": counts, "cases": cases, "dropped": dropped}


def _find_cases(tx: Writer, filters: Row) -> list[Row]:
    """Return eval cases, blocking verdicts, active gotchas and corrections that match."""
    category = {"c.category = ?": filters["category"]}
    cases = _select(tx, EVAL_CASES, "eval_case", filters, category)
    if filters["category"]:  # only eval cases have a category
        return cases
    blocking = {"c.blocking = ?": 1, "c.superseded_by IS ?": None}
    cases += _select(tx, FAILED_VERDICTS, "verification", filters, blocking)
    cases += _select(tx, OPEN_GOTCHAS, "gotcha", filters, {"c.status = ?": "active"})
    # A correction has the scope and the task of its review.
    return cases + _select(tx, CORRECTIONS, "irl_correction", filters, {}, owner="i")


def _select(
    tx: Writer, sql: str, kind: str, filters: Row, own_filters: Row, owner: str = "c"
) -> list[Row]:
    """Return the matching records; `owner` is the table with the scope and the task."""
    optional = {
        f"{owner}.scope = ?": filters["scope"],
        f"{owner}.task_id = ?": filters["task_id"],
        "c.at >= ?": filters["since"],
    }
    if kind == "eval_case":
        optional, own_filters = {**optional, **own_filters}, {}
    active_filters = {
        condition: value for condition, value in optional.items() if value is not None
    }
    active_filters = {"c.test = ?": 0, **own_filters, **active_filters}
    conditions, values = [*active_filters], tuple(active_filters.values())
    if filters["query"]:
        words, more = full_text.build_condition(tx, filters["query"], kind, "c.seq")
        conditions, values = [*conditions, words], (*values, *more)
    return tx.rows(sql.format(where="WHERE " + " AND ".join(conditions)), values)


def _drop_duplicates(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return the oldest case of each group of equal cases of one kind, and the dropped cases.

    Equal texts may differ in letter case, blanks and a final punctuation mark.
    """
    cases: dict[tuple[str, ...], Row] = {}
    dropped = []
    for row in rows:
        texts = (row["title"], row.pop("summary"))
        plain = [" ".join(text.casefold().split()).rstrip(" .!?…") for text in texts]
        first = cases.setdefault((row["kind"], *plain), row)
        if first is not row:
            case_ids = {"id": row["id"], "same_as": first["id"]}
            dropped.append({"kind": row["kind"], **case_ids, "title": row["title"]})
    return list(cases.values()), dropped


def describe_change(root: str, patch: str | None, body: str | None) -> Row:
    """Return the artifact columns of a change. `add_proposal` writes the text of --body later."""
    if (patch is None) == (body is None):
        raise Usage(
            "one_of_two",
            "O2 lab-propose needs exactly one of --patch and --body.",
            "A proposal contains one change, from a file or from a text.",
            "Name a file below the project with --patch, or give the text with --body.",
        )
    if body is not None:
        sha256, size = hash_text(body), len(body.encode())
    path = f"AI/work/lab/{sha256}.txt" if patch is None else patch
    relative = find_project_path(root, path)
    if relative is None or relative == ".." or relative.startswith("../"):
        raise Refused(
            "outside_project",
            f"{os.path.basename(path.rstrip('/')) or path!r} is outside the project.",
            "A link that leads out counts as outside.",
            "Copy the change into the project, or give it as --body.",
        )
    if patch is not None:
        full = os.path.join(root, relative)
        if not os.path.lexists(full):
            raise NotFound(
                "file_not_found",
                f"There is no file {relative!r}.",
                "A relative path starts at the project's root.",
                "Check --patch.",
            )
        if not os.path.isfile(full):
            raise Usage(
                "not_a_file",
                f"{relative!r} is not a file.",
                "--patch must be one file.",
                "Name a file with --patch.",
            )
        sha256, size = hash_file(full)
    name = os.path.basename(relative)
    return {"path": relative, "name": name, "kind": "file", "sha256": sha256, "bytes": size}


def add_proposal(
    tx: Writer, root: str, lab_ref: str, change: Row, evidence: Sequence[str], values: Row
) -> Row:
    """Record a proposal together with the artifact of its change."""
    lab = tx.find("lab", lab_ref)
    records, items = _resolve_evidence(tx, evidence)
    path = os.path.join(root, change["path"])
    if values["body"] is not None:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not os.path.exists(path) or hash_file(path)[0] != change["sha256"]:
                with open(path, "wb") as file:
                    file.write(values["body"].encode())
        except OSError as error:
            what, why = "The change cannot be written below AI/work/lab.", str(error.strerror)
            raise Unavailable("cannot_write", what, why, "Make it writable.") from None
    of = (lab, *records)
    about = {"title": values["title"], "about_id": lab["id"]}
    artifact = tx.add("artifact", {**change, **about}, of=of)
    more = {
        "lab_id": lab["id"],
        "artifact_id": artifact["id"],
        "evidence": encode_canonical(items) if items else None,
    }
    row = tx.add("lab_proposal", {**values, **more}, of=of)
    names = ("title", "lab_id", "metric", "better", "baseline", "candidate", "artifact_id")
    facts = {name: row[name] for name in names}
    place = {"path": change["path"], "sha256": change["sha256"]}
    return make_receipt("lab_proposal", row, **facts, **place, evidence=items)


def _resolve_evidence(tx: Writer, evidence: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Return the records among the items, and the items to store.

    Text that looks like an id must be the id of a record, so that a typing error is refused.
    """
    records, items = [], []
    for item in evidence:
        word, _, rest = item.partition("_")
        is_id = word in BY_PREFIX and rest[:1].isdecimal() and " " not in item
        if is_id or ids.parse_steps_back(item) is not None:
            records.append(tx.find_any(SEARCHABLE, item)[1])
            item = records[-1]["id"]
        items.append(item)
    return records, list(dict.fromkeys(items))
