"""What is derived from the declarations: the click CLI, text, JSON Schema, completion, the command reference."""
