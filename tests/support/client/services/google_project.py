"""A Google Cloud project over HTTP, with the answers of Google's APIs that the emulator has none of.

Reservations, networks and organizations cannot be rehearsed locally, nor a service that does not answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud.container_registry.client import digest_of
from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.scripted_service import Answer, Asked, Service, refusal

PROJECT, NUMBER, REGION = "my-project", "123456789012", "us-central1"
REGISTRY = f"{REGION}-docker.pkg.dev"
HOSTS = (
    "artifactregistry.googleapis.com",
    "cloudquotas.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "iam.googleapis.com",
    "monitoring.googleapis.com",
    "secretmanager.googleapis.com",
    "serviceusage.googleapis.com",
    REGISTRY,
)
METRIC = "aiplatform.googleapis.com/custom_model_training_"
EVERYBODY = {"role": "roles/storage.objectUser", "members": ["allAuthenticatedUsers"]}
CONFIG = {"os": "linux", "architecture": "amd64", "config": {}, "rootfs": {"type": "layers", "diff_ids": []}}


def quota(metric: str, *entries: tuple[str | None, int]) -> dict[str, Any]:
    """Return a quota of Cloud Quotas with a value for each region; None is for all other regions.

    JSON leaves out a zero.
    """
    named = [region for region, _ in entries if region]
    return {
        "metric": METRIC + metric,
        "dimensions": ["region"],
        "dimensionsInfos": [
            {
                **({"dimensions": {"region": region}} if region else {}),
                "details": {"value": str(value)} if value else {},
                "applicableLocations": [region]
                if region
                else [each for each in _REGIONS if each not in named],
            }
            for region, value in entries
        ],
    }


_REGIONS = (REGION, "europe-west4", "us-east1")


def _json_of(document: Any) -> bytes:
    return json.dumps(document).encode()


@dataclass
class GoogleProject:
    """The state of the project. Everything is in order until a test changes it."""

    service: Service
    disabled: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    """Permissions that the caller lacks, and calls that are refused, such as "GET quotaInfos"."""
    quotas: list[dict[str, Any]] = field(
        default_factory=lambda: [quota("cpus", (None, 2200)), quota("nvidia_l4_gpus", (None, 8))]
    )
    usage: dict[str, int] = field(default_factory=dict)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    policy: list[dict[str, Any]] = field(default_factory=lambda: [EVERYBODY])
    policy_elsewhere: list[dict[str, Any]] = field(default_factory=list)
    """The policy of every other project."""
    bucket_policy: list[dict[str, Any]] = field(default_factory=list)
    bucket: dict[str, Any] | None = field(
        default_factory=lambda: {"location": "US-CENTRAL1", "projectNumber": NUMBER}
    )
    config: dict[str, Any] | None = field(default_factory=lambda: dict(CONFIG))
    account: dict[str, Any] | None = field(default_factory=dict)
    reservation: dict[str, Any] | None = None
    network: dict[str, Any] | None = None
    attachment: dict[str, Any] | None = None
    answers: list[tuple[str, Answer]] = field(default_factory=list)
    """Answers that come before all others, by the end of the path."""

    def endpoint(self) -> Endpoint:
        url = self.service.url
        return Endpoint(
            kind="google",
            project=PROJECT,
            location=REGION,
            url=url,
            storage_url=url,
            token="token",
            addresses=tuple((host, url) for host in HOSTS),
        )

    def answer(self, asked: Asked) -> Answer:
        for end, given in self.answers:
            if asked.path.endswith(end):
                return given
        if f"{asked.method} {asked.path.rpartition('/')[2]}" in self.denied:
            return refusal(403, "PERMISSION_DENIED", f"Permission denied on {asked.path}")
        for pattern, make in _ROUTES:
            match = re.fullmatch(pattern, f"{asked.method} {asked.path}")
            if match is not None:
                document = make(self, asked)
                if document is None:
                    return refusal(404, "NOT_FOUND", f"{asked.path} was not found")
                return document if isinstance(document, Answer) else Answer(document=document)
        raise AssertionError(f"no route for {asked.method} {asked.path}")

    def services_of(self, asked: Asked) -> dict[str, Any]:
        return {
            "services": [
                {"name": name, "state": "DISABLED" if name.rpartition("/")[2] in self.disabled else "ENABLED"}
                for name in asked.query["names"]
            ]
        }

    def tested(self, asked: Asked) -> dict[str, Any]:
        wanted = asked.query["permissions"] if asked.method == "GET" else asked.body["permissions"]
        has = [name for name in wanted if name not in self.denied]
        return {"permissions": has} if has else {}

    def time_series(self, asked: Asked) -> dict[str, Any]:
        """Return two pages, each with some points of each series: the newest come first."""
        assert f'resource.label.location="{REGION}"' in asked.query["filter"][0]
        is_first = "pageToken" not in asked.query
        found = [
            {
                "metric": {"labels": {"quota_metric": METRIC + metric}},
                "points": [{"value": {"int64Value": str(value)}}] * is_first
                + [{"value": {"int64Value": "4711"}}],
            }
            for metric, value in self.usage.items()
        ]
        return {"timeSeries": found, **({"nextPageToken": "older"} if is_first and found else {})}

    def policy_of(self, asked: Asked) -> dict[str, Any]:
        is_own = asked.path.removeprefix("/v3/projects/").startswith((f"{PROJECT}:", f"{NUMBER}:"))
        return {"bindings": self.policy if is_own else self.policy_elsewhere}

    def account_of(self, asked: Asked) -> dict[str, Any] | Answer | None:
        """Return the account. With "-" as the project, a missing one is denied."""
        if self.account is None and asked.path.startswith("/v1/projects/-/"):
            return refusal(403, "PERMISSION_DENIED", "Permission 'iam.serviceAccounts.get' denied")
        return self.account

    def manifest(self, _: Asked) -> Answer | None:
        if self.config is None:
            return Answer(status=404, document={"errors": [{"code": "MANIFEST_UNKNOWN", "message": "none"}]})
        config = _json_of(self.config)
        document = {
            "schemaVersion": 2,
            "layers": [],
            "config": {"digest": digest_of(config), "size": len(config)},
        }
        return Answer(text=json.dumps(document), content_type="application/vnd.oci.image.manifest.v1+json")

    def blob(self, _: Asked) -> Answer:
        return Answer(text=_json_of(self.config).decode(), content_type="application/octet-stream")


_ROUTES: tuple[tuple[str, Any], ...] = (
    (r"GET /v1/projects/[^/]+/services:batchGet", GoogleProject.services_of),
    (r"GET /v1/.*/quotaInfos", lambda self, _: {"quotaInfos": self.quotas}),
    (r"GET /v3/projects/[^/]+/timeSeries", GoogleProject.time_series),
    (r"POST .*:testIamPermissions", GoogleProject.tested),
    (r"GET .*/iam/testPermissions", GoogleProject.tested),
    (r"GET /v3/projects/[^/:]+", lambda *_: {"name": f"projects/{NUMBER}", "state": "ACTIVE"}),
    (r"POST /v3/projects/[^/]+:getIamPolicy", GoogleProject.policy_of),
    (r"GET /v1/projects/[^/]+/serviceAccounts/[^/:]+", GoogleProject.account_of),
    (r"GET /storage/v1/b/[^/]+", lambda self, _: self.bucket),
    (r"GET /storage/v1/b/[^/]+/iam", lambda self, _: {"bindings": self.bucket_policy}),
    (r"GET /v1/.*/customJobs", lambda self, _: {"customJobs": self.jobs}),
    (r"GET /v1/.*/hyperparameterTuningJobs", lambda *_: {}),
    (r"GET /v1/.*/repositories/[^/]+:getIamPolicy", lambda *_: {"bindings": []}),
    (r"GET /v1/.*/persistentResources/[^/]+", lambda *_: {"state": "RUNNING"}),
    (r"GET /compute/v1/.*/reservations/[^/]+", lambda self, _: self.reservation),
    (r"GET /compute/v1/.*/networks/[^/]+", lambda self, _: self.network),
    (r"GET /compute/v1/.*/networkAttachments/[^/]+", lambda self, _: self.attachment),
    (r"GET /v2/.*/manifests/.*", GoogleProject.manifest),
    (r"GET /v2/.*/blobs/.*", GoogleProject.blob),
)


@contextmanager
def google_project() -> Iterator[GoogleProject]:
    """Run the project's APIs on a port of this machine."""
    service = Service()
    try:
        made = GoogleProject(service=service)
        service.script(made.answer)
        yield made
    finally:
        service.close()
