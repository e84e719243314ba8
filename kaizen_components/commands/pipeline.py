"""The pipeline: P1 to P7."""

from ..errors import Usage
from ..records.search.listing import list_records

LEASE_S = 3600  # how long an agent may think, unless it asks for more


def run(
    write,
    look,
    store,
    *,
    request=None,
    repo=None,
    protocol=None,
    driver="model",
    function=None,
    from_=None,
    task_id=None,
    python=None,
    budget_json=None,
    apply=False,
    allow_failing_baseline=False,
):
    """Take a request through a protocol's steps and gates, and end in a reviewed diff or a recorded failure.

    Example: kaizen P1 --request "add a /health endpoint returning status ok" --repo ../targetapp
    """
    from ..pipeline.run import runs
    from ..pipeline.run.plan import plan_run

    given = {
        "request": request, "repo": repo, "protocol": protocol, "driver": driver, "from": from_,
        "budget_json": budget_json,
    }  # fmt: skip
    options = {
        "python": python, "apply": apply, "allow_failing_baseline": allow_failing_baseline,
        **({"function": function} if function else {}),
    }  # fmt: skip
    asked = plan_run(look, store, given, options)
    begun = runs.begin_run(
        write, store, asked.protocol, driver, asked.request, asked.repo, task_id, asked.options
    )
    if driver == "agent":
        return _with_question(runs.give_turn(write, look, store, begun["id"], LEASE_S))
    return _with_card(look, runs.drive_run(write, look, store, begun["id"], asked.driver))


def inspect(output, *, id):
    """Show a run: how it ended and why, its gates and attempts, what it took; as a card, or with --format as a page.

    Example: kaizen P2 --id @last
    """
    from functools import partial

    from ..reports.runs import card, details, run_page

    if output.format == "text" and output.out:
        raise Usage(
            "out_without_page",
            "--out is for a page.",
            "A card is printed.",
            "Give --format html or md too.",
        )
    if output.is_for_screen():
        data = output.gather(card.gather, {"id": id})[0]
        text = {"text": card.format_card(data, output.zone)} if output.format == "text" else {}
        return {**data, **text}
    gather = partial(details.gather, output.store.place.root)
    return output.publish(gather, run_page.layout, id=id)


def compare(output, *, left, right):
    """Compare two drivers, models, protocols or sets of runs on the requests that both had: success, catches, cost.

    Example: kaizen P8 --left driver=model --right driver=agent
    """
    from ..reports.runs import compare

    sides = {"left": left, "right": right}
    if output.is_for_screen():
        data = output.gather(compare.gather, sides)[0]
        text = {"text": compare.format_comparison(data)} if output.format == "text" else {}
        return {**data, **text}
    return output.publish(compare.gather, compare.layout, **sides)


def list_(db, *, protocol=None, outcome=None, since=None, until=None, limit=20):
    """List runs, the newest first, and how often each stage passes.

    Example: kaizen P3 --limit 10
    """
    from ..pipeline.run import show
    from ..reports.runs import card as run_card

    filters = {"protocol = ?": protocol, "outcome = ?": outcome, "at >= ?": since, "at < ?": until}
    found = list_records(db, "run", show.LISTED, limit, filters)
    stages = show.count_stages(db, protocol)
    found |= {"flakiest": show.find_flakiest(stages), "stages": stages}
    return {**found, "text": run_card.format_runs(found)}


def resume(write, look, store, *, id, abort=False, reason=None):
    """Go on with a run after a crash or a pause; --abort ends it.

    Example: kaizen P7 --id @last
    """
    from ..pipeline.run import drivers, plan, runs

    if abort:
        return _with_card(look, runs.abort_run(write, look, store, id, reason or "aborted by hand"))
    found = look().find("run", id)
    if found["driver"] == "agent":
        return _with_question(runs.give_turn(write, look, store, found["id"], LEASE_S))
    driving = drivers.create_driver(found["driver"], look, plan.source_run(found))
    return _with_card(look, runs.drive_run(write, look, store, found["id"], driving))


def replay(write, look, store, *, id):
    """Judge a run again from its records: every verdict must be the same, and whatever has changed since is named.

    Example: kaizen P6 --id @last
    """
    from ..pipeline.run.replay import record as replay_record
    from ..pipeline.run.replay import replay as replays
    from ..reports.runs import replay as run_replay

    found = look().find("run", id)
    report, seen = replays.replay_run(look, store, found)
    answer = replay_record.record_replay(write, store, found, report, seen)
    return {**answer, "text": run_replay.format_replay(answer)}


def next(write, look, store, *, id, ttl_s=3600):
    """Say what is legal now in an agent's run: the step, its contract, its inputs, its budget; with a lease on it.

    Example: kaizen P5 --id @last
    """
    from ..pipeline.run import runs

    return _with_question(runs.give_turn(write, look, store, id, ttl_s))


def submit(write, look, store, *, lease, file, step=None, base=None):
    """Hand in the answer to the present step; it is checked, the gates run, and the session decides what follows.

    Example: kaizen P4 --lease "$LEASE" --file answer.txt
    """
    from ..pipeline.run import runs

    return runs.take_answer(
        write, look, store, {"lease": lease, "text": file, "step": step, "base": base}
    )


def _with_question(answer):
    """A person, or an agent that reads text, gets the question; --json has all of the contract."""
    if "question" not in answer:
        return answer
    head = f"{answer['step']} {answer['attempt']} of {answer['id']}, lease {answer['lease']} until {answer['until']}"
    return {**answer, "text": "\n".join([head, "", answer["question"], "", answer["hint"]])}


def _with_card(look, answer):
    """A person gets the card that P2 shows; --json has the answer itself too."""
    from ..reports.engine.zone import Zone
    from ..reports.runs import card as run_card

    zone = Zone(None)
    return {
        **answer,
        "text": run_card.format_card(run_card.gather(look(), zone, {"id": answer["id"]}), zone),
    }
