"""The chore `plugin`: install what Pulumi programs in YAML and other languages need in this clone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from scripts import environment
from scripts.layout import Layout
from scripts.processes import run_quietly
from scripts.pulumi_cli import building, installed
from scripts.pulumi_cli.installed import PulumiCli
from scripts.report import ChoreError, Report
from scripts.setup import python_packages
from scripts.tools import client_tools


def install(layout: Layout, report: Report, *, environ: Mapping[str, str] = os.environ) -> int:
    """Install the plugin for the shell of `source ./activate`, and the host of YAML if the CLI lacks it."""
    python_packages.ensure(layout, report, development=False)
    cli = installed.ensure(layout, report, environ=environ)
    _ensure_yaml_host(layout, report, cli, environ)
    with report.step("Plugin") as step:
        command: list[str | Path] = [layout.venv / "bin" / "vertex-training", "plugin", "install"]
        run_quietly(
            command,
            cwd=layout.root,
            env=environment.pulumi_environment(layout, cli, environ=environ),
            failure="The plugin vertex-training cannot be installed",
        )
        step.done("installed")
    report.line(
        "In your shell: source ./activate, then pulumi in the folder of a program, such as examples/yaml"
    )
    return 0


def _ensure_yaml_host(layout: Layout, report: Report, cli: PulumiCli, environ: Mapping[str, str]) -> None:
    """Put the host next to a CLI of ours, where Pulumi looks first. Raises ChoreError if it is not built."""
    name = building.YAML_HOST
    host = cli.folder / name
    if not cli.ours or host.exists():
        return
    client_tools.ensure_yaml_host(layout, report, environ=environ)
    built = client_tools.yaml_host(layout) / name
    if built.exists():
        unfinished = host.with_name(f".new-{os.getpid()}")
        unfinished.hardlink_to(built)
        unfinished.replace(host)
    elif shutil.which(name, path=environ.get("PATH", os.defpath)) is None:
        raise ChoreError(
            f"Programs in YAML need {name}, which the Pulumi CLI in {cli.folder} lacks. Install Go "
            f"{building.GO_VERSION} or newer and run `make plugin` again, or install the Pulumi CLI: "
            "https://www.pulumi.com/docs/install/"
        )
