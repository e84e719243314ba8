"""The plan that the engine leaves for a session in the box, and the signed report it gets back."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from typing import Any


def take_plan(folder: str) -> tuple[dict[str, Any], bytearray]:
    """Read and delete the plan; return it and the only copy of the signature's key.

    Code of the target runs later. It can overwrite the report, but not sign it.
    """
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
        plan = json.load(file)
    os.unlink(file.name)
    return plan, bytearray.fromhex(plan.pop("key"))


def write_report(folder: str, key: bytearray, report: dict[str, Any]) -> None:
    """Write the signature on the first line, and the report below it."""
    body = json.dumps(report).encode()
    signature = hmac.new(bytes(key), body, hashlib.sha256).hexdigest().encode()
    with open(os.path.join(folder, "report.json"), "wb") as file:
        file.write(signature + b"\n" + body)
