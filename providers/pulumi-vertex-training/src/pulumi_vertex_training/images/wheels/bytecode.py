"""Compile the modules of installed wheels, so that no replica compiles them again.

The bytecode does not depend on times, and is not compared with its source (PEP 552, unchecked-hash pycs): the
files of a layer do not change. It is for one minor version of Python, which has to be on this machine.

Bytecode depends on what else a process has loaded (the references of `marshal`) and on the seed of hashes. So
twenty modules each are compiled in a fork of the same small process, whose seed is fixed: the bytes are the
same however many forks run at once. They may differ between patch releases of Python.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pulumi_vertex_training.timeouts import ORDINARY, Timeouts

_ASK: Final = "import platform; print(platform.python_implementation(), platform.python_version())"

_COMPILE: Final = """
import importlib.util, os, py_compile, sys
root, modules = sys.argv[1], sys.stdin.buffer.read().split(b"\\0")
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH

def compile_one(module):
    source = os.path.join(root, module)
    py_compile.compile(
        source, importlib.util.cache_from_source(source), "/" + module, True, invalidation_mode=mode
    )

with open(os.path.join(root, "warm-up.py"), "w") as file:
    file.write("# -*- coding: latin-1 -*-\\nclass A:\\n    'x'\\n    b: int = {1, 2.5, 'a', b'c'}\\n")
try:
    compile_one("warm-up.py")
finally:
    os.unlink(os.path.join(root, "warm-up.py"))
os.unlink(importlib.util.cache_from_source(os.path.join(root, "warm-up.py")))

names = [os.fsdecode(each) for each in modules if each]
left = [names[first : first + 20] for first in range(0, len(names), 20)]
running = 0
while left or running:
    while left and running < int(sys.argv[2]):
        several = left.pop()
        running += 1
        if os.fork() == 0:
            for module in several:
                try:
                    compile_one(module)
                except BaseException:
                    pass
            os._exit(0)
    os.wait()
    running -= 1
compiled = [importlib.util.cache_from_source(name) for name in names]
done = [name for name in compiled if os.path.exists(os.path.join(root, name))]
sys.stdout.buffer.write(b"\\0".join(os.fsencode(each) for each in done))
"""


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A Python that compiles modules. `version` is its implementation and full version."""

    path: str
    version: str


def find_compiler(python_version: str, timeouts: Timeouts = ORDINARY) -> Compiler | None:
    """Return the Python of this machine with a minor version ("3.11"), or None."""
    own = f"{platform.python_implementation()} {platform.python_version()}"
    if _is_minor(own, python_version):
        return Compiler(path=sys.executable, version=own)
    path = shutil.which(f"python{python_version}")
    if path is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603
            [path, "-I", "-S", "-c", _ASK],
            capture_output=True,
            text=True,
            timeout=timeouts.python_version,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = done.stdout.strip()
    return Compiler(path=path, version=version) if _is_minor(version, python_version) else None


def _is_minor(version: str, python_version: str) -> bool:
    return version.startswith(f"CPython {python_version}.")


def compile_modules(compiler: Compiler, root: Path, modules: Sequence[str]) -> tuple[str, ...]:
    """Compile modules, by their paths below `root`, where they appear in the image. Return new paths, sorted.

    Modules that cannot be compiled, such as those for another Python, are left out, as pip does.
    """
    if not modules:
        return ()
    done = subprocess.run(  # noqa: S603
        [
            *(compiler.path, "-S", "-s", "-B", "-W", "ignore", "-c", _COMPILE),
            *(str(root.resolve()), str(os.cpu_count() or 1)),
        ],
        input=b"\0".join(map(os.fsencode, sorted(modules))),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1"},
        cwd=root,
        check=False,
    )
    return tuple(sorted(os.fsdecode(each) for each in done.stdout.split(b"\0") if each))
