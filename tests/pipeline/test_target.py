"""Check the target repository: read as committed, and changed only when work is accepted."""

import os
import pathlib
import stat
import subprocess

import pytest

from kaizen_components.errors import Conflict, Integrity, NotFound, Refused
from kaizen_components.pipeline.target.target import Target
from kaizen_components.records.files.working_tree import read_working_tree

from ..conftest import git
from .targets import FASTAPI, everything, repository, write

NEW_MAIN = (
    FASTAPI["app/main.py"].encode()
    + b'\n\n@app.get("/health")\ndef health() -> dict[str, str]:\n    return {}\n'
)
CHANGE = {"app/main.py": NEW_MAIN, "app/new.py": b"ONE = 1\n", "tests/test_main.py": None}


@pytest.fixture
def repo(tmp_path):
    return repository(tmp_path / 'a repö: "one"', FASTAPI)


@pytest.fixture
def objects(tmp_path):
    return str(tmp_path / "run" / "objects")


def export(target, tmp_path, commit=None):
    folder = tmp_path / f"export {len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    target.export_commit(commit or target.find_head(), str(folder))
    return folder


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in pathlib.Path(folder).rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_writing_a_commit_leaves_repository_unchanged(repo, tmp_path, objects):
    write(repo, {"app/main.py": "dirty = 1\n", "untracked.txt": "mine\n"})
    os.utime(
        repo / "tests" / "test_main.py", (1e9, 1e9)
    )  # so that a careless `git status` would write the index anew
    before = everything(repo)

    target = Target(str(repo))
    base = target.find_head()
    assert target.is_dirty()
    export(target, tmp_path)
    head = target.write_commit(base, CHANGE, "A message", objects)
    target.render_diff(base, head, objects)
    target.find_changed_lines(base, head, objects)
    target.hash_files(head, objects)
    target.close()

    assert everything(repo) == before


def test_export_ignores_uncommitted_changes(repo, tmp_path):
    write(repo, {"app/main.py": "dirty = 1\n", "untracked.txt": "mine\n"})

    assert files(export(Target(str(repo)), tmp_path)) == {
        name: text.encode() for name, text in FASTAPI.items()
    }


def test_target_tree_hash_equals_working_tree_hash(repo, tmp_path, objects):
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("app/main.py")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "more")
    target = Target(str(repo))
    base = target.find_head()

    assert target.hash_files(base) == read_working_tree(str(repo)).sha256
    assert read_working_tree(str(export(target, tmp_path))).sha256 == target.hash_files(base)
    head = target.write_commit(base, {"app/main.py": b"x = 1\n"}, "m", objects)
    write(repo, {"app/main.py": "x = 1\n"})
    assert target.hash_files(head, objects) == read_working_tree(str(repo)).sha256


def test_export_keeps_modes_and_inner_links(tmp_path):
    repo = tmp_path / "r"
    (repo / "p" / "q").mkdir(parents=True)
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "inner").symlink_to("run.sh")
    (repo / "out").symlink_to("../secret")
    (repo / "absolute").symlink_to("/etc/passwd")
    (repo / "p" / "q" / "up").symlink_to("../..")
    (repo / "sly").symlink_to("p/q/up/../secret")  # inside as text, outside as a place
    git(repo, "init", "-q")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    target = Target(str(repo))
    folder = export(target, tmp_path)

    assert stat.S_IMODE((folder / "run.sh").stat().st_mode) & 0o111
    assert os.readlink(folder / "inner") == "run.sh"
    assert target.left_out == ["absolute", "out", "sly"]
    assert sorted(os.listdir(folder)) == ["inner", "p", "run.sh"]


def test_git_attributes_do_not_change_export(tmp_path):
    content = {
        ".gitattributes": "secret.py export-ignore\n*.py export-subst eol=crlf\n*.txt filter=shout\n",
        "secret.py": "x = 1\n",
        "subst.py": "# $Format:%H$\n",
        "crlf.bin": b"a\r\nb\n\0",
    }
    repo = repository(tmp_path / "r", content)

    assert files(export(Target(str(repo)), tmp_path))["secret.py"] == b"x = 1\n"
    assert files(export(Target(str(repo)), tmp_path))["subst.py"] == b"# $Format:%H$\n"
    assert files(export(Target(str(repo)), tmp_path))["crlf.bin"] == b"a\r\nb\n\0"


def test_git_configuration_does_not_affect_commits_and_diffs(repo, tmp_path, objects, monkeypatch):
    target = Target(str(repo))
    base = target.find_head()
    plain = target.render_diff(base, target.write_commit(base, CHANGE, "m", objects), objects)
    mark = tmp_path / "it ran"
    program = tmp_path / "program.sh"
    program.write_text(f'#!/bin/sh\ntouch "{mark}"\n')
    program.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    hooks = repo / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-commit", "reference-transaction", "post-index-change"):
        (hooks / hook).write_text(program.read_text())
        (hooks / hook).chmod(0o755)
    settings = {
        "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "core.quotePath": "true",
        "diff.external": str(program), "core.fsmonitor": str(program), "commit.gpgSign": "true",
        "gpg.program": str(program), "color.ui": "always", "diff.x.textconv": str(program),
        "diff.context": "9", "diff.algorithm": "patience", "core.pager": str(program),
    }  # fmt: skip
    lines = "".join(f'[{name.rpartition(".")[0].replace(".", " ")}]\n\t{name.rpartition(".")[2]} = "{value}"\n'
                    for name, value in settings.items() if name.count(".") == 1)  # fmt: skip
    (home / ".gitconfig").write_text(lines + f'[diff "x"]\n\ttextconv = {program}\n')
    with open(repo / ".git" / "config", "a") as file:
        file.write(lines)
    (repo / ".git" / "info" / "attributes").write_text("*.py diff=x binary\n")

    fresh = Target(str(repo))
    head = fresh.write_commit(base, CHANGE, "m", objects)
    assert fresh.render_diff(base, head, objects) == plain
    fresh.is_dirty()
    fresh.adopt_commit(objects, head)
    fresh.create_branch("kaizen/run_1", head)
    assert not mark.exists()


def test_gitattributes_of_candidate_do_not_affect_diff(repo, objects):
    target = Target(str(repo))
    base = target.find_head()
    change = {
        "app/main.py": NEW_MAIN,
        ".gitattributes": b"*.py binary -diff\n",
        "logo.png": b"\x89PNG\0\0",
    }
    text = target.render_diff(base, target.write_commit(base, change, "m", objects), objects)

    assert '+@app.get("/health")' in text
    assert "Binary files /dev/null and b/logo.png differ" in text


def test_changed_lines_are_found_in_unusual_paths(repo, objects):
    target = Target(str(repo))
    base = target.find_head()
    odd = 'o"dd\tnäme\n.py'
    lines = FASTAPI["app/main.py"].splitlines(keepends=True)
    edited = "".join([lines[0], "# new\n", *lines[1:7], '    return {"service": "other"}'])
    change = {
        "app/main.py": edited.encode(),
        odd: b"@@ -1 +1 @@\ndiff --git a b\n",
        "tests/test_main.py": None,
        "e": b"",
    }
    head = target.write_commit(base, change, "m", objects)

    assert target.find_changed_lines(base, head, objects) == {
        "app/main.py": {2, 9},
        odd: {1, 2},
        "e": set(),
    }


def test_same_change_gives_same_commit_id(repo, tmp_path, objects):
    commit = Target(str(repo)).write_commit(
        Target(str(repo)).find_head(), CHANGE, "Title\n\nText\n", objects
    )
    target = Target(str(repo))
    assert (
        target.write_commit(
            target.find_head(), CHANGE, "Title\n\nText\n", str(tmp_path / "other objects")
        )
        == commit
    )

    target.adopt_commit(objects, commit)
    text = subprocess.run(
        ["git", "cat-file", "commit", commit], cwd=repo, capture_output=True, text=True
    ).stdout
    assert text.endswith("\n\nTitle\n\nText\n")
    assert "Kaizen <kaizen@localhost>" in text


def test_commit_keeps_odd_names_and_content(repo, objects):
    change = {
        'qu"o\\te.py': b"",
        "line\nbreak": b"data 3\nabc",
        "ta\tb é": bytes(range(256)),
        "a b/.gitkeep": b"done\n",
    }
    target = Target(str(repo))
    head = target.write_commit(target.find_head(), change, "m", objects)

    contents = {
        entry.path: target.store.read_object(entry.id, objects)
        for entry in target.store.list_entries(head, "", objects)
    }
    assert contents == {**{name: text.encode() for name, text in FASTAPI.items()}, **change}


def test_commit_can_replace_folder_with_file_and_back(repo, objects):
    target = Target(str(repo))
    base = target.find_head()
    head = target.write_commit(
        base, {"tests/test_main.py": None, "tests": b"a file\n"}, "m", objects
    )
    back = target.write_commit(head, {"tests": None, "tests/deep/x": b"1"}, "m", objects)

    assert "tests/deep/x" in target.render_diff(head, back, objects)


def test_committing_over_a_link_is_refused(repo, objects):
    (repo / "link").symlink_to("app/main.py")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "link")
    target = Target(str(repo))

    with pytest.raises(Refused):
        target.write_commit(target.find_head(), {"link": b"x"}, "m", objects)


DISGUISED = [
    ".g\u200cit/config",
    "a\\.git\\config",
    ".git::$INDEX_ALLOCATION/x",
    "GIT~1/x",
    ".git ./x",
]


@pytest.mark.parametrize(
    "path", ["../x", ".git/config", "a/../../x", ".GIT/hooks/x", "/etc/x", *DISGUISED]
)
def test_committing_path_outside_repository_is_refused(repo, objects, path):
    target = Target(str(repo))

    with pytest.raises(Refused):
        target.write_commit(target.find_head(), {path: b"x"}, "m", objects)


def test_subfolder_of_repository_can_be_target(tmp_path, objects):
    repo = repository(
        tmp_path / "mono",
        {f"apps/öne/{name}": text for name, text in FASTAPI.items()} | {"other.py": ""},
    )
    target = Target(str(repo / "apps" / "öne"))
    base = target.find_head()
    head = target.write_commit(base, CHANGE, "m", objects)

    assert target.list_paths(base) == sorted(FASTAPI)
    assert files(export(target, tmp_path)).keys() == FASTAPI.keys()
    assert target.read_blob(base, "other.py") is None
    assert set(target.find_changed_lines(base, head, objects)) == {"app/main.py", "app/new.py"}
    assert "a/app/main.py" in target.render_diff(base, head, objects)
    target.adopt_commit(objects, head)
    target.apply_to_worktree(base, head)
    assert (repo / "apps" / "öne" / "app" / "main.py").read_bytes() == NEW_MAIN
    assert target.is_applied(base, head)
    assert target.hash_files(head) == read_working_tree(str(repo / "apps" / "öne")).sha256


def test_worktree_and_unusual_clones_can_be_targets(repo, tmp_path, objects):
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", str(tmp_path / "shallow"))
    git(tmp_path, "clone", "-q", "--shared", str(repo), str(tmp_path / "shared"))
    git(tmp_path, "init", "-q", "--object-format=sha256", str(tmp_path / "long"))
    repository(tmp_path / "long", FASTAPI)
    for name in ("tree", "shallow", "shared", "long"):
        target = Target(str(tmp_path / name))
        base = target.find_head()
        head = target.write_commit(base, CHANGE, "m", objects + name)
        target.adopt_commit(objects + name, head)
        target.create_branch(f"kaizen/{name}", head)
        target.apply_to_worktree(base, head)

        assert (tmp_path / name / "app" / "new.py").read_bytes() == b"ONE = 1\n"


@pytest.mark.parametrize(
    "name", ["a\n--kaizen-next-path\nb", "a\n--next/path\nb", "a\n", " --next"]
)
def test_target_path_may_contain_line_breaks(tmp_path, objects, name):
    target = Target(str(repository(tmp_path / name / "apps", FASTAPI)))
    base = target.find_head()
    head = target.write_commit(base, CHANGE, "m", objects)
    target.adopt_commit(objects, head)
    target.apply_to_worktree(base, head)

    assert (tmp_path / name / "apps" / "app" / "new.py").read_bytes() == b"ONE = 1\n"


def test_submodule_is_named_but_not_exported(repo, tmp_path):
    inner = repository(tmp_path / "inner", {"x.py": ""})
    git(
        repo,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner),
        "vendor/inner",
    )
    git(repo, "commit", "-q", "-m", "submodule")
    target = Target(str(repo))
    folder = export(target, tmp_path)

    assert target.left_out == target.list_submodules(target.find_head()) == ["vendor/inner"]
    assert not (folder / "vendor").exists()
    assert "vendor/inner" not in target.list_paths(target.find_head())


def test_unusable_repository_is_refused_with_its_error_code(tmp_path):
    (tmp_path / "plain").mkdir()
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "bare"))
    git(tmp_path, "init", "-q", str(tmp_path / "empty"))
    repo = repository(tmp_path / "r", {"x": "", ".gitignore": "build/\n"})
    (repo / "build").mkdir()
    codes = {}
    for name in ("missing", "plain", "bare", "empty", "r/.git", "r/build"):
        with pytest.raises((NotFound, Refused)) as caught:
            Target(str(tmp_path / name)).find_head()
        codes[name] = caught.value.code
        assert caught.value.next

    assert codes == {
        "missing": "no_target", "plain": "not_a_repository", "bare": "target_without_files",
        "empty": "no_commit", "r/.git": "target_without_files", "r/build": "nothing_committed",
    }  # fmt: skip


def test_missing_git_object_raises_integrity_error(repo, tmp_path):
    target = Target(str(repo))
    id = subprocess.run(
        ["git", "rev-parse", "HEAD:app/main.py"], cwd=repo, capture_output=True, text=True
    ).stdout
    os.unlink(repo / ".git" / "objects" / id[:2] / id[2:].strip())

    with pytest.raises(Integrity):
        export(target, tmp_path)


def test_file_with_undecodable_name_is_exported_unlisted(repo, tmp_path):
    name = os.fsdecode(b"bad-\xff.py")
    try:
        (repo / name).write_text("x = 1\n")
    except OSError:
        pytest.skip("this file system has no such names")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "bad")
    target = Target(str(repo))

    assert (export(target, tmp_path) / name).exists()
    assert target.list_paths(target.find_head()) == sorted(FASTAPI)


@pytest.fixture
def accepted(repo, objects):
    """Return (target, base, head) of an adopted change."""
    target = Target(str(repo))
    base = target.find_head()
    head = target.write_commit(base, CHANGE, "m", objects)
    target.adopt_commit(objects, head)
    return target, base, head


def index(repo):
    return (repo / ".git" / "index").read_bytes()


def test_only_accepted_commit_is_imported(repo, objects):
    target = Target(str(repo))
    base = target.find_head()
    rejected = target.write_commit(base, {"app/bad.py": b"BAD = 1\n"}, "m", objects)
    head = target.write_commit(base, CHANGE, "m", objects)
    target.adopt_commit(objects, head)
    target.adopt_commit(objects, head)

    git(repo, "cat-file", "-e", head)
    git(repo, "fsck", "--strict")
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "cat-file", "-e", rejected)


def test_result_branch_is_created_once_and_never_moved(repo, accepted):
    target, base, head = accepted
    target.create_branch("kaizen/run_1", head)
    target.create_branch("kaizen/run_1", head)

    with pytest.raises(Conflict):
        target.create_branch("kaizen/run_1", base)
    with pytest.raises(Conflict):
        target.create_branch("kaizen", base)
    heads = subprocess.run(
        ["git", "rev-parse", "kaizen/run_1", "HEAD"], cwd=repo, capture_output=True, text=True
    ).stdout
    assert heads.split() == [head, base]


def test_applying_a_commit_changes_only_its_files(repo, accepted):
    target, base, head = accepted
    write(repo, {"notes.txt": "mine\n"})
    staged = index(repo)
    target.apply_to_worktree(base, head)

    assert files(repo / "app") == {"__init__.py": b"", "main.py": NEW_MAIN, "new.py": b"ONE = 1\n"}
    assert not (repo / "tests" / "test_main.py").exists()
    assert (repo / "notes.txt").read_text() == "mine\n"
    assert index(repo) == staged
    assert target.find_head() == base
    assert target.is_applied(base, head)


@pytest.mark.parametrize("path", ["app/main.py", "app/new.py", "tests/test_main.py"])
def test_applying_over_local_changes_names_and_keeps_them(repo, accepted, path):
    target, base, head = accepted
    write(repo, {path: "mine = 1\n"})
    before = everything(repo)

    with pytest.raises(Refused, match=path):
        target.apply_to_worktree(base, head)
    assert everything(repo) == before


def test_applying_never_overwrites_ignored_or_staged_files(repo, accepted):
    target, base, head = accepted
    (repo / ".git" / "info" / "exclude").write_text("new.py\n")
    write(repo, {"app/new.py": "mine = 1\n", "app/main.py": "staged = 1\n"})
    git(repo, "add", "app/main.py")

    with pytest.raises(Refused, match=r"app/main\.py, app/new\.py"):
        target.apply_to_worktree(base, head)


def test_applying_over_newer_commit_raises_conflict(repo, accepted):
    target, base, head = accepted
    write(repo, {"app/main.py": "nothing = 'in common'\n"})
    git(repo, "commit", "-q", "-a", "-m", "meanwhile")
    before = everything(repo / "app")

    with pytest.raises(Conflict):
        target.apply_to_worktree(base, head)
    assert everything(repo / "app") == before


def test_applying_continues_after_interruption(repo, accepted):
    target, base, head = accepted
    write(repo, {"app/main.py": NEW_MAIN})
    assert not target.is_applied(base, head)
    target.apply_to_worktree(base, head)

    assert target.is_applied(base, head)
    target.apply_to_worktree(base, head)


def test_applying_keeps_windows_line_ends(repo, accepted):
    target, base, head = accepted
    git(repo, "config", "core.autocrlf", "true")
    for path in ("app/main.py", "tests/test_main.py"):
        os.unlink(repo / path)
        git(repo, "checkout", "-q", "--", path)
    assert b"\r\n" in (repo / "app" / "main.py").read_bytes()
    target.apply_to_worktree(base, head)

    assert (repo / "app" / "main.py").read_bytes() == NEW_MAIN.replace(b"\n", b"\r\n")
    assert target.is_applied(base, head)
