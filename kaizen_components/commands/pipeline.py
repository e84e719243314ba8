"""Run the pipeline: P1 to P8."""

from __future__ import annotations

from ..errors import Usage
from ..records.search.listing import list_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..parameters import Output, Reader, ReadNow, Row, Store, WriteLater


LEASE_S = 3600  # the time an agent has for a step, unless it asks for more


def run(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    request: str | None = None,
    repo: str | None = None,
    protocol: str | None = None,
    driver: str = "model",
    function: str | None = None,
    from_: str | None = None,
    task_id: str | None = None,
    python: str | None = None,
    budget_json: Any = None,
    apply: bool = False,
    allow_failing_baseline: bool = False,
    strict: bool = False,
) -> Row:
    """Take a request through a protocol's steps and gates, and end in a reviewed diff or a
    recorded failure.

    Example: kaizen P1 --request "add a /health endpoint returning status ok" --repo ../targetapp
    """
    from ..pipeline.run import runs
    from ..pipeline.run.plan import plan_run

    inputs = {
        "request": request,
        "repo": repo,
        "protocol": protocol,
        "driver": driver,
        "from": from_,
        "budget_json": budget_json,
    }
    options = {
        "python": python,
        "apply": apply,
        "allow_failing_baseline": allow_failing_baseline,
        "strict": strict,
        **({"function": function} if function else {}),
    }
    plan = plan_run(look, store, inputs, options)
    run = runs.begin_run(
        write, store, plan.protocol, driver, plan.request, plan.repo, task_id, plan.options
    )
    if driver == "agent":
        return add_question(runs.give_turn(write, look, store, run["id"], LEASE_S))
    return add_card(look, runs.drive_run(write, look, store, run["id"], plan.driver))


def inspect(output: Output, *, id: str) -> Row:
    """Show a run: how it ended and why, its gates, attempts and cost; as a card, or with --format
    as a page.

    Example: kaizen P2 --id @last
    """
    from functools import partial

    from ..reports.runs import card, details, run_page

    if output.format == "text" and output.out:
        raise Usage(
            "out_without_page",
            "--out needs --format html, md or json.",
            "The default format is a card, which is only printed.",
            "Add --format html, md or json.",
        )
    if output.is_for_screen():
        data = output.gather(card.gather, {"id": id})[0]
        text = {"text": card.format_card(data, output.zone)} if output.format == "text" else {}
        return {**data, **text}
    gather = partial(details.gather, output.store.place.root)
    return output.publish(gather, run_page.layout, id=id)


def compare(output: Output, *, left: str, right: str) -> Row:
    """Compare two drivers, models, protocols or sets of runs on the requests that both had:
    success, catches, cost.

    Example: kaizen P8 --left driver=model --right driver=agent
    """
    from ..reports.runs import compare

    sides = {"left": left, "right": right}
    if output.is_for_screen():
        data = output.gather(compare.gather, sides)[0]
        text = {"text": compare.format_comparison(data)} if output.format == "text" else {}
        return {**data, **text}
    return output.publish(compare.gather, compare.layout, **sides)


def list_(
    db: Reader,
    *,
    protocol: str | None = None,
    outcome: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 20,
) -> Row:
    """List runs, the newest first, and how often each stage passes.

    Example: kaizen P3 --limit 10
    """
    from ..pipeline.run import show
    from ..reports.runs import card as run_card

    filters = {"protocol = ?": protocol, "outcome = ?": outcome, "at >= ?": since, "at < ?": until}
    answer = list_records(db, "run", show.LISTED, limit, filters)
    stages = show.compute_pass_rates(db, protocol)
    answer |= {"flakiest": show.find_flakiest_stage(stages), "stages": stages}
    return {**answer, "text": run_card.format_runs(answer)}


def resume(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    id: str,
    abort: bool = False,
    reason: str | None = None,
) -> Row:
    """Go on with a run after a crash or a pause; --abort ends it.

    Example: kaizen P7 --id @last
    """
    from ..pipeline.run import drivers, plan, runs

    if abort:
        return add_card(look, runs.abort_run(write, look, store, id, reason or "aborted by hand"))
    run = look().find("run", id)
    if run["driver"] == "agent":
        return add_question(runs.give_turn(write, look, store, run["id"], LEASE_S))
    driver = drivers.create_driver(run["driver"], look, plan.find_source_run(run))
    return add_card(look, runs.drive_run(write, look, store, run["id"], driver))


def replay(write: WriteLater, look: ReadNow, store: Store, *, id: str) -> Row:
    """Replay a run from its records, judge every answer again and report each verdict that changes.

    Example: kaizen P6 --id @last
    """
    from ..pipeline.run.replay import record as replay_record
    from ..pipeline.run.replay import replay as replays
    from ..reports.runs import card

    run = look().find("run", id)
    report, facts = replays.replay_run(look, store, run)
    answer = replay_record.record_replay(write, store, run, report, facts)
    return {**answer, "text": card.format_replay(answer)}


def next(write: WriteLater, look: ReadNow, store: Store, *, id: str, ttl_s: int = 3600) -> Row:
    """Show the present step of an agent's run with a lease on it: its contract, its inputs, its
    budget.

    Example: kaizen P5 --id @last
    """
    from ..pipeline.run import runs

    return add_question(runs.give_turn(write, look, store, id, ttl_s))


def submit(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    lease: str,
    file: str,
    step: str | None = None,
    base: str | None = None,
) -> Row:
    """Hand in the answer to the present step; it is checked, the gates run, and the run takes its
    next step.

    Example: kaizen P4 --lease "$LEASE" --file answer.txt
    """
    from ..pipeline.run import runs

    return runs.take_answer(
        write, look, store, {"lease": lease, "text": file, "step": step, "base": base}
    )


def add_question(answer: Row) -> Row:
    """Add the question as text for readers; --json has the whole contract."""
    if "question" not in answer:
        return answer
    head = f"{answer['step']} {answer['attempt']} of {answer['id']}"
    head += f", lease {answer['lease']} until {answer['until']}"
    return {**answer, "text": f"{head}\n\n{answer['question']}\n\n{answer['hint']}"}


def add_card(look: ReadNow, answer: Row) -> Row:
    """Add the card that P2 shows as text for readers; --json has the answer itself too."""
    from ..reports.engine.zone import Zone
    from ..reports.runs import card

    zone = Zone(None)
    facts = card.gather(look(), zone, {"id": answer["id"]})
    return {**answer, "text": card.format_card(facts, zone)}
