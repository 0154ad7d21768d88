"""Packages as values: their bytes, files taken as they are, digests and object names."""

from __future__ import annotations

import base64
import hashlib
import io
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.package import FileDigest, file_digest, object_name
from support.builds import built_packages
from support.client.builds.packages import build_sdist

WriteTree = Callable[[str, Mapping[str, str]], Path]


def problems(source: Path, **options: object) -> list[str]:
    with pytest.raises(PackagingError) as caught:
        build_sdist(source, **options)  # type: ignore[arg-type]
    return [str(problem) for problem in caught.value.problems]


def wheel(folder: Path, name: str = "net-1.0-py3-none-any.whl") -> Path:
    return built_packages.wheel(folder, name)


def test_hash_and_size_are_those_of_the_bytes_written(tree: WriteTree, tmp_path: Path) -> None:
    package = build_sdist(tree("net", {"task.py": "print()", "data/x.bin": "x" * 200_000}))
    stream = io.BytesIO()
    package.write(stream)
    data = stream.getvalue()
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (package.sha256, package.size)
    saved = package.save(tmp_path)
    assert saved == tmp_path / "net-0.1.0.tar.gz"
    assert saved.read_bytes() == data
    assert file_digest(saved, crc32c=True) == FileDigest(
        sha256=package.sha256, size=package.size, crc32c=package.crc32c()
    )


def test_a_source_that_changed_since_is_noticed_and_nothing_is_left(tree: WriteTree, tmp_path: Path) -> None:
    root = tree("net", {"task.py": "print(1)"})
    package = build_sdist(root)
    (root / "task.py").write_text("print(2)")
    (tmp_path / "out").mkdir()
    with pytest.raises(
        PackagingError, match=r"^net-0\.1\.0\.tar\.gz: its source changed since it was hashed"
    ):
        package.save(tmp_path / "out")
    (root / "task.py").write_text("print(22)")
    with pytest.raises(PackagingError, match=r"^net/task\.py: changed while it was being read"):
        package.save(tmp_path / "out")
    (root / "task.py").unlink()
    with pytest.raises(PackagingError, match=r"^net/task\.py: cannot be read: No such file or directory"):
        package.save(tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_package_shows_no_content_and_compares_by_it(tree: WriteTree) -> None:
    root = tree("net", {"task.py": "print(1)"})
    first = build_sdist(root)
    assert "content" not in repr(first)
    assert first == build_sdist(root)
    (root / "task.py").write_text("print(2)")
    assert first != build_sdist(root)


def test_a_wheel_is_taken_as_it_is(tmp_path: Path) -> None:
    path = wheel(tmp_path)
    package = build_sdist(path)
    assert (package.kind, package.file_name, package.size) == ("built", path.name, path.stat().st_size)
    assert package.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (package.python_module, package.python_modules, package.problems) == ("net", ("net",), ())
    assert b"".join(package.chunks()) == path.read_bytes()


@pytest.mark.parametrize(
    "name", ["net-1.0.tar.gz", "my-net-1.0.tar.gz", "aiplatform_custom_trainer_script-0.1.tar.gz"]
)
def test_a_source_distribution_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    path = built_packages.sdist(tmp_path, name)
    assert build_sdist(path).file_name == name


def test_our_own_archives_are_taken_back_unchanged(tree: WriteTree, tmp_path: Path) -> None:
    package = build_sdist(tree("net", {"task.py": "print()"}))
    again = build_sdist(package.save(tmp_path))
    assert (again.file_name, again.sha256, again.size) == (package.file_name, package.sha256, package.size)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("net.whl", b"PK\x03\x04", "source: 'net.whl' is not a file name that pip accepts."),
        (
            "net-one-py3-none-any.whl",
            b"PK\x03\x04",
            "source: 'net-one-py3-none-any.whl' is not a file name that",
        ),
        (
            "net.tar.gz",
            b"\x1f\x8b",
            "source: 'net.tar.gz' is not a file name that pip accepts. It has the form name",
        ),
        (
            "net-1.tar.gz",
            b"<html>",
            "source: net-1.tar.gz is not a gzip archive: its first bytes differ.",
        ),
        (
            "net-1-py3-none-any.whl",
            b"",
            "source: net-1-py3-none-any.whl is not a wheel: its first bytes differ.",
        ),
    ],
)
def test_files_that_pip_would_not_take(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    (found,) = problems(tmp_path / name)
    assert found.startswith(message)


def test_a_wheel_for_another_system_is_warned_of(tmp_path: Path) -> None:
    (found,) = build_sdist(wheel(tmp_path, "net-1.0-cp311-cp311-macosx_11_0_arm64.whl")).problems
    assert found.level == "warning"
    assert "is built for macosx_11_0_arm64; replicas run Linux." in found.message
    linux = wheel(tmp_path, "net-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl")
    assert build_sdist(linux).problems == ()


def test_a_finished_file_takes_no_options(tmp_path: Path) -> None:
    path = wheel(tmp_path)
    found = problems(
        path, name="x", version="2", requirements=["numpy"], extra_files={"x": tmp_path}, limit=10
    )
    assert [text.partition(": ")[0] for text in found] == [
        "name", "version", "requirements", "extra_files", "source",
    ]  # fmt: skip


@given(content=st.binary(max_size=3000))
def test_digests(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "digest.bin"
    path.write_bytes(content)
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    assert file_digest(path, crc32c=True) == FileDigest(
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        crc32c=base64.b64encode((crc ^ 0xFFFFFFFF).to_bytes(4, "big")).decode(),
    )
    assert file_digest(path).crc32c is None


def test_digests_of_what_is_no_file(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "gone", f"source: {tmp_path / 'gone'} does not exist. Correct the path."),
        (tmp_path, "source: is a folder, not a file. Give a file, or leave it out."),
    ):
        with pytest.raises(PackagingError) as caught:
            file_digest(path)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("prefix", "before"), [("", ""), ("packages", "packages/"), ("/a/b/", "a/b/"), ("a b", "a b/")]
)
def test_object_names_hold_the_content_and_the_file_name(tmp_path: Path, prefix: str, before: str) -> None:
    package = build_sdist(wheel(tmp_path))
    assert object_name(prefix, package) == f"{before}{package.sha256[:16]}/net-1.0-py3-none-any.whl"


def test_hashing_loads_no_google_package_and_no_pulumi(tree: WriteTree) -> None:
    root = tree("net", {"task.py": "print()"})
    code = (
        "import sys; before = set(sys.modules); from pathlib import Path; "
        "from pulumi_vertex_training.packaging.build import build_package; "
        "from pulumi_vertex_training.packaging.package import file_digest; "
        f"build_package(Path({str(root)!r})); file_digest(Path({str(root / 'task.py')!r})); "
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(loaded & {'google', 'google_crc32c', 'pulumi', 'requests', 'setuptools'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
