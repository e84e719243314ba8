"""Quote text in a message."""

CHARS_MAX = 60


def make_excerpt(value: object) -> str:
    """Return the beginning of a text. Mask secrets first, since half of one is not recognized."""
    text = mask_secrets(str(value))
    return text if len(text) <= CHARS_MAX else text[: CHARS_MAX - 1] + "…"


def mask_secrets(text: str) -> str:
    """Replace each word of a message that holds a secret by the secret's kind."""
    from .scan import find_secret, redact_secrets

    if not find_secret(text):
        return text
    words = [f"[{kind}]" if (kind := find_secret(word)) else word for word in text.split(" ")]
    return redact_secrets(" ".join(words))
