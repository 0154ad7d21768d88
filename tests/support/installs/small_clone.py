"""A clone with a small program, on which the real Pulumi CLI runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from scripts import environment, stack
from scripts.layout import Layout
from scripts.layout import layout as layout_of
from scripts.pulumi_cli import installed


def clone_with(program: str, *, layout: Layout, root: Path) -> stack.Ready:
    """Set up a clone with this program and the settings of the one at `root`. Return its CLI."""
    cli = installed.find(layout_of(root=root))
    assert cli, "the Pulumi CLI is not set up: make setup"
    for name in ("Pulumi.yaml", "Pulumi.local.yaml"):
        shutil.copy(root / name, layout.root)
    (layout.root / "infra").mkdir()
    (layout.root / "infra" / "__main__.py").write_text(program)
    (layout.root / ".venv").symlink_to(sys.prefix)
    return stack.Ready(cli=cli, env=environment.pulumi_environment(layout, cli))


def pulumi(
    layout: Layout,
    ready: stack.Ready,
    *words: str,
    check: bool = True,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run the CLI. Return its output."""
    done = subprocess.run(
        [ready.cli.program, *words, "--non-interactive"],
        cwd=layout.root,
        env={**ready.env, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert not check or done.returncode == 0, done.stdout
    return done.stdout
