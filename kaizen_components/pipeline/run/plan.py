"""Plan a run for P1: a run for a new request, or a replay of an old run's answers."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import Usage
from ..protocol import Protocol, override_budget, override_steps
from ..protocols import catalog as protocol_file
from . import drivers, recorder, runs
from .replay.recorded_driver import RecordedDriver

if TYPE_CHECKING:
    from ...parameters import ReadNow, Row, Store

DEFAULT_PROTOCOL = "factory"


class RunPlan(NamedTuple):
    """The checked options of P1."""

    protocol: Protocol
    driver: drivers.Driver  # created before anything is recorded: a missing model is refused early
    request: str
    repo: str
    options: dict[str, Any]


def plan_run(
    look: ReadNow, store: Store, values: dict[str, Any], options: dict[str, Any]
) -> RunPlan:
    """Check the options of P1 and return the plan.

    `values` has request, repo, protocol, driver, from and budget_json.
    """
    budget = {} if values["budget_json"] is None else runs.check_budget(values["budget_json"])
    if values["driver"] == "replay":
        return _plan_replay(look, store, values, options, budget)
    if values["from"]:
        raise Usage(
            "from_without_replay",
            "--from needs --driver replay.",
            "--from names the run that is replayed.",
            "Add --driver replay, or omit --from.",
        )
    for name in ("request", "repo"):
        if not values[name]:
            raise Usage(
                "missing_option", f"P1 pipeline-run needs --{name}.",
                "A new run needs a request and a repository.",
                "`help P1` shows all options.",
            )  # fmt: skip
    protocol = protocol_file.load_usable(
        values["protocol"] or DEFAULT_PROTOCOL, store, values["repo"], options
    )
    if any(step.gate == "function" for step in protocol.steps.values()):
        if not options.get("function"):
            raise Usage(
                "missing_option",
                f"The protocol {protocol.name} needs --function.",
                "The protocol explores one function of the repository.",
                "Name the function, such as --function app.text:slugify.",
            )
        from ..codemode.function import Function

        options["function"] = str(Function.parse(options["function"]))
    elif options.get("function"):
        raise Usage(
            "function_without_use",
            f"The protocol {protocol.name} does not use --function.",
            "Only protocols that explore one function use this option.",
            "Omit --function.",
        )
    settings = runs.read_target_settings(values["repo"])
    protocol = override_budget(protocol, {**settings.budget, **budget})
    protocol = override_steps(protocol, settings.attempts, options["strict"])
    driver = drivers.create_driver(values["driver"])
    return RunPlan(protocol, driver, values["request"], values["repo"], options)


def _plan_replay(
    look: ReadNow, store: Store, values: dict[str, Any], options: dict[str, Any],
    budget: dict[str, float],
) -> RunPlan:  # fmt: skip
    """Use the old run's protocol and function; its request, target and options are the defaults."""
    if values["protocol"] or options.get("function"):
        raise Usage(
            "replay_has_its_own",
            "--driver replay does not accept --protocol or --function.",
            "A replay uses those of the original run, so that it asks the same questions.",
            "Omit --protocol and --function.",
        )
    driver = RecordedDriver(look, values["from"])
    run = driver.run
    old_options = json.loads(run["options"])
    options = {
        **options,
        "python": options["python"] or old_options.get("python"),
        "allow_failing_baseline": options["allow_failing_baseline"]
        or bool(old_options.get("allow_failing_baseline")),
        "strict": options["strict"] or bool(old_options.get("strict")),
        **({"function": old_options["function"]} if old_options.get("function") else {}),
        "from": run["id"],
    }
    repo = values["repo"] or os.path.join(store.place.root, run["repo"])
    protocol = override_budget(recorder.load_protocol(run), budget)
    return RunPlan(protocol, driver, values["request"] or run["request"], repo, options)


def find_source_run(run: Row) -> str | None:
    """Return the id of the run whose answers a replay uses; None for another driver."""
    return json.loads(run["options"]).get("from")
