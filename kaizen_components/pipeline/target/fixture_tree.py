"""Write the small trees of files that gate fixtures use."""

import os


def write_tree(folder: str, files: dict[str, str]) -> None:
    """Write path -> text below the folder, which is created."""
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
