"""The page of the stack's configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pulumi_vertex_training.configuration_keys import KEYS
from scripts.reference.markdown import HEADER, REFERENCE, code, items, linked, value_entry

PAGE = REFERENCE / "configuration.md"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of the page."""
    yield PAGE, "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    yield f"{HEADER}# Stack configuration"
    yield (
        "All keys are optional. If a value is wrong, the preview fails, and the message has the command "
        "that corrects it.\n\n"
        "For keys of your own program, see [`read_configuration`](functions.md#read_configuration)."
    )
    entries = [
        value_entry(key.name, key.type, "" if key.default == "none" else key.default, "", key.effect)
        for key in KEYS
    ]
    yield items(PAGE, entries).rstrip("\n")
    yield "## Examples"
    yield code("\n".join(_commands()), "sh")
    yield linked(
        PAGE,
        "For another stack, add `--stack NAME`. For one shell only: "
        "[Environment variables](environment-variables.md).",
    )


def _commands() -> Iterator[str]:
    """Yield the command that sets each key."""
    for key in KEYS:
        if key.value is not None:
            named = key.value if key.value.startswith("--path") else f"{key.name} {key.value}"
            yield f"pulumi config set {named}"
