"""The base's pytest configuration, found as pytest finds it, and given to every session from outside the tree."""

import configparser
import os
import shutil
import tomllib

# In pytest's order; a file counts if it has the section, pytest.ini and its like always.
FILES = (
    ("pytest.toml", ""), (".pytest.toml", ""), ("pytest.ini", ""), (".pytest.ini", ""),
    ("pyproject.toml", "tool.pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"),
)  # fmt: skip


def write(base: str, folder: str) -> str:
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
