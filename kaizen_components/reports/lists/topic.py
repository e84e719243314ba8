"""Search the records of all kinds for some words (R11), best match first.

With --as-of, the report shows the records as they were then. The word index is always the current
one, so the search finds a record that was revised later only by its current words.
"""

from __future__ import annotations

import json

from ...records.kinds import KINDS, SEARCHABLE
from ...records.ledger.reference import parse_kind
from ...records.search.ranking import rank_all_kinds
from ...records.work.command_line import join_words
from ..charts.chart import draw_bars
from ..engine.document import (
    LinkTarget,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    format_quantity,
    paragraph,
    section,
    story,
)
from ..engine.filters import describe_filters
from ..engine.past import IS_REPORT
from ..periods.time_series import sum_by_period

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...parameters import Reader, Row
    from ..engine.zone import Zone

    Record = tuple[str, int]  # kind and seq

# A report contains the words of its own query, so reports are not searched.
NO_REPORT = f"NOT EXISTS (SELECT 1 FROM log l WHERE l.seq = artifact.seq AND {IS_REPORT})"

RANKING_EXPLANATION = (
    "A rare word counts more than a common one. A word counts four times in a title, twice in a "
    "summary, once elsewhere. Among equal matches the newest comes first."
)


def gather(db: Reader, zone: Zone, options: Row) -> Row:
    """Return the hits by kind and by month, and the best records."""
    ranking = rank_all_kinds(db, options["query"])
    times = _select_records(db, ranking.best, options)
    best = [record for record in ranking.best if record in times]
    listed_records = best[: options["limit"]]
    records = {}
    for name, seqs in _group_by_kind(listed_records).items():
        kind = KINDS[name]
        sql = (
            f"SELECT seq, id, at, actor, substr({kind.title}, 1, 500) AS title, "
            f"substr({kind.text}, 1, 2000) AS text, {kind.state} AS state, "
            f"{kind.shown_by} AS shown_by FROM {kind.view} "
            f"WHERE seq IN (SELECT value FROM json_each(?))"
        )
        for row in db.rows(sql, (json.dumps(seqs),)):
            ref = row.pop("shown_by")
            command = kind.shows or KINDS[parse_kind(ref) or ""].shows
            words = ["kaizen", *command.split(), *(["--id"] if " " not in command else []), ref]
            records[name, row.pop("seq")] = {"kind": name, **row, "inspect": join_words(words)}
    return {
        "query": options["query"],
        "narrowed": describe_filters({**options, "query": None}, zone),
        "hits": len(best),
        "at_least": bool(ranking.cut),
        "kinds": [
            {"kind": kind, "hits": len(seqs), "at_least": kind in ranking.cut}
            for kind, seqs in _group_by_kind(best).items()
        ],
        "over_time": sum_by_period(
            [{"at": at, "hits": 1} for at in sorted(times.values())], zone, "month"
        ),
        "records": [records[key] for key in listed_records],
    }


def _group_by_kind(records: Iterable[Record]) -> dict[str, list[int]]:
    """Return {kind: [seq of each record]}."""
    groups: dict[str, list[int]] = {}
    for kind, seq in records:
        groups.setdefault(kind, []).append(seq)
    return groups


def _select_records(db: Reader, records: Iterable[Record], options: Row) -> dict[Record, str]:
    """Return {(kind, seq): at} of the records that the options select, without test records."""
    times = {}
    for kind, seqs in _group_by_kind(records).items():
        filters = {"since": "at >= ?", "until": "at < ?", "scope": KINDS[kind].scope}
        conditions = ["test = 0", *([NO_REPORT] if kind == "artifact" else [])]
        values = []
        for name, condition in filters.items():
            if options[name] is not None:
                conditions.append(condition)
                values += [options[name]] if "?" in condition else []
        sql = (
            f"SELECT seq, at FROM {KINDS[kind].view} "
            f"WHERE seq IN (SELECT value FROM json_each(?)) AND {' AND '.join(conditions)}"
        )
        for seq, at in db.tuples(sql, (json.dumps(seqs), *values)):
            times[kind, seq] = at
    return times


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the hits by kind and by month, and the best records."""
    title = f"Topic: {clip_text(data['query'], 100)}"
    listed_count = len(data["records"])
    hits = data["hits"]
    if not hits:
        lead = (
            "No record contains these words. "
            "Try fewer or other words, without + and quotes; word endings do not matter."
        )
        return document(title, [lead, data["narrowed"]], [])
    kinds = format_quantity(len(data["kinds"]), "kind")
    if data["at_least"]:
        best = f"The best {format_count(listed_count)} of at least {format_count(hits)}"
        lead = f"{best} records of {kinds}."
    elif listed_count < hits:
        lead = f"The best {format_count(listed_count)} of {format_count(hits)} records of {kinds}."
    else:
        lead = f"{format_quantity(hits, 'record')} of {kinds}, the best first."
    order = list(SEARCHABLE)
    numbers = [
        fact(
            _format_kind(row["kind"]),
            row["hits"],
            show=(lambda number: f"≥ {format_count(number)}") if row["at_least"] else format_count,
        )
        for row in sorted(data["kinds"], key=lambda row: (-row["hits"], order.index(row["kind"])))
    ]
    chart = _draw_mentions(data["over_time"]["unit"], data["over_time"]["periods"])
    entries = []
    for row in data["records"]:
        state = f"{row['state']}." if row["state"] else None
        summary = " ".join(filter(None, [state, clip_text(row["text"])]))
        entries.append(
            {
                "at": zone.format_day(row["at"]),
                "what": f"{_format_kind(row['kind'])}: {clip_text(row['title'], 200)}",
                "by": row["actor"],
                "refs": [LinkTarget(row["id"])],
                "text": "\n".join(filter(None, [summary, row["inspect"]])),
            }
        )
    hidden_count = hits - listed_count
    note = (
        f"{format_count(hidden_count)} more are not shown; --limit shows more."
        if hidden_count
        else ""
    )
    return document(
        title,
        [lead, data["narrowed"]],
        [
            section("In numbers", facts(*numbers), chart),
            section(
                "The best first",
                paragraph(RANKING_EXPLANATION),
                story(entries),
                paragraph(note) if note else None,
            ),
        ],
    )


def _draw_mentions(unit: str, periods: list[Row]) -> Row | None:
    """Return the chart of records per period."""
    busiest_period = max(periods, key=lambda row: row["hits"])
    return draw_bars(
        f"Records per {unit}",
        unit,
        "records",
        [row["label"] for row in periods],
        {"records": [row["hits"] for row in periods]},
        f"Most in {busiest_period['label']}: {format_count(busiest_period['hits'])}.",
    )


def _format_kind(kind: str) -> str:
    """Return the name of a kind as a label, such as: Task revision."""
    return kind.replace("_", " ").capitalize().replace("Irl", "IRL")
