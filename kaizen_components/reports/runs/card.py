"""P2 and P3 on a screen: a run as a card, which says first how it ended and why; and runs as a list."""

import shutil
from typing import Any

from ...pipeline.run import show
from ...records.ledger.canonical import escape_invisible, measure_width
from ..engine.document import (
    clip_text,
    format_count,
    format_dollars,
    format_duration,
    format_percent,
    format_quantity,
)
from ..engine.drawing import cut_line

WIDTH_MIN, WIDTH_MAX = 60, 100
REQUEST_CHARS_MAX = 300
FINDING_CHARS_MAX = 600
UNKNOWN = "unknown"
PHASES = {  # what a step that was not judged yet waits for
    "due": "is next", "asked": "waits for an answer", "answered": "has an answer to check", "started": "is running",
    "ending": "is about to end", "delivering": "is being delivered",
}  # fmt: skip


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    """What the card and the page both say."""
    run = db.find("run", options["id"])
    options["id"] = run["id"]
    return show.run_card(db, run)


def format_card(card: dict[str, Any], zone, width: int | None = None) -> str:
    width = width or _width()
    request = clip_text(card["request"], REQUEST_CHARS_MAX) or ""
    blocks = [
        [*_wrapped(describe_outcome(card), width), *_wrapped(request, width, "  ")],
        _steps(card, width),
        _table(_facts(card, zone), width),
        _wrapped(suggest_next_step(card), width),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def describe_outcome(card: dict[str, Any]) -> str:
    """How it ended and why, or where it stands; then what the last verdict says, if that was no pass."""
    if card["outcome"]:
        last = card["gates"][-1] if card["gates"] and card["outcome"] != "aborted" else None
        more = last["says"] if last and last["reason"] != "pass" else ""
        return f"{card['outcome'].upper()}: {card['why']}. {more}".strip()
    place = f"{card['step']} {card['attempt']}" if card["attempt"] else card["step"]
    state = "PAUSED" if card["paused"] else "UNFINISHED"
    return f"{state}: {place} {PHASES[card['phase']]}. {card['paused'] or ''}".strip()


def suggest_next_step(card: dict[str, Any]) -> str:
    """What a reader can do now."""
    if card.get("not_applied"):
        return f"It is not in the tree: {card['not_applied']}"
    if card.get("branch"):
        return (
            f"Look at it: `git -C {card['repo']} diff {card['base_commit'][:10]} {card['branch']}`"
        )
    if card["outcome"] is None:
        return f"Go on with it: `kaizen P7 --id {card['id']}`; with --abort it ends."
    return f"Findings, answers and the last candidate: `kaizen P2 --id {card['id']} --format html`"


def _steps(card, width):
    if not card["gates"]:
        return ["Nothing has been judged yet."]
    step = max(len(_place(gate)) for gate in card["gates"])
    reason = max(len(gate["reason"]) for gate in card["gates"])
    lines = []
    for gate in card["gates"]:
        found = format_quantity(gate["findings"], "finding") if gate["findings"] else ""
        took = format_seconds(gate["seconds"])
        lines.append(
            f"  {_place(gate):<{step}}  {gate['reason']:<{reason}}  {took:>8}  {found}".rstrip()
        )
        if gate["reason"] != "pass":
            lines += _wrapped(_why(gate), width, " " * (step + 4))
    return lines


def _why(gate):
    return (
        clip_text(format_finding(gate["first"]), FINDING_CHARS_MAX)
        if gate["first"]
        else gate["says"]
    )


def _place(gate):
    return f"{gate['step']} {gate['attempt']}"


def format_finding(one: dict[str, Any]) -> str:
    """Where, by which rule, in words."""
    where = f"{one['path']}:{one['line']}" if one["path"] and one["line"] else one["path"]
    return ": ".join(filter(None, (where, one["rule"], one["text"])))


def _facts(card, zone):
    rows = [
        ("run", card["id"] + (" (a test record)" if card["test"] else "")),
        ("task", card["task_id"]),
        ("begun", f"{zone.show(card['at'])} {zone.name}, {card['protocol']} on {card['repo']}"),
        ("took", describe_usage(card)),
        ("rejected", describe_rejected(card)),
        ("reviewed by", describe_reviewer(card)),
        ("branch", card.get("branch")),
        ("in the tree", "yes" if card.get("applied") else "no" if card.get("branch") else None),
        (
            "driven by",
            f"{card['holder']}, at most until {zone.show(card['until'])}"
            if card.get("holder")
            else None,
        ),
    ]
    return [(name, value) for name, value in rows if value]


def describe_usage(card: dict[str, Any]) -> str:
    """Time, attempts, tokens and cost in one line; what nobody told is unknown, and not 0."""
    built = card["build_attempts"]
    parts = [
        format_seconds(card["seconds"]), *([format_quantity(built, "build attempt")] if built else []),
        f"{format_known(card['tokens_in'])} tokens in, {format_known(card['tokens_out'])} out", format_cost(card["cost_usd"]),
    ]  # fmt: skip
    more = (
        f"; {format_quantity(card['usage_unknown'], 'answer')} without usage"
        if card["usage_unknown"]
        else ""
    )
    return ", ".join(parts) + more


def describe_reviewer(card: dict[str, Any]) -> str | None:
    """Nobody is independent of what he wrote himself, and a reader is told so."""
    if "reviewed_by" not in card:
        return None
    too = (
        ", who built it too: only the gates are independent here"
        if card["reviewed_by_author"]
        else ""
    )
    return card["reviewed_by"] + too


def describe_rejected(card: dict[str, Any]) -> str | None:
    """What work cost that came to nothing; before the end nobody knows."""
    number = card["rejected_answers"]
    if not number or card["outcome"] is None:
        return None
    return f"{format_quantity(number, 'answer')}, {format_known(card['rejected_tokens'])} tokens, {format_cost(card['rejected_cost_usd'])}"


def format_known(value: int | None) -> str:
    return UNKNOWN if value is None else format_count(value)


def format_cost(usd: float | None) -> str:
    return f"cost {UNKNOWN}" if usd is None else format_dollars(usd)


def format_seconds(value: float | None) -> str:
    return UNKNOWN if value is None else format_duration(value * 1000)


# Many runs


def format_runs(found: dict[str, Any], width: int | None = None) -> str:
    """The runs as lines, and below them how often each stage passes."""
    if not found["records"]:
        return "Nothing found."
    width = width or _width()
    lines = [
        _line("run", "outcome", "time", "request", width),
        *(_run(row, width) for row in found["records"]),
    ]
    number = len(found["records"])
    more = f"; more with --limit (this is the limit of {number})" if found["more"] else ""
    lines += ["", format_quantity(number, "run") + more]
    return "\n".join([*lines, *_stages(found)])


def _run(row, width):
    stands = row["outcome"] or f"at {row['step'] or 'start'}"
    took = "" if row["seconds"] is None else format_seconds(row["seconds"])
    return _line(row["id"], stands, took, clip_text(row["request"]) or "", width)


def _line(run, outcome, took, request, width):
    return cut_line(
        f"{run:<34}  {cut_line(outcome, 11):<11}  {took:>8}  {escape_invisible(request)}", width
    ).rstrip()


def _stages(found):
    if not found["stages"]:
        return []
    many = len({row["protocol"] for row in found["stages"]}) > 1
    names = [
        f"{row['protocol']} {row['stage']}" if many else row["stage"] for row in found["stages"]
    ]
    size = max(map(len, [*names, "stage"]))
    lines = [
        "",
        "How often each stage passes, over all runs:",
        f"  {'stage':<{size}}  {'passes':>8}  judged  runs",
    ]
    for name, row in zip(names, found["stages"], strict=True):
        undecided = f"  ({row['undecided']:,} could not be decided)" if row["undecided"] else ""
        lines.append(
            f"  {name:<{size}}  {format_percent(row['pass_rate']):>8}  {row['judged']:>6,}  {row['runs']:>4,}{undecided}"
        )
    return [*lines, *([f"The flakiest stage is {found['flakiest']}."] if found["flakiest"] else [])]


# Lines


def _width():
    return min(max(shutil.get_terminal_size((WIDTH_MAX, 24)).columns, WIDTH_MIN), WIDTH_MAX)


def _table(rows, width):
    label = max((len(name) for name, _ in rows), default=0)
    return [
        (f"{name:<{label}}  " if at == 0 else " " * (label + 2)) + line
        for name, value in rows
        for at, line in enumerate(_wrapped(value, width - label - 2))
    ]


def _wrapped(text, width, indent=""):
    """Lines that fit; what stands between backticks is a command and stays whole, to be copied."""
    lines: list[str] = []
    for word in _words(escape_invisible(" ".join(text.split())), width - len(indent)):
        if lines and measure_width(f"{indent}{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [indent + line for line in lines]


def _words(text, most):
    """The text at its blanks; a word that is longer than a line, and no command, in pieces of a line."""
    parts = text.split("`")
    if len(parts) % 2:
        text = "`".join(
            part.replace(" ", "\0") if at % 2 else part for at, part in enumerate(parts)
        )
    for word in text.split(" "):
        if "\0" in word:
            yield word.replace("\0", " ")
        else:
            yield from _pieces(word, most)


def _pieces(word, most):
    piece = ""
    for character in word:
        if measure_width(piece + character) > most:
            yield piece
            piece = ""
        piece += character
    yield piece
