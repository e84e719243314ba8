"""Code generation in steps: models and agents propose, gates decide."""
