"""The settings of a program; all wrong values are reported at once."""

from dataclasses import dataclass

import pulumi

import pulumi_vertex_training as vt


@dataclass(frozen=True, kw_only=True)
class Settings:
    workers: int = vt.setting(2, minimum=0, maximum=100)
    machine_type: str = vt.setting("n1-standard-4")
    api_key: pulumi.Output[str] | None = None


settings = vt.read_configuration(Settings)
if vt.on_google():
    pulumi.log.info(f"{settings.workers} workers in project {vt.project()}, region {vt.location()}")
