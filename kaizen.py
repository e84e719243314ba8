#!/usr/bin/env python3
"""The launcher: this folder's records, whichever engine `kaizen_components` is linked to."""

import os
import sys

if not os.environ.get("KAIZEN_REPO_ROOT"):
    os.environ["KAIZEN_REPO_ROOT"] = os.path.dirname(os.path.abspath(__file__))

try:
    from kaizen_components.args import main  # only now: the root had to be pinned first
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
