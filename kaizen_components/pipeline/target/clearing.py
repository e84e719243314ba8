"""Take away what an earlier call left, for certain: what stays would be taken for our own."""

import os
import shutil

from ...errors import Unavailable


def delete_path(path: str) -> None:
    """Whatever is there, a link as a link and never what it leads to; Unavailable if it cannot be taken away."""
    if os.path.islink(path) or os.path.isfile(path):
        os.unlink(path)
    shutil.rmtree(path, ignore_errors=True)
    if os.path.isdir(path):  # a folder that may not be written keeps its files
        _let_write(path)
        shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        raise Unavailable(
            "cannot_clear",
            f"{os.path.basename(path)} of the run cannot be removed.",
            "A gate must not use what others could have written.",
            f"Remove {path}, then go on.",
        )


def _let_write(folder):
    os.chmod(folder, 0o700)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            _let_write(entry.path)
