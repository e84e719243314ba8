"""Check that no command lets the repository or the environment make git start a program."""

import ast
import json
import os
import subprocess
import sys

import pytest

from kaizen_components.git.client import try_git
from kaizen_components.pipeline.target.target import Target

from .conftest import ROOT, git
from .pipeline.agent import EASY

CLIENT = "git/client.py"
ABSENT = "1" * 40  # a blob that only a promisor remote could have
HOOKS = ("post-index-change", "reference-transaction")
START = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
TESTED = {
    "hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash",
    "tool_input": {"command": "pytest -q"}, "tool_response": {"exit_code": 0},
}  # fmt: skip
STOP = {"hook_event_name": "Stop", "stop_hook_active": False, "session_id": "s"}
PROGRAM_VARIABLES = (
    "GIT_ASKPASS", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND",
)  # fmt: skip
PLAIN = {  # trap -> git command that starts its program
    "fsmonitor": ["status"],
    "clean": ["add", "a.clean"],
    "clean-name": ["add", "a.name"],
    "clean-included": ["add", "a.included"],
    "process": ["add", "a.process"],
    "smudge": ["checkout", "-f", "a.clean"],
    "textconv": ["diff", "--no-ext-diff", "a.text"],
    "command": ["diff", "a.command"],
    "external": ["diff", "a.clean"],
    "editor": ["tag", "-a", "v1"],
    "gpg": ["log"],
    "upload-pack": ["cat-file", "-p", ABSENT],
    "ssh": ["cat-file", "-p", ABSENT],
    "alias": ["trap"],
    "hook-post-index-change": ["read-tree", "HEAD"],
    "hook-reference-transaction": ["update-ref", "refs/heads/other", "HEAD"],
    "environment": ["diff", "a.clean"],
    "environment-setting": ["status"],
    "trace": ["status"],
}


class Hostile:
    """A repository with a trap for each way in which git starts programs.

    A trap is a program that leaves a mark when it is started.
    """

    def __init__(self, root, place):
        self.root, self.marks, self.traps = root, place / "marks", place / "traps"
        self.marks.mkdir()
        self.traps.mkdir()
        (root / ".kaizen").mkdir()
        (root / ".kaizen" / "pipeline.toml").write_text(EASY)
        inner = root / "inner"  # a submodule: `git status` looks into it
        inner.mkdir()
        for folder in (inner, root):
            self.lay_traps(folder)
        self.clear()

    def lay_traps(self, root):
        git(root, "init", "-q")
        (root / ".gitignore").write_text("AI/\n")
        (root / ".gitattributes").write_text(
            "*.clean filter=clean\n*.name filter=a=b\n*.included filter=included\n*.process filter=process\n"
            "*.text diff=text\n*.command diff=command\n"
        )
        for name in ("clean", "name", "included", "process", "text", "command"):
            (root / f"a.{name}").write_text("one\n")
        git(root, "add", "-A")
        gpg = self.trap(
            "gpg",
            'cat >/dev/null; echo "[GNUPG:] SIG_CREATED D" >&2; echo "-----BEGIN PGP SIGNATURE-----"',
        )
        git(root, "-c", f"gpg.program={gpg}", "commit", "-qm", "one", "-S")
        git(root, "update-index", "--add", "--cacheinfo", f"100644,{ABSENT},absent.txt")
        (root / ".git" / "included").write_text(
            f'[filter "included"]\n\tclean = {self.trap("clean-included", "cat")}\n'
        )
        for hook in HOOKS:
            (root / ".git" / "hooks" / hook).symlink_to(self.trap(f"hook-{hook}"))
        for key, value in {
            "include.path": "included",
            "core.fsmonitor": self.trap("fsmonitor"),
            "core.pager": self.trap("pager"),
            "core.editor": self.trap("editor"),
            "core.sshCommand": self.trap("ssh"),
            "core.alternateRefsCommand": self.trap("alternate-refs"),
            "gpg.program": gpg,
            "log.showSignature": "true",
            "filter.clean.clean": self.trap("clean", "cat"),
            "filter.clean.smudge": self.trap("smudge", "cat"),
            "filter.clean.required": "true",
            "filter.a=b.clean": self.trap("clean-name", "cat"),
            "filter.process.process": self.trap("process", "exit 1"),
            "diff.external": self.trap("external"),
            "diff.text.textconv": self.trap("textconv", 'cat "$1"'),
            "diff.command.command": self.trap("command"),
            "status.submoduleSummary": "true",
            "alias.trap": "!" + self.trap("alias"),
            **{f"alias.{name}": "!" + self.trap("alias") for name in ("status", "log", "ls-files")},
            "protocol.allow": "always",
            "protocol.file.allow": "always",
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "far",
            "remote.far.promisor": "true",
            "remote.far.url": str(root),
            "remote.far.uploadpack": self.trap("upload-pack", "exit 1"),
            "remote.ssh.promisor": "true",
            "remote.ssh.url": "ssh://localhost/x",
        }.items():
            git(root, "config", key, value)

    def environment(self):
        """Return variables that make git start programs, or write a file."""
        program, setting = self.trap("environment"), self.trap("environment-setting")
        return {
            **dict.fromkeys(PROGRAM_VARIABLES, program),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": setting,
            "GIT_TRACE": str(self.marks / "trace"),
        }

    def trap(self, name, then="exit 1"):
        path = self.traps / name
        path.write_text(f"#!/bin/sh\ntouch '{self.marks / name}'\n{then}\n")
        path.chmod(0o755)
        return str(path)

    def clear(self):
        """Remove the marks, and change the files so that git has to read them again."""
        for mark in self.marks.iterdir():
            mark.unlink()
        for folder in (self.root, self.root / "inner"):
            for path in folder.glob("a.*"):
                path.write_text("two\n")

    def list_marks(self):
        return sorted(mark.name for mark in self.marks.iterdir())


@pytest.fixture
def hostile(root, tmp_path):
    return Hostile(root, tmp_path)


@pytest.mark.parametrize("trap", PLAIN)
def test_plain_git_runs_each_trap_of_hostile_repository(hostile, trap):
    me = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    is_variable = trap.startswith(("environment", "trace"))
    done = subprocess.run(
        ["git", *me, *PLAIN[trap]],
        cwd=hostile.root,
        env={**os.environ, **(hostile.environment() if is_variable else {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )

    assert trap in hostile.list_marks(), done.stderr


def test_kaizen_commands_run_no_trap_of_hostile_repository(hostile, cli, kaizen, tmp_path):
    task = kaizen("W1", title="t", summary="s", done_when=["true"])["id"]
    kaizen("W13", id=task)
    store = tmp_path / "store"
    store.mkdir()
    run = ("--request", "x", "--repo", ".", "--driver", "agent", "--python", sys.executable)
    for exit_code, stdin, *words in (
        (0, "", "R0"),
        (0, START, "hook", "session-start"),
        (0, "", "Q1", "--title", "t", "--summary", "s", "--task-id", task, "--run", "--", "true"),
        (0, TESTED, "hook", "post-tool-use"),
        (0, STOP, "hook", "stop"),
        (0, "", "W2", "--id", task, "--status", "done"),
        (0, "", "A1", "--path", "a.clean", "--title", "t"),
        (0, "", "A2", "--path", "."),
        (0, "", "L10"),
        (0, "", "SK1"),
        (0, "", "SK2"),
        (0, "", "SK3", "--store", str(store)),
        (1, "", "D2"),
        (1, "", "D1", ".", "--check"),
        (0, "", "D1", "."),
        (0, "", "D1", ".", "--apply"),
        (0, "", "D1", ".", "--remove", "--apply"),
        (0, "", "P1", *run),
        (0, "", "P5", "--id", "@last"),
        (0, "", "P7", "--id", "@last", "--abort"),
        (0, "", "P6", "--id", "@last"),
    ):
        hostile.clear()
        text = json.dumps(stdin).encode() if stdin else b""
        answer = cli(*words, stdin=text, env=hostile.environment())
        assert hostile.list_marks() == [], words
        assert answer.exit_code == exit_code, (words, answer.out, answer.err)


def test_delivering_a_change_runs_no_git_trap(hostile, tmp_path, monkeypatch):
    for name, value in hostile.environment().items():
        monkeypatch.setenv(name, value)
    target, objects = Target(str(hostile.root)), str(tmp_path / "objects")
    base = target.find_head()
    for path in hostile.root.glob("a.*"):
        path.write_text("one\n")
    changes = {
        f"{folder}a.{name}": b"three\n" for name in ("clean", "text") for folder in ("", "b/")
    }
    head = target.write_commit(base, changes, "m", objects)
    target.export_commit(base, str(tmp_path / "export"))
    target.render_diff(base, head, objects)
    target.is_dirty()
    target.adopt_commit(objects, head)
    target.create_branch("kaizen/x", head)
    target.apply_to_worktree(base, head)

    assert (hostile.root / "a.clean").read_text() == "three\n" and target.is_applied(base, head)
    assert hostile.list_marks() == []


def test_git_client_refuses_unlisted_git_command(root):
    with pytest.raises(AssertionError):
        try_git(str(root), "fetch")


def test_only_git_client_module_starts_git():
    """Search all other modules for a list, tuple or call that begins with "git"."""
    starters = []
    for path in sorted((ROOT / "kaizen_components").rglob("*.py")):
        name = path.relative_to(ROOT / "kaizen_components").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            words = (
                node.elts if isinstance(node, (ast.List, ast.Tuple)) else getattr(node, "args", [])
            )
            first = words[0] if isinstance(words, list) and words else None
            value = first.value if isinstance(first, ast.Constant) else ""
            if isinstance(value, str) and (value == "git" or value.startswith("git ")):
                starters.append(name)
    assert set(starters) - {"pipeline/gates/conditions.py"} == {CLIENT}  # that one names our folder
