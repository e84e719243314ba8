#!/usr/bin/env python3
"""Start Kaizen on this folder's records, with the engine that `kaizen_components` links to."""

import gc
import os
import sys

# The default of 700 runs a dozen useless collections while modules load: 3 % of a command.
gc.set_threshold(10_000)


def exit_with_message(exit_code, message):
    # type: (int, str) -> None
    """Print the message and exit; a hook exits silently with 0, to not break its host."""
    if [word.lower() for word in sys.argv[1:2]] in (["hook"], ["d3"]):
        sys.exit(0)
    sys.stderr.write(message)
    sys.exit(exit_code)


if sys.version_info < (3, 11):  # noqa: UP036  (the engine itself does not load on an older one)
    exit_with_message(
        2,
        "Kaizen needs Python 3.11 or newer. Run `bash setup/setup.sh`, or set PYTHON to a newer one.\n",
    )

if not os.environ.get("KAIZEN_REPO_ROOT"):
    os.environ["KAIZEN_REPO_ROOT"] = os.path.dirname(os.path.abspath(__file__))

try:
    from kaizen_components.args import entry  # it reads the root that is set above
except KeyboardInterrupt:
    sys.exit(130)
except ModuleNotFoundError as error:
    if error.name not in ("kaizen_components", "kaizen_components.args"):
        raise
    exit_with_message(
        5,
        "The Kaizen engine is missing. Link the folder kaizen_components beside this file again.\n",
    )

if __name__ == "__main__":
    entry()
