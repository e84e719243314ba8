"""Compare a recorded verdict with the verdict of a replay."""

from __future__ import annotations

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
FindingKey = tuple[str, int, str, str]


def compare_verdict(
    event: dict[str, Any], proof: dict[str, Any] | None, verdict: Verdict | None
) -> Row:
    """Return one row of a replay; `verdict` is None if there was no answer to check."""
    row = {"step": event["step"], "attempt": event["attempt"], "recorded": event["reason"]}
    if verdict is None and event["reason"] == MISSING:
        why = "There was no answer, so there is nothing to replay."
        return {**row, "replayed": None, "same": None, "why": why}
    if verdict is None:
        why = f"It was {event['reason']} without an answer; now the question would be asked."
        return {**row, "replayed": None, "same": False, "why": why}
    payload = event["payload"]
    why = ""
    recorded_keys = _list_keys(payload["findings"])
    replayed_keys = _list_keys([finding.as_dict() for finding in verdict.findings[:FINDINGS_MAX]])
    if event["reason"] != verdict.reason:
        why = f"It was {event['reason']} and is {verdict.reason}: {_shorten(verdict.says)}"
    elif recorded_keys != replayed_keys:
        missing_findings = _describe_keys(set(recorded_keys) - set(replayed_keys))
        new_findings = _describe_keys(set(replayed_keys) - set(recorded_keys))
        why = f"The findings differ. Not found now: {missing_findings}. Found now: {new_findings}."
    elif payload["fingerprint"] != fingerprint_verdict(verdict):
        why = "The findings are the same, but their fingerprint differs."
    changes = _list_changes(event, proof, verdict)
    return {**row, "replayed": verdict.reason, "same": not why, "why": why, "changed": changes}


def _list_keys(findings: list[dict[str, Any]]) -> list[FindingKey]:
    """Return the sorted keys of findings, without times, addresses and temporary folders."""
    return sorted(
        (finding["path"], finding["line"], finding["rule"], mask_variable_parts(finding["text"]))
        for finding in findings
    )


def _describe_keys(keys: set[FindingKey]) -> str:
    """Return the first LINES_MAX findings in words, and the number of the others."""
    lines = [
        describe_finding({"path": path, "line": line, "rule": rule, "text": text})
        for path, line, rule, text in sorted(keys)
    ]
    more = f" and {len(lines) - LINES_MAX} more" if len(lines) > LINES_MAX else ""
    return "; ".join(map(_shorten, lines[:LINES_MAX])) + more if lines else "nothing"


def _list_changes(
    event: dict[str, Any], proof: dict[str, Any] | None, verdict: Verdict
) -> list[str]:
    """Describe changes of tools, sandbox and wording; the verdict may still be the same."""
    old_facts = _flatten_facts(event["payload"].get("facts", {}))
    new_facts = _flatten_facts(json.loads(encode_canonical(verdict.facts)))
    pairs = [
        (NAMES.get(name, name), old_facts[name], new_facts.get(name))
        for name in old_facts
        if old_facts[name] != new_facts.get(name)
    ]
    last = verdict.runs[-1] if verdict.runs else None
    if proof and last:
        for name, old, new in (
            ("the tree", proof["tree_hash"], last.tree),
            ("the box", proof["protection"], last.protection),
        ):
            if old and new and old != new:
                pairs.append((name, old, new))
    if mask_variable_parts(event["says"] or "") != mask_variable_parts(verdict.says):
        pairs.append(("what it says", event["says"], verdict.says))
    return [f"{name} was {_shorten(old)} and is {_shorten(new)}" for name, old, new in pairs]


def _flatten_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts without times, and with the version of each tool under its name."""
    others = {name: value for name, value in facts.items() if name not in ("versions", "ms")}
    return {**others, **facts.get("versions", {})}


def _shorten(value: Any) -> str:
    """Return a value as text of at most SHOWN_CHARS_MAX characters."""
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 1] + "…"
