#!/usr/bin/env python3
"""The launcher: this folder's records, whichever engine `kaizen_components` is linked to."""

import gc
import os
import sys

gc.set_threshold(
    10_000
)  # the usual 700 collects a dozen times while modules load, and finds nothing: 3 % of a command


def exit_with_message(exit_code, message):
    """To a person in words; a hook neither fails its host nor talks to it."""
    if [word.lower() for word in sys.argv[1:2]] in (["hook"], ["d3"]):
        sys.exit(0)
    sys.stderr.write(message)
    sys.exit(exit_code)


if sys.version_info < (3, 11):  # noqa: UP036  (said here, because the engine does not even load on an older one)
    exit_with_message(
        2, "Kaizen needs Python 3.11 or newer. Run `bash setup/setup.sh`, or set PYTHON to one.\n"
    )

if not os.environ.get("KAIZEN_REPO_ROOT"):
    os.environ["KAIZEN_REPO_ROOT"] = os.path.dirname(os.path.abspath(__file__))

try:
    from kaizen_components.args import entry  # only now: the root had to be pinned first
except KeyboardInterrupt:
    sys.exit(130)
except ModuleNotFoundError as error:
    if error.name not in ("kaizen_components", "kaizen_components.args"):
        raise
    exit_with_message(
        5,
        "The Kaizen engine is not beside this file: link its folder kaizen_components here again.\n",
    )

if __name__ == "__main__":
    entry()
