"""The parent: reads the plan, has its groups run one after the other, and signs what it saw.

The standard library of any Python from 3.8 on is enough. What is expected never gets in here, so nothing in here can
be made to fit it. The key of the signature is in the plan, which is deleted before any code of the target runs.
"""

import os
import sys
import time

from ...gates.tests.box import imports, plan, tree
from . import family, variant


def main(folder: str) -> None:
    asked, key = plan.take_plan(folder)
    imports.clear_environment()
    family.adopt()
    asked["tmp"] = os.path.join(folder, "tmp")
    asked["root"] = os.path.join(folder, "tree")
    groups = _groups(asked, key)
    plan.write_report(folder, key, {"python": sys.version.split()[0], "groups": groups})


def _groups(plan, key):
    """Each group in order, until the time is up; those that did not begin are missing at the end."""
    kept, deadline, seen = tree.RestorableTree(plan["root"]), time.monotonic() + plan["seconds"], []
    for group in plan["groups"]:
        if time.monotonic() >= deadline:
            break
        seen.append(variant.run(group, plan, kept, key, deadline))
    return seen
