"""The check of each call before it is carried out: of its service, and of the permission that it needs.

The resource of a call is read from its path, or for gRPC from the header `x-goog-request-params`, with which
Google's libraries name it. A gRPC call without the header is checked against denials for everything only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.http.messages import HttpError
from vertex_emulator.server.permissions import calls
from vertex_emulator.server.permissions.denials import Denials, account, bucket

_BUCKET = re.compile(r"/(?:(?:resumable/)?upload/|download/)?storage/v1/b/([^/]+)(?:/.*)?", re.DOTALL)
_XML_BUCKET = re.compile(r"/([a-z0-9][a-z0-9._-]+)")
_JSON_API = frozenset({"storage", "upload", "download", "resumable", "batch"})
_IMAGE = re.compile(r"/v2/([a-z0-9-]+)-docker\.pkg\.dev/([^/]+)/([^/]+)/.*", re.DOTALL)
_NAME = re.compile(
    r"(?:/compute)?/v[0-9][a-z0-9]*/(projects/(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+:)?[^:]+)(?::[A-Za-z]+)?",
    re.DOTALL,
)
_ACCOUNT = re.compile(r"projects/[^/]+/serviceAccounts/([^/]+)")
_PROJECT = re.compile(r"projects/([^/_-][^/]*)")
_TITLES = {
    "aiplatform": "Vertex AI API",
    "artifactregistry": "Artifact Registry API",
    "cloudquotas": "Cloud Quotas API",
    "cloudresourcemanager": "Cloud Resource Manager API",
    "cloudscheduler": "Cloud Scheduler API",
    "compute": "Compute Engine API",
    "iam": "Identity and Access Management (IAM) API",
    "iamcredentials": "IAM Service Account Credentials API",
    "logging": "Cloud Logging API",
    "monitoring": "Cloud Monitoring API",
    "secretmanager": "Secret Manager API",
    "serviceusage": "Service Usage API",
    "storage": "Cloud Storage API",
}


class EnabledServices(Protocol):
    """The states of services."""

    def is_enabled(self, service: str, project: str | None) -> bool:
        """Return whether a service is enabled in a project, or in some project if that is unknown."""


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The checks of one emulator."""

    denials: Denials
    services: EnabledServices

    def check(self, call: str, path: str) -> None:
        """Check a call by Google's name of its method. Raises `HttpError` 403."""
        service = calls.service_of(call)
        if service is None:
            return
        resource = resource_of(path, call)
        found = _PROJECT.match(resource)
        project = found[1] if found else None
        if not self.services.is_enabled(service, project):
            raise _disabled(service, project)
        permission = calls.PERMISSION_OF.get(call)
        if permission is not None and self.denials.denies(permission, resource):
            raise denied(permission, service, resource)


def resource_of(path: str, call: str) -> str:
    """Return the resource that the path of a call names, in the form of denials, or ""."""
    if match := _BUCKET.fullmatch(path):
        return bucket(unquote(match[1]))
    if call.startswith("storage."):
        match = _XML_BUCKET.match(path)
        return "" if match is None or match[1] in _JSON_API else bucket(match[1])
    if match := _IMAGE.fullmatch(path):
        return f"projects/{match[2]}/locations/{match[1]}/repositories/{match[3]}"
    match = _NAME.fullmatch(unquote(path))
    if match is None:
        return ""
    if found := _ACCOUNT.match(match[1]):
        return account(found[1])
    parts = match[1].split("/")
    return "/".join(parts[: len(parts) // 2 * 2])  # without the name of a collection at the end


def path_of_parameters(parameters: str) -> str:
    """Return a path that names what the header x-goog-request-params does."""
    for _, value in parse_qsl(parameters):
        if value.startswith("projects/"):
            return f"/v1/{value}"
    return ""


def denied(permission: str, service: str, resource: str) -> HttpError:
    """Return the error for a denied permission, in the service's words where they are known."""
    what = f"//{service}/{resource}" if resource else "resource"
    if service.startswith("storage."):
        message = f"The caller does not have {permission} access to the Google Cloud Storage resource. "
        message += f"Permission '{permission}' denied on resource (or it may not exist)."
    else:
        message = f"Permission '{permission}' denied on resource '{what}' (or it may not exist)."
    metadata = {"permission": permission, **({"resource": resource} if resource else {})}
    return HttpError(
        403, "PERMISSION_DENIED", message, details=(_info("IAM_PERMISSION_DENIED", service, metadata),)
    )


def _disabled(service: str, project: str | None) -> HttpError:
    title = _TITLES[service.partition(".")[0]]
    number = project_number(project) if project else "of the caller"
    page = f"https://console.developers.google.com/apis/api/{service}/overview"
    where = f"{page}?project={number}" if project else page
    message = (
        f"{title} has not been used in project {number} before or it is disabled. Enable it by visiting "
        f"{where} then retry. If you enabled this API recently, wait a few minutes for the action to "
        "propagate to our systems and retry."
    )
    metadata = {"service": service, **({"consumer": f"projects/{number}"} if project else {})}
    return HttpError(
        403, "PERMISSION_DENIED", message, details=(_info("SERVICE_DISABLED", "googleapis.com", metadata),)
    )


def _info(reason: str, domain: str, metadata: Mapping[str, str]) -> Mapping[str, Any]:
    return {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": domain,
        "metadata": metadata,
    }
