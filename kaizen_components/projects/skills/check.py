"""Check that a host can load a skill: its front matter, links, scripts and evals. Run nothing."""

import json
import os
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from ...records.files.files import walk_files
from ...records.markdown import read_tokens
from .page import Page, Unreadable, read_page, read_text, read_yaml
from .skill import PAGE, SkillEntry

NAME_CHARS_MAX = 64
DESCRIPTION_CHARS_MAX = 1_024
FILES_MAX = 1_000
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# [text](target "title"), ![image](<target with blanks>), and [label]: target at the start of a line
LINK = re.compile(
    r"\]\(\s{0,9}(?:<([^<>\n]{1,999})>|([^()\s<>]{1,999}))[^()\n]{0,999}\)"
    r"|^ {0,3}\[[^\]\n]{1,99}\]:[ \t]{1,9}(\S{1,999})"
)
ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|#|//")
SCRIPT = re.compile(r"(?<![\w./\\-])(?:\./)?(scripts/[\w./-]{0,199}\w\.\w{1,9})")
TRIGGERS = ("should_trigger", "should-trigger", "should_not_trigger", "should-not-trigger")
EVAL_TEXTS = (".json", ".jsonl", ".yml", ".yaml", ".md", ".txt")


class Remark(NamedTuple):
    """A problem or a less important note, with its file and line."""

    level: str
    file: str
    line: int | None
    says: str


Remarks = Iterator[Remark]


def check_skill(entry: SkillEntry, root: str) -> list[Remark]:
    """Return the problems of a skill, then its notes."""
    if entry.form == "broken link":
        return [_problem("", None, f"The link leads nowhere: {entry.target} is not there.")]
    try:
        page = read_page(os.path.join(entry.path, PAGE))
    except Unreadable as error:
        return [_problem(PAGE, error.line, error.says)]
    findings = [*_check_front(page, entry.name), *_check_files(entry.path, page, root)]
    return sorted(findings, key=lambda remark: remark.level != "problem")


def _check_front(page: Page, folder: str) -> Remarks:
    """Check the name, description and trigger lists, and that the page has a body."""
    name, about = page.front.get("name"), page.front.get("description")
    if not isinstance(name, str) or len(name) > NAME_CHARS_MAX or not NAME.fullmatch(name):
        rule = f"`name` must be 1 to {NAME_CHARS_MAX} lowercase letters and digits"
        yield _problem(PAGE, 1, f"{rule}, with single hyphens between.")
    elif name != folder:
        says = f"`name` is {name!r}, but its folder is {folder!r}; they must be equal."
        yield _problem(PAGE, 1, says)
    if not isinstance(about, str) or not about.strip():
        says = "`description` is missing or not a text; hosts choose a skill by its description."
        yield _problem(PAGE, 1, says)
    elif len(about) > DESCRIPTION_CHARS_MAX:
        size = f"`description` has {len(about):,} characters"
        yield _problem(PAGE, 1, f"{size}; at most {DESCRIPTION_CHARS_MAX:,} are allowed.")
    for key in TRIGGERS:
        lines = page.front.get(key, [])
        are_texts = isinstance(lines, list) and all(isinstance(line, str) for line in lines)
        if not are_texts or not all(line.strip() for line in lines):
            yield _problem(PAGE, 1, f"`{key}` must be a list of sentences.")
    if not page.body.strip():
        yield _problem(
            PAGE, page.first, "There is nothing after the front matter; describe there what to do."
        )


def _check_files(folder: str, page: Page, root: str) -> Remarks:
    """Check the links of every Markdown file, the scripts that SKILL.md names, and the evals."""
    names = sorted(walk_files(folder))
    if len(names) > FILES_MAX:
        says = f"It has {len(names):,} files; only the first {FILES_MAX:,} were checked."
        yield _note("", says)
    names = names[:FILES_MAX]
    yield from _check_links(folder, PAGE, page.body, page.first)
    for name in names:
        is_page = name.lower().endswith(".md") and name != PAGE
        if is_page and not os.path.islink(os.path.join(folder, name)):
            try:
                text = read_text(os.path.join(folder, name))
            except Unreadable as error:
                yield _problem(name, error.line, error.says)
            else:
                yield from _check_links(folder, name, text, 1)
    for line, script in _find_matches(SCRIPT, page.body, page.first):
        if not any(os.path.isfile(os.path.join(base, script)) for base in (folder, root)):
            says = f"It names {script}, which is neither in the skill nor in the project."
            yield _problem(PAGE, line, says)

    evals = [name for name in names if name.startswith("evals/")]
    if not evals and not any(key in page.front for key in TRIGGERS):
        says = (
            "The skill does not say when to trigger: it has no evals folder or should_trigger list."
        )
        yield _note(PAGE, says)
    for name in evals:
        if name.endswith(EVAL_TEXTS):
            try:
                _read_eval(name, read_text(os.path.join(folder, name)))
            except Unreadable as error:
                yield _problem(name, error.line, error.says)


def _find_matches(pattern: re.Pattern[str], text: str, first: int) -> list[tuple[int, str]]:
    """Return (line number, match) of each different match, at its first line."""
    numbers: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), first):
        for match in pattern.finditer(line):
            numbers.setdefault(next(filter(None, match.groups())), number)
    return [(number, match) for match, number in numbers.items()]


def _check_links(folder: str, name: str, text: str, first: int) -> Remarks:
    """Yield a problem for each link whose target is missing or outside the skill."""
    top = os.path.realpath(folder)
    lines = text.split("\n")
    for token in read_tokens(text):  # links in code blocks do not count
        if token.map and token.type in ("fence", "code_block"):
            start, end = token.map
            lines[start:end] = [""] * (end - start)
    prose = "\n".join(re.sub(r"`[^`]*`", "", line) for line in lines)
    for line, target in _find_matches(LINK, prose, first):
        path = unquote(target.split("#")[0].split("?")[0])
        if not path or "\0" in path or ELSEWHERE.match(target):
            continue
        real = os.path.realpath(os.path.join(folder, os.path.dirname(name), path))
        if os.path.isabs(path) or not (real == top or real.startswith(top + os.sep)):
            says = f"The link to {target} leads out of the skill, so others do not have its target."
            yield _problem(name, line, says)
        elif not os.path.exists(real):
            yield _problem(name, line, f"The link to {target} leads nowhere.")


def _read_eval(name: str, text: str) -> None:
    """Parse an eval as YAML or JSON by its file ending; raise Unreadable if it is invalid."""
    if name.endswith((".yml", ".yaml")):
        read_yaml(text)
    elif name.endswith((".json", ".jsonl")):
        pieces = [text] if name.endswith(".json") else text.split("\n")
        for number, piece in enumerate(pieces):
            try:
                json.loads(piece if piece.strip() or name.endswith(".json") else "null")
            except (ValueError, RecursionError) as error:
                says = f"It is not JSON: {getattr(error, 'msg', 'nested too deeply')}."
                raise Unreadable(says, number + getattr(error, "lineno", 1)) from None


def _problem(file: str, line: int | None, says: str) -> Remark:
    return Remark("problem", file, line, says)


def _note(file: str, says: str) -> Remark:
    return Remark("note", file, None, says)
