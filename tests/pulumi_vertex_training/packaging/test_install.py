"""pip really installs what is packed, and Python imports it from there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pulumi_vertex_training.packaging.package import Package
from support.client.builds.packages import build_sdist

pytestmark = pytest.mark.slow

WriteTree = Callable[[str, Mapping[str, str]], Path]

PROJECT = '[project]\nname = "{name}"\nversion = "1.0"\n'
EXTRA = {
    "__init__.py": "",
    "ranks.py": "RANK = 7\n",
    "inner/__init__.py": "",
    "inner/deep.py": "",
    "py.typed": "",
    "odd [1] name.json": "{}",
}
TASK = "from {extra}.ranks import RANK\nimport {extra}.inner.deep\n"

BARE_SETUP = "from setuptools import setup\nsetup()\n"

# how a project tells setuptools of its packages: pyproject.toml besides [project], other files, and where the
# package lies
LAYOUTS: dict[str, tuple[str, dict[str, str], str]] = {
    "src": ("", {}, "src/"),
    "src_find": (
        '[tool.setuptools.packages.find]\nwhere = ["src"]\ninclude = ["{name}*"]\nnamespaces = false\n',
        {"src/net_src_find/__init__.py": ""},
        "src/",
    ),
    "src_listed": (
        '[tool.setuptools]\npackages = ["{name}"]\n[tool.setuptools.package-dir]\n"" = "src"\n',
        {},
        "src/",
    ),
    "flat": ("", {"README.md": "# hello", "tests/test_it.py": "assert False", "setup.py": BARE_SETUP}, ""),
    "flat_listed": ('[tool.setuptools]\npackages = ["{name}"]\n', {"scratch/x.py": ""}, ""),
    "elsewhere": (
        '[tool.setuptools]\npackage-dir = {{"" = "lib"}}\n',
        {"MANIFEST.in": "include *.md"},
        "lib/",
    ),
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder where pip has installed one package of every kind and layout."""
    base = tmp_path_factory.mktemp("install")
    packages = [*projects(base), *others(base), example()]
    archives = [package.save(base) for package in packages]
    target = base / "target"
    options = [
        "--disable-pip-version-check",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--no-compile",
        "--quiet",
    ]
    pip = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", target, *archives],
        capture_output=True,
        text=True,
        check=False,
    )
    assert pip.returncode == 0, pip.stdout + pip.stderr
    return target


def write(root: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def projects(base: Path) -> list[Package]:
    packages = []
    for layout, (settings, files, place) in LAYOUTS.items():
        name, along = f"net_{layout}", f"cluster_{layout}"
        files = files | {
            "pyproject.toml": (PROJECT + settings).format(name=name),
            f"{place}{name}/task.py": TASK.format(extra=along),
        }
        project = write(base / "projects" / layout, files)
        extra = write(base / "extras" / along, EXTRA)
        packages.append(build_sdist(project, extra_files={along: extra}))
    return packages


def others(base: Path) -> list[Package]:
    extra = write(base / "extras" / "cluster_plain", EXTRA)
    script = write(base / "script", {"my-task.py": TASK.format(extra="cluster_plain")}) / "my-task.py"
    folder = write(
        base / "folder_kind",
        {
            "task.py": "from folder_kind import model\nfrom .nested import layer\nimport single_helper\n",
            "model.py": "",
            "nested/layer.py": "",
            "data/[1] größe.csv": "1,2",
            "nested/no-package/notes.txt": "notes",
        },
    )
    single = write(base / "single", {"pyproject.toml": PROJECT.format(name="single"), "single_module.py": ""})
    return [
        build_sdist(script, name="script-kind", extra_files={"cluster_plain": extra}),
        build_sdist(
            folder,
            requirements=["numpy>=2", 'tomli; python_version < "3.11"'],
            extra_files={"single_helper.py": script, "folder_kind/config.json": extra / "odd [1] name.json"},
        ),
        build_sdist(single, extra_files={"cluster_single": extra, "helper_single.py": extra / "ranks.py"}),
        build_sdist(
            write(base / "legacy", LEGACY), extra_files={"cluster_legacy": extra}, name="legacy-trainer"
        ),
    ]


REPOSITORY = Path(__file__).parents[3]


def example() -> Package:
    cluster = REPOSITORY / "providers/vertex-cluster/src/vertex_cluster"
    return build_sdist(REPOSITORY / "examples" / "digits", extra_files={"vertex_cluster": cluster})


LEGACY = {
    "setup.py": "from setuptools import find_packages, setup\n\nsetup(\n    name='legacy-trainer',\n"
    "    version='0.1',\n    packages=find_packages(),\n    install_requires=['numpy'],\n"
    "    include_package_data=True,\n)\n",
    "trainer_legacy/__init__.py": "",
    "trainer_legacy/task.py": "import cluster_legacy.ranks\n",
}


def run(target: Path, code: str) -> str:
    """Return the output of a fresh interpreter that has only the target folder on its path."""
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(target)!r}); {code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_imports(installed: Path) -> None:
    modules = [f"net_{layout}.task" for layout in LAYOUTS]
    modules += ["script_kind.my_task", "folder_kind.task", "single_module", "cluster_single.ranks"]
    modules += ["helper_single", "trainer_legacy.task", "cluster_legacy.inner.deep"]
    code = (
        f"import importlib, json; print(json.dumps([importlib.import_module(m).__file__ for m in {modules}]))"
    )
    files = json.loads(run(installed, code))
    assert [Path(file).relative_to(installed).with_suffix("") for file in files] == [
        Path(*module.split(".")) for module in modules
    ]


def test_the_example_brings_vertex_cluster_along(installed: Path) -> None:
    package = example()
    assert (package.file_name, package.python_module) == (
        "digits_trainer-0.1.0.tar.gz",
        "digits_trainer.task",
    )
    assert package.problems == ()
    code = "import digits_trainer.task as a, vertex_cluster as b; print(a.__file__, b.__file__)"
    files = [Path(file).relative_to(installed).as_posix() for file in run(installed, code).split()]
    assert files == ["digits_trainer/task.py", "vertex_cluster/__init__.py"]


def test_files_next_to_a_package_are_not_installed(installed: Path) -> None:
    names = {path.name for path in installed.iterdir()}
    assert not names & {"tests", "src", "lib", "scratch", "setup.py", "README.md", "inner"}


@pytest.mark.parametrize("along", [*(f"cluster_{layout}" for layout in LAYOUTS), "cluster_single"])
def test_extra_folders_are_installed_whole(installed: Path, along: str) -> None:
    found = {path.relative_to(installed / along).as_posix() for path in (installed / along).rglob("*")}
    assert {path for path in found if "__pycache__" not in path} == {*EXTRA, "inner"}


def test_data_files_of_a_folder_are_installed(installed: Path) -> None:
    package = installed / "folder_kind"
    assert (package / "data" / "[1] größe.csv").read_text() == "1,2"
    assert (package / "nested" / "no-package" / "notes.txt").read_text() == "notes"
    assert (package / "config.json").read_text() == "{}"


def test_pip_knows_names_versions_and_requirements(installed: Path) -> None:
    code = (
        "from importlib.metadata import distributions; import json; "
        f"found = distributions(path=[{str(installed)!r}]); "
        "print(json.dumps({d.metadata['Name']: [d.version, d.requires] for d in found}))"
    )
    found = json.loads(run(installed, code))
    assert found["script-kind"] == ["0.1.0", None]
    assert found["folder_kind"] == ["0.1.0", ["numpy>=2", 'tomli; python_version < "3.11"']]
    assert found["legacy-trainer"] == ["0.1", ["numpy"]]
    assert found["net_flat"] == ["1.0", None]
