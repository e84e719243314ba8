"""VALIDATE: ruff and mypy find nothing that the base does not have already, and nothing is hidden from them.

Static tools are hygiene, so they judge what is new. Whatever steers them is read from the base (checking/room.py). A
tool that breaks is never a pass: on the base it blocks the gate, on head it is a finding.
"""

import hashlib
import json
import os

from ....sandbox import run as sandbox
from ...job import Job
from ...target.toolchain import NEEDED, find_missing_tools
from ...verdict import Finding, Verdict
from . import mypy, own_command, ruff, suppressions, syntax
from .findings import LocatedFinding, ToolResult, find_new
from .tool_tree import ToolTree

FORM = 1  # of what is kept about a base: a new number when findings are read otherwise
TOOLS = {"ruff": ruff.run_ruff, "mypy": mypy.run_mypy}


def judge_static(job: Job) -> Verdict:
    """Whether the candidate may go on, and if not, each new finding."""
    level, least = sandbox.detect_level(), job.settings.minimum_level
    if sandbox.LEVELS.index(level) < sandbox.LEVELS.index(least):
        says = f"The sandbox here is {level}, and this repository asks for {least}."
        return Verdict("missing", says, [Finding("sandbox", says)], facts={"level": level})
    return own_command.judge_with_own_command(job, "check", _judge)


def _judge(job):
    absent = [one for one in find_missing_tools(job.tools) if NEEDED[one.rule] == "check"]
    facts = {"versions": dict(job.tools.versions), "level": sandbox.detect_level()}
    if absent:
        says = f"{' and '.join(one.rule for one in absent)} cannot be run in the target."
        return Verdict("missing", says, absent, facts=facts)
    base, runs = _base(job)
    blocked = [Finding(one.tool, one.broken) for one in base if one.broken]
    if blocked:
        says = f"{' and '.join(one.rule for one in blocked)} cannot judge the base, so nothing can be called new."
        return Verdict("missing", says, [*blocked, Finding("settings", HOW)], runs, facts)
    return _compared(job, base, runs, facts)


HOW = "Mend it, name the files in the tool's settings, or bring a command of your own: [gates.check], replace = true."


def _compared(job, base, runs, facts):
    room = ToolTree(job)
    room.fill(job.head)
    checked = syntax.find_syntax_errors(job, room, job.head_tree)
    runs += [checked.boxed] if checked.boxed else []
    findings = [one.finding for one in checked.found] + _break(checked)
    if not findings:  # a file that does not compile would only drown everything else
        findings = suppressions.find_suppressions(job)
        for before in base:
            after = TOOLS[before.tool](job, room, job.head_tree)
            runs += [after.boxed] if after.boxed else []
            facts[before.tool] = {"base": len(before.found), "head": len(after.found)}
            fresh = find_new(before.found, after.found, job.changed)
            findings += fresh or _break(after)
    if findings:
        ordered = sorted(findings, key=lambda one: (one.path, one.line, one.rule))
        return Verdict(
            "check",
            f"{len(findings)} new finding{'s' * (len(findings) > 1)}.",
            ordered,
            runs,
            facts,
        )
    old = sum(len(one.found) for one in base)
    return Verdict(
        "pass",
        f"ruff and mypy find nothing new ({old} findings were there before).",
        [],
        runs,
        facts,
    )


def _break(seen):
    return [Finding(f"{seen.tool}-broke", seen.broken)] if seen.broken else []


def _base(job: Job) -> tuple[list[ToolResult], list[sandbox.SandboxResult]]:
    """What the tools find in the base: looked for once per tree, interpreter and versions."""
    path = os.path.join(job.scratch, f"static-{_key(job)}.json")
    try:
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        return [
            ToolResult(tool, [LocatedFinding(*one) for one in found])
            for tool, found in kept.items()
        ], []
    except (OSError, ValueError, TypeError, AttributeError):
        pass  # not looked at yet
    room = ToolTree(job)
    room.fill(job.base)
    seen = [look(job, room, job.base_tree) for look in TOOLS.values()]
    if not any(one.broken for one in seen):
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump({one.tool: [found.as_list() for found in one.found] for one in seen}, file)
        os.replace(path + ".part", path)
    return seen, [one.boxed for one in seen if one.boxed]


def _key(job: Job) -> str:
    told = json.dumps(
        [FORM, job.base_tree, job.tools.python, job.tools.paths, sorted(job.tools.versions.items())]
    )
    return hashlib.sha256(told.encode()).hexdigest()[:20]
