"""Write the generated parts of docs/ and README.md: commands, settings, samples. A test fails when
one is stale."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "support_scripts")]

import layers  # noqa: E402  (the path must be set first)
import sample  # noqa: E402

from kaizen_components import api  # noqa: E402
from kaizen_components.faces import docs  # noqa: E402
from kaizen_components.pipeline import protocol  # noqa: E402
from kaizen_components.pipeline.protocols import skills  # noqa: E402
from kaizen_components.pipeline.run import diagram  # noqa: E402

HANDMADE = ("README.md", "docs/reports.md")  # pages with generated parts
PROTOCOL_PAGES = (("pipeline", "factory"), ("pipeline-target", "factory"), ("codemode", "codemode"))


def main() -> None:
    documents = build_documents()
    for path in (ROOT / "docs" / "sample").glob("*"):
        if f"docs/sample/{path.name}" not in documents:  # of a report that was renamed or removed
            path.unlink()
    for name, text in documents.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8", newline="\n")


def build_documents() -> dict[str, str]:
    """Return path below the repository -> text."""
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in HANDMADE}
    pages = {
        f"docs/{page}.md": diagram.fill_page(_page(page), protocol.load_shipped(name))
        for page, name in PROTOCOL_PAGES
    }
    return {
        **sample.render_documents(texts), "docs/commands.md": docs.render_reference(),
        "kaizen_components/api.pyi": api.render_stub(),
        **pages, "docs/architecture.md": layers.insert_layers(_page("architecture")),
        **build_skills(),
    }  # fmt: skip


def _page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def build_skills() -> dict[str, str]:
    """Return path -> text for each step that an agent answers in the shipped protocols."""
    pages: dict[str, str] = {}
    for name in protocol.list_shipped():
        pages |= skills.render_skills(protocol.load_shipped(name))
    return pages


if __name__ == "__main__":
    main()
