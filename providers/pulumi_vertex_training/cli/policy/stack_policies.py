"""The policy pack that a stack's configuration names, and the file of its settings.

`vertex-training:policyPack` is the folder of the pack, `vertex-training:policyConfig` the file with the
settings, both relative to the folder of Pulumi.yaml.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.cli import pulumi_command
from pulumi_vertex_training.configuration_keys import POLICY_CONFIG, POLICY_PACK
from pulumi_vertex_training.views.failure import InputError
from vertex_training.policy.evaluation import Configuration, configuration_of

PACK = POLICY_PACK.name
SETTINGS = POLICY_CONFIG.name
_LARGEST = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class StackPolicies:
    """The pack of a stack, None if its policies are only shown by `plan`; the file of settings, or None."""

    pack: Path | None = None
    settings: Path | None = None

    @property
    def arguments(self) -> list[str]:
        """The arguments with which the engine enforces the policies, () without a pack."""
        if self.pack is None:
            return []
        settings = ["--policy-pack-config", str(self.settings)] if self.settings is not None else []
        return ["--policy-pack", str(self.pack), *settings]


def policies_of(configuration: Mapping[str, object], folder: Path) -> StackPolicies | None:
    """Return the policies that a stack's configuration names, or None if it names none.

    `folder` is that of Pulumi.yaml, or below it.
    """
    project = pulumi_command.project_file(folder)
    start = project.parent if project is not None else folder
    pack, settings = configuration.get(PACK), configuration.get(SETTINGS)
    if not pack and not settings:
        return None
    return StackPolicies(
        pack=start / str(pack) if pack else None, settings=start / str(settings) if settings else None
    )


def read(file: Path | None) -> Configuration:
    """Read the settings; without a file, all policies are advisory. Raises InputError for no such file."""
    if file is None:
        return configuration_of({})
    try:
        if file.stat().st_size > _LARGEST:
            raise InputError(f"{file} is too large for the settings of policies.", path=SETTINGS)
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"Could not read {file}: {error.strerror}. Run `pulumi config set {SETTINGS} FILE`.",
            path=SETTINGS,
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not a text in UTF-8.", path=SETTINGS) from error
    try:
        document = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}.", path=SETTINGS) from error
    return configuration_of(document)
