"""Report on a week, month, year or some days (R8, R9, R10), compared with the period before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine.publish import Output
from .attention import list_highlights, list_next_points
from .calendar import Period, is_under_way, resolve_period
from .flow import TaskFlow
from .overview import layout
from .tally import Tally

if TYPE_CHECKING:
    from ...parameters import Reader
    from ..engine.zone import Zone

ANY_RECORD = "SELECT 1 FROM log LIMIT 1"


def report_period(
    output: Output,
    unit: str,
    name: Any,
    last: bool,
    days: int | None,
    until: str | None,
    so_far: bool,
    **options: Any,
) -> dict[str, Any]:
    """Publish the report of a period. Its footer names the exact period, not "this week"."""
    exact_options = resolve_period(unit, output.zone, name, last, days, until, so_far)
    if (
        name is not None
        and not exact_options["so_far"]
        and is_under_way(output.zone, exact_options)
    ):
        output.store.notes.append(
            f"This {unit} is not over. Use --so-far to compare it with the same part of the {unit} before."
        )
    return output.publish(gather, layout, **exact_options, **options)


def gather(db: Reader, zone: Zone, options: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers, series and lists of the period that `options` name."""
    period, scope = Period(zone, options, db.at), options["scope"]
    tasks, tally = TaskFlow(db, period, scope), Tally(db, period, scope)
    data = {
        "period": {
            "name": period.name,
            "unit": period.unit,
            "first": str(period.first),
            "last": str(period.last),
            "days": (period.last - period.first).days + 1,
            "days_so_far": period.days_so_far,
            "since": period.since,
            "until": period.until,
            "step": period.step,
        },
        "before": {
            "name": period.before_name,
            "since": period.before_since,
            "until": period.before_until,
            "same_part": period.is_cut,
        },
        "newest": db.at if db.value(ANY_RECORD) else None,
        "scope": scope,
        "numbers": {part: {**tasks.parts[part], **tally.parts[part]} for part in tasks.parts},
        "labels": period.list_labels(),
        "bars": {**tasks.bars, **tally.bars},
        "at_start": tasks.at_start,
        "lead_classes": tasks.lead_classes,
        "verdicts": tally.verdicts,
        "proofs": tally.proofs["now"],
        "calibration": tally.calibration,
        **list_highlights(db, period, scope, options["limit"]),
    }
    return {**data, "next": list_next_points(db, zone, period, scope, data)}
