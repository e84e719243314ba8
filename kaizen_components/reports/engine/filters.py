"""The conditions that reports share: what a reader narrows a report to."""

from typing import Any

from ...records.search import full_text

FILTERS = {"scope": "scope = ?", "since": "at >= ?", "until": "at < ?"}


def build_condition(db, kind: str, options: dict[str, Any], **more: Any) -> tuple[str, list[Any]]:
    """(SQL, values) for the rows of a kind that are asked for. Test records are not: nothing hangs on them.

    `more` are conditions of the kind's own, such as `task_id`; of `options` those count that the kind has.
    """
    sql, values = ["test = 0"], []
    for name, condition in FILTERS.items():
        if options.get(name) is not None:
            sql.append(condition)
            values.append(options[name])
    for name, value in more.items():
        if value is not None:
            sql.append(f"{name} = ?")
            values.append(value)
    if options.get("query"):
        condition, words = full_text.build_condition(db, options["query"], kind)
        sql.append(condition)
        values += words
    return " AND ".join(sql), values


def describe_filters(options: dict[str, Any], zone) -> str:
    """The narrowing in words, for the lead of a report; empty where there is none."""
    said = []
    if options.get("scope"):
        said.append(f"scope {options['scope']}")
    if options.get("query"):
        said.append(f"words {options['query']}")
    if options.get("since"):
        said.append(f"since {zone.show(options['since'])}")
    if options.get("until"):
        said.append(f"before {zone.show(options['until'])}")
    return f"Only {', '.join(said)}." if said else ""
