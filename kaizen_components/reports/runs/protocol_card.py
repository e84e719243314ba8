"""P11 on a screen: a protocol with its steps, what is wrong with it, and how its own gates did on their fixtures."""

from typing import Any

from ..engine.document import format_quantity


def format_protocol(found: dict[str, Any]) -> str:
    lines = [_headline(found)]
    lines += [f"  - {wrong}" for wrong in found["faults"]]
    for row in found.get("steps", []):
        edges = ", ".join(f"{reason} → {to}" for reason, to in row["next"].items())
        lines.append(
            f"  {row['step']:<20} {row['kind']} {row['what']}, {format_quantity(row['attempts'], 'attempt')}: {edges}"
        )
    for row in found["fixtures"]:
        mark = "as it should" if row["ok"] else f"WRONG, wanted {row['expected']}. {row['says']}"
        lines.append(
            f"  {row['step']} on {row['which']} fixture {row['number']}: {row['got']}, {mark}"
        )
    lines += [f"  wrote {path}" for path in found["skills"]]
    lines += [f"hint: {found['hint']}"] if found["hint"] else []
    return "\n".join(lines)


def _headline(found):
    if found["usable"]:
        return f"{found['name']} {found['version']} can be run. {found['about']}"
    if not found["faults"]:
        return f"{found['name']} cannot be run: a gate does not tell its fixtures apart."
    return f"{found['name']} cannot be run: {format_quantity(len(found['faults']), 'fault')}."


def format_protocols(found: dict[str, Any]) -> str:
    rows = found["protocols"]
    wide = max(len(row["name"]) for row in rows)
    return "\n".join(f"{row['name']:<{wide}}  {row['whose']:<8}  {_state(row)}" for row in rows)


def _state(row):
    place = " --repo REPO" if row["whose"] == "target" else ""
    wrong = f"cannot be run: {format_quantity(row['faults'], 'fault')}; `P11 --name {row['name']}{place}`"
    return wrong if row["faults"] else row["about"]
