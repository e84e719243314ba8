#!/usr/bin/env bash
# A door to SK3: plans the links to a store of skills; with --apply HASH it makes them. PYTHON=/path chooses a Python.
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
python="${PYTHON:-$here/.venv/bin/python}"
exec "$python" "$here/kaizen.py" SK3 "$@"
