"""Compute the numbers of a run from its events: for its `ended` event, P1, P2 and P7."""

from typing import Any

from .machine import State


def summarize_run(state: State, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a run's outcome, the attempts of each step, and its cost.

    A figure that no server reported is None, not 0. `usage_unknown` counts answers without usage.
    """
    answers = [event for event in events if event["event"] == "answered"]
    pauses = [
        event
        for event in events
        if event["event"] == "released" and "tokens_in" in event["payload"].get("spent", {})
    ]
    # A run that was not accepted has rejected all its answers.
    is_open = state["outcome"] in (None, "accepted")
    accepted_ids = set(state["answers"].values()) if is_open else set()
    rejected_answers = [event for event in answers if event["id"] not in accepted_ids]
    tokens = [_sum_reported(rejected_answers, name) for name in ("tokens_in", "tokens_out")]
    return {
        "outcome": state["outcome"],
        "why": state["why"],
        "build_attempts": state["tries"].get("build", 0),
        "attempts": dict(state["tries"]),
        "seconds": state["spent"]["seconds"],
        "calls": state["spent"]["calls"],
        **{
            name: _sum_reported([*answers, *pauses], name)
            for name in ("tokens_in", "tokens_out", "cost_usd")
        },
        "usage_unknown": state["usage_unknown"],
        "rejected_answers": len(rejected_answers),
        "rejected_tokens": None if None in tokens else sum(tokens),
        "rejected_cost_usd": _sum_reported(rejected_answers, "cost_usd"),
    }


def _sum_reported(answers: list[dict[str, Any]], name: str) -> Any:
    """Return the sum of the reported figures; None if no answer reports the figure."""
    known_values = [
        event["payload"]["spent"][name]
        for event in answers
        if event["payload"]["spent"].get(name) is not None
    ]
    return round(sum(known_values), 6) if known_values or not answers else None
