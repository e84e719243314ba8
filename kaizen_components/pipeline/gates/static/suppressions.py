"""What hides findings instead of mending them: comments that silence a tool, and stubs that stand before a source."""

import io
import os
import re
import tokenize
from collections import Counter

from ...job import Job
from ...verdict import Finding

SILENCES = re.compile(
    r"#\s*(?:noqa|type:\s*ignore|(?:flake8|ruff):\s*(?:noqa|disable|ignore|file-ignore)|mypy:|pyright:|pylint:\s*disable"
    r"|pragma:\s*no\s*(?:cover|branch|mutate)|isort:\s*(?:skip|off)|nosec)[^#]*",
    re.I,
)
DECORATORS = re.compile(r"^\s*@(?:\w+\.)*no_type_check\b")


def find_suppressions(job: Job) -> list[Finding]:
    """New ones on changed lines. One that the file had before may stay, also on a line that was edited."""
    found = []
    for path, lines in sorted(job.changed.items()):
        if path.endswith((".py", ".pyi")) and path not in job.tests:
            known = Counter(text for _, text in list_suppressions(_read(job.base, path)))
            for number, text in list_suppressions(_read(job.head, path)):
                if number not in lines:
                    known[text] -= 1
            for number, text in list_suppressions(_read(job.head, path)):
                if number in lines:
                    known[text] -= 1
                    if known[text] < 0:
                        found.append(
                            Finding(
                                "suppression",
                                f"`{text}` silences a tool; mend the cause.",
                                path,
                                number,
                            )
                        )
        hidden = path.endswith(".pyi") and os.path.exists(os.path.join(job.head, path[:-1]))
        if hidden and not os.path.exists(os.path.join(job.base, path)):
            found.append(Finding("stub", f"{path} would hide {path[:-1]} from mypy.", path))
    return found


def list_suppressions(data: bytes) -> list[tuple[int, str]]:
    """(line, what it says) of each; comments only, not texts that look like one."""
    found = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT:
                found += [(token.start[0], _plain(hit)) for hit in SILENCES.findall(token.string)]
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # it does not compile, which is said elsewhere
    lines = data.decode("utf-8", "replace").splitlines()
    return found + [
        (number, _plain(line)) for number, line in enumerate(lines, 1) if DECORATORS.match(line)
    ]


def _plain(text):
    return " ".join(text.split())


def _read(folder, path):
    try:
        with open(os.path.join(folder, path), "rb") as file:
            return file.read()
    except OSError:
        return b""
