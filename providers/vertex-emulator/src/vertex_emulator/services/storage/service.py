"""The routes of Cloud Storage, and the unsupported parts of its API."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.disk.data_folder import DataFolder
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.server.http.deletions import with_reserve
from vertex_emulator.server.http.messages import (
    ANY_METHOD,
    Request,
    Response,
    Route,
    Router,
    json_response,
    with_error_form,
)
from vertex_emulator.server.permissions.denials import AllGranted, Grants
from vertex_emulator.services.storage.access import AccessLists, Policies
from vertex_emulator.services.storage.batch import Batch
from vertex_emulator.services.storage.buckets.calls import Buckets, RelatedCalls
from vertex_emulator.services.storage.buckets.housekeeper import PAUSE_SECONDS, Housekeeper
from vertex_emulator.services.storage.disk.files import ObjectFiles, StepHook
from vertex_emulator.services.storage.disk.object_store import ObjectStore
from vertex_emulator.services.storage.disk.recovery import recover
from vertex_emulator.services.storage.disk.store import Store
from vertex_emulator.services.storage.errors import StorageError, as_storage_error, unsupported
from vertex_emulator.services.storage.objects.calls import Objects
from vertex_emulator.services.storage.objects.listing import Listing
from vertex_emulator.services.storage.objects.transfers import Transfers
from vertex_emulator.services.storage.signed_urls import ServiceKey, Tickets
from vertex_emulator.services.storage.uploads.calls import Uploads
from vertex_emulator.services.storage.uploads.sessions import Sessions
from vertex_emulator.services.storage.xml.parts import Parts
from vertex_emulator.services.storage.xml.service import XmlService

_BUCKETS = "/storage/v1/b"
_BUCKET = f"{_BUCKETS}/([^/]+)"
_OBJECTS = f"{_BUCKET}/o"
_OBJECT = f"{_OBJECTS}/([^/]+)"
_TARGET = "/b/([^/]+)/o/([^/]+)"
_UPLOAD = f"/(?:resumable/)?upload{_OBJECTS}/?"
_DOWNLOAD = f"/download{_OBJECT}"
_PROJECT = "/storage/v1/projects/([^/]+)"
_ANY = "/(?:(?:resumable/)?upload/|download/|batch/)?storage/v1(?:/.*)?"

_UNSUPPORTED = (
    (r".*/o/bulkRestore", "objects.bulkRestore", "Restore the objects one by one."),
    (
        r".*/o/[^/]+/iam(?:/.*)?",
        "IAM policies of objects",
        "Every client with the token has all permissions.",
    ),
    (r".*/relocate", "buckets.relocate", "Create another bucket and copy the objects."),
    (r".*/notificationConfigs(?:/.*)?", "notifications, because it has no Pub/Sub", "List the objects."),
    (r".*/(?:managedFolders|folders|anywhereCaches)(?:/.*)?", "folders and caches", "Use object names."),
    (r"/storage/v1/projects/.*", "HMAC keys", "Sign with the key of `vertex-emulator env`."),
    (r"/storage/v1/channels/.*", "channels", "List the objects."),
)


class StorageService:
    """Cloud Storage of one data folder. Creating it completes steps that a killed emulator left undone."""

    def __init__(
        self,
        folder: DataFolder,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        *,
        step_hook: StepHook | None = None,
        grants: Grants | None = None,
    ) -> None:
        self._reserve = database.reserve
        store = Store(database, clock)
        files = ObjectFiles(folder, step_hook=step_hook)
        recover(store, files)
        self.object_store = ObjectStore(store, files)
        self.multipart_uploads = Parts(database, folder.parts, clock, step_hook=step_hook)
        self._housekeeper = Housekeeper(self.object_store, uploads=self.multipart_uploads)
        self._task = scheduler.add(
            "housekeeping of Cloud Storage",
            self._reserve.spending(self._housekeeper.do_what_is_due),
            pause=PAUSE_SECONDS,
        )
        self.object_store.on_soft_delete = self._task.wake
        self._buckets = Buckets(self.object_store, changed=self._task.wake)
        self._listing = Listing(self.object_store)
        self._objects = Objects(self.object_store)
        self._policies = Policies(store, grants or AllGranted())
        self._access_lists = AccessLists(self.object_store)
        self._transfers = Transfers(self.object_store)
        sessions = Sessions(self.object_store)
        self._uploads = Uploads(self.object_store, sessions)
        self._related = RelatedCalls(self.object_store)
        self._xml = XmlService(
            self.object_store,
            objects=self._objects,
            listing=self._listing,
            uploads=self._uploads,
            sessions=sessions,
            parts=self.multipart_uploads,
            transfers=self._transfers,
        )
        self.key = ServiceKey(folder.service_account)
        self.tickets = Tickets(self.key, clock, is_upload=lambda name: store.upload(name) is not None)

    def clock_changed(self) -> None:
        """Carry out lifecycle rules and expiries that are due after a change of the clock."""
        self._housekeeper.tidy()
        self._task.wake()

    def routes(self) -> Sequence[Route]:
        """Return the routes of the JSON API."""
        calls = self._calls()
        batch = Batch(Router(with_reserve(self._reserve, calls)))
        routes = (
            *calls,
            Route("POST", _UPLOAD, self._uploads.handle, "storage.objects.insert"),
            Route("PUT", _UPLOAD, self._uploads.handle, "storage.objects.insert"),
            Route("DELETE", _UPLOAD, self._uploads.handle, "storage.objects.insert"),
            Route("GET", _DOWNLOAD, self._objects.download, "storage.objects.get"),
            Route("HEAD", _DOWNLOAD, self._objects.download, "storage.objects.get"),
            Route("POST", "/batch/storage/v1", batch.handle),
            Route(ANY_METHOD, _ANY, _reject),
        )
        return with_error_form(as_storage_error, routes)

    def xml_routes(self, *, shared_with_services: bool = False) -> Sequence[Route]:
        """Return the routes of the XML API, which must come after the routes of all services."""
        return self._xml.routes(shared_with_services=shared_with_services)

    def controls(self) -> Sequence[Route]:
        """Return the routes of the emulator's own calls about Cloud Storage."""
        return (Route("GET", "/_local/service-account", self._service_account),)

    def _service_account(self, _request: Request, _: re.Match[str]) -> Response:
        """Return the path of the key that signs URLs. The first call makes the key."""
        return json_response({"path": str(self.key.file()), "email": self.key.email})

    def _calls(self) -> Sequence[Route]:
        """Return the routes that a batch may call as well."""
        return (*self._bucket_calls(), *self._object_calls(), *self._related_calls())

    def _bucket_calls(self) -> Sequence[Route]:
        return (
            Route("GET", f"{_BUCKETS}/?", self._buckets.list, "storage.buckets.list"),
            Route("POST", f"{_BUCKETS}/?", self._buckets.insert, "storage.buckets.insert"),
            Route("GET", f"{_BUCKET}/?", self._buckets.get, "storage.buckets.get"),
            Route("PATCH", f"{_BUCKET}/?", self._buckets.patch, "storage.buckets.patch"),
            Route("PUT", f"{_BUCKET}/?", self._buckets.update, "storage.buckets.update"),
            Route("DELETE", f"{_BUCKET}/?", self._buckets.delete, "storage.buckets.delete"),
            Route("POST", f"{_BUCKET}/restore", self._buckets.restore, "storage.buckets.restore"),
            Route(
                "POST",
                f"{_BUCKET}/lockRetentionPolicy",
                self._buckets.lock_retention_policy,
                "storage.buckets.lockRetentionPolicy",
            ),
            *self._access_lists.routes(_BUCKET),
            Route("GET", f"{_BUCKET}/iam", self._policies.get, "storage.buckets.getIamPolicy"),
            Route("PUT", f"{_BUCKET}/iam", self._policies.set, "storage.buckets.setIamPolicy"),
            Route(
                "GET",
                f"{_BUCKET}/iam/testPermissions",
                self._policies.test,
                "storage.buckets.testIamPermissions",
            ),
        )

    def _object_calls(self) -> Sequence[Route]:
        return (
            Route("GET", f"{_OBJECTS}/?", self._listing.list, "storage.objects.list"),
            Route("GET", _OBJECT, self._objects.get, "storage.objects.get"),
            Route("PATCH", _OBJECT, self._objects.patch, "storage.objects.patch"),
            Route("PUT", _OBJECT, self._objects.update, "storage.objects.update"),
            Route("DELETE", _OBJECT, self._objects.delete, "storage.objects.delete"),
            Route("POST", f"{_OBJECT}/compose", self._transfers.compose, "storage.objects.compose"),
            Route("POST", f"{_OBJECT}/restore", self._transfers.restore, "storage.objects.restore"),
            Route("POST", f"{_OBJECT}/moveTo/o/([^/]+)", self._transfers.move, "storage.objects.move"),
            Route("POST", f"{_OBJECT}/copyTo{_TARGET}", self._transfers.copy, "storage.objects.copy"),
            Route(
                "POST", f"{_OBJECT}/rewriteTo{_TARGET}", self._transfers.rewrite, "storage.objects.rewrite"
            ),
        )

    def _related_calls(self) -> Sequence[Route]:
        return (
            Route(
                "GET", f"{_BUCKET}/storageLayout", self._related.layout, "storage.buckets.getStorageLayout"
            ),
            Route(
                "GET",
                f"{_BUCKET}/notificationConfigs",
                self._related.notifications,
                "storage.notifications.list",
            ),
            Route(
                "GET",
                f"{_BUCKET}/managedFolders",
                self._related.managed_folders,
                "storage.managedFolders.list",
            ),
            Route(
                "GET",
                f"{_PROJECT}/serviceAccount",
                self._related.service_account,
                "storage.projects.serviceAccount.get",
            ),
        )


def _reject(request: Request, _: re.Match[str]) -> Response:
    for pattern, what, remedy in _UNSUPPORTED:
        if re.fullmatch(pattern, request.path):
            raise unsupported(what, remedy)
    if request.path.endswith("/o/"):
        raise StorageError(404, "notFound", "Not Found. The path does not have an object's name.")
    if re.fullmatch(f"{_OBJECTS}/.+", request.path):
        raise StorageError(404, "notFound", "Not Found. Send a slash in an object's name as %2F.")
    raise unsupported(f"{request.method} {request.path}", "It supports calls on buckets and objects.")
