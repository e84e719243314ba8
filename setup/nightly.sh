#!/usr/bin/env bash
# What a release must pass and takes too long for each commit: all tests, all benchmarks (among them
# 64 processes with 50 writes each, 200 random kills and every flipped byte), and the TEST gate's bench.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
bash setup/test.sh
.venv/bin/python support_scripts/bench.py "$@"
.venv/bin/python support_scripts/gatebench.py
