"""Make a demo project with Kaizen's commands: six weeks of a small team, equal in every run.

    python support_scripts/demo.py FOLDER

FOLDER then has records (AI/db), a few files that lessons name, a launcher and its weekly report. For an
existing demo it only prints how to look around.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from demo_lives import list_lives
from demo_stage import ROOT, Stage
from demo_work import Team

WEEK = "2026-W46"  # the last complete week of the demo
PAGE = "weekly.html"
LAUNCHER = "kaizen.py"
LAUNCHER_TEXT = """\
# Kaizen on this demo, with the engine that made it.
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
os.environ["KAIZEN_REPO_ROOT"] = here
sys.path.insert(0, os.path.normpath(os.path.join(here, {engine!r})))
from kaizen_components.args import entry

entry()
"""


def main(argv: list[str]) -> int:
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a console that has no "–"
    if len(argv) != 1 or argv[0].startswith("-"):
        print(__doc__)
        return 0 if argv in (["-h"], ["--help"]) else 2
    folder = pathlib.Path(argv[0])
    if folder.exists() and not is_demo(folder):
        problem = f"{folder} exists and is not the demo: name a folder that does not exist yet."
        print(problem, file=sys.stderr)
        return 1
    is_there = is_demo(folder)
    print(f"The demo is there already: {folder}" if is_there else wrap_text(make_demo(folder)))
    here = os.path.join(os.getcwd(), "")
    look = [path.removeprefix(here) for path in (sys.executable, str(folder / LAUNCHER))]
    typed = " ".join(f'"{path}"' if " " in path else path for path in look)
    print(f"\nOpen {folder / PAGE} in a browser, or look around:\n$ {typed} W9")
    return 0


def wrap_text(text: str) -> str:
    """Wrap sentences for a terminal of 80 columns; numbers stay aligned."""
    lines = text.split("\n")
    return "\n".join(line if line.startswith(" ") else textwrap.fill(line, 79) for line in lines)


def is_demo(folder: pathlib.Path) -> bool:
    return (folder / "AI" / "db" / "kaizen.db").exists() and (folder / PAGE).exists()


def make_demo(folder: pathlib.Path) -> str:
    """Make the demo with its report and launcher; return the report as text.

    Make it in a temporary folder and then move it, so that no incomplete demo is left behind.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = pathlib.Path(tempfile.mkdtemp(prefix=".demo-", dir=folder.parent))
    try:
        with Stage(temporary) as stage:
            play_demo(stage)
            report = show_report(stage)
        write_file(temporary / LAUNCHER, LAUNCHER_TEXT.format(engine=os.path.relpath(ROOT, folder)))
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return report


def play_demo(stage: Stage) -> None:
    """Make the project's files and its records."""
    team = Team(stage)
    for name, text in team.text["file"].items():
        write_file(stage.root / name, text)
    stage.play(*list_lives(team))


def show_report(stage: Stage) -> str:
    """Write the weekly report as a page, and return it as text."""
    report = stage.call("lead", "R8", out=str(stage.root / PAGE), timezone="UTC", week=WEEK)["text"]
    return report.partition("\n\nHTML: ")[0]


def write_file(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
