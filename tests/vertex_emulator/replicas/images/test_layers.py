"""Layers unpacked into a folder each show the files of the image, in the kernel's overlayfs as well."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.emulated.registries.images import digest, member, tar
from support.properties import examples
from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.images import folders, stack, unpacking
from vertex_emulator.replicas.images.image import ImageError, Layer, key_of
from vertex_emulator.replicas.sandbox.probe import probe

PARTS = ["a", "b", "c", ".wh.a", ".wh.b", ".wh.c", ".wh..wh..opq"]
PATHS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("/".join)
TARGETS = PATHS | st.sampled_from(["/", "..", "/a", "a", "../b", "/b/c"])
KINDS = [
    tarfile.REGTYPE,
    tarfile.REGTYPE,
    tarfile.DIRTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.CHRTYPE,
]
ENTRIES = st.tuples(PATHS, st.sampled_from(KINDS), TARGETS, st.sampled_from([0o644, 0o755, 0o700]))
LAYERS = st.lists(st.lists(ENTRIES, max_size=6), min_size=2, max_size=4)


def layer(folder: Path, name: str, archive: bytes) -> Layer:
    blob = gzip.compress(archive, 1)
    path = folder / f"blob-{name}"
    path.write_bytes(blob)
    return Layer(digest=digest(blob), diff_id=digest(archive), size=len(blob), path=str(path))


def archive(entries: Sequence[tuple[str, bytes, str, int]], number: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as file:
        for name, kind, target, mode in entries:
            info, data = member(name, kind, target=target, data=b"%d" % number, mode=mode)
            file.addfile(info, io.BytesIO(data) if data else None)
    return out.getvalue()


def content(root: Path) -> dict[str, str]:
    """Return kind, mode and text or target of every entry."""
    found = {}
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = Path(folder, name)
            status = path.lstat()
            shown = str(path.relative_to(root))
            if stat.S_ISLNK(status.st_mode):
                found[shown] = f"-> {path.readlink()}"
            elif stat.S_ISDIR(status.st_mode):
                found[shown] = f"{stat.S_IMODE(status.st_mode):o}/"
            else:
                found[shown] = f"{stat.S_IMODE(status.st_mode):o} {path.read_text()}"
    return found


def merged(folder: Path, layers: Sequence[Layer]) -> dict[str, str]:
    root = folder / "merged"
    root.mkdir()
    unpacking.unpack(layers, root)
    return content(root)


def separate(images: Path, layers: Sequence[Layer]) -> tuple[Path, ...]:
    """Unpack an image layer by layer. Return the folders that are merged."""
    unpacking.ensure(images, layers, separately=True)
    shown = folders.shown_folders(images, key_of(layers, separately=True))
    assert shown is not None
    return shown


@settings(max_examples=examples(150), deadline=None)
@given(LAYERS)
def test_the_folders_show_what_the_whole_image_has(
    entries: list[list[tuple[str, bytes, str, int]]],
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="layers-"))
    try:
        found = [layer(folder, str(number), archive(each, number)) for number, each in enumerate(entries)]
        try:
            expected = merged(folder, found)
        except ImageError:
            with pytest.raises(ImageError):
                separate(folder / "images", found)
            return
        stack.copy(separate(folder / "images", found), folder / "copy")
        assert content(folder / "copy") == expected
    finally:
        remove_tree(folder)


Files = dict[str, str | bytes | None]
IMAGES: dict[str, list[Files]] = {
    "files of both": [{"d/a": "1"}, {"d/b": "2"}],
    "the upper layer wins": [{"a": "1"}, {"a": "2"}],
    "a file in the place of a folder": [{"d/a": "1"}, {"d": "2"}],
    "a folder in the place of a file": [{"d": "1"}, {"d/a": "2"}],
    "a folder in the place of a link": [{"e/x": "1", "d": "-> e"}, {"d": None, "d/a": "2"}],
    "a removed file": [{"a": "1", "b": "2"}, {".wh.a": ""}],
    "a removed folder": [{"d/a": "1"}, {".wh.d": ""}],
    "a removed folder that comes back": [{"d/a": "1"}, {".wh.d": "", "d/b": "2"}],
    "an emptied folder": [{"d/a": "1"}, {"d/.wh..wh..opq": "", "d/b": "2"}],
    "a file that comes back": [{"a": "1"}, {".wh.a": ""}, {"a": "3"}],
    "a removed file below a folder that is hidden": [{"d/e/a": "1"}, {"d/e/.wh.a": ""}, {"d/e/b": "2"}],
}


@pytest.mark.parametrize("archives", IMAGES.values(), ids=IMAGES)
def test_layers_are_separate(tmp_path: Path, archives: list[Files]) -> None:
    found = [layer(tmp_path, str(number), tar(each)) for number, each in enumerate(archives)]
    shown = separate(tmp_path / "images", found)
    assert len(shown) >= len(found), "no image as a whole"
    stack.copy(shown, tmp_path / "copy")
    assert content(tmp_path / "copy") == merged(tmp_path, found)


MOUNT = """
import json, os, sys
from pathlib import Path
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.mounts.image_root import Layering
import test_layers
ids = os.geteuid(), os.getegid()
if ids[0]:
    ns.unshare(ns.CLONE_NEWNS | ns.CLONE_NEWUSER)
    ns.map_own_ids(*ids)
else:
    ns.unshare(ns.CLONE_NEWNS)
ns.mount("none", "/", flags=ns.MS_REC | ns.MS_PRIVATE)
found = {}
for name, folders in json.load(sys.stdin).items():
    target = Path(sys.argv[1]) / name.replace(" ", "-")
    (target / "root").mkdir(parents=True)
    layering = Layering(root=target, scratch=target / "scratch")
    shown = [Path(each) for each in folders]
    assert layering.overlay(str(target / "root"), shown, layers=True), name
    found[name] = test_layers.content(target / "root")
print(json.dumps(found))
"""


def test_overlayfs_shows_the_same(tmp_path: Path) -> None:
    """Compare with the kernel: many images, and one with as many layers as an image may have."""
    if not probe(tmp_path).layers:
        pytest.skip("this user may not mount an overlayfs of layers: images are unpacked as a whole")
    images = {
        name: [layer(tmp_path, f"{name}-{number}", tar(each)) for number, each in enumerate(archives)]
        for name, archives in IMAGES.items()
    }
    shown = {name: separate(tmp_path / "images", layers) for name, layers in images.items()}
    shown["many"] = tuple(tmp_path / "many" / str(number) for number in range(stack.MAX_FOLDERS))
    for number, folder in enumerate(shown["many"]):
        (folder / "d").mkdir(parents=True)
        (folder / "d" / str(number)).touch()
    tests = [str(Path(__file__).parent), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-c", MOUNT, str(tmp_path / "mounts")],
        input=json.dumps({name: list(map(str, each)) for name, each in shown.items()}),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(tests)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name, layers in images.items():
        (tmp_path / name).mkdir()
        assert found[name] == merged(tmp_path / name, layers), name
    assert len(found["many"]) == 1 + stack.MAX_FOLDERS
