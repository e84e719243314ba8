"""Find what hides findings instead of fixing them: silencing comments, stubs beside a source."""

import io
import os
import re
import tokenize
from collections import Counter

from ...job import Job
from ...verdict import Finding

SILENCES = re.compile(
    r"#\s*(?:noqa|type:\s*ignore|(?:flake8|ruff):\s*(?:noqa|disable|ignore|file-ignore)|mypy:"
    r"|pyright:|pylint:\s*disable|pragma:\s*no\s*(?:cover|branch|mutate)|isort:\s*(?:skip|off)"
    r"|nosec)[^#]*",
    re.I,
)
DECORATORS = re.compile(r"^\s*@(?:\w+\.)*no_type_check\b")


def find_suppressions(job: Job) -> list[Finding]:
    """Return the new suppressions on changed lines. A suppression that the base has may stay."""
    findings = []
    for path, lines in sorted(job.changed.items()):
        if path.endswith((".py", ".pyi")) and path not in job.tests:
            base_counts = Counter(text for _, text in list_suppressions(_read_file(job.base, path)))
            present = list_suppressions(_read_file(job.head, path))
            base_counts.subtract(text for number, text in present if number not in lines)
            for number, text in present:
                if number in lines:
                    base_counts[text] -= 1
                    if base_counts[text] < 0:
                        text = f"`{text}` silences a tool: fix the cause instead."
                        findings.append(Finding("suppression", text, path, number))
        is_stub = path.endswith(".pyi") and os.path.exists(os.path.join(job.head, path[:-1]))
        if is_stub and not os.path.exists(os.path.join(job.base, path)):
            findings.append(Finding("stub", f"{path} would hide {path[:-1]} from mypy.", path))
    return findings


def list_suppressions(data: bytes) -> list[tuple[int, str]]:
    """Return (line, text) of each comment or decorator that silences a tool."""
    hits = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT:
                hits += [(token.start[0], hit) for hit in SILENCES.findall(token.string)]
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # the syntax check reports it
    lines = data.decode("utf-8", "replace").splitlines()
    hits += [(number, line) for number, line in enumerate(lines, 1) if DECORATORS.match(line)]
    return [(number, " ".join(text.split())) for number, text in hits]


def _read_file(folder: str, path: str) -> bytes:
    """Return the content of a file; b"" if it cannot be read."""
    try:
        with open(os.path.join(folder, path), "rb") as file:
            return file.read()
    except OSError:
        return b""
