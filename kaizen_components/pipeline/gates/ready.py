"""Before anything is built: are the tools there, is the box strong enough, and do the base's own tests pass?"""

from ...sandbox import run as sandbox
from ..job import Job
from ..target.toolchain import find_missing_tools
from ..verdict import Finding, Verdict
from .static import own_command


def judge_baseline(job: Job) -> Verdict:
    """What could not be judged at its end is not built."""
    absent = find_missing_tools(job.tools, job.settings)
    if absent:
        return Verdict(
            "missing",
            f"{', '.join(one.rule for one in absent)} cannot be run in the target.",
            absent,
        )
    sandbox.require_level(job.settings.minimum_level)
    return (
        own_command.judge_base_command(job, "test")
        if "test" in job.settings.replaces
        else _tested(job)
    )


def _tested(job):
    from .tests.gate import measure_baseline

    found = measure_baseline(job)
    facts = {
        "passed": len(found.passed),
        "failed": sorted(found.failed)[:50],
        "flaky": sorted(found.flaky)[:50],
    }
    if found.doubts:
        wrong = [
            Finding("baseline", f"The tests of the base cannot be judged: {doubt}.")
            for doubt in found.doubts
        ]
        return Verdict(
            "missing", "The tests of the base cannot be judged.", wrong, found.runs, facts
        )
    if found.failed and not job.settings.allow_failing_baseline:
        wrong = [
            Finding("baseline", f"{test} fails before anything is changed.")
            for test in sorted(found.failed)
        ]
        says = f"Failing on the base already: {len(wrong)} of {len(wrong) + len(found.passed)} tests. {own_command.HOW}"
        return Verdict("check", says, wrong, found.runs, facts)
    return Verdict(
        "pass", f"Passing on the base: {len(found.passed)} tests.", runs=found.runs, facts=facts
    )
