"""Write the modules of everyday commands into one file, which `kaizen_components/__init__.py` imports them from.

python -m kaizen_components.bundle
"""

import glob
import marshal
import os

from . import BUNDLE

ENGINE = os.path.dirname(os.path.abspath(__file__))
HOT_MODULES = (
    "[!a]*.py",
    "args.py",
    "commands/*.py",
    "faces/__init__.py",
    "faces/text.py",
    "records/**/*.py",
    "store/*.py",
)


def write_bundle() -> int:
    """Write the bundle; return how many modules are in it."""
    modules, bodies, begin = {}, [], 0
    for path in sorted(
        {
            path
            for part in HOT_MODULES
            for path in glob.glob(os.path.join(ENGINE, part), recursive=True)
        }
    ):
        parts = os.path.relpath(path, ENGINE).split(os.sep)
        names = [
            "kaizen_components",
            *parts[:-1],
            *([] if parts[-1] == "__init__.py" else [parts[-1][:-3]]),
        ]
        status = os.stat(path)
        with open(path, "rb") as file:
            code = marshal.dumps(compile(file.read(), path, "exec", dont_inherit=True))
        modules[".".join(names)] = (
            os.path.join(*parts),
            status.st_mtime_ns,
            status.st_size,
            begin,
            begin + len(code),
        )
        bodies.append(code)
        begin += len(code)
    index = marshal.dumps(modules)
    os.makedirs(os.path.dirname(BUNDLE), exist_ok=True)
    part = f"{BUNDLE}.{os.getpid()}"
    with open(part, "wb") as bundle:
        bundle.write(b"".join([len(index).to_bytes(4, "little"), index, *bodies]))
    os.replace(part, BUNDLE)
    return len(modules)


if __name__ == "__main__":
    write_bundle()
