"""Check the new tests: they must be collected, fail on the base and pass on head.

A test that cannot be imported or uses an undefined name is weak. Any other failure on head is the
fault of the code.
"""

import hashlib
import os

from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding
from .. import memo
from . import pytest_tools, session
from .report import Outcome, SessionReport

MISTAKES = (
    "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError",
    "IndentationError", "FixtureLookupError",
)  # fmt: skip
SKIPS = ("skipped", "xfailed", "xpassed")
NO_PLUGIN = "async def functions are not natively supported"
KIND_WORDS = {
    "error": "ends in an error",
    "failed": "fails",
    "rewritten": "fails, though its report says that it passed",
}


def find_passing_before(job: Job) -> tuple[set[str], list[sandbox.SandboxResult]]:
    """Return the ids of new tests that pass without the change, and the commands run.

    The ids are stored, because neither the tests nor the base change between attempts.
    """
    digests = {}
    for path in job.tests:
        if os.path.isfile(os.path.join(job.head, path)):
            with open(os.path.join(job.head, path), "rb") as file:
                digests[path] = hashlib.sha256(file.read()).hexdigest()
    tools = pytest_tools.inspect_tools(job)
    path = memo.find_memo_path(
        job, "before", job.base_tree, job.tools.python, tools.versions, digests
    )
    ids = memo.read_memo(path)
    if ids is not None:
        return set(ids), []
    limit_s = job.settings.timeout_s
    plan = session.plan_session("new tests on base", "fresh", list(job.tests), limit_s)
    (report,), sandbox_run = session.run_sessions(job, [plan], hash_seed=1)
    ids = {id for id in report.outcomes if report.find_kind(id) in ("passed", "xpassed")}
    memo.write_memo(path, sorted(ids))
    return ids, [sandbox_run]


def group_ids_by_file(session: SessionReport, job: Job) -> dict[str, list[str]]:
    """Return each new test file with the ids that were collected in it."""
    return {path: [id for id in session.ids if id.split("::")[0] == path] for path in job.tests}


def check_new_tests(job: Job, head: SessionReport, passing: set[str]) -> tuple[str, list[Finding]]:
    """Return the reason and its findings; ("pass", []) if nothing is wrong with the new tests."""
    findings: dict[str, list[Finding]] = {"weak": [], "check": []}

    def add_failure(path: str, id: str, outcome: Outcome) -> None:
        """Add a finding, as weak if the failure is the test's own fault."""
        text = f"{id} {KIND_WORDS.get(outcome.kind, f'is {outcome.kind}')}:\n{outcome.text}"
        # It is the test's own fault if its frame raised such an error, or if it skips itself.
        is_own = outcome.path in ("", path)
        is_mistake = outcome.kind in SKIPS or outcome.type in MISTAKES
        lacks_plugin = NO_PLUGIN in outcome.text and outcome.kind not in SKIPS
        place = outcome.path or path
        finding = Finding("new-test", text, place, outcome.line)
        is_weak = lacks_plugin or (is_own and is_mistake)
        findings["weak" if is_weak else "check"].append(finding)

    for path, ids in group_ids_by_file(head, job).items():
        if path in head.uncollected:
            add_failure(path, path, head.uncollected[path])
        elif not ids:
            text = f"{path} has no test that pytest collects."
            findings["weak"].append(Finding("empty", text, path))
        for id in ids:
            outcome = head.outcomes.get(id)
            if outcome is None:
                text = f"{id} was collected but did not finish."
                findings["check"].append(Finding("new-test", text, path))
            elif outcome.kind != "passed":
                add_failure(path, id, outcome)
            elif id in passing:
                text = f"{id} passes without the change, so it does not test it."
                findings["weak"].append(Finding("passes-before", text, path))
    reason = next((reason for reason in findings if findings[reason]), "pass")
    return reason, findings.get(reason, [])
