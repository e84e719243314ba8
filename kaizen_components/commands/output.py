"""Payloads against their schemas: Q8."""


def validate(catalog, check, *, kind=None, payload_json=None):
    """Check a payload against the schema of a command; without --kind, list the schemas.

    Example: kaizen Q8 --kind W1 --payload-json '{"title": "A", "summary": "B"}'
    """
    raise NotImplementedError
