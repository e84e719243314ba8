"""A tree that is the same for every session: what one session wrote, changed or deleted is undone before the next."""

import os
import shutil


class RestorableTree:
    """The files of a folder, kept in memory; a file's ctime tells whether it was touched, and no test can set it."""

    def __init__(self, root: str):
        self.root = os.path.realpath(root)
        self._files: dict = {}
        for path in self._walk():
            with open(path, "rb") as file:
                self._files[path] = (file.read(), self._state(path))

    def restore(self, edits: dict) -> None:
        """The tree as it was given, but for `edits`: path below it -> text."""
        for path in self._walk():
            if path not in self._files:
                os.unlink(path)
        for path, (content, state) in list(self._files.items()):
            if self._state(path) != state:
                self._write(path, content)
                self._files[path] = (content, self._state(path))
        for name, text in edits.items():
            self._write(os.path.join(self.root, name), text.encode("utf-8"))

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            for name in [name for name in folders if name == "__pycache__"]:
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
                folders.remove(name)
            for path in (os.path.join(folder, name) for name in names):
                if not os.path.islink(path):
                    yield path

    @staticmethod
    def _state(path):
        try:
            seen = os.lstat(path)
        except OSError:
            return None
        return (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode)

    @staticmethod
    def _write(path, content):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.islink(path) or os.path.exists(path):
            os.unlink(path)  # never through a link that a test left here
        with open(path, "wb") as file:
            file.write(content)
