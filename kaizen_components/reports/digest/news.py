"""What changed since an actor was last told, or since a moment: numbers by kind and by whom, and what matters by name.

The log is in order, so what is new is its end. At most READ_MAX entries of it are read.
"""

from collections import Counter

from ...records.ids import format_time
from ...records.kinds import KINDS
from ...records.work.command_line import join_words
from .budget import Part, make_item, make_part
from .parts import GATHERED, TEXT_CHARS, format_clock

READ_MAX = 5_000
FIRST_MS = 7 * 86_400_000
NAMED = 3  # actors and kinds that are told by name

IS_EMPTY = "SELECT NOT EXISTS (SELECT 1 FROM log WHERE kind NOT IN ('op', 'digest'))"
END = "SELECT max(seq) FROM log"
LAST = """
SELECT d.upto, d.at FROM digest d JOIN log l ON l.seq = d.seq
WHERE d.actor = ? AND d.test = 0 AND l.origin = (SELECT origin FROM frontier WHERE local = 1)
ORDER BY d.seq DESC LIMIT 1"""
OLDER = "SELECT max(seq) FROM log WHERE seq > ? AND at < ?"
COUNTS = """
SELECT kind, actor, count(*) AS number FROM log
WHERE seq > ? AND test = 0 AND kind NOT IN ('op', 'digest') GROUP BY kind, actor ORDER BY kind, actor"""
NOTABLE = f"""
SELECT seq, at, actor, 'opened' AS what, 'task' AS kind, id, title AS text FROM task WHERE seq > ? AND test = 0
UNION ALL
SELECT r.seq, r.at, r.actor, CASE WHEN r.status IN ('open', 'active') THEN 'reopened' ELSE r.status END, 'task', t.id,
       t.title
FROM task_revision r JOIN task t ON t.id = r.task_id
WHERE r.seq > ? AND r.test = 0
  AND (r.status IN ('done', 'canceled', 'blocked')
       OR (r.status IN ('open', 'active')
           AND (SELECT b.status FROM task_revision b
                WHERE b.task_id = r.task_id AND b.rev < r.rev AND b.status IS NOT NULL
                ORDER BY b.rev DESC LIMIT 1) IN ('done', 'canceled')))
UNION ALL
SELECT seq, at, actor, lower(replace(conclusion, '_', ' ')), 'verification', id, substr(summary, 1, {TEXT_CHARS})
FROM verification WHERE seq > ? AND test = 0
UNION ALL
SELECT seq, at, actor, 'promoted to learning', 'learning', id, title FROM learning
WHERE seq > ? AND test = 0 AND gotcha_id IS NOT NULL
UNION ALL
SELECT seq, at, actor, 'promoted to learned', 'learned', id, title FROM learned WHERE seq > ? AND test = 0
UNION ALL
SELECT seq, at, actor, 'new rule', 'policy', id, title FROM policy WHERE seq > ? AND test = 0
UNION ALL
SELECT r.seq, r.at, r.actor, CASE r.status WHEN 'retired' THEN 'rule retired' ELSE 'rule again in force' END, 'policy',
       p.id, p.title
FROM policy_revision r JOIN policy p ON p.id = r.policy_id WHERE r.seq > ? AND r.test = 0
ORDER BY 1 DESC LIMIT ?"""


def collect_changes(db, since: str | None) -> tuple[int, Part]:
    """(how far the log goes, the part)"""
    end = db.value(END) or 0
    start, from_when, told = _start(db, end, since)
    read = max(start, end - READ_MAX)
    numbers = db.rows(COUNTS, (read,))
    found = db.rows(NOTABLE, (*(read,) * NOTABLE.count("seq > ?"), GATHERED + 1))
    items = [
        make_item(row["id"], _says(db, row), f"kaizen {KINDS[row['kind']].shows} --id {row['id']}")
        for row in found
    ]
    again = ["kaizen", "R2", "--since", from_when, "--format", "md", "--out", "-"]
    lead = f"{told}: {_counted(db, numbers, read > start) if numbers else 'nothing'}."
    made = make_part(
        "changes",
        "What changed",
        items[:GATHERED],
        join_words(again),
        len(items) > GATHERED,
        lead=lead,
    )
    return end, {**made, "since": from_when}


def _start(db, end, since):
    """(the last entry that is known already, from when that is, the same in words)"""
    last = None if since else db.one(LAST, (db.actor,))
    if last:
        return last["upto"], last["at"], f"Since your last digest, {format_clock(last['at'])}"
    moment = since or format_time(max(db.at_ms - FIRST_MS, 0))
    floor = max(end - READ_MAX - 1, 0)  # one more, so that the limit shows
    start = db.value(OLDER, (floor, moment)) or floor
    told = (
        f"Since {format_clock(moment)}"
        if since
        else "This is your first digest. In the last 7 days"
    )
    return start, moment, told


def _counted(db, numbers, is_cut):
    by_kind: Counter[str] = Counter()
    by_actor: Counter[str] = Counter()
    for row in numbers:
        by_kind[row["kind"]] += row["number"]
        by_actor["you" if row["actor"] == db.actor else row["actor"][:40]] += row["number"]
    limit = f"more than {READ_MAX:,} entries, of which the newest are counted; " if is_cut else ""
    return f"{limit}{_most(by_actor, 'by {}: {:,}', 'by others: {:,}')}; {_most(by_kind, '', 'others: {:,}')}"


def _most(counter, form, rest):
    """The largest by name, the others as one number."""
    ranked = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [
        form.format(name, number) if form else _plural(name, number)
        for name, number in ranked[: 2 * NAMED]
    ]
    left = sum(number for _, number in ranked[2 * NAMED :])
    return ", ".join([*shown, *([rest.format(left)] if left else [])])


def _plural(kind, number):
    words = kind.replace("_", " ")
    return f"{number:,} {words if number == 1 else KINDS[kind].plural or words + 's'}"


def _says(db, row):
    who = "you" if row["actor"] == db.actor else row["actor"]
    return f"{row['what']}: {row['text']} ({who}, {format_clock(row['at'])})"
