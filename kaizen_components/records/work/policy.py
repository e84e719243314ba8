"""Rules that sessions must know: list them, retire them, and fit them into a budget of tokens."""

from __future__ import annotations

from ...errors import Conflict
from ...limits import PRIORITY
from ..ledger import revision
from ..search import full_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row, Writer

CHARACTERS_A_TOKEN = 4
COUNTED = (
    "A token is four characters of a rule as printed, rounded up. Only rules count. They are listed "
    "whole and by priority; a smaller rule may follow one that did not fit."
)
# The most urgent first.
RANK = f"instr('{' '.join(PRIORITY)}', priority)"
COLUMNS = "id, priority, status, scope, at, test, title"

LIST = f"SELECT {COLUMNS} FROM policy_current {{where}} ORDER BY {RANK}, seq DESC LIMIT ?"
IN_FORCE = f"""
SELECT seq, priority, title, summary AS rule, trigger AS "when", scope, id FROM policy_current
WHERE status = 'active' AND test = 0 AND (? IS NULL OR scope IN (?, 'project')) ORDER BY {RANK}, seq"""
RETIRED = """
SELECT at, actor, note FROM policy_revision WHERE policy_id = ? AND status = 'retired' ORDER BY rev DESC LIMIT 1"""


def list_policies(
    db: Reader, limit: int, status: str | None, priority: str | None, scope: str | None
) -> Row:
    """List rules, the most important first, and among equals the newest."""
    filters = {"status = ?": status, "priority = ?": priority, "scope = ?": scope}
    active_filters = {sql: value for sql, value in filters.items() if value is not None}
    where = "WHERE " + " AND ".join(active_filters) if active_filters else ""
    rows = db.rows(LIST.format(where=where), (*active_filters.values(), limit + 1))
    records = [{**row, "test": bool(row["test"])} for row in rows[:limit]]
    return {"records": records, "count": len(records), "more": len(rows) > limit}


def retire_policy(tx: Writer, policy: Row, reason: str) -> Row:
    """Retire a rule with a reason; raise Conflict if it is retired already."""
    if policy["status"] == "retired":
        before = tx.one(RETIRED, (policy["id"],))
        assert before, "a retired rule has the revision that retired it"
        raise Conflict(
            "already_retired",
            f"{policy['id']} is already retired.",
            f"{before['actor']} retired it at {before['at']}: {before['note']}",
            "`X4` shows its history, `X1` records a new rule.",
        )
    return revision.add_revision(tx, "policy", policy, {"status": "retired", "note": reason})


def build_session_context(db: Reader, budget: int, scope: str | None, query: str | None) -> Row:
    """Return the active rules that fit the budget, and those that do not.

    Rules are sorted by priority, then by the number of words shared with the query, then by search
    rank, then by age.
    """
    active = db.rows(IN_FORCE, (scope, scope))
    if query:
        ranked = full_text.find_best(db, query, "policy", max(len(active), 1_000))
        place = {seq: at for at, (_, seq) in enumerate(ranked)}
        order = list(dict.fromkeys(row["priority"] for row in active))
        active.sort(
            key=lambda row: (
                order.index(row["priority"]),
                -count_common_words(query, row["when"] or ""),
                place.get(row["seq"], len(place)),
                row["seq"],
            )
        )
    rules, left_out, used_tokens = [], [], 0
    for rule in active:
        del rule["seq"]
        needed = estimate_tokens(rule)
        if used_tokens + needed <= budget:
            rules.append(rule)
            used_tokens += needed
        else:
            facts = {name: rule[name] for name in ("priority", "title", "id")}
            left_out.append(facts | {"tokens": needed})
    missing = sum(row["tokens"] for row in left_out)
    critical = [row["id"] for row in left_out if row["priority"] == "critical"]
    remark = {}
    if critical:
        warning = f"Critical rules did not fit: {', '.join(critical)}."
        remark["warning"] = f"{warning} --budget {used_tokens + missing} holds all rules."
    elif left_out:
        remark["hint"] = (
            f"--budget {used_tokens + missing} holds all rules; `X4 --id ID` shows one."
        )
    elif not rules:
        where = f" for the scope {scope}" if scope else ""
        step = "`X1 --title … --summary … --priority critical` records one."
        remark["hint"] = f"No rule is active{where}. {step}"
    return {
        **remark,
        "complete": not left_out,
        "budget": budget,
        "tokens": used_tokens,
        "left_out_tokens": missing,
        "counted": COUNTED,
        "rules": rules,
        "left_out": left_out,
    }


def estimate_tokens(rule: Row) -> int:
    """Estimate the tokens of a rule from its text output without line wrapping."""
    return -(-len(render_rule(rule)) // CHARACTERS_A_TOKEN)


def render_rule(rule: Row) -> str:
    """Return a rule as the text output prints it, one line for each field."""
    width = max(map(len, rule))
    lines = []
    for name, value in rule.items():
        first, *others = (value or "").split("\n")
        lines += [f"  {name:<{width}}  {first}"] if value else []
        lines += [" " * (width + 4) + line for line in others]
    return "\n".join(lines) + "\n"


def count_common_words(query: str, text: str) -> int:
    """Count the words of the query that occur in the text, also in another form."""
    words = _split_words(text)
    return sum(any(are_alike(word, other) for other in words) for word in _split_words(query))


def _split_words(text: str) -> set[str]:
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return {word for word in words if len(word) > 2}


def are_alike(word: str, other: str) -> bool:
    """Return whether two words, such as release and releasing, differ only at the end."""
    common = 0  # letters at the start
    while common < min(len(word), len(other)) and word[common] == other[common]:
        common += 1
    return word == other or common >= max(4, min(len(word), len(other)) - 1)
