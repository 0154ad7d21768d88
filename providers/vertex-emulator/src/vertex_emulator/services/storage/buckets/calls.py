"""The calls on buckets, and related calls on buckets and projects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.http.messages import Request, Response
from vertex_emulator.services.storage.disk import preconditions, soft_deletion
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.records import Bucket
from vertex_emulator.services.storage.errors import StorageError, invalid, no_bucket, required
from vertex_emulator.services.storage.fields import access_lists, checks, parameters
from vertex_emulator.services.storage.fields import bucket as bucket_fields
from vertex_emulator.services.storage.fields.bucket import location_type
from vertex_emulator.services.storage.fields.parameters import answer
from vertex_emulator.services.storage.names import check_bucket_name, decode, decode_token, encode_token
from vertex_emulator.services.storage.resources import bucket_resource

_SHOWN = frozenset({"projection"})
_LISTS = frozenset({"predefinedAcl", "predefinedDefaultObjectAcl"})


class Buckets:
    """The handlers of calls on buckets. Group 1 of the match is the bucket's percent-encoded name."""

    def __init__(self, object_store: ObjectStore, *, changed: Callable[[], object] = lambda: None) -> None:
        """Call `changed` after each change that may give the housekeeper work."""
        self._object_store = object_store
        self._changed = changed
        self._store = object_store.store
        self._files = object_store.files

    def insert(self, request: Request, _: re.Match[str]) -> Response:
        parameters.check(request, frozenset({"project", "enableObjectRetention", *_SHOWN, *_LISTS}))
        project = parameters.text(request, "project")
        body = checks.document(request.body.json())
        name = body.get("name")
        if name is None:
            raise required("name")
        check_bucket_name(checks.text("name", name))
        moment = self._store.clock.now()
        settings = bucket_fields.created(
            body, moment=moment, object_retention=parameters.flag(request, "enableObjectRetention")
        )
        settings = _with_lists(request, settings, {}, project)
        with self._store.locked(name):
            if (taken := self._store.find_bucket(name)) is not None:
                raise _taken(taken, project)
            self._files.make_bucket(name)
            bucket = Bucket(
                name=name,
                project=project,
                generation=self._store.next_generation(),
                metageneration=1,
                created=moment,
                updated=moment,
                settings=settings,
                chose_soft_delete=body.get("softDeletePolicy") is not None,
            )
            self._store.put_bucket(bucket)
        self._changed()
        return answer(request, _resource(request, bucket))

    def list(self, request: Request, _: re.Match[str]) -> Response:
        parameters.check(
            request, frozenset({"project", "prefix", "maxResults", "pageToken", "softDeleted", *_SHOWN})
        )
        limit = parameters.page_size(request)
        buckets = self._store.buckets(
            parameters.text(request, "project"),
            prefix=request.parameter("prefix") or "",
            after=_after(request),
            limit=limit + 1,
            soft_deleted=parameters.flag(request, "softDeleted"),
        )
        resource: dict[str, Any] = {"kind": "storage#buckets"}
        if buckets:
            full = request.parameter("projection") == "full"
            resource["items"] = [bucket_resource(bucket, full=full) for bucket in buckets[:limit]]
        if len(buckets) > limit:
            resource["nextPageToken"] = encode_token(buckets[limit - 1].record)
        return answer(request, resource)

    def get(self, request: Request, match: re.Match[str]) -> Response:
        parameters.check(request, preconditions.BUCKET | {"generation", "softDeleted", *_SHOWN})
        if parameters.flag(request, "softDeleted"):
            bucket = self._soft_deleted(request, decode(match[1]))
        else:
            bucket = self._store.bucket(decode(match[1]))
            if parameters.integer(request, "generation") not in (None, bucket.generation):
                raise no_bucket()
        preconditions.from_request(request).check(bucket, reading=True)
        return answer(request, _resource(request, bucket))

    def patch(self, request: Request, match: re.Match[str]) -> Response:
        return self._change(request, match, bucket_fields.patched)

    def update(self, request: Request, match: re.Match[str]) -> Response:
        return self._change(request, match, bucket_fields.replaced)

    def _change(
        self, request: Request, match: re.Match[str], settings_after: Callable[..., dict[str, Any]]
    ) -> Response:
        parameters.check(request, preconditions.BUCKET | _SHOWN | _LISTS)
        name = decode(match[1])
        body = request.body.json()
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            preconditions.from_request(request).check(bucket)
            moment = self._store.clock.now()
            settings = settings_after(bucket.settings, body, current=bucket_resource(bucket), moment=moment)
            settings = _with_lists(request, settings, bucket.settings, bucket.project)
            if request.method == "PATCH" and not body and settings == bucket.settings:
                return answer(request, _resource(request, bucket))
            # Clients send back the policy that they have read; only a different policy is a choice.
            chosen = settings["softDeletePolicy"] != bucket.settings["softDeletePolicy"]
            changed = replace(
                bucket,
                settings=settings,
                metageneration=bucket.metageneration + 1,
                updated=moment,
                chose_soft_delete=bucket.chose_soft_delete or chosen,
            )
            with self._store.transaction():
                self._store.put_bucket(changed)
                if changed.retention_seconds != bucket.retention_seconds:
                    self._store.retain(name, changed.retention_seconds)
        self._changed()
        return answer(request, _resource(request, changed))

    def lock_retention_policy(self, request: Request, match: re.Match[str]) -> Response:
        """Lock the retention policy, so that it can only be extended."""
        parameters.check(request, frozenset({"ifMetagenerationMatch"}))
        parameters.text(request, "ifMetagenerationMatch")
        name = decode(match[1])
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            preconditions.from_request(request).check(bucket)
            policy = bucket.settings.get("retentionPolicy")
            if policy is None:
                raise invalid(f"The bucket {name} has no retention policy to lock.")
            changed = replace(
                bucket,
                settings={**bucket.settings, "retentionPolicy": {**policy, "isLocked": True}},
                metageneration=bucket.metageneration + 1,
                updated=self._store.clock.now(),
            )
            self._store.put_bucket(changed)
        return answer(request, _resource(request, changed))

    def delete(self, request: Request, match: re.Match[str]) -> Response:
        """Delete a bucket, which may still have soft-deleted objects.

        If its owner chose soft deletion, the bucket can be restored. Otherwise it is removed with its
        soft-deleted objects, so that `pulumi destroy` frees the space.
        """
        parameters.check(request, preconditions.BUCKET)
        name = decode(match[1])
        self._object_store.adopt_files(name)
        with self._store.locked(name):
            bucket = self._store.bucket(name)
            preconditions.from_request(request).check(bucket)
            self._object_store.reconcile(name)
            if self._store.has_objects(name):
                raise StorageError(409, "conflict", "The bucket you tried to delete is not empty.")
            if bucket.chose_soft_delete and bucket.soft_delete_seconds:
                moment = self._store.clock.now()
                until = soft_deletion.later(moment, bucket.soft_delete_seconds)
                deleted = replace(bucket, soft_deleted=moment, hard_delete=until)
                uploads = self._store.unfinished_uploads(name)
                self._files.step("remove bucket record")
                self._store.rename_bucket(bucket, deleted)
                self._object_store.remove_incoming(uploads)
                self._files.remove_bucket(name)
            else:
                self._object_store.remove_bucket(bucket)
        self._changed()
        return Response(204)

    def restore(self, request: Request, match: re.Match[str]) -> Response:
        """Restore a soft-deleted bucket. Its objects stay soft-deleted."""
        parameters.check(request, frozenset({"generation", *_SHOWN}))
        name = decode(match[1])
        with self._store.locked(name):
            deleted = self._soft_deleted(request, name)
            if self._store.find_bucket(name) is not None:
                raise StorageError(
                    409,
                    "conflict",
                    f"A bucket {name} exists already. Delete it before you restore the other one.",
                )
            self._files.make_bucket(name)
            bucket = replace(deleted, soft_deleted=None, hard_delete=None, updated=self._store.clock.now())
            self._store.rename_bucket(deleted, bucket)
        self._changed()
        return answer(request, _resource(request, bucket))

    def _soft_deleted(self, request: Request, name: str) -> Bucket:
        parameters.text(request, "generation")
        bucket = self._store.soft_deleted_bucket(name, parameters.integer(request, "generation") or 0)
        if bucket is None:
            raise no_bucket()
        return bucket


def _taken(bucket: Bucket, project: str) -> StorageError:
    """Return the error for a bucket name in use. Buckets of other projects count as other users' buckets."""
    if bucket.project == project:
        message = "Your previous request to create the named bucket succeeded and you already own it."
    else:
        message = (
            "The requested bucket name is not available. The bucket namespace is shared by all users of the "
            "system. Please select a different name and try again."
        )
    return StorageError(409, "conflict", message)


def _with_lists(
    request: Request, settings: dict[str, Any], before: Mapping[str, Any], project: str
) -> dict[str, Any]:
    """Return a bucket's settings with the predefined lists that the request names, and check all lists."""
    name = parameters.predefined_list(request, "predefinedAcl", access_lists.OF_BUCKETS)
    if name is not None:
        settings["acl"] = access_lists.of_bucket(name, project)
    name = parameters.predefined_list(request, "predefinedDefaultObjectAcl", access_lists.OF_OBJECTS)
    if name is not None:
        settings["defaultObjectAcl"] = access_lists.of_object(name, project, owner=False)
    for field in ("acl", "defaultObjectAcl"):
        if settings.get(field) != before.get(field):
            access_lists.check_allowed(settings.get(field, ()), settings)
    return settings


def _resource(request: Request, bucket: Bucket) -> dict[str, Any]:
    return bucket_resource(bucket, full=request.parameter("projection") == "full")


def _after(request: Request) -> str:
    name = decode_token(request)
    if name is not None and not isinstance(name, str):
        raise invalid("Invalid page token.", location="pageToken")
    return name or ""


class RelatedCalls:
    """The handlers of related calls. Group 1 of the match is a percent-encoded bucket or project."""

    def __init__(self, object_store: ObjectStore) -> None:
        self._object_store = object_store

    def layout(self, request: Request, match: re.Match[str]) -> Response:
        """Return a bucket's location and layout, never hierarchical ("Buckets: getStorageLayout")."""
        parameters.check(request, frozenset({"prefix"}))
        bucket = self._object_store.store.bucket(decode(match[1]))
        location = bucket.settings["location"]
        return answer(
            request,
            {
                "kind": "storage#storageLayout",
                "bucket": bucket.name,
                "location": location,
                "locationType": location_type(bucket.settings),
                "hierarchicalNamespace": {"enabled": False},
            },
        )

    def notifications(self, request: Request, match: re.Match[str]) -> Response:
        """Return an empty list, because the emulator has no Pub/Sub ("Notifications: list")."""
        parameters.check(request, frozenset())
        self._object_store.store.bucket(decode(match[1]))
        return answer(request, {"kind": "storage#notifications"})

    def managed_folders(self, request: Request, match: re.Match[str]) -> Response:
        """Return an empty list, because managed folders cannot be created ("ManagedFolders: list")."""
        parameters.check(request, frozenset({"maxResults", "pageSize", "pageToken", "prefix"}))
        self._object_store.store.bucket(decode(match[1]))
        return answer(request, {"kind": "storage#managedFolders"})

    def service_account(self, request: Request, match: re.Match[str]) -> Response:
        """Return the project's service agent ("Projects: serviceAccount.get")."""
        parameters.check(request, frozenset())
        number = project_number(decode(match[1]))
        address = f"service-{number}@gs-project-accounts.iam.gserviceaccount.com"
        return answer(request, {"kind": "storage#serviceAccount", "email_address": address})
