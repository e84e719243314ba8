"""Build the digest (R0): what a new session must know, within a budget of tokens.

The digest is recorded. Its times are in UTC. The same database, time and working tree give the same
text. No query reads more than the newest few thousand rows of a table, so a million records cost no
more than a thousand.
"""

from __future__ import annotations

from ...errors import KaizenError
from ...records.files.recent_files import list_recent_files
from ...records.ledger.canonical import encode_compact
from ...records.ledger.hashing import sha256
from ...records.work.command_line import join_words
from ...records.work.policy import IN_FORCE, estimate_tokens
from . import news as digest_news
from .budget import (
    BUDGET_MAX,
    TOKEN_EXPLANATION,
    FittedText,
    count_tokens,
    fit_text,
    make_item,
    make_part,
)
from .parts import collect_parts, format_clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, ReadNow, Row, Store, WriteLater, Writer
    from .budget import Part

WRITE_WAIT_S = 2.0  # for the write lock: a session should not wait until its digest is recorded
ACTOR_CHARS = 24
FIRST_STEPS = {
    "Starts a task:": 'kaizen W1 --title "…" --summary "…"',
    "Runs a command and records the result:": "kaizen Q1 --task-id @last --run -- pytest -q",
    "Records a rule that every session will see here:": (
        'kaizen X1 --title "…" --summary "…" --priority critical'
    ),
}


def build_digest(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    budget: int,
    scope: str | None,
    query: str | None,
    since: str | None,
    format: str,
    session: str | None = None,
) -> Row:
    """Compose the digest and record it. If recording fails, the next digest repeats some news."""
    try:
        digest = compose_digest(look, store.place.root, budget, scope, query, since)
    except KaizenError as error:
        if format != "hook":
            raise
        return _wrap_for_hook(  # a hook never breaks its host
            {"text": f"Kaizen cannot read its records: {error.what} {error.next}"}
        )
    values = {
        **{name: digest[name] for name in ("upto", "budget", "tokens")},
        "sha256": sha256(digest["text"].encode()),
        "scope": scope,
        "query": query,
        "session": session,
    }

    def record(tx: Writer) -> Row:
        return {"id": tx.add("digest", values)["id"], "sha256": values["sha256"], **digest}

    store.limit_wait(WRITE_WAIT_S)
    try:
        answer = write(record)
    except KaizenError as error:
        store.notes.append(f"This digest was not recorded. {error.what}")
        answer = {"sha256": values["sha256"], **digest}
    finally:
        store.limit_wait(None)
    if format == "json":
        answer.pop("text")
    return _wrap_for_hook(answer) if format == "hook" else answer


def compose_digest(
    look: ReadNow, root: str, budget: int, scope: str | None, query: str | None, since: str | None
) -> Row:
    """Collect the parts and fit them into the budget."""
    paths = list_recent_files(root) if query is None else []
    db = look()
    db.hold_snapshot()
    try:
        upto, news = digest_news.collect_changes(db, since)
        parts = [*collect_parts(db, scope, query, paths), news]
        rules, tokens = _load_rules(db, scope)
        at, actor = db.at, db.actor
        if db.value(digest_news.IS_EMPTY):
            items = [make_item("", text, command) for text, command in FIRST_STEPS.items()]
            parts = [make_part("first steps", "Nothing is recorded yet", items, "kaizen --help")]
    finally:
        db.release_snapshot()
    larger_digest = ["kaizen", "R0", "--budget", str(min(budget * 4, BUDGET_MAX))]
    # Repeat --since: without it, the larger digest would have only the news since this digest.
    for option, value in (("--scope", scope), ("--query", query), ("--since", news["since"])):
        larger_digest += [option, value] if value else []
    fitted_text = FittedText(
        f"# Kaizen digest for {fit_text(actor, ACTOR_CHARS)}, {format_clock(at)}\n\n"
        f"{upto:,} log entr{'y' if upto == 1 else 'ies'}; at most {budget:,} tokens, "
        "4 characters each.",
        rules if rules["items"] or rules["beyond"] else None,
        f"**CRITICAL RULES DO NOT FIT. First run `kaizen X5 --budget {tokens}`.**",
        [part for part in parts if part["items"] or part["lead"]],
        budget,
        join_words(larger_digest),
    )
    part_records = []
    for part in fitted_text.parts:
        items = fitted_text.get_items(part)
        part_records.append(
            {
                "name": part["name"],
                "items": items,
                "left_out": len(part["items"]) - len(items) + part["beyond"],
                "more": part["more"],
                "rest": part["rest"],
                **({"says": part["lead"]} if part["lead"] else {}),
            }
        )
    return {
        "at": at,
        "actor": actor,
        "upto": upto,
        "budget": budget,
        "tokens": count_tokens(fitted_text.text + "\n"),
        "counted": TOKEN_EXPLANATION,
        "critical_rules_fit": not fitted_text.overflows,
        "parts": part_records,
        "text": fitted_text.text,
    }


def _load_rules(db: Reader, scope: str | None) -> tuple[Part, int]:
    """Return the part with the critical rules, and the budget that X5 needs to show all rules."""
    rules = db.rows(IN_FORCE, (scope, scope))
    items = []
    for row in rules:
        if row["priority"] == "critical":
            when = f" When: {row['when']}" if row["when"] else ""
            text = f"{row['title']}: {row['rule']}{when}"
            items.append(make_item(row["id"], text, f"kaizen X4 --id {row['id']}"))
    part = make_part(
        "rules",
        "Critical rules" if items else "Rules",
        items,
        join_words(["kaizen", "X5", *(["--scope", scope] if scope else [])]),
        beyond=len(rules) - len(items),
        lead="" if items else "No rule is critical.",
    )
    all_rules = db.rows(IN_FORCE, (None, None))
    return part, sum(estimate_tokens({**row, "seq": ""}) for row in all_rules)


def _wrap_for_hook(answer: Row) -> Row:
    """Return what a SessionStart hook prints: one JSON object with the text in it."""
    output = {"hookEventName": "SessionStart", "additionalContext": answer["text"]}
    hook = {"hookSpecificOutput": output}
    return {**answer, **hook, "text": encode_compact(hook)}
