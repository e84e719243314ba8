"""The parent: reads the plan, has its groups run one after the other, and signs what it saw.

The standard library of any Python from 3.8 on is enough. What is expected never gets in here, so nothing in here can
be made to fit it. The key of the signature is in the plan, which is deleted before any code of the target runs.
"""

import hashlib
import hmac
import json
import os
import sys
import time

from ...gates.tests.box import imports, tree
from . import family, variant


def main(folder: str) -> None:
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    os.unlink(file.name)
    key = bytearray.fromhex(plan.pop("key"))
    imports.clear_environment()
    family.adopt()
    plan["tmp"] = os.path.join(folder, "tmp")
    plan["root"] = os.path.join(folder, "tree")
    seen = {"python": sys.version.split()[0], "groups": _groups(plan, key)}
    body = json.dumps(seen).encode()
    with open(os.path.join(folder, "report.json"), "wb") as report:
        report.write(hmac.new(bytes(key), body, hashlib.sha256).hexdigest().encode() + b"\n" + body)


def _groups(plan, key):
    """Each group in order, until the time is up; those that did not begin are missing at the end."""
    kept, deadline, seen = tree.RestorableTree(plan["root"]), time.monotonic() + plan["seconds"], []
    for group in plan["groups"]:
        if time.monotonic() >= deadline:
            break
        seen.append(variant.run(group, plan, kept, key, deadline))
    return seen
