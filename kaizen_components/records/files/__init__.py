"""Files by their hash: artifacts, sources, the working tree."""
