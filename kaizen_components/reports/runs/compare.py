"""P8: two drivers, models, protocols or sets of runs on the same requests, side by side."""

import json
from datetime import datetime
from statistics import mean
from typing import Any

from ...errors import NotFound, Usage
from ...pipeline.run import recorder as ledger
from ...pipeline.run.account import summarize_run
from ..charts.interval import compute_mean_interval, compute_share_interval
from ..engine.document import (
    clip_text,
    document,
    format_count,
    format_dollars,
    format_duration,
    format_percent,
    format_quantity,
    section,
    table,
)

ENDED = "SELECT * FROM run_current WHERE phase = 'ended' AND test = 0 ORDER BY seq"
# A replay leaves an artifact, and a proof where every verdict was the same; the newest counts.
REPLAYED = """
SELECT EXISTS (SELECT 1 FROM proof p WHERE p.stdout_id = a.id AND p.outcome = 'passed') AS same FROM artifact a
WHERE a.about_id = ? AND a.title = ? ORDER BY a.seq DESC LIMIT 1"""
WAYS = ("driver", "model", "protocol", "version")
REQUEST_CHARS_MAX = 100
REQUESTS_MAX = 100
VERSION_CHARS_MIN = (
    4  # or version="1", which is what a protocol calls itself, would be a sixteenth of all hashes
)
VERSION_CHARS_SHOWN = 12
HOW = "Such as driver=agent, model=NAME, protocol=factory, version=HASH, or the ids of runs, separated by commas."


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    """Both sides, as far as they had the same requests."""
    runs = _placed([_numbers(db, run) for run in db.rows(ENDED)])
    sides = {side: _chosen(db, runs, options[side], side) for side in ("left", "right")}
    both = {_asked(run) for run in sides["left"]} & {_asked(run) for run in sides["right"]}
    if not both:
        raise NotFound(
            "nothing_to_compare",
            "The two sides have no request in common.",
            f"Left has {format_quantity(len(sides['left']), 'run')} that ended, right {len(sides['right'])}.",
            "Run the same request on the same repository on both sides: `P1`.",
        )
    kept = {side: [run for run in found if _asked(run) in both] for side, found in sides.items()}
    return {
        "left": {"is": options["left"], **_measured(kept["left"])},
        "right": {"is": options["right"], **_measured(kept["right"])},
        "requests": [_request(asked, kept) for asked in sorted(both)],
        "left_out": {side: len(sides[side]) - len(kept[side]) for side in sides},
        "on_both": len({run["id"] for run in kept["left"]} & {run["id"] for run in kept["right"]}),
    }


def _asked(run):
    """What makes two runs comparable: the same words about another repository or function are another request."""
    return run["request"], run["where"]


def _placed(runs):
    """The runs, each with where it was: clones are one repository, known by files that runs in both began with."""
    trees: dict[str, set[str]] = {}
    for run in runs:
        trees.setdefault(run["repo"], set()).update(filter(None, [run["base_tree"]]))
    homes = _homes(trees)
    return [
        {**run, "where": " ".join(filter(None, (homes[run["repo"]], run["function"])))}
        for run in runs
    ]


def _homes(trees):
    """Repository -> the first one that it has files in common with, be it through others."""
    groups: list[tuple[list[str], set[str]]] = []
    for repo, own in trees.items():
        near = [group for group in groups if group[1] & own]
        joined = [name for names, _ in near for name in names]
        groups = [group for group in groups if group not in near]
        groups.append(([*joined, repo], own.union(*(seen for _, seen in near))))
    return {name: names[0] for names, _ in groups for name in names}


def _chosen(db, runs, given, side):
    way, equals, value = given.partition("=")
    if not equals:
        ids = [db.find("run", one.strip())["id"] for one in given.split(",") if one.strip()]
        return [run for run in runs if run["id"] in ids]
    if way == "version" and 0 < len(value) < VERSION_CHARS_MIN:
        few = f"A version is at least {VERSION_CHARS_MIN} characters of a hash."
        raise Usage(
            "bad_side", f"--{side} is too short.", few, "`P11 --name NAME` shows the whole hash."
        )
    if way not in WAYS or not value:
        raise Usage(
            "bad_side", f"--{side} cannot be read.", f"It is {clip_text(given, 60)!r}.", HOW
        )
    matches = {
        "driver": lambda run: run["driver"] == value, "model": lambda run: value in run["models"],
        "protocol": lambda run: run["protocol"] == value, "version": lambda run: run["version"].startswith(value),
    }[way]  # fmt: skip
    return [run for run in runs if matches(run)]


def _numbers(db, run):
    """One run in the numbers that are compared."""
    events = ledger.load_events(db, run)
    state = json.loads(run["state"])
    gates = {name for name, step in ledger.load_protocol(run).steps.items() if step.kind == "gate"}
    judged = [event for event in events if event["event"] == "judged" and event["step"] in gates]
    trees = [event["payload"].get("facts", {}).get("base_tree") for event in judged]
    ended = next(event["at"] for event in reversed(events) if event["event"] == "ended")
    took = datetime.fromisoformat(ended) - datetime.fromisoformat(run["at"])
    return {
        "id": run["id"], "request": run["request"].strip(), "repo": run["repo"],
        "function": json.loads(run["options"]).get("function"),
        "base_tree": next(filter(None, trees), None), "driver": run["driver"], "protocol": run["protocol"],
        "version": run["protocol_hash"], "rounds": state["asks"], "wall_seconds": took.total_seconds(),
        "models": sorted({event["payload"]["model"] for event in events if event["payload"].get("model")}),
        "caught": sum(event["reason"] not in ("pass", "missing") for event in judged),
        "refused": sum(event["event"] == "refused" for event in events),
        "replayed": db.value(REPLAYED, (run["id"], f"Replay of {run['id']}")),
        **summarize_run(state, events),
    }  # fmt: skip


def _measured(runs):
    accepted = sum(run["outcome"] == "accepted" for run in runs)
    tokens = [_both(run["tokens_in"], run["tokens_out"]) for run in runs]
    return {
        "runs": len(runs), "accepted": accepted, "accepted_interval": compute_share_interval(accepted, len(runs)),
        "caught": sum(run["caught"] for run in runs), "refused": sum(run["refused"] for run in runs),
        "rounds": _mean([run["rounds"] for run in runs]), "tokens": _mean(tokens),
        "cost_usd": _mean([run["cost_usd"] for run in runs]), "seconds": _mean([run["seconds"] for run in runs]),
        "wall_seconds": _mean([run["wall_seconds"] for run in runs]),
        "replayed": sum(run["replayed"] is not None for run in runs),
        "replayed_same": sum(run["replayed"] == 1 for run in runs),
        "models": sorted({model for run in runs for model in run["models"]}),
        "protocols": sorted({f"{run['protocol']} {run['version'][:VERSION_CHARS_SHOWN]}" for run in runs}),
    }  # fmt: skip


def _both(one, other):
    return None if one is None or other is None else one + other


def _mean(values):
    """The mean of what is known, its interval, and of how many runs it is unknown."""
    known = [value for value in values if value is not None]
    return {
        "mean": round(mean(known), 6) if known else None, "interval": compute_mean_interval(known),
        "unknown": len(values) - len(known),
    }  # fmt: skip


def _request(asked, kept):
    ends = {
        side: [
            {"id": run["id"], "outcome": run["outcome"]} for run in found if _asked(run) == asked
        ]
        for side, found in kept.items()
    }
    return {"request": asked[0], "where": asked[1], **ends}


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    left, right = found["left"], found["right"]
    names = [f"left: {left['is']}", f"right: {right['is']}"]
    return document(
        f"{left['is']} against {right['is']}",
        _lead(found),
        [
            section(
                "In numbers",
                table(
                    "Means with 95 % intervals, where there is more than one run",
                    {"what": "text", names[0]: "text", names[1]: "text"},
                    [[label, show(left), show(right)] for label, show in ROWS.items()],
                ),
            ),
            section(
                "Request by request",
                table(
                    "How each request ended",
                    {"Request": "text", "Where": "text", names[0]: "text", names[1]: "text"},
                    [_row(one) for one in found["requests"][:REQUESTS_MAX]],
                    max(0, len(found["requests"]) - REQUESTS_MAX),
                ),
            ),
        ],
    )


def _lead(found):
    left_out = sum(found["left_out"].values())
    requests, runs = (
        format_quantity(len(found["requests"]), "request"),
        format_quantity(found["left"]["runs"], "run"),
    )
    lead = [f"{requests} that both sides had: {runs} against {found['right']['runs']}."]
    if left_out:
        are = "is" if left_out == 1 else "are"
        lead.append(
            f"{format_quantity(left_out, 'run')} with other requests or repositories {are} left out."
        )
    if found["on_both"]:
        same = format_quantity(found["on_both"], "run")
        lead.append(
            f"{same} {'is' if found['on_both'] == 1 else 'are'} on both sides and cannot differ."
        )
    return lead


def _row(one):
    ends = [_ends(one[side]) for side in ("left", "right")]
    return [
        clip_text(one["request"], REQUEST_CHARS_MAX),
        clip_text(one["where"], REQUEST_CHARS_MAX),
        *ends,
    ]


def _ends(runs):
    return ", ".join(run["outcome"] for run in runs)


def _success(side):
    low, high = side["accepted_interval"]
    return f"{side['accepted']} of {side['runs']} ({format_percent(low)} to {format_percent(high)})"


def _in_all(number, side):
    return f"{format_count(number)} in {format_quantity(side['runs'], 'run')}"


def _averaged(name, show):
    def cell(side):
        found = side[name]
        if found["mean"] is None:
            return "unknown"
        text = show(found["mean"])
        if found["interval"]:
            text += f" ({show(max(0, found['interval'][0]))} to {show(found['interval'][1])})"
        return text + (f", unknown for {found['unknown']}" if found["unknown"] else "")

    return cell


def _seconds(value):
    return format_duration(value * 1000)


ROWS = {
    "accepted": _success,
    "caught by gates": lambda side: _in_all(side["caught"], side),
    "illegal moves refused": lambda side: _in_all(side["refused"], side),
    "rounds: how often somebody was asked": _averaged("rounds", lambda value: f"{value:.2f}"),
    "tokens": _averaged("tokens", lambda value: format_count(round(value))),
    "cost": _averaged("cost_usd", format_dollars),
    "seconds of thinking and judging": _averaged("seconds", _seconds),
    "wall time": _averaged("wall_seconds", _seconds),
    "replayed with the same verdicts": lambda side: (
        f"{side['replayed_same']} of {side['replayed']}" if side["replayed"] else "not replayed"
    ),
    "models": lambda side: ", ".join(side["models"]) or "none named",
    "protocols, by version": lambda side: ", ".join(side["protocols"]),
}


def format_comparison(found: dict[str, Any]) -> str:
    """The same on a screen."""
    left, right = found["left"], found["right"]
    rows = [
        ["", left["is"], right["is"]],
        *([label, show(left), show(right)] for label, show in ROWS.items()),
    ]
    widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
    lines = [f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows]
    ends = [
        f"  {asked} ({where}): {left} | {right}"
        for asked, where, left, right in map(_row, found["requests"])
    ]
    more = len(ends) - REQUESTS_MAX
    left_off = [f"  and {format_quantity(more, 'request')} more"] if more > 0 else []
    return "\n".join([*_lead(found), "", *lines, "", *ends[:REQUESTS_MAX], *left_off])
