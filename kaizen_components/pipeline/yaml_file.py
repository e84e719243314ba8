"""Parse strict YAML: duplicate keys and aliases are refused, because both hide what they change."""

from typing import Any

from ..errors import Refused

CHARS_MAX = 200_000


def parse_yaml(text: str, name: str) -> Any:
    """Return the data, or raise Refused with the line; `name` is the file in the error."""
    import yaml

    class Strict(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark
                raise yaml.MarkedYAMLError(None, None, "an alias is not allowed here", mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen = set()
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                if key.value in seen:
                    problem = f"{key.value[:60]} is there twice"
                    raise yaml.MarkedYAMLError(None, None, problem, key.start_mark)
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    if len(text) > CHARS_MAX:
        raise _refuse(name, f"It has {len(text):,} characters, and {CHARS_MAX:,} are read.")
    try:
        return yaml.load(text, Strict)
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise _refuse(name, f"{place}{error.problem}.") from None
    except Exception as error:  # its constructors raise anything: `!!bool x` is a KeyError
        raise _refuse(name, f"{type(error).__name__}: {error}."[:300]) from None


def _refuse(name: str, why: str) -> Refused:
    return Refused("bad_yaml", f"{name} is not valid YAML.", why, "Fix that line.")
