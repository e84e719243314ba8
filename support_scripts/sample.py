"""Make the sample reports in docs/ from the demo, one for each report; `make docs` writes them.

docs/sample has each report as Markdown, its charts as images, and the weekly one as a page;
docs/reports.md and the README show some of it between their markers.
"""

import pathlib
import sys
import tempfile
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import chart_image
import demo
from demo_stage import Stage

from kaizen_components.fields import format_option
from kaizen_components.index import COMMANDS, Command, load_commands
from kaizen_components.records.work.command_line import join_words

TASK = "Cancel crossings above a wind speed"  # this task has records of many kinds
Question = tuple[str, dict[str, Any]]
QUESTIONS: dict[str, Question] = {  # the question a report answers, and the options of the sample
    "R0": ("What must I know before I begin?", {"actor": "builder"}),
    "R1": ("What became of this task?", {"id": TASK}),
    "R2": ("Who did what, day by day?", {"limit": 40}),
    "R3": ("What have we learned, and does it still hold?", {}),
    "R4": ("What is proven, and what fails?", {"limit": 10}),
    "R5": ("Do our evals get better?", {}),
    "R6": ("What do we rely on, and is it the newest?", {}),
    "R7": ("What should we stop doing?", {}),
    "R8": ("How was the week, against the one before?", {"week": demo.WEEK}),
    "R9": ("How was the month?", {"month": "2026-10"}),
    "R10": ("How was the year?", {"year": 2026}),
    "R11": ("What do we have about this topic?", {"query": "wind"}),
}
AS_PAGE = ("R8", "R4")  # the first of these reports that exists is also made as a page
ON_README = (("R9", 2), ("R4", 1))  # (report, number of its chart); the first that exists is used
CHARTS = {"R8": 6, "R9": 2}  # number of charts in docs/reports.md; 1 for the other reports


class Sample:
    """One report of the demo."""

    def __init__(self, stage: Stage, command: Command):
        self.command = command
        self.name = command.name.removesuffix("-report")
        self.question, options = QUESTIONS.get(command.code, (command.help, {}))
        self.options = dict(options)
        if self.options.get("id") == TASK:
            self.options["id"] = stage.door("W9", query=f'"{TASK}"', limit=1)["records"][0]["id"]
        self.text = self._make_report(stage, "md")
        self.page = self._make_report(stage, "html") if "out" in command.options else ""
        self.charts = chart_image.extract_images(self.page)[: CHARTS.get(command.code, 1)]

    def _make_report(self, stage: Stage, format: str) -> str:
        report_options = {"format": format, "out": "-", "timezone": "UTC"}
        common = {
            name: value for name, value in report_options.items() if name in self.command.options
        }
        answer = stage.door(self.command.code, **self.options, **common)
        return answer.get("document") or answer["text"] + "\n"  # R0 has no file

    def list_files(self) -> dict[str, str]:
        """Return name -> text, for docs/sample."""
        page = {f"{self.name}.html": self.page} if self.command.code == page_code() else {}
        numbers = enumerate(self.charts, 1)
        charts = {f"{self.name}-{number}.svg": chart.svg for number, chart in numbers}
        return {f"{self.name}.md": self.text, **page, **charts}

    def describe(self) -> list[str]:
        """Return the lines of docs/reports.md about this report."""
        options = self.options.items()
        words = [word for name, value in options for word in (format_option(name), str(value))]
        names = [name for name in self.list_files() if not name.endswith(".svg")]
        links = [f"[{name}](sample/{name})" for name in names]
        images = [self.show_image(number, "sample") for number in range(1, len(self.charts) + 1)]
        return [
            f"### {self.command.code}: {self.question}", "", self.command.help, "",
            "```sh", join_words(["kaizen", self.command.code, *words]), "```", "",
            f"Sample: {', '.join(links)}", "", *(line for image in images for line in (image, "")),
        ]  # fmt: skip

    def show_image(self, number: int, folder: str) -> str:
        chart = self.charts[number - 1]
        return f"![{chart.title}. {chart.says}]({folder}/{self.name}-{number}.svg)"


def page_code() -> str:
    return next(code for code in AS_PAGE if code in COMMANDS)


def make_samples() -> list[Sample]:
    """Make the sample of each report, from a new demo."""
    with tempfile.TemporaryDirectory() as folder, Stage(pathlib.Path(folder)) as stage:
        demo.play_demo(stage)
        reports = [command for command in load_commands() if command.family == "R"]
        reports.sort(key=lambda command: int(command.code[1:]))
        return [Sample(stage, command) for command in reports]


def render_documents(pages: dict[str, str]) -> dict[str, str]:
    """Return name -> text of all files with samples, made from README.md and docs/reports.md."""
    samples = make_samples()
    by_code = {sample.command.code: sample for sample in samples}
    code, number = next((code, number) for code, number in ON_README if code in by_code)
    chart = [by_code[code].show_image(number, "docs/sample")]
    lines = ["", *(line for sample in samples for line in sample.describe())]
    files = {name: text for sample in samples for name, text in sample.list_files().items()}
    return {
        "README.md": _replace_lines(pages["README.md"], "sample", chart),
        "docs/reports.md": _replace_lines(pages["docs/reports.md"], "reports", lines),
        **{f"docs/sample/{name}": text for name, text in files.items()},
    }


def _replace_lines(text: str, name: str, lines: list[str]) -> str:
    """Replace the lines between the markers of a generated part."""
    begin, end = f"<!-- {name}: begin (generated by `make docs`) -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    return "\n".join([before + begin, *lines, end]) + rest.partition(end)[2]
