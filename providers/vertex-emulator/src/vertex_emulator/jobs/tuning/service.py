"""JobService: its methods for hyperparameter tuning jobs, and the seed of searches.

By default, the seed of a job is its ID. With a fixed seed, a job is reproducible: the same study gets the
same trials, provided that they end in the same order. The seed is a setting for tests, which is kept in
memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from vertex_emulator.client import extras
from vertex_emulator.jobs.custom import all_jobs, store, submission
from vertex_emulator.jobs.custom.checks.validation import MAX_REPLICAS
from vertex_emulator.jobs.custom.service import JobService
from vertex_emulator.jobs.custom.store import CUSTOM_JOB
from vertex_emulator.jobs.tuning import trials, validation
from vertex_emulator.jobs.tuning.driver import Driver
from vertex_emulator.jobs.tuning.metric_reports import metric_report_routes
from vertex_emulator.jobs.tuning.notes import Notes, StudyNote
from vertex_emulator.jobs.tuning.study import search
from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import Place
from vertex_emulator.kernel.scheduler import Scheduler
from vertex_emulator.replicas.plan import NO_ADDITION, Addition
from vertex_emulator.server.http.messages import HttpError, Route
from vertex_emulator.server.http.settings import Setting
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import Binding, RpcError, invalid_fields
from vertex_emulator.services.logging.entries import LogSource
from vertex_emulator.services.resource_engine import names
from vertex_emulator.services.resource_engine.job_methods import JobMethods, stopping
from vertex_emulator.services.resource_engine.operations import ResourceOperations
from vertex_emulator.services.resource_engine.records import Collection, Record, Records
from vertex_emulator.services.resource_engine.server_owned import without_server_owned
from vertex_emulator.services.resource_engine.service import Service

_MOST = 2**63


class Seed(Setting["int | None"]):
    """The fixed seed of all jobs, or None."""

    path, key = "/_local/tuning-seed", "seed"

    def read(self, body: Mapping[str, Any]) -> int | None:
        given: int | None = body.get("seed")
        if given is not None and (type(given) is not int or not 0 <= given < _MOST):
            raise HttpError(400, "", "seed must be an integer from 0 to 2^63 - 1, or null.")
        return given


TUNING_JOBS = Collection.of(
    f"{descriptors.VERTEX_AI}.HyperparameterTuningJob",
    state_of=store.state_of,
    is_live=lambda state: state not in store.TERMINAL,
)
_JOB_SPEC = re.compile(r"(?<![\w.])job_spec(?!\w)")


class TuningService(Service):
    """The tuning jobs of one emulator."""

    def __init__(
        self,
        jobs: JobService,
        *,
        database: Database,
        clock: Clock,
        scheduler: Scheduler,
        operations: ResourceOperations,
    ) -> None:
        self._jobs = jobs
        self._clock = clock
        self.store = Records(database, clock, TUNING_JOBS, table="hyperparameter_tuning_jobs")
        self._notes = Notes(database)
        self._driver = Driver(self.store, self._notes, jobs, clock, scheduler)
        self._seed = Seed(None)
        self._methods = JobMethods(
            descriptors.JOB_SERVICE,
            self.store,
            operations,
            clock,
            states=store.names(),
            create=self.create,
            cancel=lambda record: stopping(TUNING_JOBS, record.name, self._ask_to_cancel(record.id)),
            delete=lambda record: self.remove(record.id),
        )

    # --- the service

    def bindings(self) -> Mapping[str, Binding]:
        """Return the implemented methods by full name."""
        return self._methods.bindings()

    def routes(self) -> Sequence[Route]:
        """Return the routes of the seed setting, and of what programs have reported."""
        return (*self._seed.routes(), *metric_report_routes(self._jobs))

    def live(self) -> int:
        """Return the number of live jobs."""
        return len(self.store.live())

    def end_imported(self, at: str) -> int:
        """End the live tuning jobs of a snapshot, with their trials."""

        def end(job: DynamicMessage) -> None:
            all_jobs.end_interrupted(job, at=at)
            for trial in filter(trials.is_live, job.trials):
                state = trials.state_of(trial)
                trials.enter(trial, trials.INFEASIBLE)
                trial.infeasible_reason = all_jobs.interruption_message("trial", state)
                trial.end_time.FromJsonString(at)

        return self.store.end_all(end)

    def remove_all(self) -> None:
        """Delete all tuning jobs. The caller ends their custom jobs."""
        with self._driver.lock:
            self.store.clear()
            self._notes.clear()
            self._seed.reset()

    # --- the methods

    def create(self, request: DynamicMessage, headers: Mapping[str, str]) -> DynamicMessage:
        """Create a tuning job."""
        place = names.parse_parent(request.parent)
        allowed = self._jobs.unknown_types.are_allowed(headers)
        record = self.submit(place, request.hyperparameter_tuning_job, allow_unknown_types=allowed)
        return record.message

    def log_sources(self, job_id: str) -> Iterator[LogSource]:
        """Yield the logs of all trials of a job, or none if there is no such job.

        `gcloud ai hp-tuning-jobs stream-logs` queries them by the ID of the tuning job.
        """
        with suppress(KeyError):
            for number, trial in self._notes.read(job_id).trials.items():
                for source in self._jobs.log_sources(trial.custom_job):
                    yield replace(source, job_id=job_id, trial=number)

    # --- for pipelines

    def check(self, place: Place, tuning_job: DynamicMessage, *, allow_unknown_types: bool = True) -> None:
        """Check that such a job can run in a location. Raises `RpcError`."""
        violations = [*validation.problems(tuning_job)]
        try:
            self._jobs.check(place, _trial_job(tuning_job), allow_unknown_types=allow_unknown_types)
        except RpcError as error:
            renamed = error.renamed(lambda text: _JOB_SPEC.sub("trial_job_spec", text))
            if error.code != "INVALID_ARGUMENT" or not renamed.violations:
                if not violations:
                    raise renamed from error
            else:
                violations = [*renamed.violations, *violations]
        if violations:
            raise invalid_fields(violations)
        if search.learns(tuning_job) and (problem := extras.problem(extras.TUNING)):
            raise RpcError(
                "FAILED_PRECONDITION", f"{problem} Or set algorithm to RANDOM_SEARCH or GRID_SEARCH."
            )
        pools = tuning_job.trial_job_spec.worker_pool_specs
        replicas = sum(pool.replica_count for pool in pools) * tuning_job.parallel_trial_count
        if replicas > MAX_REPLICAS:
            raise RpcError(
                "FAILED_PRECONDITION",
                f"{tuning_job.parallel_trial_count} parallel trials have {replicas} replicas, and each is a "
                f"process on this machine. The emulator runs at most {MAX_REPLICAS}. Lower "
                "parallel_trial_count.",
            )

    def submit(
        self,
        place: Place,
        tuning_job: DynamicMessage,
        *,
        addition: Addition = NO_ADDITION,
        job_id: str | None = None,
        allow_unknown_types: bool = True,
    ) -> Record:
        """Check, record and start a job. Every trial gets the variables of `addition`. Raises `RpcError`.

        `job_id` is a new ID that the caller has already recorded.
        """
        job = without_server_owned(tuning_job)
        self.check(place, job, allow_unknown_types=allow_unknown_types)
        job_id = job_id or names.new_id()
        job.name = names.name_of(place, TUNING_JOBS.id, job_id)
        submission.fill_in(job.trial_job_spec)
        store.begin(job, at=times.now(self._clock))
        seed = self._seed.value if self._seed.value is not None else int(job_id)
        with self.store.transaction():
            self.store.insert(place, job_id, job)
            self._notes.write(job_id, StudyNote(seed=seed, variables=addition.variables))
        record = self.store.find(job_id)
        self._driver.wake()
        if record is None:
            raise TUNING_JOBS.missing(job.name)
        return record

    def record(self, job_id: str) -> Record | None:
        """Return the current record of a job."""
        return self.store.find(job_id)

    def request_cancel(self, job_id: str) -> None:
        """Request cancellation of a job; do nothing if it has ended or is gone."""
        self._ask_to_cancel(job_id)

    def remove(self, job_id: str) -> None:
        """Delete a job that has ended, with the custom jobs of its trials."""
        with self._driver.lock:
            try:
                note = self._notes.read(job_id)
            except KeyError:
                return
            for trial in note.trials.values():
                custom_job = self._jobs.record(trial.custom_job)
                if custom_job is not None and not custom_job.live:
                    self._jobs.remove(custom_job.id)
            with self.store.transaction():
                self.store.delete(job_id)
                self._notes.delete(job_id)

    def _ask_to_cancel(self, job_id: str) -> Record | None:
        now = times.now(self._clock)
        with self._driver.lock:
            changed = self.store.change(job_id, lambda job: store.enter(job, store.CANCELLING, at=now))
        self._driver.wake()
        return changed


def _trial_job(tuning_job: DynamicMessage) -> DynamicMessage:
    """Return a custom job like the trials', for the checks of custom jobs."""
    job = descriptors.message(CUSTOM_JOB)
    job.display_name = tuning_job.display_name
    for key, value in tuning_job.labels.items():
        job.labels[key] = value
    job.job_spec.CopyFrom(tuning_job.trial_job_spec)
    if tuning_job.HasField("encryption_spec"):
        job.encryption_spec.CopyFrom(tuning_job.encryption_spec)
    return job
