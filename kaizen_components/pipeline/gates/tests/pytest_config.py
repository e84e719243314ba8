"""The base's pytest configuration, found as pytest finds it, and given to every session from outside the tree."""

import configparser
import itertools
import os
import shlex
import shutil
import tomllib

# In pytest's order; a file counts if it has the section, pytest.ini and its like always.
FILES = (
    ("pytest.toml", ""), (".pytest.toml", ""), ("pytest.ini", ""), (".pytest.ini", ""),
    ("pyproject.toml", "tool.pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"),
)  # fmt: skip


def write_config(base: str, folder: str) -> str:
    """Copy the configuration into `folder`; an empty one where the base has none. Returns its name."""
    os.makedirs(folder, exist_ok=True)
    for name, section in FILES:
        path = os.path.join(base, name)
        if os.path.isfile(path) and (not section or _has(path, section)):
            shutil.copyfile(path, os.path.join(folder, name))
            return name
    with open(os.path.join(folder, "pytest.ini"), "w", encoding="utf-8") as file:
        file.write("[pytest]\n")
    return "pytest.ini"


def list_blocked_plugins(path: str) -> list[str]:
    """Plugins that the configuration keeps out, "*" for all: pytest does not know their options then."""
    words = _addopts(path)
    if "--disable-plugin-autoload" in words:
        return ["*"]
    joined = [word[2:] for word in words if word.startswith("-p") and len(word) > 2]
    apart = [after for word, after in itertools.pairwise(words) if word == "-p"]
    names = [name.removeprefix("no:") for name in joined + apart if name.startswith("no:")]
    return [*names, *(f"pytest_{name}" for name in names)]  # as pytest blocks them


def _addopts(path):
    try:
        if path.endswith(".toml"):
            with open(path, "rb") as file:
                read = tomllib.load(file)
            tables = [read.get("pytest", {}), read.get("tool", {}).get("pytest", {})]
            tables.append(tables[1].get("ini_options", {}))
            found = [table["addopts"] for table in tables if "addopts" in table]
        else:
            parser = configparser.ConfigParser(interpolation=None)
            parser.read(path, encoding="utf-8")
            found = [parser.get(name, "addopts", fallback="") for name in ("pytest", "tool:pytest")]
        return [
            word
            for one in found
            for word in (shlex.split(one) if isinstance(one, str) else map(str, one))
        ]
    except (ValueError, AttributeError, TypeError, configparser.Error):
        return []  # pytest says it better than we could


def _has(path, section):
    try:
        if path.endswith(".toml"):
            with open(path, "rb") as file:
                return "pytest" in tomllib.load(file).get("tool", {})
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(path, encoding="utf-8")
        return parser.has_section(section)
    except (tomllib.TOMLDecodeError, configparser.Error, UnicodeDecodeError):
        return False  # pytest says it better than we could: it fails on the base already
