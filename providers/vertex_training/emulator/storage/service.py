"""Cloud Storage's paths, and by name what of the API is not there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vertex_training.emulator.clock import Clock
from vertex_training.emulator.data_folder import DataFolder
from vertex_training.emulator.database import Database
from vertex_training.emulator.http import Request, Response, Route
from vertex_training.emulator.routing import ANY_METHOD
from vertex_training.emulator.storage.buckets import Buckets
from vertex_training.emulator.storage.catalog import Catalog
from vertex_training.emulator.storage.errors import StorageError, unsupported
from vertex_training.emulator.storage.files import ObjectFiles
from vertex_training.emulator.storage.housekeeper import Housekeeper
from vertex_training.emulator.storage.iam import Policies
from vertex_training.emulator.storage.listing import Listing
from vertex_training.emulator.storage.objects import Objects
from vertex_training.emulator.storage.recovery import recover
from vertex_training.emulator.storage.sessions import Sessions
from vertex_training.emulator.storage.store import Store
from vertex_training.emulator.storage.transfers import Transfers
from vertex_training.emulator.storage.uploads import Uploads

_BUCKETS = "/storage/v1/b"
_BUCKET = f"{_BUCKETS}/([^/]+)"
_OBJECTS = f"{_BUCKET}/o"
_OBJECT = f"{_OBJECTS}/([^/]+)"
_TARGET = "/b/([^/]+)/o/([^/]+)"
_UPLOAD = f"/(?:resumable/)?upload{_OBJECTS}"
_DOWNLOAD = f"/download{_OBJECT}"
_ANY = "/(?:(?:resumable/)?upload/|download/|batch/)?storage/v1(?:/.*)?"

_NOT_THERE = (
    (r"/batch/.*", "batch requests", "Send the requests one by one."),
    (r".*/o/bulkRestore", "objects.bulkRestore", "Restore the objects one by one."),
    (r".*/(?:acl|defaultObjectAcl)(?:/.*)?", "access control lists", "Use uniform bucket-level access."),
    (r".*/o/[^/]+/iam(?:/.*)?", "IAM policies of objects", "Everybody who has the token may do everything."),
    (r".*/relocate", "buckets.relocate", "Make another bucket and copy the objects."),
    (r".*/storageLayout", "buckets.getStorageLayout", "Read the bucket itself."),
    (r".*/notificationConfigs(?:/.*)?", "notifications", "List the objects."),
    (r".*/(?:managedFolders|folders|anywhereCaches)(?:/.*)?", "folders and caches", "Use object names."),
    (r"/storage/v1/projects/.*", "HMAC keys and service accounts", "Send the emulator's token."),
    (r"/storage/v1/channels/.*", "channels", "List the objects."),
)


class StorageService:
    """Cloud Storage of one data folder. Making it finishes what a killed emulator left undone."""

    def __init__(self, folder: DataFolder, database: Database, clock: Clock) -> None:
        store = Store(database, clock)
        files = ObjectFiles(folder)
        recover(store, files)
        self.catalog = Catalog(store, files)
        self._housekeeper = Housekeeper(self.catalog)
        self.catalog.soft_deleting = self._housekeeper.wake
        self._buckets = Buckets(self.catalog, changed=self._housekeeper.wake)
        self._listing = Listing(self.catalog)
        self._objects = Objects(self.catalog)
        self._policies = Policies(store)
        self._transfers = Transfers(self.catalog)
        self._uploads = Uploads(self.catalog, Sessions(self.catalog))

    def start(self) -> None:
        """Do what became due meanwhile, and what becomes due from now on."""
        self._housekeeper.start()

    def clock_changed(self) -> None:
        """Do what is due by the clock that was set."""
        self._housekeeper.tidy()
        self._housekeeper.wake()

    def close(self) -> None:
        """Do nothing more by itself."""
        self._housekeeper.close()

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", _BUCKETS, self._buckets.list, "storage.buckets.list"),
            Route("POST", _BUCKETS, self._buckets.insert, "storage.buckets.insert"),
            Route("GET", _BUCKET, self._buckets.get, "storage.buckets.get"),
            Route("PATCH", _BUCKET, self._buckets.patch, "storage.buckets.patch"),
            Route("PUT", _BUCKET, self._buckets.update, "storage.buckets.update"),
            Route("DELETE", _BUCKET, self._buckets.delete, "storage.buckets.delete"),
            Route("POST", f"{_BUCKET}/restore", self._buckets.restore, "storage.buckets.restore"),
            Route(
                "POST",
                f"{_BUCKET}/lockRetentionPolicy",
                self._buckets.lock_retention_policy,
                "storage.buckets.lockRetentionPolicy",
            ),
            Route("GET", f"{_BUCKET}/iam", self._policies.get, "storage.buckets.getIamPolicy"),
            Route("PUT", f"{_BUCKET}/iam", self._policies.set, "storage.buckets.setIamPolicy"),
            Route(
                "GET",
                f"{_BUCKET}/iam/testPermissions",
                self._policies.test,
                "storage.buckets.testIamPermissions",
            ),
            Route("GET", _OBJECTS, self._listing.list, "storage.objects.list"),
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
            Route("GET", _DOWNLOAD, self._objects.download, "storage.objects.get"),
            Route("HEAD", _DOWNLOAD, self._objects.download, "storage.objects.get"),
            Route("POST", _UPLOAD, self._uploads.handle, "storage.objects.insert"),
            Route("PUT", _UPLOAD, self._uploads.handle, "storage.objects.insert"),
            Route("DELETE", _UPLOAD, self._uploads.handle, "storage.objects.insert"),
            Route(ANY_METHOD, _ANY, _refuse),
        )


def _refuse(request: Request, _: re.Match[str]) -> Response:
    for pattern, what, remedy in _NOT_THERE:
        if re.fullmatch(pattern, request.path):
            raise unsupported(what, remedy)
    if re.fullmatch(f"{_OBJECTS}/.+", request.path):
        raise StorageError(404, "notFound", "Not Found. A slash in an object's name has to be sent as %2F.")
    raise unsupported(f"{request.method} {request.path}", "It answers buckets and objects.")
