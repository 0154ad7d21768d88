"""The calls on access control lists and IAM policies. They are stored, but grant and deny nothing.

What is denied is a setting of the emulator (`permissions.denials`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vertex_emulator.server.http.messages import Request, Response, Route
from vertex_emulator.server.permissions.denials import Grants
from vertex_emulator.server.permissions.denials import bucket as bucket_resource
from vertex_emulator.services.storage.disk import preconditions
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import Bucket
from vertex_emulator.services.storage.disk.store import Store
from vertex_emulator.services.storage.errors import (
    StorageError,
    condition_not_met,
    invalid,
    public_access_prevented,
    unsupported,
)
from vertex_emulator.services.storage.fields import access_lists, checks, parameters
from vertex_emulator.services.storage.fields.access_lists import Entries
from vertex_emulator.services.storage.fields.parameters import answer
from vertex_emulator.services.storage.names import decode
from vertex_emulator.services.storage.resources import (
    SELF,
    bucket_list,
    default_object_list,
    object_list,
    place_of,
)

_PARAMETERS = preconditions.OBJECT | {"generation", "projection"}

Change = Callable[[Entries], Entries]


class AccessLists:
    """The handlers. The match's groups are percent-encoded: bucket, object where there is one, entity."""

    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store
        self._store = object_store.store

    def routes(self, bucket: str) -> tuple[Route, ...]:
        """Return the routes below the pattern of a bucket's path."""
        table = []
        for path, name, handler in (
            (f"{bucket}/acl", "bucketAccessControls", self._of_bucket),
            (f"{bucket}/defaultObjectAcl", "defaultObjectAccessControls", self._of_default),
            (f"{bucket}/o/([^/]+)/acl", "objectAccessControls", self._of_object),
        ):
            table += [
                Route("GET", path, handler, f"storage.{name}.list"),
                Route("POST", path, handler, f"storage.{name}.insert"),
                Route("GET", f"{path}/([^/]+)", handler, f"storage.{name}.get"),
                Route("PATCH", f"{path}/([^/]+)", handler, f"storage.{name}.patch"),
                Route("PUT", f"{path}/([^/]+)", handler, f"storage.{name}.update"),
                Route("DELETE", f"{path}/([^/]+)", handler, f"storage.{name}.delete"),
            ]
        return tuple(table)

    def _of_bucket(self, request: Request, match: re.Match[str]) -> Response:
        return self._of_a_bucket(request, match, "acl", "bucketAccessControl", access_lists.BUCKET_ROLES)

    def _of_default(self, request: Request, match: re.Match[str]) -> Response:
        roles = access_lists.OBJECT_ROLES
        return self._of_a_bucket(request, match, "defaultObjectAcl", "objectAccessControl", roles)

    def _of_a_bucket(
        self, request: Request, match: re.Match[str], field: str, kind: str, roles: tuple[str, ...]
    ) -> Response:
        parameters.check(request, _PARAMETERS)
        name = decode(match[1])
        entity = decode(match[2]) if match.re.groups > 1 else None
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            preconditions.from_request(request).check(bucket)
            access_lists.check_not_uniform(bucket.settings)
            before = bucket_list(bucket) if field == "acl" else default_object_list(bucket)
            after = _after(request, before, entity, roles=roles)
            if after != before:
                access_lists.check_allowed(after, bucket.settings)
                settings = {**bucket.settings, field: after}
                self._store.put_bucket(
                    replace(
                        bucket,
                        settings=settings,
                        metageneration=bucket.metageneration + 1,
                        updated=self._store.clock.now(),
                    )
                )
        place = {"bucket": name} if field == "acl" else {}
        return _answer(request, after, entity, kind, f"{SELF}/b/{name}/{field}", place)

    def _of_object(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, _PARAMETERS)
        name, key = decode(match[1]), decode(match[2])
        entity = decode(match[3]) if match.re.groups > 2 else None
        self._object_store.hash_large_file(name, key)
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            stored = self._object_store.get(name, key, parameters.integer(request, "generation"))
            preconditions.from_request(request).check(stored)
            access_lists.check_not_uniform(bucket.settings)
            before = object_list(stored, bucket)
            after = _after(request, before, entity, roles=access_lists.OBJECT_ROLES)
            if after != before:
                access_lists.check_allowed(after, bucket.settings)
                stored = self._object_store.update(stored, {**stored.settings, "acl": after})
        link = f"{SELF}/b/{name}/o/{match[2]}/acl"
        return _answer(request, after, entity, "objectAccessControl", link, place_of(stored))


def _after(request: Request, before: Entries, entity: str | None, *, roles: tuple[str, ...]) -> Entries:
    """Return the entries after the call."""
    if request.method == "GET":
        return before
    if request.method == "DELETE":
        return access_lists.without(before, entity or "")
    body: dict[str, Any] = checks.document(request.body.json())
    if entity is not None:
        if request.method != "PUT":  # which creates a missing entry
            access_lists.of_entity(before, entity)
        body = {**body, "entity": entity}
    return access_lists.changed(before, access_lists.entry("entry", body, roles=roles))


def _answer(
    request: Request, after: Entries, entity: str | None, kind: str, link: str, place: dict[str, str]
) -> Response:
    if request.method == "DELETE":
        return Response(204)
    if entity is None and request.method == "POST":
        return answer(request, access_lists.resource(kind, link, after[-1], **place))
    if entity is not None:
        return answer(
            request, access_lists.resource(kind, link, access_lists.of_entity(after, entity), **place)
        )
    items = [access_lists.resource(kind, link, each, **place) for each in after]
    return answer(request, {"kind": f"storage#{kind}s", "items": items})


_MAX_BINDINGS = 1500
_MAX_MEMBERS = 1500
_WITH_CONDITIONS = 3
_ROLE = re.compile(r"roles/[\w.]+|(?:projects|organizations)/[^/]+/roles/[\w.]+")
_MEMBER = re.compile(r"(?:allUsers|allAuthenticatedUsers|[a-zA-Z]+:\S+|deleted:\S+)")
_PUBLIC = frozenset({"allUsers", "allAuthenticatedUsers"})
_PERMISSION = re.compile(r"storage\.[a-zA-Z]+\.[a-zA-Z]+")


class Policies:
    """The handlers. Group 1 of the match is the bucket's percent-encoded name."""

    def __init__(self, store: Store, grants: Grants) -> None:
        self._store = store
        self._grants = grants

    def get(self, request: Request, match: re.Match[str]) -> Response:
        """Return the policy, with conditions if the client requests version 3."""
        parameters.check(request, frozenset({"optionsRequestedPolicyVersion"}))
        version = parameters.integer(request, "optionsRequestedPolicyVersion")
        if version not in (None, 0, 1, 2, 3):
            raise invalid("optionsRequestedPolicyVersion must be 1 or 3.")
        return answer(request, _resource(self._store.bucket(decode(match[1])), version or 1))

    def set(self, request: Request, match: re.Match[str]) -> Response:
        """Replace the policy. An etag in the request must be the current one."""
        parameters.check(request, frozenset())
        body = checks.document(request.body.json())
        name = decode(match[1])
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            if body.get("etag") not in (None, "", bucket.etag):
                raise condition_not_met()
            access = bucket.settings["iamConfiguration"]
            uniform = access["uniformBucketLevelAccess"]["enabled"]
            enforced = access["publicAccessPrevention"] == "enforced"
            changed = replace(
                bucket,
                policy=checked(body, uniform=uniform, enforced=enforced),
                metageneration=bucket.metageneration + 1,
                updated=self._store.clock.now(),
            )
            self._store.put_bucket(changed)
        return answer(request, _resource(changed, _WITH_CONDITIONS))

    def test(self, request: Request, match: re.Match[str]) -> Response:
        """Return the requested permissions that are not denied."""
        parameters.check(request, frozenset({"permissions"}))
        name = decode(match[1])
        self._store.bucket(name)
        requested = request.query.get("permissions", [])
        for permission in requested:
            if not _PERMISSION.fullmatch(permission):
                raise invalid(f"{permission!r} is not a permission of Cloud Storage.", location="permissions")
        resource: dict[str, Any] = {"kind": "storage#testIamPermissionsResponse"}
        if granted := self._grants.granted(requested, bucket_resource(name)):
            resource["permissions"] = granted
        return answer(request, resource)


def checked(policy: Mapping[str, Any], *, uniform: bool, enforced: bool) -> list[dict[str, Any]]:
    """Check a policy, and return its bindings to store. Raises `StorageError` 400, 412.

    `uniform` is the bucket's uniform access; `enforced` is its public access prevention.
    """
    for name in policy.keys() - {"kind", "resourceId", "version", "etag", "bindings"}:
        raise unsupported(f"the field {name!r} of a policy", "Leave it out.")
    bindings = policy.get("bindings") or []
    if not isinstance(bindings, list) or len(bindings) > _MAX_BINDINGS:
        raise invalid(f"bindings must be a list of at most {_MAX_BINDINGS} entries.")
    records = [_binding(f"bindings[{index}]", binding) for index, binding in enumerate(bindings)]
    if any("condition" in each for each in records):
        if not uniform:
            raise StorageError(
                412,
                "conditionNotMet",
                "To set a policy with conditions, first enable uniform bucket-level access of the bucket.",
            )
        if policy.get("version") != _WITH_CONDITIONS:
            raise invalid("The version of a policy with conditions must be at least 3. Set version to 3.")
    public = sorted({member for each in records for member in each["members"]} & _PUBLIC)
    if public and enforced:
        raise public_access_prevented(f"The policy names {' and '.join(public)}.")
    return records


def _binding(path: str, value: object) -> dict[str, Any]:
    def condition(at: str, item: object) -> dict[str, Any]:
        texts = dict.fromkeys(("title", "description", "expression", "location"), checks.text)
        return checks.record(at, item, texts)

    record = checks.record(path, value, {"role": _role, "members": _members, "condition": condition})
    for name in ("role", "members"):
        if name not in record:
            raise invalid(f"{path}.{name} is missing.")
    if "condition" in record and not {"title", "expression"} <= record["condition"].keys():
        raise invalid(f"{path}.condition needs title and expression.")
    return record


def _role(path: str, value: object) -> str:
    if not _ROLE.fullmatch(checks.text(path, value)):
        raise invalid(f"{path} must be a role such as roles/storage.objectViewer, not {value!r}.")
    return str(value)


def _members(path: str, value: object) -> list[str]:
    members = checks.texts(path, value)
    if len(members) > _MAX_MEMBERS:
        raise invalid(f"{path} has {len(members)} entries; the limit is {_MAX_MEMBERS}.")
    for member in members:
        if not _MEMBER.fullmatch(member):
            raise invalid(
                f"{path} has {member!r}. A member must be like user:NAME, allUsers or projectViewer:ID."
            )
    return members


def _resource(bucket: Bucket, version: int) -> dict[str, Any]:
    bindings = _bindings(bucket)
    conditional = any("condition" in each for each in bindings)
    if version < _WITH_CONDITIONS:
        bindings = [each for each in bindings if "condition" not in each]
    return {
        "kind": "storage#policy",
        "resourceId": f"projects/_/buckets/{bucket.name}",
        "version": _WITH_CONDITIONS if conditional and version == _WITH_CONDITIONS else 1,
        "etag": bucket.etag,
        "bindings": bindings,
    }


def _bindings(bucket: Bucket) -> Sequence[Mapping[str, Any]]:
    if bucket.policy is not None:
        return bucket.policy
    editors = [f"projectEditor:{bucket.project}", f"projectOwner:{bucket.project}"]
    viewers = [f"projectViewer:{bucket.project}"]
    return [
        {"role": "roles/storage.legacyBucketOwner", "members": editors},
        {"role": "roles/storage.legacyBucketReader", "members": viewers},
    ]
