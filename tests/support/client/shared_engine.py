"""One Pulumi project, stack and emulator for all tests of a module.

A fixture of the module deploys to it, step by step, and records output and states; each test asserts one
behaviour on the records. The tests deploy nothing, so their order does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.client import engine
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset


@pytest.fixture(scope="module")
def shared_engine(
    template: Path, python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[engine.Engine]:
    """Yield a project whose emulator runs, for the module's deployments."""
    made = engine.copy(template, tmp_path_factory.mktemp("shared") / "project", python=python)
    try:
        launcher.ensure(made.data_dir)
        yield made
    finally:
        if made.data_dir.exists():
            emulator_reset.stop_and_end_jobs(made.data_dir)


def diagnostics(output: str, resource: str = "") -> str:
    """Return the lines at the end of a command's output below a resource, or below all of them.

    Each line appears there once.
    """
    _, _, everything = output.partition("Diagnostics:\n")
    if not resource:
        return everything
    sections = everything.split("\n  pulumi")
    return "\n".join(each for each in sections if f" ({resource}):\n" in f" {each}")


def mentions(output: str, text: str) -> str:
    """Return the lines with `text` at the end of a command's output, whichever resource they are below.

    Lines that a provider prints are below the stack; each begins with the name of its resource.
    """
    return "\n".join(line for line in diagnostics(output).splitlines() if text in line)


def operation(output: str, name: str) -> str:
    """Return the sign of the operation on a custom job, such as `~`; empty if none is listed."""
    resources, _, _ = output.partition("\nDiagnostics:")
    signs = re.findall(rf"^ *([-+~]+) +\S+:CustomJob {name}\b", resources, re.MULTILINE)
    return str(signs[-1]) if signs else ""
