"""Import parts of the pipeline by address, when a step needs them."""

from importlib import import_module
from typing import Any


def load_attribute(address: str) -> Any:
    """Return what "gates.ready:judge" names, below this package."""
    module, _, name = address.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
