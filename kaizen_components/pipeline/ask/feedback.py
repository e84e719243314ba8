"""Write the feedback for a step that is asked again: what was found and what must not come back.

It is made from the judged events of a run alone, so the same history gives the same words.
"""

import hashlib
import re
from typing import Any

from ..verdict import Verdict

FINDINGS_MAX = 20
FIXED_MAX = 10
TEXT_CHARS_MAX = 700
CHARS_MAX = 6_000
FORM = ("form",)  # rules about the form of an answer: they cannot come back in the code
VARIABLE_PARTS = (  # what differs between two runs that fail in the same way
    (re.compile(r"0x[0-9a-fA-F]{4,}"), "0x…"),
    (re.compile(r"\bline \d+"), "line N"),
    (re.compile(r":\d+(?=[:)\s]|$)"), ":N"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds)\b"), "N s"),
    (re.compile(r"[/\\]AI[/\\]work[/\\](?:runs|replays)[/\\]\S+"), "/AI/work/…"),
    (re.compile(r"/tmp/\S+"), "/tmp/…"),
)
JudgedEvent = dict[str, Any]
Key = tuple[str, str, str]


def write_feedback(history: list[JudgedEvent], step: str, plans: frozenset[str]) -> str:
    """Return the findings that sent the run back to this step; "" on a first attempt."""
    history = select_current(history, step, plans)
    following = [*(event["step"] for event in history), step][1:]
    sent = [
        event
        for event, then in zip(history, following, strict=True)
        if event["reason"] != "pass" and then == step
    ]
    if not sent:
        return ""
    newest, older = sent[-1], sent[:-1]
    before = {
        key for event in older if event["step"] == newest["step"] for key in _list_keys(event)
    }
    parts = [_describe_verdict(newest, before)]
    for gate in dict.fromkeys(event["step"] for event in reversed(older)):
        last = next(event for event in reversed(history) if event["step"] == gate)
        if gate != newest["step"] and last["reason"] != "pass":
            parts.append("Not looked at again yet:\n" + _describe_verdict(last, set()))
    fixed: dict[Key, str] = {}
    for event in sent:
        last = next(later for later in reversed(history) if later["step"] == event["step"])
        there = _list_keys(last)
        for finding, key in zip(_findings(event), _list_keys(event), strict=True):
            if last is not event and key not in there and finding["rule"] not in FORM:
                fixed[key] = f"- {describe_finding({**finding, 'line': 0})}"
    if fixed:
        lines = sorted(set(fixed.values()))[:FIXED_MAX]
        parts.append("\n".join(["Found before and not now; it must not come back:", *lines]))
    return _cut_text("\n\n".join(parts), CHARS_MAX)


def fingerprint_verdict(verdict: Verdict) -> str:
    """Return a hash that ignores lines, times and addresses of a failure; "" for a pass."""
    if verdict.is_pass:
        return ""
    texts: list[Any] = sorted(
        {
            (finding.path, finding.rule, mask_variable_parts(finding.text))
            for finding in verdict.findings
        }
    )
    texts = texts or [mask_variable_parts(verdict.says)]
    return hashlib.sha256(repr((verdict.reason, texts)).encode("utf-8", "replace")).hexdigest()[:32]


def select_current(
    history: list[JudgedEvent], step: str, plans: frozenset[str]
) -> list[JudgedEvent]:
    """Return the verdicts since the accepted plan: a new plan makes those on older work void.

    `plans` are the steps that clear others. For a plan itself the whole history counts.
    """
    if step in plans:
        return history
    for at in range(len(history) - 1, -1, -1):
        if history[at]["step"] in plans and history[at]["reason"] == "pass":
            return history[at + 1 :]
    return history


def _describe_verdict(event: JudgedEvent, before: set[Key]) -> str:
    """Return a heading and the sorted findings; those in `before` are marked."""
    findings = sorted(
        _findings(event),
        key=lambda finding: (finding["path"], finding["line"], finding["rule"], finding["text"]),
    )
    says = event["says"] or ""
    head = f"{event['step']} {event['attempt']} ended with {event['reason']}: "
    head += _cut_text(says, TEXT_CHARS_MAX)
    if [finding["text"] for finding in findings] == [event["says"]]:
        return head  # the finding would only repeat it
    lines = [
        f"- {describe_finding(finding)}{' (again)' if _finding_key(finding) in before else ''}"
        for finding in findings[:FINDINGS_MAX]
    ]
    if len(findings) > FINDINGS_MAX:
        lines.append(f"- … and {len(findings) - FINDINGS_MAX} more")
    return "\n".join([head, *lines])


def _findings(event: JudgedEvent) -> list[dict[str, Any]]:
    return event["payload"].get("findings", [])


def _list_keys(event: JudgedEvent) -> list[Key]:
    """Return what identifies each finding, without its line."""
    return [_finding_key(finding) for finding in _findings(event)]


def _finding_key(finding: dict[str, Any]) -> Key:
    return finding["path"], finding["rule"], mask_variable_parts(finding["text"])


def describe_finding(finding: dict[str, Any]) -> str:
    """Return a finding on one line: where, by which rule, in words."""
    place = finding["path"]
    if place:
        place += f":{finding['line']}: " if finding["line"] else ": "
    return f"{place}{finding['rule']}: {_cut_text(finding['text'], TEXT_CHARS_MAX)}"


def mask_variable_parts(text: str) -> str:
    """Replace what differs between two runs that say the same."""
    for pattern, instead in VARIABLE_PARTS:
        text = pattern.sub(instead, text)
    return text


def _cut_text(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 8] + "\n… (cut)"
