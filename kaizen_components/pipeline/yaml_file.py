"""Parse YAML strictly. Duplicate keys and aliases are refused: they hide the real values."""

from __future__ import annotations

from typing import Any

from ..errors import Refused

CHARS_MAX = 200_000


def parse_yaml(text: str, name: str) -> Any:
    """Return the data in `text`; raise Refused with the faulty line of the file `name`."""
    import yaml

    class Strict(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise yaml.MarkedYAMLError(None, None, "an alias is not allowed here", mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key.value in keys:
                    problem = f"the key {key.value[:60]} appears twice"
                    raise yaml.MarkedYAMLError(None, None, problem, key.start_mark)
                keys.add(key.value)
            return super().construct_mapping(node, deep)

    try:
        if len(text) <= CHARS_MAX:
            return yaml.load(text, Strict)
        why = f"It has {len(text):,} characters; at most {CHARS_MAX:,} are read."
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        why = f"{place}{error.problem}."
    except Exception as error:  # constructors raise anything: `!!bool x` is a KeyError
        why = f"{type(error).__name__}: {error}."[:300]
    raise Refused("bad_yaml", f"{name} is not valid YAML.", why, "Correct the YAML.")
