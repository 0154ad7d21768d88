"""`Notifications`: what the emulator sends at the end of a job's runs.

Internal, but shown in the list of resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.core.settings import TARGET_FIELDS
from pulumi_vertex_training.program.resource import ProviderReference, with_outputs
from pulumi_vertex_training.program.run import Run

_SENT = ("on", "webhook", "command")
"""The arguments that matter to the emulator. It has no Pub/Sub and no Cloud Monitoring."""


class Notifications(Resource, module="notifications", name="Notifications"):
    """The notifications of one job, for the emulator. A change updates them, and no job depends on them.

    It is a child of the job's `Run`, so it follows the job's names, aliases and protections.
    """

    def __init__(
        self,
        resource_name: str,
        *,
        run: Run,
        items: Sequence[Mapping[str, Any]],
        collection: str,
        target: Mapping[str, Any],
        adopt: pulumi.Input[str] | None,
    ) -> None:
        inputs = {
            # The id of a run is the part of its key that never changes.
            "run": run.id,
            "collection": collection,
            "adopt": adopt,
            "notifications": [{name: value for name, value in one.items() if name in _SENT} for one in items],
            **{name: target[name] for name in TARGET_FIELDS},
        }
        super().__init__(
            ProviderReference("NotificationsProvider"),
            resource_name,
            with_outputs(inputs),
            pulumi.ResourceOptions(parent=run),
        )


def is_sent(items: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the emulator sends any of the notifications."""
    return any("webhook" in one or "command" in one for one in items)
