"""Parts of a text fitted into a budget of tokens: each keeps its best line if it can.

A part is a heading with lines, the best first, and the command that shows the rest. The text is
rendered anew for every line that is tried, so that nothing is forgotten in the count: neither a
heading nor the words about what was left out.
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
BRIEF_CHARS = 60  # where the usual line has no room
LEAD_CHARS = 400
BUDGET_MAX = 1_000_000
COUNTED = "A token is four characters as printed, rounded up; everything printed counts."


def make_part(
    name: str,
    heading: str,
    items: list[Item],
    rest: str,
    more: bool = False,
    beyond: int = 0,
    lead: str = "",
) -> Part:
    """Return a part; `rest` shows the others: `beyond` of them, and with `more` uncounted ones."""
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
    """Return a line about a record: what it says, and the command that shows more."""
    return {"id": id, "text": text, "command": command}


def count_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_A_TOKEN)


class FittedText:
    """A text within a budget, and which items of which part are in it."""

    def __init__(
        self,
        head: str,
        rules: Part | None,
        warning: str,
        parts: list[Part],
        budget: int,
        command: str,
    ) -> None:
        """Put `rules` first and uncut; if they do not fit, show them and `warning` only.

        `command` asks again with a larger budget.
        """
        self.head, self.command = head, command
        self.room = budget * CHARACTERS_A_TOKEN - 1  # the line break at the end
        self.parts = [*([rules] if rules else []), *parts]
        self.shown: dict[str, list[tuple[Item, str]]] = {}
        self.overflows = False
        lines = [(item, _format_line(item)) for item in rules["items"]] if rules else []
        if rules and not self._try(rules, lines, ending=""):
            self.head, self.overflows = f"{head}\n\n{warning}", True
            for line in lines:
                self._try(rules, [*self.shown.get(rules["name"], []), line], ending="")
            endings = [""]
        else:
            self._fill(parts)
            missing = [part["name"] for part in self.parts if part["name"] not in self.shown]
            endings = [self._format_ending(", ".join(missing)), self._format_ending(), ""]
        texts = [self._render(ending) for ending in endings]
        self.text = next((text for text in texts if len(text) <= self.room), texts[-1][: self.room])

    def get_items(self, part: Part) -> list[Item]:
        return [item for item, _ in self.shown.get(part["name"], ())]

    def _fill(self, parts: list[Part]) -> None:
        """Show the best item of each part, then their next items in turns."""
        for part in parts:
            for length in (LINE_CHARS, BRIEF_CHARS):
                best = [(item, _format_line(item, length)) for item in part["items"][:1]]
                if self._try(part, best):
                    break
        left = [part for part in parts if self.shown.get(part["name"])]
        while left:
            growing = []
            for part in left:
                shown = self.shown[part["name"]]
                if len(shown) < len(part["items"]):
                    item = part["items"][len(shown)]
                    if self._try(part, [*shown, (item, _format_line(item, LINE_CHARS))]):
                        growing.append(part)
            left = growing

    def _try(self, part: Part, lines: list[tuple[Item, str]], ending: str | None = None) -> bool:
        """Show these items of a part, if there is room, also for the words about what has none."""
        before = self.shown.get(part["name"])
        self.shown[part["name"]] = lines
        if len(self._render(self._format_ending() if ending is None else ending)) <= self.room:
            return True
        if before is None:
            del self.shown[part["name"]]
        else:
            self.shown[part["name"]] = before
        return False

    def _format_ending(self, names: str = "") -> str:
        number = sum(part["name"] not in self.shown for part in self.parts)
        parts = names or f"{number} part{'s' if number > 1 else ''}"
        return f"No room for {parts}: {quote_code(self.command)}" if number else ""

    def _render(self, ending: str) -> str:
        blocks = [self.head]
        for part in self.parts:
            if part["name"] in self.shown:
                lines = [line for _, line in self.shown[part["name"]]]
                left = len(part["items"]) - len(lines) + part["beyond"]
                if left or part["more"]:
                    number = f"{left:,}{'+' if part['more'] else ''} more" if left else "more"
                    lines.append(f"- {number}: {quote_code(part['rest'])}")
                if part["lead"]:
                    lines.insert(0, fit_text(part["lead"], LEAD_CHARS))
                blocks.append("\n".join([f"## {part['heading']}", *lines]))
        return "\n\n".join(filter(None, [*blocks, ending]))


def _format_line(item: Item, chars_max: int | None = None) -> str:
    text = escape_text(item["text"]) if chars_max is None else fit_text(item["text"], chars_max)
    return f"- {text} {quote_code(item['command'])}"


def fit_text(text: str, chars_max: int) -> str:
    """Return one line for Markdown of at most so many characters, escapes included."""
    start = text[: chars_max * 4]
    whole = escape_text(start)
    if len(whole) <= chars_max and len(start) == len(text):
        return whole
    low, high = 0, len(start)
    while low < high:  # the longest beginning that still fits
        middle = (low + high + 1) // 2
        fits = len(escape_text(start[:middle])) < chars_max
        low, high = (middle, high) if fits else (low, middle - 1)
    return escape_text(start[:low]).rstrip() + "…"
