"""Write docs/commands.md and the command table in README.md anew; a test fails when they are stale."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kaizen_components.faces import docs  # noqa: E402  (the path must be set first)


def main() -> None:
    (ROOT / "docs" / "commands.md").write_text(docs.reference(), encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(docs.with_table(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
