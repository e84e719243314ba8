"""Globs: what they fit, which files they find, and when those count as changed."""

import fnmatch
import os

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st

from kaizen_components.errors import Refused, Usage
from kaizen_components.records.files.files import hash_tree
from kaizen_components.records.files.paths import (
    FileMatcher,
    check_staleness,
    matches_glob,
    normalize_globs,
    normalize_path,
)


@pytest.mark.parametrize(
    "glob, path, expected",
    [
        ("src/x.py", "src/x.py", True),
        ("src/x.py", "src/xapy", False),
        ("src/*.py", "src/x.py", True),
        ("src/*.py", "src/a/x.py", False),
        ("src/*", "src/a/x.py", False),
        ("src/**", "src/a/b/x.py", True),
        ("src/**", "src/x.py", True),
        ("src/**", "src", False),
        ("src/**", "source/x.py", False),
        ("src/**/*.py", "src/x.py", True),
        ("src/**/*.py", "src/a/b/x.py", True),
        ("src/**/*.py", "src/a/b/x.md", False),
        ("**/x.py", "x.py", True),
        ("**/x.py", "a/b/x.py", True),
        ("**/x.py", "a/ax.py", False),
        ("**", "anything/at/all", True),
        ("**/a/**/b/*.py", "z/a/a/q/b/x.py", True),
        ("**/a/**/b/*.py", "z/a/a/q/b/c/x.py", False),
        ("src/?.py", "src/x.py", True),
        ("src/?.py", "src//.py", False),
        ("src/[xy].py", "src/y.py", True),
        ("src/[!xy].py", "src/y.py", False),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", True),
        ("app/[id]/page.tsx", "app/i/page.tsx", True),
        ("*", "x.py", True),
        ("*.PY", "x.py", False),
        ("src/[", "src/[", True),
        ("100%_*.md", "100%_done.md", True),
    ],
)
def test_one_star_matches_in_folder_two_across_folders(glob, path, expected):
    assert matches_glob(glob, path) is expected


NAMES = st.text("ab*?[]!.", min_size=1, max_size=5).filter(
    lambda name: "**" not in name and name not in (".", "..")
)


@generated(NAMES, st.text("ab.", min_size=1, max_size=5))
def test_glob_within_folder_matches_like_fnmatch(glob, name):
    assert matches_glob(glob, name) is (fnmatch.fnmatchcase(name, glob) or name == glob)


def test_hostile_glob_is_matched_fast(root):
    assert not matches_glob("/".join(["**", "a*a*a*a*a*a*a*b"] * 20), "/".join(["a" * 60] * 60))


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x.py",
        "src/../../x.py",
        "src/..",
        "~/x.py",
        "C:/x.py",
        "C:\\x.py",
        "\\\\server\\x",
    ],
)
def test_path_outside_project_is_refused(root, path):
    with pytest.raises(Refused, match="project's root"):
        normalize_globs(str(root), [path])


def test_folder_glob_is_normalized_to_everything_below(root):
    (root / "src").mkdir()

    assert normalize_globs(
        str(root), ["./src/x.py", "src//x.py", "src", "src/", "later/", "a/**/**/b", "."]
    ) == [
        "src/x.py",
        "src/**",
        "later/**",
        "a/**/b",
        "**",
    ]


@pytest.mark.parametrize("glob", ["src/**.py", "a**/x", "***"])
def test_glob_with_two_stars_beside_text_is_refused(root, glob):
    with pytest.raises(Usage, match="not a valid glob") as refused:
        normalize_globs(str(root), [glob])

    assert "src/**/*.py" in refused.value.next


def test_absolute_path_inside_project_becomes_relative(root):
    assert (
        normalize_path(str(root), str(root / "src" / "x.py"))
        == normalize_path(str(root), "./src/x.py")
        == "src/x.py"
    )
    with pytest.raises(Refused):
        normalize_path(str(root), "/etc/passwd")


@pytest.fixture
def tree(root, tmp_path):
    """A project with files, folders, links in and out, a repository, a database and a pipe."""
    for name in (
        "src/x.py",
        "src/a/y.py",
        "src/a/b/z.py",
        "top.md",
        ".git/HEAD",
        "AI/db/kaizen.db",
        "AI/work/n.md",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("secret")
    (root / "src" / "out").symlink_to(outside)
    (root / "src" / "dead.py").symlink_to(outside / "gone")
    os.mkfifo(root / "src" / "pipe.py")
    return lambda: FileMatcher(str(root))


@pytest.mark.parametrize(
    "globs, found",
    [
        (["src/x.py"], ["src/x.py"]),
        (["src/*.py"], ["src/dead.py", "src/x.py"]),
        (["src/**/*.py"], ["src/a/b/z.py", "src/a/y.py", "src/dead.py", "src/x.py"]),
        (["src/out/*.py", "src/out/**"], []),
        (
            ["**"],
            [
                "AI/work/n.md",
                "src/a/b/z.py",
                "src/a/y.py",
                "src/dead.py",
                "src/out",
                "src/x.py",
                "top.md",
            ],
        ),
        (["*/a/*.py", "src/a/**"], ["src/a/b/z.py", "src/a/y.py"]),
        (["nowhere/**", "src/x.py/z"], []),
    ],
)
def test_globs_find_files_without_links_repository_or_database(tree, globs, found):
    assert tree().find_matches(globs) == found


def test_find_matches_agrees_with_matches_glob(tree):
    every = tree().find_matches(["**"])
    for glob in ("src/**", "**/*.py", "*/*", "src/?.py", "**/b/**", "*.md", "[st]*/*.py"):
        assert tree().find_matches([glob]) == [path for path in every if matches_glob(glob, path)]


def test_path_hash_changes_with_content_names_modes_and_links(tree, root):
    hashes = [tree().hash_matches(["src/**"])]

    def changed(act):
        act()
        hashes.append(tree().hash_matches(["src/**"]))
        return hashes[-1] != hashes[-2]

    assert not changed(lambda: (root / "top.md").write_text("other"))
    assert not changed(lambda: os.utime(root / "src" / "x.py", (1, 1)))
    assert changed(lambda: (root / "src" / "x.py").write_text("other"))
    assert changed(lambda: (root / "src" / "x.py").chmod(0o755))
    assert changed(lambda: (root / "src" / "x.py").rename(root / "src" / "w.py"))
    assert changed(lambda: (root / "src" / "new.py").write_text(""))
    assert changed(lambda: (root / "src" / "out").unlink())
    assert tree().hash_matches(["nowhere/*"]) == hash_tree([])


def test_staleness_reason_names_modified_or_missing_files(tree, root):
    recorded = tree().hash_matches(["src/*.py"])
    for path in (root / "src" / "x.py", root / "src" / "a" / "y.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    os.utime(root / "src" / "dead.py", (1_000_000_000, 1_000_000_000), follow_symlinks=False)
    at = "2002-01-01T00:00:00.000Z"

    assert check_staleness(tree(), ["src/*.py"], recorded, at) == {"stale": False}
    assert check_staleness(tree(), [], None, at) == {"stale": False}
    (root / "src" / "x.py").write_text("other")
    assert (
        "Modified since: src/x.py."
        in check_staleness(tree(), ["src/*.py"], recorded, at)["stale_because"]
    )
    (root / "src" / "x.py").unlink()
    (root / "src" / "dead.py").unlink()
    assert check_staleness(tree(), ["src/*.py"], recorded, at) == {
        "stale": True,
        "stale_because": "No file matches src/*.py any more.",
    }
