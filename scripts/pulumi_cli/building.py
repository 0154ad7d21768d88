"""Build the Pulumi CLI from Go modules, for machines that reach package registries but not Pulumi's site.

The version is the one of the release (`pulumi_release`).

`go install module@version` fails because the CLI's go.mod has replace lines. So tools/ has two small modules
that name the CLI and the Python language host as tools. They cannot be one module: the last version of the
language host in a published module (sdk v3.79.0) is older than the CLI. A third one names the host of
programs in YAML, which tests need and the download of the CLI has.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.processes import run_quietly
from scripts.pulumi_cli.download import POLICIES, VERSION, NotObtainedError
from scripts.report import ChoreError, Step
from scripts.tools import go_caches

LANGUAGE_HOST_VERSION = "3.79.0"
YAML_HOST = "pulumi-language-yaml"
YAML_HOST_VERSION = "1.38.1"
GO_VERSION = "1.25.11"
"""Version in tools/pulumi-cli/go.mod. Go 1.21 or newer downloads it, unless GOTOOLCHAIN forbids that."""

_CLI = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
_LANGUAGE_HOST = "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"
_YAML_HOST = f"github.com/pulumi/pulumi-yaml/cmd/{YAML_HOST}"
_SDK = "github.com/pulumi/pulumi/sdk/v3"
_VERSION_SYMBOL = f"{_SDK}/go/common/version.Version"
_SCRIPTS = ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python")
"""Files of the SDK's module that must be next to the language host."""

LANGUAGE_HOST = "pulumi-language-python"
_BUILT_HOST = Path("built", LANGUAGE_HOST)
"""The host keeps its name, by which its process is found after a kill."""
_HOST_SCRIPT = Path(__file__).with_name("language-host.sh")
"""The program that the CLI starts as language host. It starts the one that was built."""

_DURATION = "5 to 10 minutes on two cores"
_FETCHING = "go: downloading "
_OFFLINE = (
    "If the module proxy cannot be reached, set GOPROXY, or install the CLI: "
    "https://www.pulumi.com/docs/install/"
)


def install(
    into: Path, cache: Path, tools: Path, step: Step, environ: Mapping[str, str] = os.environ
) -> None:
    """Build CLI and language host into the empty folder `into`, and delete the caches of the build.

    Raises NotObtainedError without a suitable Go, and ChoreError if the build fails: then the caches stay for
    the next one.
    """
    go = shutil.which("go", path=environ.get("PATH", os.defpath))
    if go is None:
        raise NotObtainedError("it cannot be built: go is not on PATH")
    env = go_caches.environment(cache, environ)
    cli, host = tools / "pulumi-cli", tools / "pulumi-language-python"
    step.progress("asking Go for its version")
    try:
        version = run_quietly([go, "env", "GOVERSION"], cwd=cli, env=env, failure="Go is not usable", tail=2)
    except ChoreError as error:
        go_caches.delete(cache)
        raise NotObtainedError(
            f"it cannot be built: Go {GO_VERSION} or newer is needed. {_one_line(error)}"
        ) from error
    step.note(f"building {VERSION} with {version.removeprefix('go')}, once for all clones: {_DURATION}")
    packages = _packages(go, host, _LANGUAGE_HOST, step, env) | _packages(go, cli, _CLI, step, env)
    compiled = _Compiled(step=step, total=len(packages))
    _build(go, host, _LANGUAGE_HOST, LANGUAGE_HOST_VERSION, into, compiled, env)
    _build(go, cli, _CLI, VERSION, into, compiled, env)
    step.progress("copying the Python side")
    sdk = run_quietly(
        [go, "list", "-m", "-f", "{{.Dir}}", _SDK],
        cwd=cli,
        env=env,
        failure="The folder of the SDK's module cannot be found",
    )
    for name in _SCRIPTS:
        source = Path(sdk.strip()) / name
        shutil.copyfile(source, into / source.name)
        (into / source.name).chmod(0o755)
    complete(into)
    step.progress("deleting the caches of the build")
    go_caches.delete(cache)


def complete(folder: Path) -> None:
    """Put the script before the language host, also in a folder that an earlier version has built.

    A release that was downloaded stays as it is: it has the program of policies, which a build lacks.
    """
    script, host = folder / LANGUAGE_HOST, folder / _BUILT_HOST
    if (folder / POLICIES).exists() or not script.exists():
        return
    text = _HOST_SCRIPT.read_bytes()
    if not host.exists():
        host.parent.mkdir(exist_ok=True)
        host.hardlink_to(script)
    elif script.read_bytes() == text:
        return
    # Another process may start the host meanwhile, so a name always has a whole program.
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as unfinished:
        new = Path(unfinished, LANGUAGE_HOST)
        new.write_bytes(text)
        new.chmod(0o755)
        new.replace(script)


def install_yaml_host(
    into: Path, cache: Path, tools: Path, step: Step, environ: Mapping[str, str] = os.environ
) -> None:
    """Build the host of programs in YAML into a folder, and delete the caches of the build.

    If a program of `make tools` was built, the caches stay. Raises ChoreError.
    """
    go = shutil.which("go", path=environ.get("PATH", os.defpath))
    if go is None:
        raise ChoreError(f"Go {GO_VERSION} or newer is needed to build it. Install Go, or the Pulumi CLI")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as unfinished:
        folder, env = Path(unfinished), go_caches.environment(cache, environ)
        compiled = _Compiled(step=step)
        _build(go, tools / YAML_HOST, _YAML_HOST, YAML_HOST_VERSION, folder, compiled, env)
        (folder / YAML_HOST).replace(into / YAML_HOST)
    step.progress("deleting the caches of the build")
    go_caches.delete(cache)


@dataclass(kw_only=True)
class _Compiled:
    """Counts compiled packages, and shows the count; `total` is 0 where some may be in the caches already."""

    step: Step
    total: int = 0
    count: int = 0

    def add(self, program: str) -> None:
        self.count += 1
        of = f" of {self.total:,}" if self.total else ""
        self.step.progress(f"building {program}: {self.count:,}{of} packages")


def _packages(go: str, module: Path, package: str, step: Step, env: Mapping[str, str]) -> set[str]:
    """Fetch the modules of a program, and return its packages, each with the version of its module."""
    listed = "{{.ImportPath}}{{with .Module}}@{{.Version}}{{end}}"
    printed = run_quietly(
        [go, "list", "-deps", "-f", listed, package],
        cwd=module,
        env=env,
        on_line=lambda line: (
            step.progress(f"fetching {line.removeprefix(_FETCHING)}") if line.startswith(_FETCHING) else None
        ),
        failure="The modules cannot be fetched",
        remedy=_OFFLINE,
    )
    return {line for line in printed.splitlines() if not line.startswith("go: ") and line != "unsafe"}


def _build(
    go: str, module: Path, package: str, version: str, into: Path, compiled: _Compiled, env: Mapping[str, str]
) -> None:
    program = package.rpartition("/")[2]

    def on_line(line: str) -> None:
        if line.startswith(_FETCHING):
            compiled.step.progress(f"building {program}: {line.removeprefix('go: ')}")
        elif re.fullmatch(r"[\w./~-]+", line):
            compiled.add(program)

    compiled.step.progress(f"building {program}")
    stamp = f"-s -w -X {_VERSION_SYMBOL}=v{version}"
    run_quietly(
        [go, "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", into / program, package],
        cwd=module,
        env=env,
        on_line=on_line,
        failure=f"{program} {version} cannot be built",
        remedy=_OFFLINE,
    )


def _one_line(error: ChoreError) -> str:
    return " ".join(str(error).replace("  | ", "").split())
