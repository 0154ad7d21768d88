"""The values of an environment that trainings use, wherever it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

import pulumi

REQUIRED = ("endpoint", "project", "location", "bucket", "repository")
"""Values that every environment has."""

OPTIONAL = (
    *("replica_account", "deployer_account", "planner_account", "scheduler_account"),
    *("network", "kms_key_name", "persistent_resource_id", "tensorboard"),
    *("notification_channels", "workload_identity_provider", "log_bucket"),
)
"""Values of parts that an environment may lack: None, or an empty list of channels."""


class EnvironmentOptions(TypedDict):
    """Arguments of jobs that an environment decides."""

    service_account: pulumi.Output[str]
    network: pulumi.Input[str | None]
    encryption_spec: pulumi.Input[Mapping[str, Any] | None]
    tensorboard: pulumi.Input[str | None]


class EnvironmentValues:
    """Values of a `TrainingEnvironment` and of the result of `get_training_environment`."""

    endpoint: pulumi.Output[str]
    """`emulator` or `google`."""
    project: pulumi.Output[str]
    """Project id."""
    location: pulumi.Output[str]
    """Region."""
    bucket: pulumi.Output[str]
    """Name of the staging bucket."""
    repository: pulumi.Output[str]
    """Address of the repository, LOCATION-docker.pkg.dev/PROJECT/NAME."""
    replica_account: pulumi.Output[str | None]
    """Address of the service account that jobs run as; None on the emulator."""
    deployer_account: pulumi.Output[str | None]
    """Address of the service account that deploys trainings; None on the emulator."""
    planner_account: pulumi.Output[str | None]
    """Address of the service account that may only read, for plans of pull requests."""
    scheduler_account: pulumi.Output[str | None]
    """Address of the service account that schedules submit jobs as."""
    network: pulumi.Output[str | None]
    """Full name of the network of jobs, projects/PROJECT_NUMBER/global/networks/NETWORK."""
    kms_key_name: pulumi.Output[str | None]
    """Full name of the encryption key."""
    persistent_resource_id: pulumi.Output[str | None]
    """Id of the persistent resource."""
    tensorboard: pulumi.Output[str | None]
    """Full name of the TensorBoard."""
    notification_channels: pulumi.Output[Sequence[str]]
    """Full names of the notification channels of Cloud Monitoring."""
    workload_identity_provider: pulumi.Output[str | None]
    """Full name of the provider for workload identity federation, for workflows that deploy."""
    log_bucket: pulumi.Output[str | None]
    """Full name of the bucket for logs of jobs."""

    def job_options(self) -> EnvironmentOptions:
        """Return arguments for jobs: service account, network, encryption key and TensorBoard.

        Pass them on with `**environment.job_options()`. The persistent resource is not among them: a job
        names it if it is to run there.
        """
        return {
            "service_account": cast("pulumi.Output[str]", self.replica_account),
            "network": self.network,
            "encryption_spec": self.kms_key_name.apply(lambda key: {"kms_key_name": key} if key else None),
            "tensorboard": self.tensorboard,
        }

    def export(self) -> None:
        """Export the values as outputs of the stack, for `get_training_environment` in other programs."""
        for name in (*REQUIRED, *OPTIONAL):
            pulumi.export(name, getattr(self, name))
