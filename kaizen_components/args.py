"""argv in, exit code out. The hot path: it imports only what a record needs.

The fast parser knows exact codes or names, and exact option names. Unknown words go
to the click face, which explains them. Both return the command, and a dict of option name to values.
"""

from __future__ import annotations

import sys

from . import fields
from .call import Door
from .errors import Blocked, KaizenError, NotFound, Usage
from .faces import text
from .index import Command, find_code, join_split_name
from .records.ledger.canonical import encode_compact
from .records.secrets.excerpt import mask_secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Parsed = tuple[Command, dict[str, list[Any]]]

HOOK_WORDS = ("D3", "HOOK")  # a typo in a hook's settings must not exit 2, which blocks the host
NEEDS_SHUTDOWN = {"atexit", "threading", "profile"}  # cProfile loads `profile`


def parse_argv(argv: list[str]) -> Parsed | None:
    """Return (command, given) if every word is understood, else None."""
    code = find_code(argv[0]) if argv else None
    if code is None:
        return None
    command = Command(code)
    given: dict[str, list[Any]] = {}
    bare: list[str] = []
    rest = iter(argv[1:])
    for word in rest:
        if word == "--":
            bare.extend(rest)
        elif word[:2] == "--" and fields.takes_all_words(command, word[2:]):
            words = list(rest)
            if words[:1] != ["--"] or len(words) == 1:
                return None
            given.setdefault(word[2:].replace("-", "_"), []).append(words[1:])
            rest = iter(())
        elif word[:2] == "--":
            option, equals, after = word[2:].partition("=")
            name, from_file = fields.find_option(command, option)
            if name is None:
                return None
            kind = fields.get_field(command, name).kind
            if equals and kind in ("flag", "argv"):
                return None
            value: Any = after
            if kind == "flag":
                value = True
            elif not equals:
                value = next(rest, None)
                if value is None or fields.is_known_option(command, value):
                    return None  # the value is missing: click explains
            value = fields.read_shell_value(command, name, value, from_file)
            given.setdefault(name, []).append(value)
        elif word[:1] == "-" and word != "-":
            return None
        else:
            bare.append(word)
    return (command, given) if fields.assign_bare_words(command, given, bare) else None


def main(argv: list[str] | None = None) -> int:
    """Run the command line `argv`, print the result or the error, and return the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    as_json = "--json" in argv[: count_own_words(argv)]
    is_first = False
    while len(argv) > 1 and argv[0] == "--json":  # allowed before the command, too
        argv, is_first = argv[1:], True
    is_repeated = "--json" in argv[: count_own_words(argv)]
    argv = join_split_name(argv)
    if is_first and not is_repeated:
        argv.insert(1, "--json")
    try:
        parsed = parse_argv(argv) or load_click_face().parse_with_click(argv)
        if parsed is None:  # help was printed
            return 0
        command, given = parsed
        return run_command(command, given, as_json)
    except KaizenError as error:
        exit_code = report_error(error, as_json)
        is_hook = bool(argv) and argv[0].upper() in HOOK_WORDS
        return 1 if is_hook and isinstance(error, Usage) else exit_code
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        import os

        if os.environ.get("KAIZEN_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        bug = KaizenError(
            "bug",
            "Kaizen failed because of a bug.",
            f"{type(error).__name__}: {error}"[:500],
            "Run the command again with KAIZEN_DEBUG=1, and report the output.",
        )
        return report_error(bug, as_json)


def count_own_words(argv: list[str]) -> int:
    """Return how many words are ours: those after `--run --` belong to the command that it runs."""
    for at, word in enumerate(argv):
        if word == "--run" and argv[at + 1 : at + 2] == ["--"]:
            return at
    return len(argv)


def run_command(command: Command, given: dict[str, list[Any]], as_json: bool) -> int:
    """Run the command and print its result; return the exit code."""
    format = ""  # stays empty for commands that write a file
    if command.defaults.get("format") in ("text", "md"):
        format = str(given.get("format", [""])[0]).lower()
    is_hook = (command.code in HOOK_WORDS or format == "hook") and not as_json
    door = None
    try:
        door = Door()
        result = door.run(command, given)
        notes = door.store.notes
    except KaizenError as error:
        error.notes = door.store.notes if door else []
        if not is_hook or isinstance(error, (Usage, Blocked)):
            raise
        if not isinstance(error, NotFound):  # a project without records needs no message
            report_error(error, False)
        return 0  # a hook never breaks its host
    finally:
        if door:
            door.close()
    if as_json or format == "json":
        if notes:
            result["notes"] = notes
        text.write_output(sys.stdout, encode_compact(result) + "\n", command.writes)
    else:
        text.write_output(sys.stderr, "" if is_hook else text.render_notes(notes))
        text.write_output(sys.stdout, text.render_result(result, command), command.writes)
    return result.get("exit_code") or 0  # set by a command that --run ran, or a failed check


def load_click_face() -> Any:
    """Import the click face; raise Unavailable if click is not installed."""
    try:
        from .faces import cli
    except ModuleNotFoundError as error:
        from .errors import explain_missing_package

        raise explain_missing_package(
            "package_missing",
            f"The package {error.name} is not installed.",
            "Help, completion and the explanation of usage errors need it.",
        ) from None
    return cli


def report_error(error: KaizenError, as_json: bool) -> int:
    """Print the error without secrets; return its exit code."""
    error.what, error.why, error.next = map(mask_secrets, (error.what, error.why, error.next))
    if as_json:
        text.write_output(sys.stderr, encode_compact(error.as_dict()) + "\n")
    else:
        text.write_output(sys.stderr, text.render_notes(error.notes) + text.render_error(error))
    return error.exit_code


def entry() -> None:
    """Run as a process and end it.

    Python's own shutdown takes an eighth of a cold command, and only a few modules need it.
    """
    exit_code = main()
    if not NEEDS_SHUTDOWN & sys.modules.keys():
        import os

        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except OSError:  # Python reports it, as usual
            sys.exit(exit_code)
        os._exit(exit_code)
    sys.exit(exit_code)
