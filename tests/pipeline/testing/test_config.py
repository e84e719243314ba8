import pytest

from kaizen_components.pipeline.gates.tests import pytest_config


@pytest.mark.parametrize(
    "files, expected",
    [
        ({}, "pytest.ini"),
        ({"setup.cfg": "[tool:pytest]\n", "tox.ini": "[tox]\n"}, "setup.cfg"),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\n", "setup.cfg": "[tool:pytest]\n"},
            "pyproject.toml",
        ),
        ({"pyproject.toml": "[tool.other]\n"}, "pytest.ini"),
        ({"pytest.ini": "", "pyproject.toml": "[tool.pytest.ini_options]\n"}, "pytest.ini"),
    ],
)
def test_config_file_is_chosen_like_pytest(tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    assert pytest_config.write_config(str(tmp_path), str(tmp_path / "config")) == expected


@pytest.mark.parametrize(
    "name, text, blocked",
    [
        ("pytest.ini", "[pytest]\naddopts = -q -p no:xdist -pno:cov\n", ["cov", "xdist"]),
        ("pytest.ini", "[pytest]\n# -p no:xdist\naddopts = -p no:xdist.loop -p yes\n", ["xdist.loop"]),
        ("setup.cfg", "[tool:pytest]\naddopts = -p no:a -k 'no: p'\n", ["a"]),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = ['-p', 'no:xdist']\n", ["xdist"]),
        ("pytest.toml", "[pytest]\naddopts = ['-p', 'no:xdist']\n", ["xdist"]),
        ("pytest.ini", "[pytest]\naddopts = 'open\n", []),
        ("pyproject.toml", "no TOML at all", []),
    ],
)  # fmt: skip
def test_blocked_plugins_are_read_from_addopts(tmp_path, name, text, blocked):
    (tmp_path / name).write_text(text)
    prefixed = [f"pytest_{plugin}" for plugin in blocked]

    found = pytest_config.list_blocked_plugins(str(tmp_path / name))

    assert sorted(found) == sorted([*blocked, *prefixed])


def test_disabled_plugin_autoload_blocks_all_plugins(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q --disable-plugin-autoload\n")

    assert pytest_config.list_blocked_plugins(str(tmp_path / "pytest.ini")) == ["*"]
