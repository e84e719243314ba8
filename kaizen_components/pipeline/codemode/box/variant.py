"""Run pieces of code on one version of the tree.

One process imports the function and forks for each piece of code; its parent never imports anything
of the target. If a piece of code ends the importing process, that piece fails, and a new process
continues with the others.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import time
from typing import Any

from ...gates.tests.box.tree import RestorableTree
from . import family, piece

BLOCK_BYTES = 65_536
GRACE_S = 5.0  # added to the time limit of a piece of code, for a machine under load


def run_group(
    group: dict[str, Any],
    plan: dict[str, Any],
    files: RestorableTree,
    key: bytearray,
    deadline: float,
) -> dict[str, Any]:
    """Return how the import ended, and the result of each piece of code that ran in time."""
    report: dict[str, Any] = {"import": None, "results": {}}
    items = list(group["items"])
    while True:
        files.restore(group["edits"])
        stream = _Stream(group, items, plan, files, key)
        try:
            import_event = stream.read_event(plan["import_s"], deadline)
            if import_event is None and time.monotonic() >= deadline:
                return report  # the session's time limit was reached, not that of the import
            if import_event is None:
                import_event = piece.build_failure(
                    *(piece.TIMEOUT, "The import did not end.")
                    if stream.is_late
                    else (piece.EXITED, "The import ended the process.")
                )
            report["import"] = import_event
            if import_event["error_type"]:
                return report
            while items:
                result = stream.read_event(group["item_s"] + GRACE_S, deadline)
                if result is None:
                    break
                report["results"][items.pop(0)["id"]] = result
                if group["stop"] and result["error_type"] == piece.TIMEOUT:
                    return report
            if not items or time.monotonic() >= deadline:
                return report
        finally:
            stream.close()
        says = "It ended the process that ran it."
        report["results"][items.pop(0)["id"]] = piece.build_failure(piece.KILLED, says)
        if not items:
            return report


class _Stream:
    """Start the importing process and read its lines; lines without its token are ignored."""

    def __init__(
        self,
        group: dict[str, Any],
        items: list[dict[str, Any]],
        plan: dict[str, Any],
        files: RestorableTree,
        key: bytearray,
    ):
        token = bytearray(secrets.token_hex(16).encode())
        self._token = bytes(token)
        self.is_late = False
        self._rest = b""
        self._reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            key[:] = bytes(len(key))  # outer frames still refer to this array, so clear it
            self._token = b""
            os.close(self._reader)
            run_items(group, items, plan, files, _Sender(writer, token))
        os.close(writer)

    def read_event(self, seconds: float, deadline: float) -> dict[str, Any] | None:
        """Return the next event; None if the process has ended or takes too long."""
        end = min(time.monotonic() + seconds, deadline)
        while True:
            line, newline, self._rest = self._rest.partition(b"\n")
            if newline and line.startswith(self._token):
                return json.loads(line[len(self._token) :])
            if newline:
                continue
            self._rest = line
            if not select.select([self._reader], [], [], max(0, end - time.monotonic()))[0]:
                self.is_late = True
                return None
            block = os.read(self._reader, BLOCK_BYTES)
            if not block:
                return None
            self._rest += block

    def close(self) -> None:
        os.close(self._reader)
        family.end_process(self._pid, False)


class _Sender:
    """Send events to the parent. A child calls `forget` before its piece of code runs."""

    def __init__(self, writer: int, token: bytearray):
        self._writer = writer
        self._token = token

    def __call__(self, event: dict[str, Any]) -> None:
        line = bytes(self._token) + json.dumps(event).encode() + b"\n"
        while line:
            line = line[os.write(self._writer, line) :]

    def forget(self) -> None:
        self._token[:] = bytes(len(self._token))
        os.close(self._writer)


def run_items(
    group: dict[str, Any],
    items: list[dict[str, Any]],
    plan: dict[str, Any],
    files: RestorableTree,
    send: _Sender,
) -> None:
    """Import the function, then run each piece of code in its own process; exit at the end."""
    try:
        os.setpgid(0, 0)
        family.adopt_orphans()
        function, import_event = piece.import_function(plan)
        send(import_event)
        for item in items if function is not None else ():
            if group["tidy"]:
                files.restore(group["edits"])
            send(piece.run_piece(item["code"], function, plan, group["item_s"], send.forget))
    finally:
        os._exit(0)
