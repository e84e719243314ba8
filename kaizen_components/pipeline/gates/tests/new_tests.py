"""The new tests, written from the spec alone: they are collected, fail on the base and pass on head.

Whose fault a failure is decides where it leads: a test that cannot be imported or uses a name it never made is weak,
everything else on head is the code's.
"""

from ...job import Job
from ...verdict import Finding
from .report import Outcome, SessionReport

OWN_MISTAKES = (
    "NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError",
    "FixtureLookupError",
)  # fmt: skip
NO_PLUGIN = "async def functions are not natively supported"


def group_ids_by_file(session: SessionReport, job: Job) -> dict[str, list[str]]:
    """Each new test file with the ids that were collected in it."""
    return {path: [one for one in session.ids if one.split("::")[0] == path] for path in job.tests}


def check_new_tests(job: Job, head: SessionReport, passing: set[str]) -> tuple[str, list[Finding]]:
    """The reason and its findings; ("pass", []) if the new tests show what they should."""
    wrong: dict[str, list[Finding]] = {"weak": [], "check": []}
    for path, ids in group_ids_by_file(head, job).items():
        if path in head.broken:
            _sort(wrong, path, path, head.broken[path])
        elif not ids:
            wrong["weak"].append(
                Finding("empty", f"{path} has no test that pytest collects.", path)
            )
        for one in ids:
            _judge(wrong, path, one, head, passing)
    reason = next((reason for reason, found in wrong.items() if found), "pass")
    return reason, wrong.get(reason, [])


def _judge(wrong, path, one, head, passing):
    outcome = head.outcomes.get(one)
    if outcome is None:
        wrong["check"].append(Finding("new-test", f"{one} was collected and did not end.", path))
    elif not outcome.passed:
        _sort(wrong, path, one, outcome)
    elif one in passing:
        wrong["weak"].append(
            Finding(
                "passes-before", f"{one} passes without the change, so it does not test it.", path
            )
        )


def _sort(wrong: dict[str, list[Finding]], path: str, one: str, outcome: Outcome) -> None:
    reason = "weak" if _own_mistake(path, outcome) else "check"
    wrong[reason].append(
        Finding(
            "new-test",
            f"{one} {_word(outcome)}:\n{outcome.text}",
            outcome.path or path,
            outcome.line,
        )
    )


def _own_mistake(path, outcome):
    """Whether the test is wrong and not the code: its own frame raised it, or it says that it is not to run."""
    own = outcome.path in ("", path)
    if outcome.kind in ("skipped", "xfailed", "xpassed"):
        return own
    return NO_PLUGIN in outcome.text or (own and outcome.type in OWN_MISTAKES)


def _word(outcome):
    return {
        "error": "ends in an error",
        "failed": "fails",
        "rewritten": "fails behind a report that says passed",
    }.get(outcome.kind, f"is {outcome.kind}")
