"""Files by their hash: streamed, repo-relative, never through a link that leads out of the project."""

import os
from collections.abc import Iterator

from ..errors import NotFound, Refused, Unavailable

BLOCK_BYTES = 1 << 20


def inside(root: str, path: str) -> str | None:
    """The path relative to the project with forward slashes, or None when it leads out, also through a link.

    A relative path counts from the project's root, wherever the caller stands.
    """
    real_root = os.path.realpath(root)
    real = os.path.realpath(os.path.join(real_root, path))
    if real != real_root and not real.startswith(real_root.rstrip(os.sep) + os.sep):
        return None
    return os.path.relpath(os.path.normpath(os.path.join(real_root, path)), real_root).replace(os.sep, "/")


def require_inside(root: str, path: str) -> str:
    found = inside(root, path)
    if found is None or found.startswith("../"):
        raise Refused(
            "outside_project",
            f"{os.path.basename(path.rstrip('/')) or path!r} lies outside the project.",
            "Records name files by their path below the project's root; a link that leads out counts as outside.",
            "Copy it into the project; A1 and A2 also take it with --allow-external, for its name and hash only.",
        )
    return found


def file_hash(path: str) -> tuple[str, int]:
    """(SHA-256 in hex, bytes) of a file, in constant memory."""
    import hashlib

    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb", buffering=0) as file:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
                size += len(block)
    except FileNotFoundError:
        raise NotFound("file_not_found", f"There is no file {os.path.basename(path)!r}.", "", "Check --path.") from None
    except OSError as error:
        raise Unavailable(
            "file_unreadable", f"{os.path.basename(path)!r} cannot be read.", str(error.strerror), "Check its rights."
        ) from None
    return digest.hexdigest(), size


def entry_of(path: str) -> tuple[str, str, int]:
    """(mode, SHA-256, bytes) of what stands at a path: a file, an executable, or a link by its target."""
    import hashlib

    if os.path.islink(path):
        target = os.fsencode(os.readlink(path))
        return "link", hashlib.sha256(target).hexdigest(), len(target)
    mode = "exec" if os.stat(path).st_mode & 0o111 else "file"
    return mode, *file_hash(path)


def tree_digest(entries: list[tuple[str, str, str]]) -> str:
    """The hash of (relative path, mode, SHA-256) triples: one line each, in the order of the paths' bytes."""
    import hashlib

    digest = hashlib.sha256()
    for path, mode, sha256 in sorted(entries, key=lambda entry: os.fsencode(entry[0])):
        digest.update(f"{mode} {sha256} ".encode() + os.fsencode(path) + b"\n")
    return digest.hexdigest()


def below(folder: str) -> Iterator[str]:
    """Every file and link below a folder, relative to it; links to folders are entries, never followed."""
    for here, folders, names in os.walk(folder):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        folders[:] = [name for name in folders if name not in links and name != ".git"]
        for name in sorted([*names, *links]):
            yield os.path.relpath(os.path.join(here, name), folder).replace(os.sep, "/")


def folder_hash(folder: str) -> tuple[str, int, int]:
    """(hash, bytes, files) of everything below a folder, but .git."""
    entries, size = [], 0
    for name in below(folder):
        mode, sha256, count = entry_of(os.path.join(folder, name))
        entries.append((name, mode, sha256))
        size += count
    return tree_digest(entries), size, len(entries)
