"""A repository's own command as a gate: for other languages, and for tools that we do not know."""

import os
import re
from collections.abc import Callable

from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding, Verdict
from .findings import LocatedFinding, find_new
from .tool_tree import ToolTree

LINE = re.compile(r"^(?P<path>[^\s:()]+)(?::|\()(?P<line>\d+)(?:[:,]\d+)?\)?:?\s+(?P<text>.*\S)")
FAILURES = {"check": "check", "test": "regression"}
TAIL_CHARS = 2_000
HOW = "Mend that first, or allow it with --allow-failing-baseline."
ROOM = "own"  # not the one with mypy's memory: a command of this kind runs what the candidate wrote


def judge_with_own_command(job: Job, name: str, ours: Callable[[Job], Verdict]) -> Verdict:
    """Our gate, then the repository's own command of that name; or only the command, where it replaces ours."""
    if name not in job.settings.commands:
        return ours(job)
    first = Verdict("pass", "") if name in job.settings.replaces else ours(job)
    if not first.passed:
        return first
    second = judge_own_command(job, name)
    says = " ".join(filter(None, (first.says, second.says)))
    return Verdict(
        second.reason,
        says,
        second.findings,
        [*first.runs, *second.runs],
        {**first.facts, **second.facts},
    )


def judge_own_command(job: Job, name: str) -> Verdict:
    """Head must pass, with the new tests if it is about tests. Where it does not, the base says whether that is new."""
    sandbox.require_level(job.settings.minimum_level)
    room = ToolTree(job, ROOM)
    head = _run(job, name, room, job.head, job.head_tree, name == "test")
    facts = {"own": job.settings.commands[name]}
    if _passed(head):
        return _meaning(job, name, room, head, facts)
    located = _located(room, head)
    base = _run(job, name, room, job.base, job.base_tree)
    if _passed(base):
        found = [one.finding for one in located] or [Finding(name, _tail(room, head))]
        says = f"`{' '.join(job.settings.commands[name])}` fails with exit code {head.exit_code}."
        return Verdict(FAILURES[name], says, found, [base, head], facts)
    before = _located(room, base)
    found = find_new(before, located, job.changed)
    if before and not found and job.settings.allow_failing_baseline:
        return Verdict(
            "pass",
            f"The repository's own {name} fails as on the base, and says nothing new.",
            [],
            [base, head],
            facts,
        )
    if found:
        return Verdict(
            FAILURES[name],
            f"The repository's {name} finds {len(found)} new things.",
            found,
            [base, head],
            facts,
        )
    says = f"The repository's own {name} fails on the base already, so it cannot judge a change."
    return Verdict(
        "missing", says, [Finding(name, f"{says} {_tail(room, base)}")], [base, head], facts
    )


def _meaning(job, name, room, head, facts):
    """What passes counts; but new tests that pass without the change as well show nothing."""
    words = " ".join(job.settings.commands[name])
    if name == "test" and name in job.settings.replaces and job.tests:
        before = _run(job, name, room, job.base, job.base_tree, True)
        if _passed(before):
            says = (
                f"`{words}` passes with the new tests on the base too: they do not need the change."
            )
            wrong = [Finding("passes-on-base", says, path) for path in job.tests]
            return Verdict("weak", says, wrong, [before, head], facts)
        return Verdict(
            "pass",
            f"`{words}` passes, and with the new tests it fails on the base.",
            [],
            [before, head],
            facts,
        )
    return Verdict("pass", f"`{words}` passes.", [], [head], facts)


def judge_base_command(job: Job, name: str) -> Verdict:
    """Does the base pass the command?"""
    sandbox.require_level(job.settings.minimum_level)
    room = ToolTree(job, ROOM)
    boxed = _run(job, name, room, job.base, job.base_tree)
    if _passed(boxed):
        return Verdict(
            "pass", f"`{' '.join(job.settings.commands[name])}` passes on the base.", [], [boxed]
        )
    if job.settings.allow_failing_baseline:
        return Verdict(
            "pass", "The base does not pass its own command, which is allowed.", [], [boxed]
        )
    says = f"The base does not pass its own command. {HOW}"
    return Verdict("check", says, [Finding("baseline", _tail(room, boxed))], [boxed])


def _run(job, name, room, tree, hash, with_tests=False):
    """A first word `python` is the target's interpreter."""
    room.fill(tree, with_tests)
    words = job.settings.commands[name]
    argv = [*job.tools.python, *words[1:]] if words[0] in ("python", "python3") else words
    return sandbox.run_in_sandbox(
        argv, room.folder, job.settings.timeout_s, tree=hash, reads=job.tools.reads
    )


def _passed(boxed):
    return boxed.exit_code == 0 and not boxed.timed_out


def _located(room, boxed):
    """Lines of the form that most tools have: path:line: text."""
    found = []
    for text in (boxed.stdout.text() + "\n" + boxed.stderr.text()).splitlines():
        hit = LINE.match(text)
        if hit:
            path, line = room.relative(hit["path"]), int(hit["line"])
            found.append(LocatedFinding("own", hit["text"], path, line, room.line(path, line)))
    return found


def _tail(room, boxed):
    said = (
        (boxed.stdout.text() + "\n" + boxed.stderr.text())
        .strip()
        .replace(os.path.join(room.folder, ""), "")
    )
    return said[-TAIL_CHARS:] or f"exit code {boxed.exit_code}"
