"""Named build contexts: which name means which folder, what is taken from it, and what is refused."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.images import ImagePlan, ImageSource, build_image, plan_image
from pulumi_vertex_training.images.stages.origins import named_context
from pulumi_vertex_training.packaging.errors import PackagingError
from support.client.builds.built_images import (
    BASE_NAME,
    Files,
    base_image,
    built,
    config_of,
    contents,
    entries,
    refused,
    write_files,
)
from support.properties import examples

LIB = {"lib.py": "lib", "sub/data": "data", "run.sh": "run", "link -> sub/data": "", "out -> /etc/passwd": ""}
OWN = {"lib.py": "source", "a.txt": "a"}


def planned(folder: Path, dockerfile: str | None, files: Files, **options: Any) -> ImagePlan:
    write_files(folder, files)
    if dockerfile is not None:
        (folder / "Dockerfile").write_text(dockerfile, encoding="utf-8")
        options["dockerfile"] = "Dockerfile"
    return plan_image(ImageSource(source=folder, **options))


TAKEN = [
    pytest.param("lib", "COPY --from=lib lib.py /x", {"x": "lib"}, id="a file of it, not of the source"),
    pytest.param("lib", "COPY --from=lib sub /x", {"x/data": "data"}, id="what is in a folder"),
    pytest.param("lib", "COPY --from=lib /sub/../lib.py /x", {"x": "lib"}, id="its top is the folder"),
    pytest.param("lib", "COPY --from=lib *.py /x/", {"x/lib.py": "lib"}, id="pattern"),
    pytest.param("lib", "COPY --from=lib link /x", {"x": "data"}, id="a link that is named"),
    pytest.param("lib", "ENV F=lib\nCOPY --from=lib $F.py /x", {"x": "lib"}, id="variable"),
    pytest.param("lib", "COPY --from=lib:latest lib.py /x", {"x": "lib"}, id="latest"),
    pytest.param("lib:latest", "COPY --from=lib lib.py /x", {"x": "lib"}, id="latest in the name"),
    pytest.param("lib", "COPY --from=docker.io/library/lib lib.py /x", {"x": "lib"}, id="the full name"),
    pytest.param("gcr.io/p/lib:1", "COPY --from=gcr.io/p/lib:1 lib.py /x", {"x": "lib"}, id="of an image"),
    pytest.param("lib", "WORKDIR /w\nCOPY --from=lib lib.py .", {"w/lib.py": "lib"}, id="WORKDIR"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "lines", "expected"), TAKEN)
def test_what_is_taken(name: str, lines: str, expected: dict[str, str], tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    image = built(tmp_path / "c", f"FROM scratch\n{lines}\n", OWN, build_contexts={name: tmp_path / "lib"})
    assert contents(image) == expected


def test_links_are_taken_as_links(tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    image = built(
        tmp_path / "c", "FROM scratch\nCOPY --from=lib . /\n", build_contexts={"lib": tmp_path / "lib"}
    )
    assert contents(image)["out"] == "-> /etc/passwd"


def test_modes_are_those_of_every_folder(tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    (tmp_path / "lib/lib.py").chmod(0o600)
    image = built(
        tmp_path / "c", "FROM scratch\nCOPY --from=lib . /\n", build_contexts={"lib": tmp_path / "lib"}
    )
    found = {name: member.mode for name, member in entries(image).items() if member.isfile()}
    assert found == {"lib.py": 0o644, "run.sh": 0o755, "sub/data": 0o644}


REPLACED = [
    pytest.param(
        "FROM none AS lib\nCOPY none /\nFROM scratch\nCOPY --from=lib lib.py /x\n", id="an earlier stage"
    ),
    pytest.param("FROM none AS lib\nFROM scratch\nCOPY --from=0 lib.py /x\n", id="a stage by its number"),
    pytest.param("FROM none AS Lib\nFROM scratch\nCOPY --from=LIB lib.py /x\n", id="a stage in capitals"),
    pytest.param("FROM scratch AS a\nCOPY --from=lib lib.py /x\nFROM none AS lib\n", id="a stage after"),
]


@pytest.mark.parametrize("dockerfile", REPLACED)
def test_a_stage_of_the_name_is_replaced_and_not_built(dockerfile: str, tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    target = {"target": "a"} if " AS a\n" in dockerfile else {}
    image = built(tmp_path / "c", dockerfile, build_contexts={"lib": tmp_path / "lib"}, **target)
    assert contents(image) == {"x": "lib"}


def test_an_image_of_the_name_is_not_asked_for(tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    plan = planned(
        tmp_path / "c",
        "FROM scratch\nCOPY --from=python lib.py /\n",
        {},
        build_contexts={"python": tmp_path / "lib"},
    )
    assert (plan.base_images, plan.needs_layers) == ((), False)


NOT_IT = [
    pytest.param("lib", "lib:1", id="another tag"),
    pytest.param("lib", "gcr.io/lib", id="another host"),
    pytest.param("lib", "lib/lib", id="a path"),
    pytest.param("scratch", "scratch", id="scratch"),
    pytest.param("context", "context", id="context"),
]


@pytest.mark.parametrize(("name", "word"), NOT_IT)
def test_other_names_mean_something_else(name: str, word: str) -> None:
    assert named_context([name], word) is None


def test_a_number_is_a_stage(tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    dockerfile = "FROM scratch\nCOPY a.txt /b\nFROM scratch\nCOPY --from=0 b /x\n"
    image = built(tmp_path / "c", dockerfile, OWN, build_contexts={"0": tmp_path / "lib"})
    assert contents(image) == {"x": "a"}


COPY = "FROM scratch\nCOPY --from=lib . /\n"
IGNORED = [
    pytest.param({".dockerignore": "b\n.dockerignore\n"}, {}, {}, {"a": "1"}, id="its own file"),
    pytest.param({".dockerignore": "*\n!b\n"}, {}, {}, {"b": "2"}, id="exceptions"),
    pytest.param({}, {".dockerignore": "b\n"}, {}, {"a": "1", "b": "2"}, id="not that of the source"),
    pytest.param(
        {"Dockerfile.dockerignore": "a\n", ".dockerignore": "*ignore\n"},
        {"Dockerfile.dockerignore": "b\n"},
        {},
        {"a": "1", "b": "2"},
        id="not that of the Dockerfile",
    ),
    pytest.param({}, {}, {"exclude": ("b",)}, {"a": "1", "b": "2"}, id="exclude is for the source"),
    pytest.param({"__pycache__/x": ""}, {}, {}, {"a": "1", "b": "2"}, id="bytecode"),
]


@pytest.mark.parametrize(("own", "of_source", "options", "expected"), IGNORED)
def test_what_is_left_out(
    own: Files, of_source: Files, options: dict[str, Any], expected: dict[str, str], tmp_path: Path
) -> None:
    write_files(tmp_path / "lib", {"a": "1", "b": "2", **own})
    image = built(tmp_path / "c", COPY, of_source, build_contexts={"lib": tmp_path / "lib"}, **options)
    assert contents(image) == expected


REFUSED = [
    pytest.param("COPY --from=lib ../x /", "leads out of the build context 'lib'", id="out of the folder"),
    pytest.param("COPY --from=lib a.txt /", "is not in the build context 'lib'", id="a file of the source"),
    pytest.param("COPY --from=lib lib.pi /", "Did you mean 'lib.py'?", id="nearly"),
    pytest.param("COPY --from=lib out /", "a link to 'etc/passwd', which is not in", id="a link out of it"),
    pytest.param("COPY --from=lib hidden /", "excluded by a pattern of .dockerignore", id="left out"),
    pytest.param("COPY --from=lib pipe /", "pipe is a named pipe", id="pipe"),
    pytest.param("COPY --from=$L lib.py /", "has a variable", id="variable"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "part"), REFUSED)
def test_what_cannot_be_taken(line: str, part: str, tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB | {"hidden": "", ".dockerignore": "hidden"})
    os.mkfifo(tmp_path / "lib/pipe")
    problems = refused(
        tmp_path / "c", f"FROM scratch\n{line}\n", OWN, build_contexts={"lib": tmp_path / "lib"}
    )
    (problem,) = [each for each in problems if each.level == "error"]
    assert problem.path == "Dockerfile:2"
    assert part in problem.message


FROM = [
    pytest.param("FROM lib\n", "Dockerfile:1", "FROM scratch and COPY --from=lib . /", id="base"),
    pytest.param("FROM lib:latest\n", "Dockerfile:1", "is a folder", id="latest"),
    pytest.param("FROM none AS lib\nFROM lib\n", "Dockerfile:2", "is a folder", id="replaced stage"),
    pytest.param("FROM none AS lib\n", "Dockerfile:1", "the target stage 'lib' is replaced", id="target"),
    pytest.param("FROM none AS lib\nRUN x\n", "Dockerfile:1", "is replaced by the folder", id="with a RUN"),
]


@pytest.mark.parametrize(("dockerfile", "path", "part"), FROM)
def test_a_folder_is_no_image(dockerfile: str, path: str, part: str, tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    (problem,) = refused(tmp_path / "c", dockerfile, build_contexts={"lib": tmp_path / "lib"})
    assert problem.path == path
    assert part in problem.message


WRONG = [
    pytest.param("Lib", "lib", "is not a valid name, as images have", id="capital"),
    pytest.param("", "lib", "is not a valid name", id="empty"),
    pytest.param("a b", "lib", "is not a valid name", id="space"),
    pytest.param("_lib", "lib", "is not a valid name", id="begins with a mark"),
    pytest.param("../lib", "lib", "is not a valid name", id="a path"),
    pytest.param("scratch", "lib", "is a reserved name", id="scratch"),
    pytest.param("Context", "lib", "is a reserved name", id="context"),
    pytest.param("lib", "none", "none does not exist", id="no folder"),
    pytest.param("lib", "file", "file is a file, not a folder", id="a file"),
]


@pytest.mark.parametrize("dockerfile", ["Dockerfile", None])
@pytest.mark.parametrize(("name", "folder", "part"), WRONG)
def test_wrong_contexts_are_named(
    name: str, folder: str, part: str, dockerfile: str | None, tmp_path: Path
) -> None:
    write_files(tmp_path, {"lib/a": "", "file": "", "c/Dockerfile": COPY})
    source = ImageSource(
        source=tmp_path / "c",
        dockerfile=dockerfile,
        base_image=None if dockerfile else "a",
        build_contexts={name: tmp_path / folder},
    )
    with pytest.raises(PackagingError) as caught:
        plan_image(source)
    (problem,) = caught.value.problems
    assert problem.path == f"build_contexts[{name!r}]"
    assert part in problem.message


def test_two_names_that_mean_the_same(tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    (problem,) = refused(tmp_path / "c", COPY, build_contexts=dict.fromkeys(["lib", "lib:latest"], tmp_path))
    assert problem.message.startswith("means the same as 'lib'")


def test_a_malformed_pattern_is_found_in_its_file(tmp_path: Path) -> None:
    write_files(tmp_path / "lib", {"a": "", ".dockerignore": "a\n["})
    (problem,) = refused(tmp_path / "c", COPY, build_contexts={"lib": tmp_path / "lib"})
    assert problem.path == "build_contexts['lib']/.dockerignore:2"


USES = [
    pytest.param("FROM scratch\nCOPY a.txt /\n", ["build_contexts['lib']"], id="nobody"),
    pytest.param(COPY, [], id="COPY"),
    pytest.param(
        "FROM scratch AS a\nCOPY --from=lib . /\nFROM scratch\n", ["build_contexts['lib']"], id="not built"
    ),
    pytest.param("FROM scratch\nRUN --mount=type=bind,from=lib,target=/l x\n", [], id="mount of a RUN"),
    pytest.param("FROM lib\nRUN x\n", [], id="FROM, where a tool builds"),
]


@pytest.mark.parametrize(("dockerfile", "warned"), USES)
def test_a_context_that_nobody_uses_is_warned_of(dockerfile: str, warned: list[str], tmp_path: Path) -> None:
    write_files(tmp_path / "lib", LIB)
    plan = planned(tmp_path / "c", dockerfile, OWN, build_contexts={"lib": tmp_path / "lib"})
    assert [(each.path, each.level) for each in plan.problems] == [(path, "warning") for path in warned]


HASHED = [
    pytest.param(COPY, {"lib.py": "new"}, True, id="content"),
    pytest.param(COPY, {"more": ""}, True, id="one more file"),
    pytest.param(COPY, {".dockerignore": "sub"}, True, id="what is left out"),
    pytest.param("FROM scratch\nCOPY --from=lib sub /\n", {"lib.py": "new"}, False, id="not copied"),
    pytest.param("FROM scratch\n", {"lib.py": "new"}, False, id="not used"),
    pytest.param(
        "FROM scratch\nCOPY --from=lib sub /\nRUN x\n", {"lib.py": "new"}, True, id="a tool sees all of it"
    ),
    pytest.param("FROM scratch\nRUN --mount=from=lib x\n", {"lib.py": "new"}, True, id="mounted"),
]


@pytest.mark.parametrize(("dockerfile", "change", "differs"), HASHED)
def test_what_takes_part_in_the_hash(dockerfile: str, change: Files, differs: bool, tmp_path: Path) -> None:
    options = {"build_contexts": {"lib": write_files(tmp_path / "lib", LIB)}}
    before = planned(tmp_path / "c", dockerfile, OWN, **options).content_hash
    write_files(tmp_path / "lib", change)
    assert (planned(tmp_path / "c", dockerfile, OWN, **options).content_hash != before) is differs


@pytest.mark.parametrize(
    "content", [pytest.param("bil", id="same size"), pytest.param("longer", id="longer")]
)
def test_a_file_that_changes_after_the_plan_is_an_error(content: str, tmp_path: Path) -> None:
    lib = write_files(tmp_path / "lib", LIB)
    plan = planned(tmp_path / "c", COPY, {}, build_contexts={"lib": lib})
    (lib / "lib.py").write_text(content)
    with pytest.raises(PackagingError, match=r"lib\.py: changed while the image was being built"):
        build_image(plan, {}, None, tmp_path / "out")


def test_files_of_one_path_in_two_contexts_are_two(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_files(tmp_path / name, {"a": name})
    image = built(
        tmp_path / "c",
        "FROM scratch\nCOPY a /source\nCOPY --from=one a /1\nCOPY --from=two a /2\n",
        {"a": "source"},
        build_contexts={name: tmp_path / name for name in ("one", "two")},
    )
    assert contents(image) == {"source": "source", "1": "one", "2": "two"}


def without_dockerfile(folder: Path, files: Files, **options: Any) -> dict[str, str]:
    base = base_image()
    image = built(folder, None, files, bases={base.name: base}, base_image=BASE_NAME, **options)
    assert config_of(image)["WorkingDir"] == options.get("working_dir", "/usr/app")
    return contents(image)


FOLDERS_OF_CONTEXTS = [
    pytest.param({}, {"usr/app/t.py": "t", "usr/app/lib/a.py": "a", "usr/app/lib/b/c": "c"}, id="default"),
    pytest.param({"working_dir": "/w"}, {"w/t.py": "t", "w/lib/a.py": "a", "w/lib/b/c": "c"}, id="option"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "expected"), FOLDERS_OF_CONTEXTS)
def test_without_a_dockerfile_it_becomes_a_folder(
    options: dict[str, Any], expected: dict[str, str], tmp_path: Path
) -> None:
    lib = write_files(tmp_path / "lib", {"a.py": "a", "b/c": "c", ".git/x": "", "a.pyc": ""})
    found = without_dockerfile(tmp_path / "c", {"t.py": "t"}, build_contexts={"lib": lib}, **options)
    assert found == expected


NOT_FOLDER_NAMES = [
    pytest.param("a/b", {}, "becomes a folder of the image", id="slash"),
    pytest.param("lib:1", {}, "becomes a folder of the image", id="colon"),
    pytest.param("base", {}, "is also the name of the base image", id="base"),
    pytest.param("lib", {"lib/x": ""}, "would overwrite 'lib' of the source", id="folder of the source"),
    pytest.param("lib", {"lib": ""}, "would overwrite 'lib' of the source", id="file of the source"),
]


@pytest.mark.parametrize(("name", "files", "part"), NOT_FOLDER_NAMES)
def test_names_that_cannot_become_folders(name: str, files: Files, part: str, tmp_path: Path) -> None:
    source = ImageSource(
        source=write_files(tmp_path / "c", files),
        base_image="base",
        build_contexts={name: write_files(tmp_path / "lib", LIB)},
    )
    with pytest.raises(PackagingError) as caught:
        plan_image(source)
    (problem,) = caught.value.problems
    assert problem.path == f"build_contexts[{name!r}]"
    assert part in problem.message


NAMES = st.from_regex(r"[a-z0-9]{1,6}([._-][a-z0-9]{1,4})?", fullmatch=True).filter(
    lambda name: name not in ("scratch", "context") and not name.isdecimal()
)
TREES = st.dictionaries(
    st.from_regex(r"[a-z]{1,4}", fullmatch=True), st.binary(max_size=40), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=examples(30))
@given(folders=st.dictionaries(NAMES, TREES, min_size=1, max_size=3), data=st.data())
def test_each_name_has_its_own_files_and_every_change_shows(
    folders: dict[str, dict[str, bytes]], data: st.DataObject
) -> None:
    """Build contexts in any order and place: the image is the same, and another one after any change."""
    changed = data.draw(st.sampled_from(sorted(folders)))
    file = data.draw(st.sampled_from(sorted(folders[changed])))
    other = folders | {changed: folders[changed] | {file: folders[changed][file] + b"#"}}
    dockerfile = "FROM scratch\n" + "".join(f"COPY --from={name} . /{name}/\n" for name in sorted(folders))
    images, hashes = [], []
    with tempfile.TemporaryDirectory() as top:
        for place, trees in enumerate((folders, folders, other)):
            root = Path(top, str(place))
            order = data.draw(st.permutations(sorted(trees)))
            contexts = {name: write_files(root / f"{i}x", trees[name]) for i, name in enumerate(order)}
            plan = planned(root / "c", dockerfile, {}, build_contexts=contexts)
            hashes.append(plan.content_hash)
            images.append(build_image(plan, {}, None, root / "out"))
        expected = {
            f"{name}/{path}": content.decode("utf-8", "replace")
            for name, tree in folders.items()
            for path, content in tree.items()
        }
        assert contents(images[0]) == expected
    assert hashes[0] == hashes[1] != hashes[2]
    assert images[0].manifest == images[1].manifest != images[2].manifest
