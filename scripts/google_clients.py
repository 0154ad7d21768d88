"""Programs of tests that use Google's libraries for Go and Node, from tools/google-clients.

They are cached by the content of that folder. Without Go or npm, or without a network, one is reported as
missing, and its test is skipped.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import alone, run_quietly
from scripts.report import ChoreError, Report, Step

GO = "google-client-go"
NODE = "google-client-node"


def folder(layout: Layout) -> Path:
    """Return the folder of the programs in the cache."""
    digest = hashlib.sha256()
    for path in sorted(_source(layout).iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return layout.cache / f"google-clients-{digest.hexdigest()[:12]}"


def ensure(layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ) -> None:
    """Build and install the missing programs as far as possible."""
    with report.step("Google's clients") as step:
        target = folder(layout)
        if not _missing(target):
            step.done("up to date", idle=True)
            return
        with alone(layout.cache / "google-clients.lock", step):
            target.mkdir(parents=True, exist_ok=True)
            for name in _missing(target):
                try:
                    (_build if name == GO else _install)(layout, target, step, environ)
                except (ChoreError, OSError) as error:
                    step.note(f"{name} could not be installed: {error}")
        left = _missing(target)
        step.done(f"without {', '.join(left)}" if left else "installed")


def _missing(target: Path) -> list[str]:
    return [name for name in (GO, NODE) if not (target / name).exists()]


def _source(layout: Layout) -> Path:
    return layout.tools / "google-clients"


def _build(layout: Layout, target: Path, step: Step, environ: Mapping[str, str]) -> None:
    go = shutil.which("go", path=environ.get("PATH"))
    if go is None:
        step.note(f"{GO}: Go is needed to build it. Install Go")
        return
    step.say("building the client in Go")
    unfinished = target / ".new"
    _run((go, "build", "-o", str(unfinished), "."), environ, cwd=_source(layout))
    unfinished.replace(target / GO)


def _install(layout: Layout, target: Path, step: Step, environ: Mapping[str, str]) -> None:
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        step.note(f"{NODE}: npm is needed to install it. Install Node")
        return
    step.say("installing Google's libraries for Node")
    for name in ("package.json", "package-lock.json", "main.js"):
        shutil.copyfile(_source(layout) / name, target / name)
    _run((npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"), environ, cwd=target)
    unfinished = target / ".new.sh"
    unfinished.write_text('#!/bin/sh\nexec node "$(dirname "$0")/main.js"\n')
    unfinished.chmod(0o755)
    unfinished.replace(target / NODE)


def _run(command: tuple[str, ...], env: Mapping[str, str], *, cwd: Path) -> None:
    run_quietly(command, cwd=cwd, env=env, on_line=lambda _: None, failure=" ".join(command[:2]))
