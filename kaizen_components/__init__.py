"""Kaizen: the local system of record for AI coding agents."""

import marshal
import os
import sys

__version__ = "0.1.0"
FOLDER = os.path.dirname(__file__) + os.sep
TYPE_CHECKING = False  # as in `typing`, which everyday commands don't import
if TYPE_CHECKING:
    from .api import Kaizen as Kaizen
    from .errors import KaizenError as KaizenError
BUNDLE = f"{FOLDER}__pycache__{os.sep}hot.{sys.implementation.cache_tag}.bundle"


class _Bundle:
    """Imports the modules of everyday commands from one file instead of one file each (docs/adr/0010-hot-bundle.md).

    `bundle.py` writes it during set-up. A module whose source has changed since is imported in the usual way.
    """

    def __init__(self, content):
        begin = 4 + int.from_bytes(content[:4], "little")
        self._modules = marshal.loads(
            content[4:begin]
        )  # name -> (source, its mtime and size, begin, end)
        self._code = memoryview(content)[begin:]
        if len(self._code) != max(end for *_, end in self._modules.values()):
            raise EOFError

    def find_spec(self, name, path=None, target=None):
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

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name):
        """Return the module's code; `python -m` asks for it too."""
        *_, begin, end = self._modules[name]
        return marshal.loads(self._code[begin:end])


def _use_bundle():
    try:
        with open(BUNDLE, "rb", 0) as file:
            bundle = _Bundle(file.read())
        if bundle.find_spec(__name__):  # the bundle was written for this very file
            sys.meta_path.insert(0, bundle)
    except (
        OSError,
        EOFError,
        ValueError,
        TypeError,
        KeyError,
    ):  # there is none, or not a whole one
        pass


_use_bundle()


def __getattr__(name):
    """Import the Python door when somebody asks for it; everyday commands don't."""
    if name == "Kaizen":
        from .api import Kaizen

        return Kaizen
    if name == "KaizenError":
        from .errors import KaizenError

        return KaizenError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
