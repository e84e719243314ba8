"""Lint a spec or contract, so that anybody can decide from it whether the work is done.

    rule              severity
    missing-criteria  error    no acceptance criteria, or an empty section of them
    untestable        error    a criterion without a number, code, a quote or a verb of VERBS
    placeholder       error    TBD, TODO and the like
    duplicate         error    a sentence of five words or more that occurs twice
    vague             error in a criterion, warning elsewhere; a word of MEASURABLE is allowed
                      in a sentence with a number

A contract with an error fails. Words in code and quotes are ignored. The words are English.
"""

import re
from collections.abc import Iterator
from typing import Any

from .contract_parts import Part, Section, SpecReader

FINDINGS_MAX = 200  # findings returned; the counts include all
TEXT_CHARS_MAX = 160
SENTENCE_WORDS_MIN = 5

# Not vague: "as fast as" compares, "how many" asks, "fast-forward" is a name.
MEASURABLE = r"(?<!how )(?<!as )(?:fast|slow|several|many|efficient|scalable)"
VAGUE_WORDS = r"easy|user-friendly|intuitive|seamless|robust|properly|appropriate|if\s+possible|etc"
VAGUE = re.compile(rf"\b(?:({MEASURABLE})|{VAGUE_WORDS})(?:ly)?\b(?!-)", re.IGNORECASE)
PLACEHOLDER = re.compile(
    r"\b(?:TBD|tbd|TODO|FIXME|XXX|[Tt]o be (?:decided|defined|determined|specified))\b"
)
VERBS = (  # stems of verbs whose effect can be observed
    "abort|accept|add|answer|append|appear|ask|block|build|call|cancel|commit|compil|contain|cop|"
    "count|crash|creat|delet|den|differ|disabl|display|drop|emit|enabl|end|equal|exceed|exclud|"
    "execut|exist|exit|export|fail|fetch|filter|find|generat|hid|ignor|import|includ|insert|instal|"
    "invok|keep|leav|list|load|lock|log|match|merg|migrat|name|notif|omit|open|pars|pass|persist|"
    "print|produc|prompt|publish|rais|read|receiv|record|redirect|refus|reject|releas|remain|remov|"
    "renam|render|replac|repl|report|reset|resolv|respond|restart|restor|retr|return|revert|run|"
    "sav|say|select|send|show|skip|sort|start|stay|stop|stor|submit|succeed|terminat|throw|toggl|"
    "trigger|truncat|unlock|updat|upload|validat|verif|wait|warn|writ"
)
STATES = (
    "absent|built|empty|equal|false|found|kept|left|less|none|nothing|null|present|same|sent|shown|"
    "shut|true|unchanged|unique|visible|wrote|zero|two|three|four|five|six|seven|eight|nine|ten|"
    "twice"
)
CODE_OR_QUOTE = re.compile(r"`[^`\n]+`|\"[^\"\n]{1,200}\"|“[^“”\n]{1,200}”|https?://\S+")
# Many of these verbs are nouns too. So the plain form counts only at the start or after a word
# such as "must".
OBSERVABLE = re.compile(
    rf"\d|{CODE_OR_QUOTE.pattern}|(?<!\w)'[^'\n]{{1,200}}'(?!\w)|\b(?:{STATES})\b"
    rf"|\b(?:{VERBS})\w*(?:s|d|en)\b"
    rf"|(?:^|\b(?:must|shall|will|can|cannot|may|not|never|to|should|always)\s)(?:{VERBS})",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"(?:[^.!?。！？]|[.!?](?!\s|$))+")
WORD = re.compile(r"`[^`\n]+`|\w+")


def lint_contract(body: str) -> dict[str, Any]:
    """Return the findings in the order of lines, their counts, and whether the text passes."""
    spec = SpecReader(body)
    criteria = {id(part) for section in spec.sections for part in section.criteria}
    findings = []
    if not spec.sections:
        add = "Add a section `## Acceptance criteria` with a list of what must be true."
        findings.append(_make_finding("missing-criteria", "error", 1, "", add))
    for section in spec.sections:
        if not section.criteria:
            title, add = section.title, "List what must be true below it."
            finding = _make_finding("missing-criteria", "error", title.line, title.text, add)
            findings.append(finding)
    findings += _find_duplicates(spec.parts)
    for section in spec.sections:
        findings += _find_untestable(section)
    for part in spec.parts:
        for piece in (part, *part.details):
            findings += _find_vague_words(piece, id(part) in criteria)
    findings.sort(key=lambda finding: (finding["severity"], finding["line"]))
    errors = sum(finding["severity"] == "error" for finding in findings)
    answer: dict[str, Any] = {
        "passed": not errors,
        "errors": errors,
        "warnings": len(findings) - errors,
    }
    if len(findings) > FINDINGS_MAX:
        answer["hint"] = f"Only {FINDINGS_MAX} findings are shown, errors first."
    first_findings = sorted(findings[:FINDINGS_MAX], key=lambda finding: finding["line"])
    return {**answer, "findings": first_findings, "exit_code": 1 if errors else 0}


def _make_finding(
    rule: str, severity: str, line: int, text: str, suggestion: str
) -> dict[str, Any]:
    text = " ".join(text[: 4 * TEXT_CHARS_MAX].split())
    return {
        "line": line,
        "severity": severity,
        "rule": rule,
        "text": text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…",
        "suggestion": suggestion,
    }


def _find_untestable(section: Section) -> Iterator[dict[str, Any]]:
    """Yield a finding for each criterion that cannot be checked.

    A criterion with nested items is skipped. Its items are checked instead, unless it is
    observable itself.
    """
    criteria = section.criteria
    observable = [
        part.has_code or any(OBSERVABLE.search(piece.text) for piece in (part, *part.details))
        for part in criteria
    ]
    if all(part.kind == "text" for part in criteria):
        # Prose needs one paragraph that can be checked.
        criteria = [] if any(observable) else criteria[:1]
    above: list[tuple[int, bool]] = []  # (depth, is observable) of the items around
    for at, part in enumerate(criteria):
        while above and above[-1][0] >= part.depth:
            above.pop()
        is_observable = observable[at] or bool(above and above[-1][1])
        above.append((part.depth, is_observable))
        has_nested = at + 1 < len(criteria) and criteria[at + 1].depth > part.depth
        if not is_observable and not has_nested:
            suggestion = "Name what can be seen: a number, a `command` and its exit code, a text."
            yield _make_finding("untestable", "error", part.line, part.text, suggestion)


def _find_vague_words(part: Part, is_criterion: bool) -> Iterator[dict[str, Any]]:
    """Yield a finding for each placeholder and each vague word."""
    text = CODE_OR_QUOTE.sub(lambda match: "Q" * len(match[0]), part.text)
    for match in PLACEHOLDER.finditer(text):
        line = part.find_line(match.start())
        suggestion = "Decide it now, or remove it from the contract."
        yield _make_finding("placeholder", "error", line, match[0], suggestion)
    for sentence in SENTENCE.finditer(text) if part.kind != "heading" else ():
        has_number = any(map(str.isdigit, part.text[sentence.start() : sentence.end()]))
        for match in VAGUE.finditer(text, sentence.start(), sentence.end()):
            if match[1] and has_number:
                continue
            severity = "error" if is_criterion else "warning"
            suggestion = "Say what a check sees, and in which case."
            if match[1]:
                suggestion = "Give the number: how fast, how many."
            yield _make_finding(
                "vague", severity, part.find_line(match.start()), match[0], suggestion
            )


def _find_duplicates(parts: list[Part]) -> Iterator[dict[str, Any]]:
    """Yield a finding for each sentence that occurred before."""
    line_by_sentence: dict[str, int] = {}
    for part in parts:
        for sentence in SENTENCE.finditer(part.text) if part.kind != "heading" else ():
            words = WORD.findall(sentence[0].lower())
            line = part.find_line(sentence.start() + len(sentence[0]) - len(sentence[0].lstrip()))
            if len(words) >= SENTENCE_WORDS_MIN and " ".join(words) in line_by_sentence:
                suggestion = f"Line {line_by_sentence[' '.join(words)]} says the same; say it once."
                yield _make_finding("duplicate", "error", line, sentence[0], suggestion)
            elif len(words) >= SENTENCE_WORDS_MIN:
                line_by_sentence[" ".join(words)] = line
