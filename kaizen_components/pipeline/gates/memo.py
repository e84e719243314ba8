"""Store measurements of a base in the run's scratch folder, so that later attempts reuse them."""

import hashlib
import json
import os
from typing import Any

from ..job import Job


def find_memo_path(job: Job, kind: str, *parts: Any) -> str:
    """Return the path of the memo for these inputs; "" without a scratch folder."""
    if not job.scratch:
        return ""
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]
    return os.path.join(job.scratch, f"{kind}-{key}.json")


def read_memo(path: str) -> Any:
    """Return the stored value, or None if the file is missing or not valid JSON."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def write_memo(path: str, value: Any) -> None:
    """Store the value as JSON; do nothing if the path is ""."""
    if path:
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(file.name, path)
