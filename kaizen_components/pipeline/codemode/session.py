"""Run pieces of code in the sandbox: copy the tree, write the plan, and read the signed report."""

import os
import shutil
from typing import TYPE_CHECKING, Any

from ...sandbox import run as sandbox
from ..gates import session_box
from ..job import Job

if TYPE_CHECKING:
    from .function import Function

ITEM_S = 5.0  # seconds for one piece of code; longer code counts as endless
IMPORT_S = 60.0
CodeGroup = dict[str, Any]


def build_group(
    items: list[dict[str, str]], edits: dict[str, str] | None = None, **options: Any
) -> CodeGroup:
    """Return a plan to run pieces of code (id, code) on one version of the tree.

    The option `stop` ends the group at the first timeout; `tidy` restores the files before each
    piece.
    """
    return {
        "items": items,
        "edits": edits or {},
        "item_s": ITEM_S,
        "stop": False,
        "tidy": True,
        **options,
    }


def run(
    job: Job, function: "Function", groups: list[CodeGroup], *, hash_seed: int, seconds: float = 0.0
) -> tuple[list[dict[str, Any]], sandbox.SandboxResult]:
    """Run the groups in the sandbox.

    Return, for each group that began in time, its `import` and its `results` by id, in order.
    """

    def prepare(folder: str) -> dict[str, Any]:
        tree = os.path.join(folder, "tree")
        shutil.copytree(job.base, tree, symlinks=True, ignore=session_box.SKIPPED_FILES)
        plan = {"module": function.module, "name": function.name, "groups": groups}
        return {**plan, "import_s": IMPORT_S}

    report, sandbox_run = session_box.run_session_in_box(
        job, "codemode.box", prepare, tree=job.base_tree, hash_seed=hash_seed, seconds=seconds
    )
    return report["groups"], sandbox_run
