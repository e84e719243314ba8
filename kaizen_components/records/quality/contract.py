"""Lint of a spec or contract: can somebody else decide from it whether the work is done?

    rule              severity
    missing-criteria  error    no acceptance criteria, or a section of them that is empty
    untestable        error    a criterion with nothing to observe: no number, code, quote, or verb that can be seen
    placeholder       error    TBD, TODO and the like
    duplicate         error    a sentence of five words or more that stands there twice
    vague             error in a criterion, warning elsewhere; a number beside "fast" or "several" cures it
    filler            warning  words that say nothing

A contract with an error fails. Words are read outside of code and quotes; the word lists are English.
"""

import re
from bisect import bisect_right
from itertools import pairwise

from .contract_json import JsonReader, is_json
from .contract_parts import Part, Reader
from .contract_words import (
    BEFORE_BARE_VERB,
    FILLER,
    FORMS,
    PLACEHOLDER,
    SHOUTED,
    STATES,
    VAGUE,
    VERBS,
)

FINDINGS_MAX = 200  # shown; all are counted
TEXT_CHARS_MAX = 160
SENTENCE_WORDS_MIN = 5
NUMBER_BEFORE_CHARS, NUMBER_AFTER_CHARS = 25, 40  # how near a number must be to cure a vague word

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
CODE_OR_QUOTE = re.compile(
    r"`[^`\n]+`|\"[^\"\n]{1,200}\"|“[^“”\n]{1,200}”|«[^«»\n]{1,200}»|https?://\S+"
)
SHOWN = re.compile(rf"\d|{CODE_OR_QUOTE.pattern}|(?<!\w)'[^'\n]{{1,200}}'(?!\w)")
SENTENCE_END = re.compile(r"[.!?。！？]+(?=\s|$)|\n[ \t>]*\n")
NUMBER = re.compile(r"\d")
COMPARED = re.compile(r"`[^`\n]+`|\w+")


class Rule:
    """Phrases of one row of a table, and what to say about them."""

    def __init__(self, name, suggestion, curable=False):
        self.name = name
        self.suggestion = suggestion
        self.curable = curable


def _phrases():
    """First word -> [(all words, rule)], the longest first."""
    rows = [(Rule("vague", suggestion, curable), phrases) for suggestion, curable, phrases in VAGUE]
    rows += [(Rule("filler", suggestion), phrases) for suggestion, phrases in FILLER]
    rows.append(
        (Rule("placeholder", "Decide it now, or take it out of the contract."), PLACEHOLDER)
    )
    found: dict[str, list[tuple[list[str], Rule]]] = {}
    for rule, phrases in rows:
        for phrase in phrases.split(", "):
            words = WORD.findall(phrase)
            found.setdefault(words[0], []).append((words, rule))
    for same_start in found.values():
        same_start.sort(key=lambda pair: -len(pair[0]))
    return found


class Observables:
    """Does a text say something that can be seen to happen or not?"""

    def __init__(self):
        self.bare = set(VERBS.split())
        forms = {verb + ending for verb in self.bare for ending in ("s", "es", "d", "ed")}
        self.words = {*forms, *FORMS.split(), *STATES.split()}
        self.before_bare = {*BEFORE_BARE_VERB.split()}

    def are_in(self, text):
        if SHOWN.search(text):
            return True
        words = ["must", *WORD.findall(text.lower())]  # a criterion may begin with its verb
        return any(
            word in self.words or (word in self.bare and before in self.before_bare)
            for before, word in pairwise(words)
        )


def lint_contract(body: str) -> dict:
    """What is wrong with the text, line by line, and whether it passes."""
    checked = Lint(body.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    found = sorted(checked.findings)  # errors first: these must not be cut off
    errors = sum(finding[0] == "error" for finding in found)
    shown = sorted(found[:FINDINGS_MAX], key=lambda finding: finding[1])
    cut = (
        {"hint": f"Only {FINDINGS_MAX} findings are shown, errors first."}
        if len(found) > FINDINGS_MAX
        else {}
    )
    return {
        "passed": not errors,
        "errors": errors,
        "warnings": len(found) - errors,
        **cut,
        "findings": [checked.shown(finding) for finding in shown],
        "exit_code": 1 if errors else 0,
    }


class Lint:
    def __init__(self, text: str):
        text = _without_comments(text)
        reader = JsonReader(text) if is_json(text) else Reader(text)
        self.text = reader.text
        self.clean = CODE_OR_QUOTE.sub(
            lambda match: "Q" * len(match[0]), self.text
        )  # a word that no table has
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self.findings: list[tuple] = []
        self.criteria = {part for section in reader.sections for part in section.criteria()}
        self._sections(reader.sections)
        self._words(reader.parts)
        self._duplicates(reader.parts)

    def _find(self, rule, severity, start, end, suggestion):
        self.findings.append((severity, start, end, rule, suggestion))

    def shown(self, finding):
        severity, start, end, rule, suggestion = finding
        text = " ".join(self.text[start : min(end, start + 4 * TEXT_CHARS_MAX)].split())
        return {
            "line": self._line(start),
            "severity": severity,
            "rule": rule,
            "text": text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - 1] + "…",
            "suggestion": suggestion,
        }

    def _line(self, start):
        return bisect_right(self.starts, start)

    def _sections(self, sections):
        observables = Observables()
        if not sections:
            add = "Add a section `## Acceptance criteria` with a list of what must be true."
            self._find("missing-criteria", "error", 0, 0, add)
        for section in sections:
            criteria = section.criteria()
            if not criteria:
                title = section.title
                self._find(
                    "missing-criteria",
                    "error",
                    title.start,
                    title.end,
                    "List what must be true below it.",
                )
            for part in self._untestable(criteria, observables):
                say = "Say what can be seen: a number, a `command` and its exit code, the text that is shown."
                self._find("untestable", "error", part.start, part.end, say)

    def _untestable(self, criteria, observables):
        """Criteria with nothing to observe; what hangs below one that has is its detail."""
        seen = [
            part.observable or observables.are_in(self.text[part.start : part.end])
            for part in criteria
        ]
        if all(
            part.kind == "text" for part in criteria
        ):  # prose: one paragraph that can be checked is enough
            return criteria[:1] if criteria and not any(seen) else []
        found: list[Part] = []
        above: list[tuple[int, bool]] = []
        for at, part in enumerate(criteria):
            while above and above[-1][0] >= part.indent:
                above.pop()
            fine = seen[at] or bool(above and above[-1][1])
            above.append((part.indent, fine))
            has_details = at + 1 < len(criteria) and criteria[at + 1].indent > part.indent
            if not fine and not has_details:
                found.append(part)
        return found

    def _words(self, parts):
        phrases = _phrases()
        for part in parts:
            words = list(WORD.finditer(self.clean, part.start, part.end))
            lowered = [match[0].lower().replace("’", "'") for match in words]
            at = 0
            while at < len(words):
                known = lowered[at] in phrases
                at += (known and self._phrase(part, words, lowered, at, phrases[lowered[at]])) or 1

    def _phrase(self, part, words, lowered, at, candidates):
        """How many words of a table's phrase stand here; the finding is noted."""
        for phrase, rule in candidates:
            if lowered[at : at + len(phrase)] != phrase:
                continue
            start, end = words[at].start(), words[at + len(phrase) - 1].end()
            if self._counts(part, rule, lowered, at, start, end):
                severity = (
                    "error"
                    if rule.name == "placeholder" or self._is_vague_criterion(part, rule)
                    else "warning"
                )
                self._find(rule.name, severity, start, end, rule.suggestion)
            return len(phrase)
        return 0

    def _is_vague_criterion(self, part, rule):
        return rule.name == "vague" and part in self.criteria

    def _counts(self, part, rule, lowered, at, start, end):
        if rule.name == "placeholder":
            return lowered[at] not in SHOUTED or self.text[start:end].isupper()
        if part.kind == "heading" or (
            at and lowered[at - 1] in ("how", "as")
        ):  # "how many" asks, "as fast as" compares
            return False
        return not (rule.curable and self._number_beside(part, start, end))

    def _number_beside(self, part, start, end):
        before = self.text[max(part.start, start - NUMBER_BEFORE_CHARS) : start]
        after = self.text[end : min(part.end, end + NUMBER_AFTER_CHARS)]
        if not NUMBER.search(before) and not NUMBER.search(after):
            return False
        return bool(
            NUMBER.search(SENTENCE_END.split(before)[-1])
            or NUMBER.search(SENTENCE_END.split(after)[0])
        )

    def _duplicates(self, parts):
        seen: dict[str, int] = {}
        for part in parts:
            if part.kind not in ("item", "text"):
                continue
            for start, end in self._sentences(part):
                if end - start < 2 * SENTENCE_WORDS_MIN - 1:
                    continue
                words = COMPARED.findall(self.text[start:end].lower())
                if len(words) < SENTENCE_WORDS_MIN:
                    continue
                first = seen.setdefault(" ".join(words), start)
                if first != start:
                    say = f"Line {self._line(first)} says the same; say it once."
                    self._find("duplicate", "error", start, end, say)

    def _sentences(self, part: Part):
        start = part.start
        for match in SENTENCE_END.finditer(self.text, part.start, part.end):
            yield start, match.start()
            start = match.end()
        if start < part.end:
            yield start, part.end


def _without_comments(text):
    """HTML comments are not shown to a reader: blanked, line ends kept."""
    pieces, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces += [text[at:start], re.sub(r"[^\n]", " ", text[start : end + 3])]
        at = end + 3
    return "".join([*pieces, text[at:]])
