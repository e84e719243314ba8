"""What P1 is to begin: a new run for a request, or a new run with the answers of an old one."""

import json
import os
from typing import Any, NamedTuple

from ...errors import Usage
from ..protocol import Protocol, override_budget
from ..protocols import catalog as protocol_file
from . import drivers, recorder, runs
from .replay.recorded_driver import RecordedDriver

USUAL = "factory"


class RunPlan(NamedTuple):
    protocol: Protocol
    driver: (
        drivers.Driver
    )  # made before anything is recorded: a model that is not configured is refused
    request: str
    repo: str
    options: dict[str, Any]


def plan_run(look, store, given: dict[str, Any], options: dict[str, Any]) -> RunPlan:
    """`given` is what P1 was told: request, repo, protocol, driver, from, budget_json."""
    budget = runs.check_budget(given["budget_json"]) if given["budget_json"] is not None else {}
    if given["driver"] == "replay":
        return _plan_replay(look, store, given, options, budget)
    if given["from"]:
        raise Usage(
            "from_without_replay", "--from is for --driver replay.", "", "Give both, or neither."
        )
    for name in ("request", "repo"):
        if not given[name]:
            raise Usage(
                "missing_option",
                f"P1 pipeline-run needs --{name}.",
                "",
                "`help P1` shows all options.",
            )
    protocol = protocol_file.load_usable(given["protocol"] or USUAL, store, given["repo"], options)
    _check_function(protocol, options)
    protocol = override_budget(protocol, {**runs.read_target_budget(given["repo"]), **budget})
    return RunPlan(
        protocol, drivers.create_driver(given["driver"]), given["request"], given["repo"], options
    )


def _check_function(protocol: Protocol, options: dict[str, Any]) -> None:
    """A protocol that explores a function is told which; no other one is."""
    explores = any(step.gate == "function" for step in protocol.steps.values())
    if explores and not options.get("function"):
        raise Usage(
            "missing_option",
            f"{protocol.name} needs --function.",
            "It explores one function of the repository.",
            "Name it, such as --function app.text:slugify.",
        )
    if not explores and options.get("function"):
        raise Usage(
            "function_without_use",
            f"{protocol.name} explores no function.",
            "",
            "Leave --function out.",
        )
    if explores:
        from ..codemode.function import Function

        options["function"] = str(Function.parse(options["function"]))


def _plan_replay(look, store, given, options, budget) -> RunPlan:
    """The old run's protocol, request, target and options, as far as P1 was not told others."""
    if given["protocol"] or options.get("function"):
        raise Usage(
            "replay_has_its_own",
            "A replay has the protocol and the function of the run that it repeats.",
            "Other steps would ask other questions.",
            "Leave --protocol and --function out.",
        )
    driving = RecordedDriver(look, given["from"])
    run = driving.run
    old = json.loads(run["options"])
    kept = {
        "python": options["python"] or old.get("python"),
        "allow_failing_baseline": options["allow_failing_baseline"]
        or bool(old.get("allow_failing_baseline")),
        **({"function": old["function"]} if old.get("function") else {}),
    }
    return RunPlan(
        override_budget(recorder.load_protocol(run), budget), driving, given["request"] or run["request"],
        given["repo"] or os.path.join(store.place.root, run["repo"]), {**options, **kept, "from": run["id"]},
    )  # fmt: skip


def source_run(run: dict[str, Any]) -> str | None:
    """The run whose answers a run is given; None for one whose driver thinks."""
    return json.loads(run["options"]).get("from")
