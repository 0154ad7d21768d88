"""Names, versions, requirements and modules of projects, read and never run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.package import Package
from support.client.builds.packages import build_sdist

WriteTree = Callable[[str, Mapping[str, str]], Path]

NAMED = '[project]\nname = "Net.Work"\n'
DYNAMIC = NAMED + 'dynamic = ["version"]\n'


def backend(name: str) -> str:
    return f'[build-system]\nrequires = []\nbuild-backend = "{name}"\n'


def problems(source: Path, **options: object) -> list[str]:
    with pytest.raises(PackagingError) as caught:
        build_sdist(source, **options)  # type: ignore[arg-type]
    return [str(problem) for problem in caught.value.problems]


def content(package: Package, path: str) -> str:
    assert not isinstance(package.content, Path)
    (entry,) = [entry for entry in package.content if entry.path == path]
    return entry.content.decode() if isinstance(entry.content, bytes) else entry.content.read_text()


SETUP = "from setuptools import setup, find_packages\nVERSION = '1.5'\nsetup(\n    name='net-work',\n{}\n)\n"

VERSIONS: dict[str, tuple[dict[str, str], str]] = {
    "stated": ({"pyproject.toml": NAMED + 'version = "1.5.0"\n'}, "1.5.0"),
    "spelt differently": ({"pyproject.toml": NAMED + 'version = "v1.5-alpha.1"\n'}, "1.5a1"),
    "poetry": (
        {
            "pyproject.toml": backend("poetry.core.masonry.api")
            + '[tool.poetry]\nname = "net-work"\nversion = "1.5"\n'
        },
        "1.5",
    ),
    "setuptools attr": (
        {
            "pyproject.toml": DYNAMIC + '[tool.setuptools.dynamic]\nversion = {attr = "net.__version__"}\n',
            "net/__init__.py": '__version__: str = "1.5"\n',
        },
        "1.5",
    ),
    "setuptools attr of a module in src": (
        {
            "pyproject.toml": DYNAMIC + '[tool.setuptools.dynamic]\nversion = {attr = "net.about.V"}\n',
            "src/net/about.py": 'import torch\nV = "1.5"\n',
        },
        "1.5",
    ),
    "setuptools file": (
        {
            "pyproject.toml": DYNAMIC + '[tool.setuptools.dynamic]\nversion = {file = "VERSION"}\n',
            "VERSION": "1.5\n",
        },
        "1.5",
    ),
    "setuptools files": (
        {
            "pyproject.toml": DYNAMIC + '[tool.setuptools.dynamic]\nversion = {file = ["VERSION"]}\n',
            "VERSION": "1.5",
        },
        "1.5",
    ),
    "hatch": (
        {
            "pyproject.toml": DYNAMIC
            + backend("hatchling.build")
            + '[tool.hatch.version]\npath = "src/net/__about__.py"\n',
            "src/net/__about__.py": 'VERSION = "1.5"\n',
        },
        "1.5",
    ),
    "flit": (
        {
            "pyproject.toml": '[project]\nname = "net-work"\ndynamic = ["version"]\n'
            + backend("flit_core.buildapi"),
            "net_work/__init__.py": '"""Doc."""\n__version__ = "1.5"\n',
        },
        "1.5",
    ),
    "setup.cfg": ({"setup.cfg": "[metadata]\nname = net_work\nversion = 1.5\n"}, "1.5"),
    "setup.cfg attr": (
        {
            "setup.cfg": "[metadata]\nname = net_work\nversion = attr: net.__version__\n",
            "net/__init__.py": "__version__ = '1.5'",
        },
        "1.5",
    ),
    "setup.cfg beside a bare pyproject.toml": (
        {
            "pyproject.toml": backend("setuptools.build_meta"),
            "setup.cfg": "[metadata]\nname = net_work\nversion = file: VERSION\n",
            "VERSION": "1.5",
        },
        "1.5",
    ),
    "setup.py": ({"setup.py": SETUP.format("    version='1.5',")}, "1.5"),
    "setup.py with a constant": ({"setup.py": SETUP.format("    version=VERSION, cmdclass=magic(),")}, "1.5"),
    "an unpacked source distribution": (
        {
            "pyproject.toml": DYNAMIC,
            "PKG-INFO": "Metadata-Version: 2.1\nName: net-work\nVersion: 1.5\n\nVersion: 2\n",
        },
        "1.5",
    ),
}


@pytest.mark.parametrize("case", VERSIONS)
def test_name_and_version_are_found_without_a_build(tree: WriteTree, case: str) -> None:
    files, version = VERSIONS[case]
    where = "src/net" if any(path.startswith("src/") for path in files) else "net"
    package = build_sdist(tree("project", {f"{where}/task.py": "raise SystemExit", **files}))
    assert (package.kind, package.file_name) == ("project", f"net_work-{version}.tar.gz")
    if where in ("src/net", "net") and case != "flit":
        assert package.python_module == "net.task"


UNREADABLE = {
    "scm": (
        {"pyproject.toml": DYNAMIC + backend("setuptools.build_meta") + "[tool.setuptools_scm]\n"},
        "version: the project gets its version from its build backend (setuptools.build_meta), but packing "
        "does not run a build. Set version, here or in pyproject.toml.",
    ),
    "hatch-vcs": (
        {"pyproject.toml": DYNAMIC + backend("hatchling.build") + '[tool.hatch.version]\nsource = "vcs"\n'},
        "version: the project gets its version from its build backend (hatchling.build), but packing "
        "does not run a build. Set version, here or in pyproject.toml.",
    ),
    "none": (
        {"pyproject.toml": NAMED},
        "version: the project has no version. Add `version` to the [project] table of pyproject.toml.",
    ),
    "computed": (
        {"setup.py": SETUP.format("    version=open('VERSION').read(),")},
        "version: the project's version cannot be read without running its setup.py. Set version.",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_version_that_only_a_build_would_tell_is_asked_for(tree: WriteTree, case: str) -> None:
    files, message = UNREADABLE[case]
    project = tree("project", {"net/task.py": "", **files})
    assert problems(project) == [message]
    assert build_sdist(project, version="2.0").file_name == "net_work-2.0.tar.gz"


def test_the_version_given_is_where_scm_backends_look_for_it(tree: WriteTree) -> None:
    project = tree("project", {"net/task.py": "", "pyproject.toml": DYNAMIC})
    info = content(build_sdist(project, version="2.0"), "PKG-INFO").splitlines()
    assert info[:3] == ["Metadata-Version: 2.2", "Name: Net.Work", "Version: 2.0"]


WRONG: dict[str, tuple[dict[str, str], dict[str, object], list[str]]] = {
    "other name": (
        {"pyproject.toml": NAMED + 'version = "1"\n'},
        {"name": "other"},
        ["name: 'other' differs from the project's name, 'Net.Work'. Leave it out."],
    ),
    "other version": (
        {"pyproject.toml": NAMED + 'version = "1"\n'},
        {"version": "2"},
        ["version: '2' differs from the project's version, '1'. Leave it out."],
    ),
    "bad version given": (
        {"pyproject.toml": NAMED + 'version = "1"\n'},
        {"version": "two"},
        ["version: 'two' is not a version that pip understands. Write one like '0.1.0' or '1.2.0rc1'."],
    ),
    "bad version stated": (
        {"pyproject.toml": NAMED + 'version = "one"\n'},
        {},
        ["version: 'one' is not a version that pip understands. Write one like '0.1.0' or '1.2.0rc1'."],
    ),
    "requirements": (
        {"pyproject.toml": NAMED + 'version = "1"\n'},
        {"requirements": ["numpy"]},
        ["requirements: is for scripts and folders. For a project, set `dependencies` in pyproject.toml."],
    ),
    "no toml": (
        {"pyproject.toml": "[project\n"},
        {},
        [
            "pyproject.toml: is not valid TOML: Expected ']' at the end of a table declaration (at line 1, "
            "column 9)."
        ],
    ),
    "only tools": (
        {"pyproject.toml": "[tool.ruff]\n"},
        {},
        ["name: pyproject.toml has no project name.", "version: the project has no version."],
    ),
    "readme": (
        {"pyproject.toml": NAMED + 'version = "1"\nreadme = "README.md"\n'},
        {},
        ["pyproject.toml: project.readme: names the file 'README.md', which is not in the package."],
    ),
    "requirement": (
        {"pyproject.toml": NAMED + 'version = "1"\ndependencies = ["numpy", "torch=>2"]\n'},
        {},
        ["pyproject.toml: project.dependencies[1]: 'torch=>2' is not a requirement: "],
    ),
    "setup.py without a call": (
        {"setup.py": "import helper\nhelper.build()\n"},
        {},
        [
            "name: the project's name cannot be read without running its setup.py. Set name.",
            "version: the project's version cannot be read without running its setup.py. Set version.",
        ],
    ),
    "two packages": (
        {"pyproject.toml": NAMED + 'version = "1"\n', "data/x.csv": ""},
        {},
        ["source: the project has more than one top-level folder or module (data, net), and setuptools then"],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_project_says_wrongly(tree: WriteTree, case: str) -> None:
    files, options, expected = WRONG[case]
    found = problems(tree("project", {"net/task.py": "", **files}), **options)
    assert len(found) == len(expected)
    assert [text[: len(want)] for text, want in zip(found, expected, strict=True)] == expected


def test_a_project_without_packages_is_refused(tree: WriteTree) -> None:
    project = tree("project", {"pyproject.toml": NAMED + 'version = "1"\n', "tests/test_x.py": ""})
    (found,) = problems(project)
    assert found.startswith("source: the project has no package that its build would find.")


def test_data_files_that_git_knows_are_warned_of(tree: WriteTree) -> None:
    text = DYNAMIC + '[build-system]\nrequires = ["setuptools>=61", "setuptools_scm[toml]>=8"]\n'
    project = tree("project", {"net/task.py": "", "net/data.csv": "", "pyproject.toml": text})
    (found,) = build_sdist(project, version="1.0").problems
    assert (found.level, found.path) == ("warning", "pyproject.toml: build-system.requires")
    assert problems(project) == [str(found), UNREADABLE["scm"][1]]


def test_syntax_errors_in_a_project_are_warnings(tree: WriteTree) -> None:
    project = tree("project", {"src/net/task.py": "def f(:", "pyproject.toml": NAMED + 'version = "1"\n'})
    (found,) = build_sdist(project).problems
    assert (found.level, found.path) == ("warning", "src/net/task.py:1")


def test_agreeing_arguments_are_accepted(tree: WriteTree) -> None:
    project = tree("project", {"net/task.py": "", "pyproject.toml": NAMED + 'version = "1.0"\n'})
    assert build_sdist(project, name="net-work", version="1.0") == build_sdist(project)


def test_requirements_are_those_stated(tree: WriteTree) -> None:
    stated = NAMED + 'version = "1"\ndependencies = ["numpy>=2", "torch"]\n'
    package = build_sdist(tree("project", {"net/task.py": "", "pyproject.toml": stated}))
    assert package.requirements == ("numpy>=2", "torch")
    info = content(package, "PKG-INFO")
    assert "Requires-Dist: numpy>=2\nRequires-Dist: torch\n" in info
    assert "Dynamic: Requires-Dist" not in info
    later = NAMED + 'version = "1"\ndynamic = ["dependencies"]\n'
    package = build_sdist(tree("project", {"pyproject.toml": later}))
    assert package.requirements == ()
    assert "Dynamic: Requires-Dist" in content(package, "PKG-INFO")


def test_the_project_is_packed_as_it_is(tree: WriteTree) -> None:
    text = NAMED + 'version = "1"\n# a remark\n\n[tool.x]\n'
    files = {
        "pyproject.toml": text,
        "net/task.py": "",
        "README.md": "# Net",
        "tests/test_x.py": "",
        "dist/x": "",
    }
    package = build_sdist(tree("project", files))
    assert not isinstance(package.content, Path)
    assert {entry.path for entry in package.content} == {*files, "PKG-INFO"} - {"dist/x"}
    assert content(package, "pyproject.toml") == text
    assert package.left_out == 1


def test_no_code_of_the_project_runs(tree: WriteTree, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    files = {
        "setup.py": trap + SETUP.format("    version='1',"),
        "net/__init__.py": trap,
        "net/task.py": trap,
        "conftest.py": trap,
        "sitecustomize.py": trap,
    }
    build_sdist(tree("project", files))
    assert not (tmp_path / "ran").exists()


MODULES: dict[str, tuple[dict[str, str], str | None, list[str]]] = {
    "flat": ({"tests/test_a.py": ""}, "net.task", ["net.model", "net.task"]),
    "scripts beside": ({"noxfile.py": "", "_private/x.py": ""}, "net.task", ["net.model", "net.task"]),
    "setup.py": (
        {"setup.py": "from setuptools import setup\nsetup(**options)\n"},
        "net.task",
        ["net.model", "net.task"],
    ),
    "two in src": (
        {"src/a/task.py": "", "src/b/__main__.py": "", "tests/x.py": ""},
        "a.task",
        ["a.task", "b"],
    ),
    "hatch": (
        {"pyproject.toml": NAMED + 'version = "1"\n' + backend("hatchling.build")},
        "net.task",
        ["net.model", "net.task"],
    ),
}


@pytest.mark.parametrize("case", MODULES)
def test_modules_of_a_project(tree: WriteTree, case: str) -> None:
    files, module, modules = MODULES[case]
    net = {} if any(path.startswith("src/") for path in files) else {"net/task.py": "", "net/model.py": ""}
    package = build_sdist(tree("project", {"pyproject.toml": NAMED + 'version = "1"\n', **net, **files}))
    assert (package.python_module, list(package.python_modules)) == (module, modules)
