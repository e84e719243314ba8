"""Read the JSON object that Claude Code or Codex sends to a hook on stdin, without trusting it."""

import json
import os
import re
import stat
from typing import Any, NamedTuple

BYTES_MAX = 16_000_000  # it may contain the whole output of a tool
BLOCK_BYTES = 1 << 20
# Hosts send the event before Python has started. A pipe that stays open must not block the host.
SILENCE_S = 0.5
EVENTS = {  # our name -> names that hosts use
    "session-start": ("SessionStart",),
    "stop": ("Stop",),  # not SubagentStop: the task belongs to the caller of the subagent
    "post-tool-use": ("PostToolUse", "PostToolUseFailure"),
}
SHELLS = ("Bash", "bash", "shell", "local_shell", "exec_command")
CODES = ("exit_code", "exitCode", "returncode", "code")
CODE_TEXT = re.compile(
    r"\s{0,9}(?:[\w-]{1,20} ){0,4}(?:exit|status) code:? (\d{1,3})\b", re.IGNORECASE
)


class HostCommand(NamedTuple):
    """A command line that the host has run, and its exit code if the host reported one."""

    command: str
    exit_code: int | None


def read_event(stream: Any, event: str) -> dict[str, Any] | None:
    """Return the event; None if the input is empty, invalid JSON, or another kind of event."""
    try:
        if stream is None or stream.closed or stream.isatty():
            return None
        message = json.loads(_read_bytes(stream))
    except (ValueError, RecursionError, OSError):
        return None
    names = EVENTS[event]
    if isinstance(message, dict) and message.get("hook_event_name", names[0]) in names:
        return message
    return None


def _read_bytes(stream: Any) -> bytes:
    """Read all input; stop reading a pipe after SILENCE_S without data."""
    try:
        number = stream.fileno()
        mode = os.fstat(number).st_mode
    except (AttributeError, OSError):  # not a real file, such as a StringIO
        return stream.buffer.read(BYTES_MAX)
    if os.name == "nt" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return stream.buffer.read(BYTES_MAX)  # on Windows select does not support pipes
    import select

    data = bytearray()
    while len(data) < BYTES_MAX and select.select([number], [], [], SILENCE_S)[0]:
        block = os.read(number, BLOCK_BYTES)
        if not block:
            break
        data += block
    return bytes(data)


def get_session(message: dict[str, Any]) -> str:
    name = message.get("session_id")
    return name if isinstance(name, str) else ""


def find_command(message: dict[str, Any]) -> HostCommand | None:
    """Return the command line that a shell tool has finished, or None."""
    tool_input, answer = message.get("tool_input"), message.get("tool_response")
    command = (
        tool_input.get("command", tool_input.get("cmd")) if isinstance(tool_input, dict) else None
    )
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        import shlex

        is_shell = command[1:2] in (["-c"], ["-lc"]) and len(command) == 3
        command = command[2] if is_shell else shlex.join(command)
    if message.get("tool_name") not in SHELLS or not isinstance(command, str):
        return None
    if not command.strip() or "\0" in command:
        return None
    if isinstance(answer, dict) and answer.get(
        "backgroundTaskId"
    ):  # it still runs in the background
        return None
    if message.get("is_interrupt"):  # it was stopped before its end
        return None
    return HostCommand(command.strip(), _find_exit_code(answer, message.get("error")))


def _find_exit_code(answer: Any, error: Any) -> int | None:
    """Return the exit code in the host's answer: in a field, or at the beginning of its text."""
    if isinstance(answer, str) and answer[:1] == "{":
        try:
            answer = json.loads(answer)
        except (ValueError, RecursionError):
            pass
    if isinstance(answer, dict):
        metadata = answer.get("metadata")
        for holder in (answer, metadata if isinstance(metadata, dict) else {}):
            for name in CODES:
                if type(holder.get(name)) is int and -255 <= holder[name] <= 255:
                    return holder[name]
    for text in (answer, error):
        if isinstance(text, str):
            match = CODE_TEXT.match(text[:200])
            return int(match[1]) if match and int(match[1]) <= 255 else None
    return None
