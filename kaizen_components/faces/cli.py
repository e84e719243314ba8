"""The click face: help, completion, and an explanation of what the fast parser did not understand.

Derived from the index, the fields and the signatures; it declares nothing itself.
`parse_with_click` returns exactly what the fast parser returns, so both lead to the same door.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
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

BOUND_SHOWN_MAX = 1_000_000  # larger limits only protect the database; help omits them
METAVARS = {
    "int": "N",
    "float": "X",
    "id": "ID",
    "ids": "ID",
    "time": "WHEN",
    "path": "PATH",
    "input": "PATH",
    "json": "JSON",
    "argv": "-- COMMAND…",
}
ROOM_MIN = 16  # columns; fewer cannot show a useful beginning of a sentence
Parsed = tuple[Command, dict[str, list[Any]]]


def parse_with_click(argv: list[str]) -> Parsed | None:
    """Return the command and its raw values; print help and return None if help is requested."""
    word, *rest = argv or ["--help"]
    as_json = "--json" in argv
    topics = [item for item in rest if item not in ("--json", "--help", "-h")]
    code = find_code(word)
    if "_KAIZEN_COMPLETE" in os.environ:
        from .completion import answer_shell

        print_text(answer_shell(build_click_command))
        return None
    if word in ("--help", "-h", "help", "--json"):
        print_help(join_split_name(topics), as_json)
        return None
    if word == "--version":
        print_text(f"kaizen {__version__}", as_json)
        return None
    if word == "completion":
        print_completion([item for item in rest if item != "--json"], as_json)
        return None
    if code is None and word.upper() in FAMILIES:
        print_help([word, *topics], as_json)
        return None
    if code is None and word[:1] == "-":
        what = f"The command must come before {make_excerpt(word)}."
        why = "A call begins with a command."
        raise Usage("usage", what, why, "`--help` lists the commands.")
    if code is None:
        raise explain_unknown_command(word)
    return parse_command(Command(code), rest)


def parse_command(command: Command, rest: list[str]) -> Parsed | None:
    """Parse the words after the command with click; raise Usage with an explanation."""
    given: dict[str, list[Any]] = {}
    for position, word in enumerate(rest):
        option, equals, _ = word.partition("=")
        if word == "--":
            break
        if option[:2] == "--" and fields.takes_all_words(command, option[2:]):
            if equals or rest[position + 1 : position + 2] != ["--"] or len(rest) == position + 2:
                raise Usage(
                    "missing_value",
                    f"{option} needs -- and then a command.",
                    "All words after -- belong to the command, so options of Kaizen come before it.",
                    f"Write … {option} -- COMMAND [ARGUMENT]…",
                )
            given[word[2:].replace("-", "_")] = [rest[position + 2 :]]
            rest = rest[:position]
            break
    refuse_missing_value(command, rest)
    shell = build_click_command(command)
    try:
        context = shell.make_context(command.code, list(rest), resilient_parsing=False)
    except HelpRequested:
        print_help([command.code], "--json" in rest)
        return None
    except click.NoSuchOption as error:
        names = dict.fromkeys((*command.options, *fields.SHARED))
        options = [fields.format_option(name) for name in names]
        close = get_close_matches(error.option_name[:60], options, 2, 0.5)
        option = make_excerpt(error.option_name)
        raise Usage(
            "unknown_option",
            f"{command.code} {command.name} has no option {option}.",
            f"Did you mean {' or '.join(close)}?" if close else f"It takes {', '.join(options)}.",
            f"`help {command.code}` explains the options.",
        ) from None
    except click.UsageError as error:
        raise explain_usage(command, error.format_message()) from None
    for name, values in context.params.items():
        if name == "bare" or not values:
            continue
        if name.endswith("__file"):
            files = [fields.FromFile(path) for path in values]
            given.setdefault(name.removesuffix("__file"), []).extend(files)
        else:
            values = [True] * values if isinstance(values, int) else values
            given.setdefault(name, []).extend(
                fields.read_shell_value(command, name, text, False) for text in values
            )
    bare_words = list(context.params.get("bare", ()))
    if not fields.assign_bare_words(command, given, bare_words):
        problem = f"the word {make_excerpt(bare_words[0])!r} needs an option before it."
        raise explain_usage(command, problem)
    return command, given


def refuse_missing_value(command: Command, rest: list[str]) -> None:
    """Refuse `--note --json`: click would take `--json` for the note and record that."""
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
                f"{word} needs a value, but {value} is an option.",
                "A word that begins with -- is read as an option.",
                f"Write {word}={value} if that is really the text.",
            )


def build_click_command(command: Command) -> click.Command:
    """Return the click command. Options may repeat in it; `bind_options` refuses a second value."""
    params: list[click.Parameter] = []
    for name in dict.fromkeys((*command.options, *fields.SHARED)):
        field, option = fields.get_field(command, name), fields.format_option(name)
        if field.kind == "flag":
            params.append(click.Option([option, name], count=True, help=field.help))
            continue
        is_path = field.kind in ("path", "input")
        params.append(
            click.Option(
                [option, name],
                multiple=True,
                type=click.UNPROCESSED,
                help=field.help,
                shell_complete=complete_file if is_path else complete_choice(field.choices),
            )
        )
        if fields.find_option(command, option[2:] + "-file")[1]:
            params.append(
                click.Option(
                    [f"{option}-file", f"{name}__file"],
                    multiple=True,
                    type=click.UNPROCESSED,
                    shell_complete=complete_file,
                    hidden=True,
                )
            )
    params.append(BareWords(["bare"], nargs=-1, type=click.UNPROCESSED))

    def request_help(context: click.Context, option: click.Parameter, is_given: bool) -> None:
        if is_given and not context.resilient_parsing:
            raise HelpRequested

    params.append(
        click.Option(
            ["--help", "-h"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=request_help,
            help="Help",
        )
    )
    return click.Command(command.code, params=params, add_help_option=False)


def complete_file(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def complete_choice(choices: Sequence[str]) -> Callable[..., list[CompletionItem]]:
    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        begin = incomplete.lower()
        return [CompletionItem(choice) for choice in choices if choice.lower().startswith(begin)]

    return complete


class HelpRequested(Exception):
    pass


class BareWords(click.Argument):
    def make_metavar(self, *args: Any, **kwargs: Any) -> str:
        return ""


def render_command_help(command: Command) -> str:
    """Return a command's page: what it does, its options with their choices, an example."""
    options = list(command.options)
    width = measure_width()
    usage = [f'"{format_metavar(command, name)}"' for name in options if is_bare(command, name)]
    usage += [
        f"{fields.format_option(name)} {format_metavar(command, name)}"
        for name in command.required
        if not is_bare(command, name)
    ]
    lines = [
        *wrap_text("", f"{command.code} {command.name}: {command.help}", width),
        "",
        *wrap_text("usage: ", " ".join(["kaizen", command.code, *usage, "[options]"]), width),
        "",
    ]
    if options:
        rows = [(format_label(command, name), describe_option(command, name)) for name in options]
        lines += [*format_columns(rows), ""]
    kinds = {name: fields.get_field(command, name).kind for name in options}
    texts = [name for name in options if kinds[name] in fields.TEXT_KINDS]
    if texts:
        prose = [name for name in texts if kinds[name] == "prose"]
        option = fields.format_option("body" if "body" in texts else [*prose, *texts][0])
        hint = f"Text also comes from a file ({option}-file PATH) or from stdin ({option} -)."
        lines += [*wrap_text("", hint, width), ""]
    shared = [name for name in fields.SHARED if name not in options]
    lines += format_columns(
        [(format_label(command, name), fields.SHARED[name].help) for name in shared]
    )
    lines += ["", "example:", f"  {command.example}"]
    return "\n".join(lines) + "\n"


def is_bare(command: Command, name: str) -> bool:
    return fields.get_field(command, name).bare


def format_metavar(command: Command, name: str) -> str:
    field = fields.get_field(command, name)
    return "|".join(field.choices) if field.choices else METAVARS.get(field.kind, "TEXT")


def format_label(command: Command, name: str) -> str:
    field = fields.get_field(command, name)
    option = fields.format_option(name)
    if field.kind == "flag" or field.choices:
        return option
    return f"{option} {format_metavar(command, name)}"


def describe_option(command: Command, name: str) -> str:
    """Return an option's help with its choices, limits and default."""
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
        parts.append(f"default: {default}")
    return "; ".join(parts)


def format_columns(rows: list[tuple[str, str]]) -> list[str]:
    label = max(len(row[0]) for row in rows) + 4
    return [
        line
        for head, text in rows
        for line in wrap_text(f"  {head}".ljust(label), text, measure_width())
    ]


def measure_width() -> int:
    return min(measure_terminal()[0], 110)


def render_overview() -> str:
    """Return the page of `kaizen --help`: every command by family, and the exit codes."""
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
        *format_columns(usage),
        "",
    ]
    for family in FAMILIES:
        lines += [*render_family_help(family).splitlines(), ""]
    exits = "0 done, 1 refused, 2 usage, 3 not found, 4 conflict, 5 unavailable, 6 busy, "
    exits += "7 integrity, 70 bug."
    return "\n".join([*lines, *wrap_text("Exit codes: ", exits, measure_width())]) + "\n"


def render_family_help(family: str) -> str:
    """Return a line for each command, so that a family fits on a screen."""
    heads = {
        command: f"  {command.code.ljust(4)}{command.name}"
        for command in load_commands()
        if command.family == family
    }
    label = max(map(len, heads.values())) + 2
    room = measure_width() - label
    lines = []
    for command, head in heads.items():
        text = command.help
        if len(text) > room:  # cut at a comma or colon in the second half of the line
            end = max(text.rfind(mark, 0, room - 1) for mark in ("; ", ": ", ", "))
            text = text[: end if end > room / 2 else text.rfind(" ", 0, room - 1)] + " …"
        lines.append(head.ljust(label) + text if room >= ROOM_MIN else head)
    return "\n".join([*wrap_text(f"{family}  ", FAMILIES[family], measure_width()), *lines]) + "\n"


def print_help(words: list[str], as_json: bool = False) -> None:
    """Print all commands, a family, or one command; with --json as JSON Schema."""
    if len(words) > 1:
        what = "`help` takes one command or one family."
        raise Usage(
            "usage",
            what,
            f"{len(words)} words were given.",
            f"Try `help {make_excerpt(words[0])}`.",
        )
    word = words[0] if words and words[0] != "help" else ""
    family = word.upper() if word.upper() in FAMILIES and not find_code(word) else None
    if word == "completion":
        print_completion(["--help"], as_json)
    elif as_json:
        commands = [find_command(word)] if word and not family else load_commands()
        commands = [command for command in commands if not family or command.family == family]
        schemas = [build_schema(command) for command in commands]
        print_text(encode_compact({"status": "OK", "commands": schemas}))
    elif family:
        hint = f"\n`kaizen help {family}1` shows one command.\n"
        print_text(render_family_help(family) + hint)
    else:
        print_text(render_command_help(find_command(word)) if word else render_overview())


def print_completion(words: list[str], as_json: bool = False) -> None:
    """Print the script for a shell, or how to use it."""
    from . import completion

    if words in (["--help"], ["-h"]):
        print_text(completion.HOW, as_json)
    else:
        shell = words[0] if len(words) == 1 else ""
        print_text(completion.render_script(shell, build_click_command), as_json)


def print_text(text: str, as_json: bool = False) -> None:
    text = encode_compact({"status": "OK", "text": text}) if as_json else text
    write_output(sys.stdout, text if text.endswith("\n") else text + "\n", has_changed=False)


def explain_usage(command: Command, message: str) -> Usage:
    return Usage(
        "usage",
        f"{command.code} {command.name}: {message}",
        "The words do not fit the options of this command.",
        f"`help {command.code}` shows how to call it.",
    )
