"""Find what must not leave this machine when a repository is published (D2)."""
