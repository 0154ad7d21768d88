"""Install a generator of SDKs and Pulumi's SDK for Node, for tests of programs in TypeScript and Go.

The language hosts of Pulumi's download, which generate SDKs, are in no Go module. Without Go or npm, or
without a network, a part is reported as missing, and its tests are skipped.
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
from scripts.tools import go_caches

GENERATOR = "pulumi-sdk"
_SOURCES = {GENERATOR: ("main.go", "go.mod", "go.sum"), "pulumi-node": ("package.json", "package-lock.json")}


def generator(layout: Layout) -> Path:
    """Return the path of the generator: a program that writes the SDKs of a schema into a folder."""
    return _folder(layout, GENERATOR) / GENERATOR


def node_modules(layout: Layout) -> Path:
    """Return the folder with Pulumi's SDK for Node, and TypeScript."""
    return _folder(layout, "pulumi-node") / "node_modules"


def ensure(layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ) -> None:
    """Build and install what is missing, as far as possible."""
    with report.step("Go and TypeScript") as step:
        if not _missing(layout):
            step.done("up to date", idle=True)
            return
        with alone(layout.cache / "pulumi-languages.lock", step):
            for path in _missing(layout):
                try:
                    _INSTALL[path.name](layout, path, step, environ)
                except (ChoreError, OSError) as error:
                    step.note(f"{path.name} could not be installed: {error}")
        left = [path.name for path in _missing(layout)]
        step.done(f"without {', '.join(left)}" if left else "installed")


def _missing(layout: Layout) -> list[Path]:
    return [path for path in (generator(layout), node_modules(layout)) if not path.exists()]


def _folder(layout: Layout, name: str) -> Path:
    """Return a folder in the cache, by the content of the sources."""
    digest = hashlib.sha256()
    for source in _SOURCES[name]:
        digest.update(source.encode() + b"\0" + (layout.tools / name / source).read_bytes())
    return layout.cache / f"{name}-{digest.hexdigest()[:12]}"


def _build(layout: Layout, target: Path, step: Step, environ: Mapping[str, str]) -> None:
    go = shutil.which("go", path=environ.get("PATH"))
    if go is None:
        raise ChoreError("Go is needed to build it. Install Go")
    step.progress("building the generator of SDKs")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(".new")
    command = (go, "build", "-trimpath", "-buildvcs=false", "-o", str(unfinished), ".")
    env = go_caches.environment_of_tools(layout.cache, environ)
    run_quietly(command, cwd=layout.tools / GENERATOR, env=env)
    unfinished.replace(target)


def _install(layout: Layout, target: Path, step: Step, environ: Mapping[str, str]) -> None:
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        raise ChoreError("npm is needed to install it. Install Node")
    step.progress("installing Pulumi's SDK for Node")
    unfinished = target.parent / ".new"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for source in _SOURCES["pulumi-node"]:
        shutil.copyfile(layout.tools / "pulumi-node" / source, unfinished / source)
    run_quietly((npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"), cwd=unfinished, env=environ)
    (unfinished / "node_modules").replace(target)
    shutil.rmtree(unfinished)


_INSTALL = {GENERATOR: _build, "node_modules": _install}
