"""Every kind of record. The kind is the table's name; the prefix starts each of its ids."""

PREFIXES = {
    "op": "op",
    "purge": "purge",
    "task": "task",
    "task_revision": "trev",
    "task_link": "link",
    "lease": "lease",
    "plan": "plan",
    "plan_revision": "prev",
    "packet": "pack",
    "packet_result": "pres",
    "waiver": "waiver",
    "artifact": "art",
    "proof": "proof",
    "verification": "verif",
    "gotcha": "gotcha",
    "gotcha_revision": "grev",
    "learning": "learning",
    "learning_revision": "lrev",
    "learned": "learned",
    "learned_revision": "ldrev",
    "lesson_import": "limp",
    "eval_case": "case",
    "eval_run": "erun",
    "anti_pattern": "anti",
    "policy": "policy",
    "policy_revision": "porev",
    "source": "src",
    "irl": "irl",
    "irl_prediction": "pred",
    "irl_correction": "corr",
    "irl_outcome": "outc",
    "span": "span",
    "score": "score",
    "lab": "lab",
    "lab_proposal": "prop",
    "digest": "dig",
    "run": "run",
    "run_event": "evt",
}

REVISED = {
    "task": "task_current",
    "plan": "plan_current",
    "packet": "packet_current",
    "gotcha": "gotcha_current",
    "learning": "learning_current",
    "learned": "learned_current",
    "policy": "policy_current",
    "source": "source_current",
    "irl_prediction": "irl_prediction_current",
    "verification": "verification_current",
    "run": "run_current",
}  # read through these views

# What search finds: the kind's number in the index, which never changes, and its texts besides title, summary, body.
SEARCHED: dict[str, tuple[int, tuple[str, ...]]] = {
    "task": (1, ()),
    "plan": (2, ()),
    "packet": (3, ()),
    "packet_result": (4, ()),
    "waiver": (5, ("reason",)),
    "artifact": (6, ("path", "name")),
    "proof": (7, ("command",)),
    "verification": (8, ("conclusion", "evidence", "findings", "remedies")),
    "gotcha": (9, ("evidence", "paths")),
    "learning": (10, ("evidence", "paths")),
    "learned": (11, ("evidence", "paths")),
    "eval_case": (12, ("category", "command")),
    "eval_run": (13, ("outcome",)),
    "anti_pattern": (14, ("symptom", "harm", "trigger", "correction", "exceptions", "verification")),
    "policy": (15, ("trigger",)),
    "source": (16, ("url", "path", "version", "license")),
    "irl": (17, ()),
    "irl_prediction": (18, ()),
    "irl_correction": (19, ()),
    "irl_outcome": (20, ()),
    "span": (21, ("name", "model")),
    "score": (22, ("name",)),
    "lab": (23, ("contract",)),
    "lab_proposal": (24, ("hypothesis", "metric")),
    "run": (25, ("protocol", "request", "repo")),
}

RANK = {"critical": 0, "high": 1, "normal": 2, "low": 3}  # of a priority, as derived tables sort by it

# The row that a new record adds to a derived table; later changes are the triggers' work. From its values, and not by a
# SELECT from the row just written: that took 28 microseconds instead of 19.
DERIVED = {
    "task": (
        "task_state",
        lambda seq, row: {
            "seq": seq, "task_id": row["id"], "changed_at": row["at"], "status": row["status"], "scope": row["scope"],
            "rank": RANK[row["priority"]], "rev": 1, "open_blockers": 0,
        },
    ),
}  # fmt: skip
