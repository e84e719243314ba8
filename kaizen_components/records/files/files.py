"""Hash files and folders as streams, and refuse links that lead out of the project."""

from __future__ import annotations

import os
import stat

from ...errors import Busy, KaizenError, NotFound, Refused, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Place

BLOCK_BYTES = 1 << 20
# Without O_NONBLOCK, opening a fifo that has just replaced a file would wait for ever.
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT: the other kind of folder link on Windows
NOTHING: frozenset[tuple[int, int]] = frozenset()


def find_project_path(root: str, path: str) -> str | None:
    """Return the path relative to the project, or None if it or a link in it leads outside.

    A relative path counts from the project's root, not from the working directory.
    """
    for part in use_forward_slashes(path).split("/"):
        try:
            part.encode()
        except UnicodeEncodeError:
            raise Refused(
                "path_not_utf8",
                f"The name {part!a} is not valid UTF-8.",
                "Records are UTF-8 text, so they cannot contain this name.",
                "Rename it, or record the folder that contains it.",
            ) from None
    real_root, real = os.path.realpath(root), os.path.realpath(os.path.join(root, path))
    if not _is_below(real, real_root):
        return None
    for base in (os.path.abspath(root), real_root):  # the project may be reached through a link
        plain = os.path.normpath(os.path.join(base, path))
        if _is_below(plain, base) and os.path.realpath(plain) == real:
            return use_forward_slashes(os.path.relpath(plain, base))
    return use_forward_slashes(os.path.relpath(real, real_root))


def require_project_path(root: str, path: str) -> str:
    """Return the path relative to the project; raise Refused if it leads out."""
    relative = find_project_path(root, path)
    if relative is None:
        raise Refused(
            "outside_project",
            f"{get_base_name(path)!r} is outside the project.",
            (
                "Records name files by their path below the root. A link that leads "
                "out of the project counts as outside."
            ),
            (
                "Copy the file into the project. With --allow-external, A1 and A2 "
                "record its name and hash."
            ),
        )
    return relative


def use_forward_slashes(path: str, separator: str = os.sep) -> str:
    """Return a path with forward slashes, as records store it on every system."""
    return path.replace(separator, "/")


def get_base_name(path: str) -> str:
    """Return the last part of a path, the only part recorded outside the project."""
    return os.path.basename(os.path.normpath(path)) or path


def hash_file(path: str) -> tuple[str, int]:
    """Return (SHA-256 in hex, size in bytes) of a file; raise Busy if it changes meanwhile."""
    import hashlib

    digest, size = hashlib.sha256(), 0
    try:
        _require_regular(
            path, os.stat(path)
        )  # before opening it: opening a device can have effects
        with open(os.open(path, OPEN_FLAGS), "rb", buffering=0) as file:
            before = os.fstat(file.fileno())
            _require_regular(path, before)
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
                size += len(block)
        after = os.stat(path)
    except OSError as error:
        raise _read_error(path, error) from None
    if _get_fingerprint(before) != _get_fingerprint(after):
        raise _changed_error(path)
    return digest.hexdigest(), size


def hash_entry(path: str) -> tuple[str, str, int]:
    """Return (mode, SHA-256, size in bytes) of a file. Of a link, hash the path it points to."""
    import hashlib

    try:
        facts = os.lstat(path)
        target = os.fsencode(os.readlink(path)) if _is_link(facts) else None
    except OSError as error:
        raise _read_error(path, error) from None
    if target is not None:
        return "link", hashlib.sha256(target).hexdigest(), len(target)
    return "exec" if facts.st_mode & 0o111 else "file", *hash_file(path)


def hash_tree(entries: list[tuple[str, str, str]]) -> str:
    """Return the hash of (relative path, mode, SHA-256) triples, sorted by the paths' bytes."""
    import hashlib

    digest = hashlib.sha256()
    for path, mode, sha256 in sorted(entries, key=lambda entry: os.fsencode(entry[0])):
        # NUL ends each entry: no path can have it, while a name can have a line break.
        digest.update(f"{mode} {sha256} ".encode() + os.fsencode(path) + b"\0")
    return digest.hexdigest()


def walk_files(
    folder: str, without: frozenset[tuple[int, int]] = NOTHING
) -> dict[str, tuple[int, ...]]:
    """Return relative path -> fingerprint of every file and link below a folder, without .git.

    Links are not followed. `without` names files and folders by (device, inode).
    """
    files: dict[str, tuple[int, ...]] = {}
    waiting = [""]
    while waiting:
        here = waiting.pop()
        try:
            for name in os.listdir(os.path.join(folder, here)):
                facts = os.lstat(os.path.join(folder, here, name))
                if name == ".git" or (facts.st_dev, facts.st_ino) in without:
                    continue
                if stat.S_ISDIR(facts.st_mode) and not _is_link(facts):
                    waiting.append(f"{here}{name}/")
                else:
                    files[here + name] = _get_fingerprint(facts)
        except OSError as error:
            raise _read_error(os.path.join(folder, here), error) from None
    return files


def hash_folder(folder: str, without: frozenset[tuple[int, int]] = NOTHING) -> tuple[str, int, int]:
    """Return (hash, size in bytes, files) of a folder; raise Busy if a file changes meanwhile."""
    entries, size = [], 0
    before = walk_files(folder, without)
    for name in before:
        try:
            mode, sha256, count = hash_entry(os.path.join(folder, name))
        except NotFound:
            raise _changed_error(folder) from None
        entries.append((name, mode, sha256))
        size += count
    if walk_files(folder, without) != before:
        raise _changed_error(folder)
    return hash_tree(entries), size, len(entries)


def measure_path(place: Place, path: str) -> tuple[str, int, int | None]:
    """Return (hash, size in bytes, files) of a path; `files` is None for a single file.

    The project's own records are left out: on POSIX, closing a database file in this process would
    drop every lock that SQLite holds on it.
    """
    path = os.path.realpath(os.path.join(place.root, path))
    database = os.path.realpath(place.database)
    own_paths = [place.folder, *(database + ending for ending in ("", "-wal", "-shm", ".lock"))]
    own_stats = [os.stat(name) for name in own_paths if os.path.exists(name)]
    without = frozenset((facts.st_dev, facts.st_ino) for facts in own_stats)
    try:
        facts = os.stat(path)
    except OSError as error:
        raise _read_error(path, error) from None
    if (facts.st_dev, facts.st_ino) in without:
        raise Refused(
            "own_data",
            f"{get_base_name(path)!r} is the database or contains it.",
            "Recording a hash of the database changes the database, so the hash would be wrong.",
            "Use `K6` for the hash of the database, or `K3` for a copy that does not change.",
        )
    if stat.S_ISDIR(facts.st_mode):
        return hash_folder(path, without)
    return *hash_file(path), None


def _require_regular(path: str, facts: os.stat_result) -> None:
    if not (stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)):
        raise Refused(
            "special_file",
            f"{get_base_name(path)!r} is neither a file nor a folder.",
            "A pipe, a device or a socket has no fixed content.",
            "Write its content into a plain file, and record that file.",
        )


def _is_below(path: str, root: str) -> bool:
    path, root = os.path.normcase(path), os.path.normcase(root)
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _is_link(facts: os.stat_result) -> bool:
    return stat.S_ISLNK(facts.st_mode) or getattr(facts, "st_reparse_tag", 0) == JUNCTION


def _get_fingerprint(facts: os.stat_result) -> tuple[int, ...]:
    return facts.st_mode, facts.st_size, facts.st_mtime_ns, facts.st_ino


def _read_error(path: str, error: OSError) -> KaizenError:
    name = get_base_name(path)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        why = "A path counts from the project's root."
        return NotFound("file_not_found", f"There is no file {name!r}.", why, "Check the path.")
    what, why = f"{name!r} cannot be read.", str(error.strerror)
    return Unavailable("file_unreadable", what, why, "Check its permissions.")


def _changed_error(path: str) -> Busy:
    return Busy(
        "file_changed",
        f"{get_base_name(path)!r} changed while it was read.",
        "Its hash would mix two states.",
        "Try again when no program writes to it.",
    )
