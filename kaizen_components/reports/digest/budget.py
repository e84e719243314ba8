"""Fit the parts of a text into a budget of tokens; each part keeps its best line if possible.

A part is a heading with lines, the best first, and the command that shows the rest. Before a line
is added, the whole text is rendered with it, so that headings and the notes about omitted lines
count too.
"""

from __future__ import annotations

from ...records.work.policy import CHARACTERS_A_TOKEN
from ..engine.escape import escape_text, quote_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Part = dict[str, Any]
    Item = dict[str, Any]

LINE_CHARS = 200
BRIEF_CHARS = 60  # if a line of LINE_CHARS does not fit
LEAD_CHARS = 400
BUDGET_MAX = 1_000_000
TOKEN_EXPLANATION = "A token is four characters as printed, rounded up; everything printed counts."


def make_part(
    name: str,
    heading: str,
    items: list[Item],
    rest: str,
    more: bool = False,
    beyond: int = 0,
    lead: str = "",
) -> Part:
    """Return a part. The command `rest` shows the records that `items` omits.

    `beyond` counts the omitted records; `more` says that others exist that were not counted.
    """
    return {
        "name": name,
        "heading": heading,
        "items": items,
        "rest": rest,
        "more": more,
        "beyond": beyond,
        "lead": lead,
    }


def make_item(id: str, text: str, command: str) -> Item:
    """Return a line about a record: its text, and the command that shows the record."""
    return {"id": id, "text": text, "command": command}


def count_tokens(text: str) -> int:
    """Return the estimated tokens of a text, rounded up."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


class FittedText:
    """A text that fits a budget, with the items of each part that it shows."""

    def __init__(
        self,
        head: str,
        rules: Part | None,
        warning: str,
        parts: list[Part],
        budget: int,
        command: str,
    ) -> None:
        """Put all `rules` first, uncut. If they do not fit, show `warning` and the rules that fit.

        `command` repeats the digest with a larger budget.
        """
        self.head, self.command = head, command
        self.room = budget * CHARACTERS_A_TOKEN - 1  # characters, without the final line break
        self.parts = [*([rules] if rules else []), *parts]
        self.lines: dict[str, list[tuple[Item, str]]] = {}  # by the name of the part
        self.overflows = False
        lines = [(item, _format_line(item)) for item in rules["items"]] if rules else []
        if rules and not self._show_if_fits(rules, lines, ending=""):
            self.head, self.overflows = f"{head}\n\n{warning}", True
            for line in lines:
                self._show_if_fits(rules, [*self.lines.get(rules["name"], []), line], ending="")
            endings = [""]
        else:
            self._add_items(parts)
            missing = [part["name"] for part in self.parts if part["name"] not in self.lines]
            endings = [self._format_ending(", ".join(missing)), self._format_ending(), ""]
        texts = [self._render(ending) for ending in endings]
        self.text = next((text for text in texts if len(text) <= self.room), texts[-1][: self.room])

    def get_items(self, part: Part) -> list[Item]:
        """Return the items of a part that the text shows."""
        return [item for item, _ in self.lines.get(part["name"], ())]

    def _add_items(self, parts: list[Part]) -> None:
        """Add the best item of each part, then the next item of each part in turn."""
        for part in parts:
            for length in (LINE_CHARS, BRIEF_CHARS):
                best = [(item, _format_line(item, length)) for item in part["items"][:1]]
                if self._show_if_fits(part, best):
                    break
        open_parts = [part for part in parts if self.lines.get(part["name"])]
        while open_parts:
            growing_parts = []
            for part in open_parts:
                lines = self.lines[part["name"]]
                if len(lines) < len(part["items"]):
                    item = part["items"][len(lines)]
                    if self._show_if_fits(part, [*lines, (item, _format_line(item, LINE_CHARS))]):
                        growing_parts.append(part)
            open_parts = growing_parts

    def _show_if_fits(
        self, part: Part, lines: list[tuple[Item, str]], ending: str | None = None
    ) -> bool:
        """Show these lines of a part and return True, unless the text would exceed the budget."""
        before = self.lines.get(part["name"])
        self.lines[part["name"]] = lines
        if len(self._render(self._format_ending() if ending is None else ending)) <= self.room:
            return True
        if before is None:
            del self.lines[part["name"]]
        else:
            self.lines[part["name"]] = before
        return False

    def _format_ending(self, names: str = "") -> str:
        """Return a note that parts have no room: their `names`, or without names their number."""
        number = sum(part["name"] not in self.lines for part in self.parts)
        parts = names or f"{number} part{'s' if number > 1 else ''}"
        return f"No room for {parts}: {quote_code(self.command)}" if number else ""

    def _render(self, ending: str) -> str:
        """Return the whole text: the head, the parts with lines, and the ending."""
        blocks = [self.head]
        for part in self.parts:
            if part["name"] in self.lines:
                lines = [line for _, line in self.lines[part["name"]]]
                hidden_count = len(part["items"]) - len(lines) + part["beyond"]
                if hidden_count or part["more"]:
                    number = (
                        f"{hidden_count:,}{'+' if part['more'] else ''} more"
                        if hidden_count
                        else "more"
                    )
                    lines.append(f"- {number}: {quote_code(part['rest'])}")
                if part["lead"]:
                    lines.insert(0, fit_text(part["lead"], LEAD_CHARS))
                blocks.append("\n".join([f"## {part['heading']}", *lines]))
        return "\n\n".join(filter(None, [*blocks, ending]))


def _format_line(item: Item, chars_max: int | None = None) -> str:
    """Return an item as a list entry: its text, cut at `chars_max`, and its command."""
    text = escape_text(item["text"]) if chars_max is None else fit_text(item["text"], chars_max)
    return f"- {text} {quote_code(item['command'])}"


def fit_text(text: str, chars_max: int) -> str:
    """Return the text as one Markdown line of at most `chars_max` characters, escapes included."""
    start = text[: chars_max * 4]
    escaped = escape_text(start)
    if len(escaped) <= chars_max and len(start) == len(text):
        return escaped
    low, high = 0, len(start)
    while low < high:  # find the longest beginning that fits
        middle = (low + high + 1) // 2
        fits = len(escape_text(start[:middle])) < chars_max
        low, high = (middle, high) if fits else (low, middle - 1)
    return escape_text(start[:low]).rstrip() + "…"
