"""What every resource class does first: find out where the stack's resources live."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi.runtime import config

from pulumi_vertex_training.plugin import settings
from pulumi_vertex_training.plugin.process import engine_address
from pulumi_vertex_training.plugin.secret_masking import KEY, secret_paths
from pulumi_vertex_training.plugin.settings import Settings
from vertex_emulator import launcher


def stack_settings() -> Settings:
    """The stack's settings. Raises `pulumi.RunError` for a configuration that cannot be used."""
    try:
        return settings.read(config.get_config)
    except settings.SettingsError as error:
        raise pulumi.RunError(str(error)) from None


def start_emulator() -> None:
    """Start the emulator of a stack that lives on it, when this is a deployment.

    How a job stands decides whether it runs again, so somebody has to be there to be asked. A preview starts
    nothing, nor does a program without an engine, as in a unit test. Raises `pulumi.RunError`.
    """
    configured = stack_settings()
    if configured.endpoint == "emulator" and engine_address() and not pulumi.runtime.is_dry_run():
        _start_once(configured)


@functools.lru_cache(maxsize=1)
def _start_once(configured: Settings) -> None:
    try:
        launcher.ensure(configured.data_dir)
    except launcher.LauncherError as error:
        raise pulumi.RunError(str(error)) from None


def on_google() -> bool:
    """Whether the stack's resources live on Google Cloud (`vertex-training:endpoint`)."""
    return stack_settings().endpoint == "google"


def project() -> str:
    """The stack's project id. Raises `pulumi.RunError` where the configuration does not give it."""
    return _required(stack_settings().project, "project", "PROJECT_ID")


def location() -> str:
    """The stack's region. Raises `pulumi.RunError` where the configuration does not give it."""
    return _required(stack_settings().location, "location", "us-central1")


def _required(value: str | None, key: str, example: str) -> str:
    if not value:
        full = f"{settings.NAMESPACE}:{key}"
        raise pulumi.RunError(f"{full} is not set for this stack. Run `pulumi config set {full} {example}`.")
    return value


def place(
    project: pulumi.Input[str] | None, location: pulumi.Input[str] | None
) -> dict[str, pulumi.Input[str] | None]:
    """The inputs that say where a resource lives: the arguments, else the stack's configuration."""
    configured = stack_settings()
    return {
        "endpoint": configured.endpoint,
        "project": project if project is not None else configured.project or "",
        "location": location if location is not None else configured.location or "",
    }


def marks(resource_name: str) -> dict[str, str]:
    """Whose declaration it is: the provider puts it on what it makes, as labels."""
    return {"project": pulumi.get_project(), "stack": pulumi.get_stack(), "resource": resource_name}


def as_secret_as(value: Any) -> pulumi.Output[None] | None:
    """A place for an output that tells something of the value: secret where anything in the value is."""
    return pulumi.Output.from_input(value).apply(lambda _: None) if _has_outputs(value) else None


def _has_outputs(value: object) -> bool:
    """Whether a value may hold something that is known later, or secret."""
    if isinstance(value, Mapping):
        return any(map(_has_outputs, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_outputs, value))
    return not isinstance(value, (str, int, float, bool, type(None)))


def with_outputs(inputs: dict[str, Any], *outputs: str) -> dict[str, Any]:
    """The inputs without those left out, and a place for every output, without which Pulumi hides it; and
    beside them where their secrets are, for the provider.
    """
    given = {name: value for name, value in inputs.items() if value is not None}
    paths = secret_paths(given)
    beside = {} if paths is None else {KEY: paths}
    return {**given, **{name: None for name in outputs if name not in given}, **beside}
