"""Write the lock files: versions and hashes of all packages for all platforms, without download URLs."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts import policy_pack, tensorflow_client
from scripts.layout import Layout
from scripts.processes import run_quietly
from scripts.python_packages import DEVELOPMENT_LOCK, RUNTIME_LOCK
from scripts.report import ChoreError, Report, Step

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
    with tempfile.TemporaryDirectory() as temporary, report.step("Lock files") as step:
        uv = _install_uv(Path(temporary), step)
        development, runtime = layout.root / DEVELOPMENT_LOCK, layout.root / RUNTIME_LOCK
        tensorflow = tensorflow_client.lock(layout)
        policies = policy_pack.lock(layout)
        before = _contents(development, runtime, tensorflow, policies)
        newer = ["--upgrade"] if upgrade else []
        projects = [folder / "pyproject.toml" for folder in layout.distributions]
        step.progress(f"resolving {development.name}")
        _compile(layout, uv, development, [*_RUNTIME, "--group=pyproject.toml:dev", *newer], sources=projects)
        step.progress(f"resolving {runtime.name}")
        shutil.copyfile(development, runtime)  # uv keeps the versions that it finds in the file it writes
        _compile(layout, uv, runtime, _RUNTIME, sources=projects)
        problems = list(disagreements(runtime.read_text(), development.read_text()))
        if problems:
            raise ChoreError("The two lock files disagree:\n" + "\n".join(problems))
        step.progress("resolving TensorFlow")
        _compile(layout, uv, tensorflow, newer, sources=[tensorflow.with_suffix(".in")])
        step.progress("resolving the policy pack")
        _compile(layout, uv, policies, newer, sources=[policies.with_suffix(".in")])
        same = _contents(development, runtime, tensorflow, policies) == before
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


def _install_uv(folder: Path, step: Step) -> Path:
    """Install uv in a temporary environment, and return its path."""
    step.progress("installing uv temporarily")
    base = getattr(sys, "_base_executable", None) or sys.executable
    programs = folder / "uv" / "bin"
    commands: list[list[str | Path]] = [
        [base, "-I", "-m", "venv", folder / "uv"],
        [programs / "python", "-I", "-m", "pip", "install", "--disable-pip-version-check", "uv"],
    ]
    for command in commands:
        run_quietly(
            command,
            cwd=folder,
            env=_environment(os.environ),
            on_line=_ignore,
            failure="uv, which resolves the versions, cannot be installed",
        )
    return programs / "uv"


def _compile(
    layout: Layout, uv: Path, lock: Path, arguments: Sequence[str], *, sources: Sequence[Path]
) -> None:
    # The paths are relative, since uv writes them into the lock file.
    files = [path.relative_to(layout.root) for path in (*sources, lock)]
    own = [f"--no-emit-package={folder.name}" for folder in layout.distributions]
    run_quietly(
        [uv, "pip", "compile", *_COMPILE, *arguments, *own, *files[:-1], "--output-file", files[-1]],
        cwd=layout.root,
        env=_environment(os.environ),
        on_line=_ignore,
        failure=f"{lock.name} cannot be resolved",
    )


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of uv, with the package index of pip, whose settings uv does not read."""
    result = {name: value for name, value in environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    index = environ.get("PIP_INDEX_URL")
    if index:
        result.setdefault("UV_DEFAULT_INDEX", index)
    certificates = environ.get("PIP_CERT")
    if certificates:
        result.setdefault("SSL_CERT_FILE", certificates)
    return result


def _ignore(_line: str) -> None:
    pass
