"""The parent in the box: read the plan, run its groups in order, and sign what was seen.

The standard library of any Python from 3.8 on is enough. Expected values never get in here, so
nothing in here can be made to fit them. The key of the signature is in the plan, which is deleted
before any code of the target runs.
"""

import os
import sys
import time

from ...gates.tests.box import imports, plan, tree
from . import family, variant


def main(folder: str) -> None:
    given, key = plan.take_plan(folder)
    imports.clear_environment()
    family.adopt_orphans()
    given["tmp"] = os.path.join(folder, "tmp")
    given["root"] = os.path.join(folder, "tree")
    files = tree.RestorableTree(given["root"])
    deadline = time.monotonic() + given["seconds"]
    groups = []
    for group in given["groups"]:
        if time.monotonic() >= deadline:
            break  # the report lacks the groups that did not begin
        groups.append(variant.run_group(group, given, files, key, deadline))
    plan.write_report(folder, key, {"python": sys.version.split()[0], "groups": groups})
