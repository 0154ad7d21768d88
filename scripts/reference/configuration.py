"""The page of the stack's configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pulumi_vertex_training.configuration_keys import KEYS
from scripts.reference.markdown import HEADER, REFERENCE, code, linked, table

PAGE = REFERENCE / "configuration.md"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page."""
    yield PAGE, "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    yield f"{HEADER}# Stack configuration"
    yield (
        "The keys that this package reads. All of them are optional. A wrong value fails the preview with a\n"
        "message that names the key and the command that corrects it. For keys of your own program, see\n"
        "[`read_configuration`](functions.md#read_configuration)."
    )
    rows = [(f"`{key.name}`", key.type, key.default, key.effect) for key in KEYS]
    yield table(PAGE, ("key", "type", "default", "effect"), rows).rstrip("\n")
    yield "## Examples"
    yield code("\n".join(_commands()), "sh")
    yield linked(
        PAGE,
        "Add `--stack NAME` for another stack than the selected one. For one shell, see\n"
        "[Environment variables](environment-variables.md).",
    )


def _commands() -> Iterator[str]:
    """Yield the command that sets each key."""
    for key in KEYS:
        if key.value is not None:
            named = key.value if key.value.startswith("--path") else f"{key.name} {key.value}"
            yield f"pulumi config set {named}"
