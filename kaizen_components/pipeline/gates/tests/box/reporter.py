"""Our eyes in the session: each outcome from what was really raised, and two tests of our own among the others.

A report that says "passed" where something was raised is not believed. What is sent is sent before any other plugin
can change it.
"""

import os
import random

import _pytest
import pytest

TEXT_MAX = 2_000
PYTEST = os.path.dirname(_pytest.__file__) + os.sep


class Reporter:
    def __init__(self, asked: dict, root: str, send, measured):
        self._asked = asked
        self._root = root + os.sep
        self._send = send
        self._measured = measured
        self._own: dict = {}
        self.hooks: list = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, session, config, items):
        if self._asked["shuffle"]:
            random.Random(self._asked["shuffle"]).shuffle(items)
        self._send(kind="collected", ids=[item.nodeid for item in items])
        self._add_canaries(session, items)

    def _add_canaries(self, session, items):
        """After the last test of a module, so that no fixture of wider scope is made twice; its fixtures apply."""
        modules = [item.getparent(pytest.Module) for item in items]
        chosen = next((module for module in reversed(modules) if module is not None), None)
        for name, says in ((self._asked["passes"], None), (self._asked["fails"], AssertionError)):
            item = (
                _function(chosen, name, says)
                if chosen
                else Canary.from_parent(session, name=name, says=says)
            )
            self._own[item.nodeid] = name
            items.append(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector):
        report = yield
        if report.outcome != "passed":
            error = getattr(getattr(report, "call", None), "excinfo", None)
            said = {"text": _text(report), **self._origin(error)}
            self._send(kind="collect", id=report.nodeid, outcome=report.outcome, **said)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if self._measured:
            self._measured.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            if self._measured:
                self._measured.switch_context("")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        outcome = _outcome(report, call)
        if outcome != "passed" or call.when == "call":
            said = (
                {"text": _text(report), **self._origin(call.excinfo)} if outcome != "passed" else {}
            )
            name = self._own.get(item.nodeid, "")
            self._send(
                kind="test", id=item.nodeid, own=name, when=call.when, outcome=outcome, **said
            )
        return report

    def pytest_runtest_logreport(self, report):
        if report.outcome == "failed" and type(report) is not pytest.TestReport:  # a subtest
            self._send(
                kind="test",
                id=report.nodeid,
                own="",
                when="call",
                outcome="failed",
                text=_text(report),
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        callers = vars(session.config.hook).values()
        found = {
            self._hook(caller.name, impl)
            for caller in callers
            for impl in _impls(caller)
            if impl.plugin is not self
        }
        self.hooks = sorted(one for one in found if not one.startswith(PYTEST))

    def _hook(self, name, impl):
        code = getattr(impl.function, "__code__", None)
        path = getattr(code, "co_filename", "?")
        return f"{path.removeprefix(self._root)}:{name}"

    def _origin(self, error):
        """What was raised, and the innermost line of the tree that it went through."""
        if error is None:
            return {"type": "", "path": "", "line": 0}
        if isinstance(error.value, pytest.Collector.CollectError) and error.value.__cause__:
            error = pytest.ExceptionInfo.from_exception(error.value.__cause__)
        places = [(str(entry.path), entry.lineno + 1) for entry in error.traceback]
        if isinstance(error.value, SyntaxError):
            places.append((error.value.filename or "", error.value.lineno or 0))
        path, line = next(
            (place for place in reversed(places) if place[0].startswith(self._root)), ("", 0)
        )
        return {"type": error.typename, "path": path.removeprefix(self._root), "line": line}


class Canary(pytest.Item):
    """For a session without any test."""

    def __init__(self, *, says, **others):
        super().__init__(**others)
        self._says = says

    def runtest(self):
        if self._says:
            raise self._says(self.name)

    def repr_failure(self, excinfo, style=None):
        return str(excinfo.value)


def _function(module, name, says):
    def canary():
        if says:
            raise says(name)

    return pytest.Function.from_parent(module, name=name, callobj=canary)


def _impls(caller):
    return caller.get_hookimpls() if hasattr(caller, "get_hookimpls") else ()


def _outcome(report, call):
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.outcome == "skipped" else "xpassed"
    if report.outcome == "passed" and call.excinfo is not None:
        return "rewritten"  # something was raised, and somebody made it a pass
    return report.outcome


def _text(report):
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])[:TEXT_MAX]
    return report.longreprtext[-TEXT_MAX:]
