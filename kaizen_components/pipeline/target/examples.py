"""What is shown of an existing test file to whoever writes new ones: how it imports and prepares, not what it tests.

A small model copies the tests that it sees, and a copied test passes without the change, which the TEST gate refuses.
"""

import ast

DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def strip_tests(text: str) -> str:
    """The source without its tests; as it is where it cannot be read or nothing would be left."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return text
    lines = text.splitlines()
    for node in reversed(body):
        if isinstance(node, DEFINED) and node.name.lower().startswith("test"):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
    left = "\n".join(lines).strip()
    return left + "\n" if left else text
