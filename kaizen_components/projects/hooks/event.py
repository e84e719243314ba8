"""What Claude Code and Codex tell a hook on stdin: one JSON object, read with bounds and trusted in nothing."""

import json
import os
import re
import stat
from typing import Any, NamedTuple

BYTES_MAX = 16_000_000  # a tool's whole output may be in it
BLOCK_BYTES = 1 << 20
SILENCE_S = 0.5  # hosts send at once, before Python is even up; a pipe that is only left open must not hold them
EVENTS = {  # our word -> what the hosts call it
    "session-start": ("SessionStart",),
    "stop": ("Stop",),  # a subagent may stop: the task is its caller's
    "post-tool-use": ("PostToolUse", "PostToolUseFailure"),
}
SHELLS = ("Bash", "bash", "shell", "local_shell", "exec_command")
CODES = ("exit_code", "exitCode", "returncode", "code")
SAID = re.compile(r"\s{0,9}(?:[\w-]{1,20} ){0,4}(?:exit|status) code:? (\d{1,3})\b", re.IGNORECASE)


class HostCommand(NamedTuple):
    """A command line that the host has run, and the exit code that it named, if any."""

    command: str
    exit_code: int | None


def read_event(stream: Any, event: str) -> dict[str, Any] | None:
    """The event, or None for what is not one: no input, broken JSON, another event than the one asked for."""
    try:
        if stream is None or stream.closed or stream.isatty():
            return None
        told = json.loads(_sent(stream.buffer))
    except (ValueError, RecursionError, OSError):
        return None
    if (
        not isinstance(told, dict)
        or told.get("hook_event_name", EVENTS[event][0]) not in EVENTS[event]
    ):
        return None
    return told


def _sent(stream):
    """What was sent: to its end, or from a pipe until it has been silent for SILENCE_S, as one left open is."""
    pipe = _pipe(stream)
    if pipe is None:
        return stream.read(BYTES_MAX)
    import select

    sent = bytearray()
    while len(sent) < BYTES_MAX and select.select([pipe], [], [], SILENCE_S)[0]:
        block = os.read(pipe, BLOCK_BYTES)
        if not block:
            break
        sent += block
    return bytes(sent)


def _pipe(stream):
    """Its number where it can be waited for: a pipe or a socket, and not on Windows, whose select takes no pipe."""
    try:
        number = stream.fileno()
    except (AttributeError, OSError):  # none that the system knows, such as a text in memory
        return None
    mode = os.fstat(number).st_mode
    return number if os.name != "nt" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) else None


def get_session(told: dict[str, Any]) -> str:
    name = told.get("session_id")
    return name if isinstance(name, str) else ""


def find_command(told: dict[str, Any]) -> HostCommand | None:
    """The command line that a shell tool has ended, or None."""
    given, answer = told.get("tool_input"), told.get("tool_response")
    command = given.get("command", given.get("cmd")) if isinstance(given, dict) else None
    if isinstance(command, list) and all(isinstance(one, str) for one in command):
        import shlex

        command = (
            command[2]
            if command[1:2] in (["-c"], ["-lc"]) and len(command) == 3
            else shlex.join(command)
        )
    if (
        told.get("tool_name") not in SHELLS
        or not isinstance(command, str)
        or not command.strip()
        or "\0" in command
    ):
        return None
    if isinstance(answer, dict) and answer.get("backgroundTaskId"):  # it has only been started
        return None
    if told.get("is_interrupt"):  # somebody stopped it, so it has come to no end of its own
        return None
    return HostCommand(command.strip(), _exit_code(answer, told.get("error")))


def _exit_code(answer, error):
    if isinstance(answer, str) and answer[:1] == "{":
        try:
            answer = json.loads(answer)
        except (ValueError, RecursionError):
            pass
    if isinstance(answer, dict):
        inner = answer.get("metadata")
        for holder in (answer, inner if isinstance(inner, dict) else {}):
            for name in CODES:
                if type(holder.get(name)) is int and -255 <= holder[name] <= 255:
                    return holder[name]
    said = next((SAID.match(text[:200]) for text in (answer, error) if isinstance(text, str)), None)
    return int(said[1]) if said and int(said[1]) <= 255 else None
