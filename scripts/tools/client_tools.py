"""Install third-party programs that tests run: Debian packages, or builds with Go.

A program that cannot be installed is reported with a remedy. Its tests are then skipped, or fail if CI is
set in the environment.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import alone, run_quietly
from scripts.pulumi_cli import building
from scripts.report import ChoreError, Report, Step
from scripts.tools import go_caches

DEBIAN = ("skopeo", "buildah")
"""Programs from Debian packages of the same name."""

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Programs that the dashboard is tested with: that of the Debian package, then those that have windows.

Without windows, a test takes half the processor time.
"""

FONT = "fonts-inter"
"""The Debian package of the font in which pictures of the dashboard are taken, so that all machines agree."""

_FONT_FOLDER = Path("/usr/share/fonts/opentype/inter")
_LOCK_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class GoProgram:
    """A program of a Go module."""

    name: str
    module: str
    version: str
    package: str

    def folder(self, layout: Layout) -> Path:
        """Return the program's own folder in the cache."""
        return layout.cache / f"{self.name}-{self.version}"


GO = (
    GoProgram(name="oras", module="oras.land/oras", version="v1.2.0", package="./cmd/oras"),
    GoProgram(
        name="regctl", module="github.com/regclient/regclient", version="v0.8.0", package="./cmd/regctl"
    ),
    GoProgram(
        name="crane",
        module="github.com/google/go-containerregistry",
        version="v0.20.6",
        package="./cmd/crane",
    ),
    GoProgram(name="act", module="github.com/nektos/act", version="v0.2.89", package="."),
    GoProgram(
        name="actionlint", module="github.com/rhysd/actionlint", version="v1.7.12", package="./cmd/actionlint"
    ),
)


def yaml_host(layout: Layout) -> Path:
    """Return the folder of the host of Pulumi programs in YAML."""
    return layout.cache / f"{building.YAML_HOST}-{building.YAML_HOST_VERSION}"


def path(layout: Layout, before: str) -> str:
    """Return PATH with the folders of the built programs at its end."""
    built = [*(program.folder(layout) for program in GO), yaml_host(layout)]
    return os.pathsep.join([before, *map(str, built)])


def ensure(
    layout: Layout,
    report: Report,
    *,
    environ: Mapping[str, str] = os.environ,
    is_root: bool = os.geteuid() == 0,
) -> None:
    """Install or build the missing programs as far as possible."""
    with report.step("Client tools") as step:
        if not any(_missing(layout, environ)):
            step.done("up to date", idle=True)
            return
        with alone(layout.cache / "client-tools.lock", step):
            packages, programs = _missing(layout, environ)
            if packages:
                install_packages(packages, step, environ, is_root=is_root)
            for program in programs:
                _build(program, layout, step, environ)
        left = [name for missing in _missing(layout, environ) for name in _names(missing)]
        step.done(f"without {', '.join(left)}" if left else "installed")


def ensure_browser(
    layout: Layout,
    report: Report,
    *,
    environ: Mapping[str, str] = os.environ,
    is_root: bool = os.geteuid() == 0,
) -> None:
    """Install Chromium, with which the dashboard is tested, or report why it is missing."""
    with report.step("Chromium") as step:
        if browser(environ):
            step.done("up to date", idle=True)
            return
        with alone(layout.cache / "client-tools.lock", step):
            install_packages(BROWSERS[:1], step, environ, is_root=is_root)
        step.done("installed" if browser(environ) else f"without {BROWSERS[0]}")


def ensure_font(
    layout: Layout,
    report: Report,
    *,
    environ: Mapping[str, str] = os.environ,
    is_root: bool = os.geteuid() == 0,
    folder: Path = _FONT_FOLDER,
) -> None:
    """Install the font of the pictures, or report why it is missing: they are then in another one."""
    with report.step("Font") as step:
        if folder.is_dir():
            step.done("up to date", idle=True)
            return
        with alone(layout.cache / "client-tools.lock", step):
            install_packages((FONT,), step, environ, is_root=is_root)
        step.done("installed" if folder.is_dir() else f"without {FONT}")


def ensure_yaml_host(layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ) -> None:
    """Build the host of Pulumi programs in YAML, or report why it is missing."""
    name = building.YAML_HOST
    with report.step("YAML programs") as step:
        if shutil.which(name, path=path(layout, environ.get("PATH", os.defpath))):
            step.done("up to date", idle=True)
            return
        with alone(layout.cache / "client-tools.lock", step):
            try:
                building.install_yaml_host(yaml_host(layout), layout.cache, layout.tools, step, environ)
            except ChoreError as error:
                step.note(f"{name} could not be built: {error}")
                step.done(f"without {name}")
                return
        step.done("installed")


def browser(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of a browser for the tests of the dashboard, or None."""
    paths = (shutil.which(name, path=environ.get("PATH", os.defpath)) for name in BROWSERS)
    return next(filter(None, paths), None)


def _missing(layout: Layout, environ: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[GoProgram, ...]]:
    search_path = path(layout, environ.get("PATH", os.defpath))
    return (
        tuple(name for name in DEBIAN if shutil.which(name, path=search_path) is None),
        tuple(program for program in GO if shutil.which(program.name, path=search_path) is None),
    )


def _names(missing: tuple[str, ...] | tuple[GoProgram, ...]) -> list[str]:
    return [each if isinstance(each, str) else each.name for each in missing]


def install_packages(
    packages: tuple[str, ...], step: Step, environ: Mapping[str, str], *, is_root: bool
) -> None:
    """Install Debian packages, or note why they are missing."""
    apt = shutil.which("apt-get", path=environ.get("PATH"))
    if apt is None or not is_root:
        how = "as root: apt-get install" if apt else "the packages"
        step.note(f"{', '.join(packages)}: not found. Install {how} {' '.join(packages)}")
        return
    step.progress(f"installing {', '.join(packages)}")
    env = {**environ, "DEBIAN_FRONTEND": "noninteractive"}
    waiting = ("-o", f"DPkg::Lock::Timeout={_LOCK_SECONDS}")
    install = (apt, "install", "-y", "--no-install-recommends", *waiting, *packages)
    try:
        _run(install, env)
    except ChoreError:  # the lists of packages may be missing, or too old
        try:
            _run((apt, "update", *waiting), env)
            _run(install, env)
        except ChoreError as error:
            step.note(str(error))


def _build(program: GoProgram, layout: Layout, step: Step, environ: Mapping[str, str]) -> None:
    go = shutil.which("go", path=environ.get("PATH"))
    if go is None:
        step.note(f"{program.name}: Go is needed to build it. Install Go, or {program.name} itself")
        return
    step.progress(f"building {program.name} {program.version}")
    folder, env = program.folder(layout), go_caches.environment_of_tools(layout.cache, environ)
    try:
        # `go install` would ask for the list of all versions, which not every module proxy provides.
        wanted = f"{program.module}@{program.version}"
        with tempfile.TemporaryDirectory() as elsewhere:
            printed = _run((go, "mod", "download", "-json", wanted), env, cwd=Path(elsewhere))
        source = Path(json.loads(printed[printed.index("{") :])["Dir"])
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / ".new"
        _run((go, "build", "-o", str(unfinished), program.package), env, cwd=source)
        unfinished.replace(folder / program.name)
    except (ChoreError, OSError, ValueError, KeyError) as error:
        step.note(f"{program.name} could not be built: {error}")


def _run(command: tuple[str, ...], env: Mapping[str, str], *, cwd: Path = Path("/")) -> str:
    return run_quietly(command, cwd=cwd, env=env, failure=" ".join(command[:3]))
