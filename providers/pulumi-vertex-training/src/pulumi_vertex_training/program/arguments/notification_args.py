"""Typed arguments of notifications. Written by `make generate` from the messages: do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi import Input

from pulumi_vertex_training.program.arguments.arguments_class import arguments_class
from pulumi_vertex_training.program.arguments.references import ChannelLike, TopicLike


@arguments_class
class NotificationArgs:
    """A notification of the end of each run of a job.

    :param on: Ends that are reported: `succeeded`, `failed`, `cancelled`. Default: all of them.
    :param webhook: Address to which a JSON document is posted, with its token if it needs one. It is always a
        secret.
    :param pubsub_topic: Pub/Sub topic that gets a message: a resource, `projects/PROJECT/topics/TOPIC`, or
        its name in the job's project. On Google Cloud only.
    :param channel: One or more existing channels of Cloud Monitoring: resources, or
        `projects/PROJECT/notificationChannels/ID`. On Google Cloud only.
    :param command: Program with its arguments, which the emulator runs on this machine without a shell. The
        program is a name on PATH or an absolute path. On the emulator only.
    """

    on: Input[Sequence[Input[str]] | None] = None
    """Ends that are reported: `succeeded`, `failed`, `cancelled`. Default: all of them."""
    webhook: Input[str | None] = None
    """Address to which a JSON document is posted, with its token if it needs one. It is always a secret."""
    pubsub_topic: TopicLike | None = None
    """Pub/Sub topic that gets a message: a resource, `projects/PROJECT/topics/TOPIC`, or its name in the
    job's project. On Google Cloud only.
    """
    channel: ChannelLike | None = None
    """One or more existing channels of Cloud Monitoring: resources, or
    `projects/PROJECT/notificationChannels/ID`. On Google Cloud only.
    """
    command: Input[Sequence[Input[str]] | None] = None
    """Program with its arguments, which the emulator runs on this machine without a shell. The program is a
    name on PATH or an absolute path. On the emulator only.
    """
