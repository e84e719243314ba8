"""A verdict that was recorded, and the one that the same inputs give now: are they the same, and what has changed?"""

import json
from typing import Any

from ....records.ledger.canonical import canonical
from ...ask.feedback import fingerprint, line_of, still
from ...verdict import Verdict

NAMES = {
    "gate": "the code of the gates",
    "level": "the sandbox",
    "base_tree": "the base",
    "head_tree": "the candidate",
}
SHOWN_CHARS_MAX = 160
FINDINGS_MAX = 200  # as many as are recorded
LINES_MAX = 3
MISSING = "missing"
Row = dict[str, Any]


def compared(event: dict[str, Any], proof: dict[str, Any] | None, verdict: Verdict | None) -> Row:
    """One row of a replay; there is no verdict where nobody answered, and nothing speaks against asking now."""
    row = {"step": event["step"], "attempt": event["attempt"], "recorded": event["reason"]}
    if verdict is None:
        return {**row, "replayed": None, **_unanswered(event)}
    why = _why(event, verdict)
    return {
        **row, "replayed": verdict.reason, "same": not why, "why": why, "changed": _changed(event, proof, verdict),
    }  # fmt: skip


def _unanswered(event):
    """Who could not be asked is nothing to judge again; who was not asked because of an objection would be now."""
    if event["reason"] == MISSING:
        return {"same": None, "why": "Nobody answered, so there is nothing to judge again."}
    return {
        "same": False,
        "why": f"It was {event['reason']}, and nothing speaks against asking now.",
    }


def _why(event, verdict) -> str:
    """How the verdicts differ, in words; "" if they do not."""
    if event["reason"] != verdict.reason:
        return f"It was {event['reason']} and is {verdict.reason}: {_short(verdict.says)}"
    payload = event["payload"]
    was = _found(payload["findings"])
    now = _found([one.as_dict() for one in verdict.findings[:FINDINGS_MAX]])
    if was != now:
        gone, new = _lines(set(was) - set(now)), _lines(set(now) - set(was))
        return f"The findings differ. Not found now: {gone}. Found now: {new}."
    if payload["fingerprint"] != fingerprint(verdict):
        return "The same findings have another fingerprint."
    return ""


def _found(findings):
    """The findings without what differs between two runs of the same tool: times, addresses, private folders."""
    return sorted((one["path"], one["line"], one["rule"], still(one["text"])) for one in findings)


def _lines(found):
    lines = [
        line_of({"path": path, "line": line, "rule": rule, "text": text})
        for path, line, rule, text in sorted(found)
    ]
    more = f" and {len(lines) - LINES_MAX} more" if len(lines) > LINES_MAX else ""
    return "; ".join(map(_short, lines[:LINES_MAX])) + more if lines else "nothing"


def _changed(event, proof, verdict) -> list[str]:
    """What the verdict rests on or says and is not as it was; a change here is no other verdict."""
    was, now = _flat(event["payload"].get("facts", {})), _flat(json.loads(canonical(verdict.facts)))
    found = [
        _other(NAMES.get(name, name), was[name], now.get(name))
        for name in was
        if was[name] != now.get(name)
    ]
    last = verdict.runs[-1] if verdict.runs else None
    if proof and last:
        pairs = (
            ("the tree", proof["tree_hash"], last.tree),
            ("the box", proof["protection"], last.protection),
        )
        found += [_other(name, old, new) for name, old, new in pairs if old and new and old != new]
    if still(event["says"] or "") != still(verdict.says):
        found.append(_other("what it says", event["says"], verdict.says))
    return found


def _flat(facts):
    """Facts with each tool's version by the tool's own name, and without times, which are never the same again."""
    kept = {name: value for name, value in facts.items() if name not in ("versions", "ms")}
    return {**kept, **facts.get("versions", {})}


def _other(name, old, new):
    return f"{name} was {_short(old)} and is {_short(new)}"


def _short(value):
    text = (
        value
        if isinstance(value, str)
        else "nothing"
        if value is None
        else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 1] + "…"
