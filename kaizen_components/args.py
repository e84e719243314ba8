"""argv in, exit code out. The hot path: builtins, and what a record needs, and nothing else.

The fast parser knows exact codes or names, and exact option names. Whatever it does not know it leaves to the click
face, which explains. Both give the same thing: the command, and a dict of option name to the values given.
"""

import sys

from . import fields
from .call import Door
from .errors import Blocked, KaizenError, NotFound, Usage
from .faces import text
from .index import Command, find_code, join_split_name
from .records.ledger.canonical import encode_compact
from .records.secrets.scan import mask_secrets

HOOK_WORDS = (
    "D3",
    "HOOK",
)  # words that a host's settings call; a typo there must not exit 2, which blocks the host
NEEDS_SHUTDOWN = {"atexit", "threading", "profile"}  # the last is what cProfile loads


def parse_argv(argv):
    """(command, given) if every word is understood, else None."""
    code = find_code(argv[0]) if argv else None
    if code is None:
        return None
    command = Command(code)
    given: dict[str, list] = {}
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
            name, equals, value = word[2:].partition("=")
            name, from_file = fields.find_option(command, name)
            if name is None or (
                equals and fields.get_field(command, name).kind in ("flag", "argv")
            ):
                return None
            if fields.get_field(command, name).kind == "flag":
                value = True
            elif not equals:
                value = next(rest, None)
                if value is None or fields.is_known_option(command, value):
                    return None  # a forgotten value: click explains
            given.setdefault(name, []).append(
                fields.read_shell_value(command, name, value, from_file)
            )
        elif word[:1] == "-" and word != "-":
            return None
        else:
            bare.append(word)
    return (command, given) if fields.assign_bare_words(command, given, bare) else None


def main(argv=None) -> int:
    argv = sys.argv[1:] if argv is None else list(argv)
    as_json = "--json" in argv[: _count_own_words(argv)]
    given = len(argv)
    while len(argv) > 1 and argv[0] == "--json":  # allowed before the command too
        argv = argv[1:]
    asked = (
        ["--json"] if len(argv) < given and "--json" not in argv[: _count_own_words(argv)] else []
    )
    argv = join_split_name(argv)
    argv[1:1] = asked
    try:
        return _run_argv(argv, as_json)
    except KaizenError as error:
        exit_code = report_error(error, as_json)
        return (
            1 if isinstance(error, Usage) and argv and argv[0].upper() in HOOK_WORDS else exit_code
        )
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return report_error(_build_bug_report(error), as_json)


def _count_own_words(argv):
    """How many words are ours: what stands after `--run --` belongs to the command that is run."""
    return next(
        (at for at, word in enumerate(argv) if word == "--run" and argv[at + 1 : at + 2] == ["--"]),
        len(argv),
    )


def _run_argv(argv, as_json):
    parsed = parse_argv(argv)
    if parsed is None:
        parsed = _load_click_cli().parse_with_click(argv)
        if parsed is None:  # help or completion, and it is printed
            return 0
    command, given = parsed
    hook = (command.code in HOOK_WORDS or _read_format(command, given) == "hook") and not as_json
    try:
        result, notes = _perform_command(command, given)
    except KaizenError as error:
        if not hook or isinstance(error, (Usage, Blocked)):
            raise
        if not isinstance(
            error, NotFound
        ):  # a project without records, or no project at all, is nobody's concern
            report_error(error, False)
        return 0  # a hook never fails its host
    if as_json or _read_format(command, given) == "json":
        if notes:
            result["notes"] = notes
        text.write_output(sys.stdout, encode_compact(result) + "\n", command.writes)
    else:
        text.write_output(sys.stderr, "" if hook else text.render_notes(notes))
        text.write_output(sys.stdout, text.render_result(result, command), command.writes)
    return result.get("exit_code") or 0  # of a command that was run, or of a check that failed


def _perform_command(command, given):
    """(result, notes)"""
    door = Door()
    try:
        return door.run(command, given), door.store.notes
    except KaizenError as error:
        error.notes = door.store.notes
        raise
    finally:
        door.close()


def _read_format(command, given):
    """The --format of a command that prints its answer unless told otherwise; of no interest where it writes a file."""
    prints = command.defaults.get("format") in ("text", "md")
    return str(given.get("format", [""])[0]).lower() if prints else ""


def _load_click_cli():
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


def report_error(error, as_json) -> int:
    error.what, error.why, error.next = (
        mask_secrets(error.what),
        mask_secrets(error.why),
        mask_secrets(error.next),
    )
    if as_json:
        text.write_output(sys.stderr, encode_compact(error.as_dict()) + "\n")
    else:
        text.write_output(sys.stderr, text.render_notes(error.notes) + text.render_error(error))
    return error.exit_code


def _build_bug_report(error):
    import os

    if os.environ.get("KAIZEN_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    return KaizenError(
        "bug",
        "Kaizen failed in a way it should not.",
        f"{type(error).__name__}: {error}"[:500],
        "Run it again with KAIZEN_DEBUG=1 and report what it prints.",
    )


def entry() -> None:
    """Run as a process of its own, and end it. That Python takes itself apart is an eighth of a cold command, and of
    use only to what waits for it."""
    exit_code = main()
    if not NEEDS_SHUTDOWN & sys.modules.keys():
        import os

        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except OSError:  # Python says it, as ever
            sys.exit(exit_code)
        os._exit(exit_code)
    sys.exit(exit_code)
