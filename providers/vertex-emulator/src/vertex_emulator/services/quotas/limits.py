"""The quotas that are set, and what is free of them.

Without quotas, every job is admitted. Quotas apply to each project and region, are recorded in the data
folder, and count jobs that are PENDING or RUNNING.

Vertex AI documentation, "Understand the custom training service": a job for which the project does not have
enough quota left is kept QUEUED until it has. Users report that the service rejects, with RESOURCE_EXHAUSTED,
a job that needs more than the quota as a whole, such as any GPU of a quota of 0. The emulator does both.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc.methods import RpcError
from vertex_training.catalog.quota_metrics import PREFIX

ANY_REGION = "*"
UNLIMITED = -1
"""The limit where no quota is set, as Google's APIs have it."""

_SCHEMA = (
    """
    CREATE TABLE quotas (
        metric TEXT NOT NULL,
        region TEXT NOT NULL,
        quota_limit INTEGER NOT NULL,
        when_exceeded TEXT,
        PRIMARY KEY (metric, region)
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A limit on a metric in a region, or in each region (`ANY_REGION`), for every project.

    If `when_exceeded` is None, the quota behaves as the service's.
    """

    metric: str
    region: str
    limit: int
    when_exceeded: Literal["refuse", "queue"] | None = None


@dataclass(frozen=True, kw_only=True)
class Use:
    """The demand of one live job for each metric."""

    place: Place
    demand: Mapping[str, int]


Usage = Mapping[tuple[str, str], Mapping[str, int]]
"""The usage of each metric, by project number and region."""


class FreeQuota:
    """The quota that is free at one moment."""

    def __init__(self, quotas: Mapping[tuple[str, str], Quota], usage: Usage) -> None:
        self._quotas = quotas
        self._usage = {key: Counter(used) for key, used in usage.items()}

    def take(self, place: Place, needs: Mapping[str, int]) -> bool:
        """Take the quota for the demand of a job. Return whether there was enough.

        Raises `RpcError` RESOURCE_EXHAUSTED if the job must not wait.
        """
        used = self._usage.setdefault((place.number, place.location), Counter())
        short = self.short(place, needs)
        refused = [
            each
            for each in short
            if each.when_exceeded == "refuse"
            or (each.when_exceeded is None and needs[each.metric] > each.limit)
        ]
        if refused:
            names = ", ".join(f"{PREFIX}{each.metric}" for each in refused)
            raise RpcError("RESOURCE_EXHAUSTED", f"The following quota metrics exceed quota limits: {names}")
        if not short:
            used.update(needs)
        return not short

    def short(self, place: Place, needs: Mapping[str, int]) -> list[Quota]:
        """Return the quotas of which too little is free for the demand of a job."""
        quotas = [quota for name in needs if (quota := _of(self._quotas, name, place.location)) is not None]
        return [each for each in quotas if self.used(place, each.metric) + needs[each.metric] > each.limit]

    def used(self, place: Place, metric: str) -> int:
        """Return how much of a metric is taken in a location."""
        return self._usage.get((place.number, place.location), Counter())[metric]


class Quotas:
    """All quotas.

    `used` returns what live jobs take; `changed` is called after a quota was set or removed.
    """

    def __init__(
        self, database: Database, used: Callable[[], Iterable[Use]], *, changed: Callable[[], None]
    ) -> None:
        self._database = database
        self._used = used
        self._changed = changed
        self._lock = threading.Lock()
        database.migrate("quotas", _SCHEMA)
        rows = database.rows("SELECT * FROM quotas ORDER BY rowid")
        self._quotas = {
            (row["metric"], row["region"]): Quota(
                metric=row["metric"],
                region=row["region"],
                limit=row["quota_limit"],
                when_exceeded=row["when_exceeded"],
            )
            for row in rows
        }

    def all(self) -> Sequence[Quota]:
        """Return the quotas that are set, oldest first."""
        with self._lock:
            return list(self._quotas.values())

    def free(self) -> FreeQuota:
        """Return the quota that is free now."""
        with self._lock:
            quotas = dict(self._quotas)
        return FreeQuota(quotas, self.usage() if quotas else {})

    def limit(self, metric: str, region: str) -> int:
        """Return the limit of a metric in a region, or in each region without a quota of its own."""
        with self._lock:
            found = _of(self._quotas, metric, region)
        return UNLIMITED if found is None else found.limit

    def own_regions(self, metric: str) -> list[str]:
        """Return the regions that have a quota of their own, in order."""
        with self._lock:
            return sorted(region for name, region in self._quotas if name == metric and region != ANY_REGION)

    def usage(self) -> Usage:
        """Return what all live jobs take now."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for use in self._used():
            found.setdefault((use.place.number, use.place.location), Counter()).update(use.demand)
        return found

    def set(self, quota: Quota) -> None:
        """Set a quota in place of the same metric's and region's."""
        with self._lock:
            self._database.execute(
                "INSERT INTO quotas VALUES (?, ?, ?, ?) ON CONFLICT (metric, region) DO UPDATE SET "
                "quota_limit = excluded.quota_limit, when_exceeded = excluded.when_exceeded",
                (quota.metric, quota.region, quota.limit, quota.when_exceeded),
            )
            self._quotas[quota.metric, quota.region] = quota
        self._changed()

    def remove(self, *, metric: str | None = None, region: str | None = None) -> int:
        """Remove all quotas, or only for a metric or a region, or both. Return their number."""
        with self._lock:
            gone = [key for key in self._quotas if metric in (None, key[0]) and region in (None, key[1])]
            with self._database.transaction() as connection:
                connection.executemany("DELETE FROM quotas WHERE metric = ? AND region = ?", gone)
            for key in gone:
                del self._quotas[key]
        self._changed()
        return len(gone)


def _of(quotas: Mapping[tuple[str, str], Quota], metric: str, region: str) -> Quota | None:
    return quotas.get((metric, region)) or quotas.get((metric, ANY_REGION))
