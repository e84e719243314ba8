"""Let another repository use this engine: add the few files it needs, compare them, remove them."""
