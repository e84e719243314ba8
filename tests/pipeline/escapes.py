"""Attempts to escape from a box, and their outcome at each level; docs/sandbox.md has the table.

Each attempt is Python code that runs in the box with `facts`: paths, ports and processes outside. It
prints ESCAPED if it succeeds; test_escapes.py also looks for traces outside. "stopped" means that the
system allows the attempt, and the watch ends the run some tenths of a second later. An attempt waits
`patience_s` for that before it prints ESCAPED.
"""

DENIED, STOPPED, OPEN = "denied", "stopped", "not denied"
ROOT = "denied, but not to root"
LATE = "denied; for root stopped"


class Escape:
    def __init__(self, name, code, l3=DENIED, l2=DENIED, l1=DENIED):
        self.name = name
        self.code = code
        self.expected = {"L3": l3, "L2": l2, "L1": l1}

    @property
    def is_everywhere_denied(self):
        return not {OPEN, ROOT, LATE} & set(self.expected.values())


ESCAPES = [
    Escape("write beside the folder by `../`", "open('../outside/written', 'w').close()", l1=OPEN),
    Escape("write outside by an absolute path", "open(facts['outside'] + '/written', 'w').close()", l1=OPEN),
    Escape(
        "write through a link that is swapped during the run",
        """
swapper = os.fork()
if swapper == 0:
    for number in range(2000):
        os.symlink(("inside", facts["outside"] + "/written")[number % 2], "new"); os.replace("new", "link")
    os._exit(0)
while os.waitpid(swapper, os.WNOHANG) == (0, 0):
    try:
        open("link", "w").close()
    except OSError:
        pass
""",
        l1=OPEN,
    ),
    Escape("hard-link an outside file into the folder", "os.link(facts['secret'], 'mine'); escaped()", l1=OPEN),
    Escape("write a hook into the repository's `.git`", "open(facts['repo'] + '/.git/hooks/x', 'w').close()", l1=OPEN),
    Escape("read a file in the home folder", "open(facts['home'] + '/.netrc').read(); escaped()", l1=OPEN),
    Escape("read the project's AI/db", "open(facts['repo'] + '/AI/db/kaizen.db').read(); escaped()", l1=OPEN),
    Escape(
        "write to /usr", "open('/usr/kaizen-escape', 'w').close(); os.remove('/usr/kaizen-escape'); escaped()", l1=ROOT
    ),
    Escape("write into the interpreter's site-packages", "open(facts['env'] + '/evil.pth', 'w').close()", l1=OPEN),
    Escape("write to the machine's /dev/shm", "open('/dev/shm/' + facts['token'], 'w').close()", l2=OPEN, l1=OPEN),
    Escape(
        "connect to a service on this machine (TCP)",
        "socket.create_connection(('127.0.0.1', facts['tcp']), 2); escaped()",
        l1=OPEN,
    ),
    Escape(
        "send UDP, such as a question to a name server",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'ESCAPED', ('127.0.0.1', facts['udp']))",
        l2=OPEN, l1=OPEN,
    ),
    Escape(
        "connect to a unix socket in the file system",
        "s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(facts['unix']); escaped()",
        l2=OPEN, l1=OPEN,
    ),
    Escape(
        "connect to an abstract unix socket",
        "s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect('\\0' + facts['token']); escaped()",
        l1=OPEN,
    ),
    Escape("find a secret in the environment", "escaped() if facts['secret_name'] in os.environ else None"),
    Escape(
        "find a secret in the environment of another process",
        "escaped() if b'not-for-the-box' in open(f\"/proc/{facts['victim']}/environ\", 'rb').read() else None",
        l1=OPEN,
    ),
    Escape("kill another process", "os.kill(facts['victim'], signal.SIGKILL)", l1=OPEN),
    Escape("signal the process that started the box", "os.kill(facts['parent'], 0); escaped()", l1=OPEN),
    Escape(
        "read the memory of another process (ptrace)",
        "open(f\"/proc/{facts['victim']}/mem\", 'rb').close(); escaped()",
        l1=OPEN,
    ),
    Escape(
        "start more processes than allowed",
        """
started = []
for _ in range(facts["processes"] + 30):
    pid = os.fork()
    if pid == 0:
        time.sleep(30); os._exit(0)
    started.append(pid)
time.sleep(facts["patience_s"]); escaped()
""",
        l2=LATE, l1=LATE,
    ),
    Escape(
        "leave a daemon behind",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3):
            os.close(number)
        time.sleep(1.5)
        open("alive", "w").close()
        os._exit(0)
    os._exit(0)
""",
        l2=OPEN, l1=OPEN,
    ),
    Escape("use more memory in one process", "x = bytearray(facts['memory_mb'] * 2 << 20); escaped()"),
    Escape(
        "use more memory in several processes together",
        """
for _ in range(4):
    if os.fork() == 0:
        x = bytearray(b"x") * (facts["memory_mb"] // 2 << 20)
        time.sleep(facts["patience_s"]); escaped(); os._exit(0)
for _ in range(4):
    os.wait()
""",
        STOPPED, STOPPED, STOPPED,
    ),
    Escape(
        "use more memory as shared pages",
        """
import mmap
x = mmap.mmap(-1, facts["memory_mb"] * 2 << 20)
for at in range(0, len(x), 4096):
    x[at] = 1
time.sleep(facts["patience_s"]); escaped()
""",
        STOPPED, STOPPED, STOPPED,
    ),
    Escape(
        "write one file above the size limit",
        "f = open('long', 'wb'); [f.write(b'x' * (1 << 20)) for _ in range(facts['file_mb'] + 1)]; escaped()",
    ),
    Escape(
        "fill the disk in the folder",
        """
for number in range(facts["disk_mb"] * 2):
    open(f"part{number}", "wb").write(os.urandom(1 << 20))
    time.sleep(0.005)
time.sleep(facts["patience_s"]); escaped()
""",
        STOPPED, STOPPED, STOPPED,
    ),
    Escape(
        "fill the disk with unlinked files",
        """
kept = []
for number in range(facts["disk_mb"] * 2):
    kept.append(open("nameless", "wb", buffering=0)); os.remove("nameless")
    kept[-1].write(os.urandom(1 << 20))
    time.sleep(0.005)
time.sleep(facts["patience_s"]); escaped()
""",
        STOPPED, STOPPED, STOPPED,
    ),
    Escape(
        "fill the folder for temporary files",
        """
for number in range(facts["disk_mb"] * 2):
    open(f"{os.environ['TMPDIR']}/part{number}", "wb").write(os.urandom(1 << 20))
    time.sleep(0.005)
time.sleep(facts["patience_s"]); escaped()
""",
        DENIED, STOPPED, STOPPED,
    ),
    Escape("flood the output", "while True: sys.stdout.write('x' * 65536)", STOPPED, STOPPED, STOPPED),
    Escape(
        "get more rights by a setuid program",
        "escaped() if 'NoNewPrivs:\\t0' in open('/proc/self/status').read() else None",
    ),
    Escape(
        "mount a new file system",
        """
import ctypes
libc = ctypes.CDLL(None)
libc.unshare(0x10000000 | 0x00020000)
os.mkdir("mnt")
if libc.mount(b"none", os.path.abspath("mnt").encode(), b"tmpfs", 0, None) == 0:
    escaped()
""",
        l1=OPEN,
    ),
    Escape(
        "create a device, or open one of the machine",
        """
try:
    os.mknod("device", 0o600 | stat.S_IFCHR, os.makedev(1, 1)); escaped()
except OSError:
    pass
for name in os.listdir("/dev"):
    if stat.S_ISBLK(os.stat("/dev/" + name).st_mode) or name in ("mem", "kmsg", "port"):
        open("/dev/" + name, "rb").close(); escaped()
""",
        l1=ROOT,
    ),
    Escape(
        "type or write into a terminal",
        """
terminal = os.open(facts["terminal"], os.O_RDWR)
os.write(terminal, b"x"); escaped()
fcntl.ioctl(terminal, termios.TIOCSTI, b"x"); escaped()
""",
        l1=OPEN,
    ),
    Escape("outlive the time limit by ignoring SIGTERM", "signal.signal(15, signal.SIG_IGN)\nwhile True: time.sleep(1)"),
]  # fmt: skip
