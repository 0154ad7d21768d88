"""The bytes of an archive: readable by other programs, and the same everywhere."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pulumi_vertex_training.packaging.archive import MODIFIED, Entry, archive, archive_size
from pulumi_vertex_training.packaging.errors import PackagingError
from support.client.builds.packages import build_sdist

NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=40)
PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=5).map("/".join)


def packed(files: dict[str, bytes], *, top: str = "top-1") -> bytes:
    entries = [Entry(path=path, content=content, size=len(content)) for path, content in files.items()]
    return b"".join(archive(entries, top=top))


@given(files=st.dictionaries(PATHS, st.binary(max_size=600), max_size=5))
def test_python_reads_back_every_name_and_byte(files: dict[str, bytes]) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(files)), mode="r:gz") as tar:
        found = {member.name: (tar.extractfile(member) or io.BytesIO()).read() for member in tar}
    assert found == {f"top-1/{path}": content for path, content in files.items()}


@given(size=st.integers(0, 200_000))
@example(size=65_535 - 1536)
@example(size=65_535 * 2)
def test_stored_blocks_survive_gunzip_at_any_length(size: int) -> None:
    data = packed({"data.bin": bytes(range(256)) * (size // 256) + bytes(size % 256)})
    plain = gzip.decompress(data)
    assert len(plain) % 10_240 == 0
    # stored: five bytes for each block of at most 65535, and the container around it
    blocks = max(1, -(-len(plain) // 65_535))
    assert len(data) == len(plain) + 5 * blocks + 18


def test_the_systems_tar_and_gunzip_read_it(tmp_path: Path) -> None:
    long = "folder/" * 20 + "x.py"
    files = {"a.py": b"print(1)\n", long: b"deep", "umläut/日本.txt": b"names", "empty": b""}
    path = tmp_path / "top-1.tar.gz"
    path.write_bytes(packed(files))
    assert subprocess.run(["gunzip", "--test", path], check=False).returncode == 0
    environment = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
    listed = subprocess.run(
        ["tar", "--list", "--verbose", "--numeric-owner", "--quoting-style=literal", "-zf", path],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert listed.stderr == ""
    lines = [line.split(maxsplit=5) for line in listed.stdout.splitlines()]
    assert [line[5] for line in lines] == sorted(f"top-1/{name}" for name in files)
    assert {(line[0], line[1], line[3]) for line in lines} == {("-rw-r--r--", "0/0", "1980-01-02")}
    subprocess.run(["tar", "-xzf", path, "-C", tmp_path], check=True, env=environment)
    assert {name: (tmp_path / "top-1" / name).read_bytes() for name in files} == files


def test_headers_hold_no_trace_of_the_machine() -> None:
    data = packed({"b.py": b"b", "a.py": b"a"})
    assert data[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
        members = tar.getmembers()
    assert [member.name for member in members] == ["top-1/a.py", "top-1/b.py"]
    for member in members:
        assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
        assert (member.mtime, member.mode, member.pax_headers) == (MODIFIED, 0o644, {})


def test_the_estimate_is_close_to_the_size() -> None:
    entries = [
        Entry(path=f"{number}.bin", content=bytes(number * 777), size=number * 777) for number in range(60)
    ]
    real = len(b"".join(archive(entries, top="top")))
    assert archive_size(entries) <= real <= archive_size(entries) + 10_240 + 1024 + 5 * 30 + 18


@pytest.mark.parametrize("size", [3, 5], ids=["grew", "shrank"])
def test_a_file_that_changes_its_size_is_noticed(tmp_path: Path, size: int) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"1234")
    with pytest.raises(PackagingError, match=r"^a\.py: changed while it was being read"):
        b"".join(archive([Entry(path="a.py", content=file, size=size)], top="top"))


def test_bytes_are_those_of_format_1(tmp_path: Path) -> None:
    """Another hash here means that every staged package changes and every job that uses one is replaced.

    If that is meant, raise FORMAT.
    """
    folder = tmp_path / "trainer"
    (folder / "data").mkdir(parents=True)
    (folder / "task.py").write_bytes(b"print('training')\n")
    (folder / "data" / "gewichte größe [1].csv").write_bytes(b"1,2\n")
    (folder / "run.sh").write_bytes(b"#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    project = tmp_path / "project"
    (project / "src" / "net").mkdir(parents=True)
    (project / "pyproject.toml").write_bytes(b'[project]\nname = "Net.Work"\nversion = "1.0"\n')
    (project / "src" / "net" / "task.py").write_bytes(b"")
    requirements = ["numpy>=2", "einops"]
    packages = [
        build_sdist(folder / "task.py", requirements=requirements),
        build_sdist(folder, requirements=requirements, extra_files={"net": project / "src" / "net"}),
        build_sdist(project),
    ]
    assert [(package.file_name, package.sha256[:16]) for package in packages] == [
        ("trainer-0.1.0.tar.gz", "886a3cea417d0570"),
        ("trainer-0.1.0.tar.gz", "116b87053e4f0dfa"),
        ("net_work-1.0.tar.gz", "9c67d66e33f8d58c"),
    ]
