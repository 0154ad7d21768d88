"""The parts of an environment that only Google Cloud has, after they were made or found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi

from pulumi_vertex_training.environment.options import NotificationChannelsArgs, Request, existing
from pulumi_vertex_training.program.arguments.references import service_account_email


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Parts that are made before bucket and repository. All others need `depends_on` first."""

    network: pulumi.Input[str] | None = None
    kms_key_name: pulumi.Input[str] | None = None
    depends_on: Sequence[pulumi.Resource] = ()


@dataclass(frozen=True, kw_only=True)
class Access:
    """Parts that are made after them. Each value is None if the environment has no such part."""

    replica_account: pulumi.Input[str] | None = None
    deployer_account: pulumi.Input[str] | None = None
    planner_account: pulumi.Input[str] | None = None
    scheduler_account: pulumi.Input[str] | None = None
    tensorboard: pulumi.Input[str] | None = None
    workload_identity_provider: pulumi.Input[str] | None = None
    log_bucket: pulumi.Input[str] | None = None
    notification_channels: Sequence[pulumi.Input[str]] = field(default=())


def existing_ground(request: Request) -> Ground:
    """Return what a program gives as existing: all that an environment on the emulator has of it."""
    return Ground(network=existing(request.network), kms_key_name=existing(request.encryption_key))


def existing_access(request: Request) -> Access:
    """Return what a program gives as existing: all that an environment on the emulator has of it."""
    return Access(
        replica_account=service_account_email(existing(request.replica_account)),
        deployer_account=service_account_email(existing(request.deployer_account)),
        planner_account=service_account_email(existing(request.planner_account)),
        scheduler_account=service_account_email(existing(request.scheduler_account)),
        tensorboard=existing(request.tensorboard),
        log_bucket=existing(request.log_bucket),
        notification_channels=existing_channels(request.notification_channels),
    )


def existing_channels(settings: NotificationChannelsArgs | None) -> list[pulumi.Output[str]]:
    """Return the full names of the notification channels that exist already."""
    return [pulumi.Output.from_input(_name_of(each)) for each in (settings.channels if settings else ())]


def _name_of(channel: object) -> Any:
    return vars(channel)["name"] if isinstance(channel, pulumi.Resource) else channel


def left_out(request: Request) -> Iterator[str]:
    """Yield, in words, the parts that the program asks for and the emulator does not have."""
    if request.services:
        yield "services"
    given = (
        request.deployer_account,
        request.planner_account,
        request.scheduler_account,
        request.replica_account,
    )
    if True in given:
        yield "service accounts"
    if request.grant_roles and any(given):
        yield "roles"
    words = {
        "workload_identity": "workload identity",
        "network": "network",
        "encryption_key": "encryption key",
        "log_bucket": "log bucket",
        "budget": "budget",
        "tensorboard": "TensorBoard",
    }
    channels = request.notification_channels
    if channels is not None and (channels.emails or channels.webhook_url is not None):
        yield "notification channels"
    for name, word in words.items():
        part = getattr(request, name)
        if part not in (None, False) and existing(part) is None:
            yield word
