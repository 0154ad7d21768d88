"""The resources that send notifications on Google Cloud, where nothing of this package runs when a job ends.

Vertex AI writes an entry into a job's log at its end, with the job's state as a label. An alert policy that
is based on such entries notifies channels of Cloud Monitoring; a sink publishes them to a Pub/Sub topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from pulumi_vertex_training.program.arguments.checks import require
from pulumi_vertex_training.program.notifications.declared import NAME, decoded, path_of
from vertex_training.fields.labels import ownership_label_value
from vertex_training.notifications.notification import EVENTS

STATE_LABEL = "ml.googleapis.com/job_state"
PUBLISHER = "roles/pubsub.publisher"
_RATE_LIMIT = "300s"
_AUTO_CLOSE = "1800s"
"""The shortest time after which an incident is closed by itself."""

NEEDS_PULUMI_GCP = (
    "notifications on Google Cloud need the package pulumi_gcp; run "
    "`pip install 'pulumi-vertex-training[infra]'`"
)


def declare(
    job: pulumi.Resource,
    name: str,
    items: Sequence[Mapping[str, Any]],
    *,
    job_id: pulumi.Output[str],
    project: pulumi.Input[str],
) -> None:
    """Declare the resources for each notification, as children of the job. Raises `pulumi.RunError`."""
    try:
        import pulumi_gcp  # noqa: F401  imported only if needed
    except ImportError:
        require(name, [NEEDS_PULUMI_GCP])
    for index, one in enumerate(items):
        own = name if index == 0 else f"{name}-{index + 1}"
        path = path_of(index, len(items))
        parts = _Parts(
            job, name, own, path, one, pulumi.Output.from_input(project), _filter(job_id, one.get("on"))
        )
        if "webhook" in one or "channel" in one:
            parts.alert()
        if "pubsub_topic" in one:
            parts.sink()


def log_filter(job_id: str, on: Sequence[str]) -> str:
    """Return the filter of the log entries at the end of a job."""
    states = " OR ".join(f'"{event.upper()}"' for event in EVENTS if event in on)
    return f'resource.type="ml_job"\nresource.labels.job_id="{job_id}"\nlabels."{STATE_LABEL}"=({states})'


def _filter(job_id: pulumi.Output[str], on: object) -> pulumi.Output[str]:
    return pulumi.Output.all(job_id, EVENTS if on is None else on).apply(lambda known: log_filter(*known))


class _Parts:
    """The resources for one notification. `name` is the job's, `own` the names of the resources."""

    def __init__(
        self,
        job: pulumi.Resource,
        name: str,
        own: str,
        path: str,
        one: Mapping[str, Any],
        project: pulumi.Output[str],
        filter_: pulumi.Output[str],
    ) -> None:
        self._name = name
        self._own = own
        self._path = path
        self._one = one
        self._project = project
        self._filter = filter_
        self._opts = pulumi.ResourceOptions(parent=job)
        self._labels = {
            "pulumi-project": ownership_label_value(pulumi.get_project()),
            "pulumi-stack": ownership_label_value(pulumi.get_stack()),
            "pulumi-resource": ownership_label_value(name),
        }

    def alert(self) -> None:
        """Declare an alert policy, and a channel for a webhook."""
        from pulumi_gcp import monitoring  # imported only if needed

        monitoring.AlertPolicy(
            self._own,
            project=self._project,
            display_name=f"{self._name}: end of a run",
            combiner="OR",
            conditions=[
                monitoring.AlertPolicyConditionArgs(
                    display_name=f"{self._name}: the job has ended",
                    condition_matched_log=monitoring.AlertPolicyConditionConditionMatchedLogArgs(
                        filter=self._filter, label_extractors={"state": f'EXTRACT(labels."{STATE_LABEL}")'}
                    ),
                )
            ],
            alert_strategy=monitoring.AlertPolicyAlertStrategyArgs(
                auto_close=_AUTO_CLOSE,
                notification_rate_limit=monitoring.AlertPolicyAlertStrategyNotificationRateLimitArgs(
                    period=_RATE_LIMIT
                ),
                notification_prompts=["OPENED"],
            ),
            documentation=monitoring.AlertPolicyDocumentationArgs(
                subject=f"{self._name}: ${{log.extracted_label.state}}",
                content=f"{self._name}: job ${{resource.label.job_id}} has ended, state "
                "${log.extracted_label.state}.",
                mime_type="text/markdown",
            ),
            notification_channels=pulumi.Output.all(*self._channels()).apply(
                lambda lists: [channel for each in lists for channel in each]
            ),
            user_labels=self._labels,
            opts=self._opts,
        )

    def _channels(self) -> list[pulumi.Output[Sequence[str]]]:
        """Return the names of the channels, and declare the one of a webhook."""
        from pulumi_gcp import monitoring  # imported only if needed

        channels: list[pulumi.Output[Sequence[str]]] = []
        if "channel" in self._one:
            given: pulumi.Output[Sequence[str]] = pulumi.Output.from_input(self._one["channel"])
            channels.append(given.apply(lambda known: self._checked("channel", known)))
        if "webhook" in self._one:
            address = pulumi.Output.from_input(self._one["webhook"])
            channel = monitoring.NotificationChannel(
                self._own,
                project=self._project,
                type="webhook_tokenauth",
                display_name=f"{self._name}: webhook",
                labels={"url": address.apply(lambda known: self._checked("webhook", known))},
                user_labels=self._labels,
                opts=pulumi.ResourceOptions.merge(
                    self._opts, pulumi.ResourceOptions(additional_secret_outputs=["labels"])
                ),
            )
            channels.append(channel.name.apply(lambda known: [known]))
        return channels

    def sink(self) -> None:
        """Declare a sink that publishes the entries, and its right to publish to the topic."""
        from pulumi_gcp import logging, pubsub  # imported only if needed

        topic = pulumi.Output.all(self._one["pubsub_topic"], self._project).apply(
            lambda known: _full_topic(self._checked("pubsub_topic", known[0]), known[1])
        )
        sink = logging.ProjectSink(
            self._own,
            project=self._project,
            destination=topic.apply(lambda known: f"pubsub.googleapis.com/{known}"),
            filter=self._filter,
            description=f"Ends of the runs of {self._name}",
            unique_writer_identity=True,
            opts=self._opts,
        )
        pubsub.TopicIAMMember(
            self._own,
            project=topic.apply(lambda known: known.split("/")[1]),
            topic=topic.apply(lambda known: known.split("/")[3]),
            role=PUBLISHER,
            member=sink.writer_identity,
            opts=self._opts,
        )

    def _checked(self, name: str, value: object) -> Any:
        """Return the value of an argument that was perhaps an output. Raises `pulumi.RunError`."""
        found = decoded({NAME: [{name: value}]}, on_google=True).problems
        require(self._name, [f"{self._path}{str(each).removeprefix(f'{NAME}[0]')}" for each in found])
        return value


def _full_topic(topic: str, project: str) -> str:
    return topic if "/" in topic else f"projects/{project}/topics/{topic}"
