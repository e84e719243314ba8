"""Fixtures of the report tests."""

import pytest

from kaizen_components.call import Door

from . import world


@pytest.fixture(scope="session")
def hostile_project(tmp_path_factory):
    """A project with plain and hostile records of every kind. Tests may only add reports to it."""
    root = tmp_path_factory.mktemp("hostile")
    door = Door(str(root), keep_open=True)
    world.record(door, root)
    door.close()
    return root
