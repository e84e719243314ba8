"""The target's content, read and written without its configuration.

A folder of our own is a bare repository that borrows the target's objects: no config, hooks, attributes, filters,
replacements or refs take part. What is written goes into a private folder of objects until it is adopted.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Callable
from typing import NamedTuple

from ..errors import Integrity, Refused
from . import client as git

CACHED_BYTES_MAX = 64 << 20
BLOCK_BYTES = 1 << 20
LINK, SUBMODULE = "120000", "160000"
INVISIBLE = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


class TreeEntry(NamedTuple):
    """One path of a tree."""

    path: str
    mode: str
    id: str

    @property
    def kind(self) -> str:
        """The word that a tree hash has for it."""
        return "link" if self.mode == LINK else "exec" if int(self.mode, 8) & 0o111 else "file"


class ObjectStore:
    def __init__(self, layout: git.Repository):
        self.borrowed = layout.objects
        self.folder = tempfile.mkdtemp(prefix="kaizen-git-")
        self._readers: dict[str | None, BlobReader] = {}
        self._blobs: dict[str, bytes] = {}
        self._sizes = 0
        self._hashes: dict[str, str] = {}
        self._entries: dict[tuple[str, str], list[TreeEntry]] = {}
        self._finish = weakref.finalize(self, _remove_store, self.folder, self._readers)
        _create_bare_repository(self.folder, layout.format)

    def close(self) -> None:
        self._finish()

    def variables(self, objects: str | None) -> dict[str, str]:
        """What makes git see the target's objects, and the private ones where there are some."""
        lent = {"GIT_OBJECT_DIRECTORY": self.borrowed}
        if objects is not None:
            lent = {
                "GIT_OBJECT_DIRECTORY": objects,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": quote_path(self.borrowed),
            }
        return {
            "GIT_DIR": self.folder, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_INDEX_FILE": os.path.join(self.folder, "index"), **lent,
        }  # fmt: skip

    def told(self, *words: str, stdin: bytes = b"", objects: str | None = None, more=None) -> bytes:
        return git.run_git(
            self.folder, *words, stdin=stdin, more={**self.variables(objects), **(more or {})}
        ).out

    def entries(self, commit: str, prefix: str = "", objects: str | None = None) -> list[TreeEntry]:
        """Every path below the prefix, submodules too, in git's order."""
        key = commit, prefix
        if key not in self._entries:
            tree = f"{commit}:{prefix.rstrip('/')}" if prefix else commit
            listed = self.told("ls-tree", "-r", "-z", "--full-tree", tree, objects=objects)
            self._entries[key] = [_parse_entry(line) for line in listed.split(b"\0") if line]
        return self._entries[key]

    def reader(self, objects: str | None) -> "BlobReader":
        if objects not in self._readers:
            self._readers[objects] = BlobReader(
                self.folder, git.build_environment(self.variables(objects))
            )
        return self._readers[objects]

    def blob(self, id: str, objects: str | None = None) -> bytes:
        if id not in self._blobs:
            parts: list[bytes] = []
            self.reader(objects).copy(id, parts.append)
            data = b"".join(parts)
            self._sizes += len(data)
            if self._sizes > CACHED_BYTES_MAX:
                self._blobs.clear()
                self._sizes = len(data)
            self._blobs[id] = data
        return self._blobs[id]

    def copy(self, id: str, write: Callable[[bytes], object], objects: str | None = None) -> None:
        """The content in blocks; its SHA-256 is known afterwards."""
        digest = hashlib.sha256()

        def both(block: bytes) -> None:
            digest.update(block)
            write(block)

        self.reader(objects).copy(id, both)
        self._hashes[id] = digest.hexdigest()

    def sha256(self, id: str, objects: str | None = None) -> str:
        if id not in self._hashes:
            self.copy(id, len, objects)
        return self._hashes[id]


class BlobReader:
    """One `git cat-file --batch` for as long as it is needed: a process per file would cost more than the files."""

    def __init__(self, folder: str, environment: dict[str, str]):
        self._process = subprocess.Popen(
            ["git", *git.NOTHING_RUNS, "cat-file", "--batch"],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def copy(self, id: str, write: Callable[[bytes], object]) -> None:
        source, sink = self._process.stdout, self._process.stdin
        assert source and sink
        try:
            sink.write(id.encode() + b"\n")
            sink.flush()
            said = source.readline().split()
            left = int(said[2]) if len(said) == 3 else -1
            while left > 0:
                block = source.read(min(left, BLOCK_BYTES))
                if not block:
                    break
                left -= len(block)
                write(block)
            whole = left == 0 and source.read(1) == b"\n"
        except BrokenPipeError:
            whole = False
        if not whole:
            raise Integrity(
                "object_missing",
                f"The target lacks an object: {id[:12]}.",
                "It is broken, or a partial clone that has not fetched it.",
                "Run `git fsck` there; for a partial clone, `git fetch --refetch` or a full clone.",
            )

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process.wait()


def require_path(path: str) -> None:
    """Refuse what git would not check out: a crafted tree can name it, and `fast-import` takes it."""
    seen = {_fold_name(part) for part in path.replace("\\", "/").split("/")}
    if {"", ".", ".."} & set(path.split("/")) or {".git", "git~1"} & seen or "\0" in path:
        raise Refused(
            "bad_path",
            f"{path!a} is no path of a file in a repository.",
            "It leads out of the tree, or into .git.",
            "Name it from the root of the target, without `..`.",
        )


def _fold_name(part):
    """A name as macOS and Windows find it: without invisible letters, streams, and dots or spaces at its end."""
    return part.translate(INVISIBLE).partition(":")[0].lower().rstrip(" .")


def _parse_entry(line: bytes) -> TreeEntry:
    facts, _, path = line.partition(b"\t")
    mode, _, id = facts.decode().split()
    return TreeEntry(os.fsdecode(path), mode, id)


def _create_bare_repository(folder, format):
    for name in ("refs", "objects"):
        os.mkdir(os.path.join(folder, name))
    more = "\n[extensions]\n\tobjectFormat = sha256" if format == "sha256" else ""
    version = 1 if more else 0
    for name, text in (
        ("HEAD", "ref: refs/heads/none"),
        ("config", f"[core]\n\trepositoryformatversion = {version}\n\tbare = true{more}"),
    ):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text + "\n")


def _remove_store(folder, readers):
    for reader in readers.values():
        reader.close()
    shutil.rmtree(folder, ignore_errors=True)


def quote_path(path):
    """As git reads a path in a list or a stream: C-quoted, because a name may have the separator in it."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
