"""A test project with records of every kind, whose texts contain markup and control characters."""

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
OPTIONS = {
    "P8": "--left driver=model --right driver=model",
    "R8": "",
    "R9": "",
    "R10": "",
    "R11": "hacked",
}  # options instead of those of the example, which do not suit this project
NOT_TEXT = (
    "done_when",
    "url",
    "run",
    "scope",
    "version",
    "contract",
    "protocol",
    "driver",
)  # options whose value must stay valid


def hostile(door):
    """Return a door that replaces every text by a hostile one."""

    def call(code, op_id=None, **given):
        command = find_command(code)
        return door(code, **{name: _text(command, name, value) for name, value in given.items()})

    return call


def _text(command, name, value):
    if name not in command.options or name in NOT_TEXT:
        return value
    field = fields.get_field(command, name)
    if name == "body":
        return LONG[: field.most]
    text = TEXTS.get(field.kind, value)
    return text[: field.most] if field.kind in ("line", "prose") else text


def record(door, root):
    """Add plain and hostile records of every kind, enough for long tables."""
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
    """Add a rejected factory run with a hostile request, spec, finding and change."""
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


def codes(format="html"):
    """Return the codes of the reports that have this format."""
    commands = [find_command(code) for code in COMMANDS]
    return [
        command.code
        for command in commands
        if "format" in command.options and format in fields.get_field(command, "format").choices
    ]


def words(code, **other):
    """Return the arguments of the example of a command, with these options replaced."""
    example = shlex.split(OPTIONS.get(code, find_command(code).example.partition(code)[2]))
    omitted = {"--" + name for name in (*other, "open")}
    remaining = [
        word
        for before, word in zip(["", *example], example, strict=False)
        if not {word, before} & omitted
    ]
    return [
        *remaining,
        *(word for name, value in other.items() for word in ("--" + name, str(value))),
    ]


def write_report(code, root, path, format="html"):
    """Write the report of the example of a command to `path`; return the path."""
    command = [sys.executable, str(ROOT / "kaizen.py"), code, *words(code, format=format, out=path)]
    process = subprocess.run(
        command, cwd=root, env={"KAIZEN_REPO_ROOT": str(root)}, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return path
