"""An emulator uses only a folder that is its own: a person's files and modes stay as they are."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.emulated.emulator import ask, running, storage_client
from support.emulated.registries.registry import RegistryClient
from support.waiting import eventually
from vertex_emulator.daemon import reset as emulator_reset
from vertex_emulator.daemon.reset import ResetError
from vertex_emulator.kernel.disk import data_folder, ownership, trees
from vertex_emulator.kernel.disk.data_folder import DataFolderError
from vertex_emulator.replicas.images import folders
from vertex_emulator.replicas.preparation.packages import cache


def files(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and content of each path below a folder."""
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in root.rglob("*")
    }


def write(path: Path, text: str = "mine") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def project(root: Path) -> None:
    """Write a person's project, with folders that have the names of the emulator's."""
    write(root / "jobs/my-experiments/results.csv")
    write(root / "buckets/precious/data.csv")
    write(root / "registry/list.txt")
    write(root / "README.md")


def with_names_of_ours_alone(root: Path) -> None:
    write(root / "jobs/my-experiments/results.csv")
    write(root / "token", "a password")
    write(root / "emulator.lock", "")


def with_another_database(root: Path) -> None:
    write(root / "state.sqlite3", "SQLite format 3\0 of another program")
    write(root / "jobs/my-experiments/results.csv")


def with_a_marker_that_is_none(root: Path) -> None:
    write(root / ownership.MARKER, '{"owner": "me", "version": 1}')


@pytest.mark.parametrize(
    "fill", [project, with_names_of_ours_alone, with_another_database, with_a_marker_that_is_none]
)
@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_persons_folder_is_refused_and_stays_as_it_is(
    tmp_path: Path, fill: Callable[[Path], None], mode: int
) -> None:
    root = tmp_path / "project"
    fill(root)
    root.chmod(mode)
    before = files(tmp_path)
    first = min(path.name for path in root.iterdir())
    with pytest.raises(DataFolderError, match=f"not a data .* it has {first}.*--data-dir {root}/emu"):
        data_folder.prepare(root)
    with pytest.raises(ResetError, match=f"{root} is not a data folder of the emulator"):
        emulator_reset.reset(root)
    assert files(tmp_path) == before


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_an_empty_folder_is_marked_and_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "data"
    root.mkdir()
    root.chmod(mode)
    unfinished = root / f".{ownership.MARKER}.0123456789abcdef"
    unfinished.write_text('{"own')  # of a start that was killed
    with running(root):
        assert stat.S_IMODE(root.stat().st_mode) == mode
        open_to_others = {path.name for path in root.iterdir() if path.lstat().st_mode & 0o077}
        assert open_to_others <= {unfinished.name, "state.sqlite3.reserve"}, "each has a private mode"
    assert json.loads((root / ownership.MARKER).read_text()) == {"owner": ownership.OWNER, "version": 1}
    write(root / "notes.txt")
    data_folder.prepare(root)
    assert (root / "notes.txt").read_text() == "mine", "a marked folder may have other files"


def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir()
    root.chmod(0o1777)
    with pytest.raises(DataFolderError, match=rf"write to .*{root} \(mode 1777\).*chmod 700 {root}"):
        data_folder.prepare(root)
    assert (stat.S_IMODE(root.stat().st_mode), list(root.iterdir())) == (0o1777, [])


def test_a_data_folder_within_another_is_refused(tmp_path: Path) -> None:
    data_folder.prepare(tmp_path / "data")
    (tmp_path / "link").symlink_to(tmp_path / "data/buckets")
    with pytest.raises(DataFolderError, match=f"is in {tmp_path}/data, the data folder of another emulator"):
        data_folder.prepare(tmp_path / "link" / "inner" / "data")
    assert not any((tmp_path / "data/buckets").iterdir())


def test_a_folder_of_a_newer_emulator_is_refused(tmp_path: Path) -> None:
    (tmp_path / ownership.MARKER).write_text(json.dumps({"owner": ownership.OWNER, "version": 2}))
    with pytest.raises(DataFolderError, match=r"A newer emulator made .*Install the newer version"):
        data_folder.prepare(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir(mode=0o755)
    os.chown(root, 12345, 12345)
    with pytest.raises(DataFolderError, match=f"{root} belongs to user 12345, not to you"):
        data_folder.prepare(root)
    assert not list(root.iterdir())


def strangers(root: Path) -> set[str]:
    """Write files of a person into each folder of the emulator. Return their paths."""
    given = {
        "jobs/my-experiments/results.csv",
        "jobs/1234567890123456789/results.csv",
        "buckets/precious/data.csv",
        "registry/list.txt",
        "registry/blobs/sha256/ab/list.txt",
        "registry/uploads/list.txt",
        "objects-aside/list.txt",
        "objects-incoming/list.txt",
        "objects-incoming/folder/list.txt",
        "objects-parts/list.txt",
        "venvs/mine/list.txt",
        "venvs/code/mine/list.txt",
        "images/.new-mine/list.txt",
        "images/poetry.lock",
        "notifications/list.json",
        "notifications/output/list.log",
        "state.sqlite3.backup",
    }
    for path in given:
        write(root / path)
    return given


def left(root: Path, given: set[str]) -> set[str]:
    return {path for path in given if (root / path).is_file()}


def test_only_the_emulators_own_files_are_deleted(tmp_path: Path) -> None:
    root = tmp_path / "data"
    with running(root) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("own").blob("a").upload_from_string("1")
        (root / "jobs/1234567890123456788/logs").mkdir(parents=True)  # of a start that was killed
        given = strangers(root)
    with running(root) as daemon:
        assert left(root, given) == given, "after a start"
        eventually(lambda: not (root / "jobs/1234567890123456788").exists())
        assert (root / "buckets/own/a").read_text() == "1"
        cache.clean(daemon.folder.venvs, keep_bytes=0)
        folders.clean(daemon.folder.images, keep_bytes=0)
        assert ask(daemon, "POST", "/_local/reset", {}).status == 200
        precious = "buckets/precious/data.csv"
        assert left(root, given) == given - {precious}, "after a reset of the running emulator"
        (kept,) = (root / "lost").glob(f"*/{precious}")
        assert kept.read_text() == "mine"
        write(root / precious)
        assert not (root / "buckets/own").exists()
        with storage_client(daemon.storage_url) as client:
            client.create_bucket("own").blob("a").upload_from_string("1")
    done = emulator_reset.reset(root)
    assert left(root, given) == given, "after a reset"
    assert done.deleted and not (root / "buckets/own").exists() and not (root / "state.sqlite3").exists()
    named = {str(path.relative_to(root)) for path in done.kept}
    assert {"jobs/my-experiments", "buckets/precious", "registry/list.txt", "objects-aside/list.txt"} <= named


def test_empty_folders_and_links_of_a_person_stay(tmp_path: Path) -> None:
    """Show it for folders on a larger disk, which a person uses as well."""
    root, disk = tmp_path / "data", tmp_path / "disk"
    (disk / "plan/2027").mkdir(parents=True)
    data_folder.prepare(root)
    for name in ("jobs", "registry", "objects-parts"):
        if (root / name).is_dir():
            (root / name).rmdir()
        (root / name).symlink_to(disk, target_is_directory=True)
    with running(root) as daemon:
        RegistryClient(daemon.url, daemon.token, "gcr.io/a/b").push_image("v1")
        (root / "buckets/precious").mkdir()
        (root / "buckets/precious/link").symlink_to(disk, target_is_directory=True)
    (root / "objects-aside/mine").mkdir()
    emulator_reset.reset(root)
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert {"disk/plan/2027", "data/objects-aside/mine", "data/buckets/precious/link"} <= found
    assert list(disk.iterdir()) == [disk / "plan"], "blobs are the emulator's"


def test_mounted_files_are_never_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "my data"
    table = tmp_path / "mountinfo"
    monkeypatch.setattr(trees, "_MOUNTS", table)
    mounted = root / "buckets/own/data set"
    table.write_text(
        f"22 1 0:21 / / rw - ext4 /dev/vda rw\n36 22 98:0 / {mounted} rw - ext4 /dev/sdb rw\n".replace(
            "my data", r"my\040data"
        ).replace("data set", r"data\040set")
    )
    with running(root) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("own").blob("a").upload_from_string("1")
        write(mounted / "train.csv")
        assert ask(daemon, "POST", "/_local/reset", {}).status == 200
        assert (mounted / "train.csv").read_text() == "mine", "after a reset of the running emulator"
        client.create_bucket("own")
    with pytest.raises(ResetError, match=rf"mounted at {mounted}, .*nothing was deleted.*umount '{mounted}'"):
        emulator_reset.reset(root)
    assert (mounted / "train.csv").read_text() == "mine" and (root / "state.sqlite3").exists()
    table.write_text(f"36 22 98:0 / {root}/buckets rw - ext4 /dev/sdb rw\n".replace("my data", r"my\040data"))
    emulator_reset.reset(root)
    assert not (root / "buckets/own").exists(), "the disk of all buckets is the emulator's"


def test_what_a_new_database_does_not_know_is_named_and_kept(tmp_path: Path) -> None:
    root, job = tmp_path / "data", "1234567890123456789"
    with running(root) as daemon, storage_client(daemon.storage_url) as client:
        client.create_bucket("results").blob("a").upload_from_string("1")
        RegistryClient(daemon.url, daemon.token, "gcr.io/a/b").push_image("v1")
        assert daemon.lost == ""
        eventually(lambda: connected_tables(root) > 10, what=lambda: "copied from the log")
    for path in root.glob("state.sqlite3*"):
        path.unlink()
    write(root / "jobs" / job / "logs/workerpool0-0.jsonl", "{}")
    with running(root) as daemon, storage_client(daemon.storage_url) as client:
        assert "is new, and has no record of what was there before: jobs with their logs: 1;" in daemon.lost
        assert "images of the registry; settings and metadata of the buckets results." in daemon.lost
        (log,) = (root / "lost").glob(f"*/jobs/{job}/logs/workerpool0-0.jsonl")
        assert any((root / "lost").glob("*/registry/blobs/sha256/*/*")) and log.read_text() == "{}"
        assert client.create_bucket("results").blob("a").download_as_bytes() == b"1"
    with running(root) as daemon:
        assert daemon.lost == ""


def connected_tables(root: Path) -> int:
    """Count the tables in the database itself, without its log."""
    with closing(sqlite3.connect(f"file:{root}/state.sqlite3?immutable=1", uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
