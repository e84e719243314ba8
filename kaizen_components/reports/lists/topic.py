"""R11: whatever is recorded about some words, over all kinds, the best first.

The records are those of the moment that the report is made from; the index of words is today's, so a record that was
revised since is found by the words it has now.
"""

import json
from typing import Any

from ...records.kinds import KINDS, SEARCHABLE
from ...records.ledger.reference import parse_kind
from ...records.search.ranking import rank_all_kinds
from ...records.work.command_line import join_words
from ..charts.chart import draw_bars
from ..engine.document import (
    Own,
    clip_text,
    document,
    fact,
    facts,
    format_count,
    paragraph,
    section,
    story,
)
from ..engine.filters import describe_filters
from ..engine.past import MADE_BY
from ..periods.time_series import sum_by_period

# A report repeats the words that it was asked; as a hit it would be its own echo.
NO_REPORT = f"NOT EXISTS (SELECT 1 FROM log l WHERE l.seq = artifact.seq AND {MADE_BY})"

RANKED = (
    "A rare word counts more than a common one; four times in a title, twice in a summary, once elsewhere. Of equals "
    "the newest comes first."
)


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    found = rank_all_kinds(db, options["query"])
    kept = _kept(db, found.best, options)
    best = [record for record in found.best if record in kept]
    kinds: dict[str, int] = {}
    for kind, _ in best:
        kinds[kind] = kinds.get(kind, 0) + 1
    return {
        "query": options["query"],
        "narrowed": describe_filters({**options, "query": None}, zone),
        "hits": len(best),
        "at_least": bool(found.cut),
        "kinds": [
            {"kind": kind, "hits": number, "at_least": kind in found.cut}
            for kind, number in kinds.items()
        ],
        "over_time": sum_by_period(
            [{"at": at, "hits": 1} for at in sorted(kept.values())], zone, "month"
        ),
        "records": _shown(db, best[: options["limit"]]),
    }


def _by_kind(records):
    found: dict[str, list[int]] = {}
    for kind, seq in records:
        found.setdefault(kind, []).append(seq)
    return found


def _kept(db, records, options):
    """{(kind, seq): at} of those that exist at that moment, are no test, and are asked for."""
    kept = {}
    for kind, seqs in _by_kind(records).items():
        conditions, values = ["test = 0", *([NO_REPORT] if kind == "artifact" else [])], []
        for name, condition in (
            ("since", "at >= ?"),
            ("until", "at < ?"),
            ("scope", KINDS[kind].scope),
        ):
            if options[name] is not None:
                conditions.append(condition)
                values += [options[name]] if "?" in condition else []
        sql = f"SELECT seq, at FROM {KINDS[kind].view} WHERE seq IN (SELECT value FROM json_each(?)) AND "
        for seq, at in db.tuples(sql + " AND ".join(conditions), (json.dumps(seqs), *values)):
            kept[kind, seq] = at
    return kept


def _shown(db, records):
    rows = {}
    for name, seqs in _by_kind(records).items():
        kind = KINDS[name]
        sql = (
            f"SELECT seq, id, at, actor, substr({kind.title}, 1, 500) AS title, substr({kind.text}, 1, 2000) AS text, "
            f"{kind.state} AS state, {kind.shown_by} AS shown_by FROM {kind.view} "
            f"WHERE seq IN (SELECT value FROM json_each(?))"
        )
        for row in db.rows(sql, (json.dumps(seqs),)):
            of = row.pop("shown_by")
            shows = kind.shows or KINDS[parse_kind(of)].shows
            words = ["kaizen", *shows.split(), *(["--id"] if " " not in shows else []), of]
            rows[name, row.pop("seq")] = {"kind": name, **row, "inspect": join_words(words)}
    return [rows[record] for record in records]


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    title = f"Topic: {clip_text(found['query'], 100)}"
    if not found["hits"]:
        lead = "No record here has these words. Try fewer or others, without + and quotes; endings do not matter."
        return document(title, [text for text in (lead, found["narrowed"]) if text], [])
    return document(
        title, [text for text in (_lead(found), found["narrowed"]) if text],
        [
            section("In numbers", _numbers(found), _months(found["over_time"])),
            section("The best first", paragraph(RANKED), *_best(found, zone)),
        ],
    )  # fmt: skip


def _lead(found):
    shown, most = len(found["records"]), format_count(found["hits"])
    kinds = f"{len(found['kinds'])} kind{'' if len(found['kinds']) == 1 else 's'}"
    if found["at_least"]:
        return f"The best {format_count(shown)} of at least {most} records of {kinds}."
    if shown < found["hits"]:
        return f"The best {format_count(shown)} of {most} records of {kinds}."
    return f"{most} record{'' if shown == 1 else 's'} of {kinds}, the best first."


def _numbers(found):
    order = list(SEARCHABLE)
    most = sorted(found["kinds"], key=lambda row: (-row["hits"], order.index(row["kind"])))
    return facts(
        *(
            fact(
                _name(row["kind"]), row["hits"], show=_at_least if row["at_least"] else format_count
            )
            for row in most
        )
    )


def _at_least(number):
    return f"≥ {format_count(number)}"


def _name(kind):
    return kind.replace("_", " ").capitalize().replace("Irl", "IRL")


def _months(over_time):
    periods = over_time["periods"]
    busiest = max(periods, key=lambda row: row["hits"])
    says = f"Most in {busiest['label']}: {format_count(busiest['hits'])}."
    labels, numbers = [row["label"] for row in periods], [row["hits"] for row in periods]
    return draw_bars(
        f"Records per {over_time['unit']}",
        over_time["unit"],
        "records",
        labels,
        {"records": numbers},
        says,
    )


def _best(found, zone):
    entries = [
        {
            "at": zone.day(row["at"]), "what": f"{_name(row['kind'])}: {clip_text(row['title'], 200)}",
            "by": row["actor"], "refs": [Own(row["id"])], "text": _said(row),
        }
        for row in found["records"]
    ]  # fmt: skip
    more = found["hits"] - len(entries)
    return story(entries), paragraph(
        f"{format_count(more)} more are not shown; --limit shows more."
    ) if more else None


def _said(row):
    state = row["state"] and f"{row['state']}."
    return "\n".join(
        filter(None, [" ".join(filter(None, [state, clip_text(row["text"])])), row["inspect"]])
    )
