#!/usr/bin/env bash
# Installs Kaizen, or updates it. This file is enough: it finds a Python and git, and fetches the rest.
# The work is in install_kaizen.py; `--help` shows the options. PYTHON=/path/to/python chooses a Python.

door=${BASH_SOURCE[0]:-} # empty when it comes through a pipe; then what lies in the working directory is nobody's

main() {
    local here='' python engine=${DEVROOT:-~/dev/kaizen}/engine installer
    if [ -n "$door" ]; then here=$(CDPATH='' cd -- "$(dirname -- "$door")" && pwd); fi

    python=$(find_python) || stop 2 "Kaizen needs Python 3.11 or newer, and none that runs was found. $(how_to_get)"
    command -v git >/dev/null || stop 2 "Kaizen needs git, and it was not found. $(how_to_get)"
    for installer in "${here:-/nowhere}/install_kaizen.py" "$engine/setup/install_kaizen.py"; do
        if [ -f "$installer" ]; then exec "$python" "$installer" "$@"; fi
    done
    fetch "$engine" "$@"
    KAIZEN_INSTALL_TAKEN=$part exec "$python" "$part/setup/install_kaizen.py" --url "$url" "$@"
}

# This file is alone: get the repository, which has install_kaizen.py.
fetch() {
    local engine=$1 plan='' network=1 ref=''
    url=${KAIZEN_REPO_URL:-}
    shift
    while [ $# -gt 0 ]; do
        case $1 in
            --url) url=${2:-} && shift ;;
            --url=*) url=${1#--url=} ;;
            --ref)
                [ -n "${2:-}" ] || stop 2 "--ref needs a value: a tag, a branch or a commit."
                ref=$2 && shift
                ;;
            --ref=*) ref=${1#--ref=} ;;
            --plan-only) plan=1 ;;
            --no-network) network='' ;;
            -h | --help) usage && exit 0 ;;
            *) usage >&2 && exit 2 ;;
        esac
        [ $# -eq 0 ] || shift
    done
    [ -n "$url" ] || stop 2 "Which repository? Name it with --url or KAIZEN_REPO_URL."
    [ "${url#-}" = "$url" ] || stop 2 "--url cannot be $url."
    [ "${ref#-}" = "$ref" ] || stop 2 "--ref cannot be $ref."
    if [ -e "$engine" ]; then stop 1 "$engine is there without setup/install_kaizen.py: move it away, or choose another DEVROOT."; fi
    if [ -z "$network" ] && [ ! -d "$url" ] && [ "${url#file://}" = "$url" ]; then
        stop 1 "The repository is not on this machine, and --no-network was given. Name a local copy with --url."
    fi
    if [ -n "$plan" ]; then
        printf 'The plan; nothing was done:\n  1. clone the repository into %s\n  2. run its setup/install_kaizen.py\n' "$engine"
        exit 0
    fi
    part=$engine.part.$$ # of its own: another installer may be at work
    mkdir -p -- "${engine%/*}" || exit 1
    trap 'rm -rf -- "$part"' EXIT
    GIT_TERMINAL_PROMPT=0 git clone --quiet -- "$url" "$part" || stop 1 "The repository could not be cloned."
    [ -f "$part/setup/install_kaizen.py" ] || stop 1 "That repository is not Kaizen."
}

# Each is run, not only looked up: a pyenv shim can be there and fail.
find_python() {
    local python pythons=(python3.13 python3.12 python3.11 python3 python)
    if [ -n "${PYTHON:-}" ]; then pythons=("$PYTHON"); fi
    for python in "${pythons[@]}"; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$python"
            return 0
        fi
    done
    return 1
}

how_to_get() {
    local names
    case $(uname -s) in
        Darwin) echo "Here: xcode-select --install, or brew install git python@3.13" && return ;;
    esac
    names=$(sed -n 's/^ID\(_LIKE\)\{0,1\}=//p' /etc/os-release 2>/dev/null | tr -d '"' | tr '\n' ' ')
    case " $names " in
        *" debian "* | *" ubuntu "*) echo "Here: apt install git python3 python3-venv" ;;
        *" fedora "* | *" rhel "*) echo "Here: dnf install git python3" ;;
        *" suse "* | *" opensuse "*) echo "Here: zypper install git python3" ;;
        *" arch "*) echo "Here: pacman -S git python" ;;
        *" alpine "*) echo "Here: apk add git python3" ;;
        *) echo "See git-scm.com and python.org." ;;
    esac
}

usage() {
    echo "Usage: bash install-kaizen.sh [--url REPOSITORY] [--ref TAG] [--plan-only] [--no-network]"
    echo "Installs Kaizen below DEVROOT (~/dev/kaizen unless you set it). REPOSITORY is KAIZEN_REPO_URL unless you give it."
}

stop() {
    echo "$2" >&2
    exit "$1"
}

main "$@" # at the very end: half a download does nothing
