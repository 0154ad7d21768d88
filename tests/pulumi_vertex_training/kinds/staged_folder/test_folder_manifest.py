"""The manifest of a staged folder, its hash, and the words for a change."""

from __future__ import annotations

import dataclasses

import pytest

from pulumi_vertex_training.kinds.staged.manifest import FolderFile, change, packed, some, unpacked
from pulumi_vertex_training.kinds.staged_folder.spec import FolderSpec, amount, content_hash

FILES = (
    FolderFile(path="b c.txt", size=3, crc32c="AAAAAA==", sha256="0" * 64),
    FolderFile(path="a/ä\u2028\x0b.txt", size=0, crc32c="BBBBBB==", sha256="1" * 64),
)


def test_a_packed_manifest_is_read_back_in_order() -> None:
    known = [dataclasses.replace(file, sha256="") for file in FILES]
    assert list(unpacked(packed(FILES)).values()) == [known[1], known[0]]
    assert packed(FILES) == packed(reversed(FILES))


@pytest.mark.parametrize("text", [None, "", "AAAA", "ä", 5.0])
def test_what_is_no_manifest_has_no_files(text: object) -> None:
    assert unpacked(text) == {}


def test_ten_thousand_files_take_little_of_the_state() -> None:
    files = [
        FolderFile(path=f"train/class_{n % 20:02}/img_{n:05}.jpg", size=9000 + n, crc32c=f"{n:06}==")
        for n in range(10_000)
    ]
    assert len(packed(files)) < 200_000
    assert len(unpacked(packed(files))) == 10_000


@pytest.mark.parametrize(
    "change", [{"path": "b d.txt"}, {"size": 4}, {"sha256": "2" * 64}], ids=["path", "size", "content"]
)
def test_the_hash_is_that_of_paths_sizes_and_contents(change: dict[str, object]) -> None:
    assert content_hash(FILES) == content_hash(reversed(FILES))
    changed = dataclasses.replace(FILES[0], **change)  # type: ignore[arg-type]
    assert content_hash([changed, FILES[1]]) != content_hash(FILES)


def test_names() -> None:
    spec = FolderSpec(bucket="b", prefix="folders/photos", sha256="0123456789abcdef" * 4)
    assert str(spec.uri) == "gs://b/folders/photos/0123456789abcdef"
    assert spec.uri.mounted == "/gcs/b/folders/photos/0123456789abcdef"
    assert spec.object_name("a/b.txt") == "folders/photos/0123456789abcdef/a/b.txt"


def test_words_for_a_change() -> None:
    def files(**checksums: str) -> dict[str, FolderFile]:
        return {path: FolderFile(path=path, size=1, crc32c=text) for path, text in checksums.items()}

    assert change(files(a="1", b="1", c="1"), files(a="1", b="2", d="1")) == (
        "1 changed (b), 1 added (d), 1 removed (c)"
    )
    assert change(files(a="1"), files(a="1")) == ""
    assert some(str(n) for n in range(5)) == "0, 1, 2 and 2 more"


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (4_200_000, "4.2 MB")],
)
def test_amounts(size: int, words: str) -> None:
    assert amount(size) == words
