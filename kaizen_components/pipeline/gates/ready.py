"""The gate before the build: are the tools installed, is the sandbox strong, do base tests pass?"""

from ...sandbox import run as sandbox
from ..job import Job
from ..target.toolchain import find_missing_tools
from ..verdict import Finding, Verdict
from .static import own_command

LISTED_MAX = 50


def judge_baseline(job: Job) -> Verdict:
    """Check tools, sandbox and the base's own tests before anything is built."""
    missing_tools = find_missing_tools(job.tools, job.settings)
    if missing_tools:
        summary = f"{', '.join(tool.rule for tool in missing_tools)} cannot be run in the target."
        return Verdict("missing", summary, missing_tools)
    sandbox.require_level(job.settings.minimum_level)
    if "test" in job.settings.replaces:
        return own_command.judge_base_command(job, "test")
    from .tests.baseline import measure_baseline

    base = measure_baseline(job)
    facts = {
        "passed": len(base.passed),
        "failed": base.failed[:LISTED_MAX],
        "flaky": base.flaky[:LISTED_MAX],
    }
    if base.doubts:
        summary = "The tests of the base cannot be judged"
        doubts = [Finding("baseline", f"{summary}: {doubt}.") for doubt in base.doubts]
        return Verdict("missing", f"{summary}.", doubts, base.runs, facts)
    if base.failed and not job.settings.allow_failing_baseline:
        failing = [Finding("baseline", f"{id} fails before any change.") for id in base.failed]
        test_count = len(base.failed) + len(base.passed)
        summary = (
            f"{len(failing)} of {test_count} tests already fail on the base. {own_command.NEXT}"
        )
        return Verdict("check", summary, failing, base.runs, facts)
    summary = f"{len(base.passed)} tests pass on the base."
    return Verdict("pass", summary, runs=base.runs, facts=facts)
