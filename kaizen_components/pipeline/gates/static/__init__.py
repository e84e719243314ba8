"""VALIDATE: compilers and linters, judged by new findings."""
