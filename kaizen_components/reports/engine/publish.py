"""From a question to a file: gather once, lay out once, write HTML, Markdown or JSON, and record what was written.

The same database, checkpoint and options give the same bytes: a report knows no other clock than that of the newest
entry it is made from, and its footer names the command that makes it again.
"""

import os
import re
from typing import Any

from ... import __version__
from ...errors import Usage
from ...records.files import files
from ...records.ledger.hashing import sha256
from ...records.work.command_line import join_words
from . import markdown
from .page import render_template, save_report
from .past import Moment, view_past
from .zone import Zone

NOT_PRINTABLE = re.compile(r"[^\n\x20-\x7e]")  # perhaps: most of them are


class Output:
    """How a report is wanted: the options that every report has."""

    def __init__(
        self, format: str, out: str | None, open: bool, as_of: int | None, timezone: str | None
    ):
        if open and (format != "html" or out == "-"):
            raise Usage(
                "open_without_html",
                "--open shows an HTML file.",
                "",
                "Use --format html, and no --out -.",
            )
        self.format = format
        self.out = out
        self.open = open
        self.as_of = as_of
        self.zone = Zone(timezone)


def publish(
    write, look, store, code: str, name: str, output: Output, gather, layout, **options: Any
) -> dict[str, Any]:
    """The answer of R1 to R11. `gather(db, zone, options)` asks, `layout(found, zone)` says it; neither knows a clock.

    `options` are what the command was asked; the footer repeats them, so `gather` makes them exact where they are not
    (the id for @last, the week for "this week"). None is not repeated.
    """
    found, moment = gather_data(look, output, gather, options)
    made = layout(found, output.zone)
    ledger = moment.describe()
    again = join_words(
        [
            "kaizen",
            code,
            *_words({**options, "timezone": output.zone.name, "as_of": moment.size}, output.format),
        ]
    )
    text = _rendered(output.format, name, made, found, ledger, again, output.zone)
    said = {"title": made["title"], "ledger": ledger, "again": again, "data": found}
    if output.out == "-":
        return {"document": text, **said}
    path = save_report(store, name, output.format, text, output.out)
    there = os.path.abspath(output.out) if output.out else os.path.join(store.place.root, path)
    said["text"] = "\n".join(
        [*_summary(made), "", f"{output.format.upper()}: {path}", f"Again: {again}"]
    )
    answer = _recorded(write, store, there, again, text, {"path": path, **said})
    if output.open:
        _show(store, there)
    if output.out and not files.find_project_path(
        store.place.root, there
    ):  # as its reader called it, which no record keeps
        answer |= {
            "path": output.out,
            "text": answer["text"].replace(f": {path}", f": {output.out}", 1),
        }
    return answer


def gather_data(
    look, output: Output, gather, options: dict[str, Any]
) -> tuple[dict[str, Any], Moment]:
    """(what `gather` finds, the moment it is of)."""
    db = look()
    db.hold()
    try:
        with view_past(db, output.as_of) as (then, moment):
            return gather(then, output.zone, options), moment
    finally:
        db.let_go()


def _words(options, format):
    words = [
        word
        for name, value in options.items()
        if value is not None and value is not False
        for word in _option(name, value)
    ]
    return [*words, "--format", format]


def _option(name, value):
    flag = "--" + name.replace("_", "-")
    return [flag] if value is True else [flag, str(value)]


def _rendered(format, name, made, found, ledger, again, zone):
    if format == "json":
        import json

        whole = {
            "report": name, "title": made["title"], "data": found, "ledger": ledger, "again": again,
            "timezone": zone.name, "engine": __version__,
        }  # fmt: skip
        return NOT_PRINTABLE.sub(_escaped, json.dumps(whole, indent=2, ensure_ascii=False)) + "\n"
    entries = f"{ledger['entries']:,} entr{'y' if ledger['entries'] == 1 else 'ies'}"
    made_from = f"Kaizen {__version__}. Made from a log of {entries} up to {zone.show(ledger['at'])} ({zone.name})."
    if format == "html":
        return render_template(
            "report.html",
            made=made,
            made_from=made_from,
            ledger=ledger,
            again=again,
            anchors=_anchors(made),
        )
    log = f"Log {markdown.quote_code(ledger['origin'])}, {entries}, root {markdown.quote_code(ledger['root'])}. Its checkpoint:"
    lines = [
        markdown.escape_text(made_from),
        "",
        "Again: " + markdown.quote_code(again),
        "",
        log,
        "",
    ]
    return markdown.render_markdown(
        made, [*lines, *("    " + line for line in ledger["checkpoint"].split("\n"))]
    )


def _escaped(match):
    """What a terminal would obey, as JSON's own escape; letters of any language stay."""
    import json

    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]


def _anchors(made):
    """The ids that have a place of their own in the document, so that others can lead there."""
    from .document import Own

    found = set()
    for section in made["sections"]:
        for block in section["blocks"]:
            cells = [
                cell for row in (block.get("rows") or []) if isinstance(row, list) for cell in row
            ]
            cells += [ref for entry in block.get("entries", ()) for ref in entry.get("refs", ())]
            found |= {str(cell) for cell in cells if isinstance(cell, Own)}
    return found


def _recorded(write, store, there, again, text, answer):
    """The answer, with the file as an artifact; without a record of it there is no file either."""
    inside = files.find_project_path(store.place.root, there)
    data = text.encode()
    values = {
        "title": answer["title"][:200], "summary": again[:2000], "path": inside, "name": os.path.basename(there)[:255],
        "kind": "file" if inside else "external", "sha256": sha256(data), "bytes": len(data),
    }  # fmt: skip

    def record(tx):
        return {
            "artifact_id": tx.add("artifact", values)["id"],
            "sha256": values["sha256"],
            **answer,
        }

    try:
        return write(record)
    except BaseException:  # an interrupt too
        os.unlink(there)
        raise


def _show(store, there):
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(there).as_uri()):
        store.notes.append("No browser could be started here; open the file by hand.")


def _summary(made):
    """What a terminal shows of it: the title, the first sentences, the numbers."""
    lines = [made["title"], *made["lead"]]
    for section in made["sections"]:
        for block in section["blocks"]:
            if block["block"] == "facts":
                lines += ["", *_aligned(block["rows"])]
    return lines


def _aligned(rows):
    label = max(len(row["label"]) for row in rows)
    value = max(len(row["value"]) for row in rows)
    return [
        f"  {row['label']:<{label}}  {row['value']:>{value}}"
        + (f"   before: {row['before']}" if row["before"] else "")
        for row in rows
    ]
