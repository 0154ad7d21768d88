"""Images that are built from a Dockerfile without a base."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.images import ImageSource, plan_image
from support.client.builds.built_images import (
    built,
    config_of,
    contents,
    entries,
    entry,
    members,
    refused,
    tar_bytes,
    write_files,
)

FILES = {
    "trainer/__init__.py": "",
    "trainer/task.py": "task",
    "trainer/run.sh": "run",
    "trainer/sub/data": "data",
    "a.txt": "a",
    "b.txt": "b",
    "empty/": "",
    "link -> a.txt": "",
    "folder -> trainer/sub": "",
    "dangling -> /nowhere": "",
}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

COPIES = [
    pytest.param("COPY a.txt /x", {"x": "a"}, id="file to a new name"),
    pytest.param("COPY a.txt /x/", {"x/a.txt": "a"}, id="file into a folder"),
    pytest.param("COPY a.txt /x/y/z", {"x/y/z": "a"}, id="folders are made"),
    pytest.param("COPY a.txt x", {"x": "a"}, id="relative to the top"),
    pytest.param("COPY a.txt .", {"a.txt": "a"}, id="into the working directory"),
    pytest.param("COPY a.txt b.txt /x/", {"x/a.txt": "a", "x/b.txt": "b"}, id="two files"),
    pytest.param("COPY *.txt /x/", {"x/a.txt": "a", "x/b.txt": "b"}, id="pattern"),
    pytest.param("COPY [ab].txt /x/", {"x/a.txt": "a", "x/b.txt": "b"}, id="set"),
    pytest.param("COPY trainer/*/data /x", {"x": "data"}, id="pattern of a folder"),
    pytest.param("COPY tr* /x", {"x/__init__.py": "", "x/sub/data": "data"}, id="pattern that fits a folder"),
    pytest.param("COPY trainer/sub /x", {"x/data": "data"}, id="what is in a folder"),
    pytest.param("COPY /trainer/sub/ /x", {"x/data": "data"}, id="slashes around the source"),
    pytest.param("COPY link /x", {"x": "a"}, id="a link that is named is followed"),
    pytest.param("COPY folder /x", {"x/data": "data"}, id="so is one to a folder"),
    pytest.param("COPY folder/data /x", {"x": "data"}, id="so is one on the way"),
    pytest.param('COPY ["a.txt", "/x y"]', {"x y": "a"}, id="JSON"),
    pytest.param("COPY --link a.txt /x", {"x": "a"}, id="--link"),
    pytest.param("COPY a.txt /x\nCOPY b.txt /x", {"x": "b"}, id="the later one counts"),
    pytest.param("COPY trainer/sub /x\nCOPY a.txt /x", {"x/a.txt": "a"}, id="into a folder that is there"),
    pytest.param("WORKDIR /x\nCOPY a.txt y/", {"x/y/a.txt": "a"}, id="relative to WORKDIR"),
    pytest.param("WORKDIR /x\nWORKDIR y\nCOPY a.txt .", {"x/y/a.txt": "a"}, id="WORKDIR goes on"),
    pytest.param("WORKDIR /x/../y\nCOPY a.txt .", {"y/a.txt": "a"}, id="WORKDIR is cleaned"),
    pytest.param("ENV D=/x F=a\nCOPY ${F}.txt $D/", {"x/a.txt": "a"}, id="variables"),
    pytest.param("ARG D=x\nCOPY a.txt /$D", {"x": "a"}, id="argument"),
    pytest.param("ARG G\nCOPY a.txt /$G", {"given": "a"}, id="build argument"),
    pytest.param("ENV G=env\nARG G\nCOPY a.txt /$G", {"env": "a"}, id="ENV before ARG"),
    pytest.param("ARG TARGETARCH\nCOPY a.txt /$TARGETARCH", {"amd64": "a"}, id="platform"),
    pytest.param("COPY a.txt /$TARGETARCH/x", {"x": "a"}, id="platform needs ARG"),
    pytest.param("ENV V=1\nCOPY <<E /x\nv $V's\nE", {"x": "v 1's\n"}, id="text"),
    pytest.param("COPY <<'E' /x\nv $V\nE", {"x": "v $V\n"}, id="text as it is"),
    pytest.param("COPY <<E <<F /x/\ne\nE\nf\nF", {"x/E": "e\n", "x/F": "f\n"}, id="two texts"),
    pytest.param("ADD a.txt /x", {"x": "a"}, id="ADD"),
]


@pytest.mark.parametrize(("lines", "expected"), COPIES)
def test_copying(lines: str, expected: dict[str, str], tmp_path: Path) -> None:
    image = built(tmp_path / "c", f"FROM scratch\n{lines}\n", FILES, build_args={"G": "given"})
    assert contents(image).items() >= expected.items()


REFUSED = [
    pytest.param("COPY a.tx /x", "copy-source", "Did you mean 'a.txt'?", id="nearest name"),
    pytest.param("COPY ../a /x", "copy-source", "leads out of the build context", id="outside"),
    pytest.param("COPY dangling /x", "copy-source", "is a link to 'nowhere'", id="link to nothing"),
    pytest.param("COPY secret /x", "copy-source", "excluded by a pattern of .dockerignore", id="left out"),
    pytest.param("COPY [ /x", "copy-source", "not a pattern", id="pattern"),
    pytest.param("COPY a.txt b.txt /x", "copy-destination", "but not a folder", id="two into one"),
    pytest.param("COPY a.txt /x\nCOPY trainer /x", "copy-destination", "file already", id="folder over file"),
    pytest.param("COPY a.txt /x\nCOPY b.txt /x/y", "copy-destination", "file already", id="file in a file"),
    pytest.param("COPY --from=0 a /b", "dockerfile-stage", "is this stage", id="from itself"),
    pytest.param("COPY --from=7 a /b", "dockerfile-stage", "neither a stage", id="from no stage"),
    pytest.param("COPY --from=$X a /b", "dockerfile-stage", "has a variable", id="from a variable"),
    pytest.param("COPY --chown=me a.txt /b", "dockerfile-value", "no user 'me'", id="owner by name"),
    pytest.param("COPY --parents a.txt /b", "not-built-here", "--parents is not", id="parents"),
    pytest.param("COPY --exclude=x a.txt /b", "not-built-here", "--exclude is not", id="exclude"),
    pytest.param("ADD https://x/y /b", "not-built-here", "is a download", id="download"),
    pytest.param("ADD git@github.com:a/b.git /b", "not-built-here", "is a download", id="repository"),
    pytest.param("ADD broken.tgz /b", "copy-source", "leads out", id="archive that leads out"),
    pytest.param("ADD device.tgz /b", "copy-source", "a device", id="archive with a device"),
    pytest.param("COPY odd /x", "copy-source", "means that a file is deleted", id="whiteout"),
]


@pytest.mark.parametrize(("lines", "rule", "part"), REFUSED)
def test_what_cannot_be_copied(lines: str, rule: str, part: str, tmp_path: Path) -> None:
    files = FILES | {
        "secret": "",
        ".dockerignore": "secret",
        "broken.tgz": tar_bytes({"../x": b""}),
        "device.tgz": tar_bytes({"x": entry(tarfile.CHRTYPE)}),
        "odd/.wh.x": "",
    }
    problems = refused(tmp_path / "c", f"FROM scratch\n{lines}\n", files)
    assert [problem.rule for problem in problems] == [rule]
    assert part in problems[0].message


SETTINGS = [
    pytest.param("ENV A=1 B='x y'", {"Env": [f"PATH={PATH}", "A=1", "B=x y"]}, id="ENV"),
    pytest.param("ENV A b  c", {"Env": [f"PATH={PATH}", "A=b  c"]}, id="ENV of old"),
    pytest.param("ENV A=1\nENV A=2 B=$A", {"Env": [f"PATH={PATH}", "A=2", "B=1"]}, id="old values"),
    pytest.param("ENV PATH=/x:$PATH", {"Env": [f"PATH=/x:{PATH}"]}, id="PATH"),
    pytest.param("LABEL a=b 'c d'=\"e f\"", {"Labels": {"a": "b", "c d": "e f"}}, id="LABEL"),
    pytest.param("USER 5:6", {"User": "5:6"}, id="USER"),
    pytest.param("EXPOSE 80 8-9/udp", {"ExposedPorts": {"80/tcp": {}, "8/udp": {}, "9/udp": {}}}, id="ports"),
    pytest.param('VOLUME ["/a", "/b"]', {"Volumes": {"/a": {}, "/b": {}}}, id="VOLUME"),
    pytest.param('ENTRYPOINT ["a", "b"]', {"Entrypoint": ["a", "b"]}, id="ENTRYPOINT"),
    pytest.param("ENTRYPOINT a b", {"Entrypoint": ["/bin/sh", "-c", "a b"]}, id="ENTRYPOINT as text"),
    pytest.param("ENTRYPOINT a $B", {"Entrypoint": ["/bin/sh", "-c", "a $B"]}, id="the shell expands it"),
    pytest.param("ENTRYPOINT ['a']", {"Entrypoint": ["/bin/sh", "-c", "['a']"]}, id="no JSON is text"),
    pytest.param('SHELL ["/bin/bash", "-c"]\nCMD a', {"Cmd": ["/bin/bash", "-c", "a"]}, id="SHELL"),
    pytest.param('CMD ["a"]\nENTRYPOINT ["b"]', {"Cmd": ["a"], "Entrypoint": ["b"]}, id="own CMD stays"),
    pytest.param("ARG A=1 B=x$A\nENV C=$B", {"Env": [f"PATH={PATH}", "C=x"]}, id="old values of ARG"),
    pytest.param("STOPSIGNAL SIGINT", {"StopSignal": "SIGINT"}, id="STOPSIGNAL"),
    pytest.param("HEALTHCHECK NONE", {"Healthcheck": {"Test": ["NONE"]}}, id="no HEALTHCHECK"),
    pytest.param(
        "HEALTHCHECK --interval=1m30s --retries=2 CMD a b",
        {"Healthcheck": {"Test": ["CMD-SHELL", "a b"], "Interval": 90 * 10**9, "Retries": 2}},
        id="HEALTHCHECK",
    ),
    pytest.param("ONBUILD COPY a b", {"OnBuild": ["COPY a b"]}, id="ONBUILD"),
    pytest.param("WORKDIR /a", {"WorkingDir": "/a"}, id="WORKDIR"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), SETTINGS)
def test_settings(lines: str, expected: dict[str, Any], tmp_path: Path) -> None:
    settings = config_of(built(tmp_path / "c", f"FROM scratch\n{lines}\n"))
    assert {key: settings[key] for key in expected} == expected


def test_the_codelab(tmp_path: Path) -> None:
    text = (
        "FROM scratch\nWORKDIR /\n# Copies the trainer code to the docker image.\nCOPY trainer /trainer\n"
        '# Sets up the entry point to invoke the trainer.\nENTRYPOINT ["python", "-m", "trainer.task"]\n'
    )
    image = built(tmp_path / "c", text, {"trainer/task.py": "print()\n"})
    assert image.digest == "sha256:435b4067fd2040b79fa58e7e10526d0a6cc563438d987f47ea8908025c25ddbb"
    assert [[member.name for member in layer] for layer in members(image)] == [["trainer", "trainer/task.py"]]


def test_each_copy_and_new_folder_is_a_layer(tmp_path: Path) -> None:
    text = "FROM scratch\nWORKDIR /a\nCOPY a.txt .\nENV A=1\nWORKDIR /a\nADD b.txt ."
    image = built(tmp_path / "c", text, FILES)
    assert [[member.name for member in layer] for layer in members(image)] == [
        ["a"],
        ["a/a.txt"],
        ["a/b.txt"],
    ]


def test_history_tells_which_layer_an_instruction_made(tmp_path: Path) -> None:
    import json

    image = built(tmp_path / "c", "FROM scratch\nENV A=1\nCOPY a.txt  /x\n", FILES)
    history = json.loads(image.config)["history"]
    created = "1970-01-01T00:00:00Z"
    assert history == [
        {"created": created, "created_by": "ENV A=1", "empty_layer": True},
        {"created": created, "created_by": "COPY a.txt /x"},
    ]


OWNERS = [
    pytest.param("COPY a.txt /x/y", "x/y", (0, 0, 0o644), id="root"),
    pytest.param("COPY trainer /x", "x/run.sh", (0, 0, 0o755), id="executable"),
    pytest.param("COPY --chown=5:6 a.txt /x/y", "x/y", (5, 6, 0o644), id="owner"),
    pytest.param("COPY --chown=5:6 a.txt /x/y", "x", (5, 6, 0o755), id="owner of a new folder"),
    pytest.param("COPY --chown=5 a.txt /x", "x", (5, 5, 0o644), id="group as the user"),
    pytest.param("COPY --chmod=600 trainer/run.sh /x", "x", (0, 0, 0o600), id="mode"),
    pytest.param("COPY --chmod=4755 a.txt /x", "x", (0, 0, 0o4755), id="mode of four digits"),
    pytest.param("USER 7:8\nWORKDIR /x", "x", (7, 8, 0o755), id="WORKDIR of a user"),
    pytest.param("USER 7\nCOPY a.txt /x", "x", (0, 0, 0o644), id="COPY of a user is root's"),
    pytest.param("COPY --chown=3000000 a.txt /x", "x", (3_000_000, 3_000_000, 0o644), id="large number"),
    pytest.param("COPY passwd /etc/passwd\nCOPY --chown=me a.txt /x", "x", (9, 9, 0o644), id="by own passwd"),
    pytest.param("ADD --chown=5 t.tgz /x/", "x/f", (5, 5, 0o644), id="of an archive"),
    pytest.param("ADD t.tgz /x/", "x/d", (4, 0, 0o700), id="as in the archive"),
]


@pytest.mark.parametrize(("lines", "path", "expected"), OWNERS)
def test_owners_and_modes(lines: str, path: str, expected: tuple[int, int, int], tmp_path: Path) -> None:
    archive = tar_bytes({"d": entry(tarfile.DIRTYPE, mode=0o700, uid=4), "f": b"1"})
    files = FILES | {"passwd": "root:x:0:0::/:\nme:x:9:1::/:\n", "t.tgz": archive}
    member = entries(built(tmp_path / "c", f"FROM scratch\n{lines}\n", files))[path]
    assert (member.uid, member.gid, member.mode) == expected


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_add_unpacks_archives(mode: str, tmp_path: Path) -> None:
    hard = entry(tarfile.LNKTYPE, link="d/f")
    archive = tar_bytes({"d/f": b"1", "l": entry(tarfile.SYMTYPE, link="d/f"), "h": hard}, mode)
    image = built(tmp_path / "c", "FROM scratch\nADD any.name /x\n", {"any.name": archive})
    assert contents(image) == {"x/d/f": "1", "x/l": "-> d/f", "x/h": "1"}


def test_copy_does_not_unpack(tmp_path: Path) -> None:
    image = built(tmp_path / "c", "FROM scratch\nCOPY a.tar /x/\n", {"a.tar": tar_bytes({"f": b""})})
    assert list(contents(image)) == ["x/a.tar"]


def test_links_stay_links_wherever_they_lead(tmp_path: Path) -> None:
    image = built(tmp_path / "c", "FROM scratch\nCOPY . /x\n", {"a -> ../../etc/passwd": "", "b -> /etc": ""})
    assert {name: text for name, text in contents(image).items() if name != "x/Dockerfile"} == {
        "x/a": "-> ../../etc/passwd",
        "x/b": "-> /etc",
    }


def test_a_link_of_the_image_is_followed(tmp_path: Path) -> None:
    files = {"l/to -> /real": "", "a": "1"}
    image = built(tmp_path / "c", "FROM scratch\nCOPY l /x\nWORKDIR /real\nCOPY a /x/to/\n", files)
    assert contents(image)["real/a"] == "1"


def test_run_needs_a_tool_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n\nRUN a && \\\n  b\nRUN c\nADD https://x/y /z\n")
    plan = plan_image(ImageSource(source=tmp_path, dockerfile="Dockerfile"))
    assert plan.needs_tool
    assert (plan.needs_tool.file, plan.needs_tool.line, plan.needs_tool.text) == (
        "Dockerfile",
        3,
        "RUN a && \\ b",
    )


def test_run_in_a_stage_that_is_not_needed_does_not_count(tmp_path: Path) -> None:
    image = built(tmp_path / "c", "FROM scratch AS x\nRUN a\nFROM scratch\nCOPY a.txt /\n", FILES)
    assert contents(image) == {"a.txt": "a"}


STAGES = [
    pytest.param("FROM scratch\nCOPY --from=one /t/sub /u", {"u/data": "data"}, id="folder"),
    pytest.param("FROM scratch\nCOPY --from=0 t/task.py /u", {"u": "task"}, id="by number"),
    pytest.param("FROM scratch\nCOPY --from=ONE /t/*.py /u/", {"u/task.py": "task"}, id="pattern"),
    pytest.param("FROM scratch\nCOPY --from=one /l /u", {"u": "task"}, id="link"),
    pytest.param("FROM one\nCOPY a.txt $D/", {"t/task.py": "task", "e/a.txt": "a"}, id="built upon"),
]


@pytest.mark.parametrize(("lines", "expected"), STAGES)
def test_stages(lines: str, expected: dict[str, str], tmp_path: Path) -> None:
    one = "FROM scratch AS one\nENV D=/e\nCOPY trainer /t\nCOPY x /\n"
    image = built(tmp_path / "c", f"{one}{lines}\n", FILES | {"x/l -> /t/task.py": ""})
    assert contents(image).items() >= expected.items()


def test_owners_of_another_stage_stay(tmp_path: Path) -> None:
    text = "FROM scratch AS one\nCOPY --chown=5:6 --chmod=600 a.txt /x\nFROM scratch\nCOPY --from=one /x /y\n"
    member = entries(built(tmp_path / "c", text, FILES))["y"]
    assert (member.uid, member.gid, member.mode) == (5, 6, 0o600)


def test_a_target_is_built_and_nothing_after_it(tmp_path: Path) -> None:
    text = "FROM scratch AS one\nCOPY a.txt /\nFROM scratch\nCOPY nothing /\n"
    assert contents(built(tmp_path / "c", text, FILES, target="one")) == {"a.txt": "a"}


def test_an_entrypoint_drops_the_command_of_the_stage_before(tmp_path: Path) -> None:
    text = 'FROM scratch AS a\nCMD ["x"]\nFROM a\nENTRYPOINT ["y"]\n'
    assert "Cmd" not in config_of(built(tmp_path / "c", text))


def test_triggers_of_the_stage_before_are_refused(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path / "c", "FROM scratch AS a\nONBUILD COPY x /\nFROM a\n", {"x": ""})
    assert (problem.path, problem.rule) == ("Dockerfile:3", "not-built-here")
    assert "ONBUILD COPY x /" in problem.message


def test_the_order_of_variables_and_labels_does_not_show(tmp_path: Path) -> None:
    one = {"A": "1", "B": "2"}
    other = dict(reversed(one.items()))
    digests = {built(tmp_path / "c", "FROM scratch\n", env=each, labels=each).digest for each in (one, other)}
    assert len(digests) == 1


def test_a_context_for_a_tool_may_have_names_that_are_not_text(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "c", {"Dockerfile": "FROM python:3.11\nRUN x\n"})
    hashes = set()
    for name in (b"\xff", b"\xfe"):
        (folder / os.fsdecode(name)).write_bytes(b"")
        hashes.add(plan_image(ImageSource(source=folder, dockerfile="Dockerfile")).content_hash)
        (folder / os.fsdecode(name)).unlink()
    assert len(hashes) == 2


def test_an_unknown_target_is_named(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path / "c", "FROM scratch AS train\n", FILES, target="tran")
    assert (problem.path, "Did you mean 'train'?" in problem.message) == ("target", True)


def test_options_count_after_the_last_instruction(tmp_path: Path) -> None:
    settings = config_of(
        built(
            tmp_path / "c",
            'FROM scratch\nENV A=1\nLABEL l=1\nUSER 1\nCMD ["x"]\nENTRYPOINT ["y"]\n',
            env={"A": "$2"},
            labels={"l": "2"},
            user="2",
            working_dir="/w",
            entrypoint=("e",),
            command=("c",),
        )
    )
    assert settings == {
        "Env": [f"PATH={PATH}", "A=$2"],
        "Labels": {"l": "2"},
        "User": "2",
        "WorkingDir": "/w",
        "Entrypoint": ["e"],
        "Cmd": ["c"],
    }


WARNINGS = [
    pytest.param("COPY *.none /x/", {}, "matches no file", id="pattern without files"),
    pytest.param("HEALTHCHECK CMD a", {}, "Vertex AI ignores", id="HEALTHCHECK"),
    pytest.param("COPY . /x/", {".git/config": ""}, "changes with every build", id="repository"),
    pytest.param("COPY . /x/", {"A.TXT": ""}, "differs from", id="names that differ in case"),
    pytest.param("ARG OTHER", {}, "no ARG in Dockerfile has this name", id="build argument"),
]


@pytest.mark.parametrize(("line", "files", "part"), WARNINGS)
def test_warnings(line: str, files: dict[str, str], part: str, tmp_path: Path) -> None:
    from support.client.builds.built_images import write_files

    folder = write_files(tmp_path / "c", {"a.txt": "", "Dockerfile": f"FROM scratch\n{line}\n", **files})
    arguments = {"G": "1"} if "ARG" in line else {}
    plan = plan_image(ImageSource(source=folder, dockerfile="Dockerfile", build_args=arguments))
    assert [problem.level for problem in plan.problems] == ["warning"]
    assert part in plan.problems[0].message
