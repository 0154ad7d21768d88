"""Who may run on a persistent resource, and when: implements `jobs.sharing.Sharing`."""

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


class Sharing:
    """The persistent resources as jobs see them. `holding` gives the jobs that have machines, in no order."""

    def __init__(self, records: Records, holding: Holding) -> None:
        self._records = records
        self._holding = holding

    def check(self, place: Place, job: Any) -> None:
        """Raises `RpcError` for a job that names a resource on which it can never run."""
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
        if found := _misfits(job, record.message):
            raise invalid_fields(found)

    def room(self) -> ResourceRoom:
        """What is left of all resources at present."""
        return ResourceRoom(self._records, self._holding)

    def jobs_of(self, record: Record) -> Sequence[Record]:
        """The jobs that have machines of a resource, the oldest first."""
        return _on(record, self._holding())

    def settled(self, record: Record) -> Record:
        """A resource with what is used of it now."""
        used = checks.usage(record.message, [each.message for each in self.jobs_of(record)])
        changed = self._records.change(
            record.id, lambda resource: checks.settle(resource, used), place=record.place
        )
        return changed or record


class ResourceRoom:
    """What is left at one moment, in which the jobs are asked for in their order; nobody looks before the
    first one is.
    """

    def __init__(self, records: Records, holding: Holding) -> None:
        self._records = records
        self._holding = holding
        self._used: dict[tuple[str, str, str], dict[int, int]] = {}
        self._full: set[tuple[str, str, str]] = set()

    def fits(self, place: Place, job: Any) -> bool:
        """Whether a job has room on the resource that it names, which it then has.

        Where one does not, none after it does: they are let in in order.
        """
        wanted = job.job_spec.persistent_resource_id
        key = (place.number, place.location, wanted)
        record = self._records.get(place, wanted)
        if record is None or record.state != resources.RUNNING or key in self._full:
            return False
        if key not in self._used:
            here = _on(record, self._holding())
            self._used[key] = checks.usage(record.message, [each.message for each in here])
        used = self._used[key]
        taken = checks.placed(job, record.message, used)
        if taken is None:
            self._full.add(key)
            return False
        for index, count in taken.items():
            used[index] = used.get(index, 0) + count
        return True


def _on(record: Record, jobs: Sequence[Record]) -> list[Record]:
    here = [
        job
        for job in jobs
        if job.message.job_spec.persistent_resource_id == record.id
        and (job.place.number, job.location) == (record.place.number, record.location)
    ]
    return sorted(here, key=lambda job: (job.created, job.number))


def _misfits(job: Any, resource: Any) -> list[Violation]:
    """What of a job does not agree with the resource; the words are ours."""
    spec, found = job.job_spec, []
    for index in checks.strangers(job, resource):
        words = "The machine and disk specs do not match any resource pool of the persistent resource."
        found.append(Violation(f"job_spec.worker_pool_specs[{index}].machine_spec", words))
    if not found and checks.placed(job, resource, {}) is None:
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
