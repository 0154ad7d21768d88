"""Empty a bucket: delete its objects, and abort its unfinished multipart uploads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.cloud import clients, rest, retry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, FailedPrecondition, NotFound, PermissionDenied
from pulumi_vertex_training.cloud.translation import translated
from vertex_emulator import machine_clock

_UPLOAD = re.compile(r"<Upload>(.*?)</Upload>", re.DOTALL)
_MAX_PAGES = 1000


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A multipart upload that is neither complete nor aborted."""

    name: str
    upload_id: str


def unfinished_uploads(endpoint: Endpoint, bucket: str) -> Iterator[Upload]:
    """Yield the unfinished uploads of a bucket. Stop at the first error of the service."""
    marker: dict[str, str] = {}
    for _page in range(_MAX_PAGES):
        try:
            with translated(endpoint, f"list the unfinished uploads of bucket {bucket}"):
                text = _request(endpoint, "GET", _xml_url(endpoint, bucket), {"uploads": "", **marker})
        except CloudError:
            return
        for entry in _UPLOAD.findall(text):
            yield Upload(name=_element(entry, "Key"), upload_id=_element(entry, "UploadId"))
        if _element(text, "IsTruncated") != "true":
            return
        marker = {
            "key-marker": _element(text, "NextKeyMarker"),
            "upload-id-marker": _element(text, "NextUploadIdMarker"),
        }


def abort_upload(endpoint: Endpoint, bucket: str, upload: Upload) -> None:
    """Abort an upload. Errors are ignored: if the upload remains, the bucket cannot be deleted."""
    url = f"{_xml_url(endpoint, bucket)}/{quote(upload.name, safe='')}"
    with suppress(CloudError), translated(endpoint, f"abort an upload to gs://{bucket}/{upload.name}"):
        _request(endpoint, "DELETE", url, {"uploadId": upload.upload_id})


def _request(endpoint: Endpoint, method: str, url: str, params: dict[str, str]) -> str:
    def send() -> str:
        response = clients.session(endpoint).request(
            method, url, params=params, timeout=endpoint.timeouts.call, allow_redirects=False
        )
        if not 200 <= response.status_code < 300:
            raise rest.refusal(response)
        return str(response.text)

    return str(retry.for_idempotent(endpoint)(send)())


def _element(text: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return unescape(found[1]) if found else ""


def _xml_url(endpoint: Endpoint, bucket: str) -> str:
    return f"{clients.storage_url(endpoint)}/{quote(bucket, safe='')}"


PARALLEL_DELETIONS = 16
PROGRESS_SECONDS = 3.0
"""Seconds between two reports of progress."""

_PAGE_SIZE = 1000
_MAX_NAMED = 5
_MAX_REFUSED = 100
_FIELDS = "name,generation,temporaryHold,eventBasedHold,retentionExpirationTime,retention"


class HeldError(FailedPrecondition):
    """Objects are on hold, so nothing was deleted. `names` has some of them."""

    def __init__(self, bucket: str, names: tuple[str, ...], count: int, endpoint: Endpoint) -> None:
        self.names, self.count = names, count
        super().__init__(
            f"{_objects(count)} in bucket {bucket} {'is' if count == 1 else 'are'} on hold, so nothing was "
            f"deleted: {_listed(names, count)}.",
            resource=bucket,
            endpoint=endpoint,
        )


class RetainedError(FailedPrecondition):
    """Objects are still retained; all others were deleted."""

    def __init__(
        self, bucket: str, names: tuple[str, ...], count: int, deleted: int, endpoint: Endpoint
    ) -> None:
        self.names, self.count = names, count
        more = "at least " if count >= _MAX_REFUSED else ""
        super().__init__(
            f"{more}{_objects(count)} in bucket {bucket} cannot be deleted yet, because "
            f"{'it is' if count == 1 else 'they are'} retained: {_listed(names, count)}. {_objects(deleted)} "
            f"{'was' if deleted == 1 else 'were'} deleted.",
            resource=bucket,
            endpoint=endpoint,
        )


@dataclass(frozen=True, kw_only=True)
class _Version:
    """A version of an object. `hold` names its holds; `retained_until` is RFC 3339. Both may be empty."""

    name: str
    generation: str
    hold: str
    retained_until: str


def empty(
    endpoint: Endpoint,
    bucket: str,
    *,
    release_holds: bool = False,
    tell: Callable[[int], None] | None = None,
    clock: Callable[[], float] = machine_clock.monotonic,
) -> int:
    """Delete all versions of all objects of a bucket. Return their number.

    `tell` is called with the number deleted so far, every few seconds and at the end. Raises NotFound if the
    bucket is gone, HeldError if objects are on hold and `release_holds` is not set, and RetainedError if some
    objects are still retained.
    """
    with ThreadPoolExecutor(max_workers=PARALLEL_DELETIONS) as pool:
        deleted, refused, reported_at = 0, [], clock()
        for page in _pages(endpoint, bucket, release_holds=release_holds):
            delete = _deletion(endpoint, bucket)
            for version, reason in zip(page, pool.map(delete, page), strict=True):
                if reason:
                    refused.append(f"{version.name} {reason}")
                else:
                    deleted += 1
                if tell is not None and clock() - reported_at >= PROGRESS_SECONDS:
                    reported_at = clock()
                    tell(deleted)
            if len(refused) >= _MAX_REFUSED:
                break
        # Last, because nothing at all is deleted if an object is on hold.
        for upload in unfinished_uploads(endpoint, bucket):
            pool.submit(abort_upload, endpoint, bucket, upload)
    if tell is not None and deleted:
        tell(deleted)
    if refused:
        raise RetainedError(bucket, tuple(refused[:_MAX_NAMED]), len(refused), deleted, endpoint)
    return deleted


def remove_folders(endpoint: Endpoint, bucket: str) -> None:
    """Delete the folders and managed folders of a bucket that has no objects."""
    for kind, query in (("managedFolders", {"allowNonEmpty": True}), ("folders", None)):
        with suppress(CloudError), translated(endpoint, f"list the folders of bucket {bucket}"):
            names = [
                item["name"]
                for page in rest.pages(endpoint, f"{clients.bucket_url(endpoint, bucket)}/{kind}", query={})
                for item in page.get("items", [])
            ]
            # Innermost folders first: the service deletes only empty ones.
            for name in sorted(names, key=lambda name: -name.count("/")):
                path = f"{clients.bucket_url(endpoint, bucket)}/{kind}/{quote(name, safe='')}"
                rest.call(endpoint, "DELETE", path, query=query)


def _pages(endpoint: Endpoint, bucket: str, *, release_holds: bool) -> Iterator[list[_Version]]:
    """Yield all versions page by page, after checking all of them for holds unless `release_holds`.

    A bucket of one page is listed once. Deleting a page does not disturb the next: page tokens are names.
    """
    held: list[str] = []
    count, pages, first = 0, 0, []
    if not release_holds:
        for pages, page in enumerate(_listed_pages(endpoint, bucket), start=1):
            first = page if pages == 1 else []
            kept = [f"{one.name} ({one.hold})" for one in page if one.hold]
            count += len(kept)
            held = (held + kept)[:_MAX_NAMED]
        if count:
            raise HeldError(bucket, tuple(held), count, endpoint)
    if pages == 1:
        yield first
        return
    yield from _listed_pages(endpoint, bucket)


def _listed_pages(endpoint: Endpoint, bucket: str) -> Iterator[list[_Version]]:
    query: rest.Query = {
        "versions": True,
        "fields": f"items({_FIELDS}),nextPageToken",
        "maxResults": _PAGE_SIZE,
    }
    with translated(endpoint, f"list the objects of bucket {bucket}"):
        for page in rest.pages(endpoint, f"{clients.bucket_url(endpoint, bucket)}/o", query=query):
            yield [_version(item) for item in page.get("items", [])]


def _deletion(endpoint: Endpoint, bucket: str) -> Callable[[_Version], str]:
    """Return a function that deletes a version. It returns why a version is retained, or an empty string."""

    def delete(version: _Version) -> str:
        url = f"{clients.bucket_url(endpoint, bucket)}/o/{quote(version.name, safe='')}"
        query = {"generation": version.generation}
        try:
            with translated(endpoint, f"delete gs://{bucket}/{version.name}"):
                if version.hold:
                    free = {"temporaryHold": False, "eventBasedHold": False}
                    rest.call(endpoint, "PATCH", url, query=query, body=free)
                rest.call(endpoint, "DELETE", url, query=query)
        except NotFound:
            return ""
        except PermissionDenied as error:
            until = version.retained_until or _retained_until(endpoint, url, version)
            if not until and "reten" not in str(error).lower():
                raise
            return f"until {until}" if until else "until its retention ends"
        return ""

    return delete


def _retained_until(endpoint: Endpoint, url: str, version: _Version) -> str:
    """Fetch the end of an object's retention: for an event-based hold, it starts when the hold is removed."""
    with suppress(CloudError), translated(endpoint, f"read {version.name}"):
        return _version(
            rest.call(endpoint, "GET", url, query={"generation": version.generation})
        ).retained_until
    return ""


def _version(item: Mapping[str, Any]) -> _Version:
    kinds = (("temporaryHold", "temporary hold"), ("eventBasedHold", "event-based hold"))
    own = item.get("retention")
    until = own.get("retainUntilTime", "") if isinstance(own, Mapping) else ""
    return _Version(
        name=str(item.get("name", "")),
        generation=str(item.get("generation", "")),
        hold=" and ".join(words for key, words in kinds if item.get(key)),
        retained_until=max(str(item.get("retentionExpirationTime") or ""), str(until or "")),
    )


def _objects(count: int) -> str:
    return f"{count} object{'' if count == 1 else 's'}"


def _listed(names: tuple[str, ...], count: int) -> str:
    return ", ".join(names) + (f" and {count - len(names)} more" if count > len(names) else "")
