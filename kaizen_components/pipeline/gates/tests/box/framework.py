"""Whether the framework is still what it was before any code of the target ran."""

import builtins
import os
import sys
import types

WATCHED = ("_pytest", "pytest", "pluggy", "unittest")
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type)


class FrameworkSnapshot:
    """Functions, classes and methods of pytest, pluggy, unittest and builtins, by identity and by code."""

    def __init__(self) -> None:
        self._kept = dict(_parts())

    def changed(self) -> list:
        """The names that mean something else now; what was added later is not looked at."""
        now = dict(_parts())
        return sorted(name for name, was in self._kept.items() if not _same(was, now.get(name)))[
            :50
        ]


def _same(was, now):
    return now is not None and was[0] is now[0] and was[1] is now[1]


def _parts():
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in WATCHED and isinstance(module, types.ModuleType):
            yield from _members(name, vars(module))
    yield from _members("builtins", vars(builtins))
    for name in ("exit", "settrace", "setprofile", "_getframe", "modules"):
        yield f"sys.{name}", (getattr(sys, name), None)
    yield "os._exit", (os._exit, None)


def _members(owner, names):
    for name, value in list(names.items()):
        if isinstance(value, FUNCTIONS):
            yield f"{owner}.{name}", (value, getattr(value, "__code__", None))
        if isinstance(value, type) and value.__module__.split(".")[0] in WATCHED:
            for part, inner in list(vars(value).items()):
                if isinstance(inner, (types.FunctionType, staticmethod, classmethod, property)):
                    yield f"{owner}.{name}.{part}", (inner, getattr(inner, "__code__", None))
