"""Full-text search and lists."""
