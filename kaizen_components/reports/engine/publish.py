"""Publish a report: gather its data, lay it out, write HTML, Markdown or JSON, record the file.

A report is reproducible: the same database, checkpoint and options give the same bytes. Its only
clock is the time of the newest log entry it reads. Its footer names the command that repeats it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...errors import Usage
from ...records.files import files
from ...records.ledger.hashing import sha256
from ...records.work.command_line import join_words
from . import markdown
from .document import LinkTarget, format_quantity
from .page import render_template, save_report
from .past import Moment, view_past
from .zone import Zone

if TYPE_CHECKING:
    from ...index import Command
    from ...parameters import Reader, ReadNow, Row, Store, WriteLater, Writer

    Gather = Callable[[Reader, Zone, dict[str, Any]], dict[str, Any]]
    Layout = Callable[[dict[str, Any], Zone], dict[str, Any]]

NOT_ASCII = re.compile(r"[^\n\x20-\x7e]")  # includes printable letters


class Output:
    """The engine's parameter `output`: the format, file and time of a report, and how to write it.

    `write` and `look` open a transaction and a reader; `as_of` is a number of log entries.
    """

    def __init__(
        self,
        command: Command,
        write: WriteLater,
        look: ReadNow,
        store: Store,
        *,
        format: str,
        out: str | None = None,
        open: bool = False,
        timezone: str | None = None,
        as_of: int | None = None,
    ) -> None:
        if open and (format != "html" or out == "-"):
            raise Usage(
                "open_without_html",
                "--open cannot show this report.",
                "It opens an HTML file in a browser.",
                "Use --format html, and omit `--out -`.",
            )
        self.command = command
        self.write = write
        self.look = look
        self.store = store
        self.format = format
        self.out = out
        self.open = open
        self.zone = Zone(timezone)
        self.as_of = as_of

    def is_for_screen(self) -> bool:
        """Return whether the report is printed and no file is written."""
        return self.format == "text" or (self.format == "json" and self.out is None)

    def gather(self, gather: Gather, options: dict[str, Any]) -> tuple[dict[str, Any], Moment]:
        """Return the data from `gather(db, zone, options)`, and the Moment of the log."""
        db = self.look()
        db.hold_snapshot()
        try:
            with view_past(db, self.as_of) as (past_db, moment):
                return gather(past_db, self.zone, options), moment
        finally:
            db.release_snapshot()

    def publish(self, gather: Gather, layout: Layout, **options: Any) -> dict[str, Any]:
        """Write the report to a file and record it, unless --out is -. Return the command's answer.

        The footer contains `options`, so that the command can be repeated. `gather` must replace
        options that change their meaning, such as @last, with an exact value.
        """
        data, moment = self.gather(gather, options)
        report = layout(data, self.zone)
        exact_options = {**options, "timezone": self.zone.name, "as_of": moment.size}
        words = ["kaizen", self.command.code]
        for option, value in {**exact_options, "format": self.format}.items():
            if value is not None and value is not False:
                words += ["--" + option.replace("_", "-"), *([] if value is True else [str(value)])]
        again = join_words(words)
        ledger = moment.describe()
        answer = {"title": report["title"], "ledger": ledger, "again": again, "data": data}
        text = self._render(report, answer)
        if self.out == "-":
            return {"document": text, **answer}
        path = save_report(self.store, self.command.name, self.format, text, self.out)
        lines = [
            *_summarize_report(report),
            "",
            f"{self.format.upper()}: {path}",
            f"Repeat with: {again}",
        ]
        answer = {"path": path, **answer, "text": "\n".join(lines)}
        root = self.store.place.root
        absolute = os.path.abspath(self.out) if self.out else os.path.join(root, path)
        project_path = files.find_project_path(root, absolute)
        content = text.encode()
        artifact = {
            "title": answer["title"][:200],
            "summary": again[:2000],
            "path": project_path,
            "name": os.path.basename(absolute)[:255],
            "kind": "file" if project_path else "external",
            "sha256": sha256(content),
            "bytes": len(content),
        }

        def record(tx: Writer) -> Row:
            id = tx.add("artifact", artifact)["id"]
            return {"artifact_id": id, "sha256": artifact["sha256"], **answer}

        try:
            answer = self.write(record)
        except BaseException:  # also on an interrupt: no report may exist without its record
            os.unlink(absolute)
            raise
        if self.open:
            import webbrowser
            from pathlib import Path

            if not webbrowser.open(Path(absolute).as_uri()):
                self.store.notes.append("No browser could be started. Open the file yourself.")
        if self.out and not project_path:  # print the path as the user gave it; no record has it
            answer["text"] = answer["text"].replace(f": {path}", f": {self.out}", 1)
            answer["path"] = self.out
        return answer

    def _render(self, report: dict[str, Any], answer: dict[str, Any]) -> str:
        """Return the text of the file: JSON of the data, or the report as HTML or Markdown."""
        ledger, again = answer["ledger"], answer["again"]
        if self.format == "json":
            import json

            content = {
                "report": self.command.name,
                "title": answer["title"],
                "data": answer["data"],
                "ledger": ledger,
                "again": again,
                "timezone": self.zone.name,
                "engine": __version__,
            }
            # Escape control characters, which a terminal would obey; keep letters of any language.
            return NOT_ASCII.sub(
                lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1],
                json.dumps(content, indent=2, ensure_ascii=False) + "\n",
            )
        entries = format_quantity(ledger["entries"], "entry")
        until = f"{self.zone.format_time(ledger['at'])} ({self.zone.name})"
        made_from = f"Kaizen {__version__}. Made from a log of {entries} up to {until}."
        if self.format == "html":
            return render_template(
                "report.html",
                report=report,
                made_from=made_from,
                ledger=ledger,
                again=again,
                anchors=_list_anchors(report),
            )
        origin, root = markdown.quote_code(ledger["origin"]), markdown.quote_code(ledger["root"])
        footer = [
            markdown.escape_text(made_from),
            "",
            "Repeat with: " + markdown.quote_code(again),
            "",
            f"Log {origin}, {entries}, root {root}. Its checkpoint:",
            "",
            *("    " + line for line in ledger["checkpoint"].split("\n")),
        ]
        return markdown.render_markdown(report, footer)


def _list_anchors(report: dict[str, Any]) -> set[str]:
    """Return the ids of the records to which links on the page can lead."""
    cells: list[Any] = []
    for section in report["sections"]:
        for block in section["blocks"]:
            for row in block.get("rows") or []:
                cells += row if isinstance(row, list) else []
            for entry in block.get("entries", ()):
                cells += entry.get("refs", ())
    return {str(cell) for cell in cells if isinstance(cell, LinkTarget)}


def _summarize_report(report: dict[str, Any]) -> list[str]:
    """Return the lines for a terminal: the title, the first sentences and the numbers."""
    lines = [report["title"], *report["lead"]]
    for section in report["sections"]:
        for block in section["blocks"]:
            if block["block"] == "facts":
                label_width = max(len(row["label"]) for row in block["rows"])
                value_width = max(len(row["value"]) for row in block["rows"])
                lines.append("")
                for row in block["rows"]:
                    before = f"   before: {row['before']}" if row["before"] else ""
                    label, value = row["label"], row["value"]
                    lines.append(f"  {label:<{label_width}}  {value:>{value_width}}{before}")
    return lines
