"""The state machine of a run: a pure function from a state and an event to the next state.

It reads no clock, file or database, so a replay needs only the events of a run.
`compute_next_state` refuses every event that TABLE does not allow. The recorder writes only allowed
events.
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
ANYWHERE = ("leased", "released", REFUSED)  # change only the lease and the refusals
ENDS = ("ending", "delivering", "ended")
SPENT = ("calls", "tokens_in", "tokens_out", "cost_usd", "seconds")
SAME_FAILURE_MAX = 3


class IllegalEvent(Exception):
    """The event is not allowed in this state."""


def make_initial_state(protocol: Protocol) -> State:
    """Return the state of a run before its first event."""
    return {
        "phase": "due", "step": protocol.start, "outcome": None, "why": None, "attempt": 0,
        "tries": {}, "answers": {}, "passed": [], "taken": {}, "failures": {}, "asks": 0,
        "refusals": 0, "spent": dict.fromkeys(SPENT, 0), "spent_on": {}, "usage_unknown": 0,
        "lease": None, "leases": 0, "paused": None,
    }  # fmt: skip


def list_legal_events(protocol: Protocol, state: State) -> list[str]:
    """Return the names of the events that are allowed in this state."""
    if state["phase"] == "ended":
        return [REFUSED]
    allowed = list(TABLE[state["phase"]])
    if state["phase"] == "due":
        allowed.remove("started" if protocol.steps[state["step"]].kind == "ask" else "asked")
    if state["phase"] == "ending":
        allowed.remove("ended" if state["outcome"] == "accepted" else "delivering")
    return [*allowed, *ANYWHERE]


def compute_next_state(protocol: Protocol, state: State, event: Event) -> State:
    """Return the state after the event, or raise IllegalEvent. The arguments do not change."""
    name = event["event"]
    if name not in list_legal_events(protocol, state):
        raise IllegalEvent(f"{name} cannot follow in {state['phase']} of {state['step']}")
    step = state["step"]
    is_new = name in ("asked", "started")
    attempt = state["tries"].get(step, 0) + 1 if is_new else state["attempt"]
    place = step, attempt  # the event must name them too
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
            return {**_add_cost(state, event), "phase": name}
        case "judged":
            return _apply_verdict(protocol, _add_cost(state, event), event)
        case "aborted":
            return _begin_end(state, "aborted", event.get("why") or "somebody ended it")
        case "leased":
            old_lease = state["lease"]
            if (
                old_lease
                and old_lease["until"] > event["at"]
                and old_lease["holder"] != event["holder"]
            ):
                raise IllegalEvent(
                    f"{old_lease['holder']} has the lease until {old_lease['until']}"
                )
            token = state["leases"] + 1  # only increases, to recognize a late writer
            lease = {"holder": event["holder"], "token": token, "until": event["until"]}
            # A lease on one question has an id and a place.
            lease |= {key: event[key] for key in ("id", "place") if event.get(key)}
            return {**state, "leases": token, "paused": None, "lease": lease}
        case "released":
            # With `why`, the driver could not continue. Its cost is charged.
            state = {**_add_cost(state, event), "lease": None, "paused": event.get("why")}
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
    moves, limit = state.get("illegal_moves", 0) + 1, protocol.illegal_moves_max
    state["illegal_moves"] = moves
    if limit is None or moves <= limit:
        return state
    why = f"protocol: {moves} illegal move{'s' * (moves > 1)}, and {limit} may be made"
    return _begin_end({**state, "lease": None}, "failed", why)


def _add_cost(state: State, event: Event) -> State:
    """Add the cost of an event to the run and to its step."""
    spent = event.get("spent", {})
    state["spent_on"][state["step"]] = dict(
        state["spent_on"].get(state["step"]) or dict.fromkeys(SPENT, 0)
    )
    for account in (state["spent"], state["spent_on"][state["step"]]):
        for name in SPENT:
            account[name] = round(account[name] + (spent.get(name) or 0), 6)
    state["usage_unknown"] += "tokens_in" in spent and spent["tokens_in"] is None
    return state


def _apply_verdict(protocol: Protocol, state: State, event: Event) -> State:
    """Record a pass or a failure; end the run as stuck if the same failure repeats."""
    step, reason = protocol.steps[state["step"]], event["reason"]
    obsolete_steps = {step.name, *step.clears} if reason == "pass" else {step.name}
    state["passed"] = [name for name in state["passed"] if name not in obsolete_steps]
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
    """Go to the step that follows `reason`; end the run if no step, attempt or budget is left."""
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
    next_step = protocol.steps[target]
    if next_step.keep and next_step.name in state["passed"] and reason == "pass":
        return _follow_edge(protocol, state, next_step, "pass")
    if state["tries"].get(target, 0) >= next_step.attempts:
        why = f"{target} has had its {next_step.attempts} attempts"
        return _begin_end(state, "exhausted", why)
    budget = find_spent_budget(protocol, state, next_step)
    if budget:
        return _begin_end(state, "exhausted", f"{budget} is spent")
    return {**state, "phase": "due", "step": target, "attempt": 0}


def find_spent_budget(protocol: Protocol, state: State, step: Step) -> str | None:
    """Return the name of a used-up budget of the run or the step, or None."""
    asks = {"asks": state["asks"] if step.kind == "ask" else 0}
    run = _add_token_total(state["spent"]) | asks
    for name, limit in protocol.budget.items():
        if run[name] >= limit:
            return f"the budget of {name}"
    tries = {"asks": state["tries"].get(step.name, 0)}
    own = _add_token_total(state["spent_on"].get(step.name)) | tries
    for name, limit in step.budget.items():
        if own[name] >= limit:
            return f"the budget of {name} for {step.name}"
    return None


def _add_token_total(spent: dict[str, float] | None) -> dict[str, float]:
    """Return the spending with `tokens`, the sum that budgets limit."""
    spent = spent or dict.fromkeys(SPENT, 0)
    return {**spent, "tokens": spent["tokens_in"] + spent["tokens_out"]}


def compute_seconds_left(protocol: Protocol, state: State, step: Step) -> float:
    """Return the seconds left in the budgets of the run and the step, at least 1."""
    unlimited = float("inf")
    used = _add_token_total(state["spent_on"].get(step.name))["seconds"]
    own = step.budget.get("seconds", unlimited) - used
    run = protocol.budget.get("seconds", unlimited) - state["spent"]["seconds"]
    return max(1.0, min(own, run))


def _begin_end(state: State, outcome: str, why: str) -> State:
    """Return the state with an outcome. Only the delivery and the event `ended` follow."""
    return {**state, "phase": "ending", "outcome": outcome, "why": why}
