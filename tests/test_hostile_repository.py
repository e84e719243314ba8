"""A repository that would start programs of its own through git: no command of ours lets it."""

import ast
import json
import subprocess
import sys

import pytest

from kaizen_components.git.client import try_git

from .conftest import ROOT, git
from .pipeline.agent import EASY

CLIENT = "git/client.py"
ABSENT = "1" * 40  # a blob that only a promisor remote could have
HOOKS = ("post-index-change", "reference-transaction")
START = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
STOP = {"hook_event_name": "Stop", "stop_hook_active": False, "session_id": "s"}
PLAIN = {  # what each trap needs to go off
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
}


class Hostile:
    """A repository with a trap for each way in which git starts programs; a trap that goes off leaves a mark."""

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

    def went_off(self):
        return sorted(mark.name for mark in self.marks.iterdir())


@pytest.fixture
def hostile(root, tmp_path):
    return Hostile(root, tmp_path)


@pytest.mark.parametrize("trap", PLAIN)
def test_plain_git_sets_trap_off(hostile, trap):
    me = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(
        ["git", *me, *PLAIN[trap]],
        cwd=hostile.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )

    assert trap in hostile.went_off()


def test_no_command_sets_a_trap_off(hostile, cli, kaizen, tmp_path):
    task = kaizen("W1", title="t", summary="s", done_when=["true"])["id"]
    kaizen("W13", id=task)
    store = tmp_path / "store"
    store.mkdir()
    run = ("--request", "x", "--repo", ".", "--driver", "agent", "--python", sys.executable)
    for exit_code, stdin, *words in (
        (0, "", "R0"),
        (0, START, "hook", "session-start"),
        (0, "", "Q1", "--title", "t", "--summary", "s", "--task-id", task, "--run", "--", "true"),
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
    ):
        hostile.clear()
        answer = cli(*words, stdin=json.dumps(stdin).encode() if stdin else b"")
        assert hostile.went_off() == [], words
        assert answer.exit_code == exit_code, (words, answer.out, answer.err)


def test_only_listed_commands_of_git_are_run(root):
    with pytest.raises(AssertionError):
        try_git(str(root), "fetch")


def test_only_the_client_starts_git():
    """Elsewhere no list, tuple or call begins with "git"."""
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
