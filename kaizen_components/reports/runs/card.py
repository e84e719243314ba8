"""Terminal output of the pipeline: a run card (P2), runs (P3), a replay (P6), protocols (P11)."""

from __future__ import annotations

import shutil

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...parameters import Reader, Row
    from ..engine.zone import Zone

WIDTH_MIN, WIDTH_MAX = 60, 100
REQUEST_CHARS_MAX = 300
FINDING_CHARS_MAX = 600
UNKNOWN = "unknown"
PHASES = {  # what a step without a verdict waits for
    "due": "is next",
    "asked": "waits for an answer",
    "answered": "has an answer to check",
    "started": "is running",
    "ending": "is about to end",
    "delivering": "is being delivered",
}


def gather(db: Reader, zone: Zone, options: Row) -> Row:
    """Return the data that the card and the page share."""
    run = db.find("run", options["id"])
    options["id"] = run["id"]
    return show.build_card(db, run)


def format_card(card: Row, zone: Zone, width: int | None = None) -> str:
    """Format a run: how it ended, its gates, the facts, and what to do next."""
    width = width or _measure_terminal()
    request = clip_text(card["request"], REQUEST_CHARS_MAX) or ""
    facts = _describe_facts(card, zone)
    label = max(map(len, facts))
    rows = []
    for name, value in facts.items():
        first, *others = _wrap_text(value, width - label - 2)
        rows += [f"{name:<{label}}  {first}", *(" " * (label + 2) + line for line in others)]
    blocks = [
        [*_wrap_text(describe_outcome(card), width), *_wrap_text(request, width, "  ")],
        _list_gates(card["gates"], width),
        rows,
        _wrap_text(suggest_next_step(card), width),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def describe_outcome(card: Row) -> str:
    """Say how the run ended and what its last failed gate reports, or what the run waits for."""
    if card["outcome"]:
        has_verdict = card["gates"] and card["outcome"] != "aborted"
        last_gate = card["gates"][-1] if has_verdict else None
        failure = last_gate["says"] if last_gate and last_gate["reason"] != "pass" else ""
        return f"{card['outcome'].upper()}: {card['why']}. {failure}".strip()
    place = f"{card['step']} {card['attempt']}" if card["attempt"] else card["step"]
    state = "PAUSED" if card["paused"] else "UNFINISHED"
    return f"{state}: {place} {PHASES[card['phase']]}. {card['paused'] or ''}".strip()


def suggest_next_step(card: Row) -> str:
    """Name the next step for the reader, with its command."""
    if card.get("not_applied"):
        return f"The change is not in the tree: {card['not_applied']}"
    if card.get("branch"):
        diff = f"diff {card['base_commit'][:10]} {card['branch']}"
        return f"Look at the change: `git -C {card['repo']} {diff}`"
    if card["outcome"] is None:
        return f"Resume the run: `kaizen P7 --id {card['id']}`. To end it, add --abort."
    return f"Findings, answers and the last candidate: `kaizen P2 --id {card['id']} --format html`"


def _list_gates(gates: list[Row], width: int) -> list[str]:
    """List each gate with its verdict and time; a failed gate also with its first finding."""
    if not gates:
        return ["No gate has given a verdict yet."]
    places = [f"{gate['step']} {gate['attempt']}" for gate in gates]
    place_width = max(map(len, places))
    reason_width = max(len(gate["reason"]) for gate in gates)
    lines = []
    for place, gate in zip(places, gates, strict=True):
        findings = format_quantity(gate["findings"], "finding") if gate["findings"] else ""
        start = f"  {place:<{place_width}}  {gate['reason']:<{reason_width}}"
        lines.append(f"{start}  {format_seconds(gate['seconds']):>8}  {findings}".rstrip())
        if gate["reason"] != "pass":
            text = gate["says"]
            if first := gate["first"]:
                has_line = first["path"] and first["line"]
                where = f"{first['path']}:{first['line']}" if has_line else first["path"]
                parts = ": ".join(filter(None, (where, first["rule"], first["text"])))
                text = clip_text(parts, FINDING_CHARS_MAX) or ""
            lines += _wrap_text(text, width, " " * (place_width + 4))
    return lines


def _describe_facts(card: Row, zone: Zone) -> dict[str, str]:
    """Return {label: value}. A missing number is shown as `unknown`, never as 0."""
    tokens = (
        f"{format_if_known(card['tokens_in'])} tokens in, {format_if_known(card['tokens_out'])} out"
    )
    attempts = card["build_attempts"]
    unknown_count = card["usage_unknown"]
    facts = {
        "run": card["id"] + (" (a test record)" if card["test"] else ""),
        "task": card["task_id"],
        "begun": f"{zone.format_time(card['at'])} {zone.name}, {card['protocol']} on {card['repo']}",
        "took": format_seconds(card["seconds"])
        + (f", {format_quantity(attempts, 'build attempt')}" if attempts else "")
        + f", {tokens}, {_format_cost(card['cost_usd'])}"
        + (f"; {format_quantity(unknown_count, 'answer')} without usage" if unknown_count else ""),
    }
    if card["rejected_answers"] and card["outcome"] is not None:
        facts["rejected"] = (
            f"{format_quantity(card['rejected_answers'], 'answer')}, "
            f"{format_if_known(card['rejected_tokens'])} tokens, "
            f"{_format_cost(card['rejected_cost_usd'])}"
        )
    if "reviewed_by" in card:
        is_author = card["reviewed_by_author"]
        author_note = ", who built it too: only the gates are independent here" if is_author else ""
        facts["reviewed by"] = card["reviewed_by"] + author_note
    if card.get("branch"):
        facts["branch"] = card["branch"]
    if card.get("branch") or card.get("applied"):
        facts["in the tree"] = "yes" if card.get("applied") else "no"
    if card.get("holder"):
        facts["driven by"] = f"{card['holder']}, at most until {zone.format_time(card['until'])}"
    return {name: value for name, value in facts.items() if value}


def format_if_known(value: int | None) -> str:
    """Format a number; None as `unknown`."""
    return UNKNOWN if value is None else format_count(value)


def _format_cost(usd: float | None) -> str:
    """Format a cost; None as `cost unknown`."""
    return f"cost {UNKNOWN}" if usd is None else format_dollars(usd)


def format_seconds(value: float | None) -> str:
    """Format seconds as a duration; None as `unknown`."""
    return UNKNOWN if value is None else format_duration(value * 1000)


def format_runs(data: Row, width: int | None = None) -> str:
    """Format the runs as lines, and below them how often each stage passes."""
    if not data["records"]:
        return "Nothing found."
    width = width or _measure_terminal()
    lines = [_format_run("run", "outcome", "time", "request", width)]
    for row in data["records"]:
        state = row["outcome"] or f"at {row['step'] or 'start'}"
        duration = "" if row["seconds"] is None else format_seconds(row["seconds"])
        request = clip_text(row["request"]) or ""
        lines.append(_format_run(row["id"], state, duration, request, width))
    number = len(data["records"])
    hint = f"; more with --limit (this is the limit of {number})" if data["more"] else ""
    lines += ["", format_quantity(number, "run") + hint]
    if not data["stages"]:
        return "\n".join(lines)
    has_many_protocols = len({row["protocol"] for row in data["stages"]}) > 1
    names = [
        f"{row['protocol']} {row['stage']}" if has_many_protocols else row["stage"]
        for row in data["stages"]
    ]
    name_width = max(map(len, [*names, "stage"]))
    lines += ["", "How often each stage passes, over all runs:"]
    lines.append(f"  {'stage':<{name_width}}  {'passes':>8}  judged  runs")
    for name, row in zip(names, data["stages"], strict=True):
        numbers = f"{format_percent(row['pass_rate']):>8}  {row['judged']:>6,}  {row['runs']:>4,}"
        undecided_note = (
            f"  ({row['undecided']:,} could not be decided)" if row["undecided"] else ""
        )
        lines.append(f"  {name:<{name_width}}  {numbers}{undecided_note}")
    if data["flakiest"]:
        lines.append(f"The flakiest stage is {data['flakiest']}.")
    return "\n".join(lines)


def _format_run(id: str, outcome: str, duration: str, request: str, width: int) -> str:
    """Return one line of the list of runs, cut at `width` columns."""
    line = f"{id:<34}  {cut_line(outcome, 11):<11}  {duration:>8}  {escape_invisible(request)}"
    return cut_line(line, width).rstrip()


def format_replay(data: Row) -> str:
    """Format a replay: whether the verdicts are the same, and why each changed one differs."""
    verdicts = format_quantity(data["verdicts"], "verdict")
    different = f"{data['different']} of {verdicts} of {data['id']}"
    if data["same"]:
        headline = f"SAME: {verdicts} of {data['id']} were checked again and did not change."
    elif data["answers_changed"]:
        answers = format_quantity(data["answers_changed"], "answer")
        headline = (
            f"DIFFERENT: {answers} of {data['id']} changed since the recording, and "
            f"{format_quantity(data['different'], 'verdict')}."
        )
    elif data.get("exit_code") == 5:
        headline = f"CANNOT TELL: {different} cannot be checked again here."
    else:
        headline = f"DIFFERENT: {different}."
    lines = [headline, ""]
    places = [f"{row['step']} {row['attempt'] or ''}".strip() for row in data["steps"]]
    place_width = max(map(len, places), default=0)
    for place, row in zip(places, data["steps"], strict=True):
        mark = {True: "same", False: "DIFFERENT", None: "not checked"}[row["same"]]
        lines.append(f"  {place:<{place_width}}  {row['recorded']:<10}  {mark}")
        lines += [f"      {row['why']}"] if row["why"] else []
    questions = [
        f"{row['step']} {row['attempt'] or ''}".strip() + f". {row['why']}"
        for row in data["questions"]
        if row["why"]
    ]
    parts = {"Also changed since the run:": data["changed"], "Questions that changed:": questions}
    for title, items in parts.items():
        lines += ["", title, *(f"  {item}" for item in items)] if items else []
    return "\n".join([*lines, "", f"Report: {data['path']}"])


def format_protocol(data: Row) -> str:
    """Format a protocol: its steps, its faults, and what its gates say about their fixtures."""
    name = data["name"]
    if data["usable"]:
        lines = [f"{name} {data['version']} can be run. {data['about']}"]
    elif data["faults"]:
        lines = [f"{name} cannot be run: {format_quantity(len(data['faults']), 'fault')}."]
    else:
        lines = [f"{name} cannot be run: a gate gives a fixture the wrong verdict."]
    lines += [f"  - {fault}" for fault in data["faults"]]
    for row in data.get("steps", []):
        edges = ", ".join(f"{reason} → {to}" for reason, to in row["next"].items())
        attempts = format_quantity(row["attempts"], "attempt")
        lines.append(f"  {row['step']:<20} {row['kind']} {row['what']}, {attempts}: {edges}")
    for row in data["fixtures"]:
        mark = "as expected" if row["ok"] else f"WRONG, expected {row['expected']}. {row['says']}"
        fixture = f"{row['step']} on {row['which']} fixture {row['number']}"
        lines.append(f"  {fixture}: {row['got']}, {mark}")
    lines += [f"  wrote {path}" for path in data["skills"]]
    lines += [f"hint: {data['hint']}"] if data["hint"] else []
    return "\n".join(lines)


def format_protocols(data: Row) -> str:
    """List the protocols. If one cannot be run, name the command that shows its faults."""
    lines = []
    name_width = max(len(row["name"]) for row in data["protocols"])
    for row in data["protocols"]:
        state = row["about"]
        if row["faults"]:
            place = " --repo REPO" if row["whose"] == "target" else ""
            faults = format_quantity(row["faults"], "fault")
            state = f"cannot be run: {faults}; `P11 --name {row['name']}{place}`"
        lines.append(f"{row['name']:<{name_width}}  {row['whose']:<8}  {state}")
    return "\n".join(lines)


def _measure_terminal() -> int:
    """Return the width of the terminal, between WIDTH_MIN and WIDTH_MAX."""
    return min(max(shutil.get_terminal_size((WIDTH_MAX, 24)).columns, WIDTH_MIN), WIDTH_MAX)


def _wrap_text(text: str, width: int, indent: str = "") -> list[str]:
    """Break a text into lines. A command in backticks stays on one line, so it can be copied."""
    lines: list[str] = []
    for word in _split_words(escape_invisible(" ".join(text.split())), width - len(indent)):
        if lines and measure_width(f"{indent}{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [indent + line for line in lines]


def _split_words(text: str, width: int) -> Iterator[str]:
    """Yield the words. Split a word wider than `width`, unless it is a command in backticks."""
    parts = text.split("`")
    if len(parts) % 2:
        text = "`".join(
            part.replace(" ", "\0") if index % 2 else part for index, part in enumerate(parts)
        )
    for word in text.split(" "):
        if "\0" in word:
            yield word.replace("\0", " ")
            continue
        piece = ""
        for character in word:
            if measure_width(piece + character) > width:
                yield piece
                piece = ""
            piece += character
        yield piece
