"""An end to a request as a whole. The timeouts of httpx are for each read: a server that drips never meets them."""

import socket
import threading
import time
from typing import Any


class Deadline:
    """`with Deadline(seconds) as deadline`, and `deadline.trace` as httpx's trace extension: then the connection is
    shut down when the time is over, whatever is being waited for."""

    def __init__(self, seconds: float):
        self._end = time.monotonic() + seconds
        self._timer: threading.Timer | None = None
        self._socket: socket.socket | None = None
        self.passed = False

    @property
    def left_s(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def __enter__(self) -> "Deadline":
        self._timer = threading.Timer(self.left_s, self._pass)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()

    def trace(self, name: str, info: dict[str, Any]) -> None:
        if name.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")
            if self.passed:
                self._shut()

    def _pass(self):
        self.passed = True
        self._shut()

    def _shut(self):
        try:
            if self._socket is not None:
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # below TLS, which would wait for the other side
        except OSError:
            pass  # it is closed already
