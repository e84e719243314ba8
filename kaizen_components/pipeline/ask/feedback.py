"""Write the feedback for a step that is asked again: its current faults and the fixed ones.

The feedback is built from the judged events of a run alone, so equal histories give equal texts.
"""

import hashlib
import re
from typing import Any

from ..verdict import Verdict

FINDINGS_MAX = 20
FIXED_MAX = 10
TEXT_CHARS_MAX = 700
CHARS_MAX = 6_000
FORM_RULES = ("form",)  # faults in the form of an answer are not faults of the code
VARIABLE_PARTS = (  # these differ between two runs that fail in the same way
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
    history = select_current_verdicts(history, step, plans)
    next_steps = [*(event["step"] for event in history), step][1:]
    failures = [
        event
        for event, next_step in zip(history, next_steps, strict=True)
        if event["reason"] != "pass" and next_step == step
    ]
    if not failures:
        return ""
    newest, older_failures = failures[-1], failures[:-1]
    keys_before = {
        key
        for event in older_failures
        if event["step"] == newest["step"]
        for key in _list_keys(event)
    }
    parts = [_describe_verdict(newest, keys_before)]
    for gate in dict.fromkeys(event["step"] for event in reversed(older_failures)):
        last = next(event for event in reversed(history) if event["step"] == gate)
        if gate != newest["step"] and last["reason"] != "pass":
            parts.append("Not looked at again yet:\n" + _describe_verdict(last, set()))
    fixed_lines: dict[Key, str] = {}
    for event in failures:
        last = next(later for later in reversed(history) if later["step"] == event["step"])
        last_keys = _list_keys(last)
        for finding, key in zip(_get_findings(event), _list_keys(event), strict=True):
            if last is not event and key not in last_keys and finding["rule"] not in FORM_RULES:
                fixed_lines[key] = f"- {describe_finding({**finding, 'line': 0})}"
    if fixed_lines:
        lines = sorted(set(fixed_lines.values()))[:FIXED_MAX]
        parts.append("\n".join(["Found before and not now; it must not come back:", *lines]))
    return _cut_text("\n\n".join(parts), CHARS_MAX)


def fingerprint_verdict(verdict: Verdict) -> str:
    """Return a hash of a failure without its lines, times and addresses; "" for a pass."""
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


def select_current_verdicts(
    history: list[JudgedEvent], step: str, plans: frozenset[str]
) -> list[JudgedEvent]:
    """Return the verdicts since the last accepted plan; a new plan makes older verdicts obsolete.

    `plans` names the planning steps, which get the whole history.
    """
    if step in plans:
        return history
    for at in range(len(history) - 1, -1, -1):
        if history[at]["step"] in plans and history[at]["reason"] == "pass":
            return history[at + 1 :]
    return history


def _describe_verdict(event: JudgedEvent, keys_before: set[Key]) -> str:
    """Return a heading and the sorted findings; those in `keys_before` are marked."""
    findings = sorted(
        _get_findings(event),
        key=lambda finding: (finding["path"], finding["line"], finding["rule"], finding["text"]),
    )
    says = event["says"] or ""
    head = f"{event['step']} {event['attempt']} ended with {event['reason']}: "
    head += _cut_text(says, TEXT_CHARS_MAX)
    if [finding["text"] for finding in findings] == [event["says"]]:
        return head  # the finding would only repeat it
    lines = [
        f"- {describe_finding(finding)}{' (again)' if _make_key(finding) in keys_before else ''}"
        for finding in findings[:FINDINGS_MAX]
    ]
    if len(findings) > FINDINGS_MAX:
        lines.append(f"- … and {len(findings) - FINDINGS_MAX} more")
    return "\n".join([head, *lines])


def _get_findings(event: JudgedEvent) -> list[dict[str, Any]]:
    """Return the recorded findings of a verdict."""
    return event["payload"].get("findings", [])


def _list_keys(event: JudgedEvent) -> list[Key]:
    """Return the key of each finding: its path, rule and text, without its line."""
    return [_make_key(finding) for finding in _get_findings(event)]


def _make_key(finding: dict[str, Any]) -> Key:
    """Return what identifies a finding in later attempts: its path, rule and masked text."""
    return finding["path"], finding["rule"], mask_variable_parts(finding["text"])


def describe_finding(finding: dict[str, Any]) -> str:
    """Return a finding on one line: its place, its rule and its text."""
    place = finding["path"]
    if place:
        place += f":{finding['line']}: " if finding["line"] else ": "
    return f"{place}{finding['rule']}: {_cut_text(finding['text'], TEXT_CHARS_MAX)}"


def mask_variable_parts(text: str) -> str:
    """Replace addresses, line numbers, times and temporary paths by placeholders."""
    for pattern, placeholder in VARIABLE_PARTS:
        text = pattern.sub(placeholder, text)
    return text


def _cut_text(text: str, chars_max: int) -> str:
    """Return at most `chars_max` characters of the text, with a mark if it is cut."""
    return text if len(text) <= chars_max else text[: chars_max - 8] + "\n… (cut)"
