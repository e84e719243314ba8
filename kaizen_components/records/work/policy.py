"""Rules that sessions must know: how they are listed, retired, and fitted into a budget of tokens."""

from ...errors import Conflict
from ...limits import PRIORITY
from ..ledger import revision
from ..search import full_text

CHARACTERS_A_TOKEN = 4
COUNTED = (
    "A token is four characters of a rule as printed, rounded up; only rules count. They come whole and by priority; "
    "after one that does not fit, a smaller one may."
)
# The place in that text, the most urgent first.
RANK = f"instr('{' '.join(PRIORITY)}', priority)"
COLUMNS = "id, priority, status, scope, at, test, title"

LIST = f"SELECT {COLUMNS} FROM policy_current {{where}} ORDER BY {RANK}, seq DESC LIMIT ?"
IN_FORCE = f"""
SELECT seq, priority, title, summary AS rule, trigger AS "when", scope, id FROM policy_current
WHERE status = 'active' AND test = 0 AND (? IS NULL OR scope IN (?, 'project')) ORDER BY {RANK}, seq"""
RETIRED = """
SELECT at, actor, note FROM policy_revision WHERE policy_id = ? AND status = 'retired' ORDER BY rev DESC LIMIT 1"""


def list_policies(db, limit, status, priority, scope):
    """The most important first, and among equals the newest."""
    filters = {"status = ?": status, "priority = ?": priority, "scope = ?": scope}
    chosen = {sql: value for sql, value in filters.items() if value is not None}
    where = "WHERE " + " AND ".join(chosen) if chosen else ""
    found = db.rows(LIST.format(where=where), (*chosen.values(), limit + 1))
    records = [{**row, "test": bool(row["test"])} for row in found[:limit]]
    return {"records": records, "count": len(records), "more": len(found) > limit}


def retire_policy(tx, policy, reason):
    if policy["status"] == "retired":
        before = tx.one(RETIRED, (policy["id"],))
        raise Conflict(
            "already_retired",
            f"{policy['id']} is retired already.",
            f"{before['actor']} retired it at {before['at']}: {before['note']}",
            "Nothing is left to do; `X4` shows its history, `X1` records a new rule.",
        )
    return revision.add_revision(tx, "policy", policy, {"status": "retired", "note": reason})


def build_session_context(db, budget, scope, query):
    """The rules in force that fit the budget, and which did not."""
    rules, left_out, used = [], [], 0
    for rule in _in_order(db, scope, query):
        needed = estimate_tokens(rule)
        if used + needed <= budget:
            rules.append(rule)
            used += needed
        else:
            left_out.append(
                {name: rule[name] for name in ("priority", "title", "id")} | {"tokens": needed}
            )
    missing = sum(row["tokens"] for row in left_out)
    return {
        **_remarks(rules, left_out, scope, used + missing),
        "complete": not left_out,
        "budget": budget,
        "tokens": used,
        "left_out_tokens": missing,
        "counted": COUNTED,
        "rules": rules,
        "left_out": left_out,
    }


def estimate_tokens(rule):
    """What a rule costs, estimated from its card as the text face prints it where no line has to wrap."""
    return -(-len(render_rule(rule)) // CHARACTERS_A_TOKEN)


def render_rule(rule):
    label = max(map(len, rule))
    lines = []
    for name, value in rule.items():
        first, *rest = (value or "").split("\n")
        lines += [f"  {name:<{label}}  {first}"] if value else []
        lines += [" " * (label + 4) + line for line in rest]
    return "\n".join(lines) + "\n"


def _remarks(rules, left_out, scope, all_tokens):
    """What a reader must see before the rules."""
    critical = [row["id"] for row in left_out if row["priority"] == "critical"]
    if critical:
        return {
            "warning": f"Critical rules did not fit: {', '.join(critical)}. --budget {all_tokens} holds all rules."
        }
    if left_out:
        return {"hint": f"--budget {all_tokens} holds all rules; `X4 --id ID` shows one."}
    if not rules:
        where = f" for the scope {scope}" if scope else ""
        return {
            "hint": f"No rule is in force{where}. `X1 --title … --summary … --priority critical` records one."
        }
    return {}


def _in_order(db, scope, query):
    """By priority; then what the words of the query find, by its trigger first; then the oldest, which is stable."""
    found = db.rows(IN_FORCE, (scope, scope))
    if query:
        ranked = full_text.find_best(db, query, "policy", max(len(found), 1_000))
        place = {seq: at for at, (_, seq) in enumerate(ranked)}
        order = list(dict.fromkeys(row["priority"] for row in found))
        found.sort(
            key=lambda row: (
                order.index(row["priority"]),
                -_words_in_common(query, row["when"] or ""),
                place.get(row["seq"], len(place)),
                row["seq"],
            )
        )
    return [{name: value for name, value in row.items() if name != "seq"} for row in found]


def _words_in_common(query, text):
    """How many words of the query the text has, in whatever form."""
    there = _words(text)
    return sum(any(_alike(word, other) for other in there) for word in _words(query))


def _words(text):
    return {
        word
        for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split()
        if len(word) > 2
    }


def _alike(one, other):
    """The same word, or two forms of it, such as release and releasing: alike but for the end of the shorter."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one == other or same >= max(4, min(len(one), len(other)) - 1)
