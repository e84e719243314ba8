"""Filters that reports share: --scope, --since, --until and --query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...records.search import full_text

if TYPE_CHECKING:
    from ...parameters import Reader
    from .zone import Zone

FILTERS = {"scope": "scope = ?", "since": "at >= ?", "until": "at < ?"}


def build_condition(
    db: Reader, kind: str, options: dict[str, Any], **columns: Any
) -> tuple[str, list[Any]]:
    """Return (WHERE condition, its values) for the filters in `options`.

    Test records never match. `columns` adds filters on columns of this kind, such as `task_id`.
    """
    filters = {
        **{condition: options.get(name) for name, condition in FILTERS.items()},
        **{f"{name} = ?": value for name, value in columns.items()},
    }
    filters = {condition: value for condition, value in filters.items() if value is not None}
    conditions, values = ["test = 0", *filters], list(filters.values())
    if options.get("query"):
        condition, query_values = full_text.build_condition(db, options["query"], kind)
        conditions.append(condition)
        values += query_values
    return " AND ".join(conditions), values


def describe_filters(options: dict[str, Any], zone: Zone) -> str:
    """Return the filters as a sentence for the top of a report; "" without filters."""
    parts = [
        f"{label} {show(options[name])}"
        for name, label, show in (
            ("scope", "scope", str),
            ("query", "words", str),
            ("since", "since", zone.format_time),
            ("until", "before", zone.format_time),
        )
        if options.get(name)
    ]
    return f"Only {', '.join(parts)}." if parts else ""
