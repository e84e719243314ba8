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
from ..index import (
    FAMILIES,
    Command,
    explain_unknown_command,
    find_code,
    find_command,
    join_split_name,
    load_commands,
)
from ..records.ledger.canonical import encode_compact
from ..records.secrets.excerpt import make_excerpt
from .schema import build_schema
from .text import measure_terminal, wrap_text, write_output

BOUND_SHOWN_MAX = 1_000_000  # larger ones are there to fit a column
ROOM_MIN = 16  # columns, below which the beginning of a sentence says nothing


def parse_with_click(argv: list[str]):
    """(command, given), or None when help was asked for and printed."""
    if "_KAIZEN_COMPLETE" in os.environ:
        return _print_completion(None)
    word, *rest = argv or ["--help"]
    if word in ("--help", "-h", "help", "--json"):
        return _print_help(
            join_split_name([one for one in rest if one not in ("--json", "--help", "-h")]),
            "--json" in argv,
        )
    if word == "--version":
        return _print_text(f"kaizen {__version__}", "--json" in argv)
    if word == "completion":
        return _print_completion([one for one in rest if one != "--json"], "--json" in argv)
    if word.upper() in FAMILIES and not find_code(word):
        return _print_help(
            [word, *(one for one in rest if one not in ("--json", "--help", "-h"))],
            "--json" in argv,
        )
    code = find_code(word)
    if code is None and word[:1] == "-":
        raise Usage(
            "usage",
            f"The command stands first, and {make_excerpt(word)} after it.",
            "",
            "`--help` lists the commands.",
        )
    if code is None:
        raise explain_unknown_command(word)
    return _parse_command(Command(code), rest)


def _parse_command(command, rest):
    rest, argv = _split_off_command(command, rest)
    _refuse_forgotten_value(command, rest)
    shell = build_click_command(command)
    try:
        context = shell.make_context(command.code, list(rest), resilient_parsing=False)
    except HelpRequested:
        return _print_help([command.code], "--json" in rest)
    except click.NoSuchOption as error:
        raise _explain_unknown_option(command, error.option_name) from None
    except click.UsageError as error:
        raise _explain_usage(command, error.format_message()) from None
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
                fields.read_shell_value(command, name, one, False) for one in values
            )
    bare = list(context.params.get("bare", ()))
    if not fields.assign_bare_words(command, given, bare):
        raise _explain_usage(
            command, f"It takes no word without an option: {make_excerpt(bare[0])!r}."
        )
    return command, given


def _split_off_command(command, words):
    """The words before `--run --`, and what stands after it."""
    for at, word in enumerate(words):
        if word == "--":
            break
        option, equals, _ = word.partition("=")
        if option[:2] == "--" and fields.takes_all_words(command, option[2:]):
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
        name, _ = fields.find_option(command, word[2:]) if word[:2] == "--" else (None, False)
        if name is None or fields.get_field(command, name).kind == "flag":
            continue
        value = next(words, "")
        if fields.is_known_option(command, value):
            raise Usage(
                "missing_value",
                f"{word} needs a value, and {value} is an option.",
                "",
                f"Write {word}={value} if that is really the text.",
            )


def build_click_command(command: Command) -> click.Command:
    """One command as click sees it: every option may repeat, so that giving one twice is noticed by us."""
    params: list[click.Parameter] = []
    for name in dict.fromkeys((*command.options, *fields.SHARED)):
        params += _build_click_options(command, name)
    params.append(_BareWords(["bare"], nargs=-1, type=click.UNPROCESSED))
    params.append(
        click.Option(
            ["--help", "-h"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_request_help,
            help="Help",
        )
    )
    return click.Command(command.code, params=params, add_help_option=False)


class HelpRequested(Exception):
    pass


def _request_help(context, option, asked):
    if asked and not context.resilient_parsing:
        raise HelpRequested


def _build_click_options(command, name):
    field = fields.get_field(command, name)
    if field.kind == "flag":
        return [click.Option([fields.format_option(name), name], count=True, help=field.help)]

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
            [fields.format_option(name), name],
            multiple=True,
            type=click.UNPROCESSED,
            help=field.help,
            shell_complete=complete,
        )
    ]
    if fields.find_option(command, name.replace("_", "-") + "-file")[1]:
        found.append(
            click.Option(
                [fields.format_option(name) + "-file", name + "__file"],
                multiple=True,
                type=click.UNPROCESSED,
                shell_complete=lambda ctx, param, incomplete: [
                    CompletionItem(incomplete, type="file")
                ],
                hidden=True,
            )
        )
    return found


class _BareWords(click.Argument):
    def make_metavar(self, *args, **kwargs) -> str:
        return ""


def render_command_help(command: Command) -> str:
    """One command's page: what it does, its own options with their choices, the shared ones in a line, the example."""
    lines = [*wrap_text("", f"{command.code} {command.name}: {command.help}", _measure_width()), ""]
    own = list(command.options)
    bare = [name for name in own if fields.get_field(command, name).bare]
    usage = " ".join(
        f"{fields.format_option(n)} {_format_metavar(command, n)}"
        for n in command.required
        if n not in bare
    )
    usage = " ".join(filter(None, (*(f'"{_format_metavar(command, n)}"' for n in bare), usage)))
    lines += [
        *wrap_text(
            "usage: ",
            f"kaizen {command.code} {usage} [options]".replace("  ", " "),
            _measure_width(),
        ),
        "",
    ]
    if own:
        rows = [(_format_label(command, name), _describe_option(command, name)) for name in own]
        lines += [*_format_columns(rows), ""]
    texts = [name for name in own if fields.get_field(command, name).kind in fields.TEXT_KINDS]
    if texts:
        prose = [name for name in texts if fields.get_field(command, name).kind == "prose"]
        long = fields.format_option("body" if "body" in texts else [*prose, *texts][0])
        lines += [
            *wrap_text(
                "",
                f"Text also comes from a file ({long}-file PATH) or from stdin ({long} -).",
                _measure_width(),
            ),
            "",
        ]
    shared = [name for name in fields.SHARED if name not in own]
    lines += _format_columns(
        [(_format_label(command, name), fields.SHARED[name].help) for name in shared]
    )
    lines += ["", "example:", f"  {command.example}"]
    return "\n".join(lines) + "\n"


def _format_metavar(command, name):
    field = fields.get_field(command, name)
    if field.choices:
        return "|".join(field.choices)
    return {"int": "N", "float": "X", "id": "ID", "ids": "ID", "time": "WHEN", "path": "PATH", "input": "PATH",
            "json": "JSON", "argv": "-- COMMAND…"}.get(field.kind, "TEXT")  # fmt: skip


def _format_label(command, name):
    field = fields.get_field(command, name)
    return fields.format_option(name) + (
        "" if field.kind == "flag" or field.choices else " " + _format_metavar(command, name)
    )


def _describe_option(command, name):
    field = fields.get_field(command, name)
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


def _format_columns(rows):
    label = max(len(row[0]) for row in rows) + 4
    return [
        line
        for head, text in rows
        for line in wrap_text(f"  {head}".ljust(label), text, _measure_width())
    ]


def _measure_width():
    return min(measure_terminal()[0], 110)


def render_overview() -> str:
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
        *_format_columns(usage),
        "",
    ]
    for family in FAMILIES:
        lines += [*render_family_help(family).splitlines(), ""]
    exits = "0 done, 1 refused, 2 usage, 3 not found, 4 conflict, 5 unavailable, 6 busy, 7 integrity, 70 bug."
    return "\n".join([*lines, *wrap_text("Exit codes: ", exits, _measure_width())]) + "\n"


def render_family_help(family: str) -> str:
    """A line for each command, so that a family fits on a screen; `kaizen help CODE` says the rest."""
    heads = {
        command: f"  {command.code.ljust(4)}{command.name}"
        for command in load_commands()
        if command.family == family
    }
    label = max(map(len, heads.values())) + 2
    room = _measure_width() - label
    lines = [
        head.ljust(label) + _shorten_sentence(command.help, room) if room >= ROOM_MIN else head
        for command, head in heads.items()
    ]
    return "\n".join([*wrap_text(f"{family}  ", FAMILIES[family], _measure_width()), *lines]) + "\n"


def _shorten_sentence(text, room):
    """As much of a sentence as fits in a line, up to the end of a part of it if that is not too little."""
    if len(text) <= room:
        return text
    end = max(text.rfind(mark, 0, room - 1) for mark in ("; ", ": ", ", "))
    return text[: end if end > room / 2 else text.rfind(" ", 0, room - 1)] + " …"


def _print_help(words, as_json=False):
    """All commands, a family, or one command; with --json as JSON Schema."""
    if len(words) > 1:
        raise Usage(
            "usage",
            "Help is about one command or one family.",
            "",
            f"Try `help {make_excerpt(words[0])}`.",
        )
    word = words[0] if words and words[0] != "help" else ""
    if word == "completion":
        return _print_completion(["--help"], as_json)
    family = word.upper() if word.upper() in FAMILIES and not find_code(word) else None
    if as_json:
        chosen = [find_command(word)] if word and not family else load_commands()
        chosen = [command for command in chosen if not family or command.family == family]
        return _print_text(
            encode_compact(
                {"status": "OK", "commands": [build_schema(command) for command in chosen]}
            )
        )
    if not word:
        return _print_text(render_overview())
    if family:
        return _print_text(
            render_family_help(family) + f"\n`kaizen help {family}1` shows one command.\n"
        )
    return _print_text(render_command_help(find_command(word)))


def _print_completion(words, as_json=False):
    """The script for a shell, how to use it, or what a script asks for."""
    from . import completion

    if words is None:
        return _print_text(completion.answer_shell(build_click_command))
    if words in (["--help"], ["-h"]):
        return _print_text(completion.HOW, as_json)
    return _print_text(
        completion.render_script(words[0] if len(words) == 1 else "", build_click_command), as_json
    )


def _print_text(text, as_json=False):
    text = encode_compact({"status": "OK", "text": text}) if as_json else text
    write_output(sys.stdout, text if text.endswith("\n") else text + "\n", changed=False)


def _explain_unknown_option(command, word):
    known = [
        fields.format_option(name) for name in dict.fromkeys((*command.options, *fields.SHARED))
    ]
    near = get_close_matches(word[:60], known, 2, 0.5)
    return Usage(
        "unknown_option",
        f"{command.code} {command.name} has no option {make_excerpt(word)}.",
        f"Did you mean {' or '.join(near)}?" if near else f"It takes {', '.join(known)}.",
        f"`help {command.code}` explains them.",
    )


def _explain_usage(command, message):
    return Usage(
        "usage",
        f"{command.code} {command.name}: {message}",
        "",
        f"`help {command.code}` shows how to call it.",
    )
