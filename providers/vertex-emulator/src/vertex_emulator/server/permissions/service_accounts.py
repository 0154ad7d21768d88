"""The part of IAM's API about service accounts: get, list, create, delete, enable, disable, policies.

Every account with a well-formed address exists until it is deleted, as every project does. Until a policy is
set, an account has an empty one. A policy grants and denies nothing; a denial (`denials`) holds whatever the
policy says, as a deny policy of IAM does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.metadata_server import email as compute_account
from vertex_emulator.server.permissions import iam_policy
from vertex_emulator.server.permissions.denials import Grants, account
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, Unary
from vertex_emulator.server.rpc.paging import Sizes, Wanted

SCHEMA = (
    """
    CREATE TABLE service_accounts (
        email TEXT PRIMARY KEY,
        state TEXT NOT NULL
    );
    CREATE TABLE service_account_policies (
        email TEXT PRIMARY KEY,
        policy BLOB NOT NULL
    );
    """,
)
_PACKAGE = "google.iam.admin.v1"
_ETAG = b"01021920"
_OF_NONE = b"\x00\x20\x01"
"""The etag of a policy without bindings; in JSON it is ACAB, as in the answers of Google Cloud."""
_NAME = re.compile(r"projects/([^/]+)/serviceAccounts/([^/]+)")
_PAGE = Sizes(default=20, most=100)
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

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: Mapping[str, Binding] = {
            "GetServiceAccount": self._get,
            "ListServiceAccounts": self._list,
            "CreateServiceAccount": self._create,
            "DeleteServiceAccount": self._delete,
            "EnableServiceAccount": self._changed(_USABLE),
            "DisableServiceAccount": self._changed(_DISABLED),
            "GetIamPolicy": self._get_policy,
            "SetIamPolicy": self._set_policy,
            "TestIamPermissions": self._test,
        }
        return {f"{descriptors.IAM}.{name}": method for name, method in methods.items()}

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

    def _get(self, request: DynamicMessage) -> DynamicMessage:
        email = self._named(request.name)
        return self._view(email, self._state(email))

    def _delete(self, request: DynamicMessage) -> DynamicMessage:
        email = self._named(request.name)
        with self._database.transaction() as connection:
            self._record(email, _DELETED)
            connection.execute("DELETE FROM service_account_policies WHERE email = ?", (email,))
        return descriptors.empty()

    def _changed(self, state: str) -> Unary:
        def change(request: DynamicMessage) -> DynamicMessage:
            self._record(self._named(request.name), state)
            return descriptors.empty()

        return change

    def _get_policy(self, request: DynamicMessage) -> DynamicMessage:
        iam_policy.check_version(request)
        return self._policy(self._named(request.resource))

    def _set_policy(self, request: DynamicMessage) -> DynamicMessage:
        iam_policy.check_replacement(request, iam_policy.ACCOUNT)
        with self._database.transaction() as connection:
            email = self._named(request.resource)
            new = iam_policy.replaced(request, self._policy(email))
            connection.execute("DELETE FROM service_account_policies WHERE email = ?", (email,))
            if new.bindings:
                connection.execute(
                    "INSERT INTO service_account_policies VALUES (?, ?)", (email, new.SerializeToString())
                )
        return iam_policy.with_etag(new) if new.bindings else _no_policy()

    def _policy(self, email: str) -> DynamicMessage:
        row = self._database.row("SELECT policy FROM service_account_policies WHERE email = ?", (email,))
        return _no_policy() if row is None else iam_policy.read(row["policy"])

    def _test(self, request: DynamicMessage) -> DynamicMessage:
        iam_policy.check_permissions(request.permissions)
        email = self._named(request.resource)
        return iam_policy.granted(self._grants.granted(request.permissions, account(email)))

    def _list(self, request: DynamicMessage) -> DynamicMessage:
        """Answer with the known accounts of a project, and its Compute Engine's, by address."""
        number = project_number(request.name.removeprefix("projects/"))
        own = compute_account(number)
        emails = {each for each in self._known() if project_number(_project_of(each)) == number}
        emails |= {own} if self.exists(own) else set()
        wanted = Wanted(size=request.page_size, token=request.page_token, sizes=_PAGE)
        page = wanted.page(sorted(emails), query=number)
        answer = descriptors.message(f"{_PACKAGE}.ListServiceAccountsResponse")
        answer.accounts.extend(self._view(each, self._state(each)) for each in page.items)
        answer.next_page_token = page.next_page_token
        return answer

    def _create(self, request: DynamicMessage) -> DynamicMessage:
        if not _ID.fullmatch(request.account_id):
            raise RpcError(
                "INVALID_ARGUMENT",
                "accountId must have 6 to 30 lowercase letters, digits and dashes, and begin with a letter.",
            )
        project = request.name.removeprefix("projects/")
        email = f"{request.account_id}@{_domain(project)}.iam.gserviceaccount.com"
        self._record(email, _USABLE)
        return self._view(email, _USABLE)

    def _named(self, name: str) -> str:
        """Return the address in `projects/P/serviceAccounts/EMAIL`. Raises `RpcError` NOT_FOUND."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise RpcError(
                "INVALID_ARGUMENT", f"{name[:200]!r} is not a name. Write projects/P/serviceAccounts/EMAIL."
            )
        project, email = match.groups()
        address = _EMAIL.fullmatch(email)
        owner = _project_of(email)
        wrong = "-" not in (project, owner) and project_number(_domain(project)) != project_number(owner)
        if address is None or wrong or not self.exists(email):
            raise RpcError("NOT_FOUND", f"Unknown service account: {email}")
        return email

    def _record(self, email: str, state: str) -> None:
        self._database.execute(
            "INSERT INTO service_accounts VALUES (?, ?) "
            "ON CONFLICT (email) DO UPDATE SET state = excluded.state",
            (email, state),
        )

    def _view(self, email: str, state: str) -> DynamicMessage:
        project = _project_of(email)
        found = descriptors.message(f"{_PACKAGE}.ServiceAccount")
        found.name, found.email = f"projects/{project}/serviceAccounts/{email}", email
        found.project_id, found.unique_id = project, f"1{project_number(email)}00000000"
        found.etag, found.disabled = _ETAG, state == _DISABLED
        return found


def _no_policy() -> DynamicMessage:
    policy = iam_policy.empty()
    policy.etag = _OF_NONE
    return policy


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
