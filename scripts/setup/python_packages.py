"""Install Python packages into `.venv` of the clone, from the committed lock files only.

`requirements.txt` is for deployments. `requirements-dev.txt` adds the packages of tests and checks, at the
same versions. A stamp in .venv records what was installed, so an up-to-date .venv is recognized at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from scripts.layout import Layout
from scripts.processes import alone, run_quietly
from scripts.report import ChoreError, Report, Step
from scripts.setup import uv

RUNTIME_LOCK = "requirements.txt"
DEVELOPMENT_LOCK = "requirements-dev.txt"
_STEP = "Python packages"
Uv: TypeAlias = "tuple[Path, dict[str, str]]"
"""The program uv, and its environment."""

_OFFLINE = "If PyPI cannot be reached, name another index in PIP_INDEX_URL or in pip's configuration."


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """Contents of .venv: hashes of the installed lock files and of the packages' own metadata."""

    root: str
    project: str
    runtime: str
    development: str

    @classmethod
    def read(cls, venv: Path) -> Stamp | None:
        try:
            return cls(**json.loads(_stamp_file(venv).read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, venv: Path) -> None:
        _stamp_file(venv).write_text(json.dumps(asdict(self), indent=1) + "\n")


def ensure(
    layout: Layout,
    report: Report,
    *,
    development: bool,
    environ: Mapping[str, str] = os.environ,
    prefix: str = sys.prefix,
) -> None:
    """Install the locked packages and this clone's own packages, in editable form, into .venv.

    `prefix` is the environment of this process.
    """
    with report.step(_STEP) as step:
        stamp = Stamp.read(layout.venv)
        problem = obstacle(layout, stamp, environ, prefix=prefix)
        if stamp == wanted(layout, stamp, development=development) and not problem:
            step.done("up to date", idle=True)
            return
        with alone(layout.local / "setup.lock", step):
            done = _bring_up_to_date(layout, step, development=development, environ=environ, prefix=prefix)
        step.done(done)


def _bring_up_to_date(
    layout: Layout, step: Step, *, development: bool, environ: Mapping[str, str], prefix: str
) -> str:
    """Install what is missing, and return in words what it was."""
    stamp = Stamp.read(layout.venv)
    reason = obstacle(layout, stamp, environ, prefix=prefix)
    if reason:
        step.note(f"{reason}; creating .venv again")
        remove(layout.venv)
        stamp = None
    goal = wanted(layout, stamp, development=development)
    if not layout.python.exists():
        _create(layout, step, environ)
    _stamp_file(layout.venv).unlink(missing_ok=True)
    program = _uv(layout, step, environ)
    lock = layout.root / (DEVELOPMENT_LOCK if development else RUNTIME_LOCK)
    done = "this clone's own packages"
    if stamp is None or (stamp.runtime, stamp.development) != (goal.runtime, goal.development):
        _install(layout, lock, step, environ, program)
        done = f"{count_requirements(lock)} packages from {lock.name}"
    if stamp is None or stamp.project != goal.project:
        _install_clone(layout, step, environ, program)
    goal.write(layout.venv)
    return done


def count_requirements(lock: Path) -> int:
    """Return the number of requirements in a lock file; some are only for other Python versions."""
    return sum("==" in line and not line.startswith((" ", "#")) for line in lock.read_text().splitlines())


def wanted(layout: Layout, stamp: Stamp | None, *, development: bool) -> Stamp:
    """Return the stamp that .venv should have. Installed development packages of the present lock stay."""
    runtime = _digest(layout.root / RUNTIME_LOCK)
    today = _digest(layout.root / DEVELOPMENT_LOCK)
    kept = stamp.development if stamp and stamp.development == today else ""
    return Stamp(
        root=str(layout.root),
        project=_digest(*(folder / "pyproject.toml" for folder in layout.distributions)),
        runtime=runtime,
        development=today if development else kept,
    )


def obstacle(
    layout: Layout, stamp: Stamp | None, environ: Mapping[str, str], *, prefix: str = sys.prefix
) -> str:
    """Return why the existing .venv is not usable, or "" if it is usable or does not exist."""
    if not layout.venv.exists():
        return ""
    if not os.access(layout.python, os.X_OK) or not (layout.venv / "pyvenv.cfg").exists():
        return "the Python of .venv no longer exists"
    # `scripts/chore` chooses the Python of .venv whenever that works.
    if Path(prefix).resolve() != layout.venv.resolve() and not environ.get("PYTHON"):
        return "the Python in .venv does not run, or is older than 3.10"
    if stamp and stamp.root != str(layout.root):
        return f"the clone was moved or copied from {stamp.root}"
    present, running = _version(layout.venv), f"{sys.version_info.major}.{sys.version_info.minor}"
    if environ.get("PYTHON") and present != running:
        return f".venv has Python {present}, but PYTHON asks for {running}"
    return ""


def _version(venv: Path) -> str:
    """Return the Python version of an environment, such as `3.12`, from its pyvenv.cfg."""
    match = re.search(r"^version(?:_info)?\s*=\s*(\d+\.\d+)", (venv / "pyvenv.cfg").read_text(), re.MULTILINE)
    return match[1] if match else "of unknown version"


_OF_ENVIRONMENT = frozenset({"bin", "include", "lib", "lib64", "share", "pyvenv.cfg", ".gitignore"})


def remove(venv: Path) -> None:
    """Remove the environment, or only the link if it is a symbolic link.

    Raises `ChoreError` for a folder that is no environment, not even one whose creation was killed.
    """
    if venv.is_symlink():
        venv.unlink()
        return
    others = sorted(path.name for path in venv.iterdir() if path.name not in _OF_ENVIRONMENT)
    if others and not (venv / "pyvenv.cfg").is_file():
        raise ChoreError(
            f"{venv} is not a Python environment: it has {', '.join(others[:5])}. Move it away, then run the "
            "same command again."
        )
    shutil.rmtree(venv)


def _create(layout: Layout, step: Step, environ: Mapping[str, str]) -> None:
    base = getattr(sys, "_base_executable", None) or sys.executable
    step.progress(f"creating .venv with {base}")
    run_quietly(
        [base, "-I", "-m", "venv", layout.venv],
        cwd=layout.root,
        env=_environment(environ),
        failure="The environment .venv cannot be created",
        remedy="On Debian and Ubuntu: sudo apt-get install python3-venv",
    )


def _install(layout: Layout, lock: Path, step: Step, environ: Mapping[str, str], uv: Uv | None) -> None:
    total, seen = count_requirements(lock), 0

    def on_line(line: str) -> None:
        nonlocal seen
        if line.startswith("Collecting "):
            seen += 1
            step.progress(f"fetching {line.split()[1].partition('=')[0]}, {seen} of {total}")
        elif line.startswith("Installing collected packages"):
            step.progress("installing what was fetched")

    step.progress(f"installing {total} packages from {lock.name}")
    # Compiling would take most of the time, and most modules are never imported (pulumi-gcp is large).
    wanted = ("--require-hashes", "--no-deps", "-r", lock)
    if not _install_with_uv(layout, step, uv, *wanted):
        _pip(layout, environ, on_line, *wanted, "--no-compile")


def _install_clone(layout: Layout, step: Step, environ: Mapping[str, str], uv: Uv | None) -> None:
    step.progress("installing this clone's own packages")
    editable = [word for folder in layout.distributions for word in ("--editable", folder)]
    wanted = ("--no-deps", "--no-build-isolation", *editable)
    if not _install_with_uv(layout, step, uv, *wanted):
        _pip(layout, environ, None, *wanted)


def _uv(layout: Layout, step: Step, environ: Mapping[str, str]) -> Uv | None:
    """Return uv with its environment, or None where pip has to install the packages."""
    own = _environment(environ)
    try:
        program = uv.ensure(layout, layout.python, own)
        return program, uv.environment(layout, layout.python, own)
    except (ChoreError, OSError) as error:
        step.note(f"pip installs the packages, which takes longer: {' '.join(str(error).split())}")
        return None


def _install_with_uv(layout: Layout, step: Step, uv: Uv | None, *arguments: str | Path) -> bool:
    """Install with uv. Return False if that is not possible here: pip reports why, if it fails, too."""
    if uv is None:
        return False
    program, env = uv
    try:
        run_quietly(
            [program, "pip", "install", "--python", layout.python, *arguments],
            cwd=layout.root,
            env=env,
            failure="uv could not install the packages",
            tail=2,
        )
    except ChoreError as error:
        step.note(f"pip installs the packages, which takes longer: {' '.join(str(error).split())}")
        return False
    return True


def _pip(
    layout: Layout, environ: Mapping[str, str], on_line: Callable[[str], None] | None, *arguments: str | Path
) -> None:
    flags = ["--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    run_quietly(
        [layout.python, "-I", "-m", "pip", "install", *flags, *arguments],
        cwd=layout.root,
        env=_environment(environ),
        on_line=on_line,
        failure="The Python packages cannot be installed",
        remedy=_OFFLINE,
    )


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment. It keeps pip's variables, such as the package index."""
    return {name: value for name, value in environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}


def _digest(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise ChoreError(
                f"{path} cannot be read: {error.strerror}. Restore it with `git checkout {path}`."
            ) from error
    return digest.hexdigest()


def _stamp_file(venv: Path) -> Path:
    return venv / "installed.json"
