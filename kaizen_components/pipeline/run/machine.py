"""The state machine of a run: a pure function from a state and an event to the next state.

It reads no clock, file or database, so a replay needs only the events of a run. `next_state`
refuses every event that TABLE does not allow, and the recorder writes only allowed events.
"""

from typing import Any

from ...limits import RUN_OUTCOME
from ..protocol import Protocol, Step

State = dict[str, Any]
Event = dict[str, Any]

# The phase of a run -> the events that may follow.
TABLE = {
    "due": ("asked", "started", "aborted"),  # the step is next: ask the driver, or start the gate
    "asked": ("answered", "judged", "aborted"),  # waiting for an answer
    "answered": ("judged", "aborted"),  # the answer is recorded and is being checked
    "started": ("judged", "aborted"),  # the gate is running
    "ending": ("delivering", "ended"),  # the outcome is known
    "delivering": ("ended",),  # accepted work is being delivered
    "ended": (),
}
REFUSED = "refused"  # a refused call of an agent is counted, even after the end
# Refusals that show a broken protocol: a step skipped, answered twice or decided by the agent. The
# others can happen to an honest agent, such as a lease that ran out.
ILLEGAL_MOVES = ("lease-used", "another-step", "gates-are-ours")
ANYWHERE = ("leased", "released", REFUSED)  # they change only the lease and the count of refusals
ENDS = ("ending", "delivering", "ended")
SPENT = ("calls", "tokens_in", "tokens_out", "cost_usd", "seconds")
SAME_FAILURE_MAX = 3


class IllegalEvent(Exception):
    """The event is not allowed in this state."""


def initial_state(protocol: Protocol) -> State:
    """Return the state of a run before its first event."""
    return {
        "phase": "due", "step": protocol.start, "outcome": None, "why": None, "attempt": 0,
        "tries": {}, "answers": {}, "passed": [], "taken": {}, "failures": {}, "asks": 0,
        "refusals": 0, "spent": dict.fromkeys(SPENT, 0), "spent_on": {}, "usage_unknown": 0,
        "lease": None, "leases": 0, "paused": None,
    }  # fmt: skip


def legal_events(protocol: Protocol, state: State) -> list[str]:
    """Return the names of the events that are allowed in this state."""
    if state["phase"] == "ended":
        return [REFUSED]
    allowed = list(TABLE[state["phase"]])
    if state["phase"] == "due":
        allowed.remove("started" if protocol.steps[state["step"]].kind == "ask" else "asked")
    if state["phase"] == "ending":
        allowed.remove("ended" if state["outcome"] == "accepted" else "delivering")
    return [*allowed, *ANYWHERE]


def next_state(protocol: Protocol, state: State, event: Event) -> State:
    """Return the state after the event, or raise IllegalEvent. Neither argument is changed."""
    name = event["event"]
    if name not in legal_events(protocol, state):
        raise IllegalEvent(f"{name} cannot follow in {state['phase']} of {state['step']}")
    step = state["step"]
    is_new = name in ("asked", "started")
    attempt = state["tries"].get(step, 0) + 1 if is_new else state["attempt"]
    place = step, attempt  # the event must have the same
    if name not in ANYWHERE and "step" in event and (event["step"], event["attempt"]) != place:
        raise IllegalEvent(f"{event['step']} {event['attempt']} is not what is next")
    state = {key: dict(value) if isinstance(value, dict) else value for key, value in state.items()}
    match name:
        case "asked" | "started":
            state["tries"][step] = attempt
            asks = state["asks"] + (name == "asked")
            return {**state, "attempt": attempt, "asks": asks, "phase": name}
        case "answered":
            state["answers"][step] = event["answer"]
            return {**_charge(state, event), "phase": name}
        case "judged":
            return _apply_verdict(protocol, _charge(state, event), event)
        case "aborted":
            return _begin_end(state, "aborted", event.get("why") or "somebody ended it")
        case "leased":
            held = state["lease"]
            if held and held["until"] > event["at"] and held["holder"] != event["holder"]:
                raise IllegalEvent(f"{held['holder']} has the lease until {held['until']}")
            token = state["leases"] + 1  # it only increases, so a late writer is recognized
            lease = {"holder": event["holder"], "token": token, "until": event["until"]}
            # A lease on one question has an id and a place.
            lease |= {key: event[key] for key in ("id", "place") if event.get(key)}
            return {**state, "leases": token, "paused": None, "lease": lease}
        case "released":
            # With `why`, the driver could not continue. Its cost is charged.
            state = {**_charge(state, event), "lease": None, "paused": event.get("why")}
            if state["phase"] == "asked":
                # The open question is already counted in `asks`.
                before = {**state, "asks": state["asks"] - 1}
                budget = find_spent_budget(protocol, before, protocol.steps[step])
                if budget:
                    return _begin_end(state, "exhausted", f"{budget} is spent")
            return state
        case "refused":
            return _count_refusal(protocol, state, event)
    return {**state, "phase": name}


def _count_refusal(protocol: Protocol, state: State, event: Event) -> State:
    """Count a refused call; end the run after too many illegal moves."""
    state = {**state, "refusals": state["refusals"] + 1}
    if event.get("reason") not in ILLEGAL_MOVES or state["phase"] in ENDS:
        return state
    moves, most = state.get("illegal_moves", 0) + 1, protocol.illegal_moves_max
    state["illegal_moves"] = moves
    if most is None or moves <= most:
        return state
    why = f"protocol: {moves} illegal move{'s' * (moves > 1)}, and {most} may be made"
    return _begin_end({**state, "lease": None}, "failed", why)


def _charge(state: State, event: Event) -> State:
    """Add the cost of an event to the run and to its step."""
    spent = event.get("spent", {})
    state["spent_on"][state["step"]] = dict(
        state["spent_on"].get(state["step"]) or dict.fromkeys(SPENT, 0)
    )
    for purse in (state["spent"], state["spent_on"][state["step"]]):
        for name in SPENT:
            purse[name] = round(purse[name] + (spent.get(name) or 0), 6)
    state["usage_unknown"] += "tokens_in" in spent and spent["tokens_in"] is None
    return state


def _apply_verdict(protocol: Protocol, state: State, event: Event) -> State:
    """Record a pass or a failure; end the run as stuck if the same failure repeats."""
    step, reason = protocol.steps[state["step"]], event["reason"]
    void = {step.name, *step.clears} if reason == "pass" else {step.name}
    state["passed"] = [name for name in state["passed"] if name not in void]
    if reason == "pass":
        state["passed"].append(step.name)
        for name in step.clears:
            state["answers"].pop(name, None)
    else:
        key = f"{step.name} {event.get('fingerprint', '')}"
        state["failures"][key] = state["failures"].get(key, 0) + 1
        if state["failures"][key] >= SAME_FAILURE_MAX and event.get("fingerprint"):
            why = f"{step.name} failed in the same way {SAME_FAILURE_MAX} times"
            return _begin_end(state, "stuck", why)
    return _follow_edge(protocol, state, step, reason)


def _follow_edge(protocol: Protocol, state: State, step: Step, reason: str) -> State:
    """Go to the next step of a reason, or end the run without one, attempts or budget."""
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
        why = f"{step.name} ended with {reason} more than {times} time{'s' * (times > 1)}"
        return _begin_end(state, "failed", why)
    following = protocol.steps[target]
    if following.keep and following.name in state["passed"] and reason == "pass":
        return _follow_edge(protocol, state, following, "pass")
    if state["tries"].get(target, 0) >= following.attempts:
        why = f"{target} has had its {following.attempts} attempts"
        return _begin_end(state, "exhausted", why)
    budget = find_spent_budget(protocol, state, following)
    if budget:
        return _begin_end(state, "exhausted", f"{budget} is spent")
    return {**state, "phase": "due", "step": target, "attempt": 0}


def find_spent_budget(protocol: Protocol, state: State, step: Step) -> str | None:
    """Return the name of a budget, of the run or the step, that is used up; None if there is none."""
    asks = {"asks": state["asks"] if step.kind == "ask" else 0}
    run = _total_spending(state["spent"]) | asks
    for name, most in protocol.budget.items():
        if run[name] >= most:
            return f"the budget of {name}"
    tries = {"asks": state["tries"].get(step.name, 0)}
    own = _total_spending(state["spent_on"].get(step.name)) | tries
    for name, most in step.budget.items():
        if own[name] >= most:
            return f"the budget of {name} for {step.name}"
    return None


def _total_spending(spent: dict[str, float] | None) -> dict[str, float]:
    """Return the spending under the names of budgets."""
    spent = spent or dict.fromkeys(SPENT, 0)
    return {**spent, "tokens": spent["tokens_in"] + spent["tokens_out"]}


def seconds_left(protocol: Protocol, state: State, step: Step) -> float:
    """Return the seconds left in the budgets of the run and the step, at least 1."""
    unlimited = float("inf")
    used = _total_spending(state["spent_on"].get(step.name))["seconds"]
    own = step.budget.get("seconds", unlimited) - used
    run = protocol.budget.get("seconds", unlimited) - state["spent"]["seconds"]
    return max(1.0, min(own, run))


def _begin_end(state: State, outcome: str, why: str) -> State:
    """Return the state with an outcome; only the delivery and the last event follow."""
    return {**state, "phase": "ending", "outcome": outcome, "why": why}
