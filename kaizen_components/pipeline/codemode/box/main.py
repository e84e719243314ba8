"""Run inside the sandbox: read the plan, run its groups in order, and write a signed report.

This needs only the standard library of Python 3.8 or newer. The expected values are not in the
sandbox, so code in it cannot produce results to match them. The key of the signature is in the
plan, which is deleted before any code of the target runs.
"""

import os
import sys
import time

from ...gates.tests.box import imports, plan, tree
from . import family, variant


def main(folder: str) -> None:
    """Run the plan in `folder` and write the report there."""
    plan_data, key = plan.take_plan(folder)
    imports.clear_environment()
    family.adopt_orphans()
    plan_data["tmp"] = os.path.join(folder, "tmp")
    plan_data["root"] = os.path.join(folder, "tree")
    files = tree.RestorableTree(plan_data["root"])
    deadline = time.monotonic() + plan_data["seconds"]
    groups = []
    for group in plan_data["groups"]:
        if time.monotonic() >= deadline:
            break  # groups that did not begin are missing in the report
        groups.append(variant.run_group(group, plan_data, files, key, deadline))
    plan.write_report(folder, key, {"python": sys.version.split()[0], "groups": groups})
