"""The answers that change files: the builder's edits, and tests written from the spec."""

import ast
from collections.abc import Iterable
from typing import Any

from ..edits import apply as edits
from ..edits.format import quote_text
from ..protocol import Step
from ..spec import render_spec
from ..target.review import matches_any
from ..target.workspace import Workspace
from ..verdict import Finding, Verdict
from .context import StepContext
from .kind import Kind, format_count

AMBIGUOUS = "AMBIGUOUS:"
Changes = dict[str, bytes | None]


class EditingKind(Kind):
    """An answer that changes files."""

    is_edits = True

    def find_forbidden_paths(self, work: Workspace, context: StepContext, text: str) -> list[str]:
        """Return the paths that the answer may not write; [] if its edits cannot be parsed."""
        try:
            return self.select_forbidden_paths(work, context, work.apply_answer(text))
        except edits.PathRefused as error:
            return [quote_text(error.path)]
        except edits.EditRefused:
            return []

    def select_forbidden_paths(
        self, work: Workspace, context: StepContext, changes: Changes
    ) -> list[str]:
        """Return the paths of parsed changes that the answer may not write."""
        raise NotImplementedError


class EditsKind(EditingKind):
    form_name = "edits as plain text"
    reasons = ("pass", "malformed", "check", "ambiguous")
    needs = ("spec", "brief")
    checks = """\
Every block applies, exactly once; paths stay inside the write set; Python parses. Then the gates
run: ruff and mypy, later the tests."""

    def describe_form(self, step: Step) -> dict[str, Any]:
        return {"format": edits.FORMAT}

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        """Return the brief and its files, without those that would lead to a refused answer.

        Tests are left out, because a small model copies them. Other protected files are marked
        and come last. Prior art is kept only if it names a file, because a small scout claims that
        the feature exists before it is built.
        """
        spec = context.spec
        existing_paths = set(work.list_paths())
        brief: dict[str, Any] = {"files": [], "new_files": [], "prior_art": []}
        if context.find_answer("brief"):
            brief = context.brief
        cited_paths = dict.fromkeys([*brief["files"], *brief["new_files"]])
        findings = find_protected([*cited_paths, *existing_paths], work, spec["grants"])
        protected_paths = {finding.path for finding in findings}
        files = work.quote_context(
            [
                path
                for path in cited_paths
                if path in existing_paths and not (path in protected_paths and work.is_test(path))
            ]
        )
        files.sort(key=lambda file: file["path"] in protected_paths)
        return {
            "brief": brief, "files": files, "protected": protected_paths,
            "format": edits.describe_format([file["text"] for file in files], render_spec(spec)),
            "new_files": [
                path for path in brief["new_files"] if path not in protected_paths | existing_paths
            ],
            "prior_art": [
                line for line in brief["prior_art"] if any(path in line for path in existing_paths)
            ],
        }  # fmt: skip

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        """Reject edits that do not parse or that change protected files.

        The builder may instead answer that the spec is ambiguous.
        """
        if text.strip().upper().startswith(AMBIGUOUS):
            says = text.strip()[:500]
            return Verdict("ambiguous", says, [Finding("ambiguous", says)])
        changes = work.apply_answer(text)
        findings = find_syntax_errors(changes)
        findings += find_protected(changes, work, context.spec["grants"])
        if findings:
            return Verdict("check", f"The change has {format_count(findings)}.", findings)
        return Verdict("pass", "Changes " + ", ".join(sorted(changes)[:5]))

    def select_forbidden_paths(
        self, work: Workspace, context: StepContext, changes: Changes
    ) -> list[str]:
        return [finding.path for finding in find_protected(changes, work, context.spec["grants"])]

    def describe_write_set(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        protected_paths = list(work.settings.protected)
        return {"may": ["**"], "may_not": protected_paths, "granted": list(context.spec["grants"])}


class TestsKind(EditingKind):
    form_name = "edits as plain text, new test files only"
    needs = ("spec",)
    checks = """\
New test files only, named like the existing tests; Python parses. Then the TEST gate: they fail on
the base, pass on the change, and notice mutants."""

    def describe_form(self, step: Step) -> dict[str, Any]:
        return {"format": edits.WHOLE_FORM}

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        return {
            "examples": work.list_examples(), "format": edits.WHOLE_FORM,
            "new_path": work.choose_test_path(context.spec["title"]), "is_pytest": work.is_pytest,
        }  # fmt: skip

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        """Accept new test files that parse and are named like the existing tests."""
        changes = work.apply_answer(text)
        existing_paths = set(work.list_paths())
        findings = [
            Finding("exists", f"{path} is there already; write a new file.", path)
            for path in changes
            if path in existing_paths
        ]
        findings += [
            Finding("not-a-test", f"{path} is not named as the tests here are.", path)
            for path in changes
            if not work.is_test(path)
        ]
        findings += find_syntax_errors(changes)
        if findings:
            return Verdict("check", f"The tests have {format_count(findings)}.", findings)
        return Verdict("pass", ", ".join(sorted(changes)))

    def select_forbidden_paths(
        self, work: Workspace, context: StepContext, changes: Changes
    ) -> list[str]:
        existing_paths = set(work.list_paths())
        return sorted(path for path in changes if path in existing_paths or not work.is_test(path))

    def describe_write_set(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        path = work.choose_test_path(context.spec["title"]) or "tests/…"
        return {"may": [f"new test files, such as {path}"], "may_not": ["every file that is there"]}


def find_syntax_errors(changes: Changes) -> list[Finding]:
    """Return a finding for each changed Python file that does not parse, with the line."""
    findings = []
    for path, data in changes.items():
        if path.endswith(".py") and data is not None:
            try:
                ast.parse(data)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                line = (getattr(error, "text", "") or "").strip()
                says = f"{getattr(error, 'msg', error)}{': ' + quote_text(line) if line else ''}"
                if line and not line.strip("="):  # the separator of old and new lines
                    says += " (write the file once, as it shall be, and not its old lines)"
                number = getattr(error, "lineno", 0) or 0
                findings.append(Finding("syntax", says, path, number))
    return findings


def find_protected(paths: Iterable[str], work: Workspace, grants: list[str]) -> list[Finding]:
    """Return a finding for each protected path that the spec does not grant."""
    advice = "is protected, and the spec does not let it change: leave it out of your answer."
    return [
        Finding("protected", f"{path} {advice}", path)
        for path in sorted(paths)
        if matches_any(path, work.settings.protected) and not matches_any(path, tuple(grants))
    ]
