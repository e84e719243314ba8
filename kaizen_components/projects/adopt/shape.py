"""The minimal shape of a repository that uses this engine: which files, and what is in them."""

from dataclasses import dataclass
from typing import Protocol

from ...records.lessons.stub import TITLES, new_stub
from . import engine
from .engine_part import EnginePart
from .finding import Finding
from .folder import Folder
from .parts import Entry, Hooks, Lines, OwnFile, Seed, SharedFile
from .skill_part import LinkedSkill, SkillLink
from .state import LEFTOVERS, State

HOSTS = ("claude", "codex")
STUBS = {kind: f"evals/{kind.upper()}.md" for kind in TITLES}
IGNORED = ("/AI/", "/.venv", "__pycache__/", *(f"/{name}" for name in LEFTOVERS))


class Part(Protocol):
    path: str

    def look(self, folder: Folder, entry: Entry) -> Finding: ...


@dataclass(frozen=True)
class Choices:
    mode: str
    hooks: tuple[str, ...]
    vscode: bool
    skills: dict[str, str]  # links to make: path -> target
    linked: tuple[str, ...]  # all links of ours, those of before too


def choices(state: State | None, mode: str, hooks: list[str], vscode: bool, skills: dict[str, str]) -> Choices:
    """What is asked for now, on top of what was asked for before."""
    known = state or State()
    linked = [path for path, entry in known.parts.items() if entry["kind"] == "skill"]
    every = tuple(host for host in HOSTS if host in (*hooks, *known.hooks))
    linked = sorted({*linked, *skills})
    return Choices(mode or known.mode or "link", every, vscode or known.vscode, skills, tuple(linked))


def parts(chosen: Choices) -> list[Part]:
    """In the order in which they are made: the link is ignored before it is there, the launcher comes last."""
    agents = engine.shipped("agents.md")
    ignored = [
        *IGNORED,
        *([f"/{engine.NAME}"] if chosen.mode == "link" else []),
        *(f"/{path}" for path in chosen.linked),
    ]  # no slash behind: a link is no folder
    found: list[Part] = [
        Lines(".gitignore", "".join(f"{line}\n" for line in ignored).encode(), "ignore", "what git leaves alone"),
        OwnFile(
            "requirements-kaizen.txt", engine.beside("requirements-kaizen.txt"), "what the engine needs", b"libsql"
        ),
        Seed("evals/README.md", engine.shipped("evals.md"), "a first page for eval fixtures; yours from then on"),
        *(Seed(path, new_stub(kind).encode(), "a stub that says where lessons are") for kind, path in STUBS.items()),
        Lines("AGENTS.md", agents, "md", "how an agent works with it", twin="CLAUDE.md"),
        Lines("CLAUDE.md", agents, "md", "the same for Claude Code", twin="AGENTS.md"),
    ]
    found += [Hooks(host) for host in chosen.hooks]
    found += _vscode() if chosen.vscode else []
    found += [SkillLink(path, target) for path, target in chosen.skills.items()]
    found += [LinkedSkill(path) for path in chosen.linked if path not in chosen.skills]
    found += [
        EnginePart(chosen.mode),
        OwnFile("kaizen.py", engine.shipped("kaizen.py"), "the launcher", b"kaizen_components", executable=True),
    ]
    return found


def _vscode() -> list[Part]:
    tasks = engine.shipped("tasks.json")
    to_add = "add tasks that run `python3 kaizen.py R0`, `W12` or `K8` if you like"
    return [
        SharedFile(".vscode/tasks.json", tasks, "tasks for VS Code", to_add),
        OwnFile(".vscode/kaizen.code-snippets", engine.shipped("kaizen.code-snippets"), "snippets for VS Code"),
    ]
