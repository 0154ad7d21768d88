"""`vertex-emulator prune`: caches go, data, what is in use and the files of a person stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.emulated.command import Ended, environment, run_emulator
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.replicas.images import folders
from vertex_emulator.replicas.preparation.packages import cache

KEYS = tuple(str(digit) * 32 for digit in range(4))
SIZE = 3 << 20


def fill(root: Path) -> int:
    (root / "layer").write_bytes(bytes(SIZE))
    return SIZE


@pytest.fixture
def folder(tmp_path: Path) -> data_folder.DataFolder:
    """Return the data folder of a stopped emulator, with two unpacked images and two environments."""
    folder = data_folder.prepare(tmp_path / "data")
    for key in KEYS[:2]:
        folders.ensure(folder.images, key, lambda root: {"entries": 1, "size": fill(root), "layers": []})
    for key in KEYS[2:]:
        entry = folder.venvs / key
        (entry / cache.PACKAGES).mkdir(parents=True)
        fill(entry / cache.PACKAGES)
        cache.finish(entry, {})
    (folder.buckets / "mine").mkdir()
    (folder.images / "notes").mkdir()
    return folder


def prune(folder: data_folder.DataFolder, tmp_path: Path, *more: str) -> Ended:
    return run_emulator("prune", "--data-dir", str(folder.root), *more, env=environment(tmp_path))


def test_what_live_jobs_use_stays(folder: data_folder.DataFolder, tmp_path: Path) -> None:
    held = [folders.hold(folder.images, KEYS[0]), cache.hold(folder.venvs / KEYS[2])]
    try:
        document = prune(folder, tmp_path, "--json").json
        assert document["unpackedImages"] >= SIZE
        assert document["installedPackages"] >= SIZE
        assert document["freed"] == document["unpackedImages"] + document["installedPackages"]
        assert document["kept"] == document["freed"]
        assert {path.name for path in folder.images.iterdir() if path.is_dir()} == {KEYS[0], "notes"}
        assert {path.name for path in folder.venvs.iterdir() if path.is_dir()} == {KEYS[2]}
        assert "Live jobs use 6 MiB, which stay." in prune(folder, tmp_path).out
    finally:
        for end in held:
            os.close(end)
    ended = prune(folder, tmp_path)
    assert ended.code == 0
    freed = "Freed 6 MiB in {}: unpacked images 3 MiB, installed packages 3 MiB.\n"
    assert ended.out == freed.format(folder.root)
    assert (folder.buckets / "mine").is_dir()
    assert prune(folder, tmp_path).out == f"There is nothing to delete in {folder.root}.\n"


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "project"
    (other / "venvs" / KEYS[0] / "lib").mkdir(parents=True)
    (other / "images" / KEYS[1]).mkdir(parents=True)
    ended = run_emulator("prune", "--data-dir", str(other), env=environment(tmp_path))
    assert ended.code in (0, 1)
    assert (other / "venvs" / KEYS[0] / "lib").is_dir()
    assert (other / "images" / KEYS[1]).is_dir()
