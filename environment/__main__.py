"""The environment of a stage: what its trainings need once. Copy this folder and edit it.

The same program runs on the emulator, where it makes what exists there, and says what it leaves out.
docs/guides/teams/environments.md has its settings and the roles that it grants.
"""

import pulumi_vertex_training as vt
from environment_settings import Settings

settings = vt.read_configuration(Settings)


def part(text: str) -> str | bool:
    """Return a part as `TrainingEnvironment` takes it: True for new, False for none, or an existing one."""
    return {"new": True, "none": False}.get(text, text)


def machines() -> dict[str, object] | str | None:
    if settings.persistent_resource == "none":
        return None
    if settings.persistent_resource != "new":
        return settings.persistent_resource
    machine = {"machine_type": settings.persistent_machine_type}
    pool = {"machine_spec": machine, "replica_count": settings.persistent_replicas}
    return {"resource_pools": [pool]}


workloads = {
    "github_repository": settings.github_repository,
    "gitlab_project": settings.gitlab_project,
}
alerts = {"emails": settings.alert_emails, "webhook_url": settings.alert_webhook}
environment = vt.TrainingEnvironment(
    "training",
    services=settings.enable_services,
    bucket={"force_destroy": settings.force_destroy} if settings.bucket == "new" else settings.bucket,
    repository={"force_destroy": settings.force_destroy}
    if settings.repository == "new"
    else settings.repository,
    replica_account=part(settings.replica_account),
    deployer_account=part(settings.deployer_account),
    scheduler_account=part(settings.scheduler_account),
    deployers=settings.deployers,
    workload_identity=workloads if any(workloads.values()) else None,
    state_bucket=settings.state_bucket,
    network=part(settings.network),
    encryption_key=part(settings.encryption_key),
    log_bucket={"retention_days": settings.log_retention_days} if settings.log_retention_days else None,
    notification_channels=alerts if settings.alert_emails or settings.alert_webhook else None,
    budget={"billing_account": settings.billing_account, "amount": settings.monthly_budget}
    if settings.billing_account
    else None,
    persistent_resource=machines(),
    tensorboard=part(settings.tensorboard),
)
environment.export()
