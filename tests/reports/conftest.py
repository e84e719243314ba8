"""What the tests of reports share."""

import pytest

from kaizen_components.call import Door

from . import world


@pytest.fixture(scope="session")
def hostile_project(tmp_path_factory):
    """A project with plain and hostile records of every kind; reports are added to it, nothing else."""
    root = tmp_path_factory.mktemp("hostile")
    door = Door(str(root), keep_open=True)
    world.record(door, root)
    door.close()
    return root
