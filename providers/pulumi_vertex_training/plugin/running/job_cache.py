"""How the jobs of a stack stand, as far as a plan has to know: one list for each kind and place, kept for a
while.

Asking for each job alone would hold up a preview.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.plugin.connection import connect_if_running
from pulumi_vertex_training.plugin.process import PLUGIN
from pulumi_vertex_training.plugin.remote_queries import QUERIES, Place
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.kinds import KINDS, Kind
from pulumi_vertex_training.runs.standing import Look

FRESH_SECONDS = 30.0
_SETTLE_SECONDS = 4.0


@dataclass(frozen=True, kw_only=True)
class _Listing:
    """What a place answered, at `at` on the monotonic clock: the states of jobs by full name, and those of
    each run's newest job by the run's key. `endpoint` is None where nothing answers."""

    at: float
    endpoint: Endpoint | None = None
    of_name: Mapping[str, str] = field(default_factory=dict)
    of_run: Mapping[str, str] = field(default_factory=dict)


class JobCache:
    """The lists of one kind in one process. Safe for threads."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._lock = threading.RLock()
        self._listings: dict[Place, _Listing] = {}
        self._settled: dict[Place, Sequence[Any]] = {}

    def of_job(self, place: Place, name: str) -> str | Look:
        """The state of the job of this full name, or of this id."""
        name = (
            name
            if "/" in name
            else f"projects/{place[1]}/locations/{place[2]}/{self._kind.collection}/{name}"
        )
        listing = self._listing(place)
        if name in listing.of_name:
            return listing.of_name[name]
        endpoint = listing.endpoint
        if endpoint is None:
            return Look.NO_ANSWER
        # A list may lag; only the answer about the job itself is certain.
        found = QUERIES.ask(place, lambda: self._kind.get(endpoint, name).state.name)
        return Look.NO_ANSWER if found is None else found

    def of_run(self, place: Place, key: str) -> str | Look:
        """The state of the newest job that carries the run's key."""
        listing = self._listing(place)
        if listing.endpoint is None:
            return Look.NO_ANSWER
        return listing.of_run.get(key, Look.ABSENT)

    def settled(self, place: Place, endpoint: Endpoint) -> Sequence[Any]:
        """The records of all jobs of ours there, listed once in this process, when the list cannot lag behind
        a submission of a killed one any more.

        For a deletion, which has to be answered: raises the errors of `pulumi_vertex_training.cloud.errors`.
        """
        with self._lock:
            if place not in self._settled:
                time.sleep(settle_seconds(endpoint))
                self._settled[place] = self._kind.labelled(endpoint, RUN_LABEL)
            return self._settled[place]

    def _listing(self, place: Place) -> _Listing:
        with self._lock:
            known = self._listings.get(place)
            if known is None or (known.endpoint and time.monotonic() - known.at > FRESH_SECONDS):
                known = QUERIES.ask(place, lambda: self._listed(place)) or _Listing(at=time.monotonic())
                self._listings[place] = known
            return known

    def _listed(self, place: Place) -> _Listing:
        endpoint = connect_if_running(*place, PLUGIN.settings)
        if endpoint is None:
            return _Listing(at=time.monotonic())
        records = sorted(self._kind.labelled(endpoint, RUN_LABEL), key=lambda one: one.create_time or "")
        return _Listing(
            at=time.monotonic(),
            endpoint=endpoint,
            of_name={record.name: record.state.name for record in records},
            of_run={record.labels[RUN_LABEL]: record.state.name for record in records},
        )


def job_cache_of(collection: str) -> JobCache:
    """Those of the kind with this collection, of which an operation has one."""
    return PLUGIN.kept(f"sightings of {collection}", lambda: JobCache(KINDS[collection]))


def settle_seconds(endpoint: Endpoint) -> float:
    """How long a list may lag behind a submission; the emulator's does not."""
    return 0.0 if endpoint.is_emulator else _SETTLE_SECONDS
