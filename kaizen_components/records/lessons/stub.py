"""The stub that replaces a lesson file. It tells where the lessons are, and how to add more.

The first line has a version and all values in the text. From it `find_stub_lines` can recognize the
lines of a stub even if a user wrote between them; all other lines are text to record. The text of a
version must never change.
"""

import re

MARK = re.compile(
    r"<!-- kaizen:stub v1 (gotcha|learning|learned)"
    r" (?:new|(\d{1,9}) (\d{4}-\d\d-\d\d) (\S{1,400})) -->"
)
WINDOW = 200  # search for the lines of a stub in so many lines below the mark
TITLES = {"gotcha": "Gotchas", "learning": "Learnings", "learned": "Learned"}
FIND = {"gotcha": ("G2", "G3"), "learning": ("L4", "L5"), "learned": ("L7", "L8")}
ADD = {
    "gotcha": 'Add one with `kaizen G1 --title "…" --summary "…" --body "…" --evidence "…"`.',
    "learning": (
        'Add one with `kaizen L1 --title "…" --summary "…" --evidence "…"`, '
        "or promote a gotcha: `kaizen L2`."
    ),
    "learned": (
        "New ones are learnings that were proven: "
        "`kaizen L1` records a learning, `kaizen L3` promotes it."
    ),
}


def render_stub(kind: str, lessons: int, date: str, backup: str) -> str:
    """Return the stub of a file with this number of lessons, the last recorded on `date`."""
    moved = f"{lessons} lessons moved into records"
    if lessons == 1:
        moved = "The lesson that stood here is a record now"
    last = (
        f"The file as it was: `{backup}`. `kaizen M5` lists all copies, "
        "`kaizen M4` proves that nothing is lost."
    )
    return _render(kind, f"{lessons} {date} {backup}", f"{moved} ({date})", last)


def render_new_stub(kind: str) -> str:
    """Return the stub of a file that never had a lesson."""
    return _render(kind, "new", "Lessons are records, not files")


def _render(kind: str, mark: str, moved: str, *last: str) -> str:
    list_code, query_code = FIND[kind]
    lines = (
        f"<!-- kaizen:stub v1 {kind} {mark} -->",
        f"# {TITLES[kind]}",
        "",
        f"{moved}: `kaizen {list_code}` lists, `kaizen {query_code} --query …` finds.",
        f"{ADD[kind]} What is written below, `kaizen M3` records too.",
        *last,
        "",
    )
    return "\n".join(lines)


def find_stub_lines(lines: list[str]) -> set[int]:
    """Return which lines, counted from 0, belong to a stub."""
    numbers: set[int] = set()
    for at, line in enumerate(lines):
        mark = MARK.fullmatch(line.strip())
        if not mark:
            continue
        kind, lessons, date, backup = mark.groups()
        text = render_stub(kind, int(lessons), date, backup) if lessons else render_new_stub(kind)
        missing = [stub_line for stub_line in text.split("\n") if stub_line]
        for number in range(at, min(at + WINDOW, len(lines))):
            if number not in numbers and lines[number].strip() in missing:
                missing.remove(lines[number].strip())
                numbers.add(number)
    return numbers
