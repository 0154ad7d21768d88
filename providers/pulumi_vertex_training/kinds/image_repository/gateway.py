"""Calls to repositories of Artifact Registry, in the JSON of the API.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pulumi_vertex_training.cloud import clients, imports, rest, retry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, DeadlineExceeded
from pulumi_vertex_training.cloud.translation import translated

if TYPE_CHECKING:
    from google.api_core.operation import Operation

API = "artifactregistry.googleapis.com"


@dataclass(frozen=True, kw_only=True)
class RepositoryRecord:
    """A repository as the service reports it. `name` is the full name; `wire` is the whole resource."""

    name: str
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the repository, with those of this provider."""
        labels: Mapping[str, str] = self.wire.get("labels") or {}
        return labels


def create(endpoint: Endpoint, name: str, wire: Mapping[str, Any]) -> RepositoryRecord:
    """Create the repository with this full name, and wait until it exists. The call is never retried.

    Raises AlreadyExists, and DeadlineExceeded if that takes too long.
    """
    parent, _, repository_id = name.partition("/repositories/")
    action = f"create repository {name}"
    with _translated(endpoint, action):
        operation = clients.artifact_registry(endpoint).create_repository(
            request={
                "parent": parent,
                "repository_id": repository_id,
                "repository": _message({**wire, "name": name}),
            },
            timeout=endpoint.timeouts.call,
        )
        return _record(_wait_for(endpoint, operation, action))


def labels_of(endpoint: Endpoint, repository_id: str) -> Mapping[str, str]:
    """Return the labels of a repository, without loading the service's client. Raises NotFound."""
    url = (
        f"{endpoint.artifact_registry_url}/v1/{endpoint.parent}/repositories/{quote(repository_id, safe='')}"
    )
    with _translated(endpoint, f"read repository {repository_id}"):
        return rest.call(endpoint, "GET", url).get("labels") or {}


def get(endpoint: Endpoint, name: str) -> RepositoryRecord:
    """Fetch a repository. Raises NotFound."""
    with _translated(endpoint, f"read repository {name}"):
        return _record(
            clients.artifact_registry(endpoint).get_repository(
                name=name, retry=retry.for_idempotent(endpoint), timeout=endpoint.timeouts.call
            )
        )


def patch(endpoint: Endpoint, name: str, wire: Mapping[str, Any]) -> RepositoryRecord:
    """Replace the fields in `wire`; an empty value removes a field's content. Raises NotFound."""
    from google.protobuf.field_mask_pb2 import FieldMask

    mask = FieldMask()
    mask.FromJsonString(",".join(sorted(wire)))
    with _translated(endpoint, f"update repository {name}"):
        return _record(
            clients.artifact_registry(endpoint).update_repository(
                repository=_message({**wire, "name": name}),
                update_mask=mask,
                retry=retry.for_idempotent(endpoint),
                timeout=endpoint.timeouts.call,
            )
        )


def delete(endpoint: Endpoint, name: str) -> None:
    """Delete the repository with all its images, and wait until it is gone.

    Raises NotFound, and DeadlineExceeded if that takes too long.
    """
    action = f"delete repository {name}"
    with _translated(endpoint, action):
        operation = clients.artifact_registry(endpoint).delete_repository(
            name=name, retry=retry.for_idempotent(endpoint), timeout=endpoint.timeouts.call
        )
        _wait_for(endpoint, operation, action)


def packages(endpoint: Endpoint, name: str, *, limit: int = 100) -> tuple[str, ...]:
    """Return the names of at most `limit` images in a repository. Raises NotFound."""
    with _translated(endpoint, f"list the images of repository {name}"):
        pager = clients.artifact_registry(endpoint).list_packages(
            request={"parent": name, "page_size": limit},
            retry=retry.for_idempotent(endpoint),
            timeout=endpoint.timeouts.call,
        )
        # An empty page may have successors (Google API Improvement Proposal 158).
        found = next((page.packages for page in pager.pages if page.packages), ())
        return tuple(package.name.partition("/packages/")[2].replace("%2F", "/") for package in found)


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


def _wait_for(endpoint: Endpoint, operation: Operation, action: str) -> Any:
    """Wait for an operation, and return its result. Raises DeadlineExceeded."""
    from concurrent.futures import TimeoutError as FutureTimeout

    from google.api_core.exceptions import RetryError

    seconds = endpoint.timeouts.repository_operation
    try:
        return operation.result(timeout=seconds)  # type: ignore[no-untyped-call]
    except (FutureTimeout, RetryError) as error:
        raise _timeout_error(endpoint, operation, action, seconds) from error


def _timeout_error(endpoint: Endpoint, operation: Operation, action: str, seconds: float) -> CloudError:
    return DeadlineExceeded(
        f"Could not {action} ({endpoint}): the operation {operation.operation.name} has not ended after "
        f"{seconds:g} s. Run the same command again.",
        resource=action.partition(" ")[2],
        endpoint=endpoint,
    )


def _message(wire: Mapping[str, Any]) -> Any:
    with imports.LOCK:
        from google.cloud.artifactregistry_v1.types import Repository
        from google.protobuf import json_format

    message = Repository.pb()()
    return Repository.wrap(json_format.ParseDict(dict(wire), message))


def _record(repository: Any) -> RepositoryRecord:
    from google.protobuf import json_format

    message = type(repository).pb(repository)
    return RepositoryRecord(name=repository.name, wire=json_format.MessageToDict(message))
