"""Build the Pulumi CLI from Go modules, for machines that reach package registries but not Pulumi's site.

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
from pathlib import Path

from scripts.processes import run_quietly
from scripts.pulumi_release import NotObtainedError
from scripts.report import ChoreError, Step

VERSION = "3.259.0"
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


def install(into: Path, tools: Path, step: Step, environ: Mapping[str, str] = os.environ) -> None:
    """Build CLI and language host into the empty folder `into`, in 3 to 6 minutes.

    Raises NotObtainedError without a suitable Go, and ChoreError if the build fails.
    """
    go = shutil.which("go", path=environ.get("PATH", os.defpath))
    if go is None:
        raise NotObtainedError("it cannot be built: go is not on PATH")
    env = environment(environ)
    cli, host = tools / "pulumi-cli", tools / "pulumi-language-python"
    step.progress("asking Go for its version")
    try:
        version = run_quietly(
            [go, "env", "GOVERSION"], cwd=cli, env=env, on_line=_ignore, failure="Go is not usable", tail=2
        )
    except ChoreError as error:
        raise NotObtainedError(
            f"it cannot be built: Go {GO_VERSION} or newer is needed. {_one_line(error)}"
        ) from error
    step.note(f"building {VERSION} with {version.removeprefix('go')}, once for all clones: 3 to 6 minutes")
    _build(go, host, _LANGUAGE_HOST, LANGUAGE_HOST_VERSION, into, step, env)
    _build(go, cli, _CLI, VERSION, into, step, env)
    step.progress("copying the Python side")
    sdk = run_quietly(
        [go, "list", "-m", "-f", "{{.Dir}}", _SDK],
        cwd=cli,
        env=env,
        on_line=_ignore,
        failure="The folder of the SDK's module cannot be found",
    )
    for name in _SCRIPTS:
        source = Path(sdk.strip()) / name
        shutil.copyfile(source, into / source.name)
        (into / source.name).chmod(0o755)


def install_yaml_host(into: Path, tools: Path, step: Step, environ: Mapping[str, str] = os.environ) -> None:
    """Build the host of programs in YAML into a folder, in a minute after a build of the CLI.

    Raises ChoreError.
    """
    go = shutil.which("go", path=environ.get("PATH", os.defpath))
    if go is None:
        raise ChoreError(f"Go {GO_VERSION} or newer is needed to build it. Install Go, or the Pulumi CLI")
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as unfinished:
        folder, env = Path(unfinished), environment(environ)
        _build(go, tools / YAML_HOST, _YAML_HOST, YAML_HOST_VERSION, folder, step, env)
        (folder / YAML_HOST).replace(into / YAML_HOST)


def _build(
    go: str, module: Path, package: str, version: str, into: Path, step: Step, env: Mapping[str, str]
) -> None:
    program = package.rpartition("/")[2]
    compiled = 0

    def on_line(line: str) -> None:
        nonlocal compiled
        if line.startswith("go: downloading "):
            step.progress(f"building {program}: {line.removeprefix('go: ')}")
        elif re.fullmatch(r"[\w./~-]+", line):
            compiled += 1
            step.progress(f"building {program}: {compiled} packages compiled")

    step.progress(f"building {program}")
    stamp = f"-s -w -X {_VERSION_SYMBOL}=v{version}"
    run_quietly(
        [go, "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", into / program, package],
        cwd=module,
        env=env,
        on_line=on_line,
        failure=f"{program} {version} cannot be built",
        remedy="If the module proxy cannot be reached, set GOPROXY, or install the CLI: https://www.pulumi.com/docs/install/",
    )


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment without the Go workspace and flags of other projects."""
    return {**environ, "GOFLAGS": "", "GOWORK": "off"}


def _ignore(_line: str) -> None:
    pass


def _one_line(error: ChoreError) -> str:
    return " ".join(str(error).replace("  | ", "").split())
