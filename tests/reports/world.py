"""A project for report tests: records of every kind, with markup and control codes as texts."""

import json
import os
import shlex
import subprocess
import sys
from unittest import mock

from kaizen_components import fields
from kaizen_components.index import COMMANDS, find_command
from support_scripts.every_kind import record_every_kind

from ..conftest import ROOT
from ..pipeline import factory

LINE = (
    "<script>hacked=1</script><img src=x onerror=hacked=1>\"'>--></title></style>{{ 7*7 }}"
    " **b** `c` [l](javascript:hacked=1) | # h \x1b[31mred\x1b[0m \u202egnp.exe שלום"
)
PROSE = f"{LINE}\n</script></table>\n\n# No heading\n- [x] no list\n```\n1. {LINE}\n| a | b |\n|---|---|\n"
LONG = PROSE + "\u202eab<b>\x1b]0;t\x07" * 90_000  # about a megabyte
TEXTS = {"line": LINE, "prose": PROSE, "words": [LINE], "items": [LINE]}
EXAMPLES = {
    "P8": "--left driver=model --right driver=model",
    "R8": "",
    "R9": "",
    "R10": "",
    "R11": "hacked",
}  # instead of examples that need records this project does not have
NOT_TEXT = (
    "done_when",
    "url",
    "run",
    "scope",
    "version",
    "contract",
    "protocol",
    "driver",
)  # options whose values must stay valid


def hostile(door):
    """Return a door that replaces every text option with a hostile text."""

    def call(code, op_id=None, **options):
        command = find_command(code)
        return door(
            code, **{name: _replace_text(command, name, value) for name, value in options.items()}
        )

    return call


def _replace_text(command, name, value):
    if name not in command.options or name in NOT_TEXT:
        return value
    field = fields.get_field(command, name)
    if name == "body":
        return LONG[: field.most]
    text = TEXTS.get(field.kind, value)
    return text[: field.most] if field.kind in ("line", "prose") else text


def record(door, root):
    """Add plain and hostile records of every kind, enough to make the tables long."""
    record_every_kind(door, root)
    record_every_kind(hostile(door), root)
    record_run(door, root)
    for number in range(12):
        door("Q1", run=["true" if number % 3 else "false"])
        door("W1", title=f"Task {number}", summary=LINE, actor="<b>somebody</b>")
        door("W2", id="@last", status="done", actor="<b>somebody</b>", note=LINE)
        door("I2", irl_id="@last", summary=LINE, probability=number / 12, deadline="+7d")
        door(
            "I4",
            prediction_id="@last",
            outcome="happened" if number % 2 else "did-not-happen",
            summary=LINE,
        )


def record_run(door, root):
    """Run the factory with a hostile request, spec and change; the reviewer rejects it."""
    request = f"add a /health endpoint {LINE}"
    spec = {"title": LINE[:120], "criteria": [{"id": "C1", "text": request}], "constraints": [LINE]}
    route = factory.ROUTE + "".join(f"# {line}\n" for line in PROSE.split("\n"))
    review = {"verdict": "reject", "reasons": [{"criterion": "<b>C1</b>", "text": LINE}]}
    model = factory.Model(
        plan=[json.dumps(spec)], build=[factory.whole("app/<img src=x>.py", "def (:\n"), factory.main_with(route)],
        review=[json.dumps(review)],
    )  # fmt: skip
    repo = factory.target(root / "targetapp", factory.QUICK)
    with (
        factory.server(model) as serving,
        mock.patch.dict(os.environ, factory.environment(serving.url)),
    ):
        return door("P1", request=request, repo=str(repo), python=sys.executable)


def list_codes(format="html"):
    """Return the codes of the reports that have this format."""
    commands = [find_command(code) for code in COMMANDS]
    return [
        command.code
        for command in commands
        if "format" in command.options and format in fields.get_field(command, "format").choices
    ]


def build_arguments(code, **overrides):
    """Return the arguments of a command's example, with these options overridden."""
    line = EXAMPLES.get(code, find_command(code).example.partition(code)[2])
    example, arguments = shlex.split(line), []
    for at, word in enumerate(example):
        if not {word, example[at - 1] if at else ""} & {
            "--" + name for name in (*overrides, "open")
        }:
            arguments.append(word)
    return [
        *arguments,
        *(word for name, value in overrides.items() for word in ("--" + name, str(value))),
    ]


def write_report(code, root, path, format="html"):
    """Write the report of a command's example to `path`, in a process of its own."""
    command = [
        sys.executable,
        str(ROOT / "kaizen.py"),
        code,
        *build_arguments(code, format=format, out=path),
    ]
    done = subprocess.run(
        command, cwd=root, env={"KAIZEN_REPO_ROOT": str(root)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return path
