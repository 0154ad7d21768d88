"""The environment of the policy pack, policies/venv, which policies/install.py makes.

It is not .venv, because Pulumi's SDK for policies pins an older protobuf than Google's clients need. A
deployment without policies does not need it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import alone, run_quietly
from scripts.report import ChoreError, Report


def lock(layout: Layout) -> Path:
    """Return the lock file."""
    return layout.root / "policies" / "requirements.txt"


def scripts(layout: Layout) -> Path:
    """Return the folder of the script that starts the pack without Pulumi's own language host."""
    return layout.root / "policies" / "any-host"


def is_installed(layout: Layout) -> bool:
    """Return whether the environment has the packages of the lock file, by what policies/install.py noted."""
    venv = layout.root / "policies" / "venv"
    try:
        noted = (venv / "installed").read_text().splitlines()
        wanted = [hashlib.sha256(lock(layout).read_bytes()).hexdigest(), str(venv)]
    except OSError:
        return False
    return noted[: len(wanted)] == wanted and (venv / "bin" / "python").exists()


def ensure(layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ) -> None:
    """Install the environment with the Python of .venv. Raises ChoreError if it cannot be installed."""
    with report.step("Policy pack") as step:
        if is_installed(layout):
            step.done("up to date", idle=True)
            return
        with alone(layout.local / "policies.lock", step):
            step.progress(f"installing packages from {lock(layout).relative_to(layout.root)}")
            run_quietly(
                [layout.python, "-I", layout.root / "policies" / "install.py"],
                cwd=layout.root,
                env=environ,
                failure="The environment of the policy pack cannot be installed",
            )
        step.done("installed")


def ensure_for_tests(layout: Layout, report: Report) -> None:
    """Install the environment as far as possible. A failure is printed, and its tests are skipped."""
    try:
        ensure(layout, report)
    except ChoreError as error:
        report.line(str(error))
