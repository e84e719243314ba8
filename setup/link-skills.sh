#!/usr/bin/env bash
# A door to SK3: plans the links to a store of skills; with --apply HASH it makes them. PYTHON=/path chooses a Python.
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
python="${PYTHON:-$here/.venv/bin/python}"
if ! command -v "$python" >/dev/null; then
    echo "Kaizen is not set up here: run \`bash setup/setup.sh\` first, or set PYTHON=/path/to/python that has its packages." >&2
    exit 2
fi
exec "$python" "$here/kaizen.py" SK3 "$@"
