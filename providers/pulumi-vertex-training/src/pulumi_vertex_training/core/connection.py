"""The `Endpoint` of a resource's calls, by its inputs. Starts the emulator if a deployment needs it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.settings import EndpointKind, Settings, Target
from vertex_emulator import launcher

_starting = threading.Lock()


def connect(kind: EndpointKind, project: str, location: str, settings: Settings) -> Endpoint:
    """Return the endpoint; start the emulator if it does not run.

    Raises `vertex_emulator.client.launcher.LauncherError`.
    """
    if kind == "google":
        return Endpoint(kind="google", project=project, location=location, timeouts=settings.timeouts)
    with _starting:
        return _endpoint(
            launcher.ensure(settings.data_dir, timeouts=settings.timeouts), project, location, settings
        )


def endpoint_of(props: Mapping[str, Any]) -> Endpoint:
    """Return the endpoint of a resource, by its checked inputs or recorded outputs. Provider process only."""
    return connect(props["endpoint"], props["project"], props["location"], OPERATION.settings)


def connect_if_running(
    kind: EndpointKind, project: str, location: str, settings: Settings
) -> Endpoint | None:
    """Return the endpoint, or None if the emulator does not run: a preview starts nothing."""
    if kind == "google":
        return connect(kind, project, location, settings)
    emulator = launcher.find(settings.data_dir, timeouts=settings.timeouts)
    return None if emulator is None else _endpoint(emulator, project, location, settings)


def endpoint_for_lookups(target: Target, settings: Settings) -> Endpoint | None:
    """Return the endpoint, or None without an emulator that can be asked."""
    try:
        return connect_if_running(*target, settings)
    except launcher.LauncherError:
        return None


def _endpoint(emulator: launcher.Emulator, project: str, location: str, settings: Settings) -> Endpoint:
    return Endpoint(
        kind="emulator",
        project=project,
        location=location,
        url=emulator.url,
        token=emulator.token,
        storage_url=emulator.storage_url,
        data_dir=str(emulator.data_dir),
        timeouts=settings.timeouts.at_least(emulator.timeout_scale),
    )
