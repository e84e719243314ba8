"""Delete files that an earlier call left behind; a gate must never use them by mistake."""

import os
import shutil

from ...errors import Unavailable


def delete_path(path: str) -> None:
    """Delete a file, a folder or a link, but never the link's target; raise Unavailable if that
    fails."""
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    shutil.rmtree(path, ignore_errors=True)
    if os.path.isdir(path):  # a read-only folder keeps its files
        _make_writable(path)
        shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        raise Unavailable(
            "cannot_clear",
            f"The folder {os.path.basename(path)} of the run cannot be deleted.",
            "A gate must not use files that somebody else could have written.",
            f"Delete {path}, then continue the run.",
        )


def _make_writable(folder: str) -> None:
    os.chmod(folder, 0o700)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            _make_writable(entry.path)
