"""Show the writer of new tests the imports and fixtures of an existing test file, but no tests.

A small model copies the tests that it sees. The TEST gate refuses a copied test, because it passes
without the change.
"""

import ast

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def strip_tests(text: str) -> str:
    """Return the source without its tests; unchanged if it is invalid or nothing would be left."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return text
    lines = text.splitlines()
    for node in reversed(body):
        if isinstance(node, DEFINITIONS) and node.name.lower().startswith("test"):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
    kept_text = "\n".join(lines).strip()
    return kept_text + "\n" if kept_text else text
