"""The bytes of layers: they follow from names, contents and execute bits alone."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import random
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.images import ImageSource, build_image, plan_image
from pulumi_vertex_training.images.files.layer import write_layer
from pulumi_vertex_training.images.files.tree import Node
from pulumi_vertex_training.packaging.errors import PackagingError
from support.client.builds.built_images import built, contents, entries, members, refused, write_files
from support.properties import examples

NAME = st.from_regex(r"[a-zé][a-z0-9_.]{0,5}[a-z]", fullmatch=True)
PATH = st.lists(NAME, min_size=1, max_size=3).map("/".join)
TREES = st.dictionaries(PATH, st.tuples(st.binary(max_size=80), st.booleans()), max_size=6).filter(
    lambda files: not any(one != other and other.startswith(one + "/") for one in files for other in files)
)
COPY_ALL = "FROM scratch\nCOPY src /x\n"


def write(root: Path, files: dict[str, tuple[bytes, bool]], *, seed: int, umask: int) -> None:
    """Writes the files in an order, with times and permissions, that follow from the seed and the umask."""
    chance = random.Random(seed)
    before = os.umask(umask)
    try:
        (root / "src").mkdir(parents=True)
        for path in chance.sample(sorted(files), len(files)):
            content, executable = files[path]
            file = root / "src" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod((0o777 if executable else 0o666) & ~umask)
            os.utime(file, (chance.randrange(10**9), chance.randrange(10**9)))
    finally:
        os.umask(before)


@settings(deadline=None, max_examples=examples(25))
@given(files=TREES, seed=st.integers(0, 99), umask=st.sampled_from([0o000, 0o002, 0o027, 0o077]))
def test_order_times_umask_and_place_do_not_show(
    files: dict[str, tuple[bytes, bool]], seed: int, umask: int
) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        write(Path(one, "c"), files, seed=0, umask=0o022)
        write(Path(other, "d"), files, seed=seed + 1, umask=umask)
        first, second = built(Path(one, "c"), COPY_ALL), built(Path(other, "d"), COPY_ALL)
        assert first.manifest == second.manifest
        assert first.config == second.config


@settings(deadline=None, max_examples=examples(25))
@given(files=TREES, data=st.data())
def test_any_change_shows(files: dict[str, tuple[bytes, bool]], data: st.DataObject) -> None:
    files["task"] = (b"print()", False)
    path = data.draw(st.sampled_from(sorted(files)))
    content, executable = files[path]
    changes = [
        files | {path: (content + b"#", executable)},
        files | {path: (content, not executable)},
        files | {f"zz{path}": (content, executable)},
        {name: value for name, value in files.items() if name != path} | {f"zz{path}": (content, executable)},
    ]
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        write(Path(one, "c"), files, seed=0, umask=0o022)
        write(Path(other, "c"), data.draw(st.sampled_from(changes)), seed=0, umask=0o022)
        first, second = built(Path(one, "c"), COPY_ALL), built(Path(other, "c"), COPY_ALL)
        assert first.digest != second.digest
        plans = [
            plan_image(ImageSource(source=Path(each, "c"), dockerfile="Dockerfile")) for each in (one, other)
        ]
        assert plans[0].content_hash != plans[1].content_hash


@settings(deadline=None, max_examples=examples(25))
@given(files=TREES)
def test_a_layer_holds_exactly_the_files(files: dict[str, tuple[bytes, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "c"), files, seed=0, umask=0o022)
        found = entries(built(Path(folder, "c"), COPY_ALL))
    modes = {name: member.mode for name, member in found.items() if member.isfile()}
    assert modes == {f"x/{path}": 0o755 if run else 0o644 for path, (_, run) in files.items()}


GOLDEN = {
    "bin/run.sh": "#!/bin/sh\n",
    "data/é.txt": "é",
    "data/" + "long" * 30 + "/file.txt": "long",
    "empty/": "",
    "link -> data/é.txt": "",
    "far -> /" + "long" * 30: "",
}


def test_the_bytes_are_those_of_every_release(tmp_path: Path) -> None:
    """Fix the bytes: a change here pushes all images again, so increase `plan.FORMAT` with it."""
    image = built(tmp_path / "c", "FROM scratch\nWORKDIR /w\nCOPY --chown=3000000:5 src .\n", {
        f"src/{path}": content for path, content in GOLDEN.items()
    })  # fmt: skip
    assert [blob.digest for blob in image.blobs] == [
        "sha256:811686b50c6166dbd059d89ad796c606657ee5030f38c7eace23a6afaede31c4",
        "sha256:ec123aa000a26b7f22392428e4a57b3117a87a06581ddf963913a1cea535b603",
    ]
    assert image.digest == "sha256:a8fae476ebfc836e3034fa839139ab5dccfdba94236dc7b5e26dce31dda285b6"


def test_digests_and_size_are_those_of_the_file(tmp_path: Path) -> None:
    layer = write_layer(
        [Node(path="a", kind="file", mode=0o644, size=70_000, content=b"x" * 70_000)], tmp_path
    )
    content = layer.path.read_bytes()
    assert layer.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert layer.diff_id == f"sha256:{hashlib.sha256(gzip.decompress(content)).hexdigest()}"
    assert layer.size == len(content)


def test_entries_are_sorted_and_have_no_time_and_no_names(tmp_path: Path) -> None:
    image = built(tmp_path / "c", COPY_ALL, {"src/b": "", "src/a/c": "", "src/a.txt": ""})
    (layer,) = members(image)
    assert [member.name for member in layer] == ["x", "x/a", "x/a.txt", "x/a/c", "x/b"]
    assert {(member.mtime, member.uname, member.gname) for member in layer} == {(0, "", "")}


def test_pax_headers_are_written_only_where_they_are_needed(tmp_path: Path) -> None:
    layer = write_layer(
        [
            Node(path="plain", kind="folder"),
            Node(path="é", kind="folder"),
            Node(path="n" * 101, kind="link", link="l" * 101),
            Node(path="owned", kind="folder", uid=0o10000000),
        ],
        tmp_path,
    )
    with tarfile.open(layer.path) as archive:
        headers = {member.name: set(member.pax_headers) for member in archive}
    assert headers == {"plain": set(), "é": {"path"}, "n" * 101: {"path", "linkpath"}, "owned": {"uid"}}


def test_unicode_forms_of_a_name_stay_as_they_are(tmp_path: Path) -> None:
    image = built(tmp_path / "c", COPY_ALL, {"src/e\u0301": "two", "src/f": ""})
    assert contents(image)["x/e\u0301"] == "two"


def test_hard_links_are_files(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "c", {"src/a": "1"})
    (folder / "src/b").hardlink_to(folder / "src/a")
    assert contents(built(folder, COPY_ALL)) == {"x/a": "1", "x/b": "1"}


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "c", {"src/a": "1"})
    os.mkfifo(folder / "src/pipe")
    (problem,) = refused(folder, COPY_ALL)
    assert problem.message.startswith("src/pipe is a named pipe")


def test_a_pipe_that_is_left_out_is_none_of_our_business(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "c", {"src/a": "1", ".dockerignore": "**/pipe"})
    os.mkfifo(folder / "src/pipe")
    assert contents(built(folder, COPY_ALL)) == {"x/a": "1"}


def test_a_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "c", {"src/a": "1"})
    Path(os.fsdecode(os.fsencode(folder) + b"/src/\xff")).write_text("")
    (problem,) = refused(folder, COPY_ALL)
    assert "its name is not UTF-8" in problem.message


@pytest.mark.parametrize("content", [pytest.param("2", id="same size"), pytest.param("22", id="longer")])
def test_a_file_that_changes_after_the_plan_is_an_error(content: str, tmp_path: Path) -> None:
    folder = write_files(tmp_path / "c", {"src/a": "1", "Dockerfile": COPY_ALL})
    plan = plan_image(ImageSource(source=folder, dockerfile="Dockerfile"))
    (folder / "src/a").write_text(content)
    with pytest.raises(PackagingError, match="a: changed while the image was being built"):
        build_image(plan, {}, None, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    import tracemalloc

    with (tmp_path / "big").open("wb") as file:
        file.truncate(64 << 20)
    node = Node(path="big", kind="file", mode=0o644, size=64 << 20, content=tmp_path / "big")
    tracemalloc.start()
    try:
        layer = write_layer([node], tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert layer.size > 64 << 20


def test_a_file_of_nine_gigabytes_has_a_pax_size() -> None:
    from pulumi_vertex_training.images.files.layer import _headers

    header = _headers(Node(path="big", kind="file", size=9 << 30))
    with tarfile.open(fileobj=io.BytesIO(header + bytes(1024)), mode="r|") as archive:
        assert archive.next().size == 9 << 30  # type: ignore[union-attr]
