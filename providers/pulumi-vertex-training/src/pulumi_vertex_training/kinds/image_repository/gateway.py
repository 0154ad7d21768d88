"""Calls to repositories of Artifact Registry, in the JSON of the API.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated

API = "artifactregistry.googleapis.com"


@dataclass(frozen=True, kw_only=True)
class RepositoryRecord:
    """A repository as the service reports it. `name` is the full name; `wire` is the whole resource."""

    name: str
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the repository, this provider's included."""
        labels: Mapping[str, str] = self.wire.get("labels") or {}
        return labels


def create(endpoint: Endpoint, name: str, wire: Mapping[str, Any]) -> RepositoryRecord:
    """Create the repository with this full name, and wait until it exists. The call is never retried.

    Raises AlreadyExists, and DeadlineExceeded if that takes too long.
    """
    parent, _, repository_id = name.rpartition("/")
    action = f"create repository {name}"
    with _translated(endpoint, action):
        operation = rest.call(
            endpoint,
            "POST",
            _url(endpoint, parent),
            query={"repositoryId": repository_id},
            body={**wire, "name": name},
            idempotent=False,
        )
    return _record(_wait(endpoint, operation, action).get("response") or {})


def labels_of(endpoint: Endpoint, repository_id: str) -> Mapping[str, str]:
    """Return the labels of a repository. Raises NotFound."""
    name = f"{endpoint.parent}/repositories/{quote(repository_id, safe='')}"
    with _translated(endpoint, f"read repository {repository_id}"):
        return rest.call(endpoint, "GET", _url(endpoint, name)).get("labels") or {}


def get(endpoint: Endpoint, name: str) -> RepositoryRecord:
    """Fetch a repository. Raises NotFound."""
    with _translated(endpoint, f"read repository {name}"):
        return _record(rest.call(endpoint, "GET", _url(endpoint, name)))


def patch(endpoint: Endpoint, name: str, wire: Mapping[str, Any]) -> RepositoryRecord:
    """Replace the fields in `wire`; an empty value removes a field's content. Raises NotFound."""
    with _translated(endpoint, f"update repository {name}"):
        query = {"updateMask": ",".join(sorted(wire))}
        return _record(rest.call(endpoint, "PATCH", _url(endpoint, name), query=query, body=wire))


def delete(endpoint: Endpoint, name: str) -> None:
    """Delete the repository with all its images, and wait until it is gone.

    Raises NotFound, and DeadlineExceeded if that takes too long.
    """
    action = f"delete repository {name}"
    with _translated(endpoint, action):
        operation = rest.call(endpoint, "DELETE", _url(endpoint, name))
    _wait(endpoint, operation, action)


def packages(endpoint: Endpoint, name: str, *, limit: int = 100) -> tuple[str, ...]:
    """Return the names of at most `limit` images in a repository. Raises NotFound."""
    with _translated(endpoint, f"list the images of repository {name}"):
        # An empty page may have successors (Google API Improvement Proposal 158).
        pages = rest.pages(endpoint, f"{_url(endpoint, name)}/packages", query={"pageSize": limit})
        found = next((page["packages"] for page in pages if page.get("packages")), ())
        return tuple(unquote(package["name"].partition("/packages/")[2]) for package in found)


def _translated(endpoint: Endpoint, action: str) -> Any:
    denied = (
        f"Run `gcloud services enable {API} --project {endpoint.project}` if the API is not enabled; "
        "the account needs the role roles/artifactregistry.admin, or roles/artifactregistry.writer to push."
    )
    return translated(
        endpoint,
        action,
        if_missing="Check the project, the location and the repository's name.",
        if_denied=denied,
    )


def _wait(endpoint: Endpoint, operation: rest.Json, action: str) -> rest.Json:
    """Wait for an operation, and return its final form. Raises DeadlineExceeded."""
    timeout, url = endpoint.timeouts.repository_operation, endpoint.artifact_registry_url
    return rest.wait(endpoint, operation, action=action, timeout=timeout, url=url)


def _url(endpoint: Endpoint, name: str) -> str:
    return f"{endpoint.artifact_registry_url}/v1/{name}"


def _record(wire: Mapping[str, Any]) -> RepositoryRecord:
    return RepositoryRecord(
        name=str(wire.get("name", "")), wire={key: value for key, value in wire.items() if key != "@type"}
    )
