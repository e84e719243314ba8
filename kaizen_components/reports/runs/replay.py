"""P6 on a screen: whether a run's verdicts are the same, and each one that is not with its reason."""

from typing import Any

from ..engine.document import format_quantity


def format_replay(found: dict[str, Any]) -> str:
    rows = found["steps"]
    step = max((len(_place(row)) for row in rows), default=0)
    lines = [_headline(found), ""]
    for row in rows:
        mark = {True: "same", False: "DIFFERENT", None: "not judged"}[row["same"]]
        lines.append(f"  {_place(row):<{step}}  {row['recorded']:<10}  {mark}")
        lines += [f"      {row['why']}"] if row["why"] else []
    lines += _part("Changed since, besides:", found["changed"])
    lines += _part(
        "Asked otherwise now:",
        [f"{_place(row)}. {row['why']}" for row in found["questions"] if row["why"]],
    )
    return "\n".join([*lines, "", f"Report: {found['path']}"])


def _headline(found):
    if found["same"]:
        return f"SAME: {format_quantity(found['verdicts'], 'verdict')} of {found['id']}, judged again, as recorded."
    if found["answers_changed"]:
        changed = format_quantity(found["answers_changed"], "answer")
        return f"DIFFERENT: {changed} of {found['id']} on record, and {found['different']} of its verdicts."
    different = f"{found['different']} of {format_quantity(found['verdicts'], 'verdict')}"
    if found.get("exit_code") == 5:
        return f"CANNOT TELL: {different} of {found['id']} cannot be judged again here."
    return f"DIFFERENT: {different} of {found['id']}."


def _part(title, lines):
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _place(row):
    return f"{row['step']} {row['attempt'] or ''}".strip()
