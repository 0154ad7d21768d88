"""The configuration of an environment. Pulumi.yaml has the same keys with their descriptions."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

import pulumi_vertex_training as vt

_EMAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"
_REPOSITORY = r"[\w.-]+(/[\w.-]+)+"


@dataclass(frozen=True, kw_only=True)
class Settings:
    bucket: str = vt.setting(
        "new",
        pattern=r"new|[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]",
        words="new, or the name of a bucket without gs://",
    )
    repository: str = vt.setting(
        "new",
        pattern=r"new|[a-z0-9-]+-docker\.pkg\.dev/[^/\s]+(/[^/\s]+)+",
        words="new, or an address such as us-central1-docker.pkg.dev/PROJECT/NAME",
    )
    force_destroy: bool = vt.setting(False)
    replica_account: str = vt.setting(
        "new", pattern=rf"new|none|{_EMAIL}", words="new, none, or the address of a service account"
    )
    deployer_account: str = vt.setting(
        "new", pattern=rf"new|none|{_EMAIL}", words="new, none, or the address of a service account"
    )
    scheduler_account: str = vt.setting(
        "none",
        pattern=rf"new|none|{_EMAIL}",
        words="none, new, or the address of a service account",
        example="new",
    )
    deployers: tuple[str, ...] = vt.setting(
        (),
        pattern=r"(user|group|serviceAccount|domain|principal|principalSet):\S+",
        words="a principal, such as group:ml@example.com",
        example="group:ml@example.com",
    )
    github_repository: str | None = vt.setting(
        None, pattern=_REPOSITORY, words="OWNER/NAME", example="my-team/training"
    )
    gitlab_project: str | None = vt.setting(
        None, pattern=_REPOSITORY, words="GROUP/NAME", example="my-group/training"
    )
    state_bucket: str | None = vt.setting(
        None,
        pattern=r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]",
        words="the name of a bucket without gs://",
        example="my-states",
    )
    enable_services: bool = vt.setting(True)
    network: str = vt.setting(
        "none",
        pattern=r"none|new|projects/\d+/global/networks/[a-z0-9-]+",
        words="none, new, or projects/NUMBER/global/networks/NAME",
        example="new",
    )
    encryption_key: str = vt.setting(
        "none",
        pattern=r"none|new|projects/[^/\s]+/locations/[^/\s]+/keyRings/[^/\s]+/cryptoKeys/[^/\s]+",
        words="none, new, or projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
        example="new",
    )
    log_retention_days: int = vt.setting(90, minimum=0, maximum=3650)
    alert_emails: tuple[str, ...] = vt.setting(
        (), pattern=_EMAIL, words="an e-mail address", example="ml@example.com"
    )
    alert_webhook: pulumi.Output[str] | None = vt.setting(
        None, pattern=r"https://\S+", words="a URL that begins with https://"
    )
    billing_account: str | None = vt.setting(
        None,
        pattern=r"[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}",
        words="the id of a billing account, such as 012345-567890-ABCDEF",
        example="012345-567890-ABCDEF",
    )
    monthly_budget: int = vt.setting(1000, minimum=1)
    persistent_resource: str = vt.setting(
        "none",
        pattern=r"none|new|[a-z]([a-z0-9-]{0,61}[a-z0-9])?",
        words="none, new, or the id of a persistent resource",
        example="new",
    )
    persistent_machine_type: str = vt.setting(
        "n1-standard-4", pattern=r"[a-z][a-z0-9]*-[a-z0-9-]+", words="a machine type, such as n1-standard-4"
    )
    persistent_replicas: int = vt.setting(1, minimum=1, maximum=2000)
    tensorboard: str = vt.setting(
        "none",
        pattern=r"none|new|projects/[^/\s]+/locations/[^/\s]+/tensorboards/\d+",
        words="none, new, or projects/PROJECT/locations/LOCATION/tensorboards/ID",
        example="new",
    )
