"""The click face: help, completion, and an explanation for whatever the fast parser did not understand.

Derived from the index, the fields and the signatures; it declares nothing itself. `parse` gives exactly what the fast
parser gives, so both lead to the same door.
"""

import os
import sys
from difflib import get_close_matches
from typing import Any

import click
from click.shell_completion import CompletionItem

from .. import __version__, fields
from ..errors import Usage
from ..index import FAMILIES, Command, catalog, code_of, find_command, spelled, unknown_command
from ..records.ledger.canonical import compact
from ..records.secrets.excerpt import excerpt
from .schema import schema_of
from .text import terminal, wrap, write

BOUND_SHOWN_MAX = 1_000_000  # larger ones are there to fit a column
ROOM_MIN = 16  # columns, below which the beginning of a sentence says nothing


def parse(argv: list[str]):
    """(command, given), or None when help was asked for and printed."""
    if "_KAIZEN_COMPLETE" in os.environ:
        return _completion(None)
    word, *rest = argv or ["--help"]
    if word in ("--help", "-h", "help", "--json"):
        return _help(
            spelled([one for one in rest if one not in ("--json", "--help", "-h")]),
            "--json" in argv,
        )
    if word == "--version":
        return _print(f"kaizen {__version__}", "--json" in argv)
    if word == "completion":
        return _completion([one for one in rest if one != "--json"], "--json" in argv)
    if word.upper() in FAMILIES and not code_of(word):
        return _help(
            [word, *(one for one in rest if one not in ("--json", "--help", "-h"))],
            "--json" in argv,
        )
    code = code_of(word)
    if code is None and word[:1] == "-":
        raise Usage(
            "usage",
            f"The command stands first, and {excerpt(word)} after it.",
            "",
            "`--help` lists the commands.",
        )
    if code is None:
        raise unknown_command(word)
    return _parse_command(Command(code), rest)


def _parse_command(command, rest):
    rest, argv = _without_rest(command, rest)
    _refuse_forgotten_value(command, rest)
    shell = click_command(command)
    try:
        context = shell.make_context(command.code, list(rest), resilient_parsing=False)
    except HelpAsked:
        return _help([command.code], "--json" in rest)
    except click.NoSuchOption as error:
        raise _unknown_option(command, error.option_name) from None
    except click.UsageError as error:
        raise _usage(command, error.format_message()) from None
    given: dict[str, list[Any]] = argv
    for name, values in context.params.items():
        if name == "bare" or not values:
            continue
        if name.endswith("__file"):
            given.setdefault(name.removesuffix("__file"), []).extend(
                fields.FromFile(path) for path in values
            )
        else:
            values = [True] * values if isinstance(values, int) else values
            given.setdefault(name, []).extend(
                fields.shell_value(command, name, one, False) for one in values
            )
    bare = list(context.params.get("bare", ()))
    if not fields.take_bare(command, given, bare):
        raise _usage(command, f"It takes no word without an option: {excerpt(bare[0])!r}.")
    return command, given


def _without_rest(command, words):
    """The words before `--run --`, and what stands after it."""
    for at, word in enumerate(words):
        if word == "--":
            break
        option, equals, _ = word.partition("=")
        if option[:2] == "--" and fields.takes_rest(command, option[2:]):
            if equals or words[at + 1 : at + 2] != ["--"] or len(words) == at + 2:
                raise Usage(
                    "missing_value",
                    f"{option} needs -- and a command behind it.",
                    "All words after -- are the command's; our own options stand before.",
                    f"Write … {option} -- COMMAND [ARGUMENT]…",
                )
            return words[:at], {word[2:].replace("-", "_"): [words[at + 2 :]]}
    return words, {}


def _refuse_forgotten_value(command, rest):
    """`--note --json` forgot the note; click would take `--json` for it and record that."""
    words = iter(rest)
    for word in words:
        if word == "--":
            return
        name, _ = fields.known_option(command, word[2:]) if word[:2] == "--" else (None, False)
        if name is None or fields.field(command, name).kind == "flag":
            continue
        value = next(words, "")
        if fields.is_option(command, value):
            raise Usage(
                "missing_value",
                f"{word} needs a value, and {value} is an option.",
                "",
                f"Write {word}={value} if that is really the text.",
            )


def click_command(command: Command) -> click.Command:
    """One command as click sees it: every option may repeat, so that giving one twice is noticed by us."""
    params: list[click.Parameter] = []
    for name in dict.fromkeys((*command.options, *fields.SHARED)):
        params += _options(command, name)
    params.append(_Bare(["bare"], nargs=-1, type=click.UNPROCESSED))
    params.append(
        click.Option(
            ["--help", "-h"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_ask_for_help,
            help="Help",
        )
    )
    return click.Command(command.code, params=params, add_help_option=False)


class HelpAsked(Exception):
    pass


def _ask_for_help(context, option, asked):
    if asked and not context.resilient_parsing:
        raise HelpAsked


def _options(command, name):
    field = fields.field(command, name)
    if field.kind == "flag":
        return [click.Option([fields.option(name), name], count=True, help=field.help)]

    def complete(ctx, param, incomplete):
        if field.kind in ("path", "input"):
            return [CompletionItem(incomplete, type="file")]
        return [
            CompletionItem(choice)
            for choice in field.choices
            if choice.lower().startswith(incomplete.lower())
        ]

    found = [
        click.Option(
            [fields.option(name), name],
            multiple=True,
            type=click.UNPROCESSED,
            help=field.help,
            shell_complete=complete,
        )
    ]
    if fields.known_option(command, name.replace("_", "-") + "-file")[1]:
        found.append(
            click.Option(
                [fields.option(name) + "-file", name + "__file"],
                multiple=True,
                type=click.UNPROCESSED,
                shell_complete=lambda ctx, param, incomplete: [
                    CompletionItem(incomplete, type="file")
                ],
                hidden=True,
            )
        )
    return found


class _Bare(click.Argument):
    def make_metavar(self, *args, **kwargs) -> str:
        return ""


def help_of(command: Command) -> str:
    """One command's page: what it does, its own options with their choices, the shared ones in a line, the example."""
    lines = [*wrap("", f"{command.code} {command.name}: {command.help}", _width()), ""]
    own = list(command.options)
    bare = [name for name in own if fields.field(command, name).bare]
    usage = " ".join(
        f"{fields.option(n)} {_metavar(command, n)}" for n in command.required if n not in bare
    )
    usage = " ".join(filter(None, (*(f'"{_metavar(command, n)}"' for n in bare), usage)))
    lines += [
        *wrap("usage: ", f"kaizen {command.code} {usage} [options]".replace("  ", " "), _width()),
        "",
    ]
    if own:
        rows = [(_label(command, name), _explained(command, name)) for name in own]
        lines += [*_columns(rows), ""]
    texts = [name for name in own if fields.field(command, name).kind in fields.TEXT_KINDS]
    if texts:
        prose = [name for name in texts if fields.field(command, name).kind == "prose"]
        long = fields.option("body" if "body" in texts else [*prose, *texts][0])
        lines += [
            *wrap(
                "",
                f"Text also comes from a file ({long}-file PATH) or from stdin ({long} -).",
                _width(),
            ),
            "",
        ]
    shared = [name for name in fields.SHARED if name not in own]
    lines += _columns([(_label(command, name), fields.SHARED[name].help) for name in shared])
    lines += ["", "example:", f"  {command.example}"]
    return "\n".join(lines) + "\n"


def _metavar(command, name):
    field = fields.field(command, name)
    if field.choices:
        return "|".join(field.choices)
    return {"int": "N", "float": "X", "id": "ID", "ids": "ID", "time": "WHEN", "path": "PATH", "input": "PATH",
            "json": "JSON", "argv": "-- COMMAND…"}.get(field.kind, "TEXT")  # fmt: skip


def _label(command, name):
    field = fields.field(command, name)
    return fields.option(name) + (
        "" if field.kind == "flag" or field.choices else " " + _metavar(command, name)
    )


def _explained(command, name):
    field = fields.field(command, name)
    default = command.defaults.get(name)
    parts = [field.help]
    if field.choices:
        parts.append("one of " + ", ".join(field.choices))
    if field.kind in ("line", "prose", "words", "items") and field.most:
        parts.append(f"up to {field.most:,} characters")
    if field.kind == "int" and field.most <= BOUND_SHOWN_MAX:
        parts.append(f"{field.least} to {field.most}")
    if name in command.required:
        parts.append("required")
    elif default not in (None, False, (), "-"):
        parts.append(f"{default} unless told")
    return "; ".join(parts)


def _columns(rows):
    label = max(len(row[0]) for row in rows) + 4
    return [line for head, text in rows for line in wrap(f"  {head}".ljust(label), text, _width())]


def _width():
    return min(terminal()[0], 110)


def overview() -> str:
    usage = [
        ("kaizen CODE [options]", "the code or its name, in any case: W1, task-start"),
        ("kaizen help CODE", "one command with its options and an example"),
        ('kaizen K0 "plain words"', "find the command for what you want to do"),
        ("kaizen completion bash", "shell completion (bash, zsh, fish)"),
    ]
    lines = [
        "Kaizen: the local system of record for AI coding agents.",
        "",
        "usage:",
        *_columns(usage),
        "",
    ]
    for family in FAMILIES:
        lines += [*family_help(family).splitlines(), ""]
    exits = "0 done, 1 refused, 2 usage, 3 not found, 4 conflict, 5 unavailable, 6 busy, 7 integrity, 70 bug."
    return "\n".join([*lines, *wrap("Exit codes: ", exits, _width())]) + "\n"


def family_help(family: str) -> str:
    """A line for each command, so that a family fits on a screen; `kaizen help CODE` says the rest."""
    heads = {
        command: f"  {command.code.ljust(4)}{command.name}"
        for command in catalog()
        if command.family == family
    }
    label = max(map(len, heads.values())) + 2
    room = _width() - label
    lines = [
        head.ljust(label) + _beginning(command.help, room) if room >= ROOM_MIN else head
        for command, head in heads.items()
    ]
    return "\n".join([*wrap(f"{family}  ", FAMILIES[family], _width()), *lines]) + "\n"


def _beginning(text, room):
    """As much of a sentence as fits in a line, up to the end of a part of it if that is not too little."""
    if len(text) <= room:
        return text
    end = max(text.rfind(mark, 0, room - 1) for mark in ("; ", ": ", ", "))
    return text[: end if end > room / 2 else text.rfind(" ", 0, room - 1)] + " …"


def _help(words, as_json=False):
    """All commands, a family, or one command; with --json as JSON Schema."""
    if len(words) > 1:
        raise Usage(
            "usage",
            "Help is about one command or one family.",
            "",
            f"Try `help {excerpt(words[0])}`.",
        )
    word = words[0] if words and words[0] != "help" else ""
    if word == "completion":
        return _completion(["--help"], as_json)
    family = word.upper() if word.upper() in FAMILIES and not code_of(word) else None
    if as_json:
        chosen = [find_command(word)] if word and not family else catalog()
        chosen = [command for command in chosen if not family or command.family == family]
        return _print(
            compact({"status": "OK", "commands": [schema_of(command) for command in chosen]})
        )
    if not word:
        return _print(overview())
    if family:
        return _print(family_help(family) + f"\n`kaizen help {family}1` shows one command.\n")
    return _print(help_of(find_command(word)))


def _completion(words, as_json=False):
    """The script for a shell, how to use it, or what a script asks for."""
    from . import completion

    if words is None:
        return _print(completion.answer(click_command))
    if words in (["--help"], ["-h"]):
        return _print(completion.HOW, as_json)
    return _print(completion.script(words[0] if len(words) == 1 else "", click_command), as_json)


def _print(text, as_json=False):
    text = compact({"status": "OK", "text": text}) if as_json else text
    write(sys.stdout, text if text.endswith("\n") else text + "\n", changed=False)


def _unknown_option(command, word):
    known = [fields.option(name) for name in dict.fromkeys((*command.options, *fields.SHARED))]
    near = get_close_matches(word[:60], known, 2, 0.5)
    return Usage(
        "unknown_option",
        f"{command.code} {command.name} has no option {excerpt(word)}.",
        f"Did you mean {' or '.join(near)}?" if near else f"It takes {', '.join(known)}.",
        f"`help {command.code}` explains them.",
    )


def _usage(command, message):
    return Usage(
        "usage",
        f"{command.code} {command.name}: {message}",
        "",
        f"`help {command.code}` shows how to call it.",
    )
