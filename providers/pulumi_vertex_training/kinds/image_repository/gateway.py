"""Repositories of Artifact Registry. What goes in and comes out is the API's JSON.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cloud import clients, retry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, DeadlineExceeded
from pulumi_vertex_training.cloud.translation import translated

if TYPE_CHECKING:
    from google.api_core.operation import Operation

OPERATION_TIMEOUT = 300.0
"""Seconds after which a creation or deletion that has not ended is given up."""

API = "artifactregistry.googleapis.com"


@dataclass(frozen=True, kw_only=True)
class RepositoryRecord:
    """A repository as the service reports it: its full name, and the whole resource."""

    name: str
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def labels(self) -> Mapping[str, str]:
        labels: Mapping[str, str] = self.wire.get("labels") or {}
        return labels


def create(
    endpoint: Endpoint, name: str, wire: Mapping[str, Any], *, seconds: float = OPERATION_TIMEOUT
) -> RepositoryRecord:
    """Make the repository of a full name, and wait until it is there. Never tried twice.

    Raises AlreadyExists, and DeadlineExceeded when it takes longer than so many seconds.
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
            timeout=retry.CALL_TIMEOUT,
        )
        return _record(_ended(endpoint, operation, action, seconds))


def get(endpoint: Endpoint, name: str) -> RepositoryRecord:
    """Raises NotFound."""
    with _translated(endpoint, f"read repository {name}"):
        return _record(
            clients.artifact_registry(endpoint).get_repository(
                name=name, retry=retry.for_idempotent(endpoint), timeout=retry.CALL_TIMEOUT
            )
        )


def patch(endpoint: Endpoint, name: str, wire: Mapping[str, Any]) -> RepositoryRecord:
    """Set the fields of `wire`, each as a whole; an empty value takes away what is there. Raises NotFound."""
    from google.protobuf.field_mask_pb2 import FieldMask

    mask = FieldMask()
    mask.FromJsonString(",".join(sorted(wire)))
    with _translated(endpoint, f"update repository {name}"):
        return _record(
            clients.artifact_registry(endpoint).update_repository(
                repository=_message({**wire, "name": name}),
                update_mask=mask,
                retry=retry.for_idempotent(endpoint),
                timeout=retry.CALL_TIMEOUT,
            )
        )


def delete(endpoint: Endpoint, name: str, *, seconds: float = OPERATION_TIMEOUT) -> None:
    """Delete the repository with everything in it, and wait until it is gone. Raises NotFound."""
    action = f"delete repository {name}"
    with _translated(endpoint, action):
        operation = clients.artifact_registry(endpoint).delete_repository(
            name=name, retry=retry.for_idempotent(endpoint), timeout=retry.CALL_TIMEOUT
        )
        _ended(endpoint, operation, action, seconds)


def packages(endpoint: Endpoint, name: str, *, most: int = 100) -> tuple[str, ...]:
    """The names of the images in a repository, at most so many of them. Raises NotFound."""
    with _translated(endpoint, f"list the images of repository {name}"):
        pager = clients.artifact_registry(endpoint).list_packages(
            request={"parent": name, "page_size": most},
            retry=retry.for_idempotent(endpoint),
            timeout=retry.CALL_TIMEOUT,
        )
        # A page may be empty though others follow (Google API Improvement Proposal 158).
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


def _ended(endpoint: Endpoint, operation: Operation, action: str, seconds: float) -> Any:
    """The result of an operation, when it is done."""
    from concurrent.futures import TimeoutError as FutureTimeout

    from google.api_core.exceptions import RetryError

    try:
        return operation.result(timeout=seconds)  # type: ignore[no-untyped-call]
    except (FutureTimeout, RetryError) as error:
        raise _late(endpoint, operation, action, seconds) from error


def _late(endpoint: Endpoint, operation: Operation, action: str, seconds: float) -> CloudError:
    return DeadlineExceeded(
        f"Could not {action} ({endpoint}): the operation {operation.operation.name} has not ended after "
        f"{seconds:g} s. Run the same command again.",
        resource=action.partition(" ")[2],
        endpoint=endpoint,
    )


def _message(wire: Mapping[str, Any]) -> Any:
    from google.cloud.artifactregistry_v1.types import Repository
    from google.protobuf import json_format

    message = Repository.pb()()
    return Repository.wrap(json_format.ParseDict(dict(wire), message))


def _record(repository: Any) -> RepositoryRecord:
    from google.protobuf import json_format

    message = type(repository).pb(repository)
    return RepositoryRecord(name=repository.name, wire=json_format.MessageToDict(message))
