"""From a question to a file: gather, lay out, write HTML, Markdown or JSON, and record the file.

The same database, checkpoint and options give the same bytes: the only clock of a report is that of
the newest entry it is made from, and its footer names the command that makes it again.
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
from .document import Own, format_quantity
from .page import render_template, save_report
from .past import Moment, view_past
from .zone import Zone

if TYPE_CHECKING:
    from ...index import Command
    from ...parameters import Reader, ReadNow, Row, Store, WriteLater, Writer

    Gather = Callable[[Reader, Zone, dict[str, Any]], dict[str, Any]]
    Layout = Callable[[dict[str, Any], Zone], dict[str, Any]]

NOT_PRINTABLE = re.compile(r"[^\n\x20-\x7e]")  # perhaps: most of them are


class Output:
    """The engine's parameter `output`: how and where a report is wanted, and what makes it."""

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
                "--open shows an HTML file.",
                "",
                "Use --format html, and no --out -.",
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
        """Is the report only printed: as text, or as JSON without --out?"""
        return self.format == "text" or (self.format == "json" and self.out is None)

    def gather(self, gather: Gather, options: dict[str, Any]) -> tuple[dict[str, Any], Moment]:
        """Return what `gather(db, zone, options)` finds, and the moment of the log it is from."""
        db = self.look()
        db.hold_snapshot()
        try:
            with view_past(db, self.as_of) as (then, moment):
                return gather(then, self.zone, options), moment
        finally:
            db.release_snapshot()

    def publish(self, gather: Gather, layout: Layout, **options: Any) -> dict[str, Any]:
        """Return the answer of a report command; write and record the report, unless --out is -.

        The footer repeats `options`, except None and False. `gather` therefore replaces what would
        mean something else later: @last by the id, "this week" by the week.
        """
        data, moment = self.gather(gather, options)
        report = layout(data, self.zone)
        repeated = {**options, "timezone": self.zone.name, "as_of": moment.size}
        words = ["kaizen", self.command.code]
        for option, value in {**repeated, "format": self.format}.items():
            if value is not None and value is not False:
                words += ["--" + option.replace("_", "-"), *([] if value is True else [str(value)])]
        again = join_words(words)
        answer = {
            "title": report["title"],
            "ledger": moment.describe(),
            "again": again,
            "data": data,
        }
        text = self._render(report, answer)
        if self.out == "-":
            return {"document": text, **answer}
        path = save_report(self.store, self.command.name, self.format, text, self.out)
        shown = [*_summarize(report), "", f"{self.format.upper()}: {path}", f"Again: {again}"]
        answer = {"path": path, **answer, "text": "\n".join(shown)}
        root = self.store.place.root
        absolute = os.path.abspath(self.out) if self.out else os.path.join(root, path)
        inside = files.find_project_path(root, absolute)
        content = text.encode()
        artifact = {
            "title": answer["title"][:200],
            "summary": again[:2000],
            "path": inside,
            "name": os.path.basename(absolute)[:255],
            "kind": "file" if inside else "external",
            "sha256": sha256(content),
            "bytes": len(content),
        }

        def record(tx: Writer) -> Row:
            id = tx.add("artifact", artifact)["id"]
            return {"artifact_id": id, "sha256": artifact["sha256"], **answer}

        try:
            answer = self.write(record)
        except BaseException:  # an interrupt too: a report without a record must not stay
            os.unlink(absolute)
            raise
        if self.open:
            import webbrowser
            from pathlib import Path

            if not webbrowser.open(Path(absolute).as_uri()):
                self.store.notes.append("No browser could be started; open the file by hand.")
        if self.out and not inside:  # the path as its reader knows it, which no record keeps
            answer["text"] = answer["text"].replace(f": {path}", f": {self.out}", 1)
            answer["path"] = self.out
        return answer

    def _render(self, report: dict[str, Any], answer: dict[str, Any]) -> str:
        ledger, again = answer["ledger"], answer["again"]
        if self.format == "json":
            import json

            whole = {
                "report": self.command.name,
                "title": answer["title"],
                "data": answer["data"],
                "ledger": ledger,
                "again": again,
                "timezone": self.zone.name,
                "engine": __version__,
            }
            return NOT_PRINTABLE.sub(
                lambda match: (
                    match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]
                ),  # JSON's own escape for what a terminal would obey; letters of any language stay
                json.dumps(whole, indent=2, ensure_ascii=False) + "\n",
            )
        entries = format_quantity(ledger["entries"], "entry")
        until = f"{self.zone.show(ledger['at'])} ({self.zone.name})"
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
            "Again: " + markdown.quote_code(again),
            "",
            f"Log {origin}, {entries}, root {root}. Its checkpoint:",
            "",
            *("    " + line for line in ledger["checkpoint"].split("\n")),
        ]
        return markdown.render_markdown(report, footer)


def _list_anchors(report: dict[str, Any]) -> set[str]:
    """Return the ids that links of the page can lead to."""
    cells: list[Any] = []
    for section in report["sections"]:
        for block in section["blocks"]:
            for row in block.get("rows") or []:
                cells += row if isinstance(row, list) else []
            for entry in block.get("entries", ()):
                cells += entry.get("refs", ())
    return {str(cell) for cell in cells if isinstance(cell, Own)}


def _summarize(report: dict[str, Any]) -> list[str]:
    """Return what a terminal shows of a report: the title, the first sentences, the numbers."""
    lines = [report["title"], *report["lead"]]
    for section in report["sections"]:
        for block in section["blocks"]:
            if block["block"] == "facts":
                label = max(len(row["label"]) for row in block["rows"])
                value = max(len(row["value"]) for row in block["rows"])
                lines.append("")
                for row in block["rows"]:
                    before = f"   before: {row['before']}" if row["before"] else ""
                    lines.append(f"  {row['label']:<{label}}  {row['value']:>{value}}{before}")
    return lines
