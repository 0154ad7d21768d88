"""Layers and archives whose headers cost more memory than their files."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from pulumi_vertex_training.images.files import archives
from pulumi_vertex_training.images.image import BaseImage


def header(kind: bytes, size: int) -> bytes:
    entry = tarfile.TarInfo("x")
    entry.type, entry.size = kind, size
    return entry.tobuf(tarfile.GNU_FORMAT)


def base_of(layer: bytes) -> BaseImage:
    described = {"digest": "sha256:0", "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"}
    return BaseImage(
        name="base",
        digest="sha256:1",
        manifest=json.dumps({"layers": [described]}).encode(),
        config=b"{}",
        media_type="application/vnd.oci.image.manifest.v1+json",
        open_layer=lambda _: io.BytesIO(layer),
    )


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_long_header_is_not_read(kind: bytes, tmp_path: Path) -> None:
    # The archive ends after the header, so whoever reads on reports that it is broken.
    archive = header(kind, 2 << 20)
    with pytest.raises(archives.LayersError, match="has a header of 2097152 bytes"):
        archives.image_tree(base_of(gzip.compress(archive)))
    file = tmp_path / "archive.tar"
    file.write_bytes(archive)
    with pytest.raises(archives.ArchiveError, match="has a header of 2097152 bytes"):
        archives.unpack_archive(file, tmp_path)
    assert not archives.is_archive(file)


def test_a_damaged_gzip_layer_is_reported() -> None:
    layer = bytearray(gzip.compress(header(tarfile.REGTYPE, 0) * 1000))
    layer[20:30] = b"\xff" * 10
    with pytest.raises(archives.LayersError, match="is broken"):
        archives.image_tree(base_of(bytes(layer)))


def test_entries_are_bounded() -> None:
    archive = io.BytesIO(header(tarfile.DIRTYPE, 0) * 4)
    with (
        tarfile.open(fileobj=archive, mode="r|") as reader,
        pytest.raises(archives.ArchiveError, match="has more than 3 entries"),
    ):
        list(archives._members(reader, most=3))
