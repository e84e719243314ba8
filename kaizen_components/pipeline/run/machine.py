"""The state machine of a run: one pure function from a state and an event to the next state.

It reads no clock, no file and no database, so that a run can be judged again from its events alone. Whatever is not in
TABLE does not happen: `after` refuses it, and the door to the database calls nothing else.
"""

from typing import Any

from ...limits import RUN_OUTCOME
from ..protocol import Protocol, Step

State = dict[str, Any]
Event = dict[str, Any]

# Where a run stands within its step, and what can happen then.
TABLE = {
    "due": ("asked", "started", "aborted"),  # the step is next: ask somebody, or start the gate
    "asked": ("answered", "judged", "aborted"),  # somebody is thinking
    "answered": ("judged", "aborted"),  # the answer is recorded and is being checked
    "started": ("judged", "aborted"),  # the gate is running
    "ending": ("delivering", "ended"),  # how it ends is known
    "delivering": ("ended",),  # accepted work is being put where it belongs
    "ended": (),  # nothing moves any more
}
REFUSED = "refused"  # whoever tries what is not legal is counted, also after the end
ANYWHERE = (
    "leased",
    "released",
    REFUSED,
)  # these change nothing but the lease and the count of refusals
SPENT = ("calls", "tokens_in", "tokens_out", "cost_usd", "seconds")
SAME_FAILURE_MAX = 3


class IllegalEvent(Exception):
    """An event that cannot follow."""


def initial_state(protocol: Protocol) -> State:
    return {
        "phase": "due", "step": protocol.start, "outcome": None, "why": None, "attempt": 0,
        "tries": {}, "answers": {}, "passed": [], "taken": {}, "failures": {}, "asks": 0, "refusals": 0,
        "spent": dict.fromkeys(SPENT, 0), "spent_on": {}, "usage_unknown": 0, "lease": None, "leases": 0,
        "paused": None,
    }  # fmt: skip


def legal_events(protocol: Protocol, state: State) -> list[str]:
    """The events that may follow."""
    if state["phase"] == "ended":
        return [REFUSED]
    allowed = list(TABLE[state["phase"]])
    if state["phase"] == "due":
        allowed.remove("started" if protocol.steps[state["step"]].kind == "ask" else "asked")
    if state["phase"] == "ending" and state["outcome"] == "accepted":
        allowed.remove("ended")
    if state["phase"] == "ending" and state["outcome"] != "accepted":
        allowed.remove("delivering")
    return [*allowed, *ANYWHERE]


def next_state(protocol: Protocol, state: State, event: Event) -> State:
    """The state after the event, or Illegal. Neither argument is changed."""
    name = event["event"]
    if name not in legal_events(protocol, state):
        raise IllegalEvent(f"{name} cannot follow in {state['phase']} of {state['step']}")
    if (
        name not in ANYWHERE
        and "step" in event
        and (event["step"], event["attempt"]) != _place(state, name)
    ):
        raise IllegalEvent(f"{event['step']} {event['attempt']} is not what is next")
    return _CHANGES[name](protocol, _copy_state(state), event)


def _place(state, name):
    """(step, attempt) that the next event must name."""
    fresh = name in ("asked", "started")
    return state["step"], state["tries"].get(state["step"], 0) + 1 if fresh else state["attempt"]


def _begin_attempt(protocol, state, event):
    step, attempt = _place(state, event["event"])
    state["tries"][step] = state["attempt"] = attempt
    state["asks"] += event["event"] == "asked"
    return {**state, "phase": event["event"]}


def _record_answer(protocol, state, event):
    state["answers"][state["step"]] = event["answer"]
    return {**_charge(state, event), "phase": "answered"}


def _charge(state, event):
    spent = event.get("spent", {})
    state["spent_on"][state["step"]] = dict(
        state["spent_on"].get(state["step"]) or dict.fromkeys(SPENT, 0)
    )
    for purse in (state["spent"], state["spent_on"][state["step"]]):
        for name in SPENT:
            purse[name] = round(purse[name] + (spent.get(name) or 0), 6)
    state["usage_unknown"] += "tokens_in" in spent and spent["tokens_in"] is None
    return state


def _apply_verdict(protocol, state, event):
    step, reason = protocol.steps[state["step"]], event["reason"]
    state = _charge(state, event)
    if reason == "pass":
        state["passed"] = [
            *(name for name in state["passed"] if name not in (step.name, *step.clears)),
            step.name,
        ]
        for name in step.clears:
            state["answers"].pop(name, None)
    else:
        state["passed"] = [name for name in state["passed"] if name != step.name]
        key = f"{step.name} {event.get('fingerprint', '')}"
        state["failures"][key] = state["failures"].get(key, 0) + 1
        if state["failures"][key] >= SAME_FAILURE_MAX and event.get("fingerprint"):
            return _begin_end(
                state, "stuck", f"{step.name} failed in the same way {SAME_FAILURE_MAX} times"
            )
    return _route(protocol, state, step, reason)


def _route(protocol, state, step, reason):
    """Where the reason leads: another step, or the end."""
    if reason == "missing":
        return _begin_end(state, "blocked", f"{step.name} cannot be decided here")
    if reason not in step.next:
        return _begin_end(state, "failed", f"{step.name} ended with {reason}, which leads nowhere")
    target, times = step.next[reason]
    if target in RUN_OUTCOME:
        return _begin_end(state, target, f"{step.name} ended with {reason}")
    edge = f"{step.name} {reason}"
    state["taken"][edge] = state["taken"].get(edge, 0) + 1
    if times and state["taken"][edge] > times:
        return _begin_end(
            state,
            "failed",
            f"{step.name} ended with {reason} more than {times} time{'s' * (times > 1)}",
        )
    following = protocol.steps[target]
    if following.keep and following.name in state["passed"] and reason == "pass":
        return _route(protocol, state, following, "pass")
    return _enter_step(protocol, state, following)


def _enter_step(protocol, state, step):
    """The next step, unless there is no attempt or no budget left for it."""
    if state["tries"].get(step.name, 0) >= step.attempts:
        return _begin_end(state, "exhausted", f"{step.name} has had its {step.attempts} attempts")
    gone = find_spent_budget(protocol, state, step)
    if gone:
        return _begin_end(state, "exhausted", f"{gone} is spent")
    return {**state, "phase": "due", "step": step.name, "attempt": 0}


def find_spent_budget(protocol: Protocol, state: State, step: Step) -> str | None:
    """The budget that does not allow the step to begin: of the run, or of the step."""
    asks = {"asks": state["asks"] if step.kind == "ask" else 0}
    own = _total_spending(state["spent_on"].get(step.name)) | {
        "asks": state["tries"].get(step.name, 0)
    }
    run = _total_spending(state["spent"]) | asks
    for name, most in protocol.budget.items():
        if run[name] >= most:
            return f"the budget of {name}"
    gone = next((name for name, most in step.budget.items() if own[name] >= most), None)
    return f"the budget of {gone} for {step.name}" if gone else None


def _total_spending(spent):
    """By the names that budgets have."""
    spent = spent or dict.fromkeys(SPENT, 0)
    return {**spent, "tokens": spent["tokens_in"] + spent["tokens_out"]}


def seconds_left(protocol: Protocol, state: State, step: Step) -> float:
    """What is left of the budgets; how long one answer may take besides is the driver's to say."""
    own = (
        step.budget.get("seconds", float("inf"))
        - _total_spending(state["spent_on"].get(step.name))["seconds"]
    )
    return max(
        1.0, min(own, protocol.budget.get("seconds", float("inf")) - state["spent"]["seconds"])
    )


def _begin_end(state, outcome, why):
    return {**state, "phase": "ending", "outcome": outcome, "why": why}


def _abort(protocol, state, event):
    return _begin_end(state, "aborted", event.get("why") or "somebody ended it")


def _change_phase(protocol, state, event):
    return {**state, "phase": event["event"]}


def _grant_lease(protocol, state, event):
    held = state["lease"]
    if held and held["until"] > event["at"] and held["holder"] != event["holder"]:
        raise IllegalEvent(f"{held['holder']} has the lease until {held['until']}")
    token = state["leases"] + 1  # higher than every one before, so that a late writer can be told
    given = {
        name: event[name] for name in ("id", "place") if event.get(name)
    }  # of a lease on one question
    lease = {"holder": event["holder"], "token": token, "until": event["until"], **given}
    return {**state, "leases": token, "paused": None, "lease": lease}


def _release_lease(protocol, state, event):
    """Whoever drove it let go; `why` says that it could not go on, and what that took is charged."""
    state = {**_charge(state, event), "lease": None, "paused": event.get("why")}
    before = {**state, "asks": state["asks"] - 1}  # the question that is under way was allowed
    gone = (
        find_spent_budget(protocol, before, protocol.steps[state["step"]])
        if state["phase"] == "asked"
        else None
    )
    return _begin_end(state, "exhausted", f"{gone} is spent") if gone else state


def _count_refusal(protocol, state, event):
    return {**state, "refusals": state["refusals"] + 1}


def _copy_state(state):
    return {
        name: dict(value) if isinstance(value, dict) else value for name, value in state.items()
    }


_CHANGES = {
    "asked": _begin_attempt, "started": _begin_attempt, "answered": _record_answer, "judged": _apply_verdict, "aborted": _abort,
    "delivering": _change_phase, "ended": _change_phase, "leased": _grant_lease, "released": _release_lease, "refused": _count_refusal,
}  # fmt: skip
