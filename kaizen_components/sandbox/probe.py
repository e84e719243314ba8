"""Does a box hold? Found by running a command in it that tries to get out."""

import os
import socket
import tempfile

from . import process
from .box import Box, find_python
from .limits import Limits

SECONDS = 20.0  # a machine may be very busy
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


def probe_box(opened, must: tuple[str, ...]) -> str:
    """Why a box does not hold what it must; "" when it does."""
    with tempfile.TemporaryDirectory(prefix="kaizen-probe-") as place, _Listener() as port:
        folder, outside = os.path.join(place, "folder"), os.path.join(place, "outside")
        for path in (folder, outside):
            os.mkdir(path)
        with open(os.path.join(outside, "secret"), "w"):
            pass
        argv = [find_python(), "-I", "-S", "-c", TRY, outside, str(port), ",".join(must)]
        box = Box(
            argv, folder, SECONDS, limits=Limits(processes=FORKS // 2 if "forks" in must else 256)
        )
        with opened(box) as (command, environment):
            seen = process.run_process(command, folder, SECONDS, env=environment, echo=False)
    said = seen.stdout.text()
    return (
        ""
        if said == "holds"
        else said or seen.stderr.text().strip()[-300:] or f"exit code {seen.exit_code}"
    )


class _Listener:
    """A service of this machine that no box may reach."""

    def __enter__(self) -> int:
        self._socket = socket.create_server(("127.0.0.1", 0))
        return int(self._socket.getsockname()[1])

    def __exit__(self, *exc: object) -> None:
        self._socket.close()
