"""The minimal shape of a repository that uses this engine: which files, and what is in them."""

from dataclasses import dataclass
from typing import Protocol

from ...records.lessons.stub import TITLES, render_new_stub
from . import engine
from .folder import Folder
from .parts import Entry, OwnFile, SkillLink, Step, hooks, lines
from .state import HOSTS, ORIGINALS, State

IGNORED = ("/AI/", "/.venv", "__pycache__/", f"/{ORIGINALS}", f"/{engine.COPY_PART}")


class Part(Protocol):
    @property
    def path(self) -> str: ...

    def look(self, folder: Folder, entry: Entry) -> Step: ...


@dataclass(frozen=True)
class Choices:
    mode: str
    hooks: list[str]
    vscode: bool
    skills: dict[
        str, str | None
    ]  # path -> target of a link to make, or None for one that was made before


def choices(
    state: State | None, mode: str, hosts: list[str], vscode: bool, skills: dict[str, str]
) -> Choices:
    """Return what is asked for now, on top of what was asked for before."""
    known = state or State()
    linked: dict[str, str | None] = {
        path: None for path, entry in known.parts.items() if entry["kind"] == "skill"
    }
    every = [host for host in HOSTS if host in (*hosts, *known.hooks)]
    links = dict(sorted((linked | skills).items()))
    return Choices(mode or known.mode or "link", every, vscode or known.vscode, links)


def parts(chosen: Choices) -> list[Part]:
    """In the order in which they are made: the link is ignored before it is there, the launcher comes last."""
    linked = [*([engine.NAME] if chosen.mode == "link" else []), *chosen.skills]
    ignored = "".join(
        f"{line}\n" for line in (*IGNORED, *(f"/{path}" for path in linked))
    )  # a link is no folder
    agents, requirements = engine.shipped("agents.md"), "requirements-kaizen.txt"
    seeds = {
        "README": (engine.shipped("evals.md"), "a first page for eval fixtures; yours from then on")
    }
    seeds |= {
        kind.upper(): (render_new_stub(kind).encode(), "a stub that says where lessons are")
        for kind in TITLES
    }
    found: list[Part] = [
        lines(".gitignore", ignored.encode(), "what git leaves alone"),
        OwnFile(requirements, engine.beside(requirements), "what the engine needs", b"libsql"),
        *(
            OwnFile(f"evals/{name}.md", text, says, is_seed=True)
            for name, (text, says) in seeds.items()
        ),
        lines("AGENTS.md", agents, "how an agent works with it", twin="CLAUDE.md"),
        lines("CLAUDE.md", agents, "the same for Claude Code", twin="AGENTS.md"),
        *(hooks(host) for host in chosen.hooks),
    ]
    if chosen.vscode:
        tasks, snippets = engine.shipped("tasks.json"), engine.shipped("kaizen.code-snippets")
        to_add = "add tasks that run `python3 kaizen.py R0`, `W12` or `K8` if you like"
        found.append(OwnFile(".vscode/tasks.json", tasks, "tasks for VS Code", to_add=to_add))
        found.append(OwnFile(".vscode/kaizen.code-snippets", snippets, "snippets for VS Code"))
    found += [SkillLink(path, target) for path, target in chosen.skills.items()]
    found.append(engine.EnginePart(chosen.mode))
    found.append(
        OwnFile(
            "kaizen.py", engine.shipped("kaizen.py"), "the launcher", engine.NAME.encode(), True
        )
    )
    return found
