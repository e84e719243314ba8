"""Import parts of the pipeline by address, when a step needs them."""

from importlib import import_module
from typing import Any


def load_attribute(address: str) -> Any:
    """Import an attribute of this package by its address, such as "gates.ready:judge"."""
    module, _, name = address.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
