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
}

REVISED = {
    "task": "task_current",
    "plan": "plan_current",
    "packet": "packet_current",
}  # read through these views

# What a new record adds to derived tables; later changes are the triggers' work.
DERIVED = {
    "task": """
INSERT INTO task_state (seq, task_id, rev, changed_at, status, rank, scope, open_blockers)
SELECT seq, id, 1, at, status, CASE priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2 ELSE 3 END,
       scope, 0
FROM task WHERE seq = ?""",
}
