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
