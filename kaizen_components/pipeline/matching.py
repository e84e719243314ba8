"""Globs over paths of a repository: * stays within a folder, ** goes through any number of them."""

import re
from functools import lru_cache


def matches(path: str, globs: tuple[str, ...]) -> bool:
    return any(_compiled(glob).fullmatch(path) for glob in globs)


@lru_cache(maxsize=1_000)
def _compiled(glob):
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    meaning = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    return re.compile("".join(meaning.get(part) or re.escape(part) for part in parts))
