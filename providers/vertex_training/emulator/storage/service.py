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
from vertex_training.emulator.storage.listing import Listing
from vertex_training.emulator.storage.objects import Objects
from vertex_training.emulator.storage.recovery import recover
from vertex_training.emulator.storage.sessions import Sessions
from vertex_training.emulator.storage.store import Store
from vertex_training.emulator.storage.uploads import Uploads

_BUCKETS = "/storage/v1/b"
_BUCKET = f"{_BUCKETS}/([^/]+)"
_OBJECTS = f"{_BUCKET}/o"
_OBJECT = f"{_OBJECTS}/([^/]+)"
_UPLOAD = f"/(?:resumable/)?upload{_OBJECTS}"
_DOWNLOAD = f"/download{_OBJECT}"
_ANY = "/(?:(?:resumable/)?upload/|download/|batch/)?storage/v1(?:/.*)?"

_NOT_THERE = (
    (r"/batch/.*", "batch requests", "Send the requests one by one."),
    (r".*/o/[^/]+/compose", "objects.compose", "Read the parts and store the whole."),
    (
        r".*/o/[^/]+/(?:rewriteTo|copyTo|moveTo)/.*",
        "copying and moving objects",
        "Read and store the object.",
    ),
    (r".*/o/[^/]+/restore", "objects.restore", "Store the object again."),
    (r".*/(?:acl|defaultObjectAcl)(?:/.*)?", "access control lists", "Use uniform bucket-level access."),
    (r".*/iam(?:/.*)?", "IAM policies of buckets", "Everybody who has the token may do everything."),
    (r".*/(?:lockRetentionPolicy|relocate|restore)", "this call on buckets", "Leave it out."),
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
        self._buckets = Buckets(self.catalog)
        self._listing = Listing(self.catalog)
        self._objects = Objects(self.catalog)
        self._uploads = Uploads(self.catalog, Sessions(self.catalog))

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", _BUCKETS, self._buckets.list, "storage.buckets.list"),
            Route("POST", _BUCKETS, self._buckets.insert, "storage.buckets.insert"),
            Route("GET", _BUCKET, self._buckets.get, "storage.buckets.get"),
            Route("PATCH", _BUCKET, self._buckets.patch, "storage.buckets.patch"),
            Route("DELETE", _BUCKET, self._buckets.delete, "storage.buckets.delete"),
            Route("GET", _OBJECTS, self._listing.list, "storage.objects.list"),
            Route("GET", _OBJECT, self._objects.get, "storage.objects.get"),
            Route("PATCH", _OBJECT, self._objects.patch, "storage.objects.patch"),
            Route("DELETE", _OBJECT, self._objects.delete, "storage.objects.delete"),
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
    if request.method == "PUT" and re.fullmatch(f"{_BUCKET}|{_OBJECT}", request.path):
        raise unsupported("replacing a whole resource (PUT)", "Send the fields to change with PATCH.")
    if re.fullmatch(f"{_OBJECTS}/.+", request.path):
        raise StorageError(404, "notFound", "Not Found. A slash in an object's name has to be sent as %2F.")
    raise unsupported(f"{request.method} {request.path}", "It answers buckets and objects.")
