"""The views of buckets, of a folder, and of an object with its preview."""

from __future__ import annotations

from dataclasses import dataclass

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.ui.pages.page import MissingError, missing_if_refused
from pulumi_vertex_training.ui.pages.view import Query, View
from pulumi_vertex_training.ui.source.storage import objects, preview
from pulumi_vertex_training.ui.source.storage.objects import Folder, StoredObject
from pulumi_vertex_training.ui.source.storage.preview import Preview

PATH = "/storage"
FOLDER = f"{PATH}/folder"
OBJECT = f"{PATH}/object"
DOWNLOAD = f"{PATH}/download"
PICTURE = f"{PATH}/picture"


@dataclass(frozen=True, kw_only=True)
class ObjectView:
    """An object as its view shows it."""

    found: StoredObject
    preview: Preview


def object_at(endpoint: Endpoint, query: Query) -> StoredObject:
    """Return the object of an address. Raises MissingError and CloudError."""
    bucket, name = query.one("bucket"), query.one("name")
    if not bucket or not name:
        raise MissingError("This is not the address of an object. The page Storage lists the buckets.")
    with missing_if_refused():
        return objects.read(endpoint, bucket, name)


def _folder(endpoint: Endpoint, query: Query) -> Folder:
    bucket = query.one("bucket")
    if not bucket:
        raise MissingError("This is not the address of a bucket. The page Storage lists the buckets.")
    with missing_if_refused():
        return objects.folder(endpoint, bucket, query.one("prefix"), page=query.one("page"))


def _object(endpoint: Endpoint, query: Query) -> ObjectView:
    found = object_at(endpoint, query)
    try:
        return ObjectView(found=found, preview=preview.read(endpoint, found))
    except NotFound as error:
        raise MissingError(str(error)) from error


BUCKETS = View(
    path=PATH,
    template="storage/buckets.html",
    title=lambda _model: "Storage",
    read=lambda endpoint, query: objects.buckets(endpoint, page=query.one("page")),
    label="Storage",
)
FOLDERS = View(
    path=FOLDER,
    template="storage/folder.html",
    title=lambda model: f"{model.bucket}/{model.prefix}",
    read=_folder,
)
OBJECTS = View(
    path=OBJECT,
    template="storage/object.html",
    title=lambda model: model.found.short_name,
    read=_object,
)
STORAGE = (BUCKETS, FOLDERS, OBJECTS)
