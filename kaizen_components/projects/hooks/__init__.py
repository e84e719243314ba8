"""Hooks of agent hosts such as Claude Code and Codex (D3)."""
