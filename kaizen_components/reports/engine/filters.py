"""The conditions that reports share: what a reader narrows a report to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...records.search import full_text

if TYPE_CHECKING:
    from ...parameters import Reader
    from .zone import Zone

FILTERS = {"scope": "scope = ?", "since": "at >= ?", "until": "at < ?"}


def build_condition(
    db: Reader, kind: str, options: dict[str, Any], **more: Any
) -> tuple[str, list[Any]]:
    """Return (SQL, values) for the rows of a kind that `options` choose, without test records.

    `more` are columns that only this kind has, such as `task_id`.
    """
    wanted = {
        **{condition: options.get(name) for name, condition in FILTERS.items()},
        **{f"{name} = ?": value for name, value in more.items()},
    }
    wanted = {condition: value for condition, value in wanted.items() if value is not None}
    sql, values = ["test = 0", *wanted], list(wanted.values())
    if options.get("query"):
        condition, words = full_text.build_condition(db, options["query"], kind)
        sql.append(condition)
        values += words
    return " AND ".join(sql), values


def describe_filters(options: dict[str, Any], zone: Zone) -> str:
    """Return the filters as a sentence for the lead of a report, or an empty text."""
    parts = [
        f"{label} {show(options[name])}"
        for name, label, show in (
            ("scope", "scope", str),
            ("query", "words", str),
            ("since", "since", zone.show),
            ("until", "before", zone.show),
        )
        if options.get(name)
    ]
    return f"Only {', '.join(parts)}." if parts else ""
