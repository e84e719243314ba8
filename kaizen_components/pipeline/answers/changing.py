"""The answers that change files: the builder's edits, and tests written from the spec."""

import ast
from typing import Any

from ..edits import apply as edits
from ..edits.format import quote_text
from ..protocol import Step
from ..spec import render_spec
from ..target.review import matches_any
from ..target.workspace import Workspace
from ..verdict import Finding, Verdict
from .context import StepContext
from .kind import Kind, count_faults

AMBIGUOUS = "AMBIGUOUS:"


class EditingKind(Kind):
    is_edits = True

    def find_forbidden(self, work: Workspace, asked: StepContext, text: str) -> list[str]:
        """What cannot be read as edits is judged as that."""
        try:
            return self.select_forbidden(work, asked, work.apply_answer(text))
        except edits.PathRefused as error:
            return [quote_text(error.path)]
        except edits.EditRefused:
            return []

    def select_forbidden(
        self, work: Workspace, asked: StepContext, changes: dict[str, bytes | None]
    ) -> list[str]:
        raise NotImplementedError


class EditsKind(EditingKind):
    how = "edits as plain text"
    reasons = ("pass", "malformed", "check", "ambiguous")
    needs = ("spec", "brief")
    checked = """\
Every block applies, exactly once; paths stay inside the write set; Python parses. Then the gates run: ruff and mypy,
later the tests."""

    def form(self, step: Step) -> dict[str, Any]:
        return {"format": edits.FORMAT}

    def values(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        """What the builder sees of the brief: nothing that leads to an answer which would be refused.

        Tests are others' work and not shown: a small model copies them. Other protected files are marked and come last.
        Of what is said to exist only that counts which says where: a small scout finds the feature before it is built.
        """
        spec, there = asked.spec, set(work.paths())
        brief = (
            asked.brief if asked.text("brief") else {"files": [], "new_files": [], "prior_art": []}
        )
        cited = dict.fromkeys([*brief["files"], *brief["new_files"]])
        refused = {one.path for one in find_protected([*cited, *there], work, spec["grants"])}
        files = work.quote_context(
            [
                path
                for path in cited
                if path in there and not (path in refused and work.is_test(path))
            ]
        )
        files.sort(key=lambda file: file["path"] in refused)
        return {
            "brief": brief, "files": files, "protected": refused,
            "format": edits.describe_format([file["text"] for file in files], render_spec(spec)),
            "new_files": [path for path in brief["new_files"] if path not in refused | there],
            "prior_art": [line for line in brief["prior_art"] if any(path in line for path in there)],
        }  # fmt: skip

    def judge(self, step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
        if text.strip().upper().startswith(AMBIGUOUS):
            return Verdict(
                "ambiguous", text.strip()[:500], [Finding("ambiguous", text.strip()[:500])]
            )
        changes = work.apply_answer(text)
        wrong = find_syntax_errors(changes) + find_protected(changes, work, asked.spec["grants"])
        if wrong:
            return Verdict("check", f"The change has {count_faults(wrong)}.", wrong)
        return Verdict("pass", "Changes " + ", ".join(sorted(changes)[:5]))

    def select_forbidden(
        self, work: Workspace, asked: StepContext, changes: dict[str, bytes | None]
    ) -> list[str]:
        return [one.path for one in find_protected(changes, work, asked.spec["grants"])]

    def write_set(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        return {
            "may": ["**"],
            "may_not": list(work.settings.protected),
            "granted": list(asked.spec["grants"]),
        }


class TestsKind(EditingKind):
    how = "edits as plain text, new test files only"
    needs = ("spec",)
    checked = """\
New test files only, named as the tests here are; Python parses. Then the TEST gate: they fail on the base, pass on the
change, and notice mutants."""

    def form(self, step: Step) -> dict[str, Any]:
        return {"format": edits.WHOLE_FORM}

    def values(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        return {
            "examples": work.examples(), "format": edits.WHOLE_FORM, "new_path": work.choose_test_path(asked.spec["title"]),
            "is_pytest": work.is_pytest,
        }  # fmt: skip

    def judge(self, step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
        changes, there = work.apply_answer(text), set(work.paths())
        wrong = [
            Finding("exists", f"{path} is there already; write a new file.", path)
            for path in changes
            if path in there
        ]
        wrong += [
            Finding("not-a-test", f"{path} is not named as the tests here are.", path)
            for path in changes
            if not work.is_test(path)
        ]
        wrong += find_syntax_errors(changes)
        if wrong:
            return Verdict("check", f"The tests have {count_faults(wrong)}.", wrong)
        return Verdict("pass", ", ".join(sorted(changes)))

    def select_forbidden(
        self, work: Workspace, asked: StepContext, changes: dict[str, bytes | None]
    ) -> list[str]:
        there = set(work.paths())
        return sorted(path for path in changes if path in there or not work.is_test(path))

    def write_set(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        such = work.choose_test_path(asked.spec["title"]) or "tests/…"
        return {"may": [f"new test files, such as {such}"], "may_not": ["every file that is there"]}


def find_syntax_errors(changes: dict[str, bytes | None]) -> list[Finding]:
    found = []
    for path, data in changes.items():
        if path.endswith(".py") and data is not None:
            try:
                ast.parse(data)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                found.append(_syntax(path, error))
    return found


def _syntax(path, error):
    """With the line itself; a divider in a file that was to be written whole is an old half and a new one."""
    text = (getattr(error, "text", "") or "").strip()
    says = f"{getattr(error, 'msg', error)}{': ' + quote_text(text) if text else ''}"
    if text and not text.strip("="):
        says += " (write the file once, as it shall be, and not its old lines)"
    return Finding("syntax", says, path, getattr(error, "lineno", 0) or 0)


def find_protected(paths, work: Workspace, grants: list[str]) -> list[Finding]:
    return [
        Finding(
            "protected",
            f"{path} is protected, and the spec does not let it change: leave it out of your answer.",
            path,
        )
        for path in sorted(paths)
        if matches_any(path, work.settings.protected) and not matches_any(path, tuple(grants))
    ]
