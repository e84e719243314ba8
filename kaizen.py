#!/usr/bin/env python3
"""The launcher: this folder's records, whichever engine `kaizen_components` is linked to."""

import os
import sys

if not os.environ.get("KAIZEN_REPO_ROOT"):
    os.environ["KAIZEN_REPO_ROOT"] = os.path.dirname(os.path.abspath(__file__))

from kaizen_components.args import main

if __name__ == "__main__":
    sys.exit(main())
