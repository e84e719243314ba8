"""Kaizen: the local system of record for AI coding agents."""

import marshal
import os
import sys

__version__ = "0.1.0"
FOLDER = os.path.dirname(__file__) + os.sep
TYPE_CHECKING = False  # `typing` also sets it to False; everyday commands do not import `typing`
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Any

    from .api import Kaizen as Kaizen
    from .errors import KaizenError as KaizenError
BUNDLE = f"{FOLDER}__pycache__{os.sep}hot.{sys.implementation.cache_tag}.bundle"


class _Bundle:
    """Imports the modules of everyday commands from one file (docs/adr/0010-hot-bundle.md).

    `bundle.py` writes it during set-up. A module whose source has changed since then is imported
    in the usual way.
    """

    def __init__(self, content: bytes) -> None:
        begin = 4 + int.from_bytes(content[:4], "little")
        # name -> (source, its mtime and size, begin, end)
        self._modules = marshal.loads(content[4:begin])
        self._code = memoryview(content)[begin:]
        if len(self._code) != max(end for *_, end in self._modules.values()):
            raise EOFError

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "ModuleSpec | None":
        """Return the spec of a bundled module, or None if its source has changed."""
        if name not in self._modules:
            return None
        source, modified_ns, size_bytes, _, _ = self._modules[name]
        try:
            status = os.stat(FOLDER + source)
        except OSError:
            return None
        if status.st_mtime_ns != modified_ns or status.st_size != size_bytes:
            return None
        spec = type(__spec__)(name, self, origin=FOLDER + source)  # type: ignore[arg-type]
        spec.has_location = True
        if source.endswith("__init__.py"):
            spec.submodule_search_locations = [FOLDER + source[: -len("/__init__.py")]]
        return spec

    def create_module(self, spec: "ModuleSpec") -> None:
        return None

    def exec_module(self, module: "ModuleType") -> None:
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name: str) -> "CodeType":
        """Return the module's code; `python -m` asks for it too."""
        *_, begin, end = self._modules[name]
        return marshal.loads(self._code[begin:end])


try:
    with open(BUNDLE, "rb", 0) as _file:
        _bundle = _Bundle(_file.read())
    if _bundle.find_spec(__name__):  # the bundle fits this version of the source
        sys.meta_path.insert(0, _bundle)
except (OSError, EOFError, ValueError, TypeError, KeyError):  # the bundle is missing or damaged
    pass


def __getattr__(name: str) -> "Any":
    """Import the Python API on first use; everyday commands don't need it."""
    if name == "Kaizen":
        from .api import Kaizen

        return Kaizen
    if name == "KaizenError":
        from .errors import KaizenError

        return KaizenError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
