#!/usr/bin/env python3
"""The launcher: this folder's records, whichever engine `kaizen_components` is linked to."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036  (said here, because the engine does not even load on an older one)
    sys.stderr.write("Kaizen needs Python 3.11 or newer. Run `bash setup/setup.sh`, or set PYTHON to one.\n")
    sys.exit(2)

if not os.environ.get("KAIZEN_REPO_ROOT"):
    os.environ["KAIZEN_REPO_ROOT"] = os.path.dirname(os.path.abspath(__file__))

try:
    from kaizen_components.args import main  # only now: the root had to be pinned first
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
