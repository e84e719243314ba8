"""Secrets are refused before they are stored."""
