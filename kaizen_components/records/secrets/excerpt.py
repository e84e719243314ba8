"""Repeat given text in an error."""

CHARS_MAX = 60


def make_excerpt(given: object) -> str:
    """Return the beginning for a message. Mask secrets first, since half of one is not found."""
    from .scan import mask_secrets

    text = mask_secrets(str(given))
    return text if len(text) <= CHARS_MAX else text[: CHARS_MAX - 1] + "…"
