"""What whoever is asked again is told: what was found, what of it is still there, and what must not come back.

Made from the judged events of a run alone, so that the same history gives the same words.
"""

import hashlib
import re
from typing import Any

from ..verdict import Verdict

FINDINGS_MAX = 20
FIXED_MAX = 10
TEXT_CHARS_MAX = 700
CHARS_MAX = 6_000
FORM = ("form",)  # of an answer: nothing that could come back in the code
MOVES = (  # what differs between two runs that fail in the same way
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "0x…"),
    (re.compile(r"\bline \d+"), "line N"),
    (re.compile(r":\d+(?=[:)\s]|$)"), ":N"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds)\b"), "N s"),
    (re.compile(r"[/\\]AI[/\\]work[/\\](?:runs|replays)[/\\]\S+"), "/AI/work/…"),
    (re.compile(r"/tmp/\S+"), "/tmp/…"),
)
Judged = dict[str, Any]
Key = tuple[str, str, str]


def write_feedback(history: list[Judged], step: str, plans: frozenset[str]) -> str:
    """The findings of the verdicts that sent the run back to this step, the newest first; "" for a first attempt."""
    history = select_current(history, step, plans)
    sent = _select_failures(history, step)
    if not sent:
        return ""
    newest = sent[-1]
    before = {
        _finding_key(one)
        for event in sent[:-1]
        if event["step"] == newest["step"]
        for one in _findings(event)
    }
    parts = [_describe_verdict(newest, before)]
    for gate in dict.fromkeys(event["step"] for event in reversed(sent[:-1])):
        last = next(event for event in reversed(history) if event["step"] == gate)
        if gate != newest["step"] and last["reason"] != "pass":
            parts.append("Not looked at again yet:\n" + _describe_verdict(last, set()))
    fixed = _list_fixed(history, sent)
    if fixed:
        parts.append(
            "Found before and not now; it must not come back:\n"
            + "\n".join(f"- {line}" for line in fixed)
        )
    return _cut_text("\n\n".join(parts), CHARS_MAX)


def fingerprint_verdict(verdict: Verdict) -> str:
    """The same text for the same failure, whatever its lines, times and addresses are; "" for a pass."""
    if verdict.is_pass:
        return ""
    found: list[Any] = sorted(
        {(one.path, one.rule, mask_variable_parts(one.text)) for one in verdict.findings}
    )
    found = found or [mask_variable_parts(verdict.says)]
    return hashlib.sha256(repr((verdict.reason, found)).encode("utf-8", "replace")).hexdigest()[:32]


def select_current(history: list[Judged], step: str, plans: frozenset[str]) -> list[Judged]:
    """What was judged since the plan that holds: a new one makes what was said about older work void.

    `plans` are the steps that clear others. For a plan itself all of it counts.
    """
    if step in plans:
        return history
    at = max(
        (
            at
            for at, event in enumerate(history)
            if event["step"] in plans and event["reason"] == "pass"
        ),
        default=-1,
    )
    return history[at + 1 :]


def _select_failures(history, step):
    """Each failure after which this step came next: that is what it sent the run back to."""
    following = [*(event["step"] for event in history), step][1:]
    return [
        event
        for event, then in zip(history, following, strict=True)
        if event["reason"] != "pass" and then == step
    ]


def _describe_verdict(event, before):
    """One verdict: a heading, and its findings sorted and capped."""
    found = sorted(
        _findings(event), key=lambda one: (one["path"], one["line"], one["rule"], one["text"])
    )
    head = f"{event['step']} {event['attempt']} ended with {event['reason']}: {_cut_text(event['says'] or '', TEXT_CHARS_MAX)}"
    lines = [
        f"- {describe_finding(one)}{' (again)' if _finding_key(one) in before else ''}"
        for one in found[:FINDINGS_MAX]
    ]
    more = [f"- … and {len(found) - FINDINGS_MAX} more"] if len(found) > FINDINGS_MAX else []
    if [one["text"] for one in found] == [event["says"]]:
        return head  # it would only be said twice
    return "\n".join([head, *lines, *more])


def _list_fixed(history, sent):
    """What the newest verdict of the same step does not find any more."""
    gone: dict[Key, str] = {}
    for event in sent:
        last = next(one for one in reversed(history) if one["step"] == event["step"])
        there = {_finding_key(one) for one in _findings(last)}
        for one in _findings(event):
            if last is not event and _finding_key(one) not in there and one["rule"] not in FORM:
                gone[_finding_key(one)] = describe_finding({**one, "line": 0})
    return sorted(set(gone.values()))[:FIXED_MAX]


def _findings(event):
    return event["payload"].get("findings", [])


def _finding_key(one) -> Key:
    return one["path"], one["rule"], mask_variable_parts(one["text"])


def describe_finding(one: dict[str, Any]) -> str:
    """A finding on one line: where, by which rule, in words."""
    place = (
        f"{one['path']}:{one['line']}: "
        if one["path"] and one["line"]
        else f"{one['path']}: "
        if one["path"]
        else ""
    )
    return f"{place}{one['rule']}: {_cut_text(one['text'], TEXT_CHARS_MAX)}"


def mask_variable_parts(text: str) -> str:
    """A text without what differs between two runs that say the same."""
    for pattern, instead in MOVES:
        text = pattern.sub(instead, text)
    return text


def _cut_text(text, most):
    return text if len(text) <= most else text[: most - 8] + "\n… (cut)"
