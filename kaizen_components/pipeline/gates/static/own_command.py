"""A repository's own command as a gate: for other languages, and for tools that we do not know."""

import os
import re
from collections.abc import Callable

from ....sandbox import run as sandbox
from ...job import Job
from ...verdict import Finding, Verdict
from .findings import LocatedFinding, find_new_findings
from .tool_tree import ToolTree

# Lines of the form that most tools have: path:line: text.
LINE = re.compile(r"^(?P<path>[^\s:()]+)(?::|\()(?P<line>\d+)(?:[:,]\d+)?\)?:?\s+(?P<text>.*\S)")
FAILURES = {"check": "check", "test": "regression"}
TAIL_CHARS = 2_000
NEXT = "Fix that first, or allow it with --allow-failing-baseline."
FOLDER = "own"  # not in mypy's cache folder, because such a command runs the candidate's code


def judge_with_own_command(job: Job, name: str, judge: Callable[[Job], Verdict]) -> Verdict:
    """Run our gate, then the repository's command of that name. Skip ours if it is replaced."""
    if name not in job.settings.commands:
        return judge(job)
    first = Verdict("pass", "") if name in job.settings.replaces else judge(job)
    if not first.is_pass:
        return first
    second = judge_own_command(job, name)
    summary = " ".join(filter(None, (first.says, second.says)))
    runs = [*first.runs, *second.runs]
    facts = {**first.facts, **second.facts}
    return Verdict(second.reason, summary, second.findings, runs, facts)


def judge_own_command(job: Job, name: str) -> Verdict:
    """Require that head passes, with the new tests if the command runs tests.

    If head fails, the base shows whether that is new.
    """
    sandbox.require_level(job.settings.minimum_level)
    files = ToolTree(job, FOLDER)
    head = _run_command(job, name, files, job.head, job.head_tree, name == "test")
    words = job.settings.commands[name]
    facts = {"own": words}
    command_line = f"`{' '.join(words)}`"
    if has_passed(head):
        if name != "test" or name not in job.settings.replaces or not job.tests:
            return Verdict("pass", f"{command_line} passes.", [], [head], facts)
        # New tests that also pass without the change prove nothing.
        base_run = _run_command(job, name, files, job.base, job.base_tree, True)
        if not has_passed(base_run):
            summary = f"{command_line} passes, and fails on the base with the new tests."
            return Verdict("pass", summary, [], [base_run, head], facts)
        summary = (
            f"{command_line} also passes on the base with the new tests, so they prove nothing."
        )
        unproven = [Finding("passes-on-base", summary, path) for path in job.tests]
        return Verdict("weak", summary, unproven, [base_run, head], facts)
    located_findings = _locate_findings(files, head)
    base = _run_command(job, name, files, job.base, job.base_tree)
    runs = [base, head]
    if has_passed(base):
        findings = [located_finding.finding for located_finding in located_findings]
        findings = findings or [Finding(name, describe_output(head, files.folder))]
        summary = f"{command_line} fails with exit code {head.exit_code}."
        return Verdict(FAILURES[name], summary, findings, runs, facts)
    before_change = _locate_findings(files, base)
    findings = find_new_findings(before_change, located_findings, job.changed)
    if findings:
        summary = f"The repository's {name} command reports {len(findings)} new findings."
        return Verdict(FAILURES[name], summary, findings, runs, facts)
    if before_change and job.settings.allow_failing_baseline:
        summary = (
            f"The repository's own {name} command fails as on the base and reports nothing new."
        )
        return Verdict("pass", summary, [], runs, facts)
    summary = (
        f"The repository's own {name} command already fails on the base, "
        "so it cannot judge a change."
    )
    text = f"{summary} {describe_output(base, files.folder)}"
    return Verdict("missing", summary, [Finding(name, text)], runs, facts)


def judge_base_command(job: Job, name: str) -> Verdict:
    """Return a pass if the base passes the command, or is allowed to fail it."""
    sandbox.require_level(job.settings.minimum_level)
    files = ToolTree(job, FOLDER)
    sandbox_run = _run_command(job, name, files, job.base, job.base_tree)
    if has_passed(sandbox_run):
        summary = f"`{' '.join(job.settings.commands[name])}` passes on the base."
        return Verdict("pass", summary, [], [sandbox_run])
    if job.settings.allow_failing_baseline:
        summary = "The base fails its own command, which --allow-failing-baseline permits."
        return Verdict("pass", summary, [], [sandbox_run])
    finding = Finding("baseline", describe_output(sandbox_run, files.folder))
    return Verdict("check", f"The base fails its own command. {NEXT}", [finding], [sandbox_run])


def resolve_command(job: Job, words: list[str]) -> list[str]:
    """Return the command with `python` as the target's interpreter."""
    return [*job.tools.python, *words[1:]] if words[0] in ("python", "python3") else words


def has_passed(sandbox_run: sandbox.SandboxResult) -> bool:
    return sandbox_run.exit_code == 0 and not sandbox_run.timed_out


def describe_output(sandbox_run: sandbox.SandboxResult, folder: str) -> str:
    """Return the end of what a command printed, with paths relative to the folder."""
    output = (sandbox_run.stdout.text() + "\n" + sandbox_run.stderr.text()).strip()
    output = output.replace(os.path.join(folder, ""), "")[-TAIL_CHARS:]
    return output or f"It printed nothing and ended with exit code {sandbox_run.exit_code}."


def _run_command(
    job: Job, name: str, files: ToolTree, tree: str, tree_hash: str, with_tests: bool = False
) -> sandbox.SandboxResult:
    """Run the command on a copy of `tree`, by default without the new tests."""
    files.fill_from(tree, with_tests)
    return files.run_tool(resolve_command(job, job.settings.commands[name]), tree_hash)


def _locate_findings(files: ToolTree, sandbox_run: sandbox.SandboxResult) -> list[LocatedFinding]:
    """Return a finding for each output line of the form "path:line: text"."""
    findings = []
    for text in (sandbox_run.stdout.text() + "\n" + sandbox_run.stderr.text()).splitlines():
        hit = LINE.match(text)
        if hit:
            path = files.make_relative_path(hit["path"])
            line = int(hit["line"])
            source = files.read_line(path, line)
            findings.append(LocatedFinding("own", hit["text"], path, line, source))
    return findings
