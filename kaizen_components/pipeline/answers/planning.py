"""The answers before any change: the spec, and the scout's brief."""

import json
import re
from typing import Any

from ..protocol import Step
from ..spec import check_spec, render_spec
from ..target.workspace import Workspace
from ..verdict import Finding, Verdict
from .context import StepContext
from .kind import StructuredKind, format_count

# A small model plans a route for a function if the example in its prompt is a route.
ROUTE = re.compile(r"(?:^|\s)[`\"']?/\w")


class SpecKind(StructuredKind):
    contract = "spec"
    is_result = False
    checks = """\
Keeps to the schema; no vague words (the lint of `Q10`); every name, path and value of the request
is in a criterion or a constraint."""

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        name, text = work.read_readme()
        return {"readme_name": name, "readme": text, "is_web": bool(ROUTE.search(context.request))}

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        spec = self.parse_object(text)
        findings = check_spec(spec, context.request)
        if findings:
            return Verdict("check", f"The spec has {format_count(findings)}.", findings)
        return Verdict("pass", spec["title"])

    def build_result_file(self, step: Step, text: str) -> tuple[str, str, str]:
        return "spec.md", "The spec", render_spec(self.parse_object(text))


class BriefKind(StructuredKind):
    contract = "brief"
    is_result = False
    needs = ("spec",)
    checks = "Keeps to the schema; every file that it cites exists in the base commit."

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        return {
            "files": work.quote_files(work.list_likely_sources()),
            "hits": work.search_lines(context.request),
        }

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        brief = self.parse_object(text)
        existing_paths = set(work.list_paths())
        findings = [
            Finding("no-such-file", f"{path} is not in the repository.", path)
            for path in brief["files"]
            if path not in existing_paths
        ]
        if findings:
            says = f"The brief names {format_count(findings, 'file')} wrongly."
            return Verdict("check", says, findings)
        return Verdict("pass", "Cites " + ", ".join(brief["files"][:5]))

    def build_result_file(self, step: Step, text: str) -> tuple[str, str, str]:
        data = json.dumps(self.parse_object(text), indent=1, ensure_ascii=False) + "\n"
        return "brief.json", "The scout's brief", data
