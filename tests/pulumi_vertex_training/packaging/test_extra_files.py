"""Files from elsewhere: how a project is extended, and when it cannot be."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.package import Package
from pulumi_vertex_training.packaging.project_files import read_toml, toml_text
from support.client.builds.packages import build_sdist
from support.properties import examples

WriteTree = Callable[[str, Mapping[str, str]], Path]

HEAD = '[project]\nname = "net"\nversion = "1"\n'
APART = "Stage it as a separate package instead, and name both in package_uris."


def problems(source: Path, extra_files: Mapping[str, Path]) -> list[str]:
    with pytest.raises(PackagingError) as caught:
        build_sdist(source, extra_files=extra_files)
    return [str(problem) for problem in caught.value.problems]


def content(package: Package, path: str) -> str | None:
    assert not isinstance(package.content, Path)
    found = [entry.content for entry in package.content if entry.path == path]
    (data,) = found or [None]
    return data.decode() if isinstance(data, bytes) else data.read_text() if data else None


def setuptools_table(package: Package) -> Any:
    return read_toml(content(package, "pyproject.toml") or "")["tool"]["setuptools"]


@pytest.fixture
def cluster(tree: WriteTree) -> Path:
    return tree("extra/cluster", {"__init__.py": "", "inner/deep.py": "", "__pycache__/x.pyc": ""})


UNCHANGED = [
    ("", "src/net/task.py", "src/"),
    ('[tool.setuptools.packages.find]\nwhere = ["lib"]\n', "lib/net/task.py", "lib/"),
    ('[tool.setuptools.packages.find]\ninclude = ["*"]\nexclude = ["tests*"]\n', "net/task.py", ""),
    ('[tool.setuptools]\npackage-dir = {"" = "py"}\n', "py/net/task.py", "py/"),
]


@pytest.mark.parametrize(("settings", "module", "place"), UNCHANGED)
def test_nothing_is_rewritten_where_the_build_finds_a_new_package(
    tree: WriteTree, cluster: Path, settings: str, module: str, place: str
) -> None:
    project = tree("project", {"pyproject.toml": HEAD + settings, module: ""})
    package = build_sdist(project, extra_files={"cluster": cluster})
    assert content(package, "pyproject.toml") == HEAD + settings
    assert content(package, "MANIFEST.in") is None
    assert content(package, f"{place}cluster/inner/deep.py") == ""
    assert package.python_modules == ("cluster.inner.deep", "net.task")
    assert package.python_module == "net.task"
    assert package.left_out == 1


def test_a_flat_project_gets_an_explicit_list(tree: WriteTree, cluster: Path) -> None:
    project = tree("project", {"pyproject.toml": HEAD, "net/task.py": "", "tests/x.py": ""})
    package = build_sdist(project, extra_files={"cluster": cluster})
    assert setuptools_table(package) == {
        "packages": {"find": {"where": ["."], "include": ["net", "net.*", "cluster", "cluster.*"]}}
    }
    assert read_toml(content(package, "pyproject.toml") or "")["project"] == {
        "name": "net",
        "version": "1",
    }


def test_files_inside_the_projects_own_package_change_no_list(tree: WriteTree, cluster: Path) -> None:
    project = tree("project", {"pyproject.toml": HEAD, "net/task.py": "", "MANIFEST.in": "include x"})
    extra = {"net/cluster": cluster, "net/conf/a b.toml": project / "pyproject.toml"}
    package = build_sdist(project, extra_files=extra)
    assert content(package, "pyproject.toml") == HEAD
    assert content(package, "MANIFEST.in") == "include x\ninclude net/conf/a?b.toml\n"
    assert "net.cluster.inner.deep" in package.python_modules


EXTENDED: list[tuple[str, dict[str, Any]]] = [
    ('packages = ["net"]', {"packages": ["net", "cluster", "cluster.inner"]}),
    (
        'packages = ["net"]\npy-modules = ["a"]',
        {"packages": ["net", "cluster", "cluster.inner"], "py-modules": ["a"]},
    ),
    ('py-modules = ["a"]', {"py-modules": ["a"], "packages": ["cluster", "cluster.inner"]}),
    (
        'packages.find.include = ["net*"]',
        {"packages": {"find": {"include": ["net*", "cluster", "cluster.*"]}}},
    ),
]


@pytest.mark.parametrize(("settings", "expected"), EXTENDED)
def test_a_list_is_extended(tree: WriteTree, cluster: Path, settings: str, expected: dict[str, Any]) -> None:
    files = {"pyproject.toml": f"{HEAD}\n[tool.setuptools]\n{settings}\n", "net/task.py": "", "a.py": ""}
    package = build_sdist(tree("project", files), extra_files={"cluster": cluster})
    assert setuptools_table(package) == expected


REFUSED = {
    "another backend": (
        {"pyproject.toml": HEAD + '[build-system]\nrequires = []\nbuild-backend = "hatchling.build"\n'},
        "cluster would be packed but not installed: adding a top-level package is "
        "not supported for hatchling.build. ",
    ),
    "excluded": (
        {"pyproject.toml": HEAD + '[tool.setuptools.packages.find]\nexclude = ["cluster*"]\n'},
        "cluster would be packed but not installed: [tool.setuptools.packages.find] excludes it "
        "(pyproject.toml). ",
    ),
    "regular packages only": (
        {"pyproject.toml": HEAD + "[tool.setuptools.packages.find]\nnamespaces = false\n"},
        "cluster.inner would be packed but not installed: the project finds only packages with __init__.py "
        "(pyproject.toml). ",
    ),
    "listed in setup.cfg": (
        {"setup.cfg": "[metadata]\nname = net\nversion = 1\n[options]\npackages = net\n"},
        "cluster would be packed but not installed: only pyproject.toml can be extended (setup.cfg). ",
    ),
    "computed in setup.py": (
        {"setup.py": "from setuptools import setup\nsetup(name='net', version='1', packages=compute())\n"},
        "cluster would be packed but not installed: the project declares its packages in a way that "
        "is not supported (setup.py). ",
    ),
    "no project table": (
        {"setup.cfg": "[metadata]\nname = net\nversion = 1\n"},
        "cluster would be packed but not installed: only pyproject.toml can be extended "
        "(no [project] table). ",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_not_be_installed_is_refused(tree: WriteTree, cluster: Path, case: str) -> None:
    files, message = REFUSED[case]
    project = tree("project", {"net/__init__.py": "", "net/task.py": "", **files})
    assert problems(project, {"cluster": cluster}) == [f"extra_files: {message}{APART}"]


def test_another_backend_takes_files_into_an_existing_package(tree: WriteTree, cluster: Path) -> None:
    text = HEAD + '[build-system]\nrequires = []\nbuild-backend = "hatchling.build"\n'
    project = tree("project", {"pyproject.toml": text, "src/net/task.py": ""})
    package = build_sdist(project, extra_files={"net/cluster": cluster})
    assert content(package, "src/net/cluster/inner/deep.py") == ""
    assert content(package, "MANIFEST.in") is None


def test_data_that_the_project_does_not_install_is_warned_of(tree: WriteTree, cluster: Path) -> None:
    text = HEAD + "[tool.setuptools]\ninclude-package-data = false\n"
    project = tree("project", {"pyproject.toml": text, "src/net/task.py": ""})
    (cluster / "py.typed").touch()
    (found,) = build_sdist(project, extra_files={"cluster": cluster}).problems
    assert (found.level, found.path) == ("warning", "extra_files")
    assert found.message.startswith("cluster/py.typed would be packed but not installed")


@pytest.mark.parametrize("path", ["/cluster", "../cluster", "a/../cluster", "", "a//b", "./a", "a/", "C:/a"])
def test_paths_that_leave_the_package_are_refused(tree: WriteTree, cluster: Path, path: str) -> None:
    (found,) = problems(tree("net", {"task.py": ""}), {path: cluster})
    assert found.startswith(f"extra_files[{path!r}]: is rejected: ")


@pytest.mark.parametrize("path", ["a\nb", "a\\b", "\x1b[1m", "\udce4"])
def test_hostile_paths_are_refused(tree: WriteTree, cluster: Path, path: str) -> None:
    (found,) = problems(tree("net", {"task.py": ""}), {path: cluster})
    assert found.startswith(f"extra_files[{path!r}]: is rejected: its name ")
    assert found.isprintable()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"gone": "gone"}, "extra_files['gone']: {root}/gone does not exist. Correct the path."),
        ({"empty": "empty"}, "extra_files['empty']: the folder {root}/empty has no file to pack."),
        ({"net/task.py": "a.txt"}, "extra_files: net/task.py: already exists."),
        ({"setup.py": "a.txt"}, "extra_files: setup.py: already exists."),
        ({"a.txt": "a.txt"}, "extra_files: a.txt: is outside any package, so nothing installs it."),
        ({"data/a.txt": "a.txt"}, "extra_files: data/a.txt: is outside any package"),
        ({"links": "links"}, "extra_files['links']: out: is a link to /etc/passwd, outside the source."),
        ({"pipe.py": "pipe"}, "extra_files['pipe.py']: {root}/pipe is a device, not a file."),
        ({"NET/x.py": "a.txt"}, "net: differs from NET only in case or Unicode form"),
    ],
)
def test_extra_files_that_cannot_be_packed(tree: WriteTree, extra: dict[str, str], message: str) -> None:
    root = tree("root", {"net/task.py": "", "a.txt": ""})
    (root / "empty").mkdir()
    (root / "links").mkdir()
    (root / "links" / "out").symlink_to("/etc/passwd")
    (root / "pipe").symlink_to("/dev/null")
    (found, *rest) = problems(root / "net", {path: root / file for path, file in extra.items()})
    assert found.startswith(message.format(root=root))
    assert rest == []


def test_extra_files_of_a_project_must_not_clash_either(tree: WriteTree, cluster: Path) -> None:
    project = tree("project", {"pyproject.toml": HEAD, "src/net/task.py": ""})
    assert problems(project, {"net/task.py": cluster / "__init__.py"}) == [
        "extra_files: src/net/task.py: already exists. Choose another path for the extra file."
    ]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), TEXT, st.dates(), st.times(),
    st.datetimes(), st.datetimes(timezones=st.just(datetime.timezone.utc)),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=examples(50))
@given(document=st.dictionaries(TEXT, VALUES, max_size=5))
def test_toml_is_written_so_that_it_reads_the_same(document: dict[str, Any]) -> None:
    assert read_toml(toml_text(document)) == document
