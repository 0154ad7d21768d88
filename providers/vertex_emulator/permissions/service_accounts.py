"""The part of IAM's API about service accounts: get, create, delete, enable, disable, testIamPermissions.

Every account with a well-formed address exists until it is deleted, as every project does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.permissions.denials import Grants, account
from vertex_emulator.permissions.policies import check_permissions
from vertex_emulator.rpc.methods import RpcError

_SCHEMA = (
    """
    CREATE TABLE service_accounts (
        email TEXT PRIMARY KEY,
        state TEXT NOT NULL
    );
    """,
)
_ONE = r"/v1/projects/([^/]+)/serviceAccounts/([^/:]+)"
_USABLE, _DELETED, _DISABLED = "enabled", "deleted", "disabled"
_SUFFIX = ".iam.gserviceaccount.com"
_ID = re.compile(r"[a-z](?:[a-z0-9-]{4,28}[a-z0-9])")
_EMAIL = re.compile(
    r"[a-z0-9-]+@(?:[a-z0-9.-]+\.iam|developer|appspot|cloudbuild|cloudservices)\.gserviceaccount\.com"
)


class ServiceAccounts:
    """The service accounts of all projects."""

    def __init__(self, database: Database, grants: Grants) -> None:
        self._database = database
        self._grants = grants
        database.migrate("service_accounts", _SCHEMA)

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        return (
            Route("GET", _ONE, self._get, "IAM.GetServiceAccount"),
            Route("DELETE", _ONE, self._delete, "IAM.DeleteServiceAccount"),
            Route("POST", f"{_ONE}:enable", self._changed(_USABLE), "IAM.EnableServiceAccount"),
            Route("POST", f"{_ONE}:disable", self._changed(_DISABLED), "IAM.DisableServiceAccount"),
            Route("POST", f"{_ONE}:testIamPermissions", self._test, "IAM.TestIamPermissions"),
            Route("POST", r"/v1/projects/([^/]+)/serviceAccounts", self._create, "IAM.CreateServiceAccount"),
        )

    def exists(self, email: str) -> bool:
        """Return whether an account was not deleted."""
        return self._state(email) != _DELETED

    def _state(self, email: str) -> str:
        row = self._database.row("SELECT state FROM service_accounts WHERE email = ?", (email,))
        return _USABLE if row is None else str(row["state"])

    def clear(self) -> None:
        """Let all accounts exist and be enabled."""
        self._database.execute("DELETE FROM service_accounts")

    def _get(self, _request: Request, match: re.Match[str]) -> Response:
        return json_response(self._view(*self._found(match)))

    def _delete(self, _request: Request, match: re.Match[str]) -> Response:
        email, _ = self._found(match)
        self._record(email, _DELETED)
        return json_response({})

    def _changed(self, state: str) -> Callable[[Request, re.Match[str]], Response]:
        def change(_request: Request, match: re.Match[str]) -> Response:
            email, _ = self._found(match)
            self._record(email, state)
            return json_response({})

        return change

    def _test(self, request: Request, match: re.Match[str]) -> Response:
        body = request.body.json()
        permissions = body.get("permissions", []) if isinstance(body, Mapping) else None
        if not (isinstance(permissions, list) and all(isinstance(each, str) for each in permissions)):
            raise HttpError(400, "", "The body must be like {'permissions': ['iam.serviceAccounts.actAs']}.")
        try:
            check_permissions(permissions)
        except RpcError as error:
            raise error.http_error() from error
        email, _ = self._found(match)
        granted = self._grants.granted(permissions, account(email))
        return json_response({"permissions": granted} if granted else {})

    def _create(self, request: Request, match: re.Match[str]) -> Response:
        body = request.body.json()
        name = body.get("accountId") if isinstance(body, Mapping) else None
        if not (isinstance(name, str) and _ID.fullmatch(name)):
            raise HttpError(
                400,
                "",
                "accountId must have 6 to 30 lowercase letters, digits and dashes, and begin with a letter.",
            )
        email = f"{name}@{_domain(unquote(match[1]))}.iam.gserviceaccount.com"
        self._record(email, _USABLE)
        return json_response(self._view(email, _USABLE))

    def _found(self, match: re.Match[str]) -> tuple[str, str]:
        """Return the address and the state of the account in a path. Raises `HttpError` 404."""
        project, email = unquote(match[1]), unquote(match[2])
        address = _EMAIL.fullmatch(email)
        owner = _project_of(email)
        wrong = project != "-" and owner != "-" and project_number(project) != project_number(owner)
        if address is None or wrong or not self.exists(email):
            raise HttpError(404, "NOT_FOUND", f"Unknown service account: {email}")
        return email, self._state(email)

    def _record(self, email: str, state: str) -> None:
        self._database.execute(
            "INSERT INTO service_accounts VALUES (?, ?) "
            "ON CONFLICT (email) DO UPDATE SET state = excluded.state",
            (email, state),
        )

    def _view(self, email: str, state: str) -> dict[str, Any]:
        project = _project_of(email)
        return {
            "name": f"projects/{project}/serviceAccounts/{email}",
            "projectId": project,
            "uniqueId": f"1{project_number(email)}00000000",
            "email": email,
            "etag": "MDEwMjE5MjA=",
            **({"disabled": True} if state == _DISABLED else {}),
        }


def _project_of(email: str) -> str:
    """Return the project in an address, its number for the account of Compute Engine, else "-"."""
    name, _, domain = email.partition("@")
    if domain == "developer.gserviceaccount.com":
        return name.partition("-")[0]
    if domain.startswith("gcp-sa-"):
        return "-"
    return domain.removesuffix(_SUFFIX) if domain.endswith(_SUFFIX) else "-"


def _domain(project: str) -> str:
    """Return the project in the address of an account: a domain-scoped id DOMAIN:ID is ID.DOMAIN there."""
    domain, _, name = project.rpartition(":")
    return f"{name}.{domain}" if domain else project
