"""Wheels made of scripts, folders and projects: the same bytes everywhere, installed by the real pip."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import random
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pulumi_vertex_training.packaging.build import build_package
from pulumi_vertex_training.packaging.errors import PackagingError
from pulumi_vertex_training.packaging.package import Package
from support.properties import examples

WriteTree = Callable[[str, Mapping[str, str]], Path]

PYPROJECT = """
[project]
name = "my-net"
version = "1.2"
description = "A net"
requires-python = ">=3.9"
dependencies = ["packaging"]
[project.optional-dependencies]
gpu = ["cupy ; sys_platform == 'linux'"]
[project.scripts]
train = "my_net.task:main"
"""
SOURCES = {"src/my_net/__init__.py": "", "src/my_net/task.py": "def main():\n    print('trained')\n"}
PROJECT = {"pyproject.toml": PYPROJECT, **SOURCES, "README.md": "# net", "tests/test_it.py": ""}


def content(package: Package) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(package.chunks())))


def metadata(package: Package) -> list[str]:
    with content(package) as file:
        (name,) = [name for name in file.namelist() if name.endswith("/METADATA")]
        return file.read(name).decode().splitlines()


def installed(package: Package) -> set[str]:
    """Return the files except the metadata."""
    with content(package) as file:
        return {name for name in file.namelist() if ".dist-info/" not in name}


def refusal(source: Path, **options: object) -> str:
    with pytest.raises(PackagingError) as caught:
        build_package(source, format="wheel", **options)  # type: ignore[arg-type]
    return "\n".join(map(str, caught.value.problems))


def test_a_script(tree: WriteTree) -> None:
    package = build_package(tree("x", {"task.py": "print()"}) / "task.py", format="wheel")
    assert (package.file_name, package.python_module) == ("trainer-0.1.0-py3-none-any.whl", "trainer.task")
    assert installed(package) == {"trainer/__init__.py", "trainer/task.py"}


def test_a_folder_with_its_data(tree: WriteTree) -> None:
    package = build_package(tree("net", {"task.py": "", "data/größe.csv": "1"}), format="wheel")
    assert installed(package) == {"net/__init__.py", "net/task.py", "net/data/größe.csv"}


def test_a_project(tree: WriteTree) -> None:
    package = build_package(tree("p", PROJECT), format="wheel")
    assert (package.file_name, package.python_module) == ("my_net-1.2-py3-none-any.whl", "my_net.task")
    assert installed(package) == {"my_net/__init__.py", "my_net/task.py"}


def test_extra_files_are_next_to_the_packages(tree: WriteTree) -> None:
    extra = tree("cluster", {"__init__.py": "", "ranks.py": ""})
    package = build_package(tree("p", PROJECT), format="wheel", extra_files={"cluster": extra})
    assert {"cluster/__init__.py", "cluster/ranks.py"} < installed(package)


@pytest.mark.parametrize(
    "line",
    [
        "Name: my-net",
        "Version: 1.2",
        "Summary: A net",
        "Requires-Python: >=3.9",
        "Requires-Dist: packaging",
        "Provides-Extra: gpu",
        "Requires-Dist: cupy ; (sys_platform == 'linux') and extra == \"gpu\"",
    ],
)
def test_the_metadata_of_a_project(tree: WriteTree, line: str) -> None:
    assert line in metadata(build_package(tree("p", PROJECT), format="wheel"))


def test_the_record_has_every_file_with_its_hash_and_size(tree: WriteTree) -> None:
    with content(build_package(tree("net", {"task.py": "x = 1", "a, b.txt": "2"}), format="wheel")) as file:
        rows = list(csv.reader(io.StringIO(file.read("net-0.1.0.dist-info/RECORD").decode())))
        expected = []
        for name in file.namelist()[:-1]:
            data = file.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            expected.append([name, f"sha256={digest}", str(len(data))])
    assert rows == [*expected, ["net-0.1.0.dist-info/RECORD", "", ""]]


def test_the_metadata_comes_last(tree: WriteTree) -> None:
    with content(build_package(tree("zz", {"task.py": ""}), format="wheel")) as file:
        names = file.namelist()
    assert [name.partition("/")[0] for name in names] == ["zz"] * 2 + ["zz-0.1.0.dist-info"] * 3


def test_an_execute_bit_stays(tree: WriteTree) -> None:
    root = tree("net", {"task.py": "", "run.sh": ""})
    (root / "run.sh").chmod(0o755)
    with content(build_package(root, format="wheel")) as file:
        modes = {one.filename: one.external_attr >> 16 & 0o777 for one in file.infolist()}
    assert (modes["net/run.sh"], modes["net/task.py"]) == (0o755, 0o644)


FILES = st.dictionaries(
    st.from_regex(r"[a-z]{1,6}\.(py|txt)", fullmatch=True), st.binary(max_size=60), max_size=5
)


@settings(deadline=None, max_examples=examples(20))
@given(files=FILES, seed=st.integers(0, 99))
def test_times_and_order_do_not_show(files: dict[str, bytes], seed: int) -> None:
    files = {
        "task.py": b"print()",
        **{name: b"#" if name.endswith(".py") else data for name, data in files.items()},
    }
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        write(Path(one, "net"), files, seed=0)
        write(Path(other, "net"), files, seed=seed + 1)
        first = build_package(Path(one, "net"), format="wheel")
        second = build_package(Path(other, "net"), format="wheel")
        assert b"".join(first.chunks()) == b"".join(second.chunks())


def write(root: Path, files: Mapping[str, bytes], *, seed: int) -> None:
    import os

    chance = random.Random(seed)
    root.mkdir()
    for name in chance.sample(sorted(files), len(files)):
        (root / name).write_bytes(files[name])
        os.utime(root / name, (chance.randrange(10**9), chance.randrange(10**9)))


def test_the_bytes_of_a_wheel_stay_the_same_from_version_to_version(tree: WriteTree) -> None:
    """Fix the bytes: a change here changes every staged wheel's hash, and jobs that use one rerun."""
    package = build_package(tree("net", {"task.py": "print(1)\n"}), format="wheel", requirements=["numpy"])
    assert (package.size, package.sha256[:16]) == (SIZE, DIGEST)


SIZE, DIGEST = 1101, "98e348e2ecad7f07"


def test_a_file_that_changes_is_noticed(tree: WriteTree) -> None:
    root = tree("net", {"task.py": "print(1)"})
    package = build_package(root, format="wheel")
    (root / "task.py").write_text("print(2)")
    with pytest.raises(PackagingError, match="its source changed since it was hashed"):
        list(package.chunks())


# What only a build can tell is refused, with what to do instead.


def toml(text: str = "", **files: str) -> dict[str, str]:
    base = '[project]\nname = "net"\nversion = "1"\n'
    return {"pyproject.toml": base + text, "src/net/__init__.py": "", "src/net/task.py": "", **files}


BACKEND = '[build-system]\nrequires = []\nbuild-backend = "{}"\n'
REFUSED = {
    "another backend": (toml(BACKEND.format("mesonpy")), "the build backend mesonpy is not supported"),
    "packages of poetry": (
        toml(BACKEND.format("poetry.core.masonry.api") + '[tool.poetry]\npackages = [{include = "net"}]\n'),
        "packages in [tool.poetry] is not supported",
    ),
    "options of uv": (
        toml(BACKEND.format("uv_build") + "[tool.uv.build-backend]\nnamespace = true\n"),
        "namespace in [tool.uv.build-backend] is not supported",
    ),
    "extension modules": (
        toml('[[tool.setuptools.ext-modules]]\nname = "net.fast"\nsources = ["fast.c"]\n'),
        "[tool.setuptools] ext-modules needs a build",
    ),
    "extensions in setup.py": (
        toml(**{"setup.py": "from setuptools import setup\nsetup(ext_modules=[x])\n"}),
        "ext_modules in setup.py needs a build",
    ),
    "a setup.py that computes": (
        toml(**{"setup.py": "import setuptools\nsetuptools.setup(**options)\n"}),
        "its setup.py cannot be read",
    ),
    "Cython": (toml(**{"src/net/fast.pyx": ""}), "src/net/fast.pyx"),
    "a compiled module": (
        toml('[tool.setuptools.package-data]\nnet = ["*.so"]\n', **{"src/net/fast.so": ""}),
        "net/fast.so is not pure Python",
    ),
    "MANIFEST.in": (
        toml(**{"MANIFEST.in": "graft src", "src/net/data.csv": ""}),
        "MANIFEST.in may add net/data.csv",
    ),
    "dependencies of its build": (
        {
            **toml(),
            "pyproject.toml": '[project]\nname = "net"\nversion = "1"\ndynamic = ["dependencies"]\n',
        },
        "its build decides its dependencies",
    ),
    "a hook of hatch": (
        toml(BACKEND.format("hatchling.build") + '[tool.hatch.build.hooks.custom]\npath = "h.py"\n'),
        "hooks in [tool.hatch.build] is not supported",
    ),
    "data of flit from outside": (
        toml(BACKEND.format("flit_core.buildapi") + '[tool.flit.external-data]\ndirectory = "d"\n'),
        "[tool.flit.external-data] needs a build",
    ),
}


@pytest.mark.parametrize(("files", "words"), REFUSED.values(), ids=list(REFUSED))
def test_what_only_a_build_tells_is_refused(tree: WriteTree, files: dict[str, str], words: str) -> None:
    said = refusal(tree("p", files))
    assert words.removeprefix("src/") in said
    assert "Set format to sdist, which each replica builds." in said


@pytest.mark.parametrize(("files", "words"), REFUSED.values(), ids=list(REFUSED))
def test_without_a_format_it_becomes_an_sdist_with_a_warning(
    tree: WriteTree, files: dict[str, str], words: str
) -> None:
    package = build_package(tree("p", files))
    assert package.file_name == "net-1.tar.gz"
    (found,) = [problem for problem in package.problems if problem.path == "format"]
    assert found.level == "warning"
    assert words.removeprefix("src/") in found.message


def test_the_warning_names_the_build_backend_and_what_it_needs(tree: WriteTree) -> None:
    needs = '[build-system]\nrequires = ["meson-python>=0.15", "numpy"]\nbuild-backend = "mesonpy"\n'
    (found,) = build_package(tree("p", toml(needs))).problems
    assert found.message.startswith(
        "the package becomes an sdist, because its wheel needs a build: the build backend mesonpy is not "
        "supported. Each replica builds it with mesonpy, and pip gets meson-python>=0.15 and numpy from the "
        "package index. Set format to sdist to confirm this"
    )
    assert build_package(tree("q", toml(needs)), format="sdist").problems == ()


def test_the_format_is_a_wheel_by_default(tree: WriteTree) -> None:
    script = tree("x", {"task.py": "print()"}) / "task.py"
    for source in (script, tree("net", {"task.py": ""}), tree("p", PROJECT)):
        package, wheel = build_package(source), build_package(source, format="wheel")
        assert (package.file_name, package.sha256) == (wheel.file_name, wheel.sha256)
        assert package.problems == ()


def test_dependencies_in_a_file_that_the_project_names_are_known(tree: WriteTree) -> None:
    project = '[project]\nname = "net"\nversion = "1"\ndynamic = ["dependencies"]\n'
    project += '[tool.setuptools.dynamic]\ndependencies = {file = ["requirements.txt"]}\n'
    files = {**toml(), "pyproject.toml": project, "requirements.txt": "# ours\nnumpy>=2\n\npandas\n"}
    package = build_package(tree("p", files), format="wheel")
    assert package.requirements == ("numpy>=2", "pandas")
    files["requirements.txt"] = "-r others.txt\n"
    assert "its build decides its dependencies" in refusal(tree("q", files))


INSTALLED = {
    "uv": (toml(BACKEND.format("uv_build")), {"net/__init__.py", "net/task.py"}),
    "uv, flat and renamed": (
        {
            "pyproject.toml": '[project]\nname = "some-net"\nversion = "1"\n'
            + BACKEND.format("uv_build")
            + '[tool.uv.build-backend]\nmodule-name = "net"\nmodule-root = ""\n',
            "net/__init__.py": "",
            "net/a.csv": "",
            "other/__init__.py": "",
        },
        {"net/__init__.py", "net/a.csv"},
    ),
    "poetry": (toml(BACKEND.format("poetry.core.masonry.api")), {"net/__init__.py", "net/task.py"}),
    "src": (toml(), {"net/__init__.py", "net/task.py"}),
    "flat": (
        {"pyproject.toml": '[project]\nname = "net"\nversion = "1"\n', "net/task.py": "", "tests/t.py": ""},
        {"net/task.py"},
    ),
    "package data": (
        toml(
            '[tool.setuptools.package-data]\nnet = ["data/*.csv"]\n',
            **{"src/net/data/a.csv": "", "src/net/data/b.txt": "", "src/net/py.typed": ""},
        ),
        {"net/__init__.py", "net/task.py", "net/data/a.csv", "net/py.typed"},
    ),
    "listed": (
        toml('[tool.setuptools]\npackages = ["net"]\n[tool.setuptools.package-dir]\n"" = "src"\n')
        | {"src/net/inner/__init__.py": "", "src/other/__init__.py": ""},
        {"net/__init__.py", "net/task.py"},
    ),
    "found": (
        toml('[tool.setuptools.packages.find]\nwhere = ["src"]\nexclude = ["net.inner*"]\n')
        | {"src/net/inner/__init__.py": ""},
        {"net/__init__.py", "net/task.py"},
    ),
    "setup.cfg": (
        {
            "setup.cfg": "[metadata]\nname = net\nversion = 1\n[options]\npackages = find:\n"
            "install_requires =\n    numpy\n",
            "setup.py": "from setuptools import setup\nsetup()\n",
            "net/__init__.py": "",
            "loose/x.py": "",
        },
        {"net/__init__.py"},
    ),
    "flit": (
        toml(BACKEND.format("flit_core.buildapi"), **{"src/net/data.csv": ""}),
        {"net/__init__.py", "net/task.py", "net/data.csv"},
    ),
    "hatchling": (
        toml(BACKEND.format("hatchling.build"), **{"src/net/data.csv": ""}),
        {"net/__init__.py", "net/task.py", "net/data.csv"},
    ),
    "hatchling, listed": (
        toml(
            BACKEND.format("hatchling.build")
            + '[tool.hatch.build.targets.wheel]\npackages = ["src/other"]\n',
            **{"src/other/__init__.py": ""},
        ),
        {"other/__init__.py"},
    ),
}


@pytest.mark.parametrize(("files", "paths"), INSTALLED.values(), ids=list(INSTALLED))
def test_what_a_build_would_install(tree: WriteTree, files: dict[str, str], paths: set[str]) -> None:
    assert installed(build_package(tree("p", files), format="wheel")) == paths


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a virtual environment where pip has installed the wheels of a project and a folder, offline."""
    base = tmp_path_factory.mktemp("wheels")
    for path, text in {
        **{f"p/{name}": text for name, text in PROJECT.items()},
        "net/task.py": "X = 7\n",
    }.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(text)
    wheels = [build_package(base / name, format="wheel").save(base) for name in ("p", "net")]
    venv.create(base / "venv", symlinks=True)
    python = base / "venv" / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", "-q"]
    subprocess.run([*command, "--disable-pip-version-check", *wheels], check=True, timeout=120)
    return base / "venv"


def printed(environment: Path, code: str) -> str:
    command = [environment / "bin" / "python", "-I", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_pip_installs_the_modules(environment: Path) -> None:
    assert printed(environment, "import net.task; print(net.task.X)") == "7"


def test_pip_makes_the_scripts(environment: Path) -> None:
    done = subprocess.run([environment / "bin" / "train"], capture_output=True, text=True, check=True)
    assert done.stdout == "trained\n"


def test_pip_knows_what_it_installed(environment: Path) -> None:
    code = "import importlib.metadata as m, json; d = m.distribution('my-net'); "
    code += "print(json.dumps([d.version, d.requires]))"
    version, requires = json.loads(printed(environment, code))
    assert (version, requires[0]) == ("1.2", "packaging")


def test_pip_finds_every_file_as_recorded(environment: Path) -> None:
    code = "import importlib.metadata as m, base64, hashlib; print(all("
    code += "base64.urlsafe_b64encode(hashlib.sha256(f.locate().read_bytes()).digest()).rstrip(b'=').decode()"
    code += " == f.hash.value for f in m.files('my-net') if f.hash))"
    assert printed(environment, code) == "True"
