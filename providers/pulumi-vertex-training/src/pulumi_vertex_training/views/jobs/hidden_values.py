"""Hide the values of environment variables in what the service returns.

The service does not know which of them Pulumi holds as secrets, and returns all of them as plain text.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from vertex_training.job.checkpoints import VARIABLE, lineage_of

SHOWN = "[secret]"
NOTE = f"Values of environment variables are printed as {SHOWN}. To print them, add --show-secrets."


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `--show-secrets`."""
    parser.add_argument(
        "--show-secrets", action="store_true", help="print the values of environment variables"
    )


def without_values(wire: Mapping[str, Any], *, show: bool) -> dict[str, Any]:
    """Return a resource in its JSON form with hidden values, or unchanged with `show`."""
    return dict(wire) if show else {key: _hidden(key, value) for key, value in wire.items()}


def has_values(wire: Mapping[str, Any]) -> bool:
    """Return whether the resource has environment variables whose values would be hidden."""
    return without_values(wire, show=False) != wire


def _hidden(key: str, value: object) -> Any:
    if isinstance(value, Mapping):
        return {inner: _hidden(inner, item) for inner, item in value.items()}
    if isinstance(value, list):
        variables = key == "env"
        return [_without_value(item) if variables else _hidden("", item) for item in value]
    return value


def _without_value(variable: object) -> Any:
    if not isinstance(variable, Mapping) or not variable.get("value"):
        return variable
    if variable.get("name") == VARIABLE and lineage_of(str(variable["value"])):
        return variable  # the folder of checkpoints that the run chose
    return {**variable, "value": SHOWN}
