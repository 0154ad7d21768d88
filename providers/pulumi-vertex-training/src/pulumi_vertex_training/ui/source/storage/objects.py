"""Buckets, their objects by folder, and one object: each list a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.cloud import clients, rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.ui.source.owner import Owner, owner_of
from pulumi_vertex_training.ui.source.storage.sizes import in_words

SHOWN = 100
"""Buckets, or objects and folders, of one page."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket with the resource that declares it."""

    name: str
    location: str
    storage_class: str
    created: str
    owner: Owner


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    """An object without its content. `encoding` is the stored bytes', such as "gzip", usually ""."""

    bucket: str
    name: str
    size: int
    updated: str
    content_type: str = ""
    encoding: str = ""
    generation: str = ""
    crc32c: str = ""
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def short_name(self) -> str:
        """The part of the name after the last slash, or the whole name if that part is empty."""
        return self.name.rpartition("/")[2] or self.name

    @property
    def size_in_words(self) -> str:
        return in_words(self.size)

    @property
    def above(self) -> tuple[tuple[str, str], ...]:
        """The folders above, with the name and the prefix of each."""
        return folders_above(self.name.rpartition("/")[0] + "/" if "/" in self.name else "")


@dataclass(frozen=True, kw_only=True)
class Buckets:
    """A page of buckets; `more` is the token of the next page, "" for the last one."""

    rows: tuple[Bucket, ...]
    more: str


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A page of the objects whose names begin with a prefix; deeper folders are one entry each."""

    bucket: str
    prefix: str
    folders: tuple[str, ...]
    objects: tuple[StoredObject, ...]
    more: str

    @property
    def above(self) -> tuple[tuple[str, str], ...]:
        """The folders above, with the name and the prefix of each."""
        return folders_above(self.prefix)


def folders_above(prefix: str) -> tuple[tuple[str, str], ...]:
    """Return the folders of a prefix from the bucket down, with the name and the prefix of each."""
    names = prefix.split("/")[:-1]
    return tuple((name, "/".join(names[: depth + 1]) + "/") for depth, name in enumerate(names))


def buckets(endpoint: Endpoint, *, page: str = "") -> Buckets:
    """Return a page of the buckets of the endpoint's project. Raises CloudError."""
    query: rest.Query = {"project": endpoint.project, "maxResults": SHOWN, "pageToken": page or None}
    with translated(endpoint, "list the buckets"):
        answer = rest.call(endpoint, "GET", f"{clients.storage_url(endpoint)}/storage/v1/b", query=query)
    return Buckets(
        rows=tuple(_bucket(wire) for wire in answer.get("items", ())),
        more=str(answer.get("nextPageToken") or ""),
    )


def folder(endpoint: Endpoint, bucket: str, prefix: str, *, page: str = "") -> Folder:
    """Return a page of a folder. Raises NotFound for the bucket."""
    query: rest.Query = {
        "prefix": prefix or None,
        "delimiter": "/",
        "maxResults": SHOWN,
        "pageToken": page or None,
        "fields": "items(bucket,name,size,updated,contentType),prefixes,nextPageToken",
    }
    with translated(endpoint, f"list gs://{bucket}/{prefix}"):
        answer = rest.call(endpoint, "GET", _url(endpoint, bucket), query=query)
    return Folder(
        bucket=bucket,
        prefix=prefix,
        folders=tuple(str(one) for one in answer.get("prefixes", ())),
        objects=tuple(_object(wire, bucket) for wire in answer.get("items", ())),
        more=str(answer.get("nextPageToken") or ""),
    )


def read(endpoint: Endpoint, bucket: str, name: str) -> StoredObject:
    """Return an object without its content. Raises NotFound."""
    with translated(endpoint, f"read gs://{bucket}/{name}"):
        url = f"{_url(endpoint, bucket)}/{quote(name, safe='')}"
        return _object(rest.call(endpoint, "GET", url), bucket)


def _url(endpoint: Endpoint, bucket: str) -> str:
    return f"{clients.storage_url(endpoint)}/storage/v1/b/{quote(bucket, safe='')}/o"


def _bucket(wire: Mapping[str, Any]) -> Bucket:
    return Bucket(
        name=str(wire.get("name", "")),
        location=str(wire.get("location", "")).lower(),
        storage_class=str(wire.get("storageClass", "")).lower(),
        created=str(wire.get("timeCreated", "")),
        owner=owner_of(wire.get("labels") or {}),
    )


def _object(wire: Mapping[str, Any], bucket: str) -> StoredObject:
    metadata: Mapping[str, Any] = wire.get("metadata") or {}
    return StoredObject(
        bucket=bucket,
        name=str(wire.get("name", "")),
        size=int(wire.get("size", 0)),
        updated=str(wire.get("updated", "")),
        content_type=str(wire.get("contentType") or ""),
        encoding=str(wire.get("contentEncoding") or ""),
        generation=str(wire.get("generation") or ""),
        crc32c=str(wire.get("crc32c") or ""),
        metadata=tuple(sorted((str(key), str(value)) for key, value in metadata.items())),
    )
