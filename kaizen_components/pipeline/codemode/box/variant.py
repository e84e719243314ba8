"""One version of the tree: a process that imports the function once and forks for each piece of code.

Seen from its parent, which never imports anything of the target. A piece of code that ends this process too, takes
only itself along: a new one goes on with the rest.
"""

import json
import os
import secrets
import select
import time

from . import family, piece

BLOCK_BYTES = 65_536
GRACE_S = 5.0  # of a machine under load, between the time of a piece of code and our patience


def run(group: dict, plan: dict, kept, key: bytearray, deadline: float) -> dict:
    """How the import ended, and what became of each piece of code; those out of time are missing."""
    seen: dict = {"import": None, "results": {}}
    left = list(group["items"])
    while True:
        kept.restore(group["edits"])
        stream = _Stream(group, left, plan, kept, key)
        try:
            said = stream.line(plan["import_s"], deadline)
            if said is None and time.monotonic() >= deadline:
                return seen  # our time was up, not that of the import
            seen["import"] = said or _no_import(stream)
            if seen["import"]["error_type"] or _followed(
                stream, group, left, seen["results"], deadline
            ):
                return seen
        finally:
            stream.close()
        seen["results"][left.pop(0)["id"]] = piece.failed(
            piece.KILLED, "It ended the process that ran it."
        )
        if not left:
            return seen


def _followed(stream, group, left, results, deadline):
    """Take the result of each piece of code from those that are left; whether nothing more is to be done."""
    while left:
        result = stream.line(group["item_s"] + GRACE_S, deadline)
        if result is None:  # it took its parent along, unless the time is up
            return time.monotonic() >= deadline
        results[left.pop(0)["id"]] = result
        if group["stop"] and result["error_type"] == piece.TIMEOUT:
            return True
    return True


def _no_import(stream):
    if stream.late:
        return piece.failed(piece.TIMEOUT, "The import did not end.")
    return piece.failed(piece.EXITED, "The import ended the process.")


class _Stream:
    """The process and the lines that it sends; a line without its token is nobody's."""

    def __init__(self, group, items, plan, kept, key):
        token = bytearray(secrets.token_hex(16).encode())
        self._token = bytes(token)
        self.late = False
        self._rest = b""
        self._reader, writer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            key[:] = bytes(len(key))  # frames above this one still hold it
            self._token = b""
            os.close(self._reader)
            begin(group, items, plan, kept, _Sender(writer, token))
        os.close(writer)

    def line(self, seconds, deadline):
        """The next line, or None: the process has ended, or takes too long."""
        end = min(time.monotonic() + seconds, deadline)
        while True:
            line, found, self._rest = self._rest.partition(b"\n")
            if found and line.startswith(self._token):
                return json.loads(line[len(self._token) :])
            if found:
                continue
            self._rest = line
            if not select.select([self._reader], [], [], max(0, end - time.monotonic()))[0]:
                self.late = True
                return None
            block = os.read(self._reader, BLOCK_BYTES)
            if not block:
                return None
            self._rest += block

    def close(self):
        os.close(self._reader)
        family.end(self._pid, False)


class _Sender:
    """The way back to the parent, which a piece of code forgets before it begins."""

    def __init__(self, writer, token):
        self._writer = writer
        self._token = token

    def __call__(self, event):
        line = bytes(self._token) + json.dumps(event).encode() + b"\n"
        while line:
            line = line[os.write(self._writer, line) :]

    def forget(self):
        self._token[:] = bytes(len(self._token))
        os.close(self._writer)


def begin(group: dict, items: list, plan: dict, kept, send) -> None:
    """In the new process: import, then each piece of code in a process of its own; never returns."""
    try:
        os.setpgid(0, 0)
        family.adopt()
        function, said = piece.imported(plan)
        send(said)
        for item in items if function is not None else ():
            if group["tidy"]:
                kept.restore(group["edits"])
            send(piece.run(item["code"], function, plan, group["item_s"], send.forget))
    finally:
        os._exit(0)
