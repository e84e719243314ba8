"""Adopt a repository or compare it: plan all steps first, then carry them out.

An adoption is undone with git, so a file may change only if git has its present content, or if
adoption wrote it (its hash is in the state file).
"""

import hashlib
import os

from ...errors import NotFound, Refused, Unavailable
from ...git.client import try_git
from ...records.lessons.stub import TITLES, render_new_stub
from . import engine, state
from .folder import Folder
from .parts import Plan, Step, use_plain_newlines
from .state import State

IGNORED = ("/AI/", "/.venv", "__pycache__/", f"/{state.ORIGINALS}", f"/{engine.COPY_PART}")
DATA_FOLDERS = ("AI/db", "AI/work", "AI/generation")
REQUIREMENTS = "requirements-kaizen.txt"


def open_folder(path: str) -> Folder:
    """Return the folder at a path; raise an error if it cannot adopt Kaizen."""
    if not os.path.isdir(path):
        what = f"There is no folder {path!r}."
        raise NotFound(
            "no_folder",
            what,
            "Kaizen can be added only to an existing folder.",
            "Name the repository that will use Kaizen.",
        )
    folder = Folder(path)
    try:
        folder.root.encode()
    except UnicodeEncodeError:
        what, why = "The path of the repository is not UTF-8.", "SQLite cannot open a file there."
        raise Refused(
            "path_not_utf8", what, why, "Rename the folder, then run this again."
        ) from None
    if folder.root == engine.HOME and not folder.is_there(state.PATH):
        raise Refused(
            "engine_itself",
            f"{path!r} is the repository of the running engine.",
            "It already has its own launcher and records.",
            "Name another repository.",
        )
    return folder


def plan_steps(
    folder: Folder, old_state: State | None, new_state: State, skills: dict[str, str | None]
) -> list[Step]:
    """Return a step for every part: the state of the part, and what --apply would do to it.

    .gitignore comes first, so that git never sees the link to the engine. The launcher comes last.
    """
    plan = Plan(folder, old_state.parts if old_state else {})
    # Paths of links have no slash at the end, because it would match only folders.
    links = [*([engine.NAME] if new_state.mode == "link" else []), *skills]
    ignore_lines = "".join(f"{line}\n" for line in (*IGNORED, *(f"/{path}" for path in links)))
    plan.add_lines(".gitignore", ignore_lines.encode(), "paths that git must ignore")
    requirements = engine.read_file(REQUIREMENTS, engine.HOME)
    plan.add_file(REQUIREMENTS, requirements, "packages that the engine needs", mark=b"libsql")
    method = engine.read_file("Kaizen_System.md", engine.HOME)
    says, to_add = "the method", "the engine's Kaizen_System.md describes the method"
    plan.add_file("Kaizen_System.md", method, says, to_add=to_add)
    manual, to_add = engine.read_file("setup.md"), "`python3 kaizen.py relink` links the engine"
    plan.add_file("setup/SETUP.md", manual, "how to set up a clone", to_add=to_add)
    says = "a first page about eval fixtures, which you may change"
    plan.add_file("evals/README.md", engine.read_file("evals.md"), says, is_seed=True)
    for kind in TITLES:
        says = "a stub that explains where lessons are"
        plan.add_file(
            f"evals/{kind.upper()}.md", render_new_stub(kind).encode(), says, is_seed=True
        )
    agents = engine.read_file("agents.md")
    plan.add_lines("AGENTS.md", agents, "how an agent works with Kaizen", twin="CLAUDE.md")
    plan.add_lines("CLAUDE.md", agents, "the same lines for Claude Code", twin="AGENTS.md")
    for host in new_state.hooks:
        plan.add_hooks(host)
    if new_state.vscode:
        tasks, snippets = engine.read_file("tasks.json"), engine.read_file("kaizen.code-snippets")
        to_add = "add tasks for `python3 kaizen.py R0`, `W12` or `K8` if you want them"
        plan.add_file(".vscode/tasks.json", tasks, "tasks for VS Code", to_add=to_add)
        plan.add_file(".vscode/kaizen.code-snippets", snippets, "snippets for VS Code")
    for path, target in skills.items():
        plan.add_skill(path, target)
    plan.steps.append(engine.plan_engine(folder, plan.entries.get(engine.NAME, {}), new_state.mode))
    launcher, engine_name = engine.read_file("kaizen.py"), engine.NAME.encode()
    plan.add_file("kaizen.py", launcher, "the launcher", mark=engine_name, is_executable=True)
    folder.require_own(state.PATH)
    return plan.steps


def check_git(folder: Folder, steps: list[Step]) -> tuple[list[str], bool]:
    """Return the files that git cannot restore after a change, and whether it tracks the link."""
    paths = [step.path for step in steps if step.needs_git]
    blobs = {}
    try:
        output = try_git(folder.root, "ls-files", "--stage", "-z", "--", engine.NAME, *paths)
    except Unavailable:
        return paths, False
    for line in output.text.split("\0")[:-1]:
        entry, path = line.split("\t", 1)
        blobs[path] = entry.split(" ")[1]
    unrestorable = []
    for path in paths:
        content, blob = folder.read(path) or b"", blobs.get(path, "")
        algorithm = hashlib.sha256 if len(blob) == 64 else hashlib.sha1
        variants = (content, use_plain_newlines(content))  # a checkout may change newlines
        ids = [algorithm(b"blob %d\0" % len(variant) + variant).hexdigest() for variant in variants]
        if blob not in ids:
            unrestorable.append(path)
    return unrestorable, engine.NAME in blobs


def apply_steps(
    folder: Folder, old_state: State | None, new_state: State, steps: list[Step]
) -> bool:
    """Carry out the steps and write the state file; return False if there was nothing to do.

    If a step fails, the state file lists the steps before it.
    """
    new_state.parts = dict(old_state.parts) if old_state else {}
    new_state.parts |= {step.path: step.entry for step in steps if step.entry and not step.do}
    if old_state == new_state and not any(step.do for step in steps):
        return False
    try:
        for step in steps:
            if step.do:
                step.do()
                new_state.parts[step.path] = step.entry
        for name in DATA_FOLDERS:
            os.makedirs(folder.path(name), exist_ok=True)
    finally:
        folder.write(state.PATH, new_state.encode())
    return True
