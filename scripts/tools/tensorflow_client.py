"""TensorFlow for tests of gs:// addresses and for `make bench`: a folder of its own in the cache.

It is no package of .venv: it is large, and pins its own versions of what others use. Replicas find it through
PYTHONPATH. Its name has the lock file and the Python version that it was installed for.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import alone, run_quietly
from scripts.report import ChoreError, Report

_INSTALLED = ".installed"


def lock(layout: Layout) -> Path:
    """Return the lock file."""
    return layout.tools / "tensorflow" / "requirements.txt"


def folder(layout: Layout) -> Path:
    """Return the folder of the packages in the cache, for this version of Python."""
    digest = hashlib.sha256(lock(layout).read_bytes()).hexdigest()[:12]
    return layout.cache / f"tensorflow-{digest}-{sys.version_info.major}.{sys.version_info.minor}"


def is_installed(layout: Layout) -> bool:
    """Return whether the folder has all packages of the lock file."""
    return (folder(layout) / _INSTALLED).exists()


def ensure(layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ) -> None:
    """Install the locked packages. Without a network or builds for this Python, report them as missing."""
    with report.step("TensorFlow") as step:
        if is_installed(layout):
            step.done("up to date", idle=True)
            return
        target = folder(layout)
        with alone(layout.cache / "tensorflow.lock", step):
            if not is_installed(layout):
                shutil.rmtree(target, ignore_errors=True)
                step.progress("installing TensorFlow (250 MB)")
                try:
                    _install(layout, target, environ)
                    (target / _INSTALLED).touch()
                except (ChoreError, OSError) as error:
                    step.note(f"TensorFlow could not be installed: {error}")
        step.done("installed" if is_installed(layout) else "without TensorFlow")


def _install(layout: Layout, target: Path, environ: Mapping[str, str]) -> None:
    flags = ["--disable-pip-version-check", "--no-input", "--progress-bar=off", "--only-binary=:all:"]
    install: list[str | Path] = [layout.python, "-I", "-m", "pip", "install", *flags]
    run_quietly(
        [*install, "--require-hashes", "--no-deps", "--target", target, "-r", lock(layout)],
        cwd=layout.root,
        env={name: value for name, value in environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")},
        failure="pip install",
    )
