"""The methods of Secret Manager that store, read and grant a secret.

Source: Secret Manager API reference, v1. Payloads are in the database of the data folder, unencrypted, and in
no snapshot of it. A policy grants and denies nothing, as everywhere in the emulator; a denial does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from sqlite3 import Row

import google_crc32c

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.permissions import iam_policy
from vertex_emulator.server.permissions.denials import Grants
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError
from vertex_emulator.server.rpc.paging import Sizes, Wanted

_PACKAGE = "google.cloud.secretmanager.v1"
_SCHEMA = (
    """
    CREATE TABLE secrets (
        name TEXT PRIMARY KEY,
        resource BLOB NOT NULL,
        policy BLOB
    );
    CREATE TABLE secret_versions (
        secret TEXT NOT NULL REFERENCES secrets (name),
        number INTEGER NOT NULL,
        resource BLOB NOT NULL,
        payload BLOB,
        PRIMARY KEY (secret, number)
    );
    """,
)
_PARENT = re.compile(r"projects/([^/]+)(/locations/[^/]+)?")
_SECRET = re.compile(r"projects/([^/]+)((?:/locations/[^/]+)?/secrets/[A-Za-z0-9_-]{1,255})")
_VERSION = re.compile(rf"({_SECRET.pattern})/versions/([0-9]{{1,9}}|latest)")
_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
_MOST_BYTES = 65_536
_PAGE = Sizes(default=25_000, most=25_000)
_ENABLED, _DISABLED, _DESTROYED = 1, 2, 3
_UPDATABLE = ("labels", "annotations")


class SecretManager:
    """The secrets of one emulator."""

    def __init__(self, database: Database, clock: Clock, grants: Grants) -> None:
        self._database = database
        self._clock = clock
        self._grants = grants
        database.migrate("secrets", _SCHEMA)

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        methods: Mapping[str, Binding] = {
            "CreateSecret": self._create,
            "GetSecret": lambda request: self._secret(_secret_name(request.name)),
            "ListSecrets": self._list,
            "UpdateSecret": self._update,
            "DeleteSecret": self._delete,
            "AddSecretVersion": self._add,
            "GetSecretVersion": lambda request: self._version(request.name)[1],
            "ListSecretVersions": self._list_versions,
            "AccessSecretVersion": self._access,
            "EnableSecretVersion": self._changed(_ENABLED),
            "DisableSecretVersion": self._changed(_DISABLED),
            "DestroySecretVersion": self._changed(_DESTROYED),
            "GetIamPolicy": self._get_policy,
            "SetIamPolicy": self._set_policy,
            "TestIamPermissions": self._test,
        }
        return {f"{descriptors.SECRET_MANAGER}.{name}": method for name, method in methods.items()}

    def clear(self) -> None:
        """Delete all secrets."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM secret_versions")
            connection.execute("DELETE FROM secrets")

    def _create(self, request: DynamicMessage) -> DynamicMessage:
        parent = _PARENT.fullmatch(request.parent)
        if parent is None:
            raise RpcError("INVALID_ARGUMENT", f"parent must be projects/PROJECT, not {request.parent!r}.")
        if not _ID.fullmatch(request.secret_id):
            raise RpcError(
                "INVALID_ARGUMENT",
                f"secret_id {request.secret_id[:300]!r} must have 1 to 255 letters, digits, '-' or '_'.",
            )
        if parent[2] is None and not request.secret.HasField("replication"):
            raise RpcError("INVALID_ARGUMENT", "secret.replication is required. Use automatic.")
        _refuse_rest(request.secret, ("replication", *_UPDATABLE))
        secret = _message("Secret")
        secret.CopyFrom(request.secret)
        secret.name = f"projects/{project_number(parent[1])}{parent[2] or ''}/secrets/{request.secret_id}"
        secret.create_time.FromJsonString(self._clock.now())
        with self._database.transaction() as connection:
            if self._database.row("SELECT 1 FROM secrets WHERE name = ?", (secret.name,)):
                raise RpcError("ALREADY_EXISTS", f"Secret [{secret.name}] already exists.")
            connection.execute(
                "INSERT INTO secrets (name, resource) VALUES (?, ?)",
                (secret.name, secret.SerializeToString()),
            )
        return _with_etag(secret)

    def _update(self, request: DynamicMessage) -> DynamicMessage:
        paths = list(request.update_mask.paths)
        if not paths or (unknown := [path for path in paths if path not in _UPDATABLE]):
            what = f"not {unknown[0]!r}" if paths else "and must name one"
            raise RpcError("INVALID_ARGUMENT", f"update_mask can have {' and '.join(_UPDATABLE)}, {what}.")
        name = _secret_name(request.secret.name)
        with self._database.transaction() as connection:
            secret = self._secret(name)
            if request.secret.etag and request.secret.etag != secret.etag:
                raise RpcError("FAILED_PRECONDITION", f"The etag of {name} has changed. Read it again.")
            for path in paths:
                secret.ClearField(path)
                getattr(secret, path).update(getattr(request.secret, path))
            secret.ClearField("etag")
            connection.execute(
                "UPDATE secrets SET resource = ? WHERE name = ?", (secret.SerializeToString(), name)
            )
        return _with_etag(secret)

    def _list(self, request: DynamicMessage) -> DynamicMessage:
        parent = _PARENT.fullmatch(request.parent)
        if parent is None:
            raise RpcError("INVALID_ARGUMENT", f"parent must be projects/PROJECT, not {request.parent!r}.")
        _no_filter(request)
        begin = f"projects/{project_number(parent[1])}{parent[2] or ''}/secrets/"
        rows = self._database.rows(
            "SELECT name FROM secrets WHERE substr(name, 1, ?) = ? ORDER BY name", (len(begin), begin)
        )
        wanted = Wanted(size=request.page_size, token=request.page_token, sizes=_PAGE)
        page = wanted.page([str(row["name"]) for row in rows], query=begin)
        answer = _message("ListSecretsResponse")
        answer.secrets.extend(self._secret(name) for name in page.items)
        answer.next_page_token, answer.total_size = page.next_page_token, len(rows)
        return answer

    def _delete(self, request: DynamicMessage) -> DynamicMessage:
        name = _secret_name(request.name)
        self._secret(name)
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM secret_versions WHERE secret = ?", (name,))
            connection.execute("DELETE FROM secrets WHERE name = ?", (name,))
        return descriptors.empty()

    def _add(self, request: DynamicMessage) -> DynamicMessage:
        name, data = _secret_name(request.parent), request.payload.data
        if len(data) > _MOST_BYTES:
            raise RpcError(
                "INVALID_ARGUMENT", f"The payload has {len(data)} bytes; the limit is {_MOST_BYTES}."
            )
        if request.payload.HasField("data_crc32c") and request.payload.data_crc32c != google_crc32c.value(
            data
        ):
            raise RpcError("INVALID_ARGUMENT", "payload.data_crc32c does not match the data.")
        with self._database.transaction() as connection:
            self._secret(name)
            row = self._database.row(
                "SELECT MAX(number) AS number FROM secret_versions WHERE secret = ?", (name,)
            )
            number = (row["number"] or 0 if row else 0) + 1
            version = _message("SecretVersion")
            version.name, version.state = f"{name}/versions/{number}", _ENABLED
            version.create_time.FromJsonString(self._clock.now())
            connection.execute(
                "INSERT INTO secret_versions VALUES (?, ?, ?, ?)",
                (name, number, version.SerializeToString(), data),
            )
        return _with_etag(version)

    def _list_versions(self, request: DynamicMessage) -> DynamicMessage:
        name = _secret_name(request.parent)
        self._secret(name)
        _no_filter(request)
        rows = self._database.rows(
            "SELECT number FROM secret_versions WHERE secret = ? ORDER BY number DESC", (name,)
        )
        # The newest is first; tokens need an ascending order.
        order = {f"{999_999_999 - row['number']:09}": f"{name}/versions/{row['number']}" for row in rows}
        wanted = Wanted(size=request.page_size, token=request.page_token, sizes=_PAGE)
        page = wanted.page(sorted(order), query=name)
        answer = _message("ListSecretVersionsResponse")
        answer.versions.extend(self._version(order[each])[1] for each in page.items)
        answer.next_page_token, answer.total_size = page.next_page_token, len(rows)
        return answer

    def _access(self, request: DynamicMessage) -> DynamicMessage:
        row, version = self._version(request.name)
        if version.state != _ENABLED:
            state = "DISABLED" if version.state == _DISABLED else "DESTROYED"
            raise RpcError("FAILED_PRECONDITION", f"Secret Version [{version.name}] is in {state} state.")
        if row["payload"] is None:
            raise RpcError(
                "FAILED_PRECONDITION",
                f"Secret Version [{version.name}] came with a snapshot, which has no values of secrets. Add "
                "a version with the value.",
            )
        answer = _message("AccessSecretVersionResponse")
        answer.name = version.name
        answer.payload.data = row["payload"]
        answer.payload.data_crc32c = google_crc32c.value(row["payload"])
        return answer

    def _changed(self, state: int) -> Callable[[DynamicMessage], DynamicMessage]:
        def change(request: DynamicMessage) -> DynamicMessage:
            with self._database.transaction() as connection:
                row, version = self._version(request.name)
                if version.state == _DESTROYED and state != _DESTROYED:
                    raise RpcError("FAILED_PRECONDITION", f"Secret Version [{version.name}] is destroyed.")
                version.state = state
                if state == _DESTROYED and not version.HasField("destroy_time"):
                    version.destroy_time.FromJsonString(self._clock.now())
                version.ClearField("etag")
                connection.execute(
                    "UPDATE secret_versions SET resource = ?, payload = ? WHERE secret = ? AND number = ?",
                    (
                        version.SerializeToString(),
                        None if state == _DESTROYED else row["payload"],
                        row["secret"],
                        row["number"],
                    ),
                )
            return _with_etag(version)

        return change

    def _get_policy(self, request: DynamicMessage) -> DynamicMessage:
        iam_policy.check_version(request)
        return self._policy(_secret_name(request.resource))

    def _set_policy(self, request: DynamicMessage) -> DynamicMessage:
        iam_policy.check_replacement(request, iam_policy.ACCOUNT)
        name = _secret_name(request.resource)
        with self._database.transaction() as connection:
            new = iam_policy.replaced(request, self._policy(name))
            connection.execute(
                "UPDATE secrets SET policy = ? WHERE name = ?", (new.SerializeToString(), name)
            )
        return iam_policy.with_etag(new)

    def _test(self, request: DynamicMessage) -> DynamicMessage:
        iam_policy.check_permissions(request.permissions)
        name = _secret_name(request.resource)
        return iam_policy.granted(self._grants.granted(request.permissions, name))

    def _policy(self, name: str) -> DynamicMessage:
        self._secret(name)
        row = self._database.row("SELECT policy FROM secrets WHERE name = ?", (name,))
        stored = row["policy"] if row else None
        return iam_policy.with_etag(iam_policy.empty()) if stored is None else iam_policy.read(stored)

    def _secret(self, name: str) -> DynamicMessage:
        row = self._database.row("SELECT resource FROM secrets WHERE name = ?", (name,))
        if row is None:
            raise RpcError("NOT_FOUND", f"Secret [{name}] not found.")
        return _with_etag(_message("Secret").FromString(row["resource"]))

    def _version(self, name: str) -> tuple[Row, DynamicMessage]:
        """Return the row and the resource of a version. Raises `RpcError`."""
        match = _VERSION.fullmatch(name)
        if match is None:
            raise RpcError("INVALID_ARGUMENT", f"{name[:300]!r} is not the name of a secret's version.")
        secret = _secret_name(match[1])
        self._secret(secret)
        is_latest = match[4] == "latest"
        row = self._database.row(
            "SELECT * FROM secret_versions WHERE secret = ? AND (? OR number = ?) "
            "ORDER BY number DESC LIMIT 1",
            (secret, is_latest, 0 if is_latest else int(match[4])),
        )
        if row is None:
            raise RpcError("NOT_FOUND", f"Secret Version [{secret}/versions/{match[4]}] not found.")
        return row, _with_etag(_message("SecretVersion").FromString(row["resource"]))


def _with_etag(resource: DynamicMessage) -> DynamicMessage:
    """Set the etag of a resource to a hash of its other fields. Return the resource."""
    resource.ClearField("etag")
    resource.etag = f'"{google_crc32c.value(resource.SerializeToString(deterministic=True)):x}"'
    return resource


def _secret_name(name: str) -> str:
    """Return the name of a secret with the project's number. Raises `RpcError`."""
    match = _SECRET.fullmatch(name)
    if match is None:
        raise RpcError("INVALID_ARGUMENT", f"{name[:300]!r} is not the name of a secret.")
    return f"projects/{project_number(match[1])}{match[2]}"


def _refuse_rest(secret: DynamicMessage, known: Sequence[str]) -> None:
    for field, _ in secret.ListFields():
        if field.name not in (*known, "name", "etag"):
            raise RpcError("UNIMPLEMENTED", f"The emulator has no {field.name} of secrets. Leave it out.")


def _no_filter(request: DynamicMessage) -> None:
    if request.filter:
        raise RpcError("UNIMPLEMENTED", "The emulator does not filter secrets. Leave the filter out.")


def _message(name: str) -> DynamicMessage:
    return descriptors.message(f"{_PACKAGE}.{name}")
