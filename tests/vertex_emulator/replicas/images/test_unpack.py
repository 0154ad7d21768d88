"""Unpacking images: what a layer may do, and what it may not whatever it says."""

from __future__ import annotations

import gzip
import io
import stat
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from support.disk import largest_file
from support.emulated.registries.images import digest, member, tar
from vertex_emulator.replicas.images import tar_stream
from vertex_emulator.replicas.images.image import ImageError, Layer
from vertex_emulator.replicas.images.tree import Limits, Tree, Unpacked
from vertex_emulator.replicas.images.unpacking import ensure, unpack

DIRECTORY, LINK, HARD_LINK = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


def unpacked(
    tmp_path: Path,
    *archives: bytes,
    compress: Any = gzip.compress,
    limits: Limits | None = None,
    ignores_case: bool | None = None,
) -> Path:
    """Return the folder with the archives' content."""
    root = tmp_path / "root"
    root.mkdir()
    unpack(layers(tmp_path, *archives, compress=compress), root, limits=limits, ignores_case=ignores_case)
    return root


def layers(tmp_path: Path, *archives: bytes, compress: Any = gzip.compress) -> list[Layer]:
    found = []
    for number, archive in enumerate(archives):
        data = compress(archive)
        path = tmp_path / f"blob-{number}"
        path.write_bytes(data)
        found.append(Layer(digest=digest(data), diff_id=digest(archive), size=len(data), path=str(path)))
    return found


def content(root: Path) -> dict[str, str]:
    """Files with their text, links with their target; folders end with a slash."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_dir():
            found[f"{name}/"] = ""
        else:
            found[name] = path.read_text()
    return found


@pytest.mark.parametrize(
    ("archives", "expected"),
    [
        pytest.param([{"a": "1", "d/b": "2"}], {"a": "1", "d/": "", "d/b": "2"}, id="files"),
        pytest.param([{"./a": "1", "/b": "2"}], {"a": "1", "b": "2"}, id="a leading slash is the root"),
        pytest.param([{"a": "1"}, {"a": "2"}], {"a": "2"}, id="the upper layer wins"),
        pytest.param([{"a": "-> /etc/passwd"}], {"a": "-> /etc/passwd"}, id="a link may lead anywhere"),
        pytest.param([{"a": "-> b"}, {"a": "1"}], {"a": "1"}, id="a file replaces a link"),
        pytest.param([{"a": "1"}, {"a/b": "2"}], {"a/": "", "a/b": "2"}, id="a folder replaces a file"),
        pytest.param([{"a/b": "1"}, {"a": "2"}], {"a": "2"}, id="a file replaces a folder"),
        pytest.param(
            [{"d/": None, "l": "-> d"}, {"l/a": "1"}],
            {"d/": "", "d/a": "1", "l": "-> d"},
            id="a link to a folder is followed inside",
        ),
        pytest.param(
            [{"d/": None, "l": "-> /d"}, {"l/a": "1"}],
            {"d/": "", "d/a": "1", "l": "-> /d"},
            id="an absolute link too",
        ),
        pytest.param(
            [{"l": "-> ../../../x"}, {"l/a": "1"}],
            {"l": "-> ../../../x", "x/": "", "x/a": "1"},
            id="the root is the top",
        ),
        pytest.param([{"a": "1", "b": "2"}, {".wh.a": ""}], {"b": "2"}, id="whiteout"),
        pytest.param([{"d/a": "1"}, {".wh.d": ""}], {}, id="whiteout of a folder"),
        pytest.param([{"d/a": "1"}, {"d/.wh.nothing": ""}], {"d/": "", "d/a": "1"}, id="of nothing"),
        pytest.param([{"e/.wh.a": ""}], {}, id="in no folder"),
        pytest.param(
            [{"d/a": "1", "d/b": "2"}, {"d/c": "3", "d/.wh..wh..opq": ""}],
            {"d/": "", "d/c": "3"},
            id="opaque, after what stays",
        ),
        pytest.param(
            [{"d/a": "1", "d/e/f": "2"}, {"d/.wh..wh..opq": "", "d/e/g": "3"}],
            {"d/": "", "d/e/": "", "d/e/g": "3"},
            id="opaque, before what stays",
        ),
        pytest.param(
            [{"d/a": "1"}, {"d/b": "2", ".wh.d": ""}],
            {"d/": "", "d/b": "2"},
            id="whiteout of lower layers only",
        ),
        pytest.param([{".wh..wh.plnk/1": "x", "a": "1"}], {"a": "1"}, id="aufs's own notes"),
        pytest.param(
            [{"l": "-> /d", "d/a": "1"}, {"l/.wh.a": ""}], {"d/": "", "l": "-> /d"}, id="whiteout by a link"
        ),
        pytest.param([{"x" * 255: "1"}], {"x" * 255: "1"}, id="long name"),
        pytest.param([{"back\\slash": "1"}], {"back\\slash": "1"}, id="a backslash is a character"),
    ],
)
def test_layers(tmp_path: Path, archives: list[dict[str, str | None]], expected: dict[str, str]) -> None:
    assert content(unpacked(tmp_path, *map(tar, archives))) == expected


@pytest.mark.parametrize("format_", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_every_kind_of_archive(tmp_path: Path, format_: int) -> None:
    name = "/".join(["folder"] * 12) + "/" + "n" * 90
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format_) as archive:
        info, data = member(name, data=b"text")
        archive.addfile(info, io.BytesIO(data))
    assert (unpacked(tmp_path, out.getvalue()) / name).read_text() == "text"


def test_names_that_are_not_ascii(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(*[member("grüße-日本", data=b"")[0]])
    assert content(unpacked(tmp_path, out.getvalue())) == {"grüße-日本": ""}


def test_hard_links(tmp_path: Path) -> None:
    first = tar([member("a", data=b"1"), member("b", HARD_LINK, target="a")])
    root = unpacked(tmp_path, first, tar([member("c", HARD_LINK, target="/b")]))
    assert len({(root / name).stat().st_ino for name in "abc"}) == 1


def test_a_file_that_replaces_a_hard_link_leaves_the_other(tmp_path: Path) -> None:
    first = tar([member("a", data=b"1"), member("b", HARD_LINK, target="a")])
    assert content(unpacked(tmp_path, first, tar({"b": "2"}))) == {"a": "1", "b": "2"}


def test_set_user_id_bits_are_dropped(tmp_path: Path) -> None:
    root = unpacked(tmp_path, tar([member("a", mode=0o6755), member("d", DIRECTORY, mode=0o3777)]))
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in "ad"] == [0o755, 0o777]


def test_what_has_no_rights_can_be_read_by_us(tmp_path: Path) -> None:
    root = unpacked(tmp_path, tar([member("d", DIRECTORY, mode=0), member("d/a", mode=0)]))
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in ("d", "d/a")] == [0o700, 0o600]


def test_times_are_kept(tmp_path: Path) -> None:
    info, data = member("a")
    info.mtime = 1_000_000_000
    assert (unpacked(tmp_path, tar([(info, data)])) / "a").stat().st_mtime == 1_000_000_000


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_are_passed_over(tmp_path: Path, kind: bytes) -> None:
    (tmp_path / "root").mkdir()
    found = unpack(layers(tmp_path, tar([member("dev/x", kind)])), tmp_path / "root")
    assert found == Unpacked(entries=1, skipped=1)
    assert content(tmp_path / "root") == {}


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        pytest.param([member("../a")], "it leads out of the image by '..'", id="parent"),
        pytest.param([member("a/../../b")], "it leads out of the image by '..'", id="parent in the middle"),
        pytest.param([member("/../a")], "it leads out of the image by '..'", id="parent of the root"),
        pytest.param([member("..", DIRECTORY)], "it leads out of the image", id="the parent itself"),
        pytest.param([member(".wh...")], "it does not name a file to remove", id="whiteout of the parent"),
        pytest.param([member("d/.wh..")], "it does not name a file to remove", id="whiteout of the folder"),
        pytest.param([member(".wh.")], "it does not name a file to remove", id="whiteout of nothing"),
        pytest.param(
            [member("a", HARD_LINK, target="../../x")], "leads out of the image", id="hard link out"
        ),
        pytest.param([member("a", HARD_LINK, target="b")], "which is not a file", id="hard link to nothing"),
        pytest.param(
            [member("d", DIRECTORY), member("a", HARD_LINK, target="d")],
            "not a file",
            id="hard link to a folder",
        ),
        pytest.param(
            [member("l", LINK, target="l"), member("l/a")], "a link to itself", id="a link to itself"
        ),
        pytest.param([member("l", LINK, target="")], "its target is not a path", id="a link to nothing"),
        pytest.param([member("/".join("d" * 300))], "not a valid path", id="too deep"),
        pytest.param([member("x" * 256)], "not a valid path", id="too long"),
        pytest.param([member("x/" * 3000)], "not a valid path", id="far too long"),
    ],
)
def test_what_is_refused(tmp_path: Path, entries: list[Any], text: str) -> None:
    with pytest.raises(ImageError) as caught:
        unpacked(tmp_path, tar(entries))
    assert text in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blob-0", "root"]
    with pytest.raises(ImageError) as caught:
        ensure(tmp_path / "images", layers(tmp_path, tar(entries)), separately=True)
    assert text in str(caught.value)
    assert not [path for path in (tmp_path / "images").iterdir() if path.is_dir()]


@pytest.mark.parametrize("target", ["", "/"], ids=["relative", "absolute"])
def test_hard_links_through_links_stay_inside(tmp_path: Path, target: str) -> None:
    """`l` leads to a folder outside, seen from the host; inside, that is another folder."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    link = f"{tmp_path}/outside" if target else "../outside"
    entries = [member("l", LINK, target=link), member("a", HARD_LINK, target="l/secret")]
    with pytest.raises(ImageError, match="which does not exist"):
        unpacked(tmp_path, tar(entries))


@pytest.mark.parametrize(
    ("records", "text"),
    [
        ({"path": "a\0b"}, "not a valid path"),
        ({"size": "-1"}, "an entry of '-1' bytes"),
        ({"size": "9" * 30}, "an entry of '9999"),
        ({"size": "1_0"}, "an entry of '1_0' bytes"),
        ({"GNU.sparse.major": "1"}, "has a sparse file"),
        ({"x": "y" * (2 << 20)}, "at most 1048576 are read"),
    ],
)
def test_extended_headers(tmp_path: Path, records: dict[str, str], text: str) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info, _ = member("a", data=b"")
        info.pax_headers = records
        archive.addfile(info)
    with pytest.raises(ImageError) as caught:
        unpacked(tmp_path, out.getvalue())
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda blob: blob[:-20] + b"x" * 20, id="changed"),
        pytest.param(lambda blob: blob[:-30], id="cut off"),
        pytest.param(lambda blob: blob + b"more", id="longer"),
        pytest.param(lambda blob: b"", id="empty"),
    ],
)
def test_a_damaged_blob(tmp_path: Path, change: Any) -> None:
    archive = tar({f"f{number}": "x" * 999 for number in range(50)})
    found = layers(tmp_path, archive)
    blob = Path(found[0].path)
    blob.write_bytes(change(blob.read_bytes()))
    (tmp_path / "root").mkdir()
    with pytest.raises(ImageError, match=r"damaged|ends too early|not a gzip|not a tar"):
        unpack(found, tmp_path / "root")


def test_an_archive_that_the_configuration_does_not_name(tmp_path: Path) -> None:
    found = layers(tmp_path, tar({"a": "1"}))[0]
    other = Layer(digest=found.digest, size=found.size, path=found.path, diff_id="sha256:" + "0" * 64)
    (tmp_path / "root").mkdir()
    with pytest.raises(ImageError, match="its unpacked content does not have the digest sha256:000"):
        unpack([other], tmp_path / "root")


def test_a_blob_that_is_gone(tmp_path: Path) -> None:
    found = layers(tmp_path, tar({}))
    Path(found[0].path).unlink()
    (tmp_path / "root").mkdir()
    with pytest.raises(ImageError, match="no longer in the registry"):
        unpack(found, tmp_path / "root")


@pytest.mark.parametrize(
    "compress",
    [
        pytest.param(lambda data: data, id="none"),
        pytest.param(lambda data: gzip.compress(data[:700]) + gzip.compress(data[700:]), id="two members"),
        pytest.param(lambda data: gzip.compress(data) + bytes(512), id="padded"),
    ],
)
def test_compressions(tmp_path: Path, compress: Any) -> None:
    assert content(unpacked(tmp_path, tar({"a": "1"}), compress=compress)) == {"a": "1"}


def test_zstd_without_its_library_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("compression", "zstandard"):
        monkeypatch.setitem(sys.modules, library, None)  # Python then cannot import it
    with pytest.raises(ImageError, match=r"compressed with zstd.*pip install zstandard"):
        unpacked(tmp_path, tar({}), compress=lambda data: b"\x28\xb5\x2f\xfd" + data)


def test_a_bomb_is_noticed_by_its_ratio(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w|") as archive:
        info = tarfile.TarInfo("zeros")
        info.size = 130 << 20
        archive.addfile(info, _Zeros())
    with pytest.raises(ImageError, match="more than 200 times its size"):
        unpacked(tmp_path, out.getvalue())


class _Zeros(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        return bytes(size)


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(entries=3), "too many entries: at most 3"),
        (Limits(size=30), "is too large"),
    ],
)
def test_limits(tmp_path: Path, limits: Limits, text: str) -> None:
    with pytest.raises(ImageError, match=text):
        unpacked(tmp_path, tar({f"f{number}": "x" * 10 for number in range(4)}), limits=limits)


def test_a_file_larger_than_the_disk_is_refused_before_it_is_written(tmp_path: Path) -> None:
    info = tarfile.TarInfo("huge")
    info.size = 1 << 60
    with pytest.raises(ImageError, match="is too large"):
        unpacked(tmp_path, info.tobuf(tarfile.GNU_FORMAT) + bytes(512))


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    unpacked(tmp_path, tar({"a/b/c": "1", "l": "-> a", "l/x": "2"}), tar({"a/.wh..wh..opq": ""}))
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_names_that_a_file_system_cannot_tell_apart_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="this file system cannot distinguish it from 'd/a'"):
        unpacked(tmp_path, tar({"d/a": "1", "d/A": "3"}), ignores_case=True)


def test_a_disk_that_takes_a_part_of_a_file(tmp_path: Path) -> None:
    """Write the rest again until the disk refuses it: a file is never shorter than its entry."""
    archive = tar({"a": b"x" * 5000})
    (tmp_path / "root").mkdir()
    tree = Tree(tmp_path / "root", Limits())
    reader = tar_stream.LayerReader(
        io.BytesIO(archive), "it", digest=digest(archive), diff_id=digest(archive)
    )
    try:
        with largest_file(3000), pytest.raises(OSError, match="File too large"):
            for entry, content in tar_stream.entries(reader, "it"):
                tree.add(entry, content)
    finally:
        tree.close()
