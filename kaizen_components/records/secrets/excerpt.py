"""What was given, as an error repeats it."""

CHARS_MAX = 60


def make_excerpt(given: object) -> str:
    """As much of it as fits into a message, and no secret: looked for in all of it, since half of one is not found."""
    from .scan import mask_secrets

    text = mask_secrets(str(given))
    return text if len(text) <= CHARS_MAX else text[: CHARS_MAX - 1] + "…"
