"""The base's pytest configuration: found as pytest finds it, and copied out of the tree."""

import configparser
import itertools
import os
import shlex
import shutil
import tomllib
from typing import Any

# In pytest's order. A file counts if it has the section; the first four always count.
FILES = (
    ("pytest.toml", ""), (".pytest.toml", ""), ("pytest.ini", ""), (".pytest.ini", ""),
    ("pyproject.toml", "tool.pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"),
)  # fmt: skip


def write_config(base: str, folder: str) -> str:
    """Copy the configuration into `folder`, or write an empty one; return its name."""
    os.makedirs(folder, exist_ok=True)
    for name, section in FILES:
        path = os.path.join(base, name)
        if os.path.isfile(path) and (not section or _has_section(path, section)):
            shutil.copyfile(path, os.path.join(folder, name))
            return name
    with open(os.path.join(folder, "pytest.ini"), "w", encoding="utf-8") as file:
        file.write("[pytest]\n")
    return "pytest.ini"


def list_blocked_plugins(path: str) -> list[str]:
    """Return the plugins that the configuration blocks, "*" for all: their options do not exist."""
    words: list[str] = []
    values: list[Any]
    try:
        if path.endswith(".toml"):
            with open(path, "rb") as file:
                read = tomllib.load(file)
            tables = [read.get("pytest", {}), read.get("tool", {}).get("pytest", {})]
            tables.append(tables[1].get("ini_options", {}))
            values = [table["addopts"] for table in tables if "addopts" in table]
        else:
            parser = configparser.ConfigParser(interpolation=None)
            parser.read(path, encoding="utf-8")
            sections = ("pytest", "tool:pytest")
            values = [parser.get(section, "addopts", fallback="") for section in sections]
        for value in values:
            words += shlex.split(value) if isinstance(value, str) else map(str, value)
    except (ValueError, AttributeError, TypeError, configparser.Error):
        return []  # pytest reports the error
    if "--disable-plugin-autoload" in words:
        return ["*"]
    names = [word[2:] for word in words if word.startswith("-p") and len(word) > 2]
    names += [plugin for word, plugin in itertools.pairwise(words) if word == "-p"]
    names = [name.removeprefix("no:") for name in names if name.startswith("no:")]
    return [*names, *(f"pytest_{name}" for name in names)]  # pytest blocks these too


def _has_section(path: str, section: str) -> bool:
    """Return whether a configuration file has a section for pytest."""
    try:
        if path.endswith(".toml"):
            with open(path, "rb") as file:
                return "pytest" in tomllib.load(file).get("tool", {})
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(path, encoding="utf-8")
        return parser.has_section(section)
    except (tomllib.TOMLDecodeError, configparser.Error, UnicodeDecodeError):
        return False  # pytest reports the error, on the base already
