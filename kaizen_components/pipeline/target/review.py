"""Find new dependencies, changed schemas and out-of-scope paths in the changes of a candidate."""

import ast
import itertools
import re
import sys
import tomllib
from collections.abc import Callable
from typing import Any

from ..verdict import Finding
from .protected_files import matches_any

DEPENDENCIES = (
    *("pyproject.toml", "requirements*.txt", "setup.py", "setup.cfg", "package.json"),
    *("package-lock.json", "pnpm-lock.yaml", "*.lock", "go.mod", "Cargo.toml"),
)
SCHEMAS = ("**/migrations/**", "**/alembic/**", "*.sql", "schema.*")
REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*")
PATH = r"[\w.-]+(?:/[\w.*-]+)+|[\w-]+\.(?:py|toml|md|json|yml|yaml|sql|js|ts|html|css)"
# Matches "app/db.py" and "changes to app/db.py", but not "other routes in app/main.py": there the
# file itself may change.
FORBIDS = re.compile(
    r"(?:(?:any |all |no )?(?:chang\w+|edit\w*|modif\w+|touch\w*)(?: to| in| of)? )?(?:the file )?"
    rf"[`'\"]?({PATH})[`'\"]?\.?",
    re.IGNORECASE,
)
Read = Callable[[str], bytes | None]


def find_objections(
    spec: dict[str, Any], changes: dict[str, bytes | None], read: Read, existing_paths: set[str]
) -> list[Finding]:
    """Return a finding for each change that needs a grant, sorted by path.

    The reviewer is asked only if no change needs a grant.
    """
    forbidden = tuple(
        match[1] for text in spec["out_of_scope"] if (match := FORBIDS.fullmatch(text.strip()))
    )
    findings, known_modules = [], None
    for path, data in sorted(changes.items()):
        if matches_any(path, tuple(spec["grants"])):
            continue
        if matches_any(path, forbidden):
            findings.append(Finding("out-of-scope", f"{path} is out of scope.", path))
        if matches_any(path, DEPENDENCIES):
            says = f"{path} changes the project's dependencies."
            findings.append(Finding("dependency", says, path))
        if matches_any(path, SCHEMAS):
            findings.append(Finding("schema", f"{path} changes a schema.", path))
        if path.endswith(".py") and data is not None:
            if known_modules is None:
                known_modules = _list_known_modules(existing_paths, changes, read)
            for name in sorted(
                list_imports(data) - list_imports(read(path) or b"") - known_modules
            ):
                says = f"{path} imports {name}, which the project did not use before."
                findings.append(Finding("dependency", says, path))
    return findings


def list_imports(data: bytes) -> set[str]:
    """Return the top-level modules that a source imports."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _list_known_modules(
    existing_paths: set[str], changes: dict[str, bytes | None], read: Read
) -> set[str]:
    """Return the modules that need no new dependency.

    They are the standard library, the project's own modules (also new ones), what it imports
    already, and its requirements, because most distributions are imported by their name.
    """
    modules = {"pytest", *sys.stdlib_module_names}
    for path in existing_paths | {path for path, data in changes.items() if data is not None}:
        modules.add(path.partition("/")[0].removesuffix(".py"))
        if path.startswith("src/"):
            modules.add(path.split("/")[1].removesuffix(".py"))
    for path in existing_paths:
        data = read(path) or b""
        lines = []
        if path.endswith(".py"):
            modules |= list_imports(data)
        elif matches_any(path, ("requirements*.txt",)):
            lines = data.decode("utf-8", "replace").splitlines()
        elif matches_any(path, ("pyproject.toml",)):
            try:
                project = tomllib.loads(data.decode("utf-8", "replace")).get("project", {})
                groups = project.get("optional-dependencies", {}).values()
                lines = [*project.get("dependencies", []), *itertools.chain(*groups)]
            except (tomllib.TOMLDecodeError, AttributeError, TypeError):
                pass
        names = (match[0] for line in lines if (match := REQUIREMENT.match(line.strip())))
        modules |= {name.lower().replace("-", "_") for name in names}
    return modules
