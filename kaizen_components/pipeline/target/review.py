"""What can be said about a diff without an opinion: new dependencies, changed schemas, paths out of scope."""

import ast
import re
import sys
import tomllib
from typing import Any

from ..verdict import Finding
from .protected_files import matches_any

DEPENDENCIES = (
    "pyproject.toml", "requirements*.txt", "setup.py", "setup.cfg", "package.json", "package-lock.json",
    "pnpm-lock.yaml", "*.lock", "go.mod", "Cargo.toml",
)  # fmt: skip
SCHEMAS = ("**/migrations/**", "**/alembic/**", "*.sql", "schema.*")
REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*")
PATH = r"[\w.-]+(?:/[\w.*-]+)+|[\w-]+\.(?:py|toml|md|json|yml|yaml|sql|js|ts|html|css)"
# "app/db.py", "changes to app/db.py"; but not "other routes in app/main.py", where the file itself is what changes.
FORBIDS = re.compile(
    r"(?:(?:any |all |no )?(?:chang\w+|edit\w*|modif\w+|touch\w*)(?: to| in| of)? )?(?:the file )?"
    rf"[`'\"]?({PATH})[`'\"]?\.?",
    re.IGNORECASE,
)


def find_objections(
    spec: dict[str, Any], changes: dict[str, bytes | None], read, there: set[str]
) -> list[Finding]:
    """Sorted by path; empty if the reviewer may be asked."""
    forbidden = tuple(
        hit[1] for text in spec["out_of_scope"] if (hit := FORBIDS.fullmatch(text.strip()))
    )
    found, known = [], None
    for path, data in sorted(changes.items()):
        if matches_any(path, tuple(spec["grants"])):
            continue
        if matches_any(path, forbidden):
            found.append(Finding("out-of-scope", f"{path} is out of scope.", path))
        if matches_any(path, DEPENDENCIES):
            found.append(
                Finding("dependency", f"{path} changes what the project depends on.", path)
            )
        if matches_any(path, SCHEMAS):
            found.append(Finding("schema", f"{path} changes a schema.", path))
        if path.endswith(".py") and data is not None:
            new = list_imports(data) - list_imports(read(path) or b"")
            known = known or _known(there, changes, read)
            found += [
                Finding(
                    "dependency", f"{path} imports {name}, which nothing here used before.", path
                )
                for name in sorted(new - known)
            ]
    return found


def list_imports(data: bytes) -> set[str]:
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


def _known(there, changes, read):
    """Modules that need no new dependency: the standard library, the project's own with those that the change adds, and
    what it imports or asks for already."""
    paths = there | {path for path, data in changes.items() if data is not None}
    own = {path.partition("/")[0].removesuffix(".py") for path in paths} | {
        path.split("/")[1].removesuffix(".py") for path in paths if path.startswith("src/")
    }
    used = {name.lower().replace("-", "_") for path in there for name in _required(path, read)}
    for path in there:
        if path.endswith(".py"):
            used |= list_imports(read(path) or b"")
    return set(sys.stdlib_module_names) | own | used | {"pytest"}


def _required(path, read):
    """The distributions that a file of the base asks for; most are imported by their name."""
    if matches_any(path, ("requirements*.txt",)):
        lines = (read(path) or b"").decode("utf-8", "replace").splitlines()
    elif matches_any(path, ("pyproject.toml",)):
        lines = _declared((read(path) or b"").decode("utf-8", "replace"))
    else:
        return []
    return [hit[0] for line in lines if (hit := REQUIREMENT.match(line.strip()))]


def _declared(text):
    try:
        project = tomllib.loads(text).get("project", {})
        optional = project.get("optional-dependencies", {})
        return [
            *project.get("dependencies", []),
            *(line for lines in optional.values() for line in lines),
        ]
    except (tomllib.TOMLDecodeError, AttributeError, TypeError):
        return []
