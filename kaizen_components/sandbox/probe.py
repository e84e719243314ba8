"""Test a box by running a command in it that tries to get out."""

import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager

from . import process
from .box import Box, Launch, find_python
from .limits import Limits

Opener = Callable[[Box], AbstractContextManager[Launch]]
TIMEOUT_S = 20.0  # long, for a busy machine
FORKS = 8  # twice as many as the probe allows
KNOWN = ("PATH", "LANG", "TZ", "HOME", "TMPDIR", "PWD", "LC_CTYPE")
TRY = """
import _socket, os, resource, sys  # socket itself takes 10 ms
outside, port, must = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
def refused(what):
    try:
        what()
    except OSError:
        return True
def fork():
    for _ in range(FORKS):
        if os.fork() == 0:
            os.read(0, 1); os._exit(0)
def reach():
    service = _socket.socket()
    service.settimeout(1)
    service.connect(("127.0.0.1", port))
open("inside", "w").close()
found = {
    "limits": resource.getrlimit(resource.RLIMIT_CORE) == (0, 0),
    "environment": all(name in KNOWN or name.startswith("__CF") for name in os.environ),
    "read": refused(lambda: open(outside + "/secret")),
    "write": refused(lambda: open(outside + "/written", "w")),
    "network": "network" not in must or refused(reach),
    "system": "system" not in must or refused(lambda: open("/usr/kaizen-probe", "w")),
    "user": os.getuid() != 0,
    "forks": "forks" not in must or refused(fork),
}
bad = [name for name in must if not found[name]]
sys.stdout.write("holds" if not bad else "does not hold: " + ", ".join(bad))
sys.stdout.flush()
os.killpg(0, 9) if "forks" in must else None
""".replace("FORKS", str(FORKS)).replace("KNOWN", repr(KNOWN))


def probe_box(open_box: Opener, must: tuple[str, ...]) -> str:
    """Return the attempts in `must` that succeed in the box; "" if the box stops all of them."""
    limits = Limits(processes=FORKS // 2 if "forks" in must else 256)
    with (
        tempfile.TemporaryDirectory(prefix="kaizen-probe-") as place,
        socket.create_server(
            ("127.0.0.1", 0)
        ) as service,  # outside of the box, which may not reach it
    ):
        folder, secret_folder = os.path.join(place, "folder"), os.path.join(place, "outside")
        for path in (folder, secret_folder):
            os.mkdir(path)
        open(os.path.join(secret_folder, "secret"), "w").close()
        port = service.getsockname()[1]
        argv = [find_python(), "-I", "-S", "-c", TRY, secret_folder, str(port), ",".join(must)]
        with open_box(Box(argv, folder, TIMEOUT_S, limits=limits)) as (command, environment):
            result = process.run_process(command, folder, TIMEOUT_S, env=environment, echo=False)
    output = result.stdout.text()
    if output == "holds":
        return ""
    return output or result.stderr.text().strip()[-300:] or f"exit code {result.exit_code}"
