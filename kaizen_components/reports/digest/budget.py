"""Parts of a text fitted into a budget of tokens: each keeps its best line where it can, the first ones first.

A part is a heading with lines, the best first, and the command that shows the rest. The text is rendered anew for every
line that is tried, so that nothing (a heading, the words about what was left out) is ever forgotten in the count.
"""

from typing import Any

from ...records.work.policy import CHARACTERS_A_TOKEN
from ..engine.markdown import escape_text, quote_code

LINE_CHARS = 200
BRIEF_CHARS = 60  # where the usual line has no room
LEAD_CHARS = 400
BUDGET_MAX = 1_000_000
COUNTED = "A token is four characters as printed, rounded up; everything printed counts."
Part = dict[str, Any]
Item = dict[str, Any]


def make_part(
    name: str,
    heading: str,
    items: list[Item],
    rest: str,
    more: bool = False,
    beyond: int = 0,
    lead: str = "",
) -> Part:
    """`rest` shows what is not here: `beyond` others than the items, and `more` of them that nobody counted."""
    return {
        "name": name, "heading": heading, "items": items, "rest": rest, "more": more, "beyond": beyond, "lead": lead,
    }  # fmt: skip


def make_item(id: str, text: str, command: str) -> Item:
    """One line about a record: what it says, and the command that tells more."""
    return {"id": id, "text": text, "command": command}


def count_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_A_TOKEN)


def enlarge_budget(budget: int) -> int:
    """What to ask for where this budget was too small."""
    return min(budget * 4, BUDGET_MAX)


class FittedText:
    """The text, and which items of which part are in it."""

    def __init__(
        self,
        head: str,
        whole: Part | None,
        warning: str,
        parts: list[Part],
        budget: int,
        again: str,
    ):
        """`whole` comes first and uncut; where it does not fit, `warning` says so and nothing else is shown."""
        self.head, self.again = head, again
        self.room = budget * CHARACTERS_A_TOKEN - 1  # the line break at the end
        self.parts = [*([whole] if whole else []), *parts]
        self.shown: dict[str, list[tuple[Item, str]]] = {}
        self.overflows = False
        if whole and not self._try(
            whole, [(one, format_line(one)) for one in whole["items"]], ending=""
        ):
            self.head, self.overflows = f"{head}\n\n{warning}", True
            for one in whole["items"]:
                self._try(
                    whole, [*self.shown.get(whole["name"], []), (one, format_line(one))], ending=""
                )
        else:
            self._fill(parts)
        endings = ["", ""] if self.overflows else [self._ending(named=True), self._ending()]
        texts = [self._rendered(ending) for ending in (*endings, "")]
        self.text = next((text for text in texts if len(text) <= self.room), texts[-1][: self.room])

    def items(self, one: Part) -> list[Item]:
        return [shown for shown, _ in self.shown.get(one["name"], ())]

    def _fill(self, parts):
        for one in parts:
            for most in (LINE_CHARS, BRIEF_CHARS):
                if self._try(one, [(best, format_line(best, most)) for best in one["items"][:1]]):
                    break
        left = [one for one in parts if self.shown.get(one["name"])]
        while left:  # in turns: many items of one part leave room for the others' second and third
            left = [one for one in left if self._one_more(one)]

    def _one_more(self, one):
        shown = self.shown[one["name"]]
        more = one["items"][len(shown) : len(shown) + 1]
        return bool(more) and self._try(one, [*shown, (more[0], format_line(more[0], LINE_CHARS))])

    def _try(self, one, shown, ending=None):
        """Show these items of a part, if there is room, also for the words about what has none."""
        before = self.shown.get(one["name"])
        self.shown[one["name"]] = shown
        if len(self._rendered(self._ending() if ending is None else ending)) <= self.room:
            return True
        if before is None:
            del self.shown[one["name"]]
        else:
            self.shown[one["name"]] = before
        return False

    def _rendered(self, ending):
        blocks = [
            self.head,
            *(self._block(one) for one in self.parts if one["name"] in self.shown),
            ending,
        ]
        return "\n\n".join(filter(None, blocks))

    def _ending(self, named=False):
        missing = [one["name"] for one in self.parts if one["name"] not in self.shown]
        which = (
            ", ".join(missing) if named else f"{len(missing)} part{'s' if len(missing) > 1 else ''}"
        )
        return f"No room for {which}: {quote_code(self.again)}" if missing else ""

    def _block(self, one):
        lines = [line for _, line in self.shown[one["name"]]]
        left = len(one["items"]) - len(lines) + one["beyond"]
        said = f"{left:,}{'+' if one['more'] else ''} more" if left else "more"
        rest = [f"- {said}: {quote_code(one['rest'])}"] if left or one["more"] else []
        lead = [fit_text(one["lead"], LEAD_CHARS)] if one["lead"] else []
        return "\n".join([f"## {one['heading']}", *lead, *lines, *rest])


def format_line(one: Item, most: int | None = None) -> str:
    text = escape_text(one["text"]) if most is None else fit_text(one["text"], most)
    return f"- {text} {quote_code(one['command'])}"


def fit_text(text: str, most: int) -> str:
    """One line that Markdown shows as it is, of at most so many characters with its escapes."""
    start = text[: most * 4]
    whole = escape_text(start)
    if len(whole) <= most and len(start) == len(text):
        return whole
    low, high = 0, len(start)
    while low < high:  # the longest beginning that still fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if len(escape_text(start[:middle])) < most else (low, middle - 1)
    return escape_text(start[:low]).rstrip() + "…"
