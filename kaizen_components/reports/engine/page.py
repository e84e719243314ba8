"""One self-contained HTML file per report: light and dark, on paper and on a phone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import Conflict, Unavailable, explain_missing_package
from ...records.ledger.canonical import escape_invisible
from ...records.ledger.manifest import make_dated_path
from .document import Code, Own, Ref, Tone, format_count

if TYPE_CHECKING:
    from ...parameters import Store

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
CELL_KINDS = {
    Own: "own",
    Ref: "ref",
    Code: "code",
    Tone: "tone",
    str: "text",
    type(None): "nothing",
}


def render_template(template: str, **values: Any) -> str:
    """Fill a template of this folder; everything is escaped unless the template says otherwise."""
    try:
        import jinja2
    except ImportError:
        raise explain_missing_package(
            "package_missing",
            "The package jinja2 is not installed.",
            "HTML reports need it.",
        ) from None
    import base64
    import hashlib

    def show_text(value: Any) -> Any:
        """Make a text visible before it is escaped; our own markup stays."""
        is_text = isinstance(value, str) and not hasattr(value, "__html__")
        return escape_invisible(value) if is_text else value

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=show_text,
    )
    with open(os.path.join(TEMPLATES, "filter.js"), encoding="utf-8") as file:
        script = file.read()
    # The page's policy allows only this script: a text that became a script would not run.
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals.update(
        script=script,
        script_hash="sha256-" + script_hash,
        kind_of=lambda value: CELL_KINDS.get(type(value), "number"),
        count=format_count,
    )
    return environment.get_template(template).render(**values)


def save_report(store: Store, name: str, ending: str, text: str, out: str | None = None) -> str:
    """Write a report to `out`, or to a dated file below AI/db/exports, and return its shown path.

    Never overwrite a file.
    """
    path = os.path.abspath(out) if out else make_dated_path(store.place.exports, name, ending)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        # os.makedirs also raises FileExistsError, for a file where the folder should be.
        if isinstance(error, FileExistsError) and os.path.lexists(path):
            raise Conflict(
                "file_exists",
                f"{os.path.basename(path)} is there already.",
                "",
                "Choose another --out.",
            ) from None
        raise Unavailable(
            "cannot_write",
            "The report cannot be written.",
            f"{error.strerror}.",
            "Check --out." if out else "Make AI/db/exports a writable folder, or give --out.",
        ) from None
    return store.place.relative(path)
