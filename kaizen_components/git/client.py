"""Run git so that no setting, hook, filter or variable of a repository can start a program.

This is the only module that starts git. Settings for how files are stored (line endings, links,
ownership) still apply. Content is read without any of the repository's settings through
`objects.ObjectStore`.
"""

import os
import subprocess

from ..errors import Unavailable

TIMEOUT_S = 300
STDERR_CHARS_MAX = 500
BLOCK_BYTES = 1 << 20
# Built-in commands only: git ignores an alias of the same name.
COMMANDS = (
    "add", "apply", "cat-file", "check-ignore", "commit", "config", "diff-files", "diff-index",
    "diff-tree", "fast-import", "hash-object", "init", "log", "ls-files", "ls-tree", "pack-objects",
    "rev-parse", "status", "unpack-objects", "update-ref",
)  # fmt: skip
# These convert or compare files of the working tree, which would run the repository's filters.
FILTERING = ("add", "apply", "commit", "diff-files", "diff-index", "hash-object", "status")
DIFFS = ("diff-files", "diff-index", "diff-tree", "log")
SETTINGS = (
    f"core.hooksPath={os.devnull}", f"core.attributesFile={os.devnull}", "core.fsmonitor=false",
    "core.pager=cat", "core.editor=true", "core.askPass=", "core.sshCommand=false",
    "core.alternateRefsCommand=false", "credential.helper=", "gpg.program=false",
    "commit.gpgSign=false", "log.showSignature=false", "protocol.allow=never",
    "safe.bareRepository=explicit", "core.protectNTFS=true", "core.protectHFS=true",
    "core.quotePath=false", "gc.auto=0", "maintenance.auto=false",
    # Keep packs: unpacking starts another process and takes half of the time.
    "fastimport.unpackLimit=1",
)  # fmt: skip
VARIABLES = {
    # A repository's `protocol.NAME.allow` overrides `protocol.allow`, but not this.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",  # otherwise `status` rewrites the user's index
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
    "LANGUAGE": "C",
}


class GitResult:
    """The exit code and output of a git command."""

    def __init__(self, code: int, out: bytes, err: str):
        self.code = code
        self.out = out
        self.err = err

    @property
    def text(self) -> str:
        return os.fsdecode(self.out)


def try_git(
    folder: str,
    *args: str,
    stdin: bytes = b"",
    variables: dict[str, str] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> GitResult:
    """Run git in a folder and return its result, also if it fails.

    Raise Unavailable if git cannot be started or does not end in time.
    """
    environment = _build_environment(args, variables)
    if args[0] in FILTERING:
        words = ("config", "-z", "--name-only", "--get-regexp", r"^filter\.")
        keys = try_git(folder, *words, variables=variables, timeout_s=timeout_s).text.split("\0")
        settings: dict[str, str] = {}
        for name in {key.rpartition(".")[0] for key in keys if key}:
            settings |= {f"{name}.{key}": "" for key in ("clean", "smudge", "process")}
            settings[f"{name}.required"] = "false"
        environment["GIT_CONFIG_COUNT"] = str(len(settings))
        for number, (key, value) in enumerate(settings.items()):  # -c ends a name at its first "="
            environment[f"GIT_CONFIG_KEY_{number}"] = key
            environment[f"GIT_CONFIG_VALUE_{number}"] = value
    try:
        process = subprocess.run(
            _build_command(args), cwd=folder, env=environment, input=stdin, capture_output=True,
            timeout=timeout_s
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unavailable(
            "git_slow",
            f"git {args[0]} did not end within {timeout_s:g} s.",
            "Kaizen stopped the command.",
            "Run the command by hand in the repository to see why.",
        ) from None
    except OSError as error:
        raise Unavailable(
            "no_git",
            "git cannot be run.",
            str(error.strerror),
            "Install git, or put it on the PATH.",
        ) from None
    error_output = os.fsdecode(process.stderr).strip()[:STDERR_CHARS_MAX]
    return GitResult(process.returncode, process.stdout, error_output)


def run_git(
    folder: str, *args: str, stdin: bytes = b"", variables: dict[str, str] | None = None
) -> GitResult:
    """Run git; raise Unavailable if it fails."""
    result = try_git(folder, *args, stdin=stdin, variables=variables)
    if result.code != 0:
        raise git_error(args[0], result)
    return result


def git_error(command: str, result: GitResult) -> Unavailable:
    return Unavailable(
        "git_failed",
        f"git {command} failed in the repository.",
        result.err,
        "Run `git status` and `git fsck` in the repository to see why.",
    )


def _build_command(args: tuple[str, ...]) -> list[str]:
    command, *options = args
    assert command in COMMANDS, f"git {command} is not in COMMANDS"
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    safe = ["--no-ext-diff", "--no-textconv"] if command in DIFFS else []
    return ["git", "--no-pager", *settings, command, *safe, *options]


def _build_environment(
    args: tuple[str, ...], variables: dict[str, str] | None = None
) -> dict[str, str]:
    """Return the environment with all GIT_ variables replaced by VARIABLES and `variables`."""
    environment = {
        name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")
    }
    environment |= VARIABLES | (variables or {})
    if args[0] == "check-ignore":  # does not support literal pathspecs
        del environment["GIT_LITERAL_PATHSPECS"]
    return environment


class ObjectReader:
    """Read many objects through one `git cat-file --batch` process, started by the first `open`."""

    def __init__(self, folder: str, variables: dict[str, str] | None = None):
        self._folder = folder
        self._variables = variables
        self._process: subprocess.Popen[bytes] | None = None
        self._left = 0  # unread bytes of the open object, and the line break after them

    def open(self, id: str) -> int | None:
        """Open an object for `read` and return its size; None if git does not have it."""
        while self._left:
            self.read(BLOCK_BYTES)
        if self._process is None:
            args = ("cat-file", "--batch")
            self._process = subprocess.Popen(
                _build_command(args), cwd=self._folder,
                env=_build_environment(args, self._variables), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(id.encode() + b"\n")
            self._process.stdin.flush()
            facts = self._process.stdout.readline().split()
        except BrokenPipeError:
            facts = []
        if not facts:
            raise _reader_error()
        if len(facts) != 3:
            return None
        self._left = int(facts[2]) + 1
        return self._left - 1

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes of the open object; b"" at its end."""
        assert self._process and self._process.stdout
        size = min(size, max(self._left - 1, 0))
        data = self._process.stdout.read(size)
        self._left -= size
        is_cut = len(data) < size
        if self._left == 1:
            is_cut = self._process.stdout.read(1) != b"\n"
            self._left = 0
        if is_cut:
            self._left = 0
            raise _reader_error()
        return data

    def close(self) -> None:
        if self._process:
            self._process.kill()  # git may still wait to write the rest of an object
            self._process.communicate()


def _reader_error() -> Unavailable:
    return Unavailable(
        "git_failed",
        "git ended while it read an object.",
        "The content of the object is unknown.",
        "Run `git fsck` to see what is wrong.",
    )
