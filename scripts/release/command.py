"""Build the files of a release, check them, try each wheel alone, and deploy the template with them.

`dist/` then has the sdist and the wheel of each distribution with its bill of materials, the archives of the
plugin for programs in other languages, and the SHA-256 of all files. Publishing them is left to the user.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import run_quietly
from scripts.pulumi_cli import installed
from scripts.pulumi_cli.installed import PulumiCli
from scripts.release import plugin_archives
from scripts.report import Report, Step
from scripts.setup import python_packages

TEMPLATE = Path("templates/vertex-training")
_KEPT = ("PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy", "LANG", "LC_", "TMPDIR")
"""Beginnings of variables that the trial keeps, so that pip finds its index; everything else is empty."""


def release(layout: Layout, report: Report) -> int:
    """Build and check the files of all distributions, then train a model with nothing but the wheels."""
    python_packages.ensure(layout, report, development=True)
    cli = installed.ensure(layout, report)
    dist = layout.root / "dist"
    with report.step("Distributions") as step:
        built = build(layout, dist, step)
        version = wheel_of(built).name.split("-")[1]
        for old in dist.glob("pulumi-resource-*.tar.gz"):
            old.unlink()
        archives = plugin_archives.write(dist, version)
        step.done(f"{len(built) + len(archives)} files in {dist}")
    with report.step("Checks") as step:
        step.progress("checking names, descriptions and contents")
        check(layout, built)
        step.done("passed")
    with report.step("Wheels") as step:
        bills = []
        for name, command in _ALONE.items():
            step.progress(f"trying {name} in an environment of its own")
            bills.append(try_alone(layout, dist, name, command))
        step.done("each works in an environment of its own")
    with trial(cli, wheel_of(built)) as deployment, report.step("Template") as step:
        step.progress("pulumi new: creating a project with an empty home")
        deployment.create()
        step.progress("pulumi up: training on the emulator")
        outputs = deployment.train()
        deployment.remove()
        step.done(outputs)
    files = [*built, *archives, *bills]
    report.line(f"{len(files)} files; their SHA-256 are in {write_sums(files)}")
    return 0


def wheel_of(built: list[Path]) -> Path:
    """Return the wheel of the package among built files."""
    return next(path for path in built if path.name.startswith("pulumi_") and path.suffix == ".whl")


def build(layout: Layout, dist: Path, step: Step) -> list[Path]:
    """Build sdist and wheel of each distribution, from copies of the tracked files."""
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary, "out")
        for folder in layout.distributions:
            step.progress(f"building {folder.name}")
            copy = Path(temporary, folder.name)
            for file in _tracked(folder):
                target = copy / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / file, target)
            shutil.copyfile(layout.root / "LICENSE", copy / "LICENSE")
            # The wheel is built from the sdist, which shows that the sdist is complete.
            _run(layout, [layout.python, "-m", "build", "--no-isolation", "--outdir", out, copy])
        return _replace(dist, sorted(out.iterdir()))


_ALONE = {
    "vertex-cluster": ("-c", "import vertex_cluster; vertex_cluster.from_environment"),
    "vertex-training": ("-c", "import vertex_training.topology, vertex_training.cost"),
    "vertex-emulator": (
        "-c",
        "import vertex_emulator.command.commands, vertex_emulator.daemon.daemon, rich.table",
    ),
    "pulumi-vertex-training": ("-m", "pulumi_vertex_training.cli", "--version"),
}
"""Arguments of Python that succeed if a distribution's wheel and its requirements are complete."""


def try_alone(layout: Layout, dist: Path, name: str, command: Sequence[str]) -> Path:
    """Install a wheel of `dist` into an empty environment, and run a command. Raises ChoreError.

    Return the bill of materials of the wheel, by what was installed.
    """
    with tempfile.TemporaryDirectory() as temporary:
        python = Path(temporary, "bin", "python")
        _run(layout, [layout.python, "-m", "venv", temporary])
        pip: list[str | Path] = [
            python,
            "-I",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]
        installed = Path(temporary, "installed.json")
        _run(layout, [*pip, "--find-links", dist, "--report", installed, name])
        _run(layout, [python, "-I", *command])
        (wheel,) = dist.glob(f"{name.replace('-', '_')}-*.whl")
        return Path(_run(layout, [layout.python, "-m", "scripts.release.sbom", installed, wheel]))


def write_sums(files: Sequence[Path]) -> Path:
    """Write the SHA-256 of files of one folder, as `sha256sum --check` reads them. Return the path."""
    sums = [(hashlib.sha256(file.read_bytes()).hexdigest(), file.name) for file in sorted(files)]
    target = files[0].with_name("SHA256SUMS")
    target.write_text("".join(f"{digest}  {name}\n" for digest, name in sums))
    return target


def _replace(dist: Path, built: list[Path]) -> list[Path]:
    """Move what was built to `dist`, in place of other versions of it. Other files there stay."""
    dist.mkdir(exist_ok=True)
    for name in {file.name.partition("-")[0] for file in built}:
        for old in dist.glob(f"{name}-*"):
            old.unlink()
    return [Path(shutil.move(file, dist / file.name)) for file in built]


def check(layout: Layout, built: list[Path]) -> None:
    """Raise ChoreError if an index would refuse a file."""
    _run(layout, [layout.python, "-m", "twine", "check", "--strict", *built])


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A project made by the template in `folder`, with the environment of a new user."""

    folder: Path
    package: str
    environment: dict[str, str]

    def create(self) -> None:
        """Run `pulumi new`, which creates project, stack and environment."""
        self.run("pulumi", "login", f"file://{self.environment['HOME']}")
        template = Path(__file__).resolve().parents[2] / TEMPLATE
        self.run(
            "pulumi",
            "new",
            str(template),
            "--yes",
            "--name",
            "trial",
            "--stack",
            "local",
            "--config",
            f"package={self.package}",
        )

    def train(self) -> str:
        """Deploy the stack, and return its outputs in one line."""
        self.run("pulumi", "up", "--yes", "--skip-preview")
        outputs = json.loads(self.run("pulumi", "stack", "output", "--json"))
        return ", ".join(
            [outputs["state"], *(f"{name} {value}" for name, value in outputs["metrics"].items())]
        )

    def remove(self) -> None:
        """Delete everything in the stack."""
        self.run("pulumi", "destroy", "--yes", "--skip-preview")

    def run(self, *arguments: str) -> str:
        """Run a command in the project and return its output. Raises ChoreError with its end if it fails."""
        return run_quietly(
            list(arguments),
            cwd=self.folder,
            env=self.environment,
            failure=f"{' '.join(arguments[:2])} failed in a project of the template",
            tail=60,
        )


@contextmanager
def trial(cli: PulumiCli, package: Path | str, *, activated: Path | None = None) -> Iterator[Trial]:
    """Yield a project to be made in an empty folder, with an empty home, state and environment.

    In the shell that it stands for, `activated` is the active virtual environment.
    """
    with tempfile.TemporaryDirectory() as temporary:
        home, folder = Path(temporary, "home"), Path(temporary, "trial")
        home.mkdir()
        folder.mkdir()
        rest = [part for part in os.environ.get("PATH", os.defpath).split(":") if "/.venv/" not in part]
        path = [str((activated or folder / "venv") / "bin"), str(cli.folder), *rest]
        environment = {
            **{name: value for name, value in os.environ.items() if name.startswith(_KEPT)},
            "HOME": str(home),
            # Pulumi finds the user's login by the account, not by HOME.
            "PULUMI_HOME": str(home / ".pulumi"),
            "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR") or str(Path.home() / ".cache" / "pip"),
            "PATH": os.pathsep.join(path),
            **({"VIRTUAL_ENV": str(activated)} if activated else {}),
            "PULUMI_CONFIG_PASSPHRASE": "trial",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        subject = Trial(folder=folder, package=str(package), environment=environment)
        try:
            yield subject
        finally:
            if (folder / "venv" / "bin" / "vertex-training").exists():
                subject.run("vertex-training", "emulator", "stop")


def _tracked(folder: Path) -> list[str]:
    """Return the files below a folder that Git tracks or would track, without those that are deleted."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return [name for name in listed.stdout.split("\0") if name and (folder / name).is_file()]


def _run(layout: Layout, command: list[str | Path]) -> str:
    return run_quietly(command, cwd=layout.root, env=os.environ, failure=f"{command[2]} failed", tail=60)
