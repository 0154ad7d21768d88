"""Permissions and policies of a project, its service accounts, buckets and repositories.

A test of permissions answers for the caller alone. For any other account there are only the policies, which
many callers may not read, and which lack what a folder or an organization grants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from pulumi_vertex_training.cloud import clients, rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated

SECRETS_HOST = "secretmanager.googleapis.com"
PROJECTS_HOST = "cloudresourcemanager.googleapis.com"
IAM_HOST = "iam.googleapis.com"

Permissions = frozenset[str]

_OF_PROJECTS, _OF_GOOGLE = ".iam.gserviceaccount.com", "gcp-sa-"
"""The end of the domain of a project's accounts, and the beginning of the domain of Google's."""
_DEFAULT_ACCOUNT = re.compile(r"([0-9]+)-compute@developer\.gserviceaccount\.com")
"""Compute Engine's account of a project, by the project's number."""


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project: its number, and its state, such as ACTIVE."""

    number: str
    state: str


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket: its location in lower case, and the number of its project."""

    location: str
    project_number: str


@dataclass(frozen=True, kw_only=True)
class Binding:
    """The members that have a role. `is_conditional` is true if they have it under a condition only."""

    role: str
    members: tuple[str, ...]
    is_conditional: bool = False


Policy = tuple[Binding, ...]


def project(endpoint: Endpoint) -> Project:
    """Return the endpoint's project. Raises NotFound, and PermissionDenied also if it does not exist."""
    with translated(endpoint, f"read project {endpoint.project}"):
        wire = rest.call(endpoint, "GET", _project_url(endpoint))
    return Project(number=str(wire.get("name", "")).rpartition("/")[2], state=str(wire.get("state", "")))


def on_project(endpoint: Endpoint, permissions: Iterable[str]) -> Permissions:
    """Filter permissions to the ones that the caller has on the endpoint's project."""
    with translated(endpoint, f"test the permissions on project {endpoint.project}"):
        return _tested(endpoint, _project_url(endpoint), permissions)


def on_account(endpoint: Endpoint, email: str, permissions: Iterable[str]) -> Permissions:
    """Filter permissions to the ones that the caller has on a service account. Raises NotFound."""
    with translated(endpoint, f"test the permissions on service account {email}"):
        return _tested(endpoint, _account_url(endpoint, email), permissions)


def on_repository(endpoint: Endpoint, name: str, permissions: Iterable[str]) -> Permissions:
    """Filter permissions to the ones that the caller has on a repository, by its full name."""
    with translated(endpoint, f"test the permissions on repository {name}"):
        return _tested(endpoint, f"{endpoint.artifact_registry_url}/v1/{name}", permissions)


def on_bucket(endpoint: Endpoint, name: str, permissions: Iterable[str]) -> Permissions:
    """Filter permissions to the ones that the caller has on a bucket. Raises NotFound."""
    with translated(endpoint, f"test the permissions on bucket {name}"):
        answer = rest.call(
            endpoint,
            "GET",
            f"{clients.bucket_url(endpoint, name)}/iam/testPermissions",
            query={"permissions": list(permissions)},
        )
    return _permissions(answer)


def account_is_disabled(endpoint: Endpoint, email: str) -> bool:
    """Return whether a service account is disabled. Raises NotFound."""
    with translated(endpoint, f"read service account {email}"):
        return bool(rest.call(endpoint, "GET", _account_url(endpoint, email)).get("disabled"))


def bucket(endpoint: Endpoint, name: str) -> Bucket:
    """Return a bucket. Raises NotFound."""
    with translated(endpoint, f"read bucket {name}"):
        wire = rest.call(endpoint, "GET", clients.bucket_url(endpoint, name))
    return Bucket(
        location=str(wire.get("location", "")).lower(), project_number=str(wire.get("projectNumber", ""))
    )


def policy_of_project(endpoint: Endpoint) -> Policy:
    """Return the policy of the endpoint's project, without its folders and organization."""
    return _policy_of_project(endpoint, endpoint.project)


def policy_of_project_of_bucket(endpoint: Endpoint, name: str) -> Policy:
    """Return the policy of the project that a bucket is in. Raises NotFound."""
    return _policy_of_project(endpoint, bucket(endpoint, name).project_number)


def _policy_of_project(endpoint: Endpoint, project: str) -> Policy:
    with translated(endpoint, f"read the policy of project {project}"):
        url = f"{endpoint.service_url(PROJECTS_HOST)}/v3/projects/{project}:getIamPolicy"
        body = {"options": {"requestedPolicyVersion": 3}}
        return _policy(rest.call(endpoint, "POST", url, body=body))


def policy_of_bucket(endpoint: Endpoint, name: str) -> Policy:
    """Return the policy of a bucket. Raises NotFound."""
    with translated(endpoint, f"read the policy of bucket {name}"):
        query = {"optionsRequestedPolicyVersion": 3}
        return _policy(rest.call(endpoint, "GET", f"{clients.bucket_url(endpoint, name)}/iam", query=query))


def policy_of_repository(endpoint: Endpoint, name: str) -> Policy:
    """Return the policy of a repository, by its full name. Raises NotFound."""
    with translated(endpoint, f"read the policy of repository {name}"):
        url = f"{endpoint.artifact_registry_url}/v1/{name}:getIamPolicy"
        return _policy(rest.call(endpoint, "GET", url, query={"options.requestedPolicyVersion": 3}))


def policy_of_secret(endpoint: Endpoint, name: str) -> Policy:
    """Return the policy of a secret of Secret Manager, by its full name. Raises NotFound."""
    location = name.partition("/locations/")[2].partition("/")[0]
    host = f"secretmanager.{location}.rep.googleapis.com" if location else SECRETS_HOST
    with translated(endpoint, f"read the policy of secret {name}"):
        url = f"{endpoint.service_url(host)}/v1/{name}:getIamPolicy"
        return _policy(rest.call(endpoint, "GET", url, query={"options.requestedPolicyVersion": 3}))


def on_secret(endpoint: Endpoint, name: str, permissions: Iterable[str]) -> Permissions:
    """Filter permissions to the ones that the caller has on a secret, by its full name. Raises NotFound."""
    with translated(endpoint, f"test the permissions on secret {name}"):
        return _tested(endpoint, f"{endpoint.service_url(SECRETS_HOST)}/v1/{name}", permissions)


def _tested(endpoint: Endpoint, url: str, permissions: Iterable[str]) -> Permissions:
    body = {"permissions": list(permissions)}
    return _permissions(rest.call(endpoint, "POST", f"{url}:testIamPermissions", body=body))


def _permissions(answer: Mapping[str, object]) -> Permissions:
    found = answer.get("permissions")
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


def _policy(answer: rest.Json) -> Policy:
    return tuple(
        Binding(
            role=str(one.get("role", "")),
            members=tuple(map(str, one.get("members", ()))),
            is_conditional=bool(one.get("condition")),
        )
        for one in answer.get("bindings", ())
    )


def _project_url(endpoint: Endpoint) -> str:
    return f"{endpoint.service_url(PROJECTS_HOST)}/v3/projects/{endpoint.project}"


def _account_url(endpoint: Endpoint, email: str) -> str:
    # With "-" as the project, IAM answers 403 for an account that does not exist (serviceAccounts.get).
    default = _DEFAULT_ACCOUNT.fullmatch(email)
    project = quote(project_of_account(email) or (default and default[1]) or "-", safe=":")
    return f"{endpoint.service_url(IAM_HOST)}/v1/projects/{project}/serviceAccounts/{quote(email, safe='@')}"


def project_of_account(email: str) -> str:
    """Return the id of the project in which a service account was created, "" for Google's own accounts."""
    _, _, domain = email.partition("@")
    if not domain.endswith(_OF_PROJECTS) or domain.startswith(_OF_GOOGLE):
        return ""
    # The id of a project in a domain, DOMAIN:ID, is ID.DOMAIN there.
    project, _, owner = domain.removesuffix(_OF_PROJECTS).partition(".")
    return f"{owner}:{project}" if owner else project
