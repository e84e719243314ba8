#!/usr/bin/env bash
# What some tests use beyond Python, from Debian's packages. On CI nothing may skip, so it is installed there.
set -euo pipefail
missing=()
for tool in zsh fish setpriv chromium; do
    command -v "$tool" >/dev/null || missing+=("${tool/setpriv/util-linux}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
