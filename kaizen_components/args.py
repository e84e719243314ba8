"""argv in, exit code out. The hot path: builtins, and what a record needs, and nothing else.

The fast parser knows exact codes or names, and exact option names. Whatever it does not know it leaves to the click
face, which explains. Both give the same thing: the command, and a dict of option name to the values given.
"""

import sys

from . import fields
from .call import Door, FromFile
from .errors import KaizenError
from .index import Command, code_of


def parse(argv):
    """(command, given) if every word is understood, else None."""
    code = code_of(argv[0]) if argv else None
    if code is None:
        return None
    command = Command(code)
    given, bare, rest = {}, [], iter(argv[1:])
    for word in rest:
        if word == "--":
            bare.extend(rest)
        elif word[:2] == "--":
            name, equals, value = word[2:].partition("=")
            name, from_file = known_option(command, name)
            if name is None or (fields.field(command, name).kind == "flag" and equals):
                return None
            if fields.field(command, name).kind == "flag":
                value = True
            elif not equals:
                value = next(rest, None)
                if value is None:
                    return None
            given.setdefault(name, []).append(FromFile(value) if from_file else value)
        elif word[:1] == "-" and word != "-":
            return None
        else:
            bare.append(word)
    return (command, given) if take_bare(command, given, bare) else None


def known_option(command, word):
    """(field name, is it the --x-file form) for the word after `--`, or (None, False)."""
    name = word.replace("-", "_")
    if "_" in word:
        return None, False
    if name in command.options or name in fields.SHARED:
        return name, False
    base = name[:-5]
    if name[-5:] == "_file" and base in command.options and fields.field(command, base).kind in fields.TEXT_KINDS:
        return base, True
    return None, False


def take_bare(command, given, bare):
    """Words without an option name go to the one field that takes them; False if there is none."""
    if not bare:
        return True
    for name in command.options:
        if fields.field(command, name).bare and name not in given:
            given[name] = [" ".join(bare)]
            return True
    return False


def main(argv=None) -> int:
    argv = sys.argv[1:] if argv is None else list(argv)
    as_json = "--json" in argv
    while len(argv) > 1 and argv[0] == "--json":  # allowed before the command too
        argv = [argv[1], "--json", *argv[2:]] if argv[1] != "--json" else argv[1:]
    try:
        return _run(argv, as_json)
    except KaizenError as error:
        return report(error, as_json)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return report(_bug(error), as_json)


def _run(argv, as_json):
    parsed = parse(argv)
    if parsed is None:
        from .faces import cli

        parsed = cli.parse(argv)
        if parsed is None:  # help or completion, and it is printed
            return 0
    command, given = parsed
    door = Door()
    try:
        result = door.run(command, given)
    except KaizenError as error:
        error.notes = door.store.notes
        raise
    finally:
        door.close()
    exit_code = result.pop("exit_code", 0)
    if as_json:
        from .records.canonical import compact

        if door.store.notes:
            result["notes"] = door.store.notes
        return write(sys.stdout, compact(result) + "\n") or exit_code
    from .faces import text

    write(sys.stderr, text.notes(door.store.notes))
    return write(sys.stdout, text.render(result, command)) or exit_code


def write(stream, output) -> int:
    """Print UTF-8 whatever the locale. A closed pipe is not an error; a full disk is one."""
    if stream is None or not output:
        return 0
    try:
        stream.buffer.write(output.encode("utf-8", "backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # or Python complains once more at exit
    except OSError as error:
        if stream is sys.stdout:
            from .errors import Unavailable

            raise Unavailable(
                "output_failed",
                "The command was carried out, but its answer could not be printed.",
                str(error.strerror),
                "Do not repeat it; ask for the record instead (`W9`, `W10 --id @last`).",
            ) from None
    return 0


def report(error, as_json) -> int:
    if as_json:
        from .records.canonical import compact

        fields_of_error = error.as_dict()
        if getattr(error, "notes", None):
            fields_of_error["notes"] = error.notes
        write(sys.stderr, compact(fields_of_error) + "\n")
    else:
        from .faces import text

        write(sys.stderr, text.notes(getattr(error, "notes", [])) + text.error(error))
    return error.exit_code


def _bug(error):
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
    """The `kaizen` script of an installed package."""
    sys.exit(main())
