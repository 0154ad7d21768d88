"""The configuration of the training. Pulumi.yaml has the same keys with their descriptions."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi_vertex_training as vt


@dataclass(frozen=True, kw_only=True)
class Settings:
    environment: str | None = vt.setting(
        None,
        pattern=r"[^/\s]+/[^/\s]+/[^/\s]+",
        words="the full name of a stack, ORGANIZATION/PROJECT/STACK",
        example="organization/training-environment/dev",
    )
    workers: int = vt.setting(2, minimum=0, maximum=1000)
    epochs: int = vt.setting(30, minimum=1, maximum=10_000)
    machine_type: str = vt.setting(
        "n1-standard-4", pattern=r"[a-z][a-z0-9]*-[a-z0-9-]+", words="a machine type, such as n1-standard-4"
    )
