"""The states of a stack's jobs for a plan: one list for each kind and target, kept for a while.

A query for each job would hold up a preview.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.core.connection import connect_if_running
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.remote_queries import QUERIES
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.runs.gateway import RunGateway, gateway_in
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.policies.run_status import LookupResult
from vertex_emulator import machine_clock
from vertex_training.fields.resource_names import part_after

FRESH_SECONDS = 30.0
_SETTLE_SECONDS = 4.0


@dataclass(frozen=True, kw_only=True)
class JobListing:
    """A target's answer, at `at` on the monotonic clock.

    `of_name` has jobs by full name. `others` are jobs that were queried because the list does not have them.
    `endpoint` is None if no service answers.
    """

    at: float
    endpoint: Endpoint | None = None
    of_name: Mapping[str, JobRecord] = field(default_factory=dict)
    others: dict[str, JobRecord | LookupResult] = field(default_factory=dict)


@dataclass(kw_only=True)
class JobListings:
    """The jobs of one kind that were listed, by target.

    `lock` is held while one is listed: other threads wait for the same answer.
    """

    lock: threading.RLock = field(default_factory=threading.RLock)
    recent: dict[Target, JobListing] = field(default_factory=dict)
    settled: dict[Target, Sequence[JobRecord]] = field(default_factory=dict)


class _Listings(dict[str, JobListings]):
    """The jobs that an operation has listed, by the collection of their kind."""


class JobCache:
    """The jobs of one kind as one operation has listed them. Safe for threads."""

    def __init__(self, gateway: RunGateway, listings: JobListings | None = None) -> None:
        self._gateway = gateway
        self._listings = listings or JobListings()

    def record(self, target: Target, name: str) -> JobRecord | LookupResult:
        """Return the job with this full name or id."""
        name = (
            name
            if "/" in name
            else f"projects/{target.project}/locations/{target.location}/{self._gateway.collection}/{name}"
        )
        target = target._replace(location=part_after(name, "locations") or target.location)
        listing = self._listing(target)
        if name in listing.of_name:
            return listing.of_name[name]
        endpoint = listing.endpoint
        if endpoint is None:
            return LookupResult.NO_ANSWER
        if name not in listing.others:
            # A list may lag behind; the job's own record is certain.
            found = QUERIES.ask(target, lambda: self._gateway.get(endpoint, name))
            listing.others[name] = LookupResult.NO_ANSWER if found is None else found
        return listing.others[name]

    def of_job(self, target: Target, name: str) -> str | LookupResult:
        """Return the state of the job with this full name or id."""
        found = self.record(target, name)
        return found if isinstance(found, LookupResult) else found.state.name

    def settled(self, target: Target, endpoint: Endpoint) -> Sequence[JobRecord]:
        """Return the records of all our jobs of a target, listed once in this process.

        The list is made after the time for which it may lag behind a submission of a killed process. It is
        for a deletion, which needs an answer: raises the errors of `pulumi_vertex_training.cloud.errors`.
        """
        with self._listings.lock:
            if target not in self._listings.settled:
                machine_clock.sleep(settle_seconds(endpoint))
                self._listings.settled[target] = self._gateway.list_labelled(endpoint, RUN_LABEL)
            return self._listings.settled[target]

    def _listing(self, target: Target) -> JobListing:
        with self._listings.lock:
            known = self._listings.recent.get(target)
            if known is None or (known.endpoint and machine_clock.monotonic() - known.at > FRESH_SECONDS):
                answer = QUERIES.ask(target, lambda: self._listed(target))
                known = answer if isinstance(answer, JobListing) else JobListing(at=machine_clock.monotonic())
                self._listings.recent[target] = known
            return known

    def _listed(self, target: Target) -> JobListing:
        endpoint = connect_if_running(*target, OPERATION.settings)
        if endpoint is None:
            return JobListing(at=machine_clock.monotonic())
        records = self._gateway.list_labelled(endpoint, RUN_LABEL)
        return JobListing(
            at=machine_clock.monotonic(),
            endpoint=endpoint,
            of_name={record.name: record for record in records},
        )


def job_cache_of(collection: str) -> JobCache:
    """Return the operation's cache of the kind with this collection."""
    return JobCache(gateway_in(collection), OPERATION.part(_Listings).setdefault(collection, JobListings()))


def settle_seconds(endpoint: Endpoint) -> float:
    """Return the seconds that a list may lag behind a submission; the emulator's does not."""
    return 0.0 if endpoint.is_emulator else _SETTLE_SECONDS
