"""Pieces of code in the sandbox: the tree they run on, the plan they get, and the signed report they leave."""

import json
import os
import secrets
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

from ...sandbox import run as sandbox
from ..gates import session_box
from ..gates.tests.session import TAKEN, UNSEEN, SessionBroken
from ..job import Job

if TYPE_CHECKING:
    from .function import Function  # which is judged by what is run here

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = (("gates", "tests", "box"), ("codemode", "box"))
BEGIN = (
    "import sys; sys.path.insert(0, sys.argv[1]); from kaizen_box.codemode.box.main import main; del sys.path[0]; "
    "main(sys.argv[1])"
)
ITEM_S = 5.0  # of one piece of code: what takes longer counts as endless
IMPORT_S = 60.0
CodeGroup = dict[str, Any]


def build_group(
    items: list[dict[str, str]], edits: dict[str, str] | None = None, **more: Any
) -> CodeGroup:
    """Pieces of code (id, code) on one version of the tree; `stop` ends it at the first that takes too long, and `tidy`
    puts the files back before each one."""
    return {
        "items": items,
        "edits": edits or {},
        "item_s": ITEM_S,
        "stop": False,
        "tidy": True,
        **more,
    }


def run(
    job: Job, function: "Function", groups: list[CodeGroup], *, hash_seed: int, seconds: float = 0.0
) -> tuple[list[dict[str, Any]], sandbox.SandboxResult]:
    """What became of each group (`import`, and `results` by id), in order; those out of time are missing."""
    folder = tempfile.mkdtemp(prefix="code-", dir=job.scratch or None)
    key = secrets.token_hex(32)
    try:
        _prepare(
            job, function, folder, groups, key, min(seconds or job.settings.timeout_s, _most(job))
        )
        boxed = sandbox.run_in_sandbox(
            [*job.tools.python, "-s", "-B", "-c", BEGIN, folder], folder, job.settings.timeout_s, tree=job.base_tree,
            reads=job.tools.reads, variables={"PYTHONHASHSEED": str(hash_seed)},
        )  # fmt: skip
        said = session_box.read_signed_report(folder, key)
        if said is None:
            raise SessionBroken(boxed)
        return json.loads(said)["groups"], boxed
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _most(job):
    return TAKEN * job.settings.timeout_s


def _prepare(job, function, folder, groups, key, seconds):
    shutil.copytree(job.base, os.path.join(folder, "tree"), symlinks=True, ignore=UNSEEN)
    for parts in PARTS:
        place = os.path.join(folder, "kaizen_box", *parts)
        shutil.copytree(os.path.join(HERE, *parts), place, ignore=UNSEEN)
        for depth in range(len(parts)):
            open(os.path.join(folder, "kaizen_box", *parts[:depth], "__init__.py"), "w").close()
    plan = {
        "key": key, "module": function.module, "name": function.name, "paths": job.tools.paths, "groups": groups,
        "seconds": seconds, "import_s": IMPORT_S,
    }  # fmt: skip
    with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as file:
        json.dump(plan, file)
