"""Read the CommonMark blocks of a text and their lines, with markdown-it-py.

Inline Markdown is not parsed. The package is imported on first use: no everyday command needs it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

NESTING_MAX = 100  # levels (a list takes two), so that a hostile line cannot exhaust the stack
MARKER = re.compile(r" *(?:[-+*]|\d{1,9}[.)])( {1,4}(?=[^ ]))?")
COMMENT = re.compile("<!--.*?-->", re.DOTALL)
CONTAINERS = ("blockquote_open", "list_item_open")
KINDS = {"list_item_open": "item", "hr": "rule"}


@dataclass
class Block:
    """Lines `start` to `last`, counted from 0. Kinds: heading, item, text, rule, comment."""

    kind: str
    start: int
    last: int
    level: int = 0  # of a heading
    underlined: bool = False  # a heading by a line of = or - below it


def read_tokens(text: str, *extensions: str) -> list[Token]:
    """Return the tokens of all blocks. Line ends are \\n. `extensions` are added rules: "table"."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": NESTING_MAX}).disable("reference")
    parser.core.ruler.enableOnly(["block"])
    return parser.enable(list(extensions)).parse(text)


def read_blocks(lines: list[str]) -> list[Block]:
    """Return the outermost blocks in order; a list counts as its items."""
    blocks: list[Block] = []
    # Show an unclosed comment as text: CommonMark would hide everything after it.
    ends = [at for at, line in enumerate(lines) if "-->" in line]
    last = ends[-1] if ends else -1
    lines = [
        (line.replace("<!--", "x!--") if at > last else line).rstrip()
        for at, line in enumerate(lines)
    ]
    for token in read_tokens("\n".join(lines)):
        if not token.map or token.type.endswith("list_open"):
            continue
        if token.level == 0 or (token.level == 1 and token.type == "list_item_open"):
            start = token.map[0]
            if token.type == "heading_open":
                block = Block("heading", start, start, int(token.tag[1]), token.markup[0] != "#")
            elif token.type == "html_block" and token.content.lstrip().startswith("<!--"):
                block = Block("comment", start, start)
            else:
                block = Block(KINDS.get(token.type, "text"), start, start)
            blocks.append(block)
        first, end = token.map
        if token.type in CONTAINERS:  # a container: its lines may end with blank ones
            end = first + 1
        while not lines[end - 1].strip():
            end -= 1
        blocks[-1].last = max(blocks[-1].last, end - 1)
    return blocks


def read_heading(lines: list[str], block: Block) -> str:
    """Return the text of a heading as one line."""
    if block.underlined:
        return " ".join(" ".join(lines[block.start : block.last]).split())
    text = lines[block.start].strip()[block.level :]
    return " ".join(re.sub(r"(^|[ \t])#+$", "", text.strip()).split())


def read_item(lines: list[str], block: Block) -> str:
    """Return the text of a list item without its marker and its indentation."""
    first, *others = lines[block.start : block.last + 1]
    marker = MARKER.match(first.expandtabs(4))
    assert marker, "the first line of an item has its marker"
    width = marker.end() + (not marker[1])
    return "\n".join(
        [_cut_columns(first, width, True), *(_cut_columns(line, width) for line in others)]
    )


def _cut_columns(line: str, width: int, any_character: bool = False) -> str:
    """Remove the first `width` columns of a line: blanks only, or `any_character`."""
    column = 0
    for at, character in enumerate(line):
        if column >= width or not (any_character or character in " \t"):
            return " " * max(column - width, 0) + line[at:]
        column += 4 - column % 4 if character == "\t" else 1
    return ""
