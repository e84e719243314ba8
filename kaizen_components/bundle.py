"""Write the modules of everyday commands into one file; `kaizen_components` imports them from it.

python -m kaizen_components.bundle
"""

from __future__ import annotations
import __future__  # by name: the import above is removed in the bundle

import ast
import glob
import marshal
import os

from . import BUNDLE

FLAGS = __future__.annotations.compiler_flag
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


class TypeRemover(ast.NodeTransformer):
    """Remove annotations and imports for type checkers, which every command would load."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "__future__" else node  # FLAGS say the same

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node


def write_bundle() -> int:
    """Write the bundle; return how many modules are in it."""
    paths = {
        path
        for pattern in HOT_MODULES
        for path in glob.glob(os.path.join(ENGINE, pattern), recursive=True)
    }
    modules, bodies, begin = {}, [], 0
    for path in sorted(paths):
        source = os.path.relpath(path, ENGINE)
        parts = source.removesuffix(".py").split(os.sep)
        name = ".".join(["kaizen_components", *(part for part in parts if part != "__init__")])
        status = os.stat(path)
        with open(path, "rb") as file:
            tree = TypeRemover().visit(ast.parse(file.read(), path))
        code = marshal.dumps(compile(tree, path, "exec", FLAGS, dont_inherit=True))
        end = begin + len(code)
        modules[name] = (source, status.st_mtime_ns, status.st_size, begin, end)
        bodies.append(code)
        begin = end
    index = marshal.dumps(modules)
    os.makedirs(os.path.dirname(BUNDLE), exist_ok=True)
    part = f"{BUNDLE}.{os.getpid()}"
    with open(part, "wb") as bundle:
        bundle.write(b"".join([len(index).to_bytes(4, "little"), index, *bodies]))
    os.replace(part, BUNDLE)
    return len(modules)


if __name__ == "__main__":
    write_bundle()
