"""Cloud Storage: buckets, objects, preconditions, errors."""

from __future__ import annotations

from urllib.parse import quote

from scripts.verify_google.cases.case import Case, make_bucket, put
from scripts.verify_google.comparison import Allowed
from scripts.verify_google.recorder import Recorder

_ADDRESSES = "addresses of the service itself"
_ALLOWED = (
    Allowed(step="*", path="*selfLink", reason=_ADDRESSES),
    Allowed(step="*", path="*mediaLink", reason=_ADDRESSES),
    Allowed(step="*", path="error.errors*", reason="the older list of errors has more parts on Google Cloud"),
)


def _buckets(at: Recorder) -> None:
    make_bucket(at, step="create")
    bucket = at.storage(f"/{at.names.bucket}")
    at.call("GET", bucket, step="get")
    at.call("PATCH", bucket, {"versioning": {"enabled": True}}, step="patch")
    rule = {"action": {"type": "Delete"}, "condition": {"age": 1}}
    at.call("PATCH", bucket, {"lifecycle": {"rule": [rule]}}, step="patch lifecycle")
    query = {"ifMetagenerationMatch": "77"}
    at.call(
        "PATCH", bucket, {"versioning": {"enabled": False}}, query=query, step="patch, wrong metageneration"
    )
    put(at, "a", b"a")
    at.call("DELETE", bucket, step="delete, not empty")
    at.call("GET", at.storage(f"/{at.names.bucket}-missing"), step="get missing")


def _objects(at: Recorder) -> None:
    make_bucket(at)
    folder = f"/{at.names.bucket}/o"
    put(at, "logs/a.txt", b"first", step="upload")
    put(at, "logs/b.txt", b"second")
    put(at, "other.txt", b"third")
    name = quote("logs/a.txt", safe="")
    at.call("GET", at.storage(f"{folder}/{name}"), step="get")
    at.call("GET", at.storage(folder), step="list by prefix", query={"prefix": "logs/"})
    at.call("GET", at.storage(folder), step="list by delimiter", query={"delimiter": "/"})
    at.call("GET", at.storage(folder), step="list of one", query={"maxResults": "1", "fields": "items(name)"})
    at.call("PATCH", at.storage(f"{folder}/{name}"), {"metadata": {"a": "b"}}, step="patch")
    compose = {"sourceObjects": [{"name": "logs/a.txt"}, {"name": "logs/b.txt"}]}
    at.call("POST", at.storage(f"{folder}/all/compose"), compose, step="compose")
    target = f"{folder}/{name}/rewriteTo/b/{at.names.bucket}/o/copy"
    at.call("POST", at.storage(target), {}, step="rewrite")
    query = {"uploadType": "media", "name": "other.txt", "ifGenerationMatch": "0"}
    at.call("POST", at.storage(folder, upload=True), step="upload, exists", query=query, content=b"x")
    at.call("GET", at.storage(f"{folder}/missing"), step="get missing")
    at.call("DELETE", at.storage(f"{folder}/{name}"), step="delete")
    at.call("DELETE", at.storage(f"{folder}/{name}"), step="delete again")


CASES = (
    Case(
        name="buckets",
        about="a bucket: create, get, patch, preconditions, delete",
        rows=("Cloud Storage: buckets and objects",),
        steps=_buckets,
        stores=True,
        allowed=_ALLOWED,
    ),
    Case(
        name="objects",
        about="objects: upload, list, patch, compose, rewrite, preconditions",
        rows=("Cloud Storage: buckets and objects",),
        steps=_objects,
        stores=True,
        allowed=_ALLOWED,
    ),
)
