"""Render a report as one self-contained HTML file, and save the file.

The page works in light and dark mode, on a phone and in print, and loads no other file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import Conflict, Unavailable, explain_missing_package
from ...records.ledger.canonical import escape_invisible
from ...records.ledger.manifest import make_dated_path
from .document import Code, LinkTarget, Ref, Tone, format_count

if TYPE_CHECKING:
    from ...parameters import Store

TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")
CELL_KINDS = {
    LinkTarget: "target",
    Ref: "ref",
    Code: "code",
    Tone: "tone",
    str: "text",
    type(None): "nothing",
}


def render_template(template: str, **values: Any) -> str:
    """Return a template of this folder filled with `values`.

    Values are escaped unless the template marks them as safe.
    """
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

    def replace_invisible(value: Any) -> Any:
        """Replace the invisible characters of a text; keep numbers and Kaizen's own markup."""
        is_text = isinstance(value, str) and not hasattr(value, "__html__")
        return escape_invisible(value) if is_text else value

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=replace_invisible,
    )
    with open(os.path.join(TEMPLATES, "filter.js"), encoding="utf-8") as file:
        script = file.read()
    # The page's security policy allows only the script with this hash, so no stored text can run.
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals.update(
        script=script,
        script_hash="sha256-" + script_hash,
        kind_of=lambda value: CELL_KINDS.get(type(value), "number"),
        count=format_count,
    )
    return environment.get_template(template).render(**values)


def save_report(store: Store, name: str, ending: str, text: str, out: str | None = None) -> str:
    """Write a report to a new file and return the path to print.

    Without `out`, the file is in AI/db/exports and has the date in its name.
    """
    path = os.path.abspath(out) if out else make_dated_path(store.place.exports, name, ending)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        # os.makedirs also raises FileExistsError: a file may be where the folder should be.
        if isinstance(error, FileExistsError) and os.path.lexists(path):
            raise Conflict(
                "file_exists",
                f"The file {os.path.basename(path)} already exists.",
                "A report never overwrites a file.",
                "Choose another name with --out.",
            ) from None
        raise Unavailable(
            "cannot_write",
            f"The report cannot be written to {os.path.basename(path)}.",
            f"{error.strerror}.",
            "Choose a file in a writable folder with --out."
            if out
            else "Make AI/db/exports a writable folder, or choose another file with --out.",
        ) from None
    return store.place.relative(path)
