"""Skills to be looked at: a good one, and whatever is written into it instead."""

GOOD = "---\nname: {name}\ndescription: Does it well. Use it when it is to be done.\n---\n\n# Do it\n\nThen stop.\n"


def skill(folder, name, text=GOOD, **files):
    """A skill in the folder; `files` are others in it, by name with `__` for a slash."""
    place = folder / name
    place.mkdir(parents=True)
    page = text.replace("{name}", name)
    (place / "SKILL.md").write_bytes(page if isinstance(page, bytes) else page.encode())
    for path, content in files.items():
        file = place / path.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place
