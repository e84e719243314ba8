#!/usr/bin/env bash
# Installs Kaizen on Linux or macOS, or updates it. This one file is enough: it installs git and Python
# if you agree, and fetches the rest. The work is in install_agent_kaizen.py; `--help` shows the options.

door=${BASH_SOURCE[0]:-} # empty when it comes through a pipe; then no file here can be trusted

main() {
    local here='' python engine=${DEVROOT:-~/dev/kaizen}/agent-kaizen installer word consent=''
    if [ -n "$door" ]; then here=$(CDPATH='' cd -- "$(dirname -- "$door")" && pwd); fi
    for word in "$@"; do
        case $word in
            -h | --help) usage && exit 0 ;;
            --yes) consent=1 ;;
        esac
    done

    if ! python=$(find_python) || ! command -v git >/dev/null; then
        install_tools
        python=$(find_python) || stop 2 "There is still no Python 3.11 or newer. Get one from https://www.python.org/downloads"
        command -v git >/dev/null || stop 2 "There is still no git. Get it from https://git-scm.com/downloads"
    fi
    for installer in "${here:-/nowhere}/install_agent_kaizen.py" "$engine/setup/install_agent_kaizen.py"; do
        if [ -f "$installer" ]; then exec "$python" "$installer" "$@"; fi
    done
    fetch "$engine" "$@"
    KAIZEN_INSTALL_TAKEN=$part exec "$python" "$part/setup/install_agent_kaizen.py" --url "$url" "$@"
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

# Install git and Python with the system's package manager, after a yes.
install_tools() {
    local command answer
    command=$(package_command) || stop 2 "Kaizen needs git and Python 3.11 or newer, and no known package manager was found. \
Get them from https://git-scm.com/downloads and https://www.python.org/downloads, then run this again."
    echo "Kaizen needs git and Python 3.11 or newer. This command installs them:"
    echo "  $command"
    if [ -z "$consent" ]; then
        if ! [ -t 0 ]; then stop 2 "Run it, or run this again with --yes."; fi
        read -r -p "Run it now? [y/N] " answer
        case $answer in [yY] | [yY][eE][sS]) ;; *) stop 2 "Nothing was installed." ;; esac
    fi
    bash -c "$command" || stop 1 "That command failed. Install git and Python 3.11 or newer, then run this again."
}

package_command() {
    local sudo=''
    if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null; then sudo='sudo '; fi
    if command -v apt-get >/dev/null; then
        echo "${sudo}apt-get update && ${sudo}apt-get install -y git python3 python3-venv"
    elif command -v dnf >/dev/null; then echo "${sudo}dnf install -y git python3"
    elif command -v yum >/dev/null; then echo "${sudo}yum install -y git python3"
    elif command -v zypper >/dev/null; then echo "${sudo}zypper --non-interactive install git python3"
    elif command -v pacman >/dev/null; then echo "${sudo}pacman -S --noconfirm git python"
    elif command -v apk >/dev/null; then echo "${sudo}apk add git python3"
    elif command -v brew >/dev/null; then echo "brew install git python@3.13"
    else return 1; fi
}

# This file is alone: get the repository, which has install_agent_kaizen.py.
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
            --yes) ;;
            *) usage >&2 && exit 2 ;;
        esac
        [ $# -eq 0 ] || shift
    done
    [ -n "$url" ] || stop 2 "Which repository? Name it with --url or KAIZEN_REPO_URL."
    [ "${url#-}" = "$url" ] || stop 2 "--url cannot be $url."
    [ "${ref#-}" = "$ref" ] || stop 2 "--ref cannot be $ref."
    if [ -e "$engine" ]; then stop 1 "$engine is there without setup/install_agent_kaizen.py: move it away, or choose another DEVROOT."; fi
    if [ -z "$network" ] && [ ! -d "$url" ] && [ "${url#file://}" = "$url" ]; then
        stop 1 "The repository is not on this machine, and --no-network was given. Name a local copy with --url."
    fi
    if [ -n "$plan" ]; then
        printf 'The plan; nothing was done:\n  1. clone the repository into %s\n  2. run its setup/install_agent_kaizen.py\n' "$engine"
        exit 0
    fi
    part=$engine.part.$$ # with our process id: another installer may be at work
    mkdir -p -- "${engine%/*}" || exit 1
    trap 'rm -rf -- "$part"' EXIT
    GIT_TERMINAL_PROMPT=0 git clone --quiet -- "$url" "$part" || stop 1 "The repository could not be cloned."
    [ -f "$part/setup/install_agent_kaizen.py" ] || stop 1 "That repository is not Kaizen."
}

usage() {
    echo "Usage: bash install-agent-kaizen.sh [--url REPOSITORY] [--ref TAG] [--yes] [--plan-only] [--no-network]"
    echo "Installs Kaizen below DEVROOT (~/dev/kaizen unless you set it). REPOSITORY is KAIZEN_REPO_URL unless you give it."
    echo "--yes agrees to install git and Python with the system's package manager, if they are missing."
}

stop() {
    echo "$2" >&2
    exit "$1"
}

main "$@" # at the very end: half a download does nothing
