#!/usr/bin/env bash
# A door to bootstrap.py: finds a Python that runs and is new enough. PYTHON=/path/to/python chooses one.
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
if [ -n "${PYTHON:-}" ]; then pythons=("$PYTHON"); else pythons=(python3.13 python3.12 python3.11 python3 python); fi

# Each is run, not only looked up: a pyenv shim can be there and fail.
ask='import sys; print("%d.%d.%d" % sys.version_info[:3]); sys.exit(sys.version_info < (3, 11))'
found=''
for python in "${pythons[@]}"; do
    if version=$("$python" -c "$ask" 2>/dev/null); then
        exec "$python" "$here/bootstrap.py" "${kaizen_verb:-setup}" "$@"
    fi
    found=${found:-${version:+this is $version}}
done
found=${found:-${PYTHON:+$PYTHON does not run}}
echo "Kaizen needs Python 3.11 or newer; ${found:-none was found}. Install one from python.org or your" \
    "package manager, or set PYTHON=/path/to/python3.11" >&2
exit 2
