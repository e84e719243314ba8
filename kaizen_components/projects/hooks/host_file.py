"""Add our hooks to the settings file of an agent host, and remove them again.

Claude Code reads `.claude/settings.json`, Codex `.codex/hooks.json`. Both map an event to groups of
commands. The user's own hooks stay.
"""

import json
import re
import shlex
from typing import Any

from ...errors import Conflict

Settings = dict[str, Any]

HOOK_COMMAND = ["python3", "kaizen.py", "hook"]
FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json"}
EVENTS = {
    "SessionStart": "session-start",
    "PostToolUse": "post-tool-use",
    "PostToolUseFailure": "post-tool-use",
    "Stop": "stop",
}
MATCHERS = {"PostToolUse": "Bash", "PostToolUseFailure": "Bash"}
# Codex sends PostToolUse also for commands that fail; Claude Code has another event for them.
NOT_OF = {"codex": ("PostToolUseFailure",)}
# A host starts hooks in the agent's working directory. Without a launcher there, `python3
# kaizen.py` would exit 2, which blocks the host, so the command checks for the file first.
LAUNCHERS = {
    "claude": '"$CLAUDE_PROJECT_DIR"/kaizen.py',
    "codex": '"$(git rev-parse --show-toplevel)"/kaizen.py',
}
TIMEOUT_S = 10
OURS = re.compile(r"kaizen\.py\b.*\bhook (?:" + "|".join(EVENTS.values()) + r")\b")


def list_events(host: str) -> list[str]:
    return [event for event in EVENTS if event not in NOT_OF.get(host, ())]


def merge_hooks(existing: str | None, host: str, command: list[str]) -> str:
    """Return the host's file with our entries added once; everything else keeps its order."""
    settings = _read_settings(existing, host)
    launcher = LAUNCHERS[host]
    words = [launcher if word == "kaizen.py" else shlex.quote(word) for word in command]
    groups: dict[str, Settings] = {}
    for event in list_events(host):
        line = f"[ ! -f {launcher} ] || " + " ".join([*words, EVENTS[event], "--host", host])
        groups[event] = {"matcher": MATCHERS[event]} if event in MATCHERS else {}
        groups[event]["hooks"] = [{"type": "command", "command": line, "timeout": TIMEOUT_S}]
    our_settings = {"hooks": {event: [group] for event, group in groups.items()}}
    if existing is not None and _list_ours(settings) == _list_ours(our_settings):
        return existing
    other_hooks = _remove_ours(settings)
    hooks = other_hooks.setdefault("hooks", {})
    for event, group in groups.items():
        hooks[event] = [*hooks.get(event, []), group]
    return _format_settings(other_hooks, existing)


def remove_hooks(existing: str, host: str) -> str:
    """Return the host's file without our entries; `{}` if all its entries were ours."""
    settings = _read_settings(existing, host)
    if not _list_ours(settings):
        return existing
    return _format_settings(_remove_ours(settings), existing)


def _read_settings(existing: str | None, host: str) -> Settings:
    """Parse the host's file; raise Conflict if our hooks cannot be added to it."""
    try:
        settings = json.loads(existing) if existing and existing.strip() else {}
    except ValueError as error:
        raise _settings_error(host, f"The file is not plain JSON: {error}.") from None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if isinstance(hooks, dict) and all(isinstance(groups, list) for groups in hooks.values()):
        return settings
    why = "Its `hooks` must map each event to a list of groups."
    raise _settings_error(host, why)


def _settings_error(host: str, why: str) -> Conflict:
    return Conflict(
        "hooks_unreadable",
        f"Hooks cannot be added to {FILES[host]}.",
        why,
        "Repair the file, or adopt without --hooks and add the lines of docs/hooks.md by hand.",
    )


def _is_ours(command: Any) -> bool:
    line = command.get("command") if isinstance(command, dict) else None
    return isinstance(line, str) and OURS.search(line) is not None


def _list_commands(group: Any) -> list[Any]:
    commands = group.get("hooks") if isinstance(group, dict) else None
    return commands if isinstance(commands, list) else []


def _list_ours(settings: Settings) -> list[tuple[str, str, str]]:
    """Return (event, matcher, command) of each of our commands, sorted for comparison."""
    return sorted(
        (event, str(group.get("matcher")), json.dumps(command, sort_keys=True))
        for event, groups in settings.get("hooks", {}).items()
        for group in groups
        for command in _list_commands(group)
        if _is_ours(command)
    )


def _remove_ours(settings: Settings) -> Settings:
    """Return a copy without our commands, and without groups and events that become empty."""
    hooks = {}
    for event, groups in settings.get("hooks", {}).items():
        remaining = []
        for group in groups:
            commands = _list_commands(group)
            other_commands = [command for command in commands if not _is_ours(command)]
            if other_commands == commands:
                remaining.append(group)
            elif other_commands:
                remaining.append({**group, "hooks": other_commands})
        if remaining or not groups:
            hooks[event] = remaining
    if not hooks and settings.get("hooks"):
        return {name: value for name, value in settings.items() if name != "hooks"}
    return {name: hooks if name == "hooks" else value for name, value in settings.items()}


def _format_settings(settings: Settings, existing: str | None) -> str:
    """Return the settings as JSON with the indentation of the existing file."""
    indent = re.search(r"\n([ \t]+)\"", existing or "")
    return json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"
