"""The steps that somebody answers: what they are asked, and what is checked about what they say."""

import ast
import os
import re
from typing import Any

from . import edits
from .answers import AnswerRefused, validated
from .contracts import MODELS
from .edit_format import shown
from .protocol import Step
from .review import named, objections
from .spec import findings, granted, markdown
from .verdict import Finding, Verdict
from .work import Work

PROMPTS = os.path.join(os.path.dirname(__file__), "prompts")
AMBIGUOUS = "AMBIGUOUS:"
DIFF_CHARS_MAX = 60_000
BREAK = "\n-----\n"
ROUTE = re.compile(r"(?:^|\s)[`\"']?/\w")  # a small model plans a route for a function if its example is a route


class Asked:
    """What the answers so far are: the texts as given, and the structured ones read."""

    def __init__(self, request: str, texts: dict[str, str | None], feedback: str, previous: str | None):
        self.request = request
        self.texts = texts
        self.feedback = feedback
        self.previous = previous

    def read(self, step: str, contract: str) -> dict[str, Any]:
        """An accepted answer as its contract has it."""
        return validated(self.texts[step] or "", MODELS[contract]).model_dump()

    @property
    def spec(self) -> dict[str, Any]:
        spec = self.read("plan", "spec")
        return {**spec, "grants": granted(spec["grants"], self.request)}

    @property
    def brief(self) -> dict[str, Any]:
        return self.read("scout", "brief")


def messages(step: Step, work: Work, asked: Asked) -> list[dict[str, str]]:
    """The conversation that asks: a system text and a user text, made from records and the base alone."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PROMPTS), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=False,
    )  # fmt: skip
    text = environment.get_template(f"{step.name}.md").render(**_values(step, work, asked))
    system, _, user = text.partition(BREAK)
    return [{"role": "system", "content": system.strip()}, {"role": "user", "content": user.strip()}]


def _values(step, work, asked):
    common = {"feedback": asked.feedback, "previous": asked.previous, "listing": work.listing()}
    if step.name == "plan":
        name, text = work.readme()
        is_web = bool(ROUTE.search(asked.request))
        return {**common, "request": asked.request, "readme_name": name, "readme": text, "is_web": is_web}
    common["spec"] = markdown(asked.spec)
    if step.name == "scout":
        return {**common, "files": work.quoted(work.likely()), "hits": work.hits(asked.request)}
    if step.name == "build":
        return {**common, **_for_builder(work, asked)}
    if step.name == "tests":
        new = work.new_test(asked.spec["title"])
        return {
            **common,
            "examples": work.examples(),
            "format": edits.WHOLE_FORM,
            "new_path": new,
            "is_pytest": work.is_pytest,
        }
    commit = work.candidate(asked.spec, asked.texts["build"], asked.texts["tests"])
    return {**common, "diff": work.diff(commit)[:DIFF_CHARS_MAX]}


def _for_builder(work, asked):
    """What the builder sees of the brief: nothing that leads to an answer which would be refused.

    Tests are others' work and not shown: a small model copies them. Other protected files are marked and come last. Of
    what is said to exist only that counts which says where: a small scout finds the feature before it is built.
    """
    spec, brief, there = asked.spec, asked.brief, set(work.paths())
    cited = dict.fromkeys([*brief["files"], *brief["new_files"]])
    refused = {one.path for one in _protected([*cited, *there], work, spec["grants"])}
    files = work.shown([path for path in cited if path in there and not (path in refused and work.is_test(path))])
    files.sort(key=lambda file: file["path"] in refused)
    return {
        "brief": brief, "files": files, "protected": refused,
        "format": edits.form([file["text"] for file in files], markdown(spec)),
        "new_files": [path for path in brief["new_files"] if path not in refused | there],
        "prior_art": [line for line in brief["prior_art"] if any(path in line for path in there)],
    }  # fmt: skip


def judged(step: Step, work: Work, asked: Asked, text: str) -> Verdict:
    """What the checks say about an answer. The answer is `text`; `asked` has those before it."""
    try:
        return _CHECKS[step.answer or step.name](work, asked, text)
    except (AnswerRefused, edits.EditRefused) as error:
        return Verdict("malformed", str(error), [Finding("form", str(error))])


def _spec(work, asked, text):
    spec = validated(text, MODELS["spec"]).model_dump()
    wrong = findings(spec, asked.request)
    return Verdict("check", f"The spec has {_faults(wrong)}.", wrong) if wrong else Verdict("pass", spec["title"])


def _brief(work, asked, text):
    brief = validated(text, MODELS["brief"]).model_dump()
    there = set(work.paths())
    wrong = [
        Finding("no-such-file", f"{path} is not in the repository.", path)
        for path in brief["files"]
        if path not in there
    ]
    if wrong:
        return Verdict("check", f"The brief names {_faults(wrong, 'file')} wrongly.", wrong)
    return Verdict("pass", "Cites " + ", ".join(brief["files"][:5]))


def _edits(work, asked, text):
    if text.strip().upper().startswith(AMBIGUOUS):
        return Verdict("ambiguous", text.strip()[:500], [Finding("ambiguous", text.strip()[:500])])
    changes = work.edited(text)
    wrong = _unparsable(changes) + _protected(changes, work, asked.spec["grants"])
    if wrong:
        return Verdict("check", f"The change has {_faults(wrong)}.", wrong)
    return Verdict("pass", "Changes " + ", ".join(sorted(changes)[:5]))


def _tests(work, asked, text):
    changes = work.edited(text)
    there = set(work.paths())
    wrong = [
        Finding("exists", f"{path} is there already; write a new file.", path) for path in changes if path in there
    ]
    wrong += [
        Finding("not-a-test", f"{path} is not named as the tests here are.", path)
        for path in changes
        if not work.is_test(path)
    ]
    wrong += _unparsable(changes)
    return (
        Verdict("check", f"The tests have {_faults(wrong)}.", wrong)
        if wrong
        else Verdict("pass", ", ".join(sorted(changes)))
    )


def _review(work, asked, text):
    review = validated(text, MODELS["review"]).model_dump()
    if review["verdict"] == "approve":
        return Verdict("pass", "The reviewer approves.")
    reasons = [Finding(reason["criterion"] or "unmet", reason["text"]) for reason in review["reasons"]]
    return Verdict("reject", "; ".join(f"{one.rule}: {one.text}" for one in reasons)[:2000], reasons)


def outside(step: Step, work: Work, asked: Asked, text: str) -> list[str]:
    """Paths that an answer would write and may not; what cannot be read as edits is judged as that."""
    if step.answer not in ("edits", "tests"):
        return []
    try:
        changes = work.edited(text)
    except edits.EditRefused:
        return []
    if step.answer == "tests":
        there = set(work.paths())
        return sorted(path for path in changes if path in there or not work.is_test(path))
    return [one.path for one in _protected(changes, work, asked.spec["grants"])]


def before_review(work: Work, asked: Asked) -> Verdict | None:
    """The deterministic checks, which come before the reviewer is asked; None if there is nothing to object to."""
    changes = work.changes(asked.texts["build"], asked.texts["tests"])
    wrong = objections(asked.spec, changes, work.read, set(work.paths()))
    return Verdict("check", f"The spec does not allow {_faults(wrong, 'thing')}.", wrong) if wrong else None


def _faults(wrong, word="fault"):
    return f"{len(wrong)} {word}{'s' * (len(wrong) != 1)}"


def _unparsable(changes):
    found = []
    for path, data in changes.items():
        if path.endswith(".py") and data is not None:
            try:
                ast.parse(data)
            except (SyntaxError, ValueError) as error:
                found.append(_syntax(path, error))
    return found


def _syntax(path, error):
    """With the line itself; a divider in a file that was to be written whole is an old half and a new one."""
    text = (getattr(error, "text", "") or "").strip()
    says = f"{getattr(error, 'msg', error)}{': ' + shown(text) if text else ''}"
    if text and not text.strip("="):
        says += " (write the file once, as it shall be, and not its old lines)"
    return Finding("syntax", says, path, getattr(error, "lineno", 0) or 0)


def _protected(paths, work, grants):
    return [
        Finding(
            "protected", f"{path} is protected, and the spec does not let it change: leave it out of your answer.", path
        )
        for path in sorted(paths)
        if named(path, work.settings.protected) and not named(path, tuple(grants))
    ]


_CHECKS = {"spec": _spec, "brief": _brief, "edits": _edits, "tests": _tests, "review": _review}
