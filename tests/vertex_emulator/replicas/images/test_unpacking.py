"""Unpacked images: shared, whole or not there, and removed when there are too many."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from support.emulated.emulator import running
from support.emulated.registries.images import MANIFEST, digest, tar
from support.waiting import eventually
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.images import folders, image, unpacking
from vertex_emulator.replicas.images.image import ImageError, Layer


def layer(folder: Path, text: str, *, files: int = 1, size: int = 1000) -> Layer:
    """Create a layer with files of that text."""
    data = tar({f"f{number}": text * (size // len(text)) for number in range(files)})
    path = folder / f"blob-{text}-{files}"
    path.write_bytes(data)
    return Layer(digest=digest(data), diff_id=digest(data), size=len(data), path=str(path))


def images(folder: Path) -> list[str]:
    """Return the entries of the folder, without the locks."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def test_an_image_is_unpacked_once(tmp_path: Path) -> None:
    one = layer(tmp_path, "x")
    first = unpacking.ensure(tmp_path / "images", [one])
    assert first is not None
    assert unpacking.ensure(tmp_path / "images", [one]) is None
    assert (folders.root_of(tmp_path / "images", image.key_of([one])) / "f0").read_text() == "x" * 1000


def test_images_with_the_same_layers_share_one(tmp_path: Path) -> None:
    one = layer(tmp_path, "x")
    elsewhere = Layer(digest=one.digest, diff_id=one.diff_id, size=one.size, path="/elsewhere")
    assert image.key_of([one]) == image.key_of([elsewhere])


def test_the_order_of_layers_counts(tmp_path: Path) -> None:
    one, other = layer(tmp_path, "x"), layer(tmp_path, "y")
    assert image.key_of([one, other]) != image.key_of([other, one])


def test_what_cannot_be_unpacked_leaves_nothing(tmp_path: Path) -> None:
    one = layer(tmp_path, "x")
    broken = Layer(digest=one.digest, diff_id="sha256:" + "0" * 64, size=one.size, path=one.path)
    with pytest.raises(ImageError):
        unpacking.ensure(tmp_path / "images", [broken])
    assert images(tmp_path / "images") == []


def used_before(folder: Path, one: Layer, seconds: int) -> None:
    marker = folder / image.key_of([one]) / "image.json"
    os.utime(marker, (time.time() - seconds,) * 2)


def test_the_least_recently_used_goes(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    one, two, three = (layer(tmp_path, text) for text in "xyz")
    unpacking.ensure(folder, [one])
    unpacking.ensure(folder, [two])
    used_before(folder, one, 10)
    used_before(folder, two, 20)
    unpacking.ensure(folder, [three], keep_bytes=2500 + 2 * 4096)
    assert images(folder) == sorted([image.key_of([one]), image.key_of([three])])


def test_what_is_used_stays(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    one, two = (layer(tmp_path, text) for text in "xy")
    held = folders.hold(folder, image.key_of([one]))
    unpacking.ensure(folder, [one])
    used_before(folder, one, 10)
    unpacking.ensure(folder, [two], keep_bytes=0)
    assert images(folder) == [image.key_of([one])]
    os.close(held)
    folders.clean(folder, keep_bytes=0, seconds=0.0)
    assert images(folder) == [image.key_of([one])], "no time is left to remove it"
    folders.clean(folder, keep_bytes=0, seconds=60.0)
    assert images(folder) == []


def test_a_layer_is_shared_and_stays_while_one_image_with_it_is_used(tmp_path: Path) -> None:
    """Three images on one layer: it is unpacked once, and the layers that nobody uses go."""
    place = tmp_path / "images"
    shared, *own = (layer(tmp_path, text) for text in "xyz")
    held = [folders.hold(place, key) for key in image.keys_of([shared, own[0]], separately=True)]
    for each in own:
        unpacking.ensure(place, [shared, each], separately=True)
    assert images(place) == sorted(
        [image.key_of_layer(each) for each in (shared, *own)]
        + [image.key_of([shared, each], separately=True) for each in own]
    )
    found = folders.usage(place)
    assert (found.folders, found.used) == (5, 3)
    assert found.size >= 3000
    folders.clean(place, keep_bytes=0)
    assert images(place) == sorted(image.keys_of([shared, own[0]], separately=True))
    for end in held:
        os.close(end)
    folders.clean(place, keep_bytes=0)
    assert [path.name for path in place.iterdir()] == [".places.lock"], "no locks are left either"


def test_a_removed_layer_is_unpacked_again(tmp_path: Path) -> None:
    place = tmp_path / "images"
    shared, own = (layer(tmp_path, text) for text in "xy")
    unpacking.ensure(place, [shared, own], separately=True)
    assert folders.touch(place, image.key_of([shared, own], separately=True))
    remove_tree(place / image.key_of_layer(shared))
    assert not folders.touch(place, image.key_of([shared, own], separately=True))
    assert unpacking.ensure(place, [shared, own], separately=True) is not None
    assert unpacking.ensure(place, [shared, own], separately=True) is None
    shown = folders.shown_folders(place, image.key_of([shared, own], separately=True)) or ()
    assert [(path / "f0").read_text()[0] for path in shown] == ["y", "x"]


@pytest.mark.parametrize("separately", [False, True], ids=["as a whole", "layer by layer"])
def test_many_at_once(tmp_path: Path, separately: bool) -> None:
    one = layer(tmp_path, "x", files=300)
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        unpack = partial(unpacking.ensure, separately=separately)
        found = pool.starmap(unpack, [(tmp_path / "images", [one])] * 8)
    assert sum(each is not None for each in found) == 1
    assert images(tmp_path / "images") == sorted(image.keys_of([one], separately=separately))


@pytest.mark.parametrize("separately", [False, True], ids=["as a whole", "layer by layer"])
@pytest.mark.parametrize("files", [0, 100], ids=["the first file", "some files"])
def test_a_kill_leaves_nothing_half(tmp_path: Path, files: int, separately: bool) -> None:
    """Kill the process once it has unpacked more than that many files."""
    one = layer(tmp_path, "x", files=1000)
    place, request = tmp_path / "images", tmp_path / "request.json"
    named = {"digest": one.digest, "diff_id": one.diff_id, "size": one.size, "path": one.path}
    wanted = {"name": "test", "images_dir": str(place), "separately": separately}
    request.write_text(json.dumps({**wanted, "layers": [named]}))
    process = subprocess.Popen([sys.executable, "-m", unpacking.__name__, str(request)])

    def has_begun() -> bool:
        return sum(name.startswith("f") for *_, names in os.walk(place) for name in names) > files

    eventually(has_begun, every=0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    keys = image.keys_of([one], separately=separately)
    root = folders.root_of(place, keys[-1])
    assert not root.exists() or len(list(root.iterdir())) == 1000
    unpacking.ensure(place, [one], separately=separately)
    assert len(list(root.iterdir())) == 1000
    assert images(place) == sorted(keys), "what was left half is gone"


def test_other_users_see_nothing(tmp_path: Path) -> None:
    unpacking.ensure(tmp_path / "images", [layer(tmp_path, "x")])
    assert (tmp_path / "images").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("pushed", [True, False], ids=["an image is left", "no image is left"])
def test_without_images_in_the_registry_none_stays_unpacked(tmp_path: Path, pushed: bool) -> None:
    with running(tmp_path) as emulator:
        registry = emulator.registry.registry
        repository = "gcr.io/local/trainer"
        config = registry.put_blob(repository, b"{}")
        descriptor = {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": 2}
        document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": descriptor, "layers": []}
        made = registry.put_manifest(repository, "latest", MANIFEST, json.dumps(document).encode())
        place = emulator.folder.root / "images" / "key"
        (place / "root").mkdir(parents=True)
        (place / "image.json").write_text('{"entries": 1, "size": 9, "passedOver": 0, "layers": []}')
        if not pushed:
            registry.delete_manifest(repository, made.digest)
    assert place.exists() is pushed
