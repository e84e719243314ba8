"""Shell completion by click, for bash, zsh and fish; it also knows what our parser takes and click's own does not:
any case, names of two words, --json first, --option=value and --x-file."""

import os
from collections.abc import Callable

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from .. import fields
from ..errors import Usage
from ..index import COMMANDS, FAMILIES, NAMES, Command, find_code, join_split_name

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_KAIZEN_COMPLETE"
HOW = """\
kaizen completion SHELL prints a script for bash, zsh or fish:
  bash  eval "$(kaizen completion bash)"     in ~/.bashrc
  zsh   eval "$(kaizen completion zsh)"      in ~/.zshrc
  fish  kaizen completion fish | source      in ~/.config/fish/config.fish
"""
ZSH_FIRST = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"  # a bare zsh has no compdef


def render_script(shell: str, build: Callable[[Command], click.Command]) -> str:
    if shell not in SHELLS:
        raise Usage(
            "usage",
            "completion takes one of " + ", ".join(SHELLS) + ".",
            "",
            "`help completion` shows how.",
        )
    source = _build_completer(shell, build).source()
    return (
        source.replace("\n", "\n" + ZSH_FIRST, 1) if shell == "zsh" else source
    )  # its first line is for autoload


def answer_shell(build: Callable[[Command], click.Command]) -> str:
    """What a shell's script asks for."""
    shell, _, instruction = os.environ[VARIABLE].partition("_")
    if shell not in SHELLS or instruction not in ("source", "complete"):
        raise Usage("usage", f"{VARIABLE} is not understood.", "", "Unset it.")
    return (
        render_script(shell, build)
        if instruction == "source"
        else _build_completer(shell, build).complete()
    )


def _build_completer(shell: str, build: Callable[[Command], click.Command]) -> ShellComplete:
    kind = get_completion_class(shell)
    assert kind is not None

    class Completer(kind):  # type: ignore[valid-type, misc]
        def get_completions(self, args, incomplete):
            args = _normalize_words(args)
            option, equals, value = incomplete.partition("=")
            if (
                option[:2] == "--" and equals
            ):  # bash takes = for a word of its own, and never comes here
                found = super().get_completions([*args, option], value)
                return [
                    CompletionItem(f"{option}={item.value}")
                    for item in found
                    if item.type == "plain"
                ]
            return super().get_completions(args, incomplete) + _complete_file_options(
                args, incomplete
            )

    return Completer(_AllCommands(build), {}, "kaizen", VARIABLE)


def _normalize_words(args):
    """The words as our parser sees them; bash brings `--option = value`."""
    while args[:1] == ["--json"]:
        args = args[1:]
    return join_split_name(
        [word for at, word in enumerate(args) if word != "=" or args[at - 1][:2] != "--"]
    )


def _complete_file_options(args, incomplete):
    """--x-file for who has written --x; among all options they would be every second one."""
    code = find_code(args[0]) if args else None
    if code is None or incomplete[:2] != "--":
        return []
    command = Command(code)
    options = [
        fields.format_option(name)
        for name in command.options
        if incomplete.startswith(fields.format_option(name))
    ]
    long = [
        f"{option}-file"
        for option in options
        if fields.find_option(command, option[2:] + "-file")[1]
    ]
    return [CompletionItem(option) for option in long if option.startswith(incomplete)]


def complete_words(words, incomplete: str) -> list[CompletionItem]:
    """Those that begin so, in any case."""
    return [CompletionItem(word) for word in words if word.lower().startswith(incomplete.lower())]


class _AllCommands(click.Group):
    """Codes and names for the first word; click does the rest."""

    def __init__(self, build):
        super().__init__("kaizen")
        self._build = build

    def shell_complete(self, ctx, incomplete):
        return complete_words(
            [*COMMANDS, *NAMES, "help", "completion", "--help", "--json", "--version"], incomplete
        )

    def get_command(self, ctx, name):
        if name == "help":
            return click.Command(
                "help",
                params=[_build_word_argument("code", [*COMMANDS, *FAMILIES, *COMMANDS.values()])],
            )
        if name == "completion":
            return click.Command("completion", params=[_build_word_argument("shell", SHELLS)])
        code = find_code(name)
        return self._build(Command(code)) if code else None


def _build_word_argument(name, choices):
    return click.Argument(
        [name], shell_complete=lambda ctx, param, incomplete: complete_words(choices, incomplete)
    )
