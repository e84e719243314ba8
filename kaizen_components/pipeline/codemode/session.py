"""Run pieces of code in the sandbox: their tree, their plan, and the signed report."""

import os
import shutil
from typing import TYPE_CHECKING, Any

from ...sandbox import run as sandbox
from ..gates import session_box
from ..job import Job

if TYPE_CHECKING:
    from .function import Function  # which is judged by what is run here

ITEM_S = 5.0  # of one piece of code: what takes longer counts as endless
IMPORT_S = 60.0
CodeGroup = dict[str, Any]


def build_group(
    items: list[dict[str, str]], edits: dict[str, str] | None = None, **more: Any
) -> CodeGroup:
    """Return a plan for pieces of code (id, code) on one version of the tree.

    `stop` ends it at the first timeout, and `tidy` restores the files before each one.
    """
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
    """Return `import`, and `results` by id, of each group that began in time, in order."""

    def prepare(folder: str) -> dict[str, Any]:
        tree = os.path.join(folder, "tree")
        shutil.copytree(job.base, tree, symlinks=True, ignore=session_box.SKIPPED_FILES)
        plan = {"module": function.module, "name": function.name, "groups": groups}
        return {**plan, "import_s": IMPORT_S}

    report, boxed = session_box.run_session_in_box(
        job, "codemode.box", prepare, tree=job.base_tree, hash_seed=hash_seed, seconds=seconds
    )
    return report["groups"], boxed
