"""The endpoint of a command that goes on for long: it is looked up again before each read."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.views import target
from vertex_training.command_line.errors import CommandError

LOCAL_SECONDS, CLOUD_SECONDS = 0.5, 5.0
"""Seconds between two reads. On Google Cloud, Cloud Logging answers 60 reads a minute and project."""


def endpoint_again(options: argparse.Namespace, first: Endpoint) -> Callable[[], Endpoint]:
    """Return a function that returns the endpoint of today: an emulator may be restarted at another address.

    The function raises CommandError while the emulator is not running. It never returns Google Cloud instead.
    """

    def again() -> Endpoint:
        if not first.is_emulator:
            return first
        found = target.resolve(target.of_options(options))
        if not found.is_emulator:
            raise CommandError("The emulator is not running.")
        return found

    return again


def seconds_between(options: argparse.Namespace, endpoint: Endpoint) -> float:
    """Return the seconds between two reads: `--interval`, else by the kind of the endpoint."""
    chosen: float | None = options.interval
    if chosen is not None:
        return chosen
    return LOCAL_SECONDS if endpoint.is_emulator else CLOUD_SECONDS
