"""Images that are built upon others, and copy from them."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.images import BuiltImage, ImageSource, build_image, plan_image
from support.client.builds.built_images import (
    BASE_NAME,
    base_image,
    built,
    config_of,
    contents,
    entries,
    entry,
    refused,
    tar_bytes,
    write_files,
)

FROM = f"FROM {BASE_NAME}\n"
ROOT = tar_bytes({
    "bin": entry(tarfile.SYMTYPE, link="usr/bin"),
    "etc/passwd": b"root:x:0:0::/:\nme:x:1000:1001::/:\n",
    "etc/group": b"root:x:0:\nus:x:50:\n",
    "data/old": b"old",
    "data/gone": b"gone",
    "opaque/a": b"a",
    "data/hard": entry(tarfile.LNKTYPE, link="data/old"),
})  # fmt: skip
OVER = tar_bytes({"data/.wh.gone": b"", "data/old": b"new", "opaque/.wh..wh..opq": b"", "opaque/b": b"b"})
STAND_IN = "org.vertex-training.stand-in"


def on_base(folder: Path, lines: str, files: Mapping[str, str] | None = None, **options: Any) -> BuiltImage:
    base = base_image(ROOT, OVER, **options)
    return built(folder / "c", FROM + lines, files or {"a.txt": "a"}, bases={base.name: base})


@pytest.mark.parametrize("comment", ["gpu", "machines"])
def test_the_codelabs_dockerfiles(comment: str, tmp_path: Path) -> None:
    """Write the Dockerfile that both trainers of the codelab have."""
    text = (
        f"{FROM}WORKDIR /\n# Copies the trainer code to the docker image.\nCOPY trainer /trainer\n"
        '# Sets up the entry point to invoke the trainer.\nENTRYPOINT ["python", "-m", "trainer.task"]\n'
    )
    base = base_image(
        ROOT,
        settings={"Env": ["PATH=/opt/conda/bin:/bin"], "Cmd": ["jupyter"], "Labels": {STAND_IN: BASE_NAME}},
    )
    image = built(tmp_path / "c", text, {"trainer/task.py": f"print('{comment}')\n"}, bases={base.name: base})
    assert config_of(image) == {
        "Entrypoint": ["python", "-m", "trainer.task"],
        "Env": ["PATH=/opt/conda/bin:/bin"],
        "Labels": {STAND_IN: BASE_NAME},
        "WorkingDir": "/",
    }
    assert contents(image) == {"trainer/task.py": f"print('{comment}')\n"}


BASH = ["/bin/bash", "-c"]
PORTS: dict[str, Any] = {"7/tcp": {}, "8/tcp": {}}
INHERITED = [
    pytest.param("", {"Cmd": ["x"], "User": "5"}, {"Cmd": ["x"], "User": "5"}, id="as it is"),
    pytest.param('ENTRYPOINT ["e"]', {"Cmd": ["x"]}, {"Entrypoint": ["e"]}, id="ENTRYPOINT drops CMD"),
    pytest.param('CMD ["c"]', {"Entrypoint": ["e"]}, {"Entrypoint": ["e"], "Cmd": ["c"]}, id="CMD alone"),
    pytest.param("ENV A=$A:2", {"Env": ["A=1"]}, {"Env": ["A=1:2"]}, id="variable of the base"),
    pytest.param("USER ${U:?}", {"Env": ["U=5"]}, {"Env": ["U=5"], "User": "5"}, id="needed variable"),
    pytest.param("USER $U", {"Env": ["U=5"]}, {"Env": ["U=5"], "User": "5"}, id="variable that decides"),
    pytest.param("ENV B=2", {"Env": ["A=1"]}, {"Env": ["A=1", "B=2"]}, id="variables are merged"),
    pytest.param("LABEL b=2", {"Labels": {"a": "1"}}, {"Labels": {"a": "1", "b": "2"}}, id="labels too"),
    pytest.param("EXPOSE 8", {"ExposedPorts": {"7/tcp": {}}}, {"ExposedPorts": PORTS}, id="ports"),
    pytest.param("WORKDIR b", {"WorkingDir": "/a"}, {"WorkingDir": "/a/b"}, id="working directory"),
    pytest.param("CMD x", {"Shell": BASH}, {"Shell": BASH, "Cmd": [*BASH, "x"]}, id="shell"),
    pytest.param("", {"Hostname": "h", "Image": "i"}, {}, id="what is no setting"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "settings", "expected"), INHERITED)
def test_settings_of_the_base(
    line: str, settings: dict[str, Any], expected: dict[str, Any], tmp_path: Path
) -> None:
    assert config_of(on_base(tmp_path, line, settings=settings)) == expected


def test_layers_of_the_base_come_first_and_are_mounted(tmp_path: Path) -> None:
    base = base_image(ROOT, OVER)
    image = built(tmp_path / "c", FROM + "COPY a.txt /x\n", {"a.txt": "a"}, bases={base.name: base})
    below = [layer["digest"] for layer in json.loads(base.manifest)["layers"]]
    assert [blob.digest for blob in image.blobs[:2]] == below
    assert [blob.mounted_from for blob in image.blobs] == [BASE_NAME, BASE_NAME, None]
    document = json.loads(image.config)
    assert len(document["rootfs"]["diff_ids"]) == len(json.loads(image.manifest)["layers"]) == 3
    assert [each["created_by"] for each in document["history"]] == ["layer 0", "layer 1", "COPY a.txt /x"]


def test_the_base_is_named_in_annotations(tmp_path: Path) -> None:
    base = base_image(ROOT)
    image = built(tmp_path / "c", FROM, bases={base.name: base})
    assert json.loads(image.manifest)["annotations"] == {
        "org.opencontainers.image.base.name": BASE_NAME,
        "org.opencontainers.image.base.digest": base.digest,
    }


def test_a_manifest_of_docker_becomes_one_of_oci(tmp_path: Path) -> None:
    manifest = json.loads(on_base(tmp_path, "", docker=True).manifest)
    assert manifest["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
    assert {layer["mediaType"] for layer in manifest["layers"]} == {
        "application/vnd.oci.image.layer.v1.tar+gzip"
    }


def test_layers_in_zstd_are_taken_over_unread(tmp_path: Path) -> None:
    media_type = "application/vnd.oci.image.layer.v1.tar+zstd"
    manifest = json.loads(on_base(tmp_path, "COPY a.txt /x\n", media_type=media_type).manifest)
    assert [layer["mediaType"].rpartition("+")[2] for layer in manifest["layers"]] == ["zstd", "zstd", "gzip"]


COPIED = [
    pytest.param("/data", {"x/old": "new", "x/hard": "old"}, id="folder, as the layers make it"),
    pytest.param("/data/ol*", {"x": "new"}, id="pattern"),
    pytest.param("/opaque", {"x/b": "b"}, id="folder that was replaced"),
    pytest.param("/data/hard", {"x": "old"}, id="hard link"),
]


@pytest.mark.parametrize(("source", "expected"), COPIED)
def test_copying_from_an_image(source: str, expected: dict[str, str], tmp_path: Path) -> None:
    base = base_image(ROOT, OVER, name="docker.io/library/other:1")
    text = f"FROM scratch\nCOPY --from=other:1 {source} /x\n"
    assert contents(built(tmp_path / "c", text, bases={base.name: base})) == expected


def test_copying_from_a_stage_upon_an_image(tmp_path: Path) -> None:
    base = base_image(ROOT, OVER)
    text = FROM + "COPY a.txt /data/\nFROM scratch\nCOPY --from=0 /data /x\n"
    image = built(tmp_path / "c", text, {"a.txt": "a"}, bases={base.name: base})
    assert contents(image) == {"x/a.txt": "a", "x/hard": "old", "x/old": "new"}


def test_copying_what_was_copied_through_a_link_of_the_base(tmp_path: Path) -> None:
    base = base_image(ROOT, OVER)
    text = FROM + "COPY a.txt /bin/\nFROM scratch\nCOPY --from=0 /bin /x\n"
    image = built(tmp_path / "c", text, {"a.txt": "a"}, bases={base.name: base})
    assert contents(image) == {"x/a.txt": "a"}


def test_owners_by_name_are_those_of_the_base(tmp_path: Path) -> None:
    member = entries(on_base(tmp_path, "COPY --chown=me:us a.txt /x\n"))["x"]
    assert (member.uid, member.gid) == (1000, 50)


def test_a_folder_of_a_named_user_is_theirs(tmp_path: Path) -> None:
    assert entries(on_base(tmp_path, "USER me\nWORKDIR /x\n"))["x"].uid == 1000


UNTOUCHED = [
    pytest.param("COPY a.txt /bin/", {}, ["bin/a.txt"], id="a folder that may be a link"),
    pytest.param("COPY a.txt /tmp", {}, ["tmp/a.txt"], id="a folder that every image has"),
    pytest.param("COPY a.txt /x/", {}, ["x", "x/a.txt"], id="a folder of our own"),
    pytest.param("COPY a.txt .", {"WorkingDir": "/w/d"}, ["w/d/a.txt"], id="the working directory"),
    pytest.param(
        "COPY a.txt /home/j/", {"Env": ["HOME=/home/j"]}, ["home/j/a.txt"], id="a folder in a variable"
    ),
    pytest.param("COPY a.txt /v/", {"Volumes": {"/v": {}}}, ["v/a.txt"], id="a volume"),
    pytest.param("WORKDIR /usr/local", {}, [], id="WORKDIR that is there"),
    pytest.param("WORKDIR /srv/x", {}, ["srv/x"], id="WORKDIR that is not"),
]


@pytest.mark.parametrize(("line", "settings", "expected"), UNTOUCHED)
def test_folders_that_the_base_has_are_left_as_they_are(
    line: str, settings: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    assert sorted(entries(on_base(tmp_path, line + "\n", settings=settings))) == expected


def test_folders_that_the_history_of_the_base_names_are_left_as_they_are(tmp_path: Path) -> None:
    document = {"history": [{"created_by": "WORKDIR /w"}, {"created_by": "x"}]}
    assert sorted(entries(on_base(tmp_path, "COPY a.txt /w/\n", document=document))) == ["w/a.txt"]


UNFIT = [
    pytest.param("", {"document": {"architecture": "arm64"}}, "is for linux/arm64", id="platform"),
    pytest.param("", {"settings": {"OnBuild": ["RUN x"]}}, "ONBUILD triggers (RUN x)", id="triggers"),
    pytest.param("", {"document": {"rootfs": {}}}, "a different number", id="diff_ids"),
    pytest.param("COPY --chown=you a.txt /x", {}, "no user 'you' in /etc/passwd", id="unknown user"),
    pytest.param("COPY --chown=me:you a.txt /x", {}, "no group 'you' in /etc/group", id="unknown group"),
    pytest.param("COPY --chown=me a.txt /x", {"readable": False}, "cannot be read here", id="unread"),
    pytest.param("COPY --chown=me a.txt /x", {"media_type": "x+zstd"}, "is compressed with zstd", id="zstd"),
    pytest.param("COPY --chown=me a.txt /x", {"media_type": "x"}, "is broken", id="no tar"),
]


@pytest.mark.parametrize(("line", "options", "part"), UNFIT)
def test_a_base_that_does_not_do(line: str, options: dict[str, Any], part: str, tmp_path: Path) -> None:
    base = base_image(ROOT, OVER, **options)
    (problem,) = refused(tmp_path / "c", f"{FROM}{line}\n", {"a.txt": "a"}, bases={base.name: base})
    assert part in problem.message


def test_a_source_named_by_the_base_alone_is_refused(tmp_path: Path) -> None:
    base = base_image(ROOT, settings={"Env": ["F=a.txt"]})
    (problem,) = refused(tmp_path / "c", FROM + "COPY $F /x\n", {"a.txt": ""}, bases={base.name: base})
    assert "Declare it before this line, for example ARG F=value" in problem.message


def test_a_source_that_the_base_renames_is_refused(tmp_path: Path) -> None:
    base = base_image(ROOT, settings={"Env": ["F=b.txt"]})
    text = FROM + "ARG F=a.txt\nCOPY $F /x\n"
    (problem,) = refused(tmp_path / "c", text, {"a.txt": "", "b.txt": ""}, bases={base.name: base})
    assert "the base image sets a variable in COPY a.txt, to b.txt" in problem.message


A, B, C = (f"docker.io/library/{name}" for name in ("a", "b", "c:1"))
PLANS = [
    pytest.param("FROM a\nCOPY a.txt /x", (A,), False, id="base"),
    pytest.param("FROM a\nFROM b", (B,), False, id="needed ones only"),
    pytest.param("FROM a AS x\nFROM b\nCOPY --from=x /a /b", (A, B), True, id="stage"),
    pytest.param("FROM a\nCOPY --from=c:1 /a /b", (A, C), True, id="image"),
    pytest.param("FROM a\nCOPY --chown=me a.txt /b", (A,), True, id="user by name"),
    pytest.param("FROM a\nFROM a", (A,), False, id="each once"),
    pytest.param("FROM scratch", (), False, id="none"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "images", "needs_layers"), PLANS)
def test_a_plan_names_the_images(
    text: str, images: tuple[str, ...], needs_layers: bool, tmp_path: Path
) -> None:
    write_files(tmp_path, {"Dockerfile": text, "a.txt": ""})
    plan = plan_image(ImageSource(source=tmp_path, dockerfile="Dockerfile"))
    assert (plan.base_images, plan.needs_layers) == (images, needs_layers)


def test_a_build_without_its_base_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    write_files(tmp_path / "c", {"Dockerfile": FROM})
    plan = plan_image(ImageSource(source=tmp_path / "c", dockerfile="Dockerfile"))
    with pytest.raises(ValueError, match="the build lacks"):
        build_image(plan, {}, None, tmp_path)
