"""YAML as people mean it: a key that stands twice and an alias are refused, since both change more than they show."""

from typing import Any

from ..errors import Refused

CHARS_MAX = 200_000


def parse_yaml(text: str, name: str) -> Any:
    """What the text says, or Refused with the line; `name` is what the reader calls the file."""
    import yaml

    class Strict(yaml.SafeLoader):
        def compose_node(self, parent, index):
            if self.check_event(yaml.AliasEvent):
                raise yaml.MarkedYAMLError(
                    None, None, "an alias is not read here", self.peek_event().start_mark
                )
            return super().compose_node(parent, index)

        def construct_mapping(self, node, deep=False):
            seen = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        None, None, f"{key.value[:60]} stands twice", key.start_mark
                    )
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    if len(text) > CHARS_MAX:
        raise _refused(name, f"It has {len(text):,} characters, and {CHARS_MAX:,} are read.")
    try:
        return yaml.load(text, Strict)
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise _refused(name, f"{place}{error.problem}.") from None
    except Exception as error:  # its constructors raise whatever comes: `!!bool x` is a KeyError
        raise _refused(name, f"{type(error).__name__}: {error}."[:300]) from None


def _refused(name, why):
    return Refused("bad_yaml", f"{name} cannot be read as YAML.", why, "Mend that line.")
