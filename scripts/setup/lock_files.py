"""Write the lock files: versions and hashes of all packages for all platforms, without download URLs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import run_quietly
from scripts.report import ChoreError, Report
from scripts.setup import python_packages, uv
from scripts.setup.python_packages import DEVELOPMENT_LOCK, RUNTIME_LOCK
from scripts.tools import policy_pack, tensorflow_client

_COMPILE = (
    "--universal",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-header",
    "--quiet",
    "--python-version=3.10",
)

_RUNTIME = ("--group=pyproject.toml:infra", "--all-extras")
"""A deployment from the clone: all extras of the distributions, and what the clone's own program needs."""


def refresh(layout: Layout, report: Report, *, upgrade: bool) -> int:
    """Write all lock files. Versions change only if they must, or with `upgrade`."""
    python_packages.ensure(layout, report, development=False)
    with report.step("Lock files") as step:
        step.progress("installing uv, which resolves the versions")
        uv.ensure(layout, layout.python, os.environ)
        development, runtime = layout.root / DEVELOPMENT_LOCK, layout.root / RUNTIME_LOCK
        others = {
            "TensorFlow": tensorflow_client.lock(layout),
            "the policy pack": policy_pack.lock(layout),
            "uv": uv.lock(layout),
        }
        before = _contents(development, runtime, *others.values())
        newer = ["--upgrade"] if upgrade else []
        projects = [folder / "pyproject.toml" for folder in layout.distributions]
        step.progress(f"resolving {development.name}")
        _compile(layout, development, [*_RUNTIME, "--group=pyproject.toml:dev", *newer], sources=projects)
        step.progress(f"resolving {runtime.name}")
        shutil.copyfile(development, runtime)  # uv keeps the versions that it finds in the file it writes
        _compile(layout, runtime, _RUNTIME, sources=projects)
        problems = list(disagreements(runtime.read_text(), development.read_text()))
        if problems:
            raise ChoreError("The two lock files disagree:\n" + "\n".join(problems))
        for name, lock in others.items():
            step.progress(f"resolving {name}")
            _compile(layout, lock, newer, sources=[lock.with_suffix(".in")])
        same = _contents(development, runtime, *others.values()) == before
        step.done("unchanged" if same else "written; see git diff")
    return 0


def pins(lock: str) -> dict[str, str]:
    """Return every requirement of a lock file, `name==version ; marker`, with its hashes in one string."""
    versions: dict[str, str] = {}
    current = ""
    for line in lock.splitlines():
        if re.match(r"[A-Za-z0-9]", line):
            current = line.rstrip("\\ ")
            versions[current] = ""
        elif "--hash=" in line:
            versions[current] += line.strip().rstrip("\\ ") + " "
    return versions


def _contents(*locks: Path) -> list[str]:
    return [lock.read_text() if lock.exists() else "" for lock in locks]


def disagreements(runtime: str, development: str) -> Iterator[str]:
    """Yield a message for each requirement of the runtime lock that the development lock lacks."""
    development_pins = {_without_marker(pin): hashes for pin, hashes in pins(development).items()}
    for pin, hashes in pins(runtime).items():
        if _without_marker(pin) not in development_pins:
            yield f"{pin} is in {RUNTIME_LOCK} only"
        elif development_pins[_without_marker(pin)] != hashes:
            yield f"{pin} has other hashes in {DEVELOPMENT_LOCK}"


def _without_marker(pin: str) -> str:
    """Remove the marker, which may differ: development tools may need a package in more cases."""
    return pin.partition(";")[0].strip()


def _compile(layout: Layout, lock: Path, arguments: Sequence[str], *, sources: Sequence[Path]) -> None:
    # The paths are relative, since uv writes them into the lock file.
    files = [path.relative_to(layout.root) for path in (*sources, lock)]
    own = [f"--no-emit-package={folder.name}" for folder in layout.distributions]
    run_quietly(
        [
            uv.ensure(layout, layout.python, os.environ),
            "pip",
            "compile",
            *_COMPILE,
            *arguments,
            *own,
            *files[:-1],
            "--output-file",
            files[-1],
        ],
        cwd=layout.root,
        env=uv.environment(layout, layout.python, os.environ),
        failure=f"{lock.name} cannot be resolved",
    )
