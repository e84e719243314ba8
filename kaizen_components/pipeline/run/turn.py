"""An agent's turn: the question it gets, and the checks before its answer is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import Conflict, KaizenError, NotFound, Refused
from ...records import ids
from ...records.ledger.hashing import hash_text
from ...records.secrets import scan
from ..answers.context import StepContext
from ..answers.kinds import get_kind
from ..answers.parse import AnswerRefused, extract_json
from ..ask.question import Question
from ..edits import apply as edits
from ..protocol import Protocol, Step
from ..target.workspace import Workspace
from . import machine
from .journal import Journal

if TYPE_CHECKING:
    from ...parameters import Reader, Row

LEASED = "SELECT run_id, at FROM run_event WHERE id = ? AND event = 'leased'"
GATE_WORDS = frozenset({"gate", "gates", "proof", "proof_id", "exit_code", "tier"})


def describe_place(state: machine.State) -> str:
    """Return the current step and its attempt, such as "build 2"."""
    return f"{state['step']} {state['attempt']}"


def take_lease(journal: Journal, actor: str, ttl_s: int) -> str:
    """Return the actor's lease on the open question; raise Conflict if another actor has it."""
    current_lease, place = journal.state["lease"], describe_place(journal.state)
    if (
        current_lease
        and current_lease.get("place") == place
        and current_lease["until"] > ids.format_time(ids.now_ms())
    ):
        if current_lease["holder"] == actor:
            return current_lease["id"]
        journal.record_refusal("step-is-leased", f"{current_lease['holder']} has the lease.")
        raise Conflict(
            "step_is_leased",
            f"{current_lease['holder']} has the lease on {place}.",
            f"Rule step-is-leased: the lease lasts until {current_lease['until']}.",
            "Wait for the lease to end, or work on another run: `P3`.",
        )
    if current_lease:
        journal.add_event("released")
    until = ids.format_time(ids.now_ms() + ttl_s * 1000)
    journal.add_event("leased", holder=actor, until=until, place=place)
    return journal.state["lease"]["id"]


def build_contract(
    journal: Journal, work: Workspace, protocol: Protocol, context: StepContext, question: Question
) -> dict[str, Any]:
    """Return the answer of P5: the question, its inputs, its form, and the budget left."""
    state = journal.state
    step = protocol.steps[state["step"]]
    kind, lease = get_kind(step), state["lease"] or {}
    spent = state["spent"]
    totals = {**spent, "asks": state["asks"], "tokens": spent["tokens_in"] + spent["tokens_out"]}
    return {
        "id": journal.run["id"], "kind": "run", "protocol": protocol.name, "phase": state["phase"],
        "step": step.name, "stage": step.stage, "about": step.about, "attempt": state["attempt"],
        "attempts_max": step.attempts, "lease": lease.get("id"), "until": lease.get("until"),
        "base_commit": journal.run["base_commit"],
        "question": "\n\n".join(message["content"] for message in question),
        "inputs": work.export_inputs(), "answer": kind.form_name, **kind.describe_form(step),
        "write_set": kind.describe_write_set(work, context),
        "budget_left": {
            name: round(max(0, limit - totals[name]), 6) for name, limit in protocol.budget.items()
        },
        "feedback": context.feedback or None,
        "legal": ["P4 --lease LEASE --file ANSWER", "P5 --id RUN", "P7 --id RUN --abort"],
        "hint": f"Answer with `P4 --lease {lease.get('id')} --file ANSWER`.",
    }  # fmt: skip


def find_leased_run(db: Reader, lease_id: str) -> tuple[Row, Row]:
    """Return (the run, the event of the lease), or raise NotFound."""
    lease = db.one(LEASED, (lease_id,))
    if lease is None:
        raise NotFound(
            "unknown_lease",
            "No step was leased under this id.",
            "Rule unknown-lease: P5 returns the id with the step, such as evt_….",
            "`P5 --id RUN` shows the legal moves.",
        )
    return db.find("run", lease["run_id"]), lease


def find_same_answer(journal: Journal, lease_id: str, text: str) -> dict[str, Any] | None:
    """Return the event that recorded the same answer under the same lease, or None."""
    sha256 = hash_text(scan.redact_secrets(text))
    for event in journal.load_events():
        if event["event"] == "answered" and event["payload"].get("lease") == lease_id:
            if event["payload"]["sha256"] == sha256:
                return event
            what = "This lease has been used for another answer."
            raise _refuse(journal, "lease-used", what, Conflict)
    return None


def check_submission(journal: Journal, step: Step, submission: dict[str, Any]) -> None:
    """Refuse an answer with a stale lease, a wrong step or base, or a rejected text."""
    state = journal.state
    current_lease = state["lease"]
    if (
        state["phase"] != "asked"
        or not current_lease
        or current_lease.get("id") != submission["lease"]
    ):
        raise _refuse(journal, "stale-lease", "This lease is not the current one.", Conflict)
    if current_lease["until"] <= ids.format_time(ids.now_ms()):
        raise _refuse(
            journal, "stale-lease", f"This lease ended at {current_lease['until']}.", Conflict
        )
    if submission["step"] and submission["step"] != state["step"]:
        raise _refuse(
            journal, "another-step", f"The answer is for {submission['step'][:60]}.", Conflict
        )
    if submission["base"] and not journal.run["base_commit"].startswith(submission["base"]):
        raise _refuse(journal, "changed-base", "The answer was made for another commit.", Conflict)
    sha256 = hash_text(scan.redact_secrets(submission["text"]))
    if sha256 in _list_rejected_hashes(journal, state["step"]):
        raise _refuse(journal, "rejected-before", "The same answer was rejected before.", Refused)
    words = _find_gate_words(step, submission["text"])
    if words:
        what = f"The answer offers the result of a gate: it says {', '.join(words)}."
        raise _refuse(journal, "gates-are-ours", what, Refused)


def check_paths(
    journal: Journal, work: Workspace, step: Step, context: StepContext, text: str
) -> None:
    """Refuse an answer that writes a path outside the write set of its step."""
    forbidden_paths = get_kind(step).find_forbidden_paths(work, context, text)
    if forbidden_paths:
        what = f"{', '.join(forbidden_paths[:5])} is outside of what this step may write."
        raise _refuse(journal, "write-set", what, Refused)


def _list_rejected_hashes(journal: Journal, step: str) -> set[str]:
    """Return the hashes of rejected answers to this step, by its own checks or by a later step."""
    newest, has_failed, hashes = None, False, set()
    for event in journal.load_events():
        if (event["event"], event["step"]) == ("answered", step):
            newest = event["payload"]["sha256"]
        elif event["event"] == "judged":
            has_failed = event["reason"] != "pass"
        elif event["event"] == "asked":
            if has_failed and newest and event["step"] == step:
                hashes.add(newest)
            has_failed = False
    return hashes


def _find_gate_words(step: Step, text: str) -> list[str]:
    """Return the keys of the answer that belong to a gate and not to its contract.

    An answer of another form, such as edits or YAML, is parsed only if it begins with "{".
    """
    kind = get_kind(step)
    if "schema" in kind.describe_form(step):
        try:
            kind.parse_answer(step, text)
            return []  # it keeps to its contract, which may have such words
        except (AnswerRefused, edits.EditRefused):
            pass
    elif not text.strip().removeprefix("```json").lstrip("`\n ").startswith("{"):
        return []
    try:
        return sorted(GATE_WORDS & extract_json(text).keys())
    except AnswerRefused:
        return []


def _refuse(journal: Journal, rule: str, what: str, kind: type[KaizenError]) -> KaizenError:
    """Record a refusal and return the error for the caller to raise."""
    journal.record_refusal(rule, what)
    state, run = journal.state, journal.run
    if state["phase"] in machine.ENDS:
        expected = f"no answer, because the run is {state['outcome']}"
        legal = f"`P2 --id {run['id']}` shows the run."
    else:
        expected = f"the answer to {describe_place(state)} under its current lease, "
        expected += f"on {run['base_commit'][:10]}"
        legal = f"`P5 --id {run['id']}` shows the legal moves."
    return kind(rule.replace("-", "_"), what, f"Rule {rule}: expected {expected}.", legal)
