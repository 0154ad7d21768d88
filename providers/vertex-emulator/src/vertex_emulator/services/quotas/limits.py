"""The quotas that are set, and what is free of them.

Without quotas, every job is admitted. Quotas apply to each project and region, are recorded in the data
folder, and count jobs that are PENDING or RUNNING.

Vertex AI documentation, "Understand the custom training service": a job for which the project does not have
enough quota left is kept QUEUED until it has. Users report that the service rejects, with RESOURCE_EXHAUSTED,
a job that needs more than the quota as a whole, such as any GPU of a quota of 0. The emulator does both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.settings import Key, Settings
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

    def __init__(self, quotas: Mapping[Key, Quota], usage: Usage) -> None:
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


class Quotas(Settings[Quota]):
    """All quotas. `used` returns what live jobs take."""

    def __init__(
        self, database: Database, used: Callable[[], Iterable[Use]], *, changed: Callable[[], None]
    ) -> None:
        super().__init__(database, Quota, table="quotas", schema=_SCHEMA, keys=2, changed=changed)
        self._used = used

    def free(self) -> FreeQuota:
        """Return the quota that is free now."""
        quotas = self.by_key()
        return FreeQuota(quotas, self.usage() if quotas else {})

    def limit(self, metric: str, region: str) -> int:
        """Return the limit of a metric in a region, or in each region without a quota of its own."""
        found = _of(self.by_key(), metric, region)
        return UNLIMITED if found is None else found.limit

    def own_regions(self, metric: str) -> list[str]:
        """Return the regions that have a quota of their own, in order."""
        return sorted(
            each.region for each in self.all() if each.metric == metric and each.region != ANY_REGION
        )

    def usage(self) -> Usage:
        """Return what all live jobs take now."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for use in self._used():
            found.setdefault((use.place.number, use.place.location), Counter()).update(use.demand)
        return found


def _of(quotas: Mapping[Key, Quota], metric: str, region: str) -> Quota | None:
    return quotas.get((metric, region)) or quotas.get((metric, ANY_REGION))
