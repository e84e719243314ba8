"""Protocols: P11."""


def check(store, *, name=None, repo=None, python=None, write_skills=False):
    """Check a protocol, its gates on their fixtures, and say what is wrong with it; without --name list them all.

    Example: kaizen P11 --name factory
    """
    from ..pipeline import protocol_report
    from ..reports import protocol_card

    place = repo or store.place.root
    if name is None:
        found = protocol_report.listed(store, repo)
        return {**found, "text": protocol_card.listed(found)}
    found = protocol_report.checked(store, name, place, {"python": python}, write_skills)
    return {**found, "text": protocol_card.text(found), **({} if found["usable"] else {"exit_code": 1})}
