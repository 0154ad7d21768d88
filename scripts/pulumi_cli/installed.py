"""Find the user's own Pulumi CLI, or download or build one in the user's cache folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import alone
from scripts.pulumi_cli import building, download
from scripts.pulumi_cli.download import PINNED, NotObtainedError, Release
from scripts.report import ChoreError, Report, Step

MINIMUM = (3, 216, 0)
"""First version that takes a resource's inputs from a refresh, which shows drift as property lines."""

COMPANIONS = ("pulumi-language-python", "pulumi-resource-pulumi-python")
"""Programs that dynamic resources in Python need, next to the CLI or on PATH."""


@dataclass(frozen=True, kw_only=True)
class PulumiCli:
    """A usable CLI. `ours` means that it is in the cache folder and must be put on PATH."""

    folder: Path
    version: str
    ours: bool

    @property
    def program(self) -> Path:
        return self.folder / "pulumi"


def ensure(
    layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ, release: Release = PINNED
) -> PulumiCli:
    """Find the CLI, or download it, or build it. Raises ChoreError, which lists the remedies."""
    with report.step("Pulumi CLI") as step:
        cli, reason = search(layout, environ, release=release)
        if cli:
            if cli.ours:
                building.complete(cli.folder)
            step.done("up to date" if cli.ours else f"{cli.version} on PATH", idle=True)
            return cli
        if reason:
            step.note(reason)
        with alone(layout.cache / "lock", step):
            for unfinished in layout.cache.glob(".new-*"):  # left by a killed build
                shutil.rmtree(unfinished, ignore_errors=True)
            cli, _ = search(layout, environ, release=release)
            if not cli:
                cli = _obtain(layout, step, environ, release, [reason or "pulumi is not on PATH"])
        return cli


def find(layout: Layout, environ: Mapping[str, str] = os.environ) -> PulumiCli | None:
    """Return an existing CLI, or None. Downloads and builds nothing."""
    return search(layout, environ)[0]


def search(
    layout: Layout, environ: Mapping[str, str], *, release: Release = PINNED
) -> tuple[PulumiCli | None, str]:
    """Return an existing CLI or None, and why the one on PATH is not used, else ""."""
    own, reason = _on_path(layout, environ)
    if own:
        return own, ""
    folder = folder_of(layout.cache, release.version)
    if (folder / "pulumi").exists():
        return PulumiCli(folder=folder, version=release.version, ours=True), reason
    return None, reason


def folder_of(cache: Path, version: str) -> Path:
    return cache / f"pulumi-{version}" / "bin"


def parse_version(text: str) -> tuple[int, int, int] | None:
    """Parse `v3.259.0` or `3.260.0-alpha.1`. Return None for other texts: unstamped builds print nothing."""
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", text.strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _on_path(layout: Layout, environ: Mapping[str, str]) -> tuple[PulumiCli | None, str]:
    path = environ.get("PATH", os.defpath)
    found = shutil.which("pulumi", path=path)
    if found is None or layout.cache.resolve() in Path(found).resolve().parents:
        return None, ""
    program = Path(found)
    version = _version_of(program, layout, environ)
    number = parse_version(version)
    if number is None:
        return None, f"{program} does not print its version, so it is not used"
    if number < MINIMUM:
        needed = ".".join(map(str, MINIMUM))
        return None, f"{program} is version {version}, older than {needed}, so it is not used"
    folders = os.pathsep.join([str(program.parent), str(program.resolve().parent), path])
    missing = [name for name in COMPANIONS if not shutil.which(name, path=folders)]
    if missing:
        return None, f"{program} lacks {' and '.join(missing)}, so it is not used"
    return PulumiCli(folder=program.parent, version=version, ours=False), ""


def _version_of(program: Path, layout: Layout, environ: Mapping[str, str]) -> str:
    """Return the program's version, from a cache if the file is unchanged: running it takes 0.2 s."""
    status = program.resolve().stat()
    key = [str(program.resolve()), status.st_size, status.st_mtime_ns]
    cache = layout.local / "pulumi-on-path.json"
    try:
        cached = json.loads(cache.read_text())
        if cached["key"] == key:
            return str(cached["version"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    version = _ask_version(program, layout, environ)
    layout.local.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"key": key, "version": version}) + "\n")
    return version


def _ask_version(program: Path, layout: Layout, environ: Mapping[str, str]) -> str:
    env = {**environ, "PULUMI_HOME": str(layout.pulumi_home), "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(  # noqa: S603
            [program, "version"],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip().removeprefix("v")


def _obtain(
    layout: Layout, step: Step, environ: Mapping[str, str], release: Release, reasons: list[str]
) -> PulumiCli:
    ways: tuple[Callable[[Path], None], ...] = (
        lambda into: download.install(into, step, environ, release=release),
        lambda into: building.install(into, layout.cache, layout.tools, step, environ),
    )
    for install in ways:
        with tempfile.TemporaryDirectory(prefix=".new-", dir=layout.cache) as temporary:
            try:
                folder = Path(temporary, f"pulumi-{release.version}")
                (folder / "bin").mkdir(parents=True)
                install(folder / "bin")
                shutil.rmtree(layout.cache / folder.name, ignore_errors=True)
                folder.rename(layout.cache / folder.name)
            except NotObtainedError as error:
                step.note(str(error))
                reasons.append(str(error))
                continue
        cli = folder_of(layout.cache, release.version)
        step.done(f"{release.version}, {cli}")
        return PulumiCli(folder=cli, version=release.version, ours=True)
    raise ChoreError(
        "\n".join(["The Pulumi CLI cannot be set up:", *(f"  - {reason}" for reason in reasons), REMEDY])
    )


REMEDY = f"""Do one of these, then run the command again:
  - install the Pulumi CLI, 3.216 or newer
      macOS: brew install pulumi/tap/pulumi
      Linux: curl -fsSL https://get.pulumi.com | sh
  - install Go {building.GO_VERSION} or newer, and the CLI is built from Go modules
      macOS: brew install go
      Linux: https://go.dev/dl/ (distributions often have an older one)"""
