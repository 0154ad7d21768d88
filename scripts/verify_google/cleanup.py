"""Delete what a run has created, by its journal: live jobs are cancelled first.

It can be interrupted and repeated: a creation leaves the journal when the service reports that it is gone.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google.journal import LABEL, Creation, Journal, Record
from scripts.verify_google.recorder import (
    ENDED,
    SERVICE_JOBS,
    CaseError,
    Json,
    Pace,
    Reply,
    jobs_below,
    send,
)

LATE_SECONDS = 600.0
"""A creation without an answer may still be carried out for so long after it was sent."""

_JOBS = ("trainingPipelines", "hyperparameterTuningJobs", "customJobs")
BY_LABEL = (*_JOBS, "models", "datasets")
"""Kinds whose ids the service makes, found by the label of the run. Pipelines come before their jobs."""


@dataclass(kw_only=True)
class Result:
    """`deleted` are full names. `late` may still appear; `problems` are sentences."""

    deleted: list[str] = field(default_factory=list)
    late: list[Creation] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return not self.late and not self.problems


@dataclass(kw_only=True)
class Cleaner:
    """Deletes everything of one run. `now` returns the time in seconds since 1970."""

    endpoint: Endpoint
    record: Record
    journal: Journal
    pace: Pace
    now: Callable[[], float] = time.time
    say: Callable[[str], None] = lambda _line: None
    result: Result = field(default_factory=Result)

    def clean(self) -> Result:
        """Delete all that the journal names. Problems do not stop it."""
        for kind in BY_LABEL:
            creations = [each for each in self.record.creations if each.kind == kind]
            if creations:
                self._guarded(kind, lambda kind=kind, creations=creations: self._labelled(kind, creations))  # type: ignore[misc]
        made_by_service = [each for each in self.record.creations if each.kind == SERVICE_JOBS]
        self._guarded(SERVICE_JOBS, lambda: self._service_jobs(made_by_service))
        for creation in self.record.creations:
            if creation.kind == "repositories":
                self._guarded(str(creation.name), lambda each=creation: self._repository(each))  # type: ignore[misc]
            elif creation.kind == "buckets":
                self._guarded(str(creation.name), lambda each=creation: self._bucket(each))  # type: ignore[misc]
        return self.result

    def _guarded(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except CaseError as error:
            self.result.problems.append(f"{what}: {error}")

    def _labelled(self, kind: str, creations: Sequence[Creation]) -> None:
        """Delete all resources of a kind with the run's label."""
        self._await_operations(creations)
        found = {str(each["name"]): each for each in self._list(kind)}
        named = {each.name: each for each in creations if each.name}
        for name in named:  # those that a list does not show yet, or that lost their label
            reply = self._call("GET", self._url(name)) if name not in found else None
            if reply is not None and reply.is_success and _is_ours(reply.body, self.record.run):
                found[name] = reply.body
        if kind in _JOBS:
            self._cancel(found)
        below = [name for each in found.values() for name in jobs_below(each)]
        for name in found:
            self._delete(name)
        self._below(below)
        unanswered = [each for each in creations if not each.was_answered]
        unclaimed = len([name for name in found if not _claimed(name, named)])
        for each in creations:
            if each.was_answered:
                self.journal.gone(each.number)
        for index, each in enumerate(sorted(unanswered, key=lambda one: one.at)):
            if index < unclaimed or self.now() - each.at > LATE_SECONDS:
                self.journal.gone(each.number)
            else:
                self.result.late.append(each)

    def _below(self, names: Sequence[str]) -> None:
        """Cancel the jobs that the service made for other jobs, and delete those that it lets delete."""
        replies = {name: self._call("GET", self._url(name)) for name in names}
        left = {name: reply.body for name, reply in replies.items() if reply.is_success}
        self._cancel(left)
        for name in left:  # the service may delete them with their owner, or keep them
            with contextlib.suppress(CaseError):
                self._delete(name)

    def _service_jobs(self, creations: Sequence[Creation]) -> None:
        self._below([str(each.name) for each in creations])
        for each in creations:
            self.journal.gone(each.number)

    def _await_operations(self, creations: Sequence[Creation]) -> None:
        """Wait until the operations of creations have ended: what they make can be found only then."""
        until = time.monotonic() + self.pace.limit_seconds
        for each in creations:
            if not each.operation:
                continue
            host = self.endpoint.vertex_url
            if each.kind == "repositories":
                host = self.endpoint.artifact_registry_url
            while True:
                reply = self._call("GET", f"{host}/v1/{each.operation}")
                if reply.status == 404 or reply.body.get("done"):
                    break
                if time.monotonic() >= until:
                    raise CaseError(f"the creation of {each.name or each.kind} is not done")
                threading.Event().wait(self.pace.poll_seconds)

    def _cancel(self, jobs: dict[str, Json]) -> None:
        """Cancel the live jobs, all at once, and wait for their ends."""
        live = [name for name, job in jobs.items() if job.get("state") not in ENDED]
        for name in live:
            self.say(f"cancelling {name}")
            self._call("POST", self._url(f"{name}:cancel"), {})
        until = time.monotonic() + self.pace.limit_seconds
        for name in live:
            while True:
                reply = self._call("GET", self._url(name))
                if reply.status == 404 or reply.body.get("state") in ENDED:
                    jobs[name] = reply.body
                    break
                if time.monotonic() >= until:
                    raise CaseError(f"{name} was cancelled, but is still {reply.body.get('state')}")
                threading.Event().wait(self.pace.poll_seconds)

    def _delete(self, name: str) -> None:
        """Delete a resource of Vertex AI, and wait until it is gone."""
        reply = self._call("DELETE", self._url(name))
        if reply.status == 404:
            return
        if not reply.is_success:
            raise CaseError(f"{name} was not deleted: {_message(reply)}")
        until = time.monotonic() + self.pace.limit_seconds
        while self._call("GET", self._url(name)).status != 404:
            if time.monotonic() >= until:
                raise CaseError(f"{name} was deleted, but is still there")
            threading.Event().wait(min(self.pace.poll_seconds, 2.0))
        self._report(name)

    def _repository(self, creation: Creation) -> None:
        self._await_operations([creation])
        url = f"{self.endpoint.artifact_registry_url}/v1/{creation.name}"
        found = self._call("GET", url)
        if found.is_success and _is_ours(found.body, self.record.run):
            reply = self._call("DELETE", url)
            if not reply.is_success and reply.status != 404:
                raise CaseError(f"{creation.name} was not deleted: {_message(reply)}")
            until = time.monotonic() + self.pace.limit_seconds
            while self._call("GET", url).status != 404 and time.monotonic() < until:
                threading.Event().wait(min(self.pace.poll_seconds, 2.0))
            self._report(str(creation.name))
        self._settle(creation, found)

    def _bucket(self, creation: Creation) -> None:
        url = f"{self.endpoint.storage_api_url}/storage/v1/b/{creation.name}"
        found = self._call("GET", url)
        if found.is_success and _is_ours(found.body, self.record.run):
            for item in self._objects(url):
                address = f"{url}/o/{quote(str(item['name']), safe='')}"
                self._call("DELETE", address, query={"generation": str(item["generation"])})
            reply = self._call("DELETE", url)
            if not reply.is_success and reply.status != 404:
                raise CaseError(f"gs://{creation.name} was not deleted: {_message(reply)}")
            self._report(f"gs://{creation.name}")
        self._settle(creation, found)

    def _settle(self, creation: Creation, found: Reply) -> None:
        """Take a creation out of the journal, unless its request may still be on its way."""
        if found.status not in (200, 403, 404):
            raise CaseError(f"{creation.name} could not be read: {_message(found)}")
        is_recent = self.now() - creation.at <= LATE_SECONDS
        if found.status != 200 and is_recent and not creation.was_answered:
            self.result.late.append(creation)
        else:
            self.journal.gone(creation.number)

    def _objects(self, bucket_url: str) -> Iterator[Json]:
        token: str | None = None
        while True:
            query = {"versions": "true", **({"pageToken": token} if token else {})}
            page = self._call("GET", f"{bucket_url}/o", query=query)
            yield from page.body.get("items", [])
            token = page.body.get("nextPageToken")
            if not token:
                return

    def _list(self, kind: str) -> Iterator[Json]:
        token: str | None = None
        query = {"filter": f'labels.{LABEL}="{self.record.run}"', "pageSize": "100"}
        while True:
            reply = self._call(
                "GET",
                self._url(f"{self.endpoint.parent}/{kind}"),
                query={**query, **({"pageToken": token} if token else {})},
            )
            if reply.status == 400 and query.pop("filter", ""):
                continue  # a service that does not know the filter; the labels are compared below
            if not reply.is_success:
                raise CaseError(f"The list was answered {reply.status}: {_message(reply)}")
            # The label is compared here as well: a list that ignored its filter would name others' resources.
            yield from (each for each in reply.body.get(kind, []) if _is_ours(each, self.record.run))
            token = reply.body.get("nextPageToken")
            if not token:
                return

    def _url(self, name: str) -> str:
        return f"{self.endpoint.vertex_url}/v1/{name}"

    def _call(
        self, method: str, url: str, body: Json | None = None, *, query: dict[str, str] | None = None
    ) -> Reply:
        return send(self.endpoint, method, url, body, query=query)

    def _report(self, name: str) -> None:
        self.say(f"deleted {name}")
        self.result.deleted.append(name)


def _is_ours(resource: Json, run: str) -> bool:
    labels = resource.get("labels")
    return isinstance(labels, dict) and labels.get(LABEL) == run


def _claimed(name: str, named: Iterable[str]) -> bool:
    return any(name.rpartition("/")[2] == known.rpartition("/")[2] for known in named)


def _message(reply: Reply) -> str:
    error: Any = reply.body.get("error", {})
    return f"{reply.status} {str(error.get('message', '') if isinstance(error, dict) else error)[:300]}"
