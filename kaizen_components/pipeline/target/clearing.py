"""Delete what an earlier call left, for certain: leftovers would be taken for our own files."""

import os
import shutil

from ...errors import Unavailable


def delete_path(path: str) -> None:
    """Delete a file, a folder or a link, never what the link leads to; or raise Unavailable."""
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    shutil.rmtree(path, ignore_errors=True)
    if os.path.isdir(path):  # a read-only folder keeps its files
        _make_writable(path)
        shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        raise Unavailable(
            "cannot_clear",
            f"{os.path.basename(path)} of the run cannot be removed.",
            "A gate must not use files that others could have written.",
            f"Remove {path}, then continue.",
        )


def _make_writable(folder: str) -> None:
    os.chmod(folder, 0o700)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            _make_writable(entry.path)
