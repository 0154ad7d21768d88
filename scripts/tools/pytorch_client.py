"""PyTorch for the tests of examples/pytorch: Debian's build for processors.

PyPI's builds for Linux need 2.7 GB of CUDA libraries. Debian's is for its own version of Python, which has
to be that of the examples.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import alone
from scripts.report import Report
from scripts.tools import client_tools

PACKAGE = "python3-torch"
FOLDER = Path("/usr/lib/python3/dist-packages")
PYTHON = Path("/usr/bin/python3.11")


def ensure(
    layout: Layout,
    report: Report,
    *,
    environ: Mapping[str, str] = os.environ,
    is_root: bool = os.geteuid() == 0,
    folder: Path = FOLDER,
    python: Path = PYTHON,
) -> None:
    """Install the Debian package, or report why it is missing."""
    with report.step("PyTorch") as step:
        if (folder / "torch").is_dir():
            step.done("up to date", idle=True)
            return
        if python.exists():
            with alone(layout.cache / "pytorch.lock", step):
                client_tools.install_packages((PACKAGE,), step, environ, is_root=is_root)
        else:
            step.note(f"{PACKAGE}: not installed, because Debian's Python 3.11 is missing ({python})")
        step.done("installed" if (folder / "torch").is_dir() else "without PyTorch")
