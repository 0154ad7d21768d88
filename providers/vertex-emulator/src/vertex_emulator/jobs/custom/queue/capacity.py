"""The machines that the emulator's regions have for jobs: a setting for tests, apart from quotas.

Without a setting there are machines for every job. A job that finds none stays PENDING, and starts once there
are enough. Otherwise it fails without `start_time`, in the words of the service: after its
`max_wait_duration` with FLEX_START, else after the wait of the setting. How long the service looks for
machines, and the code of the error, are not documented; both are ours.

Jobs on persistent resources have their machines already. Reservations are not looked at. A preempted Spot job
is restarted without asking again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.settings import Key, Settings
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_training.catalog import accelerators

ANY = "*"
DEFAULT_WAIT = 10.0
"""Seconds that a job without machines waits unless the setting says otherwise."""

_SCHEMA = (
    """
    CREATE TABLE capacities (
        machine TEXT NOT NULL,
        region TEXT NOT NULL,
        strategy TEXT NOT NULL,
        available INTEGER NOT NULL,
        wait_seconds REAL NOT NULL,
        PRIMARY KEY (machine, region, strategy)
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The number of machines of a type, or of accelerators, that jobs can have at the same time.

    `region` and `strategy` can be `ANY`: each region for itself, all strategies together. `wait_seconds` is
    how long a job that finds too few waits, unless it has FLEX_START.
    """

    machine: str
    region: str = ANY
    strategy: str = ANY
    available: int
    wait_seconds: float = DEFAULT_WAIT


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The machines of one job: where, with which strategy, and how many of each type and accelerator."""

    region: str
    strategy: str
    machines: Mapping[str, int]


def demand(job: DynamicMessage, *, region: str, strategy: str) -> Demand:
    """Return the demand of a `CustomJob` message. A replica is one machine."""
    machines: Counter[str] = Counter()
    if not job.job_spec.persistent_resource_id:
        for pool in job.job_spec.worker_pool_specs:
            spec = pool.machine_spec
            machines[spec.machine_type] += pool.replica_count
            if spec.accelerator_count:
                kind = str(accelerators.by_number(spec.accelerator_type))
                machines[kind] += spec.accelerator_count * pool.replica_count
    strategy = "STANDARD" if strategy == "STRATEGY_UNSPECIFIED" else strategy
    return Demand(region=region, strategy=strategy, machines=+machines)


class FreeCapacity:
    """The machines that are free at one moment, taken by one job after the other."""

    def __init__(self, capacities: Mapping[Key, Capacity], used: Iterable[Demand]) -> None:
        self._capacities = capacities
        self._used = list(used) if capacities else []

    def take(self, wanted: Demand) -> Capacity | None:
        """Take the machines for a job. Return None, or the capacity that is too small for it."""
        for name, count in wanted.machines.items():
            capacity = self._of(name, wanted)
            if capacity is not None and self.use_of(capacity, wanted.region) + count > capacity.available:
                return capacity
        if self._capacities:
            self._used.append(wanted)
        return None

    def _of(self, machine: str, wanted: Demand) -> Capacity | None:
        """Return the setting for a machine: the region's own counts first, then the strategy's own."""
        keys = ((region, strategy) for region in (wanted.region, ANY) for strategy in (wanted.strategy, ANY))
        found = (self._capacities.get((machine, *key)) for key in keys)
        return next((each for each in found if each is not None), None)

    def use_of(self, capacity: Capacity, region: str) -> int:
        """Return how many machines of a capacity are taken in a region."""
        return sum(
            each.machines.get(capacity.machine, 0)
            for each in self._used
            if each.region == region and capacity.strategy in (ANY, each.strategy)
        )


class Capacities(Settings[Capacity]):
    """All capacities that are set, which hold for all projects together.

    `used` returns the demands of the jobs that have machines.
    """

    def __init__(
        self, database: Database, used: Callable[[], Iterable[Demand]], *, changed: Callable[[], None]
    ) -> None:
        super().__init__(database, Capacity, table="capacities", schema=_SCHEMA, keys=3, changed=changed)
        self._used = used

    def free(self) -> FreeCapacity:
        """Return the machines that are free now."""
        capacities = self.by_key()
        return FreeCapacity(capacities, self._used() if capacities else ())
