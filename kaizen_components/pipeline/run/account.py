"""The numbers of a run, made from its events: what the last one says, and what P1, P2 and P7 show."""

from typing import Any

from .machine import State


def summarize_run(state: State, events: list[dict[str, Any]]) -> dict[str, Any]:
    """How it ended or where it stands, how often each step was tried, and what it took.

    What no server told is None and not zero; where some told and some did not, `usage_unknown` counts those.
    """
    answers = [event for event in events if event["event"] == "answered"]
    paused = [
        event
        for event in events
        if event["event"] == "released" and "tokens_in" in event["payload"].get("spent", {})
    ]
    rejected = _rejected(state, answers)
    return {
        "outcome": state["outcome"],
        "why": state["why"],
        "build_attempts": state["tries"].get("build", 0),
        "attempts": dict(state["tries"]),
        "seconds": state["spent"]["seconds"],
        "calls": state["spent"]["calls"],
        **{
            name: _add_up([*answers, *paused], name)
            for name in ("tokens_in", "tokens_out", "cost_usd")
        },
        "usage_unknown": state["usage_unknown"],
        "rejected_answers": len(rejected),
        "rejected_tokens": _both(_add_up(rejected, "tokens_in"), _add_up(rejected, "tokens_out")),
        "rejected_cost_usd": _add_up(rejected, "cost_usd"),
    }


def _rejected(state, answers):
    """Answers that are no part of accepted work: of a run that ended otherwise, all of them."""
    kept = set(state["answers"].values()) if state["outcome"] in (None, "accepted") else set()
    return [event for event in answers if event["id"] not in kept]


def _add_up(answers, name):
    known = [
        event["payload"]["spent"][name]
        for event in answers
        if event["payload"]["spent"].get(name) is not None
    ]
    return round(sum(known), 6) if known or not answers else None


def _both(one, other):
    return None if one is None or other is None else one + other
