"""Read and write the target's content without its configuration.

A private bare repository borrows the target's objects, so the target's config, hooks, attributes,
filters, replacements and refs have no effect. New objects go into a private folder until the work
is accepted.
"""

import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from typing import NamedTuple

from ..errors import Integrity, Refused, Unavailable
from .client import BLOCK_BYTES, ObjectReader, run_git
from .repository import Repository

CACHED_BYTES_MAX = 64 << 20
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
        """The type of the entry as a tree hash names it."""
        return "link" if self.mode == LINK else "exec" if int(self.mode, 8) & 0o111 else "file"


class ObjectStore:
    """A temporary bare repository over the target's objects; it caches what it reads."""

    def __init__(self, repository: Repository):
        self.borrowed = repository.objects
        self.folder = tempfile.mkdtemp(prefix="kaizen-git-")
        self._readers: dict[str | None, ObjectReader] = {}
        self._contents: dict[str, bytes] = {}
        self._cached_bytes = 0
        self._hashes: dict[str, str] = {}
        self._entries: dict[tuple[str, str], list[TreeEntry]] = {}
        self._finish = weakref.finalize(self, _remove_store, self.folder, self._readers)
        _create_bare_repository(self.folder, repository.format)

    def close(self) -> None:
        self._finish()

    def _variables(self, objects: str | None) -> dict[str, str]:
        """Return the variables that let git use the target's objects and those in `objects`."""
        variables = {
            "GIT_DIR": self.folder, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_INDEX_FILE": os.path.join(self.folder, "index"),
            "GIT_OBJECT_DIRECTORY": self.borrowed,
        }  # fmt: skip
        if objects is not None:
            variables["GIT_OBJECT_DIRECTORY"] = objects
            variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = quote_path(self.borrowed)
        return variables

    def run_git(self, *args: str, stdin: bytes = b"", objects: str | None = None) -> bytes:
        return run_git(self.folder, *args, stdin=stdin, variables=self._variables(objects)).out

    def list_entries(
        self, commit: str, prefix: str = "", objects: str | None = None
    ) -> list[TreeEntry]:
        """Return the entry of every path below the prefix, including submodules, in git's order."""
        key = commit, prefix
        if key not in self._entries:
            tree = f"{commit}:{prefix.rstrip('/')}" if prefix else commit
            output = self.run_git("ls-tree", "-r", "-z", "--full-tree", tree, objects=objects)
            entries = self._entries[key] = []
            for line in filter(None, output.split(b"\0")):
                facts, _, path = line.partition(b"\t")
                mode, _, id = facts.decode().split()
                entries.append(TreeEntry(os.fsdecode(path), mode, id))
        return self._entries[key]

    def read_object(self, id: str, objects: str | None = None) -> bytes:
        """Return the content of an object, from the cache if it is there."""
        if id not in self._contents:
            blocks: list[bytes] = []
            self.copy_object(id, blocks.append, objects)
            data = self._contents[id] = b"".join(blocks)
            self._cached_bytes += len(data)
            if self._cached_bytes > CACHED_BYTES_MAX:
                self._contents, self._cached_bytes = {id: data}, len(data)
        return self._contents[id]

    def copy_object(
        self, id: str, write: Callable[[bytes], object], objects: str | None = None
    ) -> None:
        """Pass the content to `write` in blocks, and remember its hash for `hash_object`."""
        digest = hashlib.sha256()
        reader = self._readers.setdefault(
            objects, ObjectReader(self.folder, self._variables(objects))
        )
        try:
            if reader.open(id) is None:
                raise _missing_error(id)
            while block := reader.read(BLOCK_BYTES):
                digest.update(block)
                write(block)
        except Unavailable:
            raise _missing_error(id) from None
        self._hashes[id] = digest.hexdigest()

    def hash_object(self, id: str, objects: str | None = None) -> str:
        """Return the SHA-256 of the content."""
        if id not in self._hashes:
            self.copy_object(id, len, objects)
        return self._hashes[id]


def _missing_error(id: str) -> Integrity:
    return Integrity(
        "object_missing",
        f"The target lacks the object {id[:12]}.",
        "The repository is damaged, or it is a partial clone that has not fetched the object.",
        "Run `git fsck` in the target; in a partial clone, run `git fetch --refetch`.",
    )


def require_path(path: str) -> None:
    """Refuse a path that git would not check out, but that a crafted tree can contain."""
    parts = path.split("/")
    names = {_fold_name(part) for part in path.replace("\\", "/").split("/")}
    if {"", ".", ".."} & set(parts) or {".git", "git~1"} & names or "\0" in path:
        raise Refused(
            "bad_path",
            f"{path!a} is not a valid path in a repository.",
            "The path leads out of the repository or into .git.",
            "Name files from the root of the target, without `..`.",
        )


def _fold_name(part: str) -> str:
    """Return the name as macOS and Windows resolve it: without invisible characters, streams, and
    trailing dots or spaces."""
    return part.translate(INVISIBLE).partition(":")[0].lower().rstrip(" .")


def _create_bare_repository(folder: str, format: str) -> None:
    for name in ("refs", "objects"):
        os.mkdir(os.path.join(folder, name))
    is_sha256 = format == "sha256"
    config = f"[core]\n\trepositoryformatversion = {int(is_sha256)}\n\tbare = true\n"
    config += "[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""
    for name, text in (("HEAD", "ref: refs/heads/none\n"), ("config", config)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def _remove_store(folder: str, readers: dict[str | None, ObjectReader]) -> None:
    for reader in readers.values():
        reader.close()
    shutil.rmtree(folder, ignore_errors=True)


def quote_path(path: str) -> str:
    """Quote a path in C style, for git's lists and streams."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
