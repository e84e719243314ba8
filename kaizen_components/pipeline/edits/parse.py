"""Read the edits of an answer in one pass. Refuse input where a wrong guess would lose text."""

import re
from collections.abc import Sequence

from .format import (
    BARE_CLOSING,
    BARE_PATH,
    CLOSING,
    CUT,
    DIVIDER,
    FENCE,
    HEADER,
    MARKDOWN,
    OPENING,
    REMARK,
    TEXT_CHARS_MAX,
    THOUGHTS,
    Edit,
    EditRefused,
    quote_text,
)

Lines = Sequence[str]


def parse_edits(text: str) -> list[Edit]:
    """Return the edits of an answer in their order, or raise EditRefused."""
    if "\0" in text:
        raise EditRefused(
            "The answer has a NUL byte.",
            "A text file cannot have one.",
            "Write it as an escape, such as \\0.",
        )
    if len(text) > TEXT_CHARS_MAX:
        raise EditRefused(
            f"The answer has {len(text):,} characters.",
            f"At most {TEXT_CHARS_MAX:,} are read.",
            "Write a shorter answer.",
        )
    if text.rstrip().endswith(CUT):
        raise EditRefused(
            "The answer was cut off before its end.", "It was too long.", "Write a shorter answer."
        )
    edits = _Reader(text).read()
    if not edits:
        raise EditRefused(
            "The answer has no edits.",
            "It has no FILE: line with a block below it, and no DELETE: line.",
            "Answer in the form that the question describes.",
        )
    return edits


class _Reader:
    """One pass over the lines of an answer; `at` is the current line."""

    def __init__(self, text: str):
        self.lines = THOUGHTS.sub("", text).replace("\r\n", "\n").split("\n")
        self.at = 0
        self.path = ""
        self.waiting = False  # a FILE: line was read, but its block was not
        self.fenced = False  # inside a fence around blocks
        self.edits: list[Edit] = []

    def read(self) -> list[Edit]:
        """Read all lines: blocks, fences, headers with a path, and prose, which is skipped."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if opening := OPENING.match(line):
                self.read_block(opening)
            elif fence := FENCE.match(line):
                self.read_fence(fence)
            elif header := HEADER.match(line):
                self.read_header(header)
            elif (bare := BARE_PATH.match(line)) and self._leads_to_block(self.at + 1):
                self._start_file(bare[1])
            elif CLOSING.match(line):
                self.skip_second_closing()
            else:
                self.at += 1
        self._finish_file()
        return self.edits

    def read_header(self, header: re.Match[str]) -> None:
        """Read a FILE: or DELETE: line; prose such as "file: done" is skipped."""
        word, path = header[1].upper(), _strip_path(header[2])
        is_ours = self.lines[self.at].startswith(header[1] + ":") and header[1].isupper()
        if word == "DELETE":
            self.at += 1
            if is_ours or BARE_PATH.match(path):
                self._finish_file()
                self._add("delete", path)
            return
        heads_fence = self.fenced and FENCE.match(self.lines[self.at - 1])
        if is_ours or heads_fence or self._leads_to_block(self.at + 1):
            self._start_file(path)
        else:
            self.at += 1  # prose that happens to begin with "file:"

    def _start_file(self, path: str) -> None:
        """Expect a block for `path`; read the file at once if both are inside one fence."""
        self._finish_file()
        self.path, self.waiting = path, True
        self.at += 1
        if self.fenced and FENCE.match(self._next_text(self.at)):
            self.fenced = False  # the previous fence was never closed
        if self.fenced and not self._leads_to_block(self.at):
            self.fenced = False  # the path is inside the fence, with the file below it
            self._add("whole", path, text=self._read_to_fence("```"))

    def skip_second_closing(self) -> None:
        """Skip a second closing marker, which some models write; refuse one without a block."""
        before = self.at - 1
        while before >= 0 and (not self.lines[before].strip() or FENCE.match(self.lines[before])):
            before -= 1
        if before < 0 or not CLOSING.match(self.lines[before]):
            raise EditRefused(
                f"Line {self.at + 1} of the answer closes a block that is not open.",
                "Either a marker is missing, or the text of a block contains one.",
                "Write each block with its own markers.",
            )
        self.at += 1

    def _leads_to_block(self, index: int) -> bool:
        """Return whether a block, or a fenced file, follows after only blank lines and fences."""
        fences = 0
        while index < len(self.lines) and (
            not self.lines[index].strip() or FENCE.match(self.lines[index])
        ):
            fences += bool(self.lines[index].strip())
            index += 1
        return index < len(self.lines) and bool(
            OPENING.match(self.lines[index]) or (fences and not self.fenced)
        )

    def _next_text(self, index: int) -> str:
        """Return the next line that is not blank, or ""."""
        while index < len(self.lines) and not self.lines[index].strip():
            index += 1
        return self.lines[index] if index < len(self.lines) else ""

    def read_fence(self, fence: re.Match[str]) -> None:
        """Read a fence. It holds the content of a file, or it opens or closes fenced blocks."""
        self.at += 1
        if self.waiting and not OPENING.match(self._next_text(self.at)):
            self._add("whole", self.path, text=self._read_to_fence(fence[1]))
        else:
            self.fenced = not self.fenced

    def _read_to_fence(self, opening: str) -> Lines:
        """Return the lines up to the closing fence; a fence with a language opens an inner one."""
        start, depth = self.at, 1
        while self.at < len(self.lines):
            fence = FENCE.match(self.lines[self.at])
            if fence and fence[1][0] == opening[0] and len(fence[1]) >= len(opening):
                depth += 1 if fence[2] else -1
            self.at += 1
            if not depth:
                return self.lines[start : self.at - 1]
        return _trim_end(self.lines[start:])

    def read_block(self, opening: re.Match[str]) -> None:
        """Read a WHOLE or SEARCH block up to its closing marker, and add its edit."""
        path = _strip_path(opening[3]) or self.path
        length, number = len(opening[1]), len(self.edits) + 1
        if not path:
            raise EditRefused(
                f"Block {number} does not name its file.",
                "",
                "Put a line `FILE: path` above the block.",
            )
        name = f"Block {number} ({quote_text(path)})"
        self.at += 1
        lines = self.read_to_closing(length, name)
        self.path = path
        if opening[2].upper() == "WHOLE":
            self._add("whole", path, text=strip_fence(lines, path))
            return
        # The divider is the only line of equals signs, or the only one of the marker's length.
        dividers = [
            (index, len(divider[1]))
            for index, line in enumerate(lines)
            if (divider := DIVIDER.match(line))
        ]
        if len(dividers) > 1:
            dividers = [(index, size) for index, size in dividers if size == length]
        if len(dividers) != 1:
            raise EditRefused(
                f"{name} does not have exactly one line of {length} equals signs.",
                "That line separates the lines to search for from the lines that replace them.",
                "If the text itself has such a line, write all three markers of the block longer.",
            )
        index = dividers[0][0]
        search, text = lines[:index], lines[index + 1 :]
        self._add("replace", path, strip_fence(search, path), strip_fence(text, path))

    def read_to_closing(self, length: int, name: str) -> Lines:
        """Return the lines up to the closing marker.

        If the rest of the answer has none, read to the end of the fence inside the block or around
        it.
        """
        start = self.at
        while self.at < len(self.lines):
            line = self.lines[self.at]
            bare = BARE_CLOSING.match(line)
            self.at += 1
            if CLOSING.match(line) or (bare and len(bare[1]) == length):
                return self.lines[start : self.at - 1]
            if OPENING.match(line):
                raise EditRefused(
                    f"{name} has no closing marker before the next block begins.",
                    f"Line {self.at} of the answer opens another block.",
                    "Close every block with its own marker.",
                )
        lines = _trim_end(self.lines[start:])
        text = 1 + max(
            (index for index, line in enumerate(lines) if DIVIDER.match(line)), default=-1
        )
        inner = text < len(lines) and bool(FENCE.match(lines[text]))
        if inner or self.fenced:
            for index in range(text + inner, len(lines)):
                fence = FENCE.match(lines[index])
                if fence and not fence[2]:
                    return lines[: index + inner]
        return lines

    def _add(self, kind: str, path: str, search: Lines = (), text: Lines = ()) -> None:
        self.waiting = False
        self.edits.append(Edit(kind, path, tuple(search), tuple(text), len(self.edits) + 1))

    def _finish_file(self) -> None:
        """Refuse a FILE: line that no block followed."""
        if self.waiting:
            raise EditRefused(
                f"The line FILE: {quote_text(self.path)} has no block below it.",
                "It must be followed by <<<<<<< WHOLE or <<<<<<< SEARCH.",
                "Answer again with the block, or leave the file out.",
            )


def _strip_path(text: str) -> str:
    """Strip quotes, bold and remarks that models add to a path."""
    return REMARK.sub("", text.strip()).strip("`*\"'").rstrip(":").strip("`*\"' \t")


def _trim_end(lines: Lines) -> Lines:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def strip_fence(lines: Lines, path: str) -> Lines:
    """Strip the fence around the lines, if there is one.

    In a Markdown file a fence belongs to the text, unless its language is markdown.
    """
    first = FENCE.match(lines[0]) if lines else None
    is_markdown = path.lower().endswith(MARKDOWN)
    if not first or (is_markdown and first[2].strip().lower() not in ("markdown", "md")):
        return lines
    end = len(_trim_end(lines)) - 1
    last = FENCE.match(lines[end])
    if end > 0 and last and not last[2] and last[1][0] == first[1][0]:
        return lines[1:end]
    return lines[1:] if first[2] else lines
