"""Check that our hooks are added to a host's file once, beside the user's, and removed again."""

import json
import os
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaizen_components.projects.hooks.host_file import (
    EVENTS,
    FILES,
    HOOK_COMMAND,
    list_events,
    merge_hooks,
    remove_hooks,
)

from ..conftest import git

every_host = pytest.mark.parametrize("host", FILES)
THEIRS = {
    "model": "x",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [
            {"matcher": "Edit", "hooks": [{"type": "command", "command": "python3 hook.py stop"}]}
        ],
    },
    "permissions": {"allow": ["Bash(ls)"]},
}


def commands(text):
    hooks = json.loads(text)["hooks"]
    return {
        event: [hook["command"] for group in groups for hook in group["hooks"]]
        for event, groups in hooks.items()
    }


@every_host
def test_new_hook_file_has_one_command_per_event(host):
    text = merge_hooks(None, host, HOOK_COMMAND)

    assert list(commands(text)) == list_events(host)
    assert ("PostToolUseFailure" in list_events(host)) == (
        host == "claude"
    )  # Codex knows no such event
    for event, lines in commands(text).items():
        assert len(lines) == 1 and lines[0].endswith(
            f"kaizen.py hook {EVENTS[event]} --host {host}"
        )
    assert merge_hooks(text, host, HOOK_COMMAND) == text
    assert json.loads(remove_hooks(text, host)) == {}


@every_host
@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
def test_user_hooks_keep_their_order(host, indent):
    before = json.dumps(THEIRS, indent=indent, ensure_ascii=False)
    text = merge_hooks(before, host, HOOK_COMMAND)

    assert list(json.loads(text)) == list(THEIRS)
    assert commands(text)["Stop"][0] == "say done" and len(commands(text)["Stop"]) == 2
    assert commands(text)["PreToolUse"] == ["python3 hook.py stop"]
    assert json.loads(remove_hooks(text, host)) == THEIRS
    assert remove_hooks(before, host) == before
    assert indent is None or text.split("\n")[1].startswith(
        (" " * indent if isinstance(indent, int) else indent) + '"'
    )


@every_host
def test_older_hook_command_is_replaced(host):
    old = merge_hooks(json.dumps(THEIRS), host, ["py", "kaizen.py", "hook"])
    new = merge_hooks(old, host, HOOK_COMMAND)

    assert len(commands(new)["Stop"]) == 2 and not any(
        line.startswith("py ") for line in commands(new)["Stop"]
    )


names = st.sampled_from(["Stop", "SessionStart", "PreToolUse"])
command = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=20)})
group = st.one_of(
    st.fixed_dictionaries({"hooks": st.lists(command)}), st.text(max_size=3), st.none()
)
some_settings = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=5),
        "hooks": st.dictionaries(names, st.lists(group)),
        "z": st.booleans(),
    },
)


@every_host
@given(settings=some_settings)
def test_removing_hooks_restores_any_settings(host, settings):
    back = json.loads(remove_hooks(merge_hooks(json.dumps(settings), host, HOOK_COMMAND), host))
    hooks = {
        event: groups
        for event, groups in settings.get("hooks", {}).items()
        if groups or event not in EVENTS
    }

    assert {**back, "hooks": back.get("hooks", {})} == {**settings, "hooks": hooks}


@every_host
def test_hook_finds_launcher_from_any_folder(host, repo):
    """Without the launcher Python would exit 2, which a host takes for a refusal."""
    (repo / "kaizen.py").write_text("import sys; print(sys.argv[1:])\n")
    (repo / "deep").mkdir()
    git(repo, "status")
    line = commands(merge_hooks(None, host, HOOK_COMMAND))["Stop"][0]
    done = subprocess.run(
        ["bash", "-c", line], cwd=repo / "deep", env={**os.environ, "CLAUDE_PROJECT_DIR": str(repo)},
        capture_output=True, text=True,
    )  # fmt: skip

    assert done.stdout.strip() == str(["hook", "stop", "--host", host]), done.stderr
    assert "python3" in shlex.split(line)
    (repo / "kaizen.py").unlink()  # without it, the hook does nothing
    gone = subprocess.run(
        ["bash", "-c", line], cwd=repo, env={**os.environ, "CLAUDE_PROJECT_DIR": str(repo)}
    )
    assert gone.returncode == 0
