"""The working tree as one hash."""

import os
import time

import pytest

from kaizen_components.errors import NotFound, Unavailable
from kaizen_components.records.files import working_tree as tree
from kaizen_components.records.files.files import hash_entry
from kaizen_components.records.files.working_tree import read_working_tree

from ..conftest import git


@pytest.fixture
def repository(root):
    git(root, "init", "-q")
    (root / "a.txt").write_text("a")
    (root / "sub").mkdir()
    (root / "sub" / "b.txt").write_text("b")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def hash_of(root, cache=None):
    return read_working_tree(str(root), cache and str(cache)).sha256


def test_committing_does_not_change_tree_hash(repository, tmp_path):
    plain = tmp_path / "plain"
    (plain / "sub").mkdir(parents=True)
    (plain / "a.txt").write_text("a")
    (plain / "sub" / "b.txt").write_text("b")

    assert hash_of(repository) == hash_of(plain)


def test_tree_hash_follows_documented_format(root):
    import hashlib

    (root / "b").write_text("x")
    os.chmod(root / "b", 0o755)
    os.symlink("b", root / "a")
    lines = [
        f"link {hashlib.sha256(b'b').hexdigest()} a\0",
        f"exec {hashlib.sha256(b'x').hexdigest()} b\0",
    ]

    assert hash_of(root) == hashlib.sha256("".join(lines).encode()).hexdigest()


def test_hash_cache_never_hides_changed_file(repository, tmp_path):
    cache = tmp_path / "cache.json"
    old = time.time() - 100
    os.utime(repository / "a.txt", (old, old))
    first = hash_of(repository, cache)
    time.sleep(2.1)  # so that the cache trusts its entries
    assert hash_of(repository, cache) == first and b"a.txt" in cache.read_bytes()
    (repository / "a.txt").write_text("B")
    os.utime(repository / "a.txt", (old, old))  # the same size and time; only the change time tells

    assert hash_of(repository, cache) != first


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"a.txt": [1]}', b"\xff\xfe", b'{"a.txt": null}']
)
def test_broken_hash_cache_is_ignored(repository, tmp_path, content):
    cache = tmp_path / "cache.json"
    cache.write_bytes(content)

    assert hash_of(repository, cache) == hash_of(repository)


def test_files_with_unusual_names_change_hash(repository):
    first = hash_of(repository)
    for name in (b"with\nnewline", b" blank ", b"broken-\xff", "ümlaut".encode()):
        with open(os.path.join(os.fsencode(repository), name), "wb"):
            pass
        second = hash_of(repository)
        assert second != first
        first = second


def test_tree_hash_includes_files_of_nested_repository(repository):
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "c.txt").write_text("c")
    first = hash_of(repository)
    (inner / "c.txt").write_text("d")

    assert hash_of(repository) != first


def test_tree_hash_ignores_git_environment_variables(repository, monkeypatch, tmp_path):
    first = hash_of(repository)
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))

    assert hash_of(repository) == first


def test_unchanged_file_is_not_read_again(repository, tmp_path, monkeypatch):
    cache = tmp_path / "cache.json"
    old = time.time() - 100
    for path in (repository / "a.txt", repository / "sub" / "b.txt"):
        os.utime(path, (old, old))
    time.sleep(2.1)  # the change time cannot be set back
    first = hash_of(repository, cache)
    read = []
    monkeypatch.setattr(tree, "hash_entry", lambda path: read.append(path) or hash_entry(path))
    assert hash_of(repository, cache) == first and read == []
    (repository / "a.txt").write_text("new")

    assert hash_of(repository, cache) != first
    assert [os.path.basename(path) for path in read] == ["a.txt"]


def test_tree_hash_includes_project_ignored_by_outer_repository(root):
    git(root, "init", "-q")
    (root / ".gitignore").write_text("*\n")
    project = root / "project"
    project.mkdir()
    (project / "m.py").write_text("1")
    first = hash_of(project)
    (project / "m.py").write_text("2")

    assert read_working_tree(str(project)).files == 1 and hash_of(project) != first


def test_tree_hash_includes_files_beside_bare_repository(root):
    git(root, "init", "-q", "--bare", ".git")
    (root / "m.py").write_text("1")
    first = hash_of(root)
    (root / "m.py").write_text("2")

    assert hash_of(root) != first


def test_tree_hash_with_broken_git_index_raises_unavailable(repository):
    (repository / ".git" / "index").write_bytes(b"x")
    with pytest.raises(Unavailable):
        hash_of(repository)


def test_tree_hash_skips_missing_submodule(repository, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "c.txt").write_text("c")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "inner")
    git(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        str(inner),
        "module",
    )
    git(repository, "commit", "-qm", "with a submodule")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository), str(clone))
    empty = hash_of(clone)
    (clone / "module" / "new.txt").write_text("x")

    assert hash_of(clone) != empty
    assert hash_of(repository) != empty
    first = hash_of(repository)
    (repository / "module" / "c.txt").write_text("changed")
    assert hash_of(repository) != first


def test_tree_hash_omits_file_deleted_meanwhile(repository, monkeypatch):
    plain = hash_of(repository)
    (repository / "z.txt").write_text("z")

    def vanishing(path):
        if path.endswith("z.txt"):
            raise NotFound("file_not_found", "gone")
        return hash_entry(path)

    monkeypatch.setattr(tree, "hash_entry", vanishing)
    assert hash_of(repository) == plain

    def unreadable(path):
        if path.endswith("z.txt"):
            raise Unavailable("file_unreadable", "not yours")
        return hash_entry(path)

    monkeypatch.setattr(tree, "hash_entry", unreadable)
    assert hash_of(repository) != plain
