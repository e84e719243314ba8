"""Compare two drivers, models, protocols or sets of runs on the same requests (P8)."""

from __future__ import annotations

import json
from datetime import datetime
from statistics import mean

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...parameters import Reader, Row
    from ..engine.zone import Zone

    Cell = Callable[[Row], str]

ENDED = "SELECT * FROM run_current WHERE phase = 'ended' AND test = 0 ORDER BY seq"
# A replay records an artifact, and a proof only if no verdict changed. The newest replay counts.
REPLAYED = """
SELECT EXISTS (SELECT 1 FROM proof p WHERE p.stdout_id = a.id AND p.outcome = 'passed') AS same
FROM artifact a WHERE a.about_id = ? AND a.title = ? ORDER BY a.seq DESC LIMIT 1"""
REQUEST_CHARS_MAX = 100
REQUESTS_MAX = 100
# A prefix of one digit, such as the "1" that protocols declare, matches 1 in 16 hashes.
VERSION_CHARS_MIN = 4
VERSION_CHARS_SHOWN = 12
SIDE_FORMS = (
    "Give driver=agent, model=NAME, protocol=factory, version=HASH, "
    "or the ids of runs, separated by commas."
)


def gather(db: Reader, zone: Zone, options: Row) -> Row:
    """Return the numbers of both sides, over the requests that both sides have."""
    runs = [_measure_run(db, run) for run in db.rows(ENDED)]
    trees: dict[str, set[str]] = {}
    for run in runs:
        trees.setdefault(run["repo"], set()).update(filter(None, [run["base_tree"]]))
    origins = _find_origins(trees)
    for run in runs:
        run["where"] = " ".join(filter(None, (origins[run["repo"]], run["function"])))
    all_runs = {side: _select_runs(db, runs, options[side], side) for side in ("left", "right")}
    requests = {side: set(map(_get_request, runs)) for side, runs in all_runs.items()}
    shared_requests = requests["left"] & requests["right"]
    if not shared_requests:
        left_runs = format_quantity(len(all_runs["left"]), "run")
        raise NotFound(
            "nothing_to_compare",
            "The two sides have no request in common.",
            f"Left has {left_runs} that ended, right has {len(all_runs['right'])}.",
            "Run the same request on the same repository for both sides: `P1`.",
        )
    sides = {
        side: [run for run in runs if _get_request(run) in shared_requests]
        for side, runs in all_runs.items()
    }
    ids = {side: {run["id"] for run in runs} for side, runs in sides.items()}
    return {
        "left": {"is": options["left"], **_summarize_side(sides["left"])},
        "right": {"is": options["right"], **_summarize_side(sides["right"])},
        "requests": [
            {
                "request": text,
                "where": where,
                **{
                    side: [
                        {"id": run["id"], "outcome": run["outcome"]}
                        for run in runs
                        if _get_request(run) == (text, where)
                    ]
                    for side, runs in sides.items()
                },
            }
            for text, where in sorted(shared_requests)
        ],
        "left_out": {side: len(all_runs[side]) - len(sides[side]) for side in sides},
        "on_both": len(ids["left"] & ids["right"]),
    }


def _get_request(run: Row) -> tuple[str, str]:
    """Return what comparable runs share: the request, and the repository with the function."""
    return run["request"], run["where"]


def _find_origins(trees: dict[str, set[str]]) -> dict[str, str]:
    """Return {repository: first repository of its group}. Clones share a tree and form a group."""
    groups: list[tuple[list[str], set[str]]] = []
    for repo, repo_trees in trees.items():
        related_groups = [group for group in groups if group[1] & repo_trees]
        clones = [name for names, _ in related_groups for name in names]
        groups = [group for group in groups if group not in related_groups]
        groups.append(
            ([*clones, repo], repo_trees.union(*(others for _, others in related_groups)))
        )
    return {name: names[0] for names, _ in groups for name in names}


def _select_runs(db: Reader, runs: list[Row], selector: str, side: str) -> list[Row]:
    """Return the runs that a side selects, either by KEY=VALUE or by their ids."""
    key, separator, value = selector.partition("=")
    if not separator:
        ids = [db.find("run", ref.strip())["id"] for ref in selector.split(",") if ref.strip()]
        return [run for run in runs if run["id"] in ids]
    if key == "version" and 0 < len(value) < VERSION_CHARS_MIN:
        raise Usage(
            "bad_side",
            f"The version in --{side} {selector!r} is too short.",
            f"It needs at least {VERSION_CHARS_MIN} characters of the hash.",
            "`P11 --name NAME` shows the whole hash.",
        )
    conditions: dict[str, Callable[[Row], bool]] = {
        "driver": lambda run: run["driver"] == value,
        "model": lambda run: value in run["models"],
        "protocol": lambda run: run["protocol"] == value,
        "version": lambda run: run["version"].startswith(value),
    }
    if key not in conditions or not value:
        raise Usage(
            "bad_side",
            f"--{side} {clip_text(selector, 60)!r} is not a valid selection of runs.",
            f"The key {key!r} is unknown or has no value.",
            SIDE_FORMS,
        )
    return list(filter(conditions[key], runs))


def _measure_run(db: Reader, run: Row) -> Row:
    """Return the numbers by which one run is compared."""
    events = ledger.load_events(db, run)
    state = json.loads(run["state"])
    gates = {name for name, step in ledger.load_protocol(run).steps.items() if step.kind == "gate"}
    verdicts = [event for event in events if event["event"] == "judged" and event["step"] in gates]
    trees = [event["payload"].get("facts", {}).get("base_tree") for event in verdicts]
    models = {event["payload"].get("model") for event in events}
    end = next(event["at"] for event in reversed(events) if event["event"] == "ended")
    wall_time = datetime.fromisoformat(end) - datetime.fromisoformat(run["at"])
    return {
        "id": run["id"],
        "request": run["request"].strip(),
        "repo": run["repo"],
        "function": json.loads(run["options"]).get("function"),
        "base_tree": next(filter(None, trees), None),
        "driver": run["driver"],
        "protocol": run["protocol"],
        "version": run["protocol_hash"],
        "rounds": state["asks"],
        "wall_seconds": wall_time.total_seconds(),
        "models": sorted(filter(None, models)),
        "caught": sum(event["reason"] not in ("pass", "missing") for event in verdicts),
        "refused": sum(event["event"] == "refused" for event in events),
        "replayed": db.value(REPLAYED, (run["id"], f"Replay of {run['id']}")),
        **summarize_run(state, events),
    }


def _summarize_side(runs: list[Row]) -> Row:
    """Return the totals and means over the runs of one side."""
    accepted_count = sum(run["outcome"] == "accepted" for run in runs)
    tokens = [
        None
        if None in (run["tokens_in"], run["tokens_out"])
        else run["tokens_in"] + run["tokens_out"]
        for run in runs
    ]
    means = ("cost_usd", "seconds", "wall_seconds")
    versions = {f"{run['protocol']} {run['version'][:VERSION_CHARS_SHOWN]}" for run in runs}
    return {
        "runs": len(runs),
        "accepted": accepted_count,
        "accepted_interval": compute_share_interval(accepted_count, len(runs)),
        "caught": sum(run["caught"] for run in runs),
        "refused": sum(run["refused"] for run in runs),
        "rounds": _compute_average([run["rounds"] for run in runs]),
        "tokens": _compute_average(tokens),
        **{name: _compute_average([run[name] for run in runs]) for name in means},
        "replayed": sum(run["replayed"] is not None for run in runs),
        "replayed_same": sum(run["replayed"] == 1 for run in runs),
        "models": sorted({model for run in runs for model in run["models"]}),
        "protocols": sorted(versions),
    }


def _compute_average(values: list[float | None]) -> Row:
    """Return the mean of the known values, its interval, and how many values are unknown."""
    known_values = [value for value in values if value is not None]
    return {
        "mean": round(mean(known_values), 6) if known_values else None,
        "interval": compute_mean_interval(known_values),
        "unknown": len(values) - len(known_values),
    }


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the two sides in numbers, then request by request."""
    left, right = data["left"], data["right"]
    names = [f"left: {left['is']}", f"right: {right['is']}"]
    requests = data["requests"]
    return document(
        f"{left['is']} against {right['is']}",
        _summarize_requests(data),
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
                    [_describe_request(request) for request in requests[:REQUESTS_MAX]],
                    max(0, len(requests) - REQUESTS_MAX),
                ),
            ),
        ],
    )


def _summarize_requests(data: Row) -> list[str]:
    """Say how many requests and runs are compared, and which runs are left out."""
    requests = format_quantity(len(data["requests"]), "request")
    left_runs = format_quantity(data["left"]["runs"], "run")
    lead = [f"{requests} that both sides had: {left_runs} against {data['right']['runs']}."]
    left_out = sum(data["left_out"].values())
    on_both = data["on_both"]
    if left_out:
        runs, verb = format_quantity(left_out, "run"), "is" if left_out == 1 else "are"
        lead.append(f"{runs} with other requests or repositories {verb} left out.")
    if on_both:
        runs, verb = format_quantity(on_both, "run"), "is" if on_both == 1 else "are"
        lead.append(f"{runs} {verb} on both sides and cannot differ.")
    return lead


def _describe_request(request: Row) -> list[str | None]:
    """Return a request, its repository, and the outcomes of its runs on both sides."""
    return [
        clip_text(request["request"], REQUEST_CHARS_MAX),
        clip_text(request["where"], REQUEST_CHARS_MAX),
        *(", ".join(run["outcome"] for run in request[side]) for side in ("left", "right")),
    ]


def _build_sum_cell(name: str) -> Cell:
    """Return a function that formats the sum of a value and the number of runs."""
    return lambda side: f"{format_count(side[name])} in {format_quantity(side['runs'], 'run')}"


def _build_mean_cell(name: str, show: Callable[[float], str]) -> Cell:
    """Return a function that formats a mean, its interval, and how many values are unknown."""

    def format_mean(side: Row) -> str:
        average = side[name]
        if average["mean"] is None:
            return "unknown"
        text = show(average["mean"])
        if average["interval"]:
            low, high = average["interval"]
            text += f" ({show(max(0, low))} to {show(high)})"
        return text + (f", unknown for {average['unknown']}" if average["unknown"] else "")

    return format_mean


def _format_seconds(value: float) -> str:
    """Format seconds as a duration."""
    return format_duration(value * 1000)


ROWS: dict[str, Cell] = {
    "accepted": lambda side: (
        f"{side['accepted']} of {side['runs']} "
        f"({' to '.join(map(format_percent, side['accepted_interval']))})"
    ),
    "caught by gates": _build_sum_cell("caught"),
    "illegal moves refused": _build_sum_cell("refused"),
    "rounds: answers asked for": _build_mean_cell("rounds", lambda value: f"{value:.2f}"),
    "tokens": _build_mean_cell("tokens", lambda value: format_count(round(value))),
    "cost": _build_mean_cell("cost_usd", format_dollars),
    "seconds spent on answers and gates": _build_mean_cell("seconds", _format_seconds),
    "wall time": _build_mean_cell("wall_seconds", _format_seconds),
    "replayed with the same verdicts": lambda side: (
        f"{side['replayed_same']} of {side['replayed']}" if side["replayed"] else "not replayed"
    ),
    "models": lambda side: ", ".join(side["models"]) or "none named",
    "protocols, by version": lambda side: ", ".join(side["protocols"]),
}


def format_comparison(data: Row) -> str:
    """Format the comparison for a screen."""
    left, right = data["left"], data["right"]
    rows = [
        ["", left["is"], right["is"]],
        *([label, show(left), show(right)] for label, show in ROWS.items()),
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}".rstrip() for row in rows]
    ends = []
    for request in data["requests"][:REQUESTS_MAX]:
        text, where, left_ends, right_ends = _describe_request(request)
        ends.append(f"  {text} ({where}): {left_ends} | {right_ends}")
    hidden_count = len(data["requests"]) - REQUESTS_MAX
    note = [f"  and {format_quantity(hidden_count, 'request')} more"] if hidden_count > 0 else []
    return "\n".join([*_summarize_requests(data), "", *lines, "", *ends, *note])
