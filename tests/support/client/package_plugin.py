"""The plugin of the package in the Pulumi home of a test, and the language host of programs in YAML."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pulumi_vertex_training.plugin_folder import program_of
from scripts.layout import layout
from scripts.tools import client_tools
from support.client.engine import Engine
from support.clients.tools import tool
from support.warm import warm_python


def install_plugin(environment: Mapping[str, str], *, is_cold: bool = False) -> None:
    """Run `vertex-training plugin install`, as a user does.

    Where Pulumi's Python is the warm one, the installed program starts the plugin by a warm one as well,
    unless it `is_cold`. A warm plugin is no child of the engine's command, so it does not find its arguments.
    """
    python = environment.get("PULUMI_PYTHON_CMD", sys.executable)
    command = [python, "-m", "pulumi_vertex_training.cli", "plugin", "install"]
    subprocess.run(command, env=dict(environment), check=True, capture_output=True)
    if python != sys.executable and not is_cold:
        program = program_of(Path(environment["PULUMI_HOME"]))
        program.write_text(program.read_text().replace(sys.executable, str(warm_python.for_plugins())))


def with_plugin(engine: Engine, *, is_cold: bool = False) -> Engine:
    """Return an engine that finds the plugin and runs programs in YAML; skip the test without the host."""
    environment = dict(engine.environment)
    environment["PATH"] = client_tools.path(layout(), environment["PATH"])
    tool("pulumi-language-yaml", path=environment["PATH"])
    install_plugin(environment, is_cold=is_cold)
    return Engine(folder=engine.folder, environment=environment)
