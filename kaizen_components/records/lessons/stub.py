"""The stub that stands where a file of lessons was, or would be: where they are, and how to find and add them.

Its first line has a version and everything the rest is made from. So a stub knows its own lines again, also when
somebody wrote above, between or below them, and whatever is not one of them is text to be recorded.
"""

import re

MARK = re.compile(
    r"<!-- kaizen:stub v1 (gotcha|learning|learned) (?:new|(\d{1,9}) (\d{4}-\d\d-\d\d) (\S{1,400})) -->"
)
WINDOW = 200  # lines below the mark in which a stub's own lines are looked for
TITLES = {"gotcha": "Gotchas", "learning": "Learnings", "learned": "Learned"}
FIND = {"gotcha": ("G2", "G3"), "learning": ("L4", "L5"), "learned": ("L7", "L8")}
ADD = {
    "gotcha": 'Add one with `kaizen G1 --title "…" --summary "…" --body "…" --evidence "…"`.',
    "learning": 'Add one with `kaizen L1 --title "…" --summary "…" --evidence "…"`, or promote a gotcha: `kaizen L2`.',
    "learned": "New ones are learnings that were proven: `kaizen L1` records a learning, `kaizen L3` promotes it.",
}


def render_stub(kind: str, lessons: int, date: str, backup: str) -> str:
    """The stub of a file from which so many lessons were recorded, the last of them on this date."""
    list_code, query_code = FIND[kind]
    moved = (
        "The lesson that stood here is a record now"
        if lessons == 1
        else f"{lessons} lessons moved into records"
    )
    return "\n".join(
        (
            f"<!-- kaizen:stub v1 {kind} {lessons} {date} {backup} -->",
            f"# {TITLES[kind]}",
            "",
            f"{moved} ({date}): `kaizen {list_code}` lists, `kaizen {query_code} --query …` finds.",
            f"{ADD[kind]} What is written below, `kaizen M3` records too.",
            f"The file as it was: `{backup}`. `kaizen M5` lists all copies, `kaizen M4` proves that nothing is lost.",
            "",
        )
    )


def render_new_stub(kind: str) -> str:
    """The stub of a file that never had a lesson."""
    list_code, query_code = FIND[kind]
    return "\n".join(
        (
            f"<!-- kaizen:stub v1 {kind} new -->",
            f"# {TITLES[kind]}",
            "",
            f"Lessons are records, not files: `kaizen {list_code}` lists, `kaizen {query_code} --query …` finds.",
            f"{ADD[kind]} What is written below, `kaizen M3` records too.",
            "",
        )
    )


def find_stub_lines(lines: list[str]) -> set[int]:
    """Which lines, counted from 0, are a stub's own."""
    found: set[int] = set()
    for at, line in enumerate(lines):
        mark = MARK.fullmatch(line.strip())
        if mark:
            kind, lessons, date, backup = mark.groups()
            text = (
                render_stub(kind, int(lessons), date, backup) if lessons else render_new_stub(kind)
            )
            waiting = [one for one in text.split("\n") if one]
            for number in range(at, min(at + WINDOW, len(lines))):
                if number not in found and lines[number].strip() in waiting:
                    waiting.remove(lines[number].strip())
                    found.add(number)
    return found
