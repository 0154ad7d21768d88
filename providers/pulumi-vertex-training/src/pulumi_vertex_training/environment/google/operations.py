"""Logs, notification channels, budget and TensorBoard of an environment."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from pulumi_vertex_training.environment.google.scope import Scope, project_number
from pulumi_vertex_training.environment.options import BudgetArgs, LogBucketArgs, NotificationChannelsArgs
from pulumi_vertex_training.environment.parts import existing_channels

JOB_LOGS = 'resource.type="ml_job"'
"""Filter of Cloud Logging for what replicas print."""


def make_log_bucket(
    scope: Scope, settings: LogBucketArgs, key: pulumi.Input[str] | None
) -> pulumi.Output[str]:
    """Make a bucket for the logs of jobs. Return its full name. The project's own buckets are unchanged."""
    from pulumi_gcp import logging

    bucket = logging.ProjectBucketConfig(
        f"{scope.name}-logs",
        project=pulumi.Output.from_input(scope.project),
        location=scope.location,
        bucket_id=scope.identifier("jobs", longest=100),
        retention_days=settings.retention_days,
        description="Logs of training jobs",
        cmek_settings=None if key is None else logging.ProjectBucketConfigCmekSettingsArgs(kms_key_name=key),
        opts=scope.opts,
    )
    return bucket.name


def route_logs(scope: Scope, bucket: pulumi.Input[str]) -> None:
    """Send the logs of jobs to a log bucket of the same project, which needs no role for that."""
    from pulumi_gcp import logging

    logging.ProjectSink(
        f"{scope.name}-logs",
        project=scope.project,
        name=scope.identifier("jobs", longest=100),
        destination=pulumi.Output.concat("logging.googleapis.com/", bucket),
        filter=JOB_LOGS,
        description="Keeps the logs of training jobs",
        unique_writer_identity=True,
        opts=scope.opts,
    )


def make_channels(scope: Scope, settings: NotificationChannelsArgs) -> list[pulumi.Output[str]]:
    """Return the full names of the notification channels, the existing ones last."""
    from pulumi_gcp import monitoring

    emails = [
        monitoring.NotificationChannel(
            f"{scope.name}-{email if isinstance(email, str) else f'email-{position}'}",
            project=scope.project,
            type="email",
            display_name=pulumi.Output.concat("Trainings: ", email),
            labels={"email_address": email},
            opts=scope.opts,
        )
        for position, email in enumerate(settings.emails)
    ]
    webhooks = (
        []
        if settings.webhook_url is None
        else [
            monitoring.NotificationChannel(
                f"{scope.name}-webhook",
                project=scope.project,
                type="webhook_tokenauth",
                display_name="Trainings: webhook",
                labels={"url": settings.webhook_url},
                opts=scope.opts,
            )
        ]
    )
    return [*(each.name for each in (*emails, *webhooks)), *existing_channels(settings)]


def make_budget(scope: Scope, settings: BudgetArgs, channels: Sequence[pulumi.Input[str]]) -> None:
    """Make a budget of the project. It alerts the channels, or without any the billing administrators."""
    from pulumi_gcp import billing

    rules = [
        *(billing.BudgetThresholdRuleArgs(threshold_percent=each) for each in settings.thresholds),
        *(
            [billing.BudgetThresholdRuleArgs(threshold_percent=1.0, spend_basis="FORECASTED_SPEND")]
            if settings.forecast
            else []
        ),
    ]
    billing.Budget(
        f"{scope.name}-budget",
        billing_account=settings.billing_account,
        display_name=f"{pulumi.get_project()} {pulumi.get_stack()}",
        budget_filter=billing.BudgetBudgetFilterArgs(
            projects=[pulumi.Output.concat("projects/", project_number(scope))],
            calendar_period="MONTH",
        ),
        amount=billing.BudgetAmountArgs(
            specified_amount=billing.BudgetAmountSpecifiedAmountArgs(
                units=pulumi.Output.from_input(settings.amount).apply(str),
                currency_code=settings.currency,
            )
        ),
        threshold_rules=rules,
        all_updates_rule=billing.BudgetAllUpdatesRuleArgs(
            monitoring_notification_channels=list(channels), disable_default_iam_recipients=True
        )
        if channels
        else None,
        opts=scope.opts,
    )


def make_tensorboard(scope: Scope, key: pulumi.Input[str] | None) -> pulumi.Output[str]:
    """Make a TensorBoard in the environment's region. Return its full name."""
    from pulumi_gcp import vertex

    tensorboard = vertex.AiTensorboard(
        f"{scope.name}-tensorboard",
        project=scope.project,
        region=scope.location,
        display_name=f"{pulumi.get_project()} {pulumi.get_stack()}",
        encryption_spec=None if key is None else vertex.AiTensorboardEncryptionSpecArgs(kms_key_name=key),
        opts=scope.opts,
    )
    return tensorboard.name
