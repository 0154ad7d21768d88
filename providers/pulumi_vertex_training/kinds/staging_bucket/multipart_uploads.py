"""Multipart uploads of the XML API that nobody finished: their parts are stored, and paid for, until they are
aborted (Cloud Storage documentation, "XML API multipart uploads")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from urllib.parse import quote

from pulumi_vertex_training.cloud import clients, retry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.translation import translated

_UPLOAD = re.compile(r"<Upload>(.*?)</Upload>", re.DOTALL)
_MOST_PAGES = 1000


@dataclass(frozen=True, kw_only=True)
class Upload:
    """An upload that is neither complete nor aborted."""

    name: str
    upload_id: str


def unfinished(endpoint: Endpoint, bucket: str) -> Iterator[Upload]:
    """The unfinished uploads of a bucket; none where the service does not say."""
    marker: dict[str, str] = {}
    for _page in range(_MOST_PAGES):
        try:
            with translated(endpoint, f"list the unfinished uploads of bucket {bucket}"):
                text = _request(endpoint, "GET", _url(endpoint, bucket), {"uploads": "", **marker})
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


def abort(endpoint: Endpoint, bucket: str, upload: Upload) -> None:
    """Give an upload up. One that is gone is fine; one that cannot be given up keeps the bucket."""
    url = f"{_url(endpoint, bucket)}/{quote(upload.name, safe='')}"
    with suppress(CloudError), translated(endpoint, f"abort an upload to gs://{bucket}/{upload.name}"):
        _request(endpoint, "DELETE", url, {"uploadId": upload.upload_id})


def _request(endpoint: Endpoint, method: str, url: str, params: dict[str, str]) -> str:
    from google.api_core import exceptions

    def send() -> str:
        response = clients.session(endpoint).request(
            method, url, params=params, timeout=retry.CALL_TIMEOUT, allow_redirects=False
        )
        if not 200 <= response.status_code < 300:
            raise exceptions.from_http_response(response)  # type: ignore[no-untyped-call]
        return str(response.text)

    return str(retry.for_idempotent(endpoint)(send)())


def _element(text: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return unescape(found[1]) if found else ""


def _url(endpoint: Endpoint, bucket: str) -> str:
    return f"{clients.storage_url(endpoint)}/{quote(bucket, safe='')}"
