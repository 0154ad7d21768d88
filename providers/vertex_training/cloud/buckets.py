"""Buckets of Cloud Storage. What goes in and comes out is the JSON API's bucket resource.

All functions raise the errors of `vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from vertex_training.cloud import clients, rest
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import AlreadyExists, FailedPrecondition, NotFound
from vertex_training.cloud.translation import translated

_DELETE_THREADS = 16
_EMPTYING_ROUNDS = 3
_PAGE_SIZE = 1000


@dataclass(frozen=True, kw_only=True)
class BucketRecord:
    """A bucket as the service reports it; `location` is in upper case, `wire` is the whole resource."""

    name: str
    location: str
    project_number: str = ""
    metageneration: int = 0
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def url(self) -> str:
        return f"gs://{self.name}"


def create(endpoint: Endpoint, wire: Mapping[str, Any]) -> BucketRecord:
    """Make a bucket; `wire` has at least `name` and `location`. Never tried twice.

    Raises AlreadyExists: bucket names are one space for the whole world.
    """
    with translated(endpoint, f"create bucket {wire.get('name')}"):
        return _record(
            rest.call(
                endpoint,
                "POST",
                f"{clients.storage_url(endpoint)}/storage/v1/b",
                query={"project": endpoint.project},
                body=wire,
                idempotent=False,
            )
        )


def get(endpoint: Endpoint, name: str) -> BucketRecord:
    """Raises NotFound."""
    with translated(endpoint, f"read bucket {name}"):
        return _record(rest.call(endpoint, "GET", _url(endpoint, name)))


def patch(
    endpoint: Endpoint, name: str, wire: Mapping[str, Any], *, if_metageneration_match: int | None = None
) -> BucketRecord:
    """Change the fields of `wire`; None removes one. Raises NotFound, and Conflict where the bucket has been
    changed since `if_metageneration_match`."""
    with translated(endpoint, f"update bucket {name}"):
        return _record(
            rest.call(
                endpoint,
                "PATCH",
                _url(endpoint, name),
                query={"ifMetagenerationMatch": if_metageneration_match},
                body=wire,
            )
        )


def delete(
    endpoint: Endpoint, name: str, *, force: bool = False, tell: Callable[[int], None] | None = None
) -> None:
    """Delete a bucket; with `force` its objects first, all versions of them.

    `tell` gets the number of objects deleted so far, once for each page of up to 1,000. Raises NotFound, and
    FailedPrecondition while the bucket holds objects.
    """
    for _round in range(_EMPTYING_ROUNDS if force else 1):
        if force:
            _empty(endpoint, name, tell=tell)
        try:
            with translated(endpoint, f"delete bucket {name}"):
                rest.call(endpoint, "DELETE", _url(endpoint, name))
            return
        except AlreadyExists as error:  # 409: the bucket is not empty
            refusal = error
    hint = (
        "Something writes to it: stop it, then run the same command again."
        if force
        else "Delete its objects, or set force_destroy on it and deploy before it is destroyed."
    )
    raise FailedPrecondition(
        f"{refusal} {hint}",
        code=refusal.code,
        resource=refusal.resource,
        endpoint=endpoint,
    ) from refusal.__cause__


def _empty(endpoint: Endpoint, name: str, *, tell: Callable[[int], None] | None) -> None:
    deleted = 0
    with ThreadPoolExecutor(max_workers=_DELETE_THREADS) as pool:
        for page in _versions(endpoint, name):
            for _ in pool.map(lambda one: _delete_version(endpoint, name, *one), page):
                deleted += 1
            if tell is not None:
                tell(deleted)


def _versions(endpoint: Endpoint, name: str) -> Iterator[list[tuple[str, str]]]:
    """Pages of object name and generation. Deleting a page does not disturb the next: tokens are names."""
    fields = "items(name,generation),nextPageToken"
    query: rest.Query = {"versions": True, "fields": fields, "maxResults": _PAGE_SIZE}
    with translated(endpoint, f"list the objects of bucket {name}"):
        for page in rest.pages(endpoint, f"{_url(endpoint, name)}/o", query=query):
            yield [(item["name"], item["generation"]) for item in page.get("items", [])]


def _delete_version(endpoint: Endpoint, bucket: str, name: str, generation: str) -> None:
    url = f"{_url(endpoint, bucket)}/o/{quote(name, safe='')}"
    try:
        with translated(endpoint, f"delete gs://{bucket}/{name}"):
            rest.call(endpoint, "DELETE", url, query={"generation": generation})
    except NotFound:
        return


def _url(endpoint: Endpoint, name: str) -> str:
    return f"{clients.storage_url(endpoint)}/storage/v1/b/{quote(name, safe='')}"


def _record(wire: Mapping[str, Any]) -> BucketRecord:
    return BucketRecord(
        name=str(wire["name"]),
        location=str(wire.get("location", "")),
        project_number=str(wire.get("projectNumber", "")),
        metageneration=int(wire.get("metageneration", 0)),
        wire=dict(wire),
    )
