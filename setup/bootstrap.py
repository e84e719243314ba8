"""Set Kaizen up, or run its tests, on a machine that has only Python 3.11+ and git.

The scripts beside this file (setup.sh, setup.ps1, setup.cmd, test.sh) find a Python and run this
file. It uses only the standard library, in syntax that Python 3.6 can read: an old Python prints a
clear message instead of a SyntaxError.
"""

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NEEDED = (3, 11)
if sys.version_info < NEEDED:  # here, because the annotations below fail on an old Python
    print(
        f"Kaizen needs Python 3.11 or newer; this is {platform.python_version()}. Install one from "
        "python.org or your package manager, or set PYTHON=/path/to/python3.11",
        file=sys.stderr,
    )
    sys.exit(2)

USAGE = """\
Usage: bash setup/setup.sh            make Kaizen ready: .venv, packages, bytecode, database, a demo, a first loop in it
       bash setup/setup.sh DEVROOT    install below DEVROOT: the clone, SKILLS, Python/venvs/kaizen, a launcher
       bash setup/test.sh [ARGS ...]  the same .venv with the test tools, then: python -m pytest ARGS
       .\\setup\\setup.cmd               the first of these on Windows (or setup.ps1)

Safe to run again. PYTHON=/path/to/python chooses the Python a new .venv is made of; KAIZEN_REPO_ROOT=/path
the project whose database is made."""

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
VENV_CONFIG = os.path.join(VENV, "pyvenv.cfg")
TYPED_PYTHON = ".venv\\Scripts\\python.exe" if os.name == "nt" else ".venv/bin/python"
TYPED_TEST = TYPED_PYTHON + " setup\\bootstrap.py test" if os.name == "nt" else "bash setup/test.sh"
PYTHON = os.path.join(ROOT, TYPED_PYTHON)
# Make .venv from the base Python: a venv made from another venv breaks when that one is removed.
BASE_PYTHON = getattr(sys, "_base_executable", None) or sys.executable

DEMO = os.path.join("support_scripts", "demo.py")
FIRST_LOOP = (
    ("W1", "--title", "Try Kaizen", "--summary", "Open, then done"),
    ("W2", "--id", "@last", "--status", "active", "--note", "Started"),
    ("W2", "--id", "@last", "--status", "done", "--note", "Recorded"),
    ("W9",),
    ("K8",),
)

# Run by the Python of .venv: print its version and the versions of the packages.
PROBE = """
import json, sys
def version(name):
    from importlib import metadata
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
packages = {name: version(name) for name in sys.argv[1:]}
print(json.dumps({"python": sys.version_info[:2], "packages": packages}))
"""


class Stop(Exception):
    """Set-up cannot continue: a message for the user, and the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def main(argv: list[str]) -> int:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a console that has no "…"
    try:
        return run(argv)
    except Stop as stop:
        return say_why(str(stop), stop.code)
    except OSError as error:
        return say_why(f"Set-up stopped: {error}", 1)
    except KeyboardInterrupt:
        return say_why("Interrupted; running it again continues.", 130)


def run(argv: list[str]) -> int:
    verb, arguments = (argv[0] if argv else ""), argv[1:]
    if verb in ("-h", "--help") or arguments in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if verb == "setup" and not arguments:
        take_steps(
            ("virtual environment", make_venv),
            ("packages", install_packages),
            ("bytecode", compile_engine),
            ("skills", link_skills),
            ("database", create_database),
            ("demo", make_demo),
            ("first loop", record_first_loop),
        )
        say_what_is_next()
        return 0
    if verb == "setup" and len(arguments) == 1 and not arguments[0].startswith("-"):
        env = dict(os.environ, DEVROOT=os.path.abspath(arguments[0]))
        script = os.path.join(ROOT, "setup", "install_agent_kaizen.py")
        return subprocess.call([BASE_PYTHON, script], env=env)
    if verb == "test":
        take_steps(
            ("virtual environment", make_venv),
            ("packages", install_test_packages),
            ("bytecode", compile_engine),
        )
        return run_tests(arguments)
    unknown = arguments[0] if verb == "setup" else verb or "nothing"
    raise Stop(f"Unknown argument: {unknown}\n{USAGE}", 2)


def take_steps(*steps: "tuple[str, Callable[[], str]]") -> None:
    """Run the steps. Print the name of each step before it starts, and its outcome after it."""
    for number, (name, action) in enumerate(steps, 1):
        print(f"[{number}/{len(steps)}] {name} … ", end="", flush=True)
        try:
            outcome = action()
        except BaseException:
            print("stopped", flush=True)
            raise
        print(outcome, flush=True)


def say_why(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code


# the virtual environment


def make_venv() -> str:
    if not os.path.lexists(VENV):
        create_venv()
        return "created (.venv)"
    problem = find_venv_problem()
    if not problem:
        return "ready"
    print(f"made anew, because {problem} … ", end="", flush=True)
    remove_venv()
    create_venv()
    return "done"


def find_venv_problem() -> str:
    """Return why the existing .venv cannot be used, or ""."""
    if not os.path.isfile(VENV_CONFIG):
        return "it has no pyvenv.cfg"
    versions = probe()
    if not versions:
        return "its Python does not run"
    if tuple(versions["python"]) < NEEDED:
        return "it holds Python {}.{}".format(*versions["python"])
    # After a move the Python of a venv still runs, but its scripts name the old folder. Only the
    # venv module writes the line `command`; a venv of another tool is used without this check.
    with open(VENV_CONFIG, encoding="utf-8") as config:
        made_for = re.search(r"^command = .* -m venv (?:--\S+ )*(.+)$", config.read(), re.MULTILINE)
    if made_for and resolve_path(made_for.group(1)) != resolve_path(VENV):
        return "its folder was moved"
    return ""


def remove_venv() -> None:
    """Remove .venv if it is a virtual environment. Of a link, keep the target."""
    if os.path.islink(VENV):
        os.unlink(VENV)
    elif os.path.isfile(VENV_CONFIG):
        shutil.rmtree(VENV)
    elif not os.path.isdir(VENV) or os.listdir(VENV):
        raise Stop(
            ".venv is there but is not a virtual environment: move it away, then run this again."
        )


def create_venv() -> None:
    """Make .venv without pip, which is faster. find_pip adds pip when it is needed."""
    result = capture([BASE_PYTHON, "-I", "-m", "venv", "--without-pip", VENV])
    if result.returncode:
        raise Stop(
            f"{indent_end(result.stdout)}No virtual environment could be made: is the venv module "
            "there (Debian, Ubuntu: apt install python3-venv), is the disk full, may you write here?"
        )


def probe(*packages: str) -> dict:
    """Return the versions of .venv's Python and packages, or {} if its Python does not run."""
    try:
        answer = capture([PYTHON, "-I", "-c", PROBE, *packages], timeout_s=60)
        return json.loads(answer.stdout) if answer.returncode == 0 else {}
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {}


def resolve_path(path: str) -> str:
    return os.path.normcase(os.path.realpath(path.strip()))


# packages


def install_packages(requirements: str = "requirements-kaizen.txt") -> str:
    requirement_lines = read_pins(requirements)
    missing = find_missing(requirement_lines)
    if not missing:
        return "already there: " + ", ".join(requirement_lines)
    print("installing … ", end="", flush=True)
    options = ["install", "--quiet", "--disable-pip-version-check", "--no-input", "-r"]
    options.append(requirements)
    if not shutil.which("cargo"):  # else pip spends minutes on a build that cannot work
        options += ["--only-binary", "libsql"]
    installed = capture(find_pip() + options, env=dict(os.environ, PIP_USER="0"))
    if installed.returncode:
        raise Stop(
            f"{indent_end(installed.stdout)}pip could not install {', '.join(missing)}. Check the "
            "network, pip's index (pip config list) or PIP_FIND_LINKS, the disk, and in "
            "setup/SETUP.md who has a wheel of libsql."
        )
    return ", ".join(requirement_lines)


def install_test_packages() -> str:
    return install_packages("requirements-dev.txt")


def read_pins(requirements: str) -> list[str]:
    """Return the lines of a requirements file and of those it includes, without comments."""
    path = os.path.join(ROOT, requirements)
    if not os.path.isfile(path):
        raise Stop(f"{requirements} is missing: this is not a whole copy of the repository.")
    pins = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            pin = re.sub(r"(^|\s)#.*", "", line).strip()
            if pin.startswith("-r "):
                pins += read_pins(pin[3:].strip())
            elif pin:
                pins.append(pin)
    return pins


def find_missing(requirement_lines: list[str]) -> list[str]:
    """Return the pins that .venv does not meet, and lines that are not just name==version."""
    pins = {pin: pin.partition("==") for pin in requirement_lines}
    packages = probe(*[name for name, _, _ in pins.values()]).get("packages", {})
    return [
        pin
        for pin, (name, _, version) in pins.items()
        if not version or packages.get(name) != version
    ]


def find_pip() -> list[str]:
    """Return the command that runs .venv's pip; without ensurepip (Debian), this Python's pip."""
    inside = [PYTHON, "-I", "-m", "pip"]
    if probe("pip").get("packages", {}).get("pip"):
        return inside
    ensured = capture([PYTHON, "-I", "-m", "ensurepip"])
    if ensured.returncode == 0:
        return inside
    outside = [sys.executable, "-I", "-m", "pip", "--python", PYTHON]
    if "No module named" in ensured.stdout and capture([*outside, "--version"]).returncode == 0:
        return outside
    raise Stop(
        f"{indent_end(ensured.stdout)}.venv has no pip: is the ensurepip module there (Debian, "
        "Ubuntu: apt install python3-venv; elsewhere: install pip), is the disk full?"
    )


# the engine


def compile_engine() -> str:
    """Compile the engine so that commands start faster. Kaizen also works if this fails."""
    if not os.path.isdir(os.path.join(ROOT, "kaizen_components")):
        raise Stop("kaizen_components is missing: this is not a whole copy of the repository.")
    result = capture([PYTHON, "-m", "compileall", "-q", "kaizen_components"])
    bundle = os.path.join(ROOT, "kaizen_components", "bundle.py")
    if result.returncode == 0 and os.path.isfile(bundle):
        result = capture([PYTHON, "-m", "kaizen_components.bundle"])
    if result.returncode:
        lines = result.stdout.strip().splitlines() or ["compileall failed"]
        return "not written: " + lines[-1].strip()
    return "compiled"


def link_skills() -> str:
    """Link .claude/skills, which Claude Code reads, to .agents/skills. The link is not in git."""
    link, skills = (os.path.join(ROOT, name, "skills") for name in (".claude", ".agents"))
    if os.path.lexists(link) or not os.path.isdir(skills):
        return "there already" if os.path.lexists(link) else "none"
    os.makedirs(os.path.dirname(link), exist_ok=True)
    if sys.platform == "win32":  # a junction: a symbolic link needs a right that few have
        import _winapi

        _winapi.CreateJunction(skills, link)
    else:
        os.symlink(os.path.join("..", ".agents", "skills"), link)
    return "linked (.claude/skills)"


def create_database() -> str:
    if not os.path.isfile(os.path.join(ROOT, "kaizen.py")):
        raise Stop("kaizen.py is missing: this is not a whole copy of the repository.")
    run_kaizen("K1")
    return "ready, in KAIZEN_REPO_ROOT" if os.environ.get("KAIZEN_REPO_ROOT") else "ready"


def get_demo_folder() -> str:
    return os.path.join(os.environ.get("KAIZEN_REPO_ROOT") or ROOT, "AI", "work", "demo")


def make_demo() -> str:
    """Make a demo project with weeks of records. If that fails, set-up continues with a note."""
    folder = get_demo_folder()
    if os.path.isfile(os.path.join(folder, "weekly.html")):
        return "already there: " + shorten_path(folder)
    if not os.path.isfile(os.path.join(ROOT, DEMO)):
        return f"left out, nothing depends on it: {DEMO} is not here"
    try:
        env = dict(os.environ, PYTHONIOENCODING="utf-8")  # `capture` reads UTF-8, also on Windows
        command = [PYTHON, DEMO, shorten_path(folder)]
        result = capture(command, env=env, timeout_s=60, stderr=subprocess.PIPE)
    except (OSError, subprocess.TimeoutExpired):
        return "left out, nothing depends on it: it did not end within a minute"
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["it failed"]
        return "left out, nothing depends on it: " + lines[-1]
    return "what weeks of records tell, in an invented project:\n\n" + result.stdout.rstrip()


def record_first_loop() -> str:
    """Record one task in the demo, so that the user's own records stay empty."""
    launcher = shorten_path(os.path.join(get_demo_folder(), "kaizen.py"))
    if not os.path.isfile(os.path.join(ROOT, launcher)):
        return "left out, because there is no demo"
    words = ("W9", "--query", FIRST_LOOP[0][2], "--json")
    if json.loads(run_kaizen(*words, launcher=launcher))["records"]:
        return "there already"
    print("one task in the demo, as you would type it:", flush=True)
    for typed in FIRST_LOOP:
        print(f"\n$ {quote_words(TYPED_PYTHON, launcher, *typed)}", flush=True)
        code = subprocess.call([PYTHON, launcher, *typed], cwd=ROOT)
        if code:
            raise Stop(f"{typed[0]} failed with exit code {code}.", code)
    return "\nRecorded: one loop in the demo. Your own records are empty."


def shorten_path(path: str, start: str = ROOT) -> str:
    """Return a path relative to `start`, unless that is on another drive."""
    try:
        return os.path.relpath(path, start)
    except ValueError:
        return path


def run_tests(arguments: list[str]) -> int:
    print(f"$ {quote_words(TYPED_PYTHON, '-m', 'pytest', *arguments)}", flush=True)
    signal.signal(signal.SIGINT, lambda *_: None)  # pytest answers Ctrl-C with a summary
    return subprocess.call([PYTHON, "-m", "pytest", *arguments], cwd=ROOT)


def say_what_is_next() -> None:
    print("\nReady. Next:")
    if resolve_path(os.getcwd()) != resolve_path(ROOT):
        print(f"  $ cd {quote_words(shorten_path(ROOT, os.getcwd()))}")
    for command, purpose in (
        (format_command("K0", "what can I start now"), "finds a command"),
        (format_command("--help"), "all commands"),
        (TYPED_TEST, "the test suite"),
    ):
        print(f"  $ {command:<55}# {purpose}")
    print("AGENTS.md is what your coding agent follows; README.md is for you.")
    advice = find_sandbox_advice()
    if advice:
        print(f"Pipelines run their gates in a weaker sandbox here. {advice}")


def find_sandbox_advice() -> str:
    """Return the advice of K11 about a stronger sandbox, or "" if there is none or K11 fails."""
    answer = capture([PYTHON, "kaizen.py", "K11", "--json"], stderr=subprocess.DEVNULL)
    try:
        checks = json.loads(answer.stdout)["checks"]
    except (ValueError, KeyError):
        return ""
    return next(
        (check["next"] for check in checks if check["check"] == "sandbox" and check["next"]), ""
    )


def run_kaizen(*words: str, launcher: str = "kaizen.py") -> str:
    """Return the output of a kaizen command. If it fails, stop with its output and exit code."""
    answer = capture([PYTHON, launcher, *words], stderr=subprocess.PIPE)
    if answer.returncode:
        output, code = indent_end(answer.stdout + answer.stderr), answer.returncode
        command = quote_words(TYPED_PYTHON, launcher, *words)
        raise Stop(f"{output}{command} failed with exit code {code}.", code)
    return answer.stdout


# words and processes


def capture(
    command: "list[str]",
    *,
    env: "dict[str, str] | None" = None,
    timeout_s: "float | None" = None,
    stderr: int = subprocess.STDOUT,
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, cwd=ROOT, env=env, timeout=timeout_s, encoding="utf-8", errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, check=False,
    )  # fmt: skip


def format_command(*words: str) -> str:
    return quote_words(TYPED_PYTHON, "kaizen.py", *words)


def quote_words(*words: str) -> str:
    """Return a command line as a user would type it. PowerShell needs quotes around @."""
    plain = r"[\w+=:,./\\-]+" if os.name == "nt" else r"[\w@+=:,./-]+"
    return " ".join(word if re.fullmatch(plain, word) else f'"{word}"' for word in words)


def indent_end(output: str) -> str:
    """Return the last lines of a failed command's output, indented."""
    return "".join(f"    {line}\n" for line in output.strip().splitlines()[-6:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
