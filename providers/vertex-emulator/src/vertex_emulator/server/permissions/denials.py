"""Permissions that are denied to every caller, everywhere or on one resource.

Without denials every caller has all permissions. A denial is recorded in the data folder. It is left out of
the answers of every `testIamPermissions`, and calls that need it fail (`gate`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.kernel.settings import Settings

_SCHEMA = (
    """
    CREATE TABLE denied_permissions (
        permission TEXT NOT NULL,
        resource TEXT NOT NULL,
        PRIMARY KEY (permission, resource)
    );
    """,
)
_PERMISSION = re.compile(r"\*|[a-z][a-z0-9]*(?:\.[A-Za-z]+)*(?:\.(?:[A-Za-z]+|\*))")
_PROJECT = re.compile(r"projects/([^/]+)(.*)", re.DOTALL)
_BUCKET = re.compile(r"(?:gs://|(?:projects/_/)?buckets/)([a-z0-9][a-z0-9._-]*[a-z0-9])/?")
_ACCOUNT = re.compile(r"(?:(?:projects/[^/]+/)?serviceAccounts/)?([^/@\s]+@[^/@\s]+)")
_REPOSITORY = re.compile(r"(?:https://)?([a-z0-9-]+)-docker\.pkg\.dev/([^/]+)/([^/:@]+)/?")
_NAME = re.compile(r"projects/[^/\s]+(?:/[^/\s]+)*")


class DenialError(ValueError):
    """A permission or a resource is not written as one; the message has the remedy."""


@dataclass(frozen=True, kw_only=True)
class Denial:
    """A denied permission, which may end in `*`. An empty `resource` means everywhere."""

    permission: str
    resource: str = ""

    def covers(self, permission: str, resource: str) -> bool:
        """Return whether it denies a permission on a resource or on something below it."""
        if not fnmatchcase(permission, self.permission):
            return False
        asked, own = with_number(resource), with_number(self.resource)
        return not own or asked == own or asked.startswith(f"{own}/")


def parse_denial(permission: object, resource: object = "") -> Denial:
    """Return a denial as a user writes it. Raises `DenialError`."""
    if not (isinstance(permission, str) and _PERMISSION.fullmatch(permission)):
        raise DenialError(
            f"{permission!r} is not a permission. Write one such as aiplatform.customJobs.create, or "
            "storage.objects.* for all that begin so."
        )
    if not isinstance(resource, str):
        raise DenialError(f"resource must be a text, not {resource!r}.")
    return Denial(permission=permission, resource=canonical(resource) if resource else "")


def canonical(resource: str) -> str:
    """Return the form of a resource's name that calls are compared with. Raises `DenialError`."""
    name = re.sub(r"//[a-z]+\.googleapis\.com/", "", resource, count=1)
    if match := _BUCKET.fullmatch(name):
        return bucket(match[1])
    if match := _REPOSITORY.fullmatch(name):
        return f"projects/{match[2]}/locations/{match[1]}/repositories/{match[3]}"
    if match := _ACCOUNT.fullmatch(name):
        return account(match[1])
    if _NAME.fullmatch(name):
        return name
    raise DenialError(
        f"{resource!r} is not a resource. Write gs://BUCKET, projects/PROJECT, "
        "projects/PROJECT/locations/REGION/repositories/NAME, or the email address of a service account."
    )


def bucket(name: str) -> str:
    """Return the resource of a bucket."""
    return f"projects/_/buckets/{name}"


def account(email: str) -> str:
    """Return the resource of a service account; its email address names its project already."""
    return f"projects/-/serviceAccounts/{email}"


def with_number(resource: str) -> str:
    """Return a resource's name with the project's number, so that id and number mean the same."""
    match = _PROJECT.fullmatch(resource)
    if match is None or match[1] in ("_", "-"):
        return resource
    return f"projects/{project_number(match[1])}{match[2]}"


class Grants(Protocol):
    """The permissions of callers, as services ask for them."""

    def granted(self, permissions: Iterable[str], resource: str) -> list[str]:
        """Return the permissions that the caller has on a resource, in the order asked."""


class AllGranted:
    """The grants of an emulator without denials."""

    def granted(self, permissions: Iterable[str], resource: str) -> list[str]:  # noqa: ARG002
        """Return all permissions."""
        return list(permissions)


class Denials(Settings[Denial]):
    """All denials."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, Denial, table="denied_permissions", schema=_SCHEMA, keys=2)

    def denies(self, permission: str, resource: str) -> bool:
        """Return whether a permission is denied on a resource."""
        return any(each.covers(permission, resource) for each in self.by_key().values())

    def granted(self, permissions: Iterable[str], resource: str) -> list[str]:
        """Return the permissions that the caller has on a resource, in the order asked."""
        return [each for each in permissions if not self.denies(each, resource)]
