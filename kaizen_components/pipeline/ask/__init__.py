"""What a step is asked: messages, feedback, the scout's tools."""
