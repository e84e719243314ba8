"""A project that reports are tried on: a record of every kind, whose texts try to be anything but text."""

import shlex
import subprocess
import sys

from kaizen_components import fields
from kaizen_components.index import COMMANDS, find_command
from support_scripts.every_kind import record_every_kind

from ..conftest import ROOT

LINE = (
    "<script>hacked=1</script><img src=x onerror=hacked=1>\"'>--></title></style>{{ 7*7 }}"
    " **b** `c` [l](javascript:hacked=1) | # h \x1b[31mred\x1b[0m \u202egnp.exe שלום"
)
PROSE = f"{LINE}\n</script></table>\n\n# No heading\n- [x] no list\n```\n1. {LINE}\n| a | b |\n|---|---|\n"
LONG = PROSE + "\u202eab<b>\x1b]0;t\x07" * 90_000  # about a megabyte
TEXTS = {"line": LINE, "prose": PROSE, "words": [LINE], "items": [LINE]}
ASKED = {"R8": "", "R9": "", "R10": "", "R11": "hacked"}  # whose examples ask for what this project does not have
NOT_TEXT = ("done_when", "url", "run", "scope", "version", "contract")  # have a meaning of their own


def hostile(door):
    """A door through which every text becomes a hostile one."""

    def call(code, op_id=None, **given):
        command = find_command(code)
        return door(code, **{name: _text(command, name, value) for name, value in given.items()})

    return call


def _text(command, name, value):
    if name not in command.options or name in NOT_TEXT:
        return value
    field = fields.field(command, name)
    if name == "body":
        return LONG[: field.most]
    text = TEXTS.get(field.kind, value)
    return text[: field.most] if field.kind in ("line", "prose") else text


def record(door, root):
    """Plain records and hostile ones of every kind, and enough of them that tables are long."""
    record_every_kind(door, root)
    record_every_kind(hostile(door), root)
    for number in range(12):
        door("Q1", run=["true" if number % 3 else "false"])
        door("W1", title=f"Task {number}", summary=LINE, actor="<b>somebody</b>")
        door("W2", id="@last", status="done", actor="<b>somebody</b>", note=LINE)
        door("I2", irl_id="@last", summary=LINE, probability=number / 12, deadline="+7d")
        door("I4", prediction_id="@last", outcome="happened" if number % 2 else "did-not-happen", summary=LINE)


def codes(format="html"):
    """The reports that can be had in this format."""
    commands = [find_command(code) for code in COMMANDS]
    return [one.code for one in commands if "format" in one.options and format in fields.field(one, "format").choices]


def words(code, **other):
    """The example of a command as words, with these options instead of its own."""
    asked = ASKED.get(code, find_command(code).example.partition(code)[2])
    example, kept = shlex.split(asked), []
    for at, word in enumerate(example):
        if not {word, example[at - 1] if at else ""} & {"--" + name for name in (*other, "open")}:
            kept.append(word)
    return [*kept, *(word for name, value in other.items() for word in ("--" + name, str(value)))]


def made(code, root, path, format="html"):
    """The report that the example of a command asks for, written to `path`."""
    command = [sys.executable, str(ROOT / "kaizen.py"), code, *words(code, format=format, out=path)]
    done = subprocess.run(command, cwd=root, env={"KAIZEN_REPO_ROOT": str(root)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path
