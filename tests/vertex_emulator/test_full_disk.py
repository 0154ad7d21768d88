"""A full disk: a small one of the test's own, filled while the emulator runs and before it starts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.disk import fill, free, run_with_mounts, small_disk
from support.emulated.command import environment, run
from support.emulated.emulator import call, running
from support.emulated.services.storage import ask, path_of
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.launcher import Emulator, LauncherError
from vertex_emulator.daemon.daemon import Daemon

Start = Callable[..., Emulator]

NAMES = [f"object-{number}" for number in range(4)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", mebibytes=48) as folder:
        yield folder


def reserve_of(data: Path) -> Path:
    return data / "state.sqlite3.reserve"


def prepared(emulator: Daemon) -> Path:
    """Make a bucket with objects, and a file of a replica. Return the file, once the reserve is there."""
    assert ask(emulator, "POST", "/storage/v1/b?project=local", {"name": "digits"}).status == 200
    for name in NAMES:
        path = f"/upload/storage/v1/b/digits/o?uploadType=media&name={name}"
        assert ask(emulator, "POST", path, os.urandom(1 << 20)).status == 200
    eventually(lambda: reserve_of(emulator.folder.root).exists())
    file = emulator.folder.buckets / "digits" / "by-replica"
    file.write_text("hello")
    return file


def names(emulator: Daemon) -> list[str]:
    answer = ask(emulator, "GET", "/storage/v1/b/digits/o")
    assert answer.status == 200, answer.body
    return [each["name"] for each in answer.json().get("items", ())]


def test_a_full_disk_is_read_and_left_by_deletions(disk: Path) -> None:
    with running(disk / "data") as emulator:
        prepared(emulator)
        fill(disk)
        path = "/upload/storage/v1/b/digits/o?uploadType=media&name=another"
        assert ask(emulator, "POST", path, b"more").status == 507
        assert names(emulator) == ["by-replica", *NAMES]
        assert ask(emulator, "GET", f"{path_of('digits', NAMES[0])}?alt=media").status == 200
        for name in ["by-replica", *NAMES]:
            assert ask(emulator, "DELETE", path_of("digits", name)).status == 204
            fill(disk)  # another program takes what was freed
        assert ask(emulator, "DELETE", "/storage/v1/b/digits").status == 204
        left = reserve_of(emulator.folder.root).stat().st_size
        free(disk)
        emulator._database.reserve.fill()
        assert reserve_of(emulator.folder.root).stat().st_size > left


def test_without_the_reserve_reads_record_nothing(disk: Path) -> None:
    with running(disk / "data") as emulator:
        prepared(emulator)
        os.truncate(reserve_of(emulator.folder.root), 0)
        fill(disk)
        # Rewriting one page of the log often needs no new block, so let many pages change.
        for number in range(600):
            (emulator.folder.buckets / "digits" / f"new-{number:03}{'x' * 200}").touch()
        listed = names(emulator)
        assert set(NAMES) <= set(listed)
        last = f"new-599{'x' * 200}"
        first = ask(emulator, "GET", path_of("digits", last))
        assert first.status == 200
        assert (
            ask(emulator, "GET", path_of("digits", last)).json()["generation"] == first.json()["generation"]
        )
        assert ask(emulator, "GET", f"{path_of('digits', 'by-replica')}?alt=media").body == b"hello"
        free(disk)
        assert last in names(emulator)
        assert (
            ask(emulator, "GET", path_of("digits", last)).json()["generation"] == first.json()["generation"]
        )


def test_the_emulator_starts_on_a_full_disk(start: Start, disk: Path) -> None:
    data = disk / "data"
    emulator = start(data)
    call(emulator.url, "POST", "/storage/v1/b?project=local", body={"name": "digits"}, token=emulator.token)
    eventually(lambda: reserve_of(data).exists())
    launcher.stop(data)
    fill(disk)
    again = start(data)
    assert call(again.url, "DELETE", "/storage/v1/b/digits", token=again.token).status == 204
    launcher.stop(data)
    os.truncate(reserve_of(data), 0)
    fill(disk)
    with pytest.raises(LauncherError, match=r"is full: .* of 48 MiB free on .*disk.*emulator reset"):
        start(data)


def test_the_command_names_a_full_disk(disk: Path, tmp_path: Path) -> None:
    data = disk / "data"
    env = environment(tmp_path)
    try:
        assert "almost full" in run("emulator", "start", "--data-dir", str(data), env=env).err
        fill(disk)
        found = run("doctor", "--data-dir", str(data), env=env)
        said = " ".join(found.out.split())
        assert re.search(r"its disk is full: \d+ K?i?B of 48 MiB free on", said), said
        assert run("emulator", "reset", "--data-dir", str(data), "--yes", env=env).code == 0
    finally:
        launcher.stop(data)


def test_as_an_ordinary_user() -> None:
    run_with_mounts(__file__)
