"""The improvement lab: the case set of a contract, and proposals that change something to do better on it."""

import os

from ...errors import NotFound, Refused, Usage
from ...limits import TITLE_CHARS_MAX
from .. import ids
from ..files.files import find_project_path, hash_file
from ..kinds import SEARCHABLE
from ..ledger.canonical import encode_canonical
from ..ledger.hashing import hash_text
from ..ledger.reference import BY_PREFIX
from ..ledger.transaction import make_receipt
from ..search import full_text

# What makes a case, in the order of the manifest. The hash is that of the newest log entry that made the text.
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
FROM irl_correction c JOIN irl i ON i.id = c.irl_id JOIN log l ON l.seq = c.seq {where} ORDER BY c.seq"""


def assemble_cases(tx, contract, title, summary, filters):
    """Record the case set; `filters` has what was asked for, by option name."""
    task = tx.find("task", filters["task_id"]) if filters["task_id"] else None
    filters = {**filters, "task_id": task and task["id"]}
    cases, dropped = _without_doubles(_cases(tx, filters))
    if not cases:
        raise Refused(
            "no_cases",
            f"No case fits the contract {contract!r}.",
            "Cases are eval cases, blocking verdicts that nothing superseded, active gotchas and corrections by people;"
            " records made with --test do not count.",
            "Ask for less (fewer filters), or record one: `Q3` adds an eval case.",
        )
    manifest = encode_canonical(cases)
    row = tx.add(
        "lab",
        {
            "title": title or f"Cases of {contract}"[:TITLE_CHARS_MAX], "summary": summary, "contract": contract,
            "scope": filters["scope"] or "project", "cases": manifest, "manifest_hash": hash_text(manifest),
            "filters": encode_canonical({name: value for name, value in filters.items() if value is not None}),
        },
        of=(task,) if task else (),
    )  # fmt: skip
    return {
        **make_receipt(
            "lab", row, contract=contract, title=row["title"], manifest_hash=row["manifest_hash"]
        ),
        "kinds": {
            kind: sum(case["kind"] == kind for case in cases)
            for kind in dict.fromkeys(c["kind"] for c in cases)
        },
        "cases": cases,
        "dropped": dropped,
    }


def _cases(tx, filters):
    found = _chosen(tx, EVAL_CASES, "eval_case", filters, {"c.category = ?": filters["category"]})
    if filters["category"]:  # only eval cases have one
        return found
    found += _chosen(
        tx,
        FAILED_VERDICTS,
        "verification",
        filters,
        {"c.blocking = ?": 1},
        "c.superseded_by IS NULL",
    )
    found += _chosen(tx, OPEN_GOTCHAS, "gotcha", filters, {"c.status = ?": "active"})
    return found + _chosen(tx, CORRECTIONS, "irl_correction", filters, {}, owner="i")


def _chosen(tx, sql, kind, filters, own, always="1", owner="c"):
    """`owner` is the table that has the scope and the task: a correction has those of its review."""
    asked = {
        "c.test = ?": 0, **own, f"{owner}.scope = ?": filters["scope"], f"{owner}.task_id = ?": filters["task_id"],
        "c.at >= ?": filters["since"],
    }  # fmt: skip
    chosen = {condition: value for condition, value in asked.items() if value is not None}
    conditions, values = [*chosen, always], tuple(chosen.values())
    if filters["query"]:
        words, found = full_text.build_condition(tx, filters["query"], kind, "c.seq")
        conditions, values = [*conditions, words], (*values, *found)
    return tx.rows(sql.format(where="WHERE " + " AND ".join(conditions)), values)


def _without_doubles(found):
    """(cases, dropped): of one kind and the same words, the oldest stays."""
    kept: dict[tuple, dict] = {}
    dropped = []
    for row in found:
        words = (row["kind"], _plain(row["title"]), _plain(row.pop("summary")))
        if words in kept:
            dropped.append(
                {
                    "kind": row["kind"],
                    "id": row["id"],
                    "same_as": kept[words]["id"],
                    "title": row["title"],
                }
            )
        else:
            kept[words] = row
    return list(kept.values()), dropped


def _plain(text):
    """Capitals, blanks and closing punctuation make no other case."""
    return " ".join(text.casefold().split()).rstrip(" .!?…")


def describe_change(root, patch, body):
    """The change as an artifact, hashed; the text of a --body is still to be written there."""
    if (patch is None) == (body is None):
        raise Usage(
            "one_of_two",
            "O2 lab-propose needs the change, once: as --patch or as --body.",
            "",
            "Name a file below the project with --patch, or give the text with --body.",
        )
    if patch is None:
        sha256, size = hash_text(body), len(body.encode())
        path = _inside(root, f"AI/work/lab/{sha256}.txt")
    else:
        path = _inside(root, patch)
        full = os.path.join(root, path)
        if not os.path.lexists(full):
            raise NotFound("file_not_found", f"There is no file {path!r}.", "", "Check --patch.")
        if not os.path.isfile(full):
            raise Usage("not_a_file", f"{path!r} is not a file.", "", "Name a file with --patch.")
        sha256, size = hash_file(full)
    return {
        "path": path,
        "name": os.path.basename(path),
        "kind": "file",
        "sha256": sha256,
        "bytes": size,
    }


def _inside(root, path):
    found = find_project_path(root, path)
    if found is None or found == ".." or found.startswith("../"):
        raise Refused(
            "outside_project",
            f"{os.path.basename(path.rstrip('/')) or path!r} lies outside the project.",
            "A link that leads out counts as outside.",
            "Copy the change into the project, or give it as --body.",
        )
    return found


def add_proposal(tx, root, lab_ref, change, evidence, values):
    """Record the change as an artifact and the proposal that it belongs to, together."""
    lab = tx.find("lab", lab_ref)
    records, shown = _evidence(tx, evidence)
    if values["body"] is not None:
        _keep(os.path.join(root, change["path"]), values["body"], change["sha256"])
    of = (lab, *records)
    artifact = tx.add(
        "artifact", {**change, "title": values["title"], "about_id": lab["id"]}, of=of
    )
    more = {
        "lab_id": lab["id"],
        "artifact_id": artifact["id"],
        "evidence": encode_canonical(shown) if shown else None,
    }
    row = tx.add("lab_proposal", {**values, **more}, of=of)
    names = ("title", "lab_id", "metric", "better", "baseline", "candidate", "artifact_id")
    return make_receipt(
        "lab_proposal", row, **{name: row[name] for name in names}, path=change["path"], sha256=change["sha256"],
        evidence=shown,
    )  # fmt: skip


def _evidence(tx, given):
    """(records, texts to store): what looks like an id must be one, so that a slip never counts as evidence."""
    records, shown = [], []
    for item in given:
        word, _, rest = item.partition("_")
        if ids.parse_steps_back(item) is not None or (
            word in BY_PREFIX and rest[:1].isdecimal() and " " not in item
        ):
            records.append(tx.find_any(SEARCHABLE, item)[1])
            shown.append(records[-1]["id"])
        else:
            shown.append(item)
    return records, list(dict.fromkeys(shown))


def _keep(path, text, sha256):
    """The text in a file that has its hash as its name; one that is there and was changed is put right."""
    from ...errors import Unavailable

    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path) or hash_file(path)[0] != sha256:
            with open(path, "wb") as file:
                file.write(text.encode())
    except OSError as error:
        raise Unavailable(
            "cannot_write",
            "The change cannot be written below AI/work/lab.",
            str(error.strerror),
            "Make it writable.",
        ) from None
