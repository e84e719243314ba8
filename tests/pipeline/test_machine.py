"""The state machine of a run allows only the events of its table."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaizen_components.limits import RUN_OUTCOME
from kaizen_components.pipeline.protocol import Protocol, load_shipped
from kaizen_components.pipeline.run import machine
from kaizen_components.pipeline.verdict import REASONS

FACTORY = load_shipped("factory")
EVENTS = sorted(
    {name for allowed in machine.TABLE.values() for name in allowed} | set(machine.ANYWHERE)
)


def event(name, state, **more):
    step, attempt = state["step"], state["attempt"]
    if name in ("asked", "started"):
        attempt = state["tries"].get(step, 0) + 1
    base = {"event": name, "step": step, "attempt": attempt, "at": "2026-11-16T00:00:00.000Z"}
    extra = {
        "answered": {"answer": "evt_1"},
        "judged": {"reason": "pass"},
        "leased": {"holder": "a", "until": "2026-11-16T01:00:00.000Z"},
    }
    return {**base, **extra.get(name, {}), **more}


def go(state, *names, **more):
    for name in names:
        state = machine.compute_next_state(FACTORY, state, event(name, state, **more))
    return state


def passed(state, *steps):
    """Return the state after each of these steps has passed."""
    for step in steps:
        assert state["step"] == step
        state = go(
            state,
            *(("asked", "answered") if FACTORY.steps[step].kind == "ask" else ("started",)),
            "judged",
        )
    return state


ALL = ("plan", "ready", "scout", "build", "validate", "tests", "test", "review")


@pytest.fixture
def start():
    return machine.make_initial_state(FACTORY)


def test_run_that_passes_every_step_is_accepted(start):
    state = passed(start, *ALL)

    assert (state["phase"], state["outcome"]) == ("ending", "accepted")
    assert go(state, "delivering", "ended")["phase"] == "ended"


@pytest.mark.parametrize("phase, name", list(itertools.product(machine.TABLE, EVENTS)))
def test_event_missing_from_table_is_refused(start, phase, name):
    for step, outcome in itertools.product(FACTORY.steps, (None, *RUN_OUTCOME)):
        state = {
            **start,
            "phase": phase,
            "step": step,
            "outcome": outcome,
            "tries": {step: 1},
            "attempt": 1,
        }
        kind = FACTORY.steps[step].kind
        wanted = name in machine.TABLE[phase] or name in (
            ("refused",) if phase == "ended" else machine.ANYWHERE
        )
        wanted &= not (phase == "due" and name == ("started" if kind == "ask" else "asked"))
        wanted &= not (
            phase == "ending" and name == ("ended" if outcome == "accepted" else "delivering")
        )
        try:
            machine.compute_next_state(FACTORY, state, event(name, state))
        except machine.IllegalEvent:
            assert not wanted, (step, outcome)
        else:
            assert wanted, (step, outcome)


def test_event_of_another_step_is_refused(start):
    asked = go(start, "asked")

    for wrong in ({"step": "build"}, {"attempt": 2}):
        with pytest.raises(machine.IllegalEvent):
            machine.compute_next_state(FACTORY, asked, event("answered", asked, **wrong))


def test_failed_check_returns_to_builder(start):
    state = passed(start, *ALL[:6])
    state = go(state, "started")
    state = go(state, "judged", reason="check", fingerprint="one")

    assert state["step"] == "build"
    assert passed(state, "build", "validate")["step"] == "test"


def test_weak_test_verdict_returns_to_test_step(start):
    state = go(passed(start, *ALL[:6]), "started")
    state = go(state, "judged", reason="weak", fingerprint="one")

    assert state["step"] == "tests"


def test_same_failure_three_times_makes_run_stuck(start):
    state = passed(start, "plan", "ready", "scout")
    for _ in range(3):
        state = go(state, "asked", "answered")
        state = go(state, "judged", reason="check", fingerprint="the same")

    assert state["outcome"] == "stuck"


def test_spent_attempts_end_the_run(start):
    state = passed(start, "plan", "ready")
    for number in range(2):
        state = go(state, "asked", "answered")
        state = go(state, "judged", reason="malformed", fingerprint=str(number))

    assert (state["outcome"], state["why"]) == ("exhausted", "scout has had its 2 attempts")


@pytest.mark.parametrize(
    "name, spent",
    [
        ("tokens", {"tokens_in": 399_999, "tokens_out": 1}),
        ("cost_usd", {"cost_usd": 5}),
        ("seconds", {"seconds": 3600}),
        ("calls", {"calls": 40}),
    ],
)
def test_spent_budget_ends_the_run(start, name, spent):
    state = go(go(start, "asked"), "answered", spent=spent)
    state = go(state, "judged")

    assert (state["outcome"], state["why"]) == ("exhausted", f"the budget of {name} is spent")


def test_pause_spends_seconds_but_no_model_call(start):
    protocol = machine_with(asks=1, seconds=10)
    asked = go(start, "asked")
    paused = machine.compute_next_state(
        protocol, asked, {"event": "released", "why": "slow", "spent": {"seconds": 4}}
    )
    again = machine.compute_next_state(
        protocol, paused, {"event": "released", "why": "slow", "spent": {"seconds": 6}}
    )

    assert (paused["phase"], paused["paused"], paused["spent"]["seconds"]) == ("asked", "slow", 4)
    assert (again["outcome"], again["why"]) == ("exhausted", "the budget of seconds is spent")


def test_spent_budget_of_a_step_ends_the_run():
    given = {
        **FACTORY.definition,
        "steps": {**FACTORY.definition["steps"], "plan": {**FACTORY.definition["steps"]["plan"]}},
    }
    given["steps"]["plan"]["budget"] = {"tokens": 100}
    protocol = Protocol(given)
    state = machine.make_initial_state(protocol)
    for name, more in (
        ("asked", {}), ("answered", {"spent": {"tokens_in": 100, "seconds": 7}}),
        ("judged", {"reason": "malformed"}),
    ):  # fmt: skip
        state = machine.compute_next_state(protocol, state, event(name, state, **more))

    assert (state["outcome"], state["why"]) == (
        "exhausted",
        "the budget of tokens for plan is spent",
    )
    assert machine.compute_seconds_left(protocol, state, protocol.steps["plan"]) == 3600 - 7
    assert (
        machine.compute_seconds_left(machine_with(seconds=20), state, protocol.steps["plan"]) == 13
    )


def machine_with(**budget):
    return Protocol({**FACTORY.definition, "budget": budget})


def test_kept_step_that_later_failed_runs_again():
    """A step with `keep` is skipped only if its last verdict was a pass."""
    steps = {name: dict(step) for name, step in FACTORY.definition["steps"].items()}
    steps["tests"]["next"] = {**steps["tests"]["next"], "check": "build"}
    protocol = Protocol({**FACTORY.definition, "steps": steps})
    state = passed(machine.make_initial_state(FACTORY), *ALL[:6])
    state = go(go(state, "started"), "judged", reason="weak", fingerprint="one")
    state = go(state, "asked", "answered")
    state = machine.compute_next_state(protocol, state, event("judged", state, reason="check"))

    assert state["step"] == "build" and "tests" not in state["passed"]
    assert passed(state, "build", "validate")["step"] == "tests"


def test_unreported_usage_is_unknown_not_zero(start):
    state = go(
        go(start, "asked"), "answered", spent={"tokens_in": None, "tokens_out": None, "seconds": 2}
    )

    assert state["usage_unknown"] == 1 and state["spent"]["seconds"] == 2


def test_ambiguous_spec_returns_to_plan_only_once(start):
    state = go(passed(start, "plan", "ready", "scout"), "asked", "answered")
    state = go(state, "judged", reason="ambiguous", fingerprint="one")
    assert state["step"] == "plan"
    state = go(passed(state, "plan", "ready", "scout"), "asked", "answered")

    assert go(state, "judged", reason="ambiguous", fingerprint="two")["outcome"] == "failed"


def test_tests_are_written_again_after_new_spec(start):
    state = passed(start, *ALL[:6])
    state = go(go(state, "started"), "judged", reason="check", fingerprint="one")
    state = go(go(state, "asked", "answered"), "judged", reason="ambiguous", fingerprint="two")

    assert passed(state, "plan", "ready", "scout", "build", "validate")["step"] == "tests"


def test_missing_tool_blocks_the_run(start):
    state = go(passed(start, "plan", "ready", "scout", "build"), "started")

    assert go(state, "judged", reason="missing")["outcome"] == "blocked"


def test_lease_excludes_other_agents_until_it_ends(start):
    held = go(start, "leased")
    with pytest.raises(machine.IllegalEvent, match="a has the lease"):
        go(held, "leased", holder="b")

    assert go(held, "leased", holder="b", at="2026-11-16T02:00:00.000Z")["lease"]["holder"] == "b"
    assert go(go(held, "released"), "leased", holder="b")["lease"] == {
        "holder": "b", "token": 2, "until": "2026-11-16T01:00:00.000Z",
    }  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    choices=st.lists(
        st.tuples(
            st.integers(0, 50), st.sampled_from((*REASONS, *("pass",) * 9)), st.integers(0, 9)
        ),
        max_size=150,
    )
)
def test_accepted_run_passed_every_step_in_order(choices):
    """Walk over random legal events; after the newest build, all gates must have passed in order."""
    state, order = machine.make_initial_state(FACTORY), []
    for pick, reason, fingerprint in choices:
        allowed = [
            name
            for name in machine.list_legal_events(FACTORY, state)
            if name not in machine.ANYWHERE
        ]
        if not allowed:
            break
        name = allowed[pick % len(allowed)]
        before = state
        state = machine.compute_next_state(
            FACTORY,
            state,
            event(
                name,
                state,
                **({"reason": reason, "fingerprint": str(fingerprint)} if name == "judged" else {}),
            ),
        )
        if name == "judged" and reason == "pass":
            order.append(before["step"])
        elif name == "judged":
            order = [step for step in order if step != before["step"]]
        assert all(
            number <= FACTORY.steps[step].attempts for step, number in state["tries"].items()
        )
    if state["outcome"] == "accepted":
        newest = {step: at for at, step in enumerate(order)}
        assert set(newest) == set(ALL)
        assert (
            newest["plan"]
            < newest["ready"]
            < newest["scout"]
            < newest["build"]
            < newest["validate"]
            < newest["test"]
            < newest["review"]
        )
