"""Collect what changed since an actor's last digest or a given time: counts, notable records.

New entries are at the end of the log. At most the last READ_MAX entries are read.
"""

from __future__ import annotations

from collections import Counter

from ...records.ids import format_time
from ...records.kinds import KINDS
from ...records.work.command_line import join_words
from .budget import make_item, make_part
from .parts import ITEMS_MAX, TEXT_CHARS, format_clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...parameters import Reader
    from .budget import Part

READ_MAX = 5_000
FIRST_PERIOD_MS = 7 * 86_400_000
NAMED_MAX = 6  # actors and kinds that are listed by name

IS_EMPTY = "SELECT NOT EXISTS (SELECT 1 FROM log WHERE kind NOT IN ('op', 'digest'))"
NEWEST_SEQ = "SELECT max(seq) FROM log"
LAST_DIGEST = """
SELECT d.upto, d.at FROM digest d JOIN log l ON l.seq = d.seq
WHERE d.actor = ? AND d.test = 0 AND l.origin = (SELECT origin FROM frontier WHERE local = 1)
ORDER BY d.seq DESC LIMIT 1"""
NEWEST_SEQ_BEFORE = "SELECT max(seq) FROM log WHERE seq > ? AND at < ?"
COUNTS = """
SELECT kind, actor, count(*) AS number FROM log
WHERE seq > ? AND test = 0 AND kind NOT IN ('op', 'digest')
GROUP BY kind, actor ORDER BY kind, actor"""
NOTABLE = f"""
SELECT seq, at, actor, 'opened' AS what, 'task' AS kind, id, title AS text
FROM task WHERE seq > ? AND test = 0
UNION ALL
SELECT r.seq, r.at, r.actor,
       CASE WHEN r.status IN ('open', 'active') THEN 'reopened' ELSE r.status END, 'task', t.id,
       t.title
FROM task_revision r JOIN task t ON t.id = r.task_id
WHERE r.seq > ? AND r.test = 0
  AND (r.status IN ('done', 'canceled', 'blocked')
       OR (r.status IN ('open', 'active')
           AND (SELECT b.status FROM task_revision b
                WHERE b.task_id = r.task_id AND b.rev < r.rev AND b.status IS NOT NULL
                ORDER BY b.rev DESC LIMIT 1) IN ('done', 'canceled')))
UNION ALL
SELECT seq, at, actor, lower(replace(conclusion, '_', ' ')), 'verification', id,
       substr(summary, 1, {TEXT_CHARS})
FROM verification WHERE seq > ? AND test = 0
UNION ALL
SELECT seq, at, actor, 'promoted to learning', 'learning', id, title FROM learning
WHERE seq > ? AND test = 0 AND gotcha_id IS NOT NULL
UNION ALL
SELECT seq, at, actor, 'promoted to learned', 'learned', id, title
FROM learned WHERE seq > ? AND test = 0
UNION ALL
SELECT seq, at, actor, 'new rule', 'policy', id, title FROM policy WHERE seq > ? AND test = 0
UNION ALL
SELECT r.seq, r.at, r.actor,
       CASE r.status WHEN 'retired' THEN 'rule retired' ELSE 'rule again in force' END, 'policy',
       p.id, p.title
FROM policy_revision r JOIN policy p ON p.id = r.policy_id WHERE r.seq > ? AND r.test = 0
ORDER BY 1 DESC LIMIT ?"""


def collect_changes(db: Reader, since: str | None) -> tuple[int, Part]:
    """Return (the number of the newest log entry, the part that lists the changes)."""
    newest_seq = db.value(NEWEST_SEQ) or 0
    last = None if since else db.one(LAST_DIGEST, (db.actor,))
    if last:
        start, moment = last["upto"], last["at"]
        period = f"Since your last digest, {format_clock(moment)}"
    else:
        moment = since or format_time(max(db.at_ms - FIRST_PERIOD_MS, 0))
        floor = max(newest_seq - READ_MAX - 1, 0)  # one more, to notice that READ_MAX is exceeded
        start = db.value(NEWEST_SEQ_BEFORE, (floor, moment)) or floor
        first_period = "This is your first digest. In the last 7 days"
        period = f"Since {format_clock(moment)}" if since else first_period
    floor = max(start, newest_seq - READ_MAX)
    by_kind: Counter[str] = Counter()
    by_actor: Counter[str] = Counter()
    for row in db.rows(COUNTS, (floor,)):
        by_kind[row["kind"]] += row["number"]
        by_actor["you" if row["actor"] == db.actor else row["actor"][:40]] += row["number"]
    numbers = "nothing"
    if by_kind:
        limit_note = f"more than {READ_MAX:,} entries, only the newest are counted; "
        actor_counts = _list_largest(
            by_actor, lambda name, number: f"by {name}: {number:,}", "by others"
        )
        kind_counts = _list_largest(by_kind, _format_kind, "others")
        numbers = f"{limit_note if floor > start else ''}{actor_counts}; {kind_counts}"
    items = []
    for row in db.rows(NOTABLE, (*(floor,) * NOTABLE.count("seq > ?"), ITEMS_MAX + 1)):
        actor = "you" if row["actor"] == db.actor else row["actor"]
        text = f"{row['what']}: {row['text']} ({actor}, {format_clock(row['at'])})"
        items.append(
            make_item(row["id"], text, f"kaizen {KINDS[row['kind']].shows} --id {row['id']}")
        )
    part = make_part(
        "changes",
        "What changed",
        items[:ITEMS_MAX],
        join_words(["kaizen", "R2", "--since", moment, "--format", "md", "--out", "-"]),
        len(items) > ITEMS_MAX,
        lead=f"{period}: {numbers}.",
    )
    return newest_seq, {**part, "since": moment}


def _list_largest(counter: Counter[str], describe: Callable[[str, int], str], others: str) -> str:
    """Return a text with the largest counts by name and the sum of the others."""
    ranking = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    texts = [describe(name, number) for name, number in ranking[:NAMED_MAX]]
    others_sum = sum(number for _, number in ranking[NAMED_MAX:])
    return ", ".join([*texts, *([f"{others}: {others_sum:,}"] if others_sum else [])])


def _format_kind(kind: str, number: int) -> str:
    """Return a number of records with the name of their kind, such as: 3 proofs."""
    words = kind.replace("_", " ")
    return f"{number:,} {words if number == 1 else KINDS[kind].plural or words + 's'}"
