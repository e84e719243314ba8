"""What can be said about a diff without an opinion: new dependencies, changed schemas, paths out of scope."""

import ast
import re
import sys
from typing import Any

from ..records.paths import fits
from .verdict import Finding

DEPENDENCIES = (
    "pyproject.toml",
    "requirements*.txt",
    "setup.py",
    "setup.cfg",
    "package.json",
    "*.lock",
    "go.mod",
    "Cargo.toml",
)
SCHEMAS = ("**/migrations/**", "migrations/**", "**/alembic/**", "*.sql", "**/*.sql", "**/schema.*")
PATH = r"[\w.-]+(?:/[\w.*-]+)+|[\w-]+\.(?:py|toml|md|json|yml|yaml|sql|js|ts|html|css)"
# "app/db.py", "changes to app/db.py"; but not "other routes in app/main.py", where the file itself is what changes.
FORBIDS = re.compile(
    r"(?:(?:any |all |no )?(?:chang\w+|edit\w*|modif\w+|touch\w*)(?: to| in| of)? )?(?:the file )?"
    rf"[`'\"]?({PATH})[`'\"]?\.?",
    re.IGNORECASE,
)


def named(path: str, globs: tuple[str, ...]) -> bool:
    return any(fits(glob, path) for glob in globs)


def objections(spec: dict[str, Any], changes: dict[str, bytes | None], read, there: set[str]) -> list[Finding]:
    """Sorted by path; empty if the reviewer may be asked."""
    forbidden = tuple(hit[1] for text in spec["out_of_scope"] if (hit := FORBIDS.fullmatch(text.strip())))
    found = []
    for path, data in sorted(changes.items()):
        if named(path, tuple(spec["grants"])):
            continue
        if named(path, forbidden):
            found.append(Finding("out-of-scope", f"{path} is out of scope.", path))
        if named(path, DEPENDENCIES):
            found.append(Finding("dependency", f"{path} changes what the project depends on.", path))
        if named(path, SCHEMAS):
            found.append(Finding("schema", f"{path} changes a schema.", path))
        if path.endswith(".py") and data is not None:
            new = imported(data) - imported(read(path) or b"")
            known = _known(there, read)
            found += [
                Finding("dependency", f"{path} imports {name}, which nothing here used before.", path)
                for name in sorted(new - known)
            ]
    return found


def imported(data: bytes) -> set[str]:
    """The top-level modules that a source imports."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def _known(there, read):
    """Modules that need no new dependency: the standard library, the project's own, and what it imports already."""
    own = {path.partition("/")[0].removesuffix(".py") for path in there} | {
        path.split("/")[1].removesuffix(".py") for path in there if path.startswith("src/") and "/" in path[4:]
    }
    used = set()
    for path in there:
        if path.endswith(".py"):
            used |= imported(read(path) or b"")
    return set(sys.stdlib_module_names) | own | used | {"pytest"}
