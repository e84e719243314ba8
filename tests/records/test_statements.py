"""Every SQL constant is accepted by the schema, and the hot ones never scan a table."""

import importlib
import pkgutil

import pytest

import kaizen_components
from kaizen_components.records.ledger import hashing, transaction
from kaizen_components.records.work import link, task
from kaizen_components.records.work.task import list_tasks

STARTS = ("SELECT", "INSERT", "UPDATE", "WITH", "DELETE")


def constants():
    for module in pkgutil.walk_packages(kaizen_components.__path__, "kaizen_components."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.isupper() and isinstance(value, str) and value.strip().startswith(STARTS):
                kind = "gotcha" if ".lessons" in module.name else "task"
                yield pytest.param(
                    value, kind, id=f"{module.name.removeprefix('kaizen_components.')}.{name}"
                )


def plan(connection, sql):
    return [
        row[3] for row in connection.tuples("EXPLAIN QUERY PLAN " + sql, (None,) * sql.count("?"))
    ]


@pytest.mark.parametrize(("sql", "kind"), list(constants()))
def test_statement_fits_the_schema(kaizen, sql, kind):
    kaizen("K1")
    conditions = dict.fromkeys(("asked", "condition", "learning", "learned"), "1")
    filled = sql.format(kind=kind, next_kind="learning", where="", driver="s", **conditions)

    assert plan(kaizen.store.reader(), filled) is not None


@pytest.mark.parametrize(
    "sql",
    [
        task.READY,
        link.REACHES,
        link.EXISTING,
        link.PARENT,
        link.AROUND,
        transaction.ENTRY_OF,
        hashing.LOCAL_FRONTIER,
    ],
    ids=["ready", "reaches", "existing", "parent", "around", "entry", "frontier"],
)
def test_everyday_query_uses_indexes(kaizen, sql):
    kaizen("K1")
    steps = plan(kaizen.store.reader(), sql)
    scans = [step for step in steps if step.startswith("SCAN") and "USING" not in step]

    assert [
        step
        for step in scans
        if not step.startswith(
            (
                "SCAN reach",
                "SCAN (subquery",
                "SCAN CONSTANT",
                "SCAN log",
                "SCAN c",
                "SCAN v VIRTUAL",
            )
        )
    ] == []


def test_ready_tasks_are_read_in_index_order(kaizen):
    kaizen("K1")
    steps = plan(kaizen.store.reader(), task.READY)

    assert any("task_state_ready" in step for step in steps) and any(
        "task_state_abandoned" in step for step in steps
    )
    assert sum("TEMP B-TREE" in step for step in steps) <= 1, "only the few chosen rows are sorted"


class Recorder:
    """Replace a connection and keep the statement that a list runs."""

    at = "2026-11-16T00:00:00.000Z"

    def rows(self, sql, params):
        self.sql = sql
        return []


@pytest.mark.parametrize(
    "filters, index",
    [
        ({"status": "open"}, "state_status"),
        ({"scope": "x"}, "state_scope"),
        ({"holder": "x"}, "state_holder"),
        ({"actor": "x"}, "actor"),
    ],
)
def test_filtered_list_uses_index_of_its_filter(kaizen, filters, index):
    kaizen("K1")
    recorder = Recorder()
    names = ("status", "actor", "scope", "priority", "holder", "since", "until")
    list_tasks(recorder, 5, *(filters.get(name) for name in names))

    steps = plan(kaizen.store.reader(), recorder.sql)
    assert any(f"task_{index}" in step for step in steps)
    assert not any("TEMP B-TREE" in step for step in steps)
