"""A repository's own command as a gate: for other languages, and for tools that we do not know."""

import os
import re
from collections.abc import Callable

from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding, Verdict
from .findings import LocatedFinding, find_new
from .tool_tree import ToolTree

# Lines of the form that most tools have: path:line: text.
LINE = re.compile(r"^(?P<path>[^\s:()]+)(?::|\()(?P<line>\d+)(?:[:,]\d+)?\)?:?\s+(?P<text>.*\S)")
FAILURES = {"check": "check", "test": "regression"}
TAIL_CHARS = 2_000
NEXT = "Fix that first, or allow it with --allow-failing-baseline."
FOLDER = "own"  # not the one with mypy's cache: such a command runs what the candidate wrote


def judge_with_own_command(job: Job, name: str, judge: Callable[[Job], Verdict]) -> Verdict:
    """Run our gate and then the repository's command of that name; only that if it replaces ours."""
    if name not in job.settings.commands:
        return judge(job)
    first = Verdict("pass", "") if name in job.settings.replaces else judge(job)
    if not first.is_pass:
        return first
    second = judge_own_command(job, name)
    says = " ".join(filter(None, (first.says, second.says)))
    runs, facts = [*first.runs, *second.runs], {**first.facts, **second.facts}
    return Verdict(second.reason, says, second.findings, runs, facts)


def judge_own_command(job: Job, name: str) -> Verdict:
    """Require that head passes, with the new tests if the command runs tests.

    If head fails, the base shows whether that is new.
    """
    sandbox.require_level(job.settings.minimum_level)
    files = ToolTree(job, FOLDER)
    head = _run_command(job, name, files, job.head, job.head_tree, name == "test")
    words = job.settings.commands[name]
    facts, shown = {"own": words}, f"`{' '.join(words)}`"
    if has_passed(head):
        if name != "test" or name not in job.settings.replaces or not job.tests:
            return Verdict("pass", f"{shown} passes.", [], [head], facts)
        # New tests that pass without the change as well show nothing.
        before = _run_command(job, name, files, job.base, job.base_tree, True)
        if not has_passed(before):
            says = f"{shown} passes, and with the new tests it fails on the base."
            return Verdict("pass", says, [], [before, head], facts)
        says = f"{shown} passes with the new tests on the base too: they do not need the change."
        useless = [Finding("passes-on-base", says, path) for path in job.tests]
        return Verdict("weak", says, useless, [before, head], facts)
    located = _locate_findings(files, head)
    base = _run_command(job, name, files, job.base, job.base_tree)
    runs = [base, head]
    if has_passed(base):
        found = [one.finding for one in located]
        found = found or [Finding(name, describe_output(head, files.folder))]
        says = f"{shown} fails with exit code {head.exit_code}."
        return Verdict(FAILURES[name], says, found, runs, facts)
    before_change = _locate_findings(files, base)
    found = find_new(before_change, located, job.changed)
    if found:
        says = f"The repository's {name} command finds {len(found)} new things."
        return Verdict(FAILURES[name], says, found, runs, facts)
    if before_change and job.settings.allow_failing_baseline:
        says = f"The repository's own {name} command fails as on the base, and reports nothing new."
        return Verdict("pass", says, [], runs, facts)
    says = (
        f"The repository's own {name} command already fails on the base: it cannot judge a change."
    )
    text = f"{says} {describe_output(base, files.folder)}"
    return Verdict("missing", says, [Finding(name, text)], runs, facts)


def judge_base_command(job: Job, name: str) -> Verdict:
    """Return whether the base passes the command."""
    sandbox.require_level(job.settings.minimum_level)
    files = ToolTree(job, FOLDER)
    boxed = _run_command(job, name, files, job.base, job.base_tree)
    if has_passed(boxed):
        says = f"`{' '.join(job.settings.commands[name])}` passes on the base."
        return Verdict("pass", says, [], [boxed])
    if job.settings.allow_failing_baseline:
        says = "The base does not pass its own command, which is allowed."
        return Verdict("pass", says, [], [boxed])
    finding = Finding("baseline", describe_output(boxed, files.folder))
    return Verdict("check", f"The base does not pass its own command. {NEXT}", [finding], [boxed])


def resolve_command(job: Job, words: list[str]) -> list[str]:
    """Return the command with `python` as the target's interpreter."""
    return [*job.tools.python, *words[1:]] if words[0] in ("python", "python3") else words


def has_passed(boxed: sandbox.SandboxResult) -> bool:
    return boxed.exit_code == 0 and not boxed.timed_out


def describe_output(boxed: sandbox.SandboxResult, folder: str) -> str:
    """Return the end of what a command printed, with paths counted from the folder."""
    said = (boxed.stdout.text() + "\n" + boxed.stderr.text()).strip()
    said = said.replace(os.path.join(folder, ""), "")[-TAIL_CHARS:]
    return said or f"It printed nothing, and ended with exit code {boxed.exit_code}."


def _run_command(
    job: Job, name: str, files: ToolTree, tree: str, tree_hash: str, with_tests: bool = False
) -> sandbox.SandboxResult:
    files.fill_from(tree, with_tests)
    return files.run_tool(resolve_command(job, job.settings.commands[name]), tree_hash)


def _locate_findings(files: ToolTree, boxed: sandbox.SandboxResult) -> list[LocatedFinding]:
    findings = []
    for text in (boxed.stdout.text() + "\n" + boxed.stderr.text()).splitlines():
        hit = LINE.match(text)
        if hit:
            path, line = files.relative_path(hit["path"]), int(hit["line"])
            source = files.read_line(path, line)
            findings.append(LocatedFinding("own", hit["text"], path, line, source))
    return findings
