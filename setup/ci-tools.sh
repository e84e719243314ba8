#!/usr/bin/env bash
# What some tests use beyond Python, from Debian's packages. On CI nothing may skip, so it is installed there.
set -euo pipefail
missing=()
for pair in zsh:zsh fish:fish setpriv:util-linux chromium:chromium bwrap:bubblewrap node:nodejs shellcheck:shellcheck strace:strace; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
