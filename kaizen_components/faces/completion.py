"""Complete words in bash, zsh and fish, with click.

It also completes what our parser accepts and click's does not: any case, names of two words,
--json first, --option=value and --x-file.
"""

import os
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from .. import fields
from ..errors import Usage
from ..index import COMMANDS, FAMILIES, NAMES, Command, find_code, join_split_name
from ..records.secrets.excerpt import make_excerpt

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_KAIZEN_COMPLETE"
HOW = """\
kaizen completion SHELL prints a script for bash, zsh or fish:
  bash  eval "$(kaizen completion bash)"     in ~/.bashrc
  zsh   eval "$(kaizen completion zsh)"      in ~/.zshrc
  fish  kaizen completion fish | source      in ~/.config/fish/config.fish
"""
# zsh has no compdef before compinit.
ZSH_FIRST = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"


Build = Callable[[Command], click.Command]


def render_script(shell: str, build: Build) -> str:
    """Return the completion script for a shell."""
    if shell not in SHELLS:
        what = f"completion takes one of {', '.join(SHELLS)}."
        raise Usage(
            "usage",
            what,
            "Kaizen has completion scripts for these shells only.",
            "`help completion` shows how to use it.",
        )
    source = build_completer(shell, build).source()
    if shell == "zsh":  # the first line must stay first, for autoload
        source = source.replace("\n", "\n" + ZSH_FIRST, 1)
    return source


def answer_shell(build: Build) -> str:
    """Answer the request of a completion script, which is in the environment."""
    shell, _, instruction = os.environ[VARIABLE].partition("_")
    if shell not in SHELLS or instruction not in ("source", "complete"):
        what = f"{VARIABLE} is {make_excerpt(os.environ[VARIABLE])!r}, which is not valid."
        why = "A completion script sets it to a shell and an action, such as bash_complete."
        raise Usage("usage", what, why, "Unset the variable.")
    if instruction == "source":
        return render_script(shell, build)
    return build_completer(shell, build).complete()


def build_completer(shell: str, build: Build) -> ShellComplete:
    """Return click's completer for the shell, extended by what only our parser accepts."""
    kind = get_completion_class(shell)
    assert kind is not None

    class Completer(kind):  # type: ignore[valid-type, misc]
        def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
            while args[:1] == ["--json"]:
                args = args[1:]
            # bash splits `--option=value` into three words
            words = [
                word for at, word in enumerate(args) if word != "=" or args[at - 1][:2] != "--"
            ]
            args = join_split_name(words)
            option, equals, value = incomplete.partition("=")
            if option[:2] != "--" or not equals:
                items = super().get_completions(args, incomplete)
                return items + complete_file_options(args, incomplete)
            items = super().get_completions([*args, option], value)
            return [
                CompletionItem(f"{option}={item.value}") for item in items if item.type == "plain"
            ]

    return Completer(AllCommands(build), {}, "kaizen", VARIABLE)


def complete_file_options(args: list[str], incomplete: str) -> list[CompletionItem]:
    """Return --x-file only after --x is typed; in the list of all options it would be noise."""
    code = find_code(args[0]) if args else None
    if code is None or incomplete[:2] != "--":
        return []
    command, items = Command(code), []
    for name in command.options:
        option = fields.format_option(name)
        if not incomplete.startswith(option) or not f"{option}-file".startswith(incomplete):
            continue
        if fields.find_option(command, f"{option[2:]}-file")[1]:
            items.append(CompletionItem(f"{option}-file"))
    return items


def complete_words(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the words that begin like `incomplete`, in any case."""
    return [CompletionItem(word) for word in words if word.lower().startswith(incomplete.lower())]


class AllCommands(click.Group):
    """Codes and names for the first word; click does the rest."""

    def __init__(self, build: Build) -> None:
        super().__init__("kaizen")
        self._build = build

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        words = [*COMMANDS, *NAMES, "help", "completion", "--help", "--json", "--version"]
        return complete_words(words, incomplete)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in ("help", "completion"):
            codes = [*COMMANDS, *FAMILIES, *COMMANDS.values()]
            words = codes if name == "help" else SHELLS
            argument = click.Argument(
                ["word"],
                shell_complete=lambda ctx, param, incomplete: complete_words(words, incomplete),
            )
            return click.Command(name, params=[argument])
        code = find_code(name)
        return self._build(Command(code)) if code else None
