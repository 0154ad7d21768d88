"""Allocate the machines of persistent resources to jobs; implements `custom_jobs.queue.queue.Allocator`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vertex_emulator.kernel.projects import Place
from vertex_emulator.persistent_resources import checks, resources
from vertex_emulator.persistent_resources.resources import COLLECTION
from vertex_emulator.rpc.methods import RpcError, Violation, invalid_fields
from vertex_emulator.vertex.names import name_of
from vertex_emulator.vertex.operations import not_found
from vertex_emulator.vertex.records import Record, Records

Holding = Callable[[], Sequence[Record]]


class ResourceAllocator:
    """The persistent resources as jobs see them.

    `holding` returns the jobs that have machines, in any order.
    """

    def __init__(self, records: Records, holding: Holding) -> None:
        self._records = records
        self._holding = holding

    def check(self, place: Place, job: Any) -> None:
        """Check that a job can ever run on the persistent resource that it names. Raises `RpcError`."""
        wanted = job.job_spec.persistent_resource_id
        record = self._records.get(place, wanted)
        if record is None:
            raise not_found(COLLECTION, name_of(place, COLLECTION.id, wanted))
        if record.state != resources.RUNNING:
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

    def take(self, place: Place, job: Any) -> bool:
        """Take the machines for a job on its resource. Return whether there were enough.

        After a job that does not fit, no later job of the resource fits: jobs are admitted in order.
        """
        wanted = job.job_spec.persistent_resource_id
        key = (place.number, place.location, wanted)
        record = self._records.get(place, wanted)
        if record is None or record.state != resources.RUNNING or key in self._full:
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


def _mismatches(job: Any, resource: Any) -> list[Violation]:
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
