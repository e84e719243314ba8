"""The target repository: its tree, settings, tools, and the files of a candidate."""
