"""Is a skill what a host can load? Its front matter, the files it names, its evals. Nothing of it is run."""

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
    """What is wrong (`problem`), or worth a word (`note`), and where."""

    level: str
    file: str
    line: int | None
    says: str


Findings = Iterator[Remark]


def check_skill(entry: SkillEntry, root: str) -> list[Remark]:
    """Everything that is wrong with one skill, and then what is worth a note."""
    if entry.form == "broken link":
        return [_problem("", None, f"The link leads nowhere: {entry.target} is not there.")]
    try:
        page = read_page(os.path.join(entry.path, PAGE))
    except Unreadable as error:
        return [_problem(PAGE, error.line, error.says)]
    return sorted(
        [*_front(page, entry.name), *_files(entry.path, page, root)],
        key=lambda one: one.level != "problem",
    )


def _front(page: Page, folder: str) -> Findings:
    name, about = page.front.get("name"), page.front.get("description")
    if not isinstance(name, str) or len(name) > NAME_CHARS_MAX or not NAME.fullmatch(name):
        yield _problem(
            PAGE,
            1,
            f"`name` must be 1 to {NAME_CHARS_MAX} lowercase letters and digits, with single hyphens between.",
        )
    elif name != folder:
        yield _problem(
            PAGE, 1, f"`name` is {name!r}, but its folder is {folder!r}; hosts want them equal."
        )
    if not isinstance(about, str) or not about.strip():
        yield _problem(
            PAGE, 1, "`description` is missing, or is no text; a host chooses the skill by it."
        )
    elif len(about) > DESCRIPTION_CHARS_MAX:
        yield _problem(
            PAGE,
            1,
            f"`description` has {len(about):,} characters; at most {DESCRIPTION_CHARS_MAX:,} fit.",
        )
    for key in TRIGGERS:
        listed = page.front.get(key, [])
        if not isinstance(listed, list) or not all(
            isinstance(one, str) and one.strip() for one in listed
        ):
            yield _problem(PAGE, 1, f"`{key}` must be a list of sentences.")
    if not page.body.strip():
        yield _problem(PAGE, page.first, "There is nothing after the front matter: say what to do.")


def _files(folder: str, page: Page, root: str) -> Findings:
    """The links of every Markdown file, the scripts that SKILL.md names, and the evals."""
    names = sorted(walk_files(folder))
    if len(names) > FILES_MAX:
        yield _note(
            "", None, f"It has {len(names):,} files; only the first {FILES_MAX:,} were looked at."
        )
    yield from _links(folder, PAGE, page.body, page.first)
    for name in names[:FILES_MAX]:
        if (
            name.lower().endswith(".md")
            and name != PAGE
            and not os.path.islink(os.path.join(folder, name))
        ):
            yield from _linked_page(folder, name)
    for line, script in _matches(SCRIPT, page.body, page.first):
        if not any(os.path.isfile(os.path.join(base, script)) for base in (folder, root)):
            yield _problem(
                PAGE, line, f"It names {script}, which is neither in the skill nor in the project."
            )
    yield from _evals(
        folder, [name for name in names[:FILES_MAX] if name.startswith("evals/")], page
    )


def _linked_page(folder: str, name: str) -> Findings:
    try:
        yield from _links(folder, name, read_text(os.path.join(folder, name)), 1)
    except Unreadable as error:
        yield _problem(name, error.line, error.says)


def _matches(pattern: re.Pattern[str], text: str, first: int) -> list[tuple[int, str]]:
    """(line, match), once for each different one."""
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), first):
        for match in pattern.finditer(line):
            seen.setdefault(next(one for one in match.groups() if one), number)
    return [(number, match) for match, number in seen.items()]


def _links(folder: str, name: str, text: str, first: int) -> Findings:
    for line, target in _matches(LINK, _without_code(text), first):
        path = unquote(target.split("#")[0].split("?")[0])
        if not path or "\0" in path or ELSEWHERE.match(target):
            continue
        full = os.path.join(folder, os.path.dirname(name), path)
        if os.path.isabs(path) or not _is_within(full, folder):
            yield _problem(
                name,
                line,
                f"The link to {target} leads out of the skill, where nobody else has it.",
            )
        elif not os.path.exists(full):
            yield _problem(name, line, f"The link to {target} leads nowhere.")


def _without_code(text: str) -> str:
    """Blank the code in a text, line for line: a link in an example is none."""
    lines = text.split("\n")
    for token in read_tokens(text):
        if token.map and token.type in ("fence", "code_block"):
            start, end = token.map
            lines[start:end] = [""] * (end - start)
    return "\n".join(re.sub(r"`[^`]*`", "", line) for line in lines)


def _is_within(path: str, folder: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(folder)
    return real == top or real.startswith(top + os.sep)


def _evals(folder: str, names: list[str], page: Page) -> Findings:
    if not names and not any(key in page.front for key in TRIGGERS):
        yield _note(
            PAGE,
            None,
            "Nothing says when it should trigger: no evals folder and no should_trigger list.",
        )
    for name in names:
        if name.endswith(EVAL_TEXTS):
            try:
                _read_eval(name, read_text(os.path.join(folder, name)))
            except Unreadable as error:
                yield _problem(name, error.line, error.says)


def _read_eval(name: str, text: str) -> None:
    """Read an eval as what its name says it is."""
    if name.endswith((".yml", ".yaml")):
        read_yaml(text)
    elif name.endswith((".json", ".jsonl")):
        pieces = [text] if name.endswith(".json") else text.split("\n")
        for number, piece in enumerate(pieces, 1):
            try:
                json.loads(piece if piece.strip() or name.endswith(".json") else "null")
            except (ValueError, RecursionError) as error:
                line = getattr(error, "lineno", 1) + number - 1
                raise Unreadable(
                    f"It is not JSON: {getattr(error, 'msg', 'nested too deeply')}.", line
                ) from None


def _problem(file: str, line: int | None, says: str) -> Remark:
    return Remark("problem", file, line, says)


def _note(file: str, line: int | None, says: str) -> Remark:
    return Remark("note", file, line, says)
