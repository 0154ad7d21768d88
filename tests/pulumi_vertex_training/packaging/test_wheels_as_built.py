"""A wheel of ours has the files and the metadata that setuptools' own build of the project has."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from email.parser import HeaderParser
from pathlib import Path

import pytest

from pulumi_vertex_training.packaging.build import build_package

pytestmark = pytest.mark.slow

WriteTree = Callable[[str, Mapping[str, str]], Path]

BASE = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
BASE += (
    '[project]\nname = "my-net"\nversion = "1.0"\nrequires-python = ">=3.9"\ndependencies = ["numpy>=2"]\n'
)
BASE += '[project.optional-dependencies]\ngpu = ["cupy"]\n[project.scripts]\ntrain = "net.task:main"\n'
CODE = {
    "net/__init__.py": "",
    "net/task.py": "",
    "net/inner/__init__.py": "",
    "net/inner/deep.py": "",
    "net/bare/x.py": "",
    "net/py.typed": "",
    "net/data/a.csv": "",
    "net/data/deep/b.csv": "",
    "net/data/c.txt": "",
}
IN_SRC = {f"src/{path}": text for path, text in CODE.items()}
PACKAGE_DATA = '[tool.setuptools.package-data]\n"*" = ["data/*.csv"]\nnet = ["data/**/b.csv"]\n'
SETUP_PY = (
    "from setuptools import find_packages, setup\n"
    "setup(name='my-net', version='1.0', packages=find_packages(), install_requires=['numpy>=2'],\n"
    "      extras_require={'gpu': ['cupy']}, python_requires='>=3.9', package_data={'net': ['data/*.csv']},\n"
    "      entry_points={'console_scripts': ['train = net.task:main']})\n"
)
SETUP_CFG = (
    "[metadata]\nname = my-net\nversion = 1.0\n[options]\npackages = find_namespace:\n"
    "python_requires = >=3.9\ninstall_requires =\n    numpy>=2\n[options.packages.find]\n"
    "include = net*\n[options.extras_require]\n"
    "gpu = cupy\n[options.package_data]\nnet = data/*.csv\n"
    "[options.entry_points]\nconsole_scripts =\n    train = net.task:main\n"
)
PROJECTS = {
    "src": {"pyproject.toml": BASE, **IN_SRC},
    "flat": {"pyproject.toml": BASE, **CODE, "tests/test_it.py": ""},
    "package data": {"pyproject.toml": BASE + PACKAGE_DATA, **IN_SRC},
    "data left out": {
        "pyproject.toml": f"{BASE}{PACKAGE_DATA}[tool.setuptools.exclude-package-data]\n"
        'net = ["data/a.csv"]\n',
        **IN_SRC,
    },
    "found": {
        "pyproject.toml": BASE
        + '[tool.setuptools.packages.find]\nwhere = ["src"]\nexclude = ["net.inner*"]\n',
        **IN_SRC,
    },
    "found, no namespaces": {
        "pyproject.toml": BASE + '[tool.setuptools.packages.find]\nwhere = ["src"]\nnamespaces = false\n',
        **IN_SRC,
    },
    "listed": {
        "pyproject.toml": BASE
        + '[tool.setuptools]\npackages = ["net"]\n[tool.setuptools.package-dir]\n"" = "src"\n',
        **IN_SRC,
    },
    "a module": {"pyproject.toml": BASE, "net.py": "", "README.md": ""},
    "setup.py": {"setup.py": SETUP_PY, **CODE},
    "setup.cfg": {"setup.cfg": SETUP_CFG, "setup.py": "from setuptools import setup\nsetup()\n", **CODE},
}


def built_by_setuptools(project: Path, target: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-q"]
    subprocess.run([*command, "--disable-pip-version-check", "-w", target, project], check=True, timeout=120)
    (wheel,) = target.glob("*.whl")
    return wheel


def facts(wheel: Path) -> dict[str, object]:
    """Return the files and the metadata that pip would install."""
    with zipfile.ZipFile(wheel) as file:
        names = [name for name in file.namelist() if not name.endswith("/")]
        (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
        metadata = HeaderParser().parsestr(file.read(f"{info}/METADATA").decode())
        points = file.read(f"{info}/entry_points.txt").decode() if f"{info}/entry_points.txt" in names else ""
        return {
            "file": wheel.name,
            "paths": sorted(name for name in names if ".dist-info/" not in name),
            "entry points": points.split(),
            "python": metadata["Requires-Python"],
            "extras": metadata.get_all("Provides-Extra"),
            "requires": sorted(
                text.replace(" ", "").replace("'", '"') for text in metadata.get_all("Requires-Dist", [])
            ),
        }


@pytest.mark.parametrize("files", PROJECTS.values(), ids=list(PROJECTS))
def test_setuptools_builds_the_same(tree: WriteTree, tmp_path: Path, files: dict[str, str]) -> None:
    project = tree("project", files)
    ours = facts(build_package(project, format="wheel").save(tmp_path))
    assert ours == facts(built_by_setuptools(project, tmp_path / "theirs"))
