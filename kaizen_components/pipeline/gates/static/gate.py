"""VALIDATE: ruff and mypy find nothing new, and nothing is hidden from them.

Static tools are hygiene, so they judge what is new. Their settings are read from the base
(tool_tree.py). A tool that breaks is never a pass: on the base it blocks the gate, on head it is a
finding.
"""

from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from ...target.toolchain import NEEDED, find_missing_tools
from ...verdict import Finding, Verdict
from .. import memo
from ..conditions import find_weak_sandbox
from . import mypy, own_command, ruff, suppressions, syntax
from .findings import LocatedFinding, ToolResult, find_new_findings
from .tool_tree import ToolTree

MEMO_VERSION = 2  # raise it when findings are parsed differently
TOOLS = {"ruff": ruff.run_ruff, "mypy": mypy.run_mypy}
NEXT = (
    "Fix the base, exclude the files in the tool's settings, "
    "or set your own command in [gates.check] with replace = true."
)


def judge_static(job: Job) -> Verdict:
    """Run ruff and mypy, and the repository's own check command in addition or instead."""
    weak = find_weak_sandbox(job)
    if weak:
        return Verdict("missing", weak[0].text, weak, facts={"level": sandbox.detect_level()})
    return own_command.judge_with_own_command(job, "check", _judge_job)


def _judge_job(job: Job) -> Verdict:
    """Compile the changed files, look for suppressions, and compare findings with the base's."""
    facts: dict[str, Any] = {
        "versions": dict(job.tools.versions),
        "level": sandbox.detect_level(),
    }
    missing_tools = [tool for tool in find_missing_tools(job.tools) if NEEDED[tool.rule] == "check"]
    if missing_tools:
        summary = (
            f"{' and '.join(tool.rule for tool in missing_tools)} cannot be run in the target."
        )
        return Verdict("missing", summary, missing_tools, facts=facts)
    files = ToolTree(job)
    base, runs = _measure_base(job, files)
    failures = [Finding(result.tool, result.failure) for result in base if result.failure]
    if failures:
        names = " and ".join(finding.rule for finding in failures)
        summary = f"{names} cannot check the base, so new findings cannot be told from old ones."
        return Verdict("missing", summary, [*failures, Finding("settings", NEXT)], runs, facts)
    files.fill_from(job.head)
    syntax_result = syntax.find_syntax_errors(job, files, job.head_tree)
    results = [syntax_result]
    findings = [
        located_finding.finding for located_finding in syntax_result.findings
    ] + _report_failure(syntax_result)
    if not findings:  # otherwise the other tools would repeat the syntax error
        findings = suppressions.find_suppressions(job)
        for base_result in base:
            head_result = TOOLS[base_result.tool](job, files, job.head_tree)
            results.append(head_result)
            facts[base_result.tool] = {
                "base": len(base_result.findings),
                "head": len(head_result.findings),
            }
            new = find_new_findings(base_result.findings, head_result.findings, job.changed)
            findings += new or _report_failure(head_result)
    runs += [result.sandbox_run for result in results if result.sandbox_run]
    if findings:
        findings.sort(key=lambda finding: (finding.path, finding.line, finding.rule))
        summary = f"{len(findings)} new finding{'s' * (len(findings) > 1)}."
        return Verdict("check", summary, findings, runs, facts)
    old = sum(len(result.findings) for result in base)
    summary = f"ruff and mypy find nothing new ({old} findings were there before)."
    return Verdict("pass", summary, [], runs, facts)


def _report_failure(result: ToolResult) -> list[Finding]:
    return [Finding(f"{result.tool}-broke", result.failure)] if result.failure else []


def _measure_base(
    job: Job, files: ToolTree
) -> tuple[list[ToolResult], list[sandbox.SandboxResult]]:
    """Return what the tools find in the base. They run once per tree, interpreter and versions."""
    versions = sorted(job.tools.versions.items())
    parts = (MEMO_VERSION, job.base_tree, job.tools.python, job.tools.paths, versions)
    path = memo.find_memo_path(job, "static", *parts)
    rows_by_tool = memo.read_memo(path)
    if rows_by_tool is not None:
        return [
            ToolResult(tool, [LocatedFinding(*row) for row in rows])
            for tool, rows in rows_by_tool.items()
        ], []
    files.fill_from(job.base)
    results = [run_tool(job, files, job.base_tree) for run_tool in TOOLS.values()]
    if not any(result.failure for result in results):
        rows_by_tool = {
            result.tool: [finding.as_list() for finding in result.findings] for result in results
        }
        memo.write_memo(path, rows_by_tool)
    return results, [result.sandbox_run for result in results if result.sandbox_run]
