"""The part of IAM's API about service accounts: get, list, create, delete, enable, disable, policies.

Every account with a well-formed address exists until it is deleted, as every project does. Until a policy is
set, an account has an empty one. A policy grants and denies nothing; a denial (`denials`) holds whatever the
policy says, as a deny policy of IAM does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from google.protobuf.message import Message

from vertex_emulator.http.messages import HttpError, Request, Response, Route, json_response
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.metadata_server import email as compute_account
from vertex_emulator.permissions import iam_policy, paging
from vertex_emulator.permissions.denials import Grants, account
from vertex_emulator.rpc import descriptors
from vertex_emulator.rpc import methods as rpc
from vertex_emulator.rpc.descriptors import HttpRule, Method
from vertex_emulator.rpc.methods import Binding, RpcError

SCHEMA = (
    """
    CREATE TABLE service_accounts (
        email TEXT PRIMARY KEY,
        state TEXT NOT NULL
    );
    """,
    """
    CREATE TABLE service_account_policies (
        email TEXT PRIMARY KEY,
        policy BLOB NOT NULL
    );
    """,
)
_IAM = "google.iam.admin.v1.IAM"
_RESOURCE = "/v1/{resource=projects/*/serviceAccounts/*}"
_POLICY_METHODS = (("GetIamPolicy", ""), ("SetIamPolicy", "*"), ("TestIamPermissions", "*"))
"""The methods and the bodies of their HTTP rules (google/iam/admin/v1/iam.proto)."""
_OF_NONE = b"\x00\x20\x01"
"""The etag of a policy without bindings; in JSON it is ACAB, as in the answers of Google Cloud."""
_ONE = r"/v1/projects/([^/]+)/serviceAccounts/([^/:]+)"
_ALL = r"/v1/projects/([^/]+)/serviceAccounts"
_PAGE = paging.Sizes(default=20, most=100)
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
        database.migrate("service_accounts", SCHEMA)

    def routes(self) -> Sequence[Route]:
        """Return the routes of the API."""
        return (
            Route("GET", _ONE, self._get, "IAM.GetServiceAccount"),
            Route("DELETE", _ONE, self._delete, "IAM.DeleteServiceAccount"),
            Route("POST", f"{_ONE}:enable", self._changed(_USABLE), "IAM.EnableServiceAccount"),
            Route("POST", f"{_ONE}:disable", self._changed(_DISABLED), "IAM.DisableServiceAccount"),
            Route("POST", _ALL, self._create, "IAM.CreateServiceAccount"),
            Route("GET", _ALL, self._list, "IAM.ListServiceAccounts"),
            *rpc.routes_of(_policy_methods(), self._bindings()),
        )

    def _bindings(self) -> Mapping[str, Binding]:
        return {
            f"{_IAM}.GetIamPolicy": self._get_policy,
            f"{_IAM}.SetIamPolicy": self._set_policy,
            f"{_IAM}.TestIamPermissions": self._test,
        }

    def exists(self, email: str) -> bool:
        """Return whether an account was not deleted."""
        return self._state(email) != _DELETED

    def projects(self) -> set[str]:
        """Return the ids of the projects of the known accounts."""
        return {_project_of(email) for email in self._known()}

    def _known(self) -> list[str]:
        """Return the accounts that were created or changed, in order."""
        rows = self._database.rows(
            "SELECT email FROM service_accounts WHERE state != ? "
            "UNION SELECT email FROM service_account_policies ORDER BY email",
            (_DELETED,),
        )
        return [str(row["email"]) for row in rows]

    def _state(self, email: str) -> str:
        row = self._database.row("SELECT state FROM service_accounts WHERE email = ?", (email,))
        return _USABLE if row is None else str(row["state"])

    def clear(self) -> None:
        """Let all accounts exist and be enabled, with empty policies."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM service_accounts")
            connection.execute("DELETE FROM service_account_policies")

    def _get(self, _request: Request, match: re.Match[str]) -> Response:
        return json_response(self._view(*self._found(match)))

    def _delete(self, _request: Request, match: re.Match[str]) -> Response:
        email, _ = self._found(match)
        with self._database.transaction() as connection:
            self._record(email, _DELETED)
            connection.execute("DELETE FROM service_account_policies WHERE email = ?", (email,))
        return json_response({})

    def _changed(self, state: str) -> Callable[[Request, re.Match[str]], Response]:
        def change(_request: Request, match: re.Match[str]) -> Response:
            email, _ = self._found(match)
            self._record(email, state)
            return json_response({})

        return change

    def _get_policy(self, request: Any) -> Message:
        iam_policy.check_version(request)
        found: Message = self._policy(self._named(request.resource))
        return found

    def _set_policy(self, request: Any) -> Message:
        iam_policy.check_replacement(request, audited=False)
        with self._database.transaction() as connection:
            email = self._named(request.resource)
            new = iam_policy.replaced(request, self._policy(email))
            connection.execute("DELETE FROM service_account_policies WHERE email = ?", (email,))
            if new.bindings:
                connection.execute(
                    "INSERT INTO service_account_policies VALUES (?, ?)", (email, new.SerializeToString())
                )
        found: Message = iam_policy.with_etag(new) if new.bindings else _no_policy()
        return found

    def _policy(self, email: str) -> Any:
        row = self._database.row("SELECT policy FROM service_account_policies WHERE email = ?", (email,))
        return _no_policy() if row is None else iam_policy.read(row["policy"])

    def _test(self, request: Any) -> Message:
        iam_policy.check_permissions(request.permissions)
        email = self._named(request.resource)
        return iam_policy.granted(self._grants.granted(request.permissions, account(email)))

    def _list(self, request: Request, match: re.Match[str]) -> Response:
        """Answer with the known accounts of a project, and that of its Compute Engine, by address."""
        number = project_number(unquote(match[1]))
        own = compute_account(number)
        found = {each for each in self._known() if project_number(_project_of(each)) == number}
        found |= {own} if self.exists(own) else set()
        try:
            page = paging.of_request(request, _PAGE).page(sorted(found), query=number)
        except RpcError as error:
            raise error.http_error() from None
        accounts = [self._view(each, self._state(each)) for each in page.items]
        return json_response({"accounts": accounts, **page.token()})

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
        try:
            email = self._checked(unquote(match[1]), unquote(match[2]))
        except RpcError as error:
            raise error.http_error() from None
        return email, self._state(email)

    def _named(self, resource: str) -> str:
        """Return the address in `projects/P/serviceAccounts/EMAIL`. Raises `RpcError` NOT_FOUND."""
        _, project, _, email = resource.split("/")
        return self._checked(project, email)

    def _checked(self, project: str, email: str) -> str:
        """Return the address of an account, which must exist in the project. Raises `RpcError` NOT_FOUND."""
        address = _EMAIL.fullmatch(email)
        owner = _project_of(email)
        wrong = project != "-" and owner != "-" and project_number(project) != project_number(owner)
        if address is None or wrong or not self.exists(email):
            raise RpcError("NOT_FOUND", f"Unknown service account: {email}")
        return email

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


def _no_policy() -> Any:
    policy = iam_policy.empty()
    policy.etag = _OF_NONE
    return policy


def _policy_methods() -> list[Method]:
    """Return the methods about policies, whose messages are those of every IAM policy."""
    pool = descriptors.pool()
    return [
        Method(
            name=f"{_IAM}.{name}",
            request=pool.FindMessageTypeByName(f"google.iam.v1.{name}Request"),
            rules=(HttpRule(verb="POST", uri=f"{_RESOURCE}:{name[0].lower()}{name[1:]}", body=body),),
        )
        for name, body in _POLICY_METHODS
    ]


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
