"""The answers that change files: the builder's edits, and tests written from the spec."""

import ast
from typing import Any

from ..edits import apply as edits
from ..edits.format import shown
from ..protocol import Step
from ..spec import markdown
from ..target.review import named
from ..target.work import Work
from ..verdict import Finding, Verdict
from .context import Asked
from .kind import Kind, faults

AMBIGUOUS = "AMBIGUOUS:"


class Changing(Kind):
    is_edits = True

    def outside(self, work: Work, asked: Asked, text: str) -> list[str]:
        """What cannot be read as edits is judged as that."""
        try:
            return self.not_allowed(work, asked, work.edited(text))
        except edits.PathRefused as error:
            return [shown(error.path)]
        except edits.EditRefused:
            return []

    def not_allowed(self, work: Work, asked: Asked, changes: dict[str, bytes | None]) -> list[str]:
        raise NotImplementedError


class EditsKind(Changing):
    how = "edits as plain text"
    reasons = ("pass", "malformed", "check", "ambiguous")
    needs = ("spec", "brief")
    checked = """\
Every block applies, exactly once; paths stay inside the write set; Python parses. Then the gates run: ruff and mypy,
later the tests."""

    def form(self, step: Step) -> dict[str, Any]:
        return {"format": edits.FORMAT}

    def values(self, work: Work, asked: Asked) -> dict[str, Any]:
        """What the builder sees of the brief: nothing that leads to an answer which would be refused.

        Tests are others' work and not shown: a small model copies them. Other protected files are marked and come last.
        Of what is said to exist only that counts which says where: a small scout finds the feature before it is built.
        """
        spec, there = asked.spec, set(work.paths())
        brief = (
            asked.brief if asked.text("brief") else {"files": [], "new_files": [], "prior_art": []}
        )
        cited = dict.fromkeys([*brief["files"], *brief["new_files"]])
        refused = {one.path for one in protected([*cited, *there], work, spec["grants"])}
        files = work.shown(
            [
                path
                for path in cited
                if path in there and not (path in refused and work.is_test(path))
            ]
        )
        files.sort(key=lambda file: file["path"] in refused)
        return {
            "brief": brief, "files": files, "protected": refused,
            "format": edits.form([file["text"] for file in files], markdown(spec)),
            "new_files": [path for path in brief["new_files"] if path not in refused | there],
            "prior_art": [line for line in brief["prior_art"] if any(path in line for path in there)],
        }  # fmt: skip

    def judge(self, step: Step, work: Work, asked: Asked, text: str) -> Verdict:
        if text.strip().upper().startswith(AMBIGUOUS):
            return Verdict(
                "ambiguous", text.strip()[:500], [Finding("ambiguous", text.strip()[:500])]
            )
        changes = work.edited(text)
        wrong = unparsable(changes) + protected(changes, work, asked.spec["grants"])
        if wrong:
            return Verdict("check", f"The change has {faults(wrong)}.", wrong)
        return Verdict("pass", "Changes " + ", ".join(sorted(changes)[:5]))

    def not_allowed(self, work: Work, asked: Asked, changes: dict[str, bytes | None]) -> list[str]:
        return [one.path for one in protected(changes, work, asked.spec["grants"])]

    def write_set(self, work: Work, asked: Asked) -> dict[str, Any]:
        return {
            "may": ["**"],
            "may_not": list(work.settings.protected),
            "granted": list(asked.spec["grants"]),
        }


class TestsKind(Changing):
    how = "edits as plain text, new test files only"
    needs = ("spec",)
    checked = """\
New test files only, named as the tests here are; Python parses. Then the TEST gate: they fail on the base, pass on the
change, and notice mutants."""

    def form(self, step: Step) -> dict[str, Any]:
        return {"format": edits.WHOLE_FORM}

    def values(self, work: Work, asked: Asked) -> dict[str, Any]:
        return {
            "examples": work.examples(), "format": edits.WHOLE_FORM, "new_path": work.new_test(asked.spec["title"]),
            "is_pytest": work.is_pytest,
        }  # fmt: skip

    def judge(self, step: Step, work: Work, asked: Asked, text: str) -> Verdict:
        changes, there = work.edited(text), set(work.paths())
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
        wrong += unparsable(changes)
        if wrong:
            return Verdict("check", f"The tests have {faults(wrong)}.", wrong)
        return Verdict("pass", ", ".join(sorted(changes)))

    def not_allowed(self, work: Work, asked: Asked, changes: dict[str, bytes | None]) -> list[str]:
        there = set(work.paths())
        return sorted(path for path in changes if path in there or not work.is_test(path))

    def write_set(self, work: Work, asked: Asked) -> dict[str, Any]:
        such = work.new_test(asked.spec["title"]) or "tests/…"
        return {"may": [f"new test files, such as {such}"], "may_not": ["every file that is there"]}


def unparsable(changes: dict[str, bytes | None]) -> list[Finding]:
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
    says = f"{getattr(error, 'msg', error)}{': ' + shown(text) if text else ''}"
    if text and not text.strip("="):
        says += " (write the file once, as it shall be, and not its old lines)"
    return Finding("syntax", says, path, getattr(error, "lineno", 0) or 0)


def protected(paths, work: Work, grants: list[str]) -> list[Finding]:
    return [
        Finding(
            "protected",
            f"{path} is protected, and the spec does not let it change: leave it out of your answer.",
            path,
        )
        for path in sorted(paths)
        if named(path, work.settings.protected) and not named(path, tuple(grants))
    ]
