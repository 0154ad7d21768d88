"""Programs of tests that use Google's libraries for Go, Java and Node, from tools/google-clients.

They are cached by the content of that folder. Without the language's tools, or without a network, one is
reported as missing, and its test is skipped.
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

GO = "google-client-go"
JAVA = "google-client-java"
NODE = "google-client-node"


_SOURCES = {
    GO: ("go.mod", "go.sum", "jobs.go", "main.go"),
    JAVA: ("Main.java", "pom.xml"),
    NODE: ("main.js", "package-lock.json", "package.json"),
}


def program(layout: Layout, name: str) -> Path:
    """Return the path of a program in the cache."""
    digest = hashlib.sha256()
    for source in _SOURCES[name]:
        digest.update(source.encode() + b"\0" + (_source(layout) / source).read_bytes())
    return layout.cache / f"{name}-{digest.hexdigest()[:12]}" / name


def ensure(layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ) -> None:
    """Build and install the missing programs as far as possible."""
    with report.step("Google's clients") as step:
        if not _missing(layout):
            step.done("up to date", idle=True)
            return
        with alone(layout.cache / "google-clients.lock", step):
            for name in _missing(layout):
                target = program(layout, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                try:
                    _INSTALL[name](_source(layout), target, step, environ)
                except (ChoreError, OSError) as error:
                    step.note(f"{name} could not be installed: {error}")
        left = _missing(layout)
        step.done(f"without {', '.join(left)}" if left else "installed")


def _missing(layout: Layout) -> list[str]:
    return [name for name in _SOURCES if not program(layout, name).exists()]


def _source(layout: Layout) -> Path:
    return layout.tools / "google-clients"


def _build(source: Path, target: Path, step: Step, environ: Mapping[str, str]) -> None:
    go = shutil.which("go", path=environ.get("PATH"))
    if go is None:
        step.note(f"{GO}: Go is needed to build it. Install Go")
        return
    step.progress("building the client in Go")
    unfinished = target.with_name(".new")
    env = go_caches.environment_of_tools(target.parents[1], environ)  # the cache folder
    run_quietly((go, "build", "-o", str(unfinished), "."), cwd=source, env=env)
    unfinished.replace(target)


def _install(source: Path, target: Path, step: Step, environ: Mapping[str, str]) -> None:
    npm = shutil.which("npm", path=environ.get("PATH"))
    if npm is None:
        step.note(f"{NODE}: npm is needed to install it. Install Node")
        return
    step.progress("installing Google's libraries for Node")
    _copy(source, target, NODE)
    run_quietly((npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"), cwd=target.parent, env=environ)
    _write_script(target, 'exec node "$here/main.js"')


def _compile(source: Path, target: Path, step: Step, environ: Mapping[str, str]) -> None:
    maven, compiler = (shutil.which(name, path=environ.get("PATH")) for name in ("mvn", "javac"))
    if maven is None or compiler is None:
        step.note(f"{JAVA}: a JDK and Maven are needed to build it. Install both")
        return
    step.progress("installing Google's libraries for Java")
    _copy(source, target, JAVA)
    libraries = (maven, "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib")
    run_quietly(libraries, cwd=target.parent, env=environ)
    run_quietly((compiler, "-cp", "lib/*", "-d", "classes", "Main.java"), cwd=target.parent, env=environ)
    _write_script(target, 'exec java -cp "$here/classes:$here/lib/*" Main "$@"')


_INSTALL = {GO: _build, JAVA: _compile, NODE: _install}


def _copy(source: Path, target: Path, program: str) -> None:
    for name in _SOURCES[program]:
        shutil.copyfile(source / name, target.with_name(name))


def _write_script(path: Path, command: str) -> None:
    unfinished = path.with_name(".new.sh")
    unfinished.write_text(f'#!/bin/sh\nhere=$(dirname "$0")\n{command}\n')
    unfinished.chmod(0o755)
    unfinished.replace(path)
