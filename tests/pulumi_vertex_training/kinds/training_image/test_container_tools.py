"""Container tools that build a Dockerfile with RUN: with tools that are scripts, and with buildah."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud.container_registry.client import digest_of
from pulumi_vertex_training.images import ImagePlan, ImageSource, plan_image
from pulumi_vertex_training.kinds.training_image import container_tools, tool_images
from pulumi_vertex_training.kinds.training_image.container_tools import Tool, choose_builder
from pulumi_vertex_training.packaging.errors import PackagingError
from support.client.registries.pushed_images import layer_of
from vertex_training.findings.problems import Problem

RUN = "FROM python:3.11\nCOPY task.py .\nRUN python -m compileall .\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "trainer"
    source.mkdir()
    (source / "Dockerfile").write_text(RUN)
    (source / "task.py").write_text("print(1)\n")
    (source / "secret.txt").write_text("secret\n")
    (source / ".dockerignore").write_text("secret.txt\n")
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    return source


def plan_of(folder: Path, **options: Any) -> ImagePlan:
    return plan_image(ImageSource(source=folder, dockerfile="Dockerfile", **options))


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on PATH."""
    made = tmp_path / "bin"
    made.mkdir()
    monkeypatch.setenv("PATH", str(made))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    return made


def program(tools: Path, name: str, script: str = "exit 0") -> None:
    (tools / name).write_text(f"#!/bin/sh\n{script}\n")
    (tools / name).chmod(0o755)


@pytest.mark.parametrize(
    ("there", "found"),
    [
        (("podman", "buildah"), "podman"),
        (("buildah",), "buildah"),
        (("docker", "buildah"), "buildah"),
        (("docker",), None),
        ((), None),
    ],
    ids=["podman first", "buildah alone", "docker without a daemon", "nothing but that", "nothing"],
)
def test_the_tool_that_is_here_and_can_work(tools: Path, there: tuple[str, ...], found: str | None) -> None:
    for name in there:
        program(tools, name)
    tool = container_tools.find_tool()
    assert (tool.name if tool else None) == found


def test_docker_with_a_daemon_comes_first(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    program(tools, "docker")
    program(tools, "podman")
    assert container_tools.find_tool() == Tool(name="docker", path=str(tools / "docker"))


def test_docker_with_a_socket_that_is_there_comes_first(tools: Path, tmp_path: Path) -> None:
    program(tools, "docker")
    program(tools, "podman")
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(tmp_path / "docker.sock"))
        assert container_tools.find_tool() == Tool(name="docker", path=str(tools / "docker"))


def test_without_a_tool_the_line_and_the_remedies_are_said(tools: Path, folder: Path) -> None:
    found = choose_builder(plan_of(folder), builder="auto", build_bucket=None, on_google=True)
    assert isinstance(found, Problem)
    assert found.path == "Dockerfile:3"
    for words in ("RUN python -m compileall", "docker, podman and buildah", "requirements=", "build_bucket="):
        assert words in found.message


@pytest.mark.parametrize(
    ("options", "on_google", "found"),
    [
        pytest.param({"build_bucket": "b"}, True, "b", id="a bucket on Google"),
        pytest.param({"build_bucket": "b"}, False, None, id="a bucket for the emulator"),
        pytest.param({"builder": "cloud_build", "build_bucket": "b"}, True, "b", id="Cloud Build"),
        pytest.param({"builder": "cloud_build", "build_bucket": "b"}, False, None, id="Cloud Build, locally"),
        pytest.param({"builder": "docker"}, True, None, id="a tool that is not here"),
    ],
)
def test_who_builds(
    tools: Path, folder: Path, options: dict[str, Any], on_google: bool, found: str | None
) -> None:
    who = choose_builder(
        plan_of(folder), on_google=on_google, **{"builder": "auto", "build_bucket": None, **options}
    )
    assert (who if isinstance(who, str) else None) == found


@pytest.mark.parametrize(
    ("who", "dockerfile", "on_google", "said"),
    [
        pytest.param(
            Tool(name="podman", path="/bin/podman"),
            RUN,
            True,
            "Dockerfile:3: a RUN, so podman on this machine (/bin/podman) builds the image",
            id="a tool, on Google",
        ),
        pytest.param(
            Tool(name="buildah", path="/bin/buildah"),
            RUN,
            False,
            "Dockerfile:3: a RUN, so buildah on this machine (/bin/buildah) builds the image, and pulls "
            "docker.io/library/python:3.11 from the real registry, not from the emulator",
            id="a tool, on the emulator",
        ),
        pytest.param(
            Tool(name="docker", path="/bin/docker"),
            "FROM scratch\nRUN x\n",
            False,
            "Dockerfile:2: a RUN, so docker on this machine (/bin/docker) builds the image",
            id="no base to pull",
        ),
        pytest.param(
            "b",
            RUN,
            True,
            "Dockerfile:3: a RUN, so Cloud Build builds the image from its source in bucket b",
            id="Cloud Build",
        ),
    ],
)
def test_who_builds_is_one_line(
    folder: Path, who: Tool | str, dockerfile: str, on_google: bool, said: str
) -> None:
    (folder / "Dockerfile").write_text(dockerfile)
    assert container_tools.describe_builder(plan_of(folder), who, on_google=on_google) == said


def test_the_context_is_what_is_not_left_out(tmp_path: Path, folder: Path) -> None:
    context, dockerfile = container_tools.write_context(plan_of(folder, exclude=("run.sh",)), tmp_path)
    assert sorted(path.name for path in context.iterdir()) == [".dockerignore", "Dockerfile", "task.py"]
    assert dockerfile.read_text() == RUN


def test_the_modes_of_the_context_are_kept(tmp_path: Path, folder: Path) -> None:
    context, _ = container_tools.write_context(plan_of(folder), tmp_path)
    assert os.access(context / "run.sh", os.X_OK)
    assert not os.access(context / "task.py", os.X_OK)


def test_named_contexts_are_copied_without_what_they_leave_out(tmp_path: Path, folder: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "a.py").write_text("A = 1\n")
    (library / "notes.txt").write_text("no")
    (library / ".dockerignore").write_text("*.txt\n")
    plan = plan_of(folder, build_contexts={"library": library})
    (target := tmp_path / "target").mkdir()
    written = container_tools.write_named_contexts(plan, target)
    assert list(written) == ["library"]
    assert sorted(path.name for path in written["library"].iterdir()) == [".dockerignore", "a.py"]


def test_a_run_that_copy_replaces_names_the_option_of_copy(tools: Path, folder: Path) -> None:
    for run, expected in (
        ("RUN chmod +x /app/a.sh", "--chmod=755"),
        ("RUN mkdir -p /app && chown 1000 /app", "--chown=USER SOURCE DESTINATION; WORKDIR"),
        ("RUN chmod +x /a && apt-get update", "Install one"),
    ):
        (folder / "Dockerfile").write_text(f"FROM python:3.11\n{run}\n")
        found = choose_builder(plan_of(folder), builder="auto", build_bucket=None, on_google=False)
        assert isinstance(found, Problem)
        assert expected in found.message


@pytest.mark.parametrize("builder", ["cloud_build", "auto"])
def test_cloud_build_takes_no_named_contexts(tools: Path, folder: Path, builder: Any) -> None:
    plan = plan_of(folder, build_contexts={"library": folder})
    found = choose_builder(plan, builder=builder, build_bucket="b", on_google=True)
    assert isinstance(found, Problem)
    assert found.path == "build_contexts"
    assert "copy the folders into the source" in found.message


def test_the_context_for_cloud_build_is_one_file(tmp_path: Path, folder: Path) -> None:
    with tarfile.open(container_tools.pack_context(plan_of(folder), tmp_path)) as archive:
        names = archive.getnames()
    assert {"Dockerfile", "context/task.py"} <= set(names)
    assert "context/secret.txt" not in names


SAVES = """
case "$1" in
build) echo "step 1"; echo built > "$5"; printf '%s\\n' "$@" > {log} ;;
save) cp {archive} "$5" ;;
esac
"""


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return an archive as tools save it."""
    archive, config = tmp_path / "saved.tar", {"os": "linux", "config": {"Env": ["A=1"], "Cmd": ["sh"]}}
    members = {
        "manifest.json": json.dumps([{"Config": "c.json", "Layers": ["l/layer.tar"]}]).encode(),
        "c.json": json.dumps(config).encode(),
        "l/layer.tar": layer_of(b"x"),
    }
    with tarfile.open(archive, "w") as tar:
        for name, content in members.items():
            path = tmp_path / "member"
            path.write_bytes(content)
            tar.add(path, name)
    return archive


def test_a_tool_builds_and_its_lines_are_reported(
    tools: Path, tmp_path: Path, folder: Path, saved: Path
) -> None:
    log = tmp_path / "arguments"
    program(tools, "podman", f"PATH={os.defpath}\n" + SAVES.format(log=log, archive=saved))
    reported: list[str] = []
    (tmp_path / "work").mkdir()
    tool = Tool(name="podman", path=str(tools / "podman"))
    plan = plan_of(folder, build_args={"V": "1"}, platform="linux/arm64")
    archive = container_tools.build(tool, plan, tmp_path / "work", tell=reported.append)
    assert archive.read_bytes() == saved.read_bytes()
    assert reported == ["podman: step 1"]
    assert log.read_text().splitlines()[5:-1] == ["--platform", "linux/arm64", "--build-arg", "V=1"]


def test_a_tool_that_fails_is_quoted_at_the_line_of_the_run(
    tools: Path, tmp_path: Path, folder: Path
) -> None:
    program(tools, "buildah", "echo 'no space left'; exit 3")
    (tmp_path / "work").mkdir()
    with pytest.raises(PackagingError) as caught:
        container_tools.build(
            Tool(name="buildah", path=str(tools / "buildah")), plan_of(folder), tmp_path / "work", tell=print
        )
    (problem,) = caught.value.problems
    assert problem.path == "Dockerfile:3"
    assert problem.message == "`buildah build` ended with status 3. Its last lines: no space left"


def test_a_tool_that_finds_no_base_gets_the_reason_added(tools: Path, tmp_path: Path, folder: Path) -> None:
    program(
        tools, "buildah", "echo 'pinging container registry registry-1.docker.io: no such host'; exit 125"
    )
    (tmp_path / "work").mkdir()
    with pytest.raises(PackagingError, match="buildah pulls base images itself from their registries"):
        container_tools.build(
            Tool(name="buildah", path=str(tools / "buildah")), plan_of(folder), tmp_path / "work", tell=print
        )


def test_a_saved_image_becomes_a_manifest_and_blobs(tmp_path: Path, folder: Path, saved: Path) -> None:
    source = plan_of(folder).source
    manifest, parts = tool_images.read_archive(saved, source, tmp_path)
    described = json.loads(manifest.content)
    assert manifest.digest == digest_of(manifest.content)
    assert described["layers"][0]["digest"] == digest_of(layer_of(b"x"))
    assert {part.digest for part in parts} == {
        described["config"]["digest"],
        described["layers"][0]["digest"],
    }


@pytest.mark.parametrize(
    ("option", "settings"),
    [
        ({"env": {"A": "2"}}, {"Env": ["A=2"], "Cmd": ["sh"]}),
        ({"env": {"B": "2"}}, {"Env": ["A=1", "B=2"], "Cmd": ["sh"]}),
        ({"labels": {"l": "v"}}, {"Env": ["A=1"], "Cmd": ["sh"], "Labels": {"l": "v"}}),
        ({"entrypoint": ("e",)}, {"Env": ["A=1"], "Entrypoint": ["e"]}),
        ({"command": ("c",)}, {"Env": ["A=1"], "Cmd": ["c"]}),
        (
            {"working_dir": "/w", "user": "u"},
            {"Env": ["A=1"], "Cmd": ["sh"], "WorkingDir": "/w", "User": "u"},
        ),
    ],
    ids=lambda value: ",".join(value),
)
def test_options_are_set_after_the_last_instruction(
    folder: Path, option: dict[str, Any], settings: dict[str, Any]
) -> None:
    config = {"config": {"Env": ["A=1"], "Cmd": ["sh"]}}
    source = dataclasses.replace(plan_of(folder).source, **option)
    assert tool_images.with_options(config, source)["config"] == settings


def test_requirements_do_not_go_with_run(tools: Path, folder: Path) -> None:
    lock = folder.parent / "requirements.txt"
    lock.write_text(f"numpy==2.0.0 --hash=sha256:{'0' * 64}\n")
    program(tools, "podman")
    plan = plan_of(folder, requirements=lock, python_version="3.11")
    found = choose_builder(plan, builder="auto", build_bucket=None, on_google=False)
    assert isinstance(found, Problem)
    assert found.path == "requirements"
