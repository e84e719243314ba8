"""Write skills to check: a good one, or one with another text."""

GOOD = "---\nname: {name}\ndescription: Does it well. Use it when it is to be done.\n---\n\n# Do it\n\nThen stop.\n"


def skill(folder, name, text=GOOD, **files):
    """Write a skill into the folder. In the names of `files`, `__` stands for a slash."""
    place = folder / name
    place.mkdir(parents=True)
    page = text.replace("{name}", name)
    (place / "SKILL.md").write_bytes(page if isinstance(page, bytes) else page.encode())
    for path, content in files.items():
        file = place / path.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place
