"""An agent's turn: what it is asked, and what it may hand in. Whatever is refused is on record, and changes nothing."""

from typing import Any

from ...errors import Conflict, NotFound, Refused
from ...records import ids
from ...records.ledger.hashing import hash_text
from ...records.secrets import scan
from ..answers.context import StepContext
from ..answers.kinds import kind_of
from ..answers.parse import AnswerRefused, extract_json
from ..edits import apply as edits
from ..protocol import Protocol, Step
from ..target.workspace import Workspace
from . import machine
from .journal import Journal

LEASED = "SELECT run_id, at FROM run_event WHERE id = ? AND event = 'leased'"
OURS = frozenset(
    {"gate", "gates", "proof", "proof_id", "exit_code", "tier"}
)  # words that only a gate says


def describe_place(state: machine.State) -> str:
    return f"{state['step']} {state['attempt']}"


def take_lease(book: Journal, actor: str, ttl_s: int) -> str:
    """The lease on the question that is open: the one that the actor has, or a new one; Conflict if another has it."""
    held = book.state["lease"]
    if (
        held
        and held.get("place") == describe_place(book.state)
        and held["until"] > ids.format_time(ids.now_ms())
    ):
        if held["holder"] == actor:
            return held["id"]
        book.record_refusal("step-is-leased", f"{held['holder']} has the lease.")
        raise Conflict(
            "step_is_leased",
            f"{held['holder']} answers {describe_place(book.state)}.",
            f"Rule step-is-leased. The lease lasts until {held['until']}.",
            "Wait for it, or work on another run: `P3`.",
        )
    if held:
        book.add("released")
    until = ids.format_time(ids.now_ms() + ttl_s * 1000)
    book.add("leased", holder=actor, until=until, place=describe_place(book.state))
    return book.state["lease"]["id"]


def build_contract(
    book: Journal, work: Workspace, protocol: Protocol, asked: StepContext, question
) -> dict[str, Any]:
    """What is legal now: the step, its inputs, the form of its answer, where it may write, what is left."""
    state = book.state
    step = protocol.steps[state["step"]]
    kind, held = kind_of(step), state["lease"] or {}
    return {
        "id": book.run["id"], "kind": "run", "protocol": protocol.name, "phase": state["phase"], "step": step.name,
        "stage": step.stage, "about": step.about, "attempt": state["attempt"], "attempts_max": step.attempts,
        "lease": held.get("id"), "until": held.get("until"), "base_commit": book.run["base_commit"],
        "question": "\n\n".join(message["content"] for message in question), "inputs": work.export_inputs(),
        "answer": kind.how, **kind.form(step), "write_set": kind.write_set(work, asked),
        "budget_left": budget_left(protocol, state), "feedback": asked.feedback or None,
        "legal": ["P4 --lease LEASE --file ANSWER", "P5 --id RUN", "P7 --id RUN --abort"],
        "hint": f"Answer with `P4 --lease {held.get('id')} --file ANSWER`.",
    }  # fmt: skip


def budget_left(protocol: Protocol, state: machine.State) -> dict[str, float]:
    """What is left of each budget of the run."""
    spent = {
        **state["spent"], "asks": state["asks"], "tokens": state["spent"]["tokens_in"] + state["spent"]["tokens_out"],
    }  # fmt: skip
    return {name: round(max(0, most - spent[name]), 6) for name, most in protocol.budget.items()}


def find_leased_run(db, lease_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the run, what the lease says), or NotFound."""
    found = db.one(LEASED, (lease_id,))
    if found is None:
        raise NotFound(
            "unknown_lease",
            "There is no such lease.",
            "Rule unknown-lease. Expected is the id that P5 gave out with the step, such as evt_….",
            "Ask what is legal now: `P5 --id RUN`.",
        )
    return db.find("run", found["run_id"]), found


def find_same_answer(book: Journal, lease_id: str, text: str) -> dict[str, Any] | None:
    """The event of the same answer under the same lease, if it is there already."""
    sha256 = hash_text(scan.redact_secrets(text))
    for event in book.events():
        if event["event"] == "answered" and event["payload"].get("lease") == lease_id:
            if event["payload"]["sha256"] == sha256:
                return event
            raise _refuse(
                book, "lease-used", "This lease has been used for another answer.", Conflict
            )
    return None


def check_submission(book: Journal, step: Step, given: dict[str, Any]) -> None:
    """Whether an answer may be handed in at all; what is wrong with a legal one is for the step's checks to say."""
    state = book.state
    held = state["lease"]
    if state["phase"] != "asked" or not held or held.get("id") != given["lease"]:
        raise _refuse(book, "stale-lease", "This lease is not the present one.", Conflict)
    if held["until"] <= ids.format_time(ids.now_ms()):
        raise _refuse(book, "stale-lease", f"This lease ended at {held['until']}.", Conflict)
    if given["step"] and given["step"] != state["step"]:
        raise _refuse(book, "another-step", f"The answer is for {given['step'][:60]}.", Conflict)
    if given["base"] and not book.run["base_commit"].startswith(given["base"]):
        raise _refuse(book, "changed-base", "The answer was made for another commit.", Conflict)
    if hash_text(scan.redact_secrets(given["text"])) in _list_rejected(book, state["step"]):
        raise _refuse(book, "rejected-before", "The same answer was rejected before.", Refused)
    ours = _find_gate_words(step, given["text"])
    if ours:
        what = f"The answer offers the result of a gate: it says {', '.join(ours)}."
        raise _refuse(book, "gates-are-ours", what, Refused)


def check_paths(book: Journal, work: Workspace, step: Step, asked: StepContext, text: str) -> None:
    wrong = kind_of(step).find_forbidden(work, asked, text)
    if wrong:
        raise _refuse(
            book,
            "write-set",
            f"{', '.join(wrong[:5])} is outside of what this step may write.",
            Refused,
        )


def _list_rejected(book, step):
    """Hashes of answers to this step that failed their own checks, or were asked for again because of a later one."""
    newest, failed, found = None, False, set()
    for event in book.events():
        if (event["event"], event["step"]) == ("answered", step):
            newest = event["payload"]["sha256"]
        elif event["event"] == "judged":
            failed = event["reason"] != "pass"
        elif event["event"] == "asked":
            found |= {newest} if failed and newest and event["step"] == step else set()
            failed = False
    return found


def _find_gate_words(step: Step, text: str) -> list[str]:
    """The words of a gate that an object in it has and its contract has not.

    Where the answer is no object, as with edits or YAML, only an object in its place is looked at.
    """
    kind = kind_of(step)
    try:
        if "schema" in kind.form(step):
            kind.value(step, text)  # what keeps to its contract says what it may
            return []
    except (AnswerRefused, edits.EditRefused):
        pass
    if "schema" not in kind.form(step) and not text.strip().removeprefix("```json").lstrip(
        "`\n "
    ).startswith("{"):
        return []
    try:
        return sorted(OURS & extract_json(text).keys())
    except AnswerRefused:
        return []


def _refuse(book, rule, what, kind):
    """The error for a refusal that is on record by then: which rule, what was expected, what is legal now."""
    book.record_refusal(rule, what)
    state = book.state
    if state["phase"] == "ended":
        expected, legal = (
            f"nothing, for the run is {state['outcome']}",
            f"`P2 --id {book.run['id']}` shows it.",
        )
    else:
        expected = f"the answer to {describe_place(state)} under its present lease, on {book.run['base_commit'][:10]}"
        legal = f"`P5 --id {book.run['id']}` says what is legal now."
    return kind(rule.replace("-", "_"), what, f"Rule {rule}. Expected is {expected}.", legal)
