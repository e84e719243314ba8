"""The new tests again and again, in another order and with another hash seed: they end the same way each time."""

from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding
from . import equality, session
from .report import SessionReport


def repeat_new_tests(job: Job, new: list[str]) -> tuple[list[SessionReport], sandbox.SandboxResult]:
    """The repeated sessions, and last the one that looks for values that equal everything."""
    asked = [
        session.plan_session(
            f"repeat {at}",
            "head",
            new,
            job.settings.timeout_s,
            shuffle=f"{job.head_tree}{at}",
            quiet=True,
        )
        for at in range(job.settings.repeats)
    ]
    asked.append(
        session.plan_session(
            "equality",
            "head",
            new,
            job.settings.timeout_s,
            edits=equality.add_equality_probes(job),
            quiet=True,
        )
    )
    return session.run_sessions(job, asked, hash_seed=3)


def find_flaky_tests(
    head: SessionReport, repeated: list[SessionReport], new: list[str]
) -> list[Finding]:
    """One finding for each test that ended differently on the same tree."""
    found = []
    for one in sorted(new):
        ends = [_kind(head, one), *(_kind(again, one) for again in repeated)]
        if len(set(ends)) > 1:
            said = ", ".join(ends)
            found.append(
                Finding(
                    "flaky",
                    f"{one} ended differently on the same tree: {said}.",
                    one.split("::")[0],
                )
            )
    return found


def _kind(seen, one):
    return seen.outcomes[one].kind if one in seen.outcomes else "missing"
