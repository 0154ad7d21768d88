"""Print the preset of a framework, and what it has chosen for a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vertex_training.command_line.errors import InputError
from vertex_training.command_line.output import Output
from vertex_training.fields.document import json_of
from vertex_training.fields.values import Unknown
from vertex_training.job.framework_choices import Choice, prebuilt_uri, preset_of, roles_of
from vertex_training.topology.presets.launchers import command
from vertex_training.topology.presets.tables import Preset

_DEVICES = {"cpu": "on CPUs", "gpu": "on GPUs", "tpu": "on TPUs"}


def explain_framework(framework: str | None, location: str | None, output: Output) -> int:
    """Print the preset of a framework without a job. Raises InputError if none is named."""
    preset = preset_of(framework)
    if preset is None:
        raise InputError(
            "FILE is missing. Give the file of a job, or --framework NAME to print what a framework chooses.",
            path="FILE",
        )
    if output.as_json:
        output.document({"framework": document(preset, location=location), "errors": []})
        return 0
    output.paragraph(f"framework {preset.name}", style="bold")
    output.pairs(
        [
            *((f"image {_DEVICES[device]}", uri) for device, uri in _images(preset, location).items()),
            *(() if preset.images else (("image", "your own: Google has no prebuilt one"),)),
            *roles_of(preset),
            ("launcher", preset.launcher),
            ("port", preset.port),
            ("the program calls", preset.program),
        ]
    )
    output.section("Variables that the program finds")
    output.pairs(list(preset.variables.items()))
    if preset.has_launcher:
        output.section("To use it")
        output.paragraph(
            f'Declare framework="{preset.name}", leave command out, and begin args with the program: '
            'args=["python3", "-m", "trainer.task"] or ["train.py"]. A field that you give stays as it is. '
            "To read the launcher, add --json.",
            indent=2,
        )
    return 0


def show_choices(preset: Preset, chosen: Sequence[str], output: Output) -> None:
    """Print what a preset has chosen for a job."""
    output.section(f"The preset of {preset.name}")
    for sentence in chosen or (f"framework {preset.name} has nothing to choose for this job.",):
        output.paragraph(sentence, indent=2)
    output.paragraph(f"All of it: vertex-training explain --framework {preset.name}", indent=2, style="dim")


def document(
    preset: Preset,
    choices: Sequence[Choice] = (),
    *,
    location: str | None = None,
    sentences: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a preset and its choices for `--json`."""
    return {
        **json_of(preset, "name port variables program"),
        "images": _images(preset, location),
        "pools": dict(roles_of(preset)),
        "launcher": list(command(preset.name)) if preset.has_launcher else None,
        "choices": [
            {
                "path": one.path,
                "value": None if isinstance(one.value, Unknown) else one.value,
                "what": one.what,
            }
            for one in choices
        ],
        "sentences": list(sentences),
    }


def _images(preset: Preset, location: str | None) -> dict[str, str]:
    return {device: prebuilt_uri(name, location) for device, name in preset.images.items()}
