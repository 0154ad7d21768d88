"""Images of a base and a folder, without a Dockerfile; options; indexes of platforms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.images import BuiltImage, ImageSource, plan_image, select_platform
from pulumi_vertex_training.packaging.errors import PackagingError
from support.client.builds.built_images import (
    BASE_NAME,
    base_image,
    built,
    config_of,
    contents,
    entries,
    write_files,
)

FILES = {"trainer/task.py": "task", "data.json": "{}"}


def folder_image(folder: Path, files: dict[str, str] | None = None, **options: Any) -> BuiltImage:
    base = base_image(settings={"Cmd": ["x"]})
    return built(folder, None, files or FILES, bases={base.name: base}, base_image=BASE_NAME, **options)


def test_the_folder_becomes_the_working_directory(tmp_path: Path) -> None:
    image = folder_image(tmp_path / "c", entrypoint=("python", "-m", "trainer.task"))
    assert contents(image) == {"usr/app/data.json": "{}", "usr/app/trainer/task.py": "task"}
    settings = config_of(image)
    assert settings == {"Entrypoint": ["python", "-m", "trainer.task"], "WorkingDir": "/usr/app"}


@pytest.mark.parametrize("folder", ["/w", "/a b/$c", "/q'\"\\"])
def test_another_working_directory(folder: str, tmp_path: Path) -> None:
    image = folder_image(tmp_path / "c", {"a": ""}, working_dir=folder)
    assert list(contents(image)) == [f"{folder}/a".strip("/")]


def test_hidden_and_temporary_files_are_excluded(tmp_path: Path) -> None:
    files = {"a.py": "", ".git/x": "", "b/.env": "", "a.pyc": "", "x.egg-info/y": "", "b/c~": "", "b/d": ""}
    assert sorted(contents(folder_image(tmp_path / "c", files))) == ["usr/app/a.py", "usr/app/b/d"]


def test_the_ignore_file_may_take_them_in(tmp_path: Path) -> None:
    files = {".env": "", "b": "", ".dockerignore": "!.env\nb"}
    assert list(contents(folder_image(tmp_path / "c", files))) == ["usr/app/.env"]


def test_a_user_owns_nothing(tmp_path: Path) -> None:
    image = folder_image(tmp_path / "c", user="1000")
    assert {member.uid for member in entries(image).values()} == {0}


A = {"base_image": "a"}
OPTIONS = [
    pytest.param({}, "base_image", "is missing, and so is dockerfile", id="neither"),
    pytest.param({"dockerfile": "Dockerfile"} | A, "base_image", "together with Dockerfile", id="both"),
    pytest.param({"base_image": "A B"}, "base_image", "not the name of an image", id="name"),
    pytest.param(A | {"target": "x"}, "target", "needs a Dockerfile", id="target"),
    pytest.param(A | {"build_args": {"a": "b"}}, "build_args", "needs a", id="arguments"),
    pytest.param(A | {"platform": "windows/amd64"}, "platform", "Choose linux/amd64", id="platform"),
    pytest.param(A | {"python_version": "3"}, "python_version", "like '3.11'", id="version"),
    pytest.param(A | {"requirements": Path("r")}, "python_version", "is missing", id="no version"),
    pytest.param(A | {"env": {"a=b": ""}}, "env['a=b']", "is not a valid name", id="variable"),
    pytest.param({"dockerfile": "Dockerfil"}, "Dockerfil", "does not exist", id="Dockerfile"),
    pytest.param(A | {"exclude": ("[",)}, "exclude:1", "is not a valid pattern", id="exclude"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "path", "part"), OPTIONS)
def test_wrong_options_are_named(options: dict[str, Any], path: str, part: str, tmp_path: Path) -> None:
    with pytest.raises(PackagingError) as caught:
        plan_image(ImageSource(source=tmp_path, **options))
    assert [problem.path for problem in caught.value.problems] == [path]
    assert part in caught.value.problems[0].message


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match=r"source: .*none does not exist"):
        plan_image(ImageSource(source=tmp_path / "none", base_image="a"))


def test_of_a_folder_that_is_not_there_nothing_else_is_said(tmp_path: Path) -> None:
    with pytest.raises(PackagingError) as caught:
        plan_image(ImageSource(source=tmp_path / "none"))
    assert [problem.path for problem in caught.value.problems] == ["source"]


UNSEEN = [
    pytest.param("FROM scratch\nCOPY a /\n", "\n# x\nfrom scratch\ncopy a \\\n/\n", id="form"),
    pytest.param("FROM a AS x\nFROM b\n", "FROM a AS x\nENV A=1\nFROM b\n", id="another stage"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), UNSEEN)
def test_what_changes_nothing_keeps_the_hash(one: str, other: str, tmp_path: Path) -> None:
    hashes = set()
    for text in (one, other):
        write_files(tmp_path, {"a": "1", "b": text, "Dockerfile": text})
        hashes.add(plan_image(ImageSource(source=tmp_path, dockerfile="Dockerfile")).content_hash)
    assert len(hashes) == 1


CHANGES = [
    pytest.param({"env": {"A": "1"}}, id="env"),
    pytest.param({"labels": {"a": "1"}}, id="labels"),
    pytest.param({"user": "1"}, id="user"),
    pytest.param({"working_dir": "/x"}, id="working_dir"),
    pytest.param({"entrypoint": ("x",)}, id="entrypoint"),
    pytest.param({"command": ("x",)}, id="command"),
    pytest.param({"platform": "linux/arm64"}, id="platform"),
    pytest.param({"exclude": ("a",)}, id="exclude"),
]


@pytest.mark.parametrize("options", CHANGES)
def test_what_changes_the_image_changes_the_hash(options: dict[str, Any], tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "1"})
    plain = plan_image(ImageSource(source=tmp_path, base_image="x"))
    assert (
        plan_image(ImageSource(source=tmp_path, base_image="x", **options)).content_hash != plain.content_hash
    )


def index_of(*platforms: str) -> bytes:
    keys = ("os", "architecture", "variant")
    entries = [
        {"digest": f"sha256:{i}", "platform": dict(zip(keys, platform.split("/"), strict=False))}
        for i, platform in enumerate(platforms)
    ]
    return json.dumps({"manifests": entries}).encode()


SELECTED = [
    pytest.param("linux/amd64", "sha256:1", id="exact"),
    pytest.param("linux/arm64", "sha256:2", id="without the variant"),
    pytest.param("linux/arm/v7", "sha256:4", id="with the variant"),
]


@pytest.mark.parametrize(("platform", "digest"), SELECTED)
def test_a_platform_of_an_index(platform: str, digest: str) -> None:
    index = index_of("windows/amd64", "linux/amd64", "linux/arm64/v8", "linux/arm/v6", "linux/arm/v7")
    assert select_platform(index, platform) == digest


def test_a_platform_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(PackagingError, match="it has: linux/amd64, linux/arm64/v8"):
        select_platform(index_of("linux/arm64/v8", "linux/amd64", "unknown/unknown"), "linux/s390x")


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"manifests": 1}', b'{"manifests": [{}]}'])
def test_no_index(content: bytes) -> None:
    with pytest.raises(PackagingError, match="not an index of manifests"):
        select_platform(content, "linux/amd64")
