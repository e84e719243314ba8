"""Files by their hash: what counts as inside, what a tree is, and what is refused rather than misread."""

import hashlib
import os
import socket
import subprocess
import sys

import pytest

from kaizen_components.errors import Busy, NotFound, Refused, Unavailable
from kaizen_components.records.files import files
from kaizen_components.store.place import Place

from ..conftest import ROOT

# Inside or outside


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("not ours")
    return folder


@pytest.mark.parametrize(
    "given, stored",
    [
        ("a.txt", "a.txt"),
        ("./docs//guide.md", "docs/guide.md"),
        ("docs/../a.txt", "a.txt"),
        ("docs/", "docs"),
        (".", "."),
        ("../a project/a.txt", "a.txt"),
        ("not there yet.txt", "not there yet.txt"),
        ("..a/..b", "..a/..b"),
    ],
)
def test_path_is_relative_to_project(root, monkeypatch, given, stored):
    (root / "docs").mkdir()
    monkeypatch.chdir("/")

    assert files.find_project_path(str(root), given) == stored
    assert files.find_project_path(str(root), os.path.join(str(root), given)) == stored


@pytest.mark.parametrize(
    "given", ["..", "../x", "docs/../../x", "/", "/etc", "../a project 2", "a/b/../../.."]
)
def test_path_above_project_root_is_outside(root, given):
    assert files.find_project_path(str(root), given) is None
    with pytest.raises(Refused, match="outside the project"):
        files.require_project_path(str(root), given)


def test_path_through_link_resolves_to_its_target(root, outside):
    (root / "docs").mkdir()
    (root / "docs" / "guide.md").write_text("x")
    (root / "in").symlink_to("docs")
    (root / "out").symlink_to(outside)
    (root / "leak.txt").symlink_to(outside / "secret.txt")
    (root / "dangling").symlink_to(outside / "nothing")
    (root / "twice").symlink_to("out")

    assert files.find_project_path(str(root), "in/guide.md") == "in/guide.md"
    for path in (
        "out",
        "out/secret.txt",
        "leak.txt",
        "dangling",
        "twice",
        "in/../out/secret.txt",
        "out/new/deep",
    ):
        assert files.find_project_path(str(root), path) is None


def test_dots_after_link_resolve_from_its_target(root, outside):
    (root / "a").mkdir()
    (root / "b" / "c").mkdir(parents=True)
    (root / "a" / "x").write_text("the wrong one")
    (root / "b" / "x").write_text("the right one")
    (root / "a" / "link").symlink_to(root / "b" / "c")
    (root / "a" / "out").symlink_to(outside)

    assert files.find_project_path(str(root), "a/link/../x") == "b/x"
    assert files.find_project_path(str(root), "a/out/../x") is None


def test_symlink_to_project_gives_same_stored_paths(root, tmp_path):
    (root / "a.txt").write_text("x")
    link = tmp_path / "link"
    link.symlink_to(root)
    for opened in (root, link):
        for given in (root, link):
            assert files.find_project_path(str(opened), str(given / "a.txt")) == "a.txt"


@pytest.mark.parametrize("name", [os.fsdecode(b"caf\xe9.txt"), "\ud800"])
def test_name_that_is_not_utf8_is_refused(root, name):
    with pytest.raises(Refused) as refused:
        files.find_project_path(str(root), name)

    assert refused.value.code == "path_not_utf8" and "Rename" in refused.value.next
    refused.value.what.encode()


def test_windows_path_is_stored_with_forward_slashes():
    assert files.use_forward_slashes("docs\\deep\\guide.md", "\\") == "docs/deep/guide.md"


# One file


def test_hash_of_file_is_sha256(root):
    for data in (b"", b"hello\n", os.urandom(files.BLOCK_BYTES * 2 + 17)):
        (root / "a").write_bytes(data)
        assert files.hash_file(str(root / "a")) == (hashlib.sha256(data).hexdigest(), len(data))


def test_large_file_is_hashed_in_constant_memory(root):
    with open(root / "large", "wb") as file:
        file.truncate(400_000_000)
    script = (
        "import hashlib, resource, sys; from kaizen_components.records.files.files import hash_file\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "before = peak(); print(hash_file(sys.argv[1])[1], peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(root / "large")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    size, growth = map(int, done.stdout.split())

    assert size == 400_000_000
    assert growth < 16_000_000


def test_missing_file_and_folder_are_refused(root):
    (root / "a").write_text("x")
    (root / "loop").symlink_to("loop")
    for path in ("nothing", "a/below a file"):
        with pytest.raises(NotFound):
            files.hash_file(str(root / path))
    for path in (".", "loop"):
        with pytest.raises(Unavailable):
            files.hash_file(str(root / path))


def a_special_file(kind, path):
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "socket":
        here = os.open(".", os.O_RDONLY)
        os.chdir(path.parent)  # the path of a socket may have 107 bytes
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(path.name)
        os.fchdir(here)
        os.close(here)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_special_file_is_refused_at_once(root, kind):
    a_special_file(kind, root / "special")

    with pytest.raises(Refused, match="neither a file nor a folder"):
        files.hash_file(str(root / "special"))


def test_hashing_fifo_is_refused_without_waiting(root, monkeypatch):
    os.mkfifo(root / "pipe")
    (root / "file").write_text("x")
    regular = os.stat(root / "file")
    with monkeypatch.context() as patched:
        patched.setattr(files.os, "stat", lambda path: regular)
        with pytest.raises(Refused, match="neither a file nor a folder"):
            files.hash_file(str(root / "pipe"))


def when_opened(monkeypatch, do):
    """Do something right after the next file was opened for hashing."""
    real = os.fstat

    def fstat(number):
        facts = real(number)
        monkeypatch.setattr(files.os, "fstat", real)
        do()
        return facts

    monkeypatch.setattr(files.os, "fstat", fstat)


def append(path):
    with open(path, "ab") as file:
        file.write(b"more")


def replace(path):
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns))
    os.replace(other, path)


def rewrite(path):
    path.write_bytes(bytes(path.stat().st_size))
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize("change", [append, replace, rewrite])
def test_file_changed_while_hashed_is_busy(root, monkeypatch, change):
    (root / "a").write_bytes(b"x" * 1000)
    when_opened(monkeypatch, lambda: change(root / "a"))

    with pytest.raises(Busy, match="changed while it was read") as busy:
        files.hash_file(str(root / "a"))
    assert busy.value.exit_code == 6 and busy.value.retryable
    assert files.hash_file(str(root / "a"))[1] >= 1000


# Folders


@pytest.fixture
def folder(root):
    made = root / "folder"
    (made / "deep" / "er").mkdir(parents=True)
    (made / "a.txt").write_text("a")
    (made / "deep" / "b.txt").write_text("bb")
    (made / "deep" / "er" / "c").write_text("ccc")
    return made


def hash_of(folder):
    return files.hash_folder(str(folder))[0]


def test_folder_hash_covers_everything_below(folder):
    first = files.hash_folder(str(folder))

    assert first[1:] == (6, 3)
    assert files.hash_folder(str(folder)) == first
    (folder / "deep" / "er" / "c").write_text("ccd")
    assert hash_of(folder) != first[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a.txt").rename(folder / "z.txt"),
        lambda folder: (folder / "a.txt").chmod(0o755),
        lambda folder: (folder / "a.txt").unlink(),
        lambda folder: (folder / "new").write_text(""),
        lambda folder: (folder / "new").symlink_to("a.txt"),
    ],
    ids=["renamed", "executable", "removed", "added", "link"],
)
def test_every_change_below_folder_changes_its_hash(folder, change):
    before = hash_of(folder)
    change(folder)

    assert hash_of(folder) != before


def test_folder_hash_uses_link_targets_not_their_content(folder, outside):
    (folder / "out").symlink_to(outside)
    (folder / "loop").symlink_to(".")
    (folder / "dangling").symlink_to("nothing")
    before = files.hash_folder(str(folder))
    (outside / "secret.txt").write_text("something else")

    assert before[2] == 6
    assert files.hash_folder(str(folder)) == before
    (folder / "out").unlink()
    (folder / "out").symlink_to("elsewhere")
    assert hash_of(folder) != before[0]


def test_git_folders_are_left_out_at_every_depth(folder):
    before = hash_of(folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("x")
    (folder / "deep" / ".git").write_text("gitdir: elsewhere")

    assert hash_of(folder) == before


def test_line_break_in_name_changes_hash(root):
    one, two = root / "one", root / "two"
    one.mkdir()
    two.mkdir()
    second = hashlib.sha256(b"second").hexdigest()
    (one / f"a\nfile {second} b").write_text("first")
    (two / "a").write_text("first")
    (two / "b").write_text("second")

    assert hash_of(one) != hash_of(two)


def test_names_that_are_not_utf8_are_hashed(folder):
    before = hash_of(folder)
    with open(os.path.join(os.fsencode(folder), b"caf\xe9"), "w") as file:
        file.write("x")

    assert files.hash_folder(str(folder))[2] == 4 and hash_of(folder) != before


def test_special_file_in_folder_is_refused(folder):
    os.mkfifo(folder / "deep" / "pipe")

    with pytest.raises(Refused, match="'pipe' is neither"):
        files.hash_folder(str(folder))


def test_very_deep_folder_is_hashed(root, monkeypatch):
    depth = 1500  # beyond what a recursive walk can do
    monkeypatch.chdir(root)
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    open("leaf", "w").close()
    count = files.hash_folder(str(root))[2]
    os.unlink("leaf")
    for _ in range(depth):  # here, because pytest's own cleaning is recursive
        os.chdir("..")
        os.rmdir("d")

    assert count == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "new").write_text(""),
        lambda folder: append(folder / "deep" / "b.txt"),
        lambda folder: append(folder / "a.txt"),
        lambda folder: [path.unlink() for path in (folder / "a.txt", folder / "deep" / "b.txt")],
    ],
    ids=["added", "changed", "changed as well", "removed"],
)
def test_folder_changed_while_hashed_is_busy(folder, monkeypatch, change):
    when_opened(monkeypatch, lambda: change(folder))

    with pytest.raises((Busy, NotFound)) as busy:
        files.hash_folder(str(folder))
    assert busy.value.exit_code == 6


def test_folder_hash_omits_kaizen_database(root, kaizen):
    kaizen("K1")
    kaizen.close()
    place = Place(str(root))
    (root / "a.txt").write_text("a")
    os.link(place.database, root / "hard link to the database")
    before = files.measure_path(place, ".")

    assert before[2] == 1
    (root / "AI" / "db" / "exports" / "report.html").write_text("x")
    assert files.measure_path(place, ".") == before
    assert files.measure_path(place, "AI/db/exports")[2] == 1
    for own in ("AI/db", "AI/db/kaizen.db", "AI/db/kaizen.db.lock", "hard link to the database"):
        with pytest.raises(Refused, match="is the database or contains it"):
            files.measure_path(place, own)
