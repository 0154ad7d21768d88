"""`make plugin`: after it, a shell of `source ./activate` runs programs in YAML."""

from __future__ import annotations

import dataclasses
import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts import environment, plugin
from scripts.layout import Layout
from scripts.layout import layout as clone_layout
from scripts.pulumi_cli import building, installed
from scripts.pulumi_cli.download import PINNED
from scripts.report import ChoreError, Report
from scripts.tools import client_tools

YAML = """
name: first
runtime: yaml
resources:
  data:
    type: vertex-training:StagingBucket
outputs:
  name: ${data.name}
"""


def link_or_copy(source: str, target: str) -> None:
    """Link a file of 100 MB, or copy it to another file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a user without a Pulumi CLI, state and configuration."""
    kept = [part for part in os.environ["PATH"].split(":") if not (Path(part) / "pulumi").exists()]
    return {"PATH": ":".join(kept), "HOME": str(tmp_path / "home")}


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> Layout:
    """Return this clone with a state and a cache of its own: a built CLI without the host of YAML."""
    whole = clone_layout(root=root)
    cli, host = installed.folder_of(whole.cache, PINNED.version), client_tools.yaml_host(whole)
    if not (cli / "pulumi").exists() or not (host / building.YAML_HOST).exists():
        pytest.skip("the Pulumi CLI is the user's own, or `make tools` has built no host of YAML")
    for folder in cli, host:
        shutil.copytree(
            folder,
            tmp_path / "cache" / folder.relative_to(whole.cache),
            copy_function=link_or_copy,
            ignore=shutil.ignore_patterns(building.YAML_HOST) if folder == cli else None,
        )
    return dataclasses.replace(whole, local=tmp_path / "local", cache=tmp_path / "cache")


def test_a_program_in_yaml_runs_after_one_command(
    clone: Layout, report: Report, printed: io.StringIO, environ: dict[str, str], tmp_path: Path
) -> None:
    assert plugin.install(clone, report, environ=environ) == 0
    assert "source ./activate" in printed.getvalue()
    cli = installed.ensure(clone, report, environ=environ)
    shell = environment.pulumi_environment(clone, cli, environ=environ)
    folder = tmp_path / "first"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text(YAML)
    for command in ("stack init local", "preview --non-interactive"):
        ran = subprocess.run(
            ["pulumi", *command.split()], cwd=folder, env=shell, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "vertex-training:index:StagingBucket data create" in ran.stdout
    assert "warning" not in ran.stdout + ran.stderr
    assert plugin.install(clone, report, environ=environ) == 0  # again, as after an upgrade


def test_a_host_that_cannot_be_built_is_named_with_the_remedy(
    clone: Layout, report: Report, environ: dict[str, str], tmp_path: Path
) -> None:
    shutil.rmtree(client_tools.yaml_host(clone))
    tools = tmp_path / "bin"
    tools.mkdir()
    environ["PATH"] = str(tools)  # without Go
    with pytest.raises(
        ChoreError, match="Programs in YAML need pulumi-language-yaml, which the Pulumi CLI in"
    ) as e:
        plugin.install(clone, report, environ=environ)
    assert "run `make plugin` again" in str(e.value)
