"""The pytest plugin that reports what each test raised, and adds our two canary tests.

A test that raised something but is reported as passed counts as "rewritten". Events are sent before
any other plugin can change them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import _pytest
import pytest

TEXT_CHARS_MAX = 2_000
PYTEST = os.path.dirname(_pytest.__file__) + os.sep


class Reporter:
    """Send an event for each collected file and each outcome."""

    def __init__(
        self, options: dict[str, Any], root: str, send: Callable[..., None], coverage: Any
    ) -> None:
        self._options = options
        self._root = root + os.sep
        self._send = send
        self._coverage = coverage
        self._canaries: dict[str, str] = {}
        self.hooks: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session: Any, items: list[Any]) -> None:
        """Shuffle the tests if the plan has a seed, report their ids, and append our two tests."""
        if self._options["shuffle"]:
            random.Random(self._options["shuffle"]).shuffle(items)
        self._send(kind="collected", ids=[item.nodeid for item in items])
        # In the module of the last test, so that no fixture of wider scope is set up twice.
        modules = [item.getparent(pytest.Module) for item in items]
        module = next((module for module in reversed(modules) if module is not None), None)
        for name, error in (
            (self._options["passes"], None),
            (self._options["fails"], AssertionError),
        ):
            item = _make_canary(module or session, name, error)
            self._canaries[item.nodeid] = name
            items.append(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Iterator[None]:
        """Report a file that cannot be collected, or that skips itself."""
        report: Any = yield
        if report.outcome != "passed":
            error = getattr(getattr(report, "call", None), "excinfo", None)
            facts = {"text": _read_text(report), **self._locate_error(error)}
            self._send(kind="collect", id=report.nodeid, outcome=report.outcome, **facts)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Iterator[None]:
        """Tell coverage which test is running."""
        if self._coverage:
            self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            if self._coverage:
                self._coverage.switch_context("")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        """Report the outcome of a test's call, and of a set-up or teardown that fails."""
        report: Any = yield
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if outcome == "skipped" else "xpassed"
        elif outcome == "passed" and call.excinfo is not None:
            outcome = "rewritten"  # a hook turned the failure into a pass
        if outcome != "passed" or call.when == "call":
            facts = {"id": item.nodeid, "own": self._canaries.get(item.nodeid, "")}
            if outcome != "passed":
                facts.update({"text": _read_text(report), **self._locate_error(call.excinfo)})
            self._send(kind="test", when=call.when, outcome=outcome, **facts)
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Report a failed subtest, which has no hook of its own."""
        if report.outcome == "failed" and type(report) is not pytest.TestReport:  # a subtest
            facts = {"when": "call", "outcome": "failed", "text": _read_text(report)}
            self._send(kind="test", id=report.nodeid, own="", **facts)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        """Record the hook functions that are neither pytest's nor ours, as PATH:HOOK."""
        hooks = set()
        for caller in vars(session.config.hook).values():
            for impl in caller.get_hookimpls() if hasattr(caller, "get_hookimpls") else ():
                path = getattr(getattr(impl.function, "__code__", None), "co_filename", "?")
                if impl.plugin is not self and not path.startswith(PYTEST):
                    hooks.add(f"{self._shorten_path(path)}:{caller.name}")
        self.hooks = sorted(hooks)

    def _shorten_path(self, path: str) -> str:
        return path[len(self._root) :] if path.startswith(self._root) else path

    def _locate_error(self, error: Any) -> dict[str, Any]:
        """Return the type of what was raised, and its innermost line inside the tree."""
        if error is None:
            return {"type": "", "path": "", "line": 0}
        if isinstance(error.value, pytest.Collector.CollectError) and error.value.__cause__:
            error = pytest.ExceptionInfo.from_exception(error.value.__cause__)
        places = [(str(entry.path), entry.lineno + 1) for entry in error.traceback]
        if isinstance(error.value, SyntaxError):
            places.append((error.value.filename or "", error.value.lineno or 0))
        tree_places = [place for place in places if place[0].startswith(self._root)]
        path, line = tree_places[-1] if tree_places else ("", 0)
        return {"type": error.typename, "path": self._shorten_path(path), "line": line}


class Canary(pytest.Item):
    """One of our two tests, for a session without a module to put it in."""

    def __init__(self, *, callobj: Callable[[], None], **others: Any) -> None:
        super().__init__(**others)
        self._callobj = callobj

    def runtest(self) -> None:
        self._callobj()

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:
        return str(excinfo.value)


def _make_canary(parent: Any, name: str, error: type[Exception] | None) -> pytest.Item:
    """Return a test that raises `error`. With None, the test passes."""

    def canary() -> None:
        if error:
            raise error(name)

    kind: Any = pytest.Function if isinstance(parent, pytest.Module) else Canary
    return kind.from_parent(parent, name=name, callobj=canary)


def _read_text(report: Any) -> str:
    """Return the text of a failure, or the reason of a skip."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])[:TEXT_CHARS_MAX]
    return report.longreprtext[-TEXT_CHARS_MAX:]
