"""One self-contained HTML file per report: no network, light and dark, prints well, readable on a phone."""

import os
from typing import Any

from ...errors import Conflict, Unavailable, explain_missing_package
from ...records.ledger.canonical import escape_invisible
from ...records.ledger.manifest import make_dated_path
from . import document

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


def render_template(template: str, **values: Any) -> str:
    """A template of this folder, filled in; everything is escaped unless the template says otherwise."""
    try:
        import jinja2
    except ImportError:
        raise explain_missing_package(
            "package_missing",
            "The package jinja2 is not installed.",
            "HTML reports need it.",
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalized,
    )
    environment.globals.update(
        script=_script(),
        script_hash=_hash_of(_script()),
        kind_of=_kind_of,
        count=document.format_count,
        draws=_draws,
    )
    return environment.get_template(template).render(**values)


def _finalized(value):
    """A text as it can be shown, before it is escaped; markup of our own stays."""
    return (
        escape_invisible(value)
        if isinstance(value, str) and not hasattr(value, "__html__")
        else value
    )


def _script():
    with open(os.path.join(TEMPLATES, "filter.js"), encoding="utf-8") as file:
        return file.read()


def _hash_of(script):
    """What the page's own policy allows to run, and nothing else: a text that became a script would stay dead."""
    import base64
    import hashlib

    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _kind_of(value: Any) -> str:
    """How a cell is drawn."""
    kinds: dict[type, str] = {
        document.Own: "own",
        document.Ref: "ref",
        document.Code: "code",
        document.Tone: "tone",
        str: "text",
    }
    return "nothing" if value is None else kinds.get(type(value), "number")


def _draws(made):
    return any(
        block["block"] == "chart" for section in made["sections"] for block in section["blocks"]
    )


def save_report(store, name: str, ending: str, text: str, out: str | None = None) -> str:
    """Write a report to --out, or to a dated file below AI/db/exports; never over another. Returns its shown path."""
    path = os.path.abspath(out) if out else make_dated_path(store.place.exports, name, ending)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        if isinstance(error, FileExistsError) and os.path.lexists(
            path
        ):  # else its folder is a file
            raise Conflict(
                "file_exists",
                f"{os.path.basename(path)} is there already.",
                "",
                "Choose another --out.",
            ) from None
        next_step = (
            "Check --out."
            if out
            else "Make AI/db/exports a folder that can be written, or give --out."
        )
        raise Unavailable(
            "cannot_write", "The report cannot be written.", f"{error.strerror}.", next_step
        ) from None
    return store.place.relative(path)
