"""Bytecode in the layer of requirements: the same bytes each time, and used by Python as it is."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from pulumi_vertex_training.images import Wheel, WheelFolder, WheelLayer
from pulumi_vertex_training.images.wheels import bytecode
from pulumi_vertex_training.images.wheels.bytecode import compile_modules, find_compiler
from pulumi_vertex_training.images.wheels.wheel_layer import write_wheel_layer
from support.builds.wheels import make_wheel, sha256

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
CACHED = f"__pycache__/{{}}.{sys.implementation.cache_tag}.pyc"
MODULES = {
    "tiny/__init__.py": "from tiny.words import WORDS\nNAME = 'tiny'\n",
    "tiny/words.py": (
        "WORDS = {'a', 'b', 'c', 'name', 'path'}\ndef f(x, y=(1, 'a')):\n    return x in {'p', 'q', 'r'}\n"
    ),
    "tiny/old.py": "print 'for Python 2'\n",
    "tiny/latin.py": "# -*- coding: latin-1 -*-\nTEXT = 'x'\n",
    **{f"tiny/m{number}.py": f"import os.path\nNUMBER = {number}\n" for number in range(30)},
}


def names_in(layer: WheelLayer) -> set[str]:
    assert layer.path is not None
    with tarfile.open(layer.path) as archive:
        return set(archive.getnames())


def written(folder: Path, *, python: str = OWN) -> WheelLayer:
    wheel = make_wheel(folder / "index", files=MODULES)
    wheels = WheelFolder(
        wheels=(Wheel(path=wheel, sha256=sha256(wheel)),), python_version=python, platform="linux/amd64"
    )
    (folder / "out").mkdir()
    return write_wheel_layer(wheels, folder / "out")


def test_the_bytes_are_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the seed of hashes, and however many modules are compiled at once."""
    digests = set()
    for number, (seed, processors) in enumerate([("1", 1), ("2", 2), ("random", 7)]):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        monkeypatch.setattr(bytecode.os, "cpu_count", lambda count=processors: count)
        (tmp_path / str(number)).mkdir()
        digests.add(written(tmp_path / str(number)).digest)
    assert len(digests) == 1


def test_every_module_that_can_be_compiled_has_bytecode(tmp_path: Path) -> None:
    names = names_in(written(tmp_path))
    site = "opt/vertex-training/site-packages/tiny"
    compiled = {name for name in names if name.endswith(".pyc")}
    modules = {Path(name).stem for name in MODULES} - {"old"}
    assert compiled == {f"{site}/{CACHED.format(module)}" for module in modules}
    assert "opt" not in names, "a base may have a link there"


def test_python_uses_it_without_a_look_at_the_source(tmp_path: Path) -> None:
    compiler = find_compiler(OWN)
    assert compiler is not None
    (tmp_path / "mod.py").write_text("WORD = 'compiled'\n")
    assert compile_modules(compiler, tmp_path, ["mod.py"]) == (CACHED.format("mod"),)
    (tmp_path / "mod.py").write_text("WORD = 'changed'\n")
    code = "import mod; print(mod.WORD, mod.__cached__, (lambda: 0).__code__.co_filename)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[0] == "compiled"


def test_another_version_of_python_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_compiler("3.7") is None
    assert not any(name.endswith(".pyc") for name in names_in(written(tmp_path, python="3.7")))


def test_another_version_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a program for it only if it has that version."""
    for version in (OWN, "3.7"):
        path = tmp_path / "bin" / f"python{version}"
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_compiler("3.7") is None, "its name is not its version"
    monkeypatch.setattr(bytecode.platform, "python_version", lambda: "3.7.0")
    found = find_compiler(OWN)
    assert found is not None
    assert found.path == str(tmp_path / "bin" / f"python{OWN}")
    monkeypatch.undo()
    assert found.version == f"{platform.python_implementation()} {platform.python_version()}"
