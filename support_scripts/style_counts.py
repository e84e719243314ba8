"""Count features that make code and prose hard to read. test_style sets limits for them.

    python support_scripts/style_counts.py                       # the whole engine
    python support_scripts/style_counts.py kaizen_components/git # one package

Each figure is a share or a mean over Python files.
"""

import ast
import collections
import pathlib
import re
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLUMNS_MAX = 100
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Past participles that do not end in -ed and are not also a present form (run, set, put, read).
IRREGULAR = _words(
    """
    begun bound broken brought built bought chosen done drawn driven felt found given gone got
    grown heard held hidden kept known laid led lent lost made meant met paid proven said seen
    sent shown sold sought spent spoken stood stuck taken taught thrown thought told understood
    won worn written
    """
)
NOT_PARTICIPLES = _words(
    """
    embed exceed feed indeed need proceed red seed shed speed succeed
    """
)
VERBS = _words(
    """
    accept add adopt allow answer append apply ask assemble assert attach bind break build call
    cancel carry check choose claim clean clear clip close collect combine compare compile
    compute connect convert copy count cover create cut decide declare decode delete deliver
    describe detect digest draw drop encode end ensure enter escape estimate evaluate expand
    explain export extract fail fetch fill find finish fit fold follow format gather get give
    go group guess handle hash have hide hold ignore import infer ingest insert inspect install
    invert iterate join judge keep kill label lay leave let limit link list load lock log look
    make map mark mask match measure merge migrate move name note open order parse pass pick
    place plan point prepare print promote propose prove publish pull purge push put quote
    raise rank read rebuild record redact reduce refuse reject release relink remember remove
    rename render repair repeat replace replay report require resolve restore resume retire
    retry return reverse revise roll round run save say scale scan search see select send serve
    set shorten show shut sign skip sort split start state stop store strip submit sum
    summarize switch take tell test track translate trim try turn undo unlink update upgrade
    use validate verify wait walk warn wrap write yield
    """
)


def count_style(files: list[pathlib.Path]) -> dict[str, float]:
    """Return the shares for these Python files, in per cent except for `functions_per_1000_lines`."""
    lines, wide, functions, used_once = 0, 0, 0, 0
    names: list[str] = []
    docstrings: list[str] = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines += text.count("\n")
        wide += sum(len(line) > COLUMNS_MAX for line in text.splitlines())
        uses = collections.Counter(_used_names(tree))
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS):
                functions += 1
                is_dunder = node.name.startswith("__")
                names += [] if is_dunder else [node.name.strip("_")]
                used_once += node.name.startswith("_") and not is_dunder and uses[node.name] == 1
                docstrings += [ast.get_docstring(node) or ""]
    docstrings = [text for text in docstrings if text]
    return {
        "functions_per_1000_lines": round(1000 * functions / max(lines, 1), 1),
        "private_used_once": _share(used_once, functions),
        "one_word_names": _share(sum("_" not in name for name in names), len(names)),
        "participle_names": _share(sum(map(is_participle, names)), len(names)),
        "verb_docstrings": _share(sum(map(begins_with_verb, docstrings)), len(docstrings)),
        "wide_lines": _share(wide, lines),
    }


def _used_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _share(part: float, whole: float) -> float:
    return round(100 * part / max(whole, 1), 1)


def is_participle(name: str) -> bool:
    if name in IRREGULAR:
        return True
    return re.fullmatch(r"[a-z]+ed", name) is not None and name not in NOT_PARTICIPLES


def begins_with_verb(docstring: str) -> bool:
    return docstring.split()[0].strip(".,:;").lower() in VERBS


def mean_test_name_words(files: list[pathlib.Path]) -> float:
    """Return how many words follow `test_` in a test's name, on average."""
    words = [
        node.name.count("_")
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, FUNCTIONS) and node.name.startswith("test_")
    ]
    return round(sum(words) / max(len(words), 1), 1)


def count_words(page: pathlib.Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def main(folders: list[str]) -> None:
    roots = [pathlib.Path(folder) for folder in folders] or [ROOT / "kaizen_components"]
    files = [path for root in roots for path in (sorted(root.rglob("*.py")) or [root])]
    for name, value in count_style(files).items():
        print(f"{name:26} {value}")
    print(f"{'test_name_words':26} {mean_test_name_words(sorted((ROOT / 'tests').rglob('*.py')))}")
    print(f"{'readme_words':26} {count_words(ROOT / 'README.md')}")


if __name__ == "__main__":
    main(sys.argv[1:])
