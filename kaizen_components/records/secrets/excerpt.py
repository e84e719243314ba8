"""Quote user text in messages without secrets."""

CHARS_MAX = 60


def make_excerpt(value: object) -> str:
    """Return the start of a text. Mask secrets first: half a secret would not be recognized."""
    text = mask_secrets(str(value))
    return text if len(text) <= CHARS_MAX else text[: CHARS_MAX - 1] + "…"


def mask_secrets(text: str) -> str:
    """Replace each word of a message that contains a secret by the kind of the secret."""
    from .scan import find_secret, redact_secrets

    if not find_secret(text):
        return text
    words = [f"[{kind}]" if (kind := find_secret(word)) else word for word in text.split(" ")]
    return redact_secrets(" ".join(words))
