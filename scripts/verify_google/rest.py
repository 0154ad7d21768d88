"""Requests to the services of one endpoint, without a client library: answers are those of the service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.translation import translated

Json = dict[str, Any]

JOB_KINDS = ("trainingPipelines", "hyperparameterTuningJobs", "customJobs")
"""Collections of jobs. Pipelines and tuning jobs come before the custom jobs that they own."""

_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
_LONGEST_WAIT = 45 * 60.0


def has_ended(job: Json) -> bool:
    """Return whether a job or pipeline has ended."""
    return str(job.get("state", "")).partition("_STATE_")[2] in _ENDED


@dataclass(frozen=True, kw_only=True)
class Rest:
    """The services of an endpoint. Its methods raise CloudError."""

    endpoint: Endpoint

    def url(self, name: str) -> str:
        """Return the address of a resource by its id: a full name, a gs:// address or a bucket's name."""
        storage = f"{self.endpoint.storage_api_url}/storage/v1/b"
        if name.startswith("gs://"):
            bucket, _, path = name.removeprefix("gs://").partition("/")
            return f"{storage}/{bucket}/o/{quote(path, safe='')}"
        if not name.startswith("projects/"):
            return f"{storage}/{name}".rstrip("/")
        is_repository = "/repositories" in name
        root = self.endpoint.artifact_registry_url if is_repository else self.endpoint.vertex_url
        return f"{root}/v1/{name}"

    def call(self, method: str, url: str, query: Mapping[str, str] | None = None) -> Json:
        """Return the JSON document of an answer."""
        with translated(self.endpoint, f"call {method} {url}"):
            body: Json | None = {} if method == "POST" else None
            return rest.call(self.endpoint, method, url, query=query, body=body)

    def read(self, name: str) -> Json:
        """Return a resource by its id."""
        return self.call("GET", self.url(name))

    def listed(self, name: str, field: str, query: Mapping[str, str] | None = None) -> list[Json]:
        """Return the resources of a collection, which the answers have in `field`."""
        with translated(self.endpoint, f"list {field}"):
            pages = rest.pages(self.endpoint, self.url(name), query=query or {})
            return [each for page in pages for each in page.get(field, [])]

    def documents(self, bucket: str, prefix: str) -> Iterator[tuple[str, Json]]:
        """Yield the JSON objects of a bucket below a prefix, by the rest of their names without ".json"."""
        for item in self.listed(f"{bucket}/o", "items", {"prefix": prefix}):
            name = str(item["name"])
            if name.endswith(".json"):
                document = self.call("GET", self.url(f"gs://{bucket}/{name}"), {"alt": "media"})
                yield name.removeprefix(prefix).removesuffix(".json"), document

    def delete(self, name: str) -> None:
        """Delete a resource, and wait until it is gone."""
        try:
            self.call("DELETE", self.url(name))
        except NotFound:
            return
        self.until(name, lambda _: False)

    def until(self, name: str, is_done: Callable[[Json], bool] = has_ended) -> Json:
        """Return a resource, such as a job, once it is done, or {} if it is gone. Raises CloudError."""
        until = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < until:
            try:
                document = self.read(name)
            except NotFound:
                return {}
            if is_done(document):
                return document
            threading.Event().wait(1.0)
        raise CloudError(f"{name} did not end in {_LONGEST_WAIT / 60:.0f} minutes")
