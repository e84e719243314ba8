"""Compare the test framework with what it was before any code of the target ran."""

from __future__ import annotations

import builtins
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

WATCHED = ("_pytest", "pytest", "pluggy", "unittest")
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type)
METHODS = (types.FunctionType, staticmethod, classmethod, property)
Part = tuple  # (the object, its code)


class FrameworkSnapshot:
    """The functions, classes and methods of pytest, pluggy, unittest and builtins."""

    def __init__(self) -> None:
        self._parts = dict(_list_parts())

    def list_changes(self) -> list[str]:
        """Return the names whose object or code has changed. New names do not count."""
        current_parts = dict(_list_parts())
        changed_names = []
        for name, (value, code) in self._parts.items():
            current = current_parts.get(name)
            if current is None or current[0] is not value or current[1] is not code:
                changed_names.append(name)
        return sorted(changed_names)[:50]


def _list_parts() -> Iterator[tuple[str, Part]]:
    """Yield the watched objects of all loaded modules by their names."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in WATCHED and isinstance(module, types.ModuleType):
            yield from _list_members(name, vars(module))
    yield from _list_members("builtins", vars(builtins))
    for name in ("exit", "settrace", "setprofile", "_getframe", "modules"):
        yield f"sys.{name}", (getattr(sys, name), None)
    yield "os._exit", (os._exit, None)


def _list_members(owner: str, names: dict[str, Any]) -> Iterator[tuple[str, Part]]:
    """Yield the functions and classes of one module, and the methods of watched classes."""
    for name, value in list(names.items()):
        if isinstance(value, FUNCTIONS):
            yield f"{owner}.{name}", (value, getattr(value, "__code__", None))
        if isinstance(value, type) and value.__module__.split(".")[0] in WATCHED:
            for part, inner in list(vars(value).items()):
                if isinstance(inner, METHODS):
                    yield f"{owner}.{name}.{part}", (inner, getattr(inner, "__code__", None))
