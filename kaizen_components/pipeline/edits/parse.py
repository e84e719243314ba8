"""Read the edits of an answer, in one pass over its lines: strictly where a slip would lose something."""

from .format import (  # fmt: skip
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


def parse_edits(text: str) -> list[Edit]:
    """The edits of an answer in their order, or EditRefused."""
    if "\0" in text:
        raise EditRefused(
            "The answer has a NUL byte.",
            "No text file has one.",
            "Write it as an escape, such as \\0.",
        )
    if len(text) > TEXT_CHARS_MAX:
        raise EditRefused(
            f"The answer has {len(text):,} characters.",
            f"{TEXT_CHARS_MAX:,} are read.",
            "Write less.",
        )
    if text.rstrip().endswith(CUT):
        raise EditRefused(
            "The answer was cut off before its end.", "It was too long.", "Answer with less text."
        )
    found = _Reader(text).read()
    if not found:
        raise EditRefused(
            "The answer has no edits.",
            "Nothing in it is a FILE: line with a block below it, or a DELETE: line.",
            "Answer in the form that was asked for.",
        )
    return found


class _Reader:
    """One pass over the lines of an answer."""

    def __init__(self, text: str):
        self.lines = THOUGHTS.sub("", text).replace("\r\n", "\n").split("\n")
        self.at = 0
        self.path = ""
        self.waiting = False  # a FILE: line was read, and no block for it yet
        self.fenced = False  # we are inside a fence round blocks
        self.found: list[Edit] = []

    def read(self) -> list[Edit]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if opening := OPENING.match(line):
                self._block(opening)
            elif fence := FENCE.match(line):
                self._fence(fence)
            elif header := HEADER.match(line):
                self._header(header)
            else:
                self._other(line)
        self._settle()
        return self.found

    def _header(self, header):
        word, path = header[1].upper(), _path(header[2])
        is_ours = self.lines[self.at].startswith(header[1] + ":") and header[1].isupper()
        if word == "DELETE":
            self.at += 1
            if is_ours or BARE_PATH.match(path):
                self._settle()
                self._add("delete", path)
            return
        heads_fence = self.fenced and FENCE.match(self.lines[self.at - 1])
        if not (is_ours or heads_fence or self._leads_to_block(self.at + 1)):
            self.at += 1  # prose that happens to begin with "file:"
            return
        self._begin(path)

    def _begin(self, path):
        self._settle()
        self.path, self.waiting = path, True
        self.at += 1
        if self.fenced and self._is_fence(self._next_text(self.at)):
            self.fenced = False  # the one before was never closed
        if self.fenced and not self._leads_to_block(
            self.at
        ):  # the path stands inside the fence, the file below it
            self.fenced = False
            self._add("whole", path, text=self._until_fence("```"))

    def _other(self, line):
        bare = BARE_PATH.match(line)
        if bare and self._leads_to_block(self.at + 1):
            self._begin(bare[1])
            return
        if CLOSING.match(line) and not self._closed_just_now():
            raise EditRefused(
                f"Line {self.at + 1} of the answer closes a block that is not open.",
                "Its text seems to hold a marker, or a marker is missing.",
                "Write each block with its own markers.",
            )
        self.at += 1

    def _closed_just_now(self):
        """Some models close twice: nothing is lost when only blanks and fences lie between."""
        before = self.at - 1
        while before >= 0 and (not self.lines[before].strip() or FENCE.match(self.lines[before])):
            before -= 1
        return before >= 0 and bool(CLOSING.match(self.lines[before]))

    def _leads_to_block(self, at):
        """Do only blank lines and fences lie between here and a block?"""
        fences = 0
        while at < len(self.lines) and (not self.lines[at].strip() or FENCE.match(self.lines[at])):
            fences += bool(self.lines[at].strip())
            at += 1
        return at < len(self.lines) and bool(
            OPENING.match(self.lines[at]) or (fences and not self.fenced)
        )

    def _next_text(self, at):
        """Where the next line stands that is not blank."""
        while at < len(self.lines) and not self.lines[at].strip():
            at += 1
        return at

    def _is_fence(self, at):
        return at < len(self.lines) and bool(FENCE.match(self.lines[at]))

    def _fence(self, fence):
        follows = self._next_text(self.at + 1)
        holds_block = follows < len(self.lines) and OPENING.match(self.lines[follows])
        self.at += 1
        if self.waiting and not holds_block:
            self._add("whole", self.path, text=self._until_fence(fence[1]))
        else:
            self.fenced = not self.fenced

    def _until_fence(self, opening):
        """The lines up to the fence that closes, counting those with a language as opening one inside."""
        start, depth = self.at, 1
        while self.at < len(self.lines):
            fence = FENCE.match(self.lines[self.at])
            if fence and fence[1][0] == opening[0] and len(fence[1]) >= len(opening):
                depth += 1 if fence[2] else -1
            self.at += 1
            if not depth:
                return self.lines[start : self.at - 1]
        return _trimmed(self.lines[start:])

    def _block(self, opening):
        path = _path(opening[3]) or self.path
        kind, length, number = opening[2].upper(), len(opening[1]), len(self.found) + 1
        if not path:
            raise EditRefused(
                f"Block {number} does not say which file it is for.",
                "",
                "Put a line `FILE: path` above the block.",
            )
        self.at += 1
        lines = self._until_closing(length, number, path)
        self.path = path
        if kind == "WHOLE":
            self._add("whole", path, text=strip_fence(lines, path))
            return
        search, text = _divided(lines, length, number, path)
        self._add("replace", path, strip_fence(search, path), strip_fence(text, path))

    def _until_closing(self, length, number, path):
        start = self.at
        while self.at < len(self.lines):
            line = self.lines[self.at]
            bare = BARE_CLOSING.match(line)
            self.at += 1
            if CLOSING.match(line) or (bare and len(bare[1]) == length):
                return self.lines[start : self.at - 1]
            if OPENING.match(line):
                raise EditRefused(
                    f"Block {number} ({quote_text(path)}) has no closing marker before the next block begins.",
                    f"Line {self.at} of the answer opens another one.",
                    "Close every block with its own marker.",
                )
        return self._unclosed(self.lines[start:])

    def _unclosed(self, lines):
        """The last block without its closing marker: up to the end of the fence inside it or round it."""
        lines = _trimmed(lines)
        start = 1 + max((at for at, line in enumerate(lines) if DIVIDER.match(line)), default=-1)
        inner = start < len(lines) and bool(FENCE.match(lines[start]))
        if inner or self.fenced:
            for at in range(start + inner, len(lines)):
                fence = FENCE.match(lines[at])
                if fence and not fence[2]:
                    return lines[: at + inner]
        return lines

    def _add(self, kind, path, search=(), text=()):
        self.waiting = False
        self.found.append(Edit(kind, path, tuple(search), tuple(text), len(self.found) + 1))

    def _settle(self):
        if self.waiting:
            raise EditRefused(
                f"FILE: {quote_text(self.path)} has no block below it.",
                "It must be followed by <<<<<<< WHOLE or <<<<<<< SEARCH.",
                "Answer again with the block, or leave the file out.",
            )


def _path(text):
    """A path without what models put round it."""
    return REMARK.sub("", text.strip()).strip("`*\"'").rstrip(":").strip("`*\"' \t")


def _trimmed(lines):
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def _divided(lines, length, number, path):
    """(search, text) of a block; the divider is the only line of equals signs, or the only one of the right length."""
    found = [(at, len(line[1])) for at, one in enumerate(lines) if (line := DIVIDER.match(one))]
    if len(found) > 1:
        found = [(at, size) for at, size in found if size == length]
    if len(found) != 1:
        raise EditRefused(
            f"Block {number} ({quote_text(path)}) has no single line of {length} equals signs.",
            "It stands between the lines that are searched and those that take their place.",
            "If the text itself has such a line, write all three markers of the block longer.",
        )
    at = found[0][0]
    return lines[:at], lines[at + 1 :]


def strip_fence(lines, path):
    """Without the fence that a model put round the lines. In Markdown a fence is text, unless it says markdown."""
    first = FENCE.match(lines[0]) if lines else None
    if not first or (
        path.lower().endswith(MARKDOWN) and first[2].strip().lower() not in ("markdown", "md")
    ):
        return lines
    end = len(_trimmed(lines)) - 1
    last = FENCE.match(lines[end])
    if end > 0 and last and not last[2] and last[1][0] == first[1][0]:
        return lines[1:end]
    return lines[1:] if first[2] else lines
