"""The record of a persistent resource, and the allocation of its machines to jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vertex_emulator.jobs.persistent_resources import checks
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.services.resource_engine.names import name_of
from vertex_emulator.services.resource_engine.records import Collection, Record, Records
from vertex_training.catalog import accelerators
from vertex_training.topology.normal import default_disk

PROVISIONING = "PROVISIONING"
RUNNING = "RUNNING"
STOPPING = "STOPPING"
ERROR = "ERROR"
REBOOTING = "REBOOTING"
UPDATING = "UPDATING"
STATES = (PROVISIONING, RUNNING, STOPPING, ERROR, REBOOTING, UPDATING)


_DISK, _SIZE = "pd-ssd", 100


def state_of(resource: DynamicMessage) -> str:
    """Return the name of a resource's state."""
    name: str = _states(resource).values_by_number[resource.state].name
    return name


COLLECTION = Collection.of(
    f"{descriptors.VERTEX_AI}.PersistentResource",
    state_of=state_of,
    is_live=lambda state: state not in (RUNNING, ERROR),
)


def enter(resource: DynamicMessage, state: str, *, at: str) -> None:
    """Put a resource into a state at a time; `start_time` is set when it first runs."""
    resource.state = _states(resource).values_by_name[state].number
    resource.update_time.FromJsonString(at)
    if state == RUNNING and not resource.HasField("start_time"):
        resource.start_time.FromJsonString(at)


def fill_in(resource: DynamicMessage) -> None:
    """Fill in the service's defaults: ids and disks of pools, and their first size.

    Generated ids are as seen on the service: `n1-standard-4`, `n1-highmem-2-nvidia-tesla-t4-1`.
    """
    for pool in resource.resource_pools:
        machine = pool.machine_spec
        default = default_disk(machine.machine_type)
        pool.disk_spec.boot_disk_type = pool.disk_spec.boot_disk_type or default.boot_disk_type or _DISK
        pool.disk_spec.boot_disk_size_gb = pool.disk_spec.boot_disk_size_gb or _SIZE
        if not pool.replica_count:
            pool.replica_count = pool.autoscaling_spec.min_replica_count
    given = Counter(pool.id for pool in resource.resource_pools if pool.id)
    for pool in resource.resource_pools:
        if not pool.id:
            pool.id = _free(_generated(pool.machine_spec), given)
            given[pool.id] += 1


def _generated(machine: DynamicMessage) -> str:
    if not machine.accelerator_count:
        return str(machine.machine_type)
    kind = str(accelerators.by_number(machine.accelerator_type)).lower().replace("_", "-")
    return f"{machine.machine_type}-{kind}-{machine.accelerator_count}"


def _free(name: str, taken: Counter[str]) -> str:
    number, found = 1, name
    while taken[found]:
        number += 1
        found = f"{name}-{number}"
    return found


def _states(resource: DynamicMessage) -> Any:
    return resource.DESCRIPTOR.fields_by_name["state"].enum_type


_SCHEMA = (
    """
    CREATE TABLE persistent_resource_changes (
        project TEXT NOT NULL,
        project_number TEXT NOT NULL,
        location TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        operation TEXT NOT NULL,
        seconds REAL NOT NULL,
        PRIMARY KEY (project_number, location, id)
    );
    """,
)


@dataclass(frozen=True, kw_only=True)
class PendingChange:
    """One pending change of a resource.

    `kind` is "create", "update", "reboot" or "delete". `operation` is the name of the operation that the
    call returned; `due` is on the line of `Clock.seconds`.
    """

    place: Place
    id: str
    kind: str
    operation: str
    due: float


class PendingChanges:
    """The pending changes, at most one for each resource. Not thread-safe; the caller holds a lock."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        database.migrate("persistent resource changes", _SCHEMA)
        self._changes: dict[tuple[str, str, str], PendingChange] = {}

    def load(self) -> None:
        """Load the changes that an earlier emulator left; each starts its whole time again."""
        for row in self._database.rows("SELECT * FROM persistent_resource_changes ORDER BY rowid"):
            change = PendingChange(
                place=Place(project=row["project"], location=row["location"]),
                id=row["id"],
                kind=row["kind"],
                operation=row["operation"],
                due=self._clock.seconds() + row["seconds"],
            )
            self._changes[_key(change.place, change.id)] = change

    def begin(self, place: Place, resource_id: str, kind: str, operation: str, *, seconds: float) -> None:
        """Record a change that takes `seconds`; it replaces an earlier change of the resource."""
        self._database.execute(
            "INSERT OR REPLACE INTO persistent_resource_changes VALUES (?, ?, ?, ?, ?, ?, ?)",
            (place.project, place.number, place.location, resource_id, kind, operation, seconds),
        )
        self._changes[_key(place, resource_id)] = PendingChange(
            place=place,
            id=resource_id,
            kind=kind,
            operation=operation,
            due=self._clock.seconds() + seconds,
        )

    def get(self, place: Place, resource_id: str) -> PendingChange | None:
        """Return the pending change of a resource, or None."""
        return self._changes.get(_key(place, resource_id))

    def all(self) -> list[PendingChange]:
        """Return all changes, oldest first."""
        return list(self._changes.values())

    def end(self, change: PendingChange) -> None:
        """Remove a change that is done."""
        key = _key(change.place, change.id)
        self._database.execute(
            "DELETE FROM persistent_resource_changes WHERE project_number = ? AND location = ? AND id = ?",
            key,
        )
        self._changes.pop(key, None)

    def clear(self) -> None:
        """Remove all changes."""
        self._database.execute("DELETE FROM persistent_resource_changes")
        self._changes.clear()


def _key(place: Place, resource_id: str) -> tuple[str, str, str]:
    return place.number, place.location, resource_id


Holding = Callable[[], Sequence[Record]]


class ResourceAllocator:
    """The persistent resources as jobs see them.

    `holding` returns the jobs that have machines, in any order.
    """

    def __init__(self, records: Records, holding: Holding) -> None:
        self._records = records
        self._holding = holding

    def check(self, place: Place, job: DynamicMessage) -> None:
        """Check that a job can ever run on the persistent resource that it names. Raises `RpcError`."""
        wanted = job.job_spec.persistent_resource_id
        record = self._records.get(place, wanted)
        if record is None:
            raise COLLECTION.missing(name_of(place, COLLECTION.id, wanted))
        if record.state != RUNNING:
            raise RpcError(
                "FAILED_PRECONDITION",
                f'The PersistentResource "{record.name}" is in state {record.state}; jobs can be created on '
                "it in state RUNNING.",
            )
        if found := _mismatches(job, record.message):
            raise invalid_fields(found)

    def free(self) -> FreePools:
        """Return the machines of all resources that are free now."""
        return FreePools(self._records, self._holding)

    def jobs_of(self, record: Record) -> Sequence[Record]:
        """Return the jobs that have machines of a resource, oldest first."""
        return _jobs_on(record, self._holding())

    def with_usage(self, record: Record) -> Record:
        """Return a resource with its present usage."""
        used = checks.usage(record.message, [each.message for each in self.jobs_of(record)])
        changed = self._records.change(
            record.id, lambda resource: checks.set_usage(resource, used), place=record.place
        )
        return changed or record


class FreePools:
    """The machines that are free at one moment, taken by jobs in their order.

    Usage is read with the first job.
    """

    def __init__(self, records: Records, holding: Holding) -> None:
        self._records = records
        self._holding = holding
        self._used: dict[tuple[str, str, str], dict[int, int]] = {}
        self._full: set[tuple[str, str, str]] = set()

    def take(self, place: Place, job: DynamicMessage) -> bool:
        """Take the machines for a job on its resource. Return whether there were enough.

        After a job that does not fit, no later job of the resource fits: jobs are admitted in order.
        """
        wanted = job.job_spec.persistent_resource_id
        key = (place.number, place.location, wanted)
        record = self._records.get(place, wanted)
        if record is None or record.state != RUNNING or key in self._full:
            return False
        if key not in self._used:
            here = _jobs_on(record, self._holding())
            self._used[key] = checks.usage(record.message, [each.message for each in here])
        used = self._used[key]
        taken = checks.placement(job, record.message, used)
        if taken is None:
            self._full.add(key)
            return False
        for index, count in taken.items():
            used[index] = used.get(index, 0) + count
        return True


def _jobs_on(record: Record, jobs: Sequence[Record]) -> list[Record]:
    here = [
        job
        for job in jobs
        if job.message.job_spec.persistent_resource_id == record.id
        and (job.place.number, job.location) == (record.place.number, record.location)
    ]
    return sorted(here, key=lambda job: (job.created, job.number))


def _mismatches(job: DynamicMessage, resource: DynamicMessage) -> list[Violation]:
    """Return where a job contradicts the resource; the words are ours."""
    spec, found = job.job_spec, []
    for index in checks.unmatched_pools(job, resource):
        words = "The machine and disk specs do not match any resource pool of the persistent resource."
        found.append(Violation(f"job_spec.worker_pool_specs[{index}].machine_spec", words))
    if not found and checks.placement(job, resource, {}) is None:
        words = "The persistent resource does not have that many replicas."
        found.append(Violation("job_spec.worker_pool_specs", words))
    if spec.network != resource.network:
        words = "The network is not the one of the persistent resource."
        found.append(Violation("job_spec.network", words))
    if job.encryption_spec.kms_key_name != resource.encryption_spec.kms_key_name:
        words = "The encryption key is not the one of the persistent resource."
        found.append(Violation("encryption_spec.kms_key_name", words))
    account = resource.resource_runtime_spec.service_account_spec
    if account.enable_custom_service_account and not (spec.service_account or account.service_account):
        words = "A custom service account is required on the persistent resource."
        found.append(Violation("job_spec.service_account", words))
    return found
