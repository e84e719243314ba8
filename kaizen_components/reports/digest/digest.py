"""R0: everything that a new session must know, within a budget of tokens, and a record of what it was told.

The clock is that of the call; the same database, clock and working tree give the same text, in UTC. No question reads
more than the newest few thousand rows of a table, so that a million records cost no more than a thousand.
"""

from typing import Any

from ...errors import KaizenError
from ...records.files.recent_files import list_recent_files
from ...records.ledger.canonical import encode_compact
from ...records.ledger.hashing import sha256
from ...records.work.command_line import join_words
from ...records.work.policy import IN_FORCE
from ...records.work.policy import estimate_tokens as rule_tokens
from . import news as digest_news
from . import parts as digest_part
from .budget import (
    COUNTED,
    FittedText,
    count_tokens,
    enlarge_budget,
    fit_text,
    make_item,
    make_part,
)

PATIENCE_S = 2.0  # for the write gate: a session does not wait for a record of its digest
ACTOR_CHARS = 24
FIRST = (
    ("starts a task", 'kaizen W1 --title "…" --summary "…"'),
    ("runs a command and records what was seen", "kaizen Q1 --task-id @last --run -- pytest -q"),
    (
        "records a rule that every session will see here",
        'kaizen X1 --title "…" --summary "…" --priority critical',
    ),
)


def build_digest(
    write, look, store, budget: int, scope, query, since, format: str, session=None
) -> dict[str, Any]:
    try:
        made = _made(look, store.place.root, budget, scope, query, since)
    except KaizenError as error:
        if format != "hook":
            raise
        return _hooked(
            {"text": f"Kaizen cannot read its records: {error.what} {error.next}"}
        )  # and the host goes on
    told = _recorded(write, store, made, scope, query, session)
    if format == "json":
        told.pop("text")
    return _hooked(told) if format == "hook" else told


def _made(look, root, budget, scope, query, since):
    """Ask, and fit the answers into the budget."""
    paths = list_recent_files(root) if query is None else []
    db = look()
    db.hold()
    try:
        upto, news = digest_news.collect_changes(db, since)
        parts = [*digest_part.collect_parts(db, scope, query, paths), news]
        rules, needed = _rules(db, scope)
        at, actor = db.at, db.actor
        parts = (
            [_first()]
            if db.value(digest_news.IS_EMPTY)
            else [one for one in parts if one["items"] or one["lead"]]
        )
    finally:
        db.let_go()
    whole = rules if rules["items"] or rules["beyond"] else None
    narrowed = (
        ("--scope", scope),
        ("--query", query),
        ("--since", news["since"]),
    )  # or the next one says "nothing"
    again = join_words(
        [
            "kaizen",
            "R0",
            "--budget",
            str(enlarge_budget(budget)),
            *(w for pair in narrowed if pair[1] for w in pair),
        ]
    )
    fitted = FittedText(
        _head(at, actor, upto, budget), whole, _warning(needed), parts, budget, again
    )
    return {
        "at": at, "actor": actor, "upto": upto, "budget": budget, "tokens": count_tokens(fitted.text + "\n"),
        "counted": COUNTED, "critical_rules_fit": not fitted.overflows, "parts": _data(fitted), "text": fitted.text,
    }  # fmt: skip


def _head(at, actor, upto, budget):
    entries = f"{upto:,} log entr{'y' if upto == 1 else 'ies'}"
    return (
        f"# Kaizen digest for {fit_text(actor, ACTOR_CHARS)}, {at[:10]} {at[11:16]}Z\n\n"
        f"{entries}; at most {budget:,} tokens, 4 characters each."
    )


def _warning(needed):
    return f"**CRITICAL RULES DO NOT FIT. First run `kaizen X5 --budget {needed}`.**"


def _rules(db, scope):
    """(the part, the budget that X5 needs for every rule): critical ones whole, the others as a number."""
    found = db.rows(IN_FORCE, (scope, scope))
    rest = ["kaizen", "X5", *(["--scope", scope] if scope else [])]
    critical = [row for row in found if row["priority"] == "critical"]
    items = [
        make_item(
            row["id"],
            f"{row['title']}: {row['rule']}" + (f" When: {row['when']}" if row["when"] else ""),
            f"kaizen X4 --id {row['id']}",
        )
        for row in critical
    ]
    others = len(found) - len(critical)
    lead = "" if critical else "None is critical."
    made = make_part(
        "rules",
        "Critical rules" if critical else "Rules",
        items,
        join_words(rest),
        beyond=others,
        lead=lead,
    )
    return made, sum(rule_tokens({**row, "seq": ""}) for row in db.rows(IN_FORCE, (None, None)))


def _first():
    items = [make_item("", f"{what[0].upper()}{what[1:]}:", command) for what, command in FIRST]
    return make_part("first steps", "Nothing is recorded yet", items, "kaizen --help")


def _data(fitted):
    """What the text shows, as data."""
    return [
        {
            "name": one["name"],
            "items": fitted.items(one),
            "left_out": len(one["items"]) - len(fitted.items(one)) + one["beyond"],
            "more": one["more"],
            "rest": one["rest"],
            **({"says": one["lead"]} if one["lead"] else {}),
        }
        for one in fitted.parts
    ]


def _recorded(write, store, made, scope, query, session):
    """Who was told what and up to where; without it the answer is as good, and the next one says more than is new."""
    values = {name: made[name] for name in ("upto", "budget", "tokens")}
    values |= {
        "sha256": sha256(made["text"].encode()),
        "scope": scope,
        "query": query,
        "session": session,
    }

    def record(tx):
        return {"id": tx.add("digest", values)["id"], "sha256": values["sha256"], **made}

    store.limit_wait(PATIENCE_S)
    try:
        return write(record)
    except KaizenError as error:
        store.notes.append(f"This digest was not recorded. {error.what}")
        return {"sha256": values["sha256"], **made}
    finally:
        store.limit_wait(None)


def _hooked(told):
    """What a SessionStart hook prints: one object, and the text is in it."""
    said = {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": told["text"]}
    }
    return {**told, **said, "text": encode_compact(said)}
