"""Set up another repository to use this engine: add its files, compare them, remove them."""
