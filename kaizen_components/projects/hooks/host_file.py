"""The hooks of an agent host in its own file: ours are added beside the user's, and taken out again.

Claude Code reads `.claude/settings.json`, Codex `.codex/hooks.json`; both have event -> groups -> commands.
"""

import json
import re
import shlex
from typing import Any

from ...errors import Conflict

HOOK_COMMAND = ["python3", "kaizen.py", "hook"]
FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json"}
EVENTS = {
    "SessionStart": "session-start",
    "PostToolUse": "post-tool-use",
    "PostToolUseFailure": "post-tool-use",
    "Stop": "stop",
}
MATCHERS = {"PostToolUse": "Bash", "PostToolUseFailure": "Bash"}
NOT_OF = {
    "codex": ("PostToolUseFailure",)
}  # its PostToolUse tells of commands that fail too; Claude Code's does not
# A host starts hooks wherever the agent stands; elsewhere `python3 kaizen.py` would exit 2, which is a host's "no". So
# would a launcher that is gone: then nothing is run.
LAUNCHERS = {
    "claude": '"$CLAUDE_PROJECT_DIR"/kaizen.py',
    "codex": '"$(git rev-parse --show-toplevel)"/kaizen.py',
}
TIMEOUT_S = 10
OURS = re.compile(r"kaizen\.py\b.*\bhook (?:" + "|".join(EVENTS.values()) + r")\b")


def list_events(host: str) -> list[str]:
    return [event for event in EVENTS if event not in NOT_OF.get(host, ())]


def merge_hooks(existing: str | None, host: str, command: list[str]) -> str:
    """The host's file with our entries in it, once; everything else stays, in its order."""
    settings = _read(existing, host)
    groups = {event: _group(event, host, command) for event in list_events(host)}
    if existing is not None and _ours(settings) == _ours(
        {"hooks": {event: [one] for event, one in groups.items()}}
    ):
        return existing
    wanted = _without_ours(settings)
    hooks = wanted.setdefault("hooks", {})
    for event, group in groups.items():
        hooks[event] = [*hooks.get(event, []), group]
    return _written(wanted, existing)


def remove_hooks(existing: str, host: str) -> str:
    """The host's file without our entries; `{}` when nothing else was in it."""
    settings = _read(existing, host)
    return _written(_without_ours(settings), existing) if _ours(settings) else existing


def _group(event, host, command):
    words = [LAUNCHERS[host] if one == "kaizen.py" else shlex.quote(one) for one in command]
    line = f"[ ! -f {LAUNCHERS[host]} ] || " + " ".join([*words, EVENTS[event], "--host", host])
    group: dict[str, Any] = {"matcher": MATCHERS[event]} if event in MATCHERS else {}
    return {**group, "hooks": [{"type": "command", "command": line, "timeout": TIMEOUT_S}]}


def _read(existing, host):
    try:
        settings = json.loads(existing) if existing and existing.strip() else {}
    except ValueError as error:
        raise _unusable(host, f"It is not plain JSON: {error}.") from None
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(
        isinstance(groups, list) for groups in hooks.values()
    ):
        raise _unusable(
            host, "Hooks have another shape there: `hooks`, then the event, then a list."
        )
    return settings


def _unusable(host, why):
    return Conflict(
        "hooks_unreadable",
        f"{FILES[host]} is not a file that hooks can be added to.",
        why,
        "Repair it, or adopt without --hooks and add them by hand; docs/hooks.md has the lines.",
    )


def _without_ours(settings):
    """A copy without our commands, and without the groups and events that had only them."""
    kept = {}
    for event, groups in settings.get("hooks", {}).items():
        left = [one for group in groups for one in _group_without_ours(group)]
        if left or not groups:
            kept[event] = left
    others = {name: value for name, value in settings.items() if name != "hooks"}
    if not kept and settings.get("hooks"):
        return others
    return {name: kept if name == "hooks" else value for name, value in settings.items()}


def _group_without_ours(group):
    """The group with what is left of it, or nothing of it when all was ours."""
    commands = group.get("hooks") if isinstance(group, dict) else None
    left = (
        [one for one in commands if not _is_ours(one)] if isinstance(commands, list) else commands
    )
    if left == commands:
        return [group]
    return [{**group, "hooks": left}] if left else []


def _is_ours(one):
    return (
        isinstance(one, dict)
        and isinstance(one.get("command"), str)
        and OURS.search(one["command"]) is not None
    )


def _ours(settings):
    """Our commands with their events and matchers, in a form that compares."""
    found = []
    for event, groups in settings.get("hooks", {}).items():
        for group in groups:
            commands = group.get("hooks") if isinstance(group, dict) else None
            ours = [one for one in commands if _is_ours(one)] if isinstance(commands, list) else []
            found += [
                (event, str(group.get("matcher")), json.dumps(one, sort_keys=True)) for one in ours
            ]
    return sorted(found)


def _written(settings, existing):
    indent = re.search(r"\n([ \t]+)\"", existing or "")
    return json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"
