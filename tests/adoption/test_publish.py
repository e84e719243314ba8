"""Check that D2 finds secrets, personal data and names of machines in a repository."""

import io
import json
import os
import shutil
import subprocess
import zlib

import pytest

from kaizen_components.projects.publish import hidden_content as publish_git
from kaizen_components.projects.publish import scan as publish_scan
from kaizen_components.projects.publish.finders import Finder

from ..conftest import ROOT, git

TOKEN = "ghp_" + "a1B2c3D4e5" * 4  # put together here, so that this file is clean itself
HOME, MAC, WINDOWS = "/" + "home/", "/" + "Users/", "C:\\" + "Users\\"
ME = {"HOME": HOME + "zaphodb", "USER": "zaphodb", "LOGNAME": "zaphodb"}


@pytest.fixture
def repo(root):
    git(root, "init", "-q")
    (root / ".gitignore").write_text("AI/\n.env\n.venv/\n")
    (root / "README.md").write_text("# A project\n")
    git(root, "add", ".")
    return root


@pytest.fixture
def find_leaks(cli):
    """Return a function that runs D2 and returns (where, kind) of its findings."""

    def run():
        answer = cli("D2", "--json", env=ME)
        assert answer.exit_code == 1, answer.out + answer.err
        return [(row["where"], row["kind"]) for row in answer.error["findings"]]

    return run


def test_clean_repository_passes_with_remarks(cli, repo):
    answer = cli("D2", env=ME)

    assert (
        answer.exit_code == 0
        and "clean" in answer.out
        and "git history was not checked" in answer.out
    )


def test_findings_have_path_line_and_kind(cli, repo):
    (repo / "a.py").write_text(
        f"x = 1\npath = '{HOME}arthur/x'\nhost = 'http://build.internal/x'\n"
    )
    (repo / "b.txt").write_text("server 192.168" + ".1.20\nby zaphodb\n")
    git(repo, "add", ".")

    answer = cli("publish-check", "--json", env=ME)
    assert answer.exit_code == 1 and answer.error["code"] == "not_publishable"
    rows = [(row["where"], row["kind"], row["found"]) for row in answer.error["findings"]]
    assert rows == [
        ("a.py:2", "personal path", HOME + "arthur"),
        ("a.py:3", "internal host name", "build.internal"),
        ("b.txt:1", "private address", "192.168" + ".1.20"),
        ("b.txt:2", "machine or user name", "zaphodb"),
    ]


def test_secret_is_named_without_its_value(cli, repo):
    (repo / "a.py").write_text(f"# at {HOME}arthur\nkey = '{TOKEN}'\n")

    for argv in (["D2"], ["D2", "--json"]):
        answer = cli(*argv, env=ME)
        assert answer.exit_code == 1 and "a.py:2" in answer.err and "GitHub token" in answer.err
        assert TOKEN[:12] not in answer.err + answer.out


def test_private_key_is_reported_at_first_line(find_leaks, repo):
    key = "-----BEGIN " + "RSA PRIVATE KEY-----\n" + ("MIIEpAIBAAKCAQEA7x9Qb2" * 3 + "\n") * 3
    (repo / "id").write_text("x\n\n" + key)

    assert find_leaks() == [("id:3", "secret: private key")]


def test_ignored_file_is_scanned(cli, repo):
    (repo / ".env").write_text(f"TOKEN={TOKEN}\n")
    (repo / ".venv").mkdir()
    (repo / ".venv" / "pyvenv.cfg").write_text(
        f"home = {HOME}arthur\n"
    )  # a folder of a tool, which is left out and named

    findings = cli("D2", "--json", env=ME).error["findings"]
    assert [(row["where"], row["state"]) for row in findings] == [(".env:1", "ignored")]
    (repo / ".env").unlink()
    assert cli("D2", "--json", env=ME).json["left_out"] == [".venv"]


def test_exported_files_below_ai_are_scanned(find_leaks, kaizen, repo):
    kaizen("W1", title="t", summary="s")
    exports = repo / "AI" / "db" / "exports"
    (exports / "report.html").write_text(f"<p>{MAC}trillian/x</p>")
    (repo / "AI" / "work" / "proofs").mkdir(parents=True)
    (repo / "AI" / "work" / "proofs" / "out.txt").write_text("on http://ci.corp/1")

    assert find_leaks() == [
        ("AI/db/exports/report.html:1", "personal path"),
        ("AI/work/proofs/out.txt:1", "internal host name"),
    ]


def test_text_of_database_is_scanned(find_leaks, kaizen, repo):
    kaizen("W1", title="t", summary=f"See {HOME}arthur/notes")
    kaizen.close()

    assert ("AI/db/kaizen.db", "personal path") in find_leaks()


def test_binary_file_counts_once_per_kind(find_leaks, cli, repo):
    text = f"{HOME}arthur/a\n".encode()
    (repo / "a.bin").write_bytes(b"\0\1\2" + text * 5 + b"\xff" + f"{TOKEN}".encode() + b"\0")
    (repo / "b.z").write_bytes(zlib.compress(text * 5))

    assert find_leaks() == [("a.bin", "secret: GitHub token"), ("a.bin", "personal path")]


def test_utf_16_file_is_scanned_as_text(find_leaks, repo):
    (repo / "a.txt").write_bytes(f"x\n{HOME}arthur\n".encode("utf-16"))

    assert find_leaks() == [("a.txt:2", "personal path")]


def test_file_names_and_link_targets_are_scanned(find_leaks, repo):
    (repo / "zaphodb.txt").write_text("x")
    os.symlink("/opt/engine", repo / "engine")
    os.symlink("README.md", repo / "inside")

    assert find_leaks() == [
        ("engine", "link to a place on this machine"),
        ("zaphodb.txt", "machine or user name"),
    ]


def test_file_behind_a_link_is_not_scanned(cli, repo, tmp_path):
    (tmp_path / "outside.txt").write_text(TOKEN)
    os.symlink("../outside.txt", repo / "link")

    assert cli("D2", env=ME).exit_code == 0


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root may give files away")
def test_repository_of_another_user_is_refused(cli, repo, tmp_path):
    for place in (repo, repo / ".git"):
        os.chown(place, 65534, 65534)
    answer = cli(
        "D2",
        "--json",
        env={**ME, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "SUDO_UID": None},
    )

    assert answer.exit_code == 1 and answer.error["code"] == "repository_of_another_user"
    assert (
        f"`git config --global --add safe.directory '{os.path.realpath(repo)}'`"
        in answer.error["next"]
    )


COMPLAINTS = {
    "fatal: detected dubious ownership in repository at 'x'": "repository_of_another_user",
    "fatal: bad config line 1 in file .git/config": "git_failed",
    "fatal: not a git repository: /nope": "git_failed",  # .git is a file that leads there
    "fatal: not a git repository (or any of the parent directories): .git": "git_failed",  # .git is an empty folder
    "": "no_git",
}


@pytest.mark.parametrize("complaint, code", COMPLAINTS.items())
def test_publish_check_fails_if_git_fails(cli, repo, tmp_path, complaint, code):
    (tmp_path / "git").write_text(
        f'#!/bin/sh\necho "{complaint}" >&2\nexit 128\n' if complaint else "no program"
    )
    (tmp_path / "git").chmod(0o755)
    answer = cli("D2", "--json", env={**ME, "PATH": str(tmp_path)})

    assert answer.exit_code in (1, 5) and answer.error["code"] == code


@pytest.mark.parametrize(
    "make", [lambda path: path.write_text("gitdir: /nope\n"), os.mkdir], ids=["file", "folder"]
)
@pytest.mark.parametrize("place", [".git", "../.git"])
def test_publish_check_fails_on_broken_repository(cli, root, make, place):
    make(root / place)
    answer = cli("D2", "--json", env=ME)

    assert answer.exit_code == 5 and answer.error["code"] == "git_failed"
    assert "not a git repository" in answer.error["why"]


def test_repository_above_mount_point_is_ignored(root, monkeypatch):
    (root.parent / ".git").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: os.path.samefile(path, root))

    assert not publish_git.is_repository(str(root))


def test_without_git_every_file_is_scanned(cli, root):
    (root / "a.txt").write_text("fine\n")
    answer = cli("D2", "--json", env=ME)
    assert answer.json["files"] == 1 and "Not a git repository" in answer.json["hint"]

    (root / "a.txt").write_text(TOKEN)
    assert cli("D2", env=ME).exit_code == 1


@pytest.mark.parametrize(
    "text",
    [
        HOME + "user/x", HOME + "NAME", MAC + "you/x", "https://example.org" + HOME + "page", "~" + HOME + "x",
        "/api" + MAC + "1", "version 10.0.19041.1", "127.0.0.1", "8.8.8.8", "http://localhost:8080",
        "http://host.docker.internal:11434", "https://example.org/x.local", "http://example.com", "zaphodbb",
        "a-zaphodb", "10.0.0", "1.10.0.0.1",
        "settings.local.json", "cp .env.local .env", "docker-compose.local.yml", "threading.local()", "self.local",
        "this.a1.local", "org.apache.log4j2.internal", "src/build-1.local", "jobs-1.local-run", "git-flow.locale",
        "@decorators.local", "ping host.docker.internal",
    ],
)  # fmt: skip
def test_common_paths_and_hosts_are_no_findings(text):
    finder = Finder(home=HOME + "zaphodb", names=["zaphodb"])

    assert list(finder.find(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        HOME + "arthur", f'"{MAC}arthur.dent/x"', WINDOWS + "Arthur", WINDOWS.replace("\\", "\\\\") + "Arthur\\\\x",
        "c:/users/arthur", "/mnt/c" + MAC + "arthur", "file://" + HOME + "arthur", "10.1" + ".2.3",
        "172.16" + ".0.1:80", "(192.168" + ".0.7)", "ssh://git@git.lan/x", "HTTPS://Wiki.CORP", "Zaphodb's", "zaphodb.",
        "alices-macbook.local", "on Alices-MacBook.local.", "`ci-2.build.internal`", "web01.internal", "nas-2.lan, x",
        "a@buildbox.local:x", "\\\\files.corp\\share",
    ],
)  # fmt: skip
def test_personal_paths_and_hosts_are_findings(text):
    finder = Finder(home="/nowhere", names=["zaphodb"])

    assert len(list(finder.find(text))) == 1


def test_each_finding_in_a_line_counts_once(cli, repo):
    people = [HOME + "arthur", HOME + "ford", WINDOWS + "Trillian"]
    hosts = ["alices-macbook.local", "nas-1.lan"]
    addresses = ["10.1" + ".2.3", "10.1" + ".2.4"]
    (repo / "a.txt").write_text(
        f"x\n{' '.join([*people, *hosts, *addresses, people[0] + '.', people[1], hosts[0]])}\n"
    )

    rows = cli("D2", "--json", env=ME).error["findings"]
    assert [row["found"] for row in rows] == [*people, *addresses, *hosts]
    assert {row["where"] for row in rows} == {"a.txt:2"}


def test_own_home_folder_is_listed_once():
    both = f"{HOME}zaphodb/x {HOME}ubuntu/x {HOME}ubuntu"
    finder = Finder(home=HOME + "ubuntu", names=[])

    assert [hit.text for hit in finder.find(both)] == [
        HOME + "zaphodb",
        HOME + "ubuntu",
    ]


def test_common_home_is_found_only_in_file_path():
    def hits(home, text):
        return [hit.text for hit in Finder(home, []).find(text)]

    assert hits("/data/people/ford", "in /data/people/ford now") == ["/data/people/ford"]
    assert hits("/" + "root", "the word /root, the folder /" + "root/") == []
    assert hits("/" + "root", "cd /" + "root/x") == ["/" + "root/x"]


# Allowances


def test_allowance_covers_matching_files_or_one_line(cli, repo):
    (repo / "fixtures").mkdir()
    (repo / "fixtures" / "a.txt").write_text(f"{HOME}arthur\n{TOKEN}\n")
    (repo / "b.py").write_text(f"    x = '{HOME}arthur'\n")
    assert cli("D2", env=ME).exit_code == 1
    (repo / ".kaizen").mkdir()
    (repo / ".kaizen" / "publish-allow.txt").write_text(
        f"# ours\n\nfixtures/** # made-up people\n=x = '{HOME}arthur' # shown in the talk\nold/* # gone by now\n"
    )

    answer = cli("D2", "--json", env=ME)
    assert answer.exit_code == 0, answer.err
    assert answer.json["allowed"] == 2 and answer.json["unused_allowances"] == ["old/*"]


@pytest.mark.parametrize(
    "entry", ["fixtures/**", "fixtures/** #", "# \n # x\nx #  ", "=" + TOKEN + " # why"]
)
def test_allowance_without_reason_is_refused(cli, repo, entry):
    (repo / ".kaizen").mkdir()
    (repo / ".kaizen" / "publish-allow.txt").write_text(entry + "\n")

    answer = cli("D2", "--json", env=ME)
    assert answer.exit_code == 1 and answer.error["code"] == "bad_allowance"
    assert TOKEN not in answer.err


# Unusual files


def test_unusual_files_without_secrets_pass_publish_check(cli, repo):
    (repo / "empty").write_bytes(b"")
    (repo / "latin").write_bytes(b"\xe9\xff\n" * 10)
    (repo / "line\nbreak").write_text("x")
    (repo / "long").write_text("a" * 1_000_000)
    if os.name != "nt":
        os.mkfifo(repo / "pipe")
        (repo / os.fsdecode(b"\xff.txt")).write_text("x")

    assert cli("D2", env=ME).exit_code == 0


def test_long_file_is_read_in_pieces(find_leaks, repo):
    line = "nothing to see here, only words\n"
    (repo / "long.txt").write_text(line * 700_000 + f"{TOKEN}\nx\nat {HOME}arthur\n")
    (repo / "long.bin").write_bytes(b"\0" * 21_000_000 + TOKEN.encode())

    assert find_leaks() == [
        ("long.bin", "secret: GitHub token"),
        ("long.txt:700001", "secret: GitHub token"),
        ("long.txt:700003", "personal path"),
    ]


def test_secret_across_pieces_is_found_once(monkeypatch):
    monkeypatch.setattr(publish_scan, "PIECE_BYTES", 500)
    monkeypatch.setattr(publish_scan, "OVERLAP_BYTES", 100)
    finder = Finder(home="/nowhere", names=["zaphodb"])
    for before in range(400, 520):  # the secret begins before, at and after the cut
        text = (
            "x y\n" * (before // 4)
            + " " * (before % 4)
            + TOKEN
            + "\n"
            + "by zaphodb\n"
            + "x\n" * 300
        )
        at = before // 4 + 1
        rows = publish_scan.scan_content("a", io.BytesIO(text.encode()).read, len(text), finder)
        assert [(row.line, row.kind) for row in rows] == [
            (at, "secret: GitHub token"), (at + 1, "machine or user name")
        ], before  # fmt: skip


def test_unscanned_file_is_finding_until_allowed(cli, repo):
    with open(repo / "huge", "wb") as file:
        file.truncate(201_000_000)
    with open(repo / "wide.txt", "wb") as file:  # UTF-16 is not cut into pieces
        file.write(b"\xff\xfe")
        file.truncate(21_000_000)

    rows = cli("D2", "--json", env=ME).error["findings"]
    assert [(row["where"], row["kind"]) for row in rows] == [
        ("huge", "not looked at"),
        ("wide.txt", "not looked at"),
    ]
    assert rows[0]["found"] == "only its first 20,000,000 bytes were scanned"

    (repo / ".kaizen").mkdir()
    (repo / ".kaizen" / "publish-allow.txt").write_text(
        "huge # zeros, by hand\nwide.txt # zeros too\n"
    )
    answer = cli("D2", "--json", env=ME)
    assert answer.exit_code == 0, answer.err
    assert [row["file"] for row in answer.json["remarks"]] == ["huge", "wide.txt"]


def test_unreadable_file_is_a_finding(as_user, repo):
    (repo / "closed").write_text("x")
    (repo / "closed").chmod(0)
    answer = as_user("D2")

    assert answer.returncode == 1
    assert [(row["where"], row["kind"]) for row in json.loads(answer.stderr)["findings"]] == [
        ("closed", "not looked at")
    ]


def test_file_that_fails_to_open_is_finding(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "closed").write_text("x")
    monkeypatch.setattr(publish_scan.os, "open", denied)
    rows = publish_scan.scan_file(str(tmp_path), "closed", Finder())

    assert [(row.kind, row.found) for row in rows] == [
        ("not looked at", "cannot be read: Permission denied")
    ]


def test_large_ignored_database_is_only_remark(cli, kaizen, repo):
    kaizen("W1", title="t", summary="s")
    kaizen.close()
    with open(repo / "AI" / "db" / "kaizen.db", "ab") as file:
        file.truncate(201_000_000)
    answer = cli("D2", "--json", env=ME)
    assert answer.exit_code == 0, answer.err
    assert [row["file"] for row in answer.json["remarks"]] == ["AI/db/kaizen.db"]

    git(repo, "add", "-f", "-N", "AI/db/kaizen.db")
    assert cli("D2", env=ME).exit_code == 1


# Content that only git has


def commit(repo):
    git(repo, "add", ".")
    git(repo, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-q", "-m", "x")


def remove_secret(path):
    path.write_text("x = 1\n")


@pytest.mark.parametrize("repair", [remove_secret, os.remove])
@pytest.mark.parametrize(
    "keep", [commit, lambda repo: git(repo, "add", ".")], ids=["committed", "staged"]
)
def test_secret_in_index_is_still_found(cli, find_leaks, repo, keep, repair):
    (repo / "a.py").write_text(f"x = 1\nkey = '{TOKEN}'\n")
    keep(repo)
    repair(repo / "a.py")

    assert find_leaks() == [("a.py:2", "secret: GitHub token")]
    assert cli("D2", "--json", env=ME).error["findings"][0]["state"] == "index"
    git(repo, "add", "-A")
    if keep is not commit:
        assert cli("D2", env=ME).exit_code == 0


def test_secret_in_head_is_found_until_commit(cli, find_leaks, repo):
    (repo / "a.py").write_text(f"key = '{TOKEN}'\n")
    (repo / "b.py").write_text(f"key = '{TOKEN}'\n")
    commit(repo)
    remove_secret(repo / "a.py")
    git(repo, "rm", "-q", "--cached", "b.py")
    git(repo, "add", "a.py")
    (repo / "b.py").unlink()

    assert find_leaks() == [("a.py:1", "secret: GitHub token"), ("b.py:1", "secret: GitHub token")]
    assert {row["state"] for row in cli("D2", "--json", env=ME).error["findings"]} == {"HEAD"}
    commit(repo)
    assert cli("D2", env=ME).exit_code == 0


def test_assume_unchanged_file_is_read_from_git(find_leaks, repo):
    for name, flag in (("a.py", "--assume-unchanged"), ("b.py", "--skip-worktree")):
        (repo / name).write_text(f"key = '{TOKEN}'\n")
        git(repo, "add", name)
        git(repo, "update-index", flag, name)
        remove_secret(repo / name)

    assert find_leaks() == [("a.py:1", "secret: GitHub token"), ("b.py:1", "secret: GitHub token")]


def test_finding_in_git_and_working_tree_counts_once(find_leaks, repo):
    (repo / "a.py").write_text(f"at {HOME}arthur\n")
    commit(repo)
    (repo / "a.py").write_text(f"# new\nat {HOME}arthur\n")

    assert find_leaks() == [("a.py:2", "personal path")]


def test_link_in_git_is_scanned_as_link(find_leaks, repo):
    os.symlink("/opt/engine", repo / "engine")
    commit(repo)
    (repo / "engine").unlink()

    assert find_leaks() == [("engine", "link to a place on this machine")]


def test_path_of_finding_is_relative_to_project(find_leaks, root):
    git(root.parent, "init", "-q")
    (root / "a.py").write_text(f"key = '{TOKEN}'\n")
    git(root, "add", "a.py")
    remove_secret(root / "a.py")

    assert find_leaks() == [("a.py:1", "secret: GitHub token")]


def test_missing_blob_is_a_finding(find_leaks, repo):
    (repo / "a.py").write_text("x = 2\n")
    git(repo, "add", ".")
    objects = repo / ".git" / "objects"
    (repo / "a.py").unlink()
    for folder in objects.iterdir():
        if len(folder.name) == 2:
            shutil.rmtree(folder)

    assert find_leaks() == [("a.py", "not looked at")]


def test_publish_check_fails_if_git_cannot_list(cli, repo):
    (repo / "a.py").write_text(f"key = '{TOKEN}'\n")
    git(repo, "add", ".")
    (repo / ".git" / "index").write_bytes(b"DIRC nothing of the kind")

    answer = cli("D2", "--json", env=ME)
    assert answer.exit_code not in (0, 1) and answer.error["code"] == "git_failed"


def test_submodule_is_named_as_not_checked(cli, repo):
    git(repo, "init", "-q", "part")
    (repo / "part" / "a.txt").write_text("x")
    commit(repo / "part")
    git(repo, "-c", "advice.addEmbeddedRepo=false", "add", "part")

    answer = cli("D2", "--json", env=ME)
    assert answer.exit_code == 0, answer.err
    assert [row["file"] for row in answer.json["remarks"]] == ["part"] and "submodule" in str(
        answer.json["remarks"]
    )


def test_all_findings_are_counted_but_list_is_limited(cli, repo):
    (repo / "a").write_text(f"{HOME}arthur\n" * 300)
    answer = cli("D2", "--limit", "5", "--json", env=ME)

    assert answer.error["what"].startswith("300 places") and len(answer.error["findings"]) == 5


def test_our_own_repository_passes(cli, root):
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, root / name)

    answer = cli("D2")
    assert answer.exit_code == 0, answer.err
