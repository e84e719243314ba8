"""A verdict that was recorded, and the one that the same inputs give now: are they the same, and what has changed?"""

import json
from typing import Any

from ....records.ledger.canonical import encode_canonical
from ...ask.feedback import describe_finding, fingerprint_verdict, mask_variable_parts
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


def compare_verdict(
    event: dict[str, Any], proof: dict[str, Any] | None, verdict: Verdict | None
) -> Row:
    """One row of a replay; there is no verdict where nobody answered, and nothing speaks against asking now."""
    row = {"step": event["step"], "attempt": event["attempt"], "recorded": event["reason"]}
    if verdict is None:
        return {**row, "replayed": None, **_unanswered(event)}
    why = _explain_difference(event, verdict)
    return {
        **row, "replayed": verdict.reason, "same": not why, "why": why, "changed": _list_changes(event, proof, verdict),
    }  # fmt: skip


def _unanswered(event):
    """Who could not be asked is nothing to judge again; who was not asked because of an objection would be now."""
    if event["reason"] == MISSING:
        return {"same": None, "why": "Nobody answered, so there is nothing to judge again."}
    return {
        "same": False,
        "why": f"It was {event['reason']}, and nothing speaks against asking now.",
    }


def _explain_difference(event, verdict) -> str:
    """How the verdicts differ, in words; "" if they do not."""
    if event["reason"] != verdict.reason:
        return f"It was {event['reason']} and is {verdict.reason}: {_shorten(verdict.says)}"
    payload = event["payload"]
    was = _found(payload["findings"])
    now = _found([one.as_dict() for one in verdict.findings[:FINDINGS_MAX]])
    if was != now:
        gone, new = _describe_findings(set(was) - set(now)), _describe_findings(set(now) - set(was))
        return f"The findings differ. Not found now: {gone}. Found now: {new}."
    if payload["fingerprint"] != fingerprint_verdict(verdict):
        return "The same findings have another fingerprint."
    return ""


def _found(findings):
    """The findings without what differs between two runs of the same tool: times, addresses, private folders."""
    return sorted(
        (one["path"], one["line"], one["rule"], mask_variable_parts(one["text"]))
        for one in findings
    )


def _describe_findings(found):
    lines = [
        describe_finding({"path": path, "line": line, "rule": rule, "text": text})
        for path, line, rule, text in sorted(found)
    ]
    more = f" and {len(lines) - LINES_MAX} more" if len(lines) > LINES_MAX else ""
    return "; ".join(map(_shorten, lines[:LINES_MAX])) + more if lines else "nothing"


def _list_changes(event, proof, verdict) -> list[str]:
    """What the verdict rests on or says and is not as it was; a change here is no other verdict."""
    was, now = (
        _flatten_facts(event["payload"].get("facts", {})),
        _flatten_facts(json.loads(encode_canonical(verdict.facts))),
    )
    found = [
        _describe_change(NAMES.get(name, name), was[name], now.get(name))
        for name in was
        if was[name] != now.get(name)
    ]
    last = verdict.runs[-1] if verdict.runs else None
    if proof and last:
        pairs = (
            ("the tree", proof["tree_hash"], last.tree),
            ("the box", proof["protection"], last.protection),
        )
        found += [
            _describe_change(name, old, new)
            for name, old, new in pairs
            if old and new and old != new
        ]
    if mask_variable_parts(event["says"] or "") != mask_variable_parts(verdict.says):
        found.append(_describe_change("what it says", event["says"], verdict.says))
    return found


def _flatten_facts(facts):
    """Facts with each tool's version by the tool's own name, and without times, which are never the same again."""
    kept = {name: value for name, value in facts.items() if name not in ("versions", "ms")}
    return {**kept, **facts.get("versions", {})}


def _describe_change(name, old, new):
    return f"{name} was {_shorten(old)} and is {_shorten(new)}"


def _shorten(value):
    text = (
        value
        if isinstance(value, str)
        else "nothing"
        if value is None
        else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 1] + "…"
