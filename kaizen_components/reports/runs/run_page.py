"""P2 as a page: what a run was asked, every gate and attempt, what was found, what it made and what it took."""

from typing import Any

from ..engine.document import (  # fmt: skip
    Code,
    Own,
    Ref,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_dollars,
    listing,
    paragraph,
    points,
    prose,
    section,
    story,
    table,
    waterfall,
)
from .card import UNKNOWN, describe_outcome, format_known, format_seconds, suggest_next_step

FINDINGS_SHOWN_MAX = 30  # of one attempt
TEXT_CHARS_MAX = 600
DROVE = {
    "leased": "drove it from here on", "released": "let go of it", "refused": "was refused", "aborted": "aborted it",
}  # fmt: skip


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    return document(
        f"Run: {clip_text(found['request'], 120)}",
        _lead(found, zone),
        [
            section("In numbers", _numbers(found)),
            section(
                "What was asked", prose("Request", found["request"]), *_spec_blocks(found["spec"])
            ),
            section("Gates and attempts", _gates(found)),
            section("What was found", _findings(found)),
            section(
                "Where the time went",
                waterfall("Waterfall of the steps", found["trace"]) if found["trace"] else None,
            ),
            section("The change", _change(found)),
            section("Answers", _answers(found)),
            section("Budget", _budget(found)),
            section("Who drove it", _drivers(found, zone)),
            section("Files that were kept", _artifacts(found)),
        ],
    )


def _lead(found, zone):
    begun = f"begun {zone.show(found['at'])}; task {found['task_id']}"
    lead = [
        describe_outcome(found),
        f"{found['id']}, {found['protocol']} on {found['repo']}, {begun}.",
    ]
    if found.get("holder"):
        lead.append(f"{found['holder']} drives it, at most until {zone.show(found['until'])}.")
    if found.get("branch"):
        lead.append(
            f"The work is on the branch {found['branch']}{' and in the tree' if found['applied'] else ''}."
        )
    if found.get("branch") or found["outcome"] is None:
        lead.append(suggest_next_step(found))
    return [*lead, "This is a test record: `kaizen K7` removes it."] if found["test"] else lead


def _numbers(found):
    return facts(
        fact("outcome", found["outcome"] or "unfinished", show=str),
        fact("build attempts", found["build_attempts"]),
        fact("time", found["seconds"], show=format_seconds),
        fact("answers", len(found["answers"])),
        fact("tokens in", found["tokens_in"], show=format_known),
        fact("tokens out", found["tokens_out"], show=format_known),
        fact("cost", found["cost_usd"], show=_dollars),
        fact("rejected answers", found["rejected_answers"]) if found["outcome"] else None,
        fact("cost of rejected work", found["rejected_cost_usd"], show=_dollars)
        if found["outcome"]
        else None,
        fact("answers without usage", found["usage_unknown"]) if found["usage_unknown"] else None,
    )


def _dollars(usd):
    return UNKNOWN if usd is None else format_dollars(usd)


def _spec_blocks(spec):
    if not spec:
        return (paragraph("There is no spec: no plan could be read."),)
    says = "" if spec["accepted"] else ", whose checks did not pass"
    rows = [[Code(one["id"]), clip_text(one["text"], TEXT_CHARS_MAX)] for one in spec["criteria"]]
    lists = {
        "Constraint": spec["constraints"],
        "Out of scope": spec["out_of_scope"],
        "May change": spec["grants"],
    }
    return (
        table(
            f"Criteria of the spec “{clip_text(spec['title'], 120)}”{says}",
            {"Criterion": "whole", "Says": ""},
            rows,
        ),
        *(
            points([[f"{name}:", clip_text(text, TEXT_CHARS_MAX)] for text in texts])
            for name, texts in lists.items()
        ),
    )


def _gates(found):
    columns = {
        "Step": "whole", "Attempt": "number", "Ended": "", "Time": "number", "Findings": "number", "Says": "",
        "Proof": "",
    }  # fmt: skip
    rows = [
        [
            gate["step"], gate["attempt"], add_tone(gate["reason"]), format_seconds(gate["seconds"]), gate["findings"],
            clip_text(gate["says"]) or None, Ref(gate["proof_id"]) if gate["proof_id"] else None,
        ]
        for gate in found["gates"]
    ]  # fmt: skip
    return table("Every gate and attempt, in order", columns, rows) or paragraph(
        "Nothing has been judged yet."
    )


def _findings(found):
    columns = {"Attempt": "whole", "Ended": "", "Where": "", "Rule": "", "Says": ""}
    rows = [
        [f"{one['step']} {one['attempt']}", add_tone(one["reason"]), *cells]
        for one in found["failed"]
        for cells in _found(one)
    ]
    more = sum(max(0, len(one["findings"]) - FINDINGS_SHOWN_MAX) for one in found["failed"])
    return table("The findings of every attempt that did not pass", columns, rows, more)


def _found(one):
    """(where, rule, text) of each; what the verdict says, where it has no findings."""
    rows = [
        [_where(row), clip_text(row["rule"], 80), clip_text(row["text"], TEXT_CHARS_MAX)]
        for row in one["findings"][:FINDINGS_SHOWN_MAX]
    ]
    return rows or [[None, None, clip_text(one["says"], TEXT_CHARS_MAX)]]


def _where(row):
    place = f"{row['path']}:{row['line']}" if row["path"] and row["line"] else row["path"]
    return Code(clip_text(place, 200)) if place else None


def _change(found):
    change = found["change"]
    if change is None:
        none = (
            "Nothing was written that could be applied."
            if found["outcome"]
            else "There is no candidate yet."
        )
        return paragraph(none)
    if change["text"] is None:
        return paragraph("The file with the candidate is gone, or is not what was recorded.")
    title = (
        "The accepted change"
        if found["outcome"] == "accepted"
        else "The last candidate, which was not accepted"
    )
    return listing(title, change["text"] or "(no change)", f"{change['path']} has them all.")


def _answers(found):
    columns = {
        "Answer": "", "Step": "whole", "Attempt": "number", "Model": "", "Characters": "number", "Tokens in": "number",
        "Tokens out": "number", "Cost": "number", "Time": "number", "Retries": "number", "Kept": "",
    }  # fmt: skip
    rows = [
        [
            Own(one["id"]), one["step"], one["attempt"], _model(one), one["chars"], format_known(one.get("tokens_in")),
            format_known(one.get("tokens_out")), _dollars(one.get("cost_usd")), format_seconds(one.get("seconds")),
            format_known(one["retries"]), "yes" if one["kept"] else "no",
        ]
        for one in found["answers"]
    ]  # fmt: skip
    return table(
        "What was answered, and what it took; kept is what is part of accepted work", columns, rows
    )


def _model(one):
    name, served = one["model"] or UNKNOWN, one["served_by"]
    return clip_text(f"{name} (served by {served})" if served and served != name else name, 120)


def _budget(found):
    rows = [[row["name"].replace("_", " "), row["spent"], row["most"]] for row in found["budget"]]
    columns = {"Budget": "", "Spent": "number", "Allowed": "number"}
    return table(
        "What was spent of what was allowed; usage that no server told is not in it", columns, rows
    )


def _drivers(found, zone):
    return story(
        [
            {
                "at": zone.show(one["at"]), "by": clip_text(one["holder"] or one["actor"], 60),
                "what": DROVE[one["event"]], "refs": [Own(one["id"])], "text": one["why"],
            }
            for one in found["drove"]
        ]
    )  # fmt: skip


def _artifacts(found):
    columns = {"File": "", "What": "", "Bytes": "number", "SHA-256": "whole", "Artifact": ""}
    rows = [
        [
            Code(clip_text(one["path"] or one["name"])), clip_text(one["title"]), one["bytes"],
            Code(one["sha256"][:12] + "…"), Own(one["id"]),
        ]
        for one in found["artifacts"]
    ]  # fmt: skip
    return table("What a reader finds below the project", columns, rows)
