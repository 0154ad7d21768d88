"""Reading a wheel or source distribution that was built elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training.packaging.build import build_package
from pulumi_vertex_training.packaging.errors import PackagingError
from support.builds import built_packages


def refusal(path: Path, **options: str) -> str:
    with pytest.raises(PackagingError) as caught:
        build_package(path, **options)  # type: ignore[arg-type]
    (problem,) = caught.value.problems
    return str(problem)


def test_the_modules_of_a_wheel_are_known(tmp_path: Path) -> None:
    path = built_packages.wheel(
        tmp_path, files={"net/__init__.py": "", "net/task.py": "", "net/data.csv": ""}
    )
    assert build_package(path).python_module == "net.task"


def test_the_requirements_of_a_wheel_are_known(tmp_path: Path) -> None:
    path = built_packages.wheel(
        tmp_path, text=built_packages.metadata("net", "1.0", "Requires-Dist: numpy>=2")
    )
    assert build_package(path).requirements == ("numpy>=2",)


@pytest.mark.parametrize("make", [built_packages.wheel, built_packages.sdist])
def test_another_name_inside_is_refused(tmp_path: Path, make: type) -> None:
    path = make(tmp_path, text=built_packages.metadata("other", "1.0"))
    assert f"{path.name} holds other 1.0, which differs from its file name" in refusal(path)


@pytest.mark.parametrize("make", [built_packages.wheel, built_packages.sdist])
def test_another_version_inside_is_refused(tmp_path: Path, make: type) -> None:
    path = make(tmp_path, text=built_packages.metadata("net", "2.0"))
    assert "holds net 2.0, which differs from its file name" in refusal(path)


def test_a_version_in_another_spelling_is_the_same(tmp_path: Path) -> None:
    assert (
        build_package(built_packages.wheel(tmp_path, text=built_packages.metadata("Net", "1.0.0"))).problems
        == ()
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"name": "other"},
            "name: 'other' differs from the name in net-1.0-py3-none-any.whl, 'net'. Leave it out.",
        ),
        (
            {"version": "2"},
            "version: '2' differs from the version in net-1.0-py3-none-any.whl, '1.0'. Leave it out.",
        ),
        ({"version": "two"}, "version: 'two' is not a version that pip understands."),
    ],
)
def test_what_is_asked_for_has_to_be_in_it(tmp_path: Path, options: dict[str, str], words: str) -> None:
    assert refusal(built_packages.wheel(tmp_path), **options).startswith(words)


def test_what_is_in_it_may_be_said(tmp_path: Path) -> None:
    assert build_package(built_packages.wheel(tmp_path), name="Net", version="1.0").kind == "built"


def test_a_source_distribution_without_metadata_is_refused(tmp_path: Path) -> None:
    assert "it has no PKG-INFO" in refusal(built_packages.sdist(tmp_path, text=""))


def test_a_wheel_without_metadata_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net-1.0-py3-none-any.whl"
    built_packages.wheel(tmp_path, "other-1.0-py3-none-any.whl").rename(path)
    assert "holds other 1.0" in refusal(path)


def test_a_wheel_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = built_packages.wheel(tmp_path)
    path.write_bytes(path.read_bytes()[:100])
    assert "cannot be read as a wheel" in refusal(path)


def test_a_source_distribution_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = built_packages.sdist(tmp_path)
    path.write_bytes(path.read_bytes()[:40])
    assert "cannot be read as a gzip archive" in refusal(path)


def test_a_wheel_for_python_2_is_warned_of(tmp_path: Path) -> None:
    (found,) = build_package(built_packages.wheel(tmp_path, "net-1.0-py2-none-any.whl")).problems
    assert (found.level, "is built for py2; replicas run CPython 3" in found.message) == ("warning", True)
