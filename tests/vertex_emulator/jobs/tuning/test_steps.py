"""The steps of a tuning job, without processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format

from support.emulated.services.studies import double, study_spec
from vertex_emulator.jobs.custom import store
from vertex_emulator.jobs.tuning import trials
from vertex_emulator.jobs.tuning.notes import StudyNote
from vertex_emulator.jobs.tuning.step import Step
from vertex_emulator.jobs.tuning.study import study
from vertex_emulator.jobs.tuning.study.measurements import Report
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.services.resource_engine.records import Record

SECOND = 1_000_000


class Job:
    """A tuning job with custom jobs that end when a test says so."""

    def __init__(self, *, count: int, parallel: int = 1, **spec: Any) -> None:
        document = {
            "name": "projects/1/locations/us-central1/hyperparameterTuningJobs/2",
            "displayName": "tune",
            "maxTrialCount": count,
            "parallelTrialCount": parallel,
            "studySpec": study_spec(double("x"), algorithm="RANDOM_SEARCH", **spec),
            "trialJobSpec": {"baseOutputDirectory": {"outputUriPrefix": "gs://b/out"}},
        }
        self.message = descriptors.message("google.cloud.aiplatform.v1.HyperparameterTuningJob")
        json_format.ParseDict(document, self.message, descriptor_pool=descriptors.pool())
        store.begin(self.message, at="2026-01-01T00:00:00.000000Z")
        self.note = StudyNote(seed=1)
        self.now = self.message.create_time.ToMicroseconds()
        self.custom_jobs: dict[int, Record] = {}

    def step(self, reports: Mapping[int, list[Report]] | None = None) -> Job:
        """Run one step and start the requested trials."""
        self.now += SECOND
        live = {int(each.id) for each in self.message.trials if trials.is_live(each)}
        step = Step(
            job=self.message,
            note=self.note,
            study=study.read(self.message.study_spec),
            custom_jobs={number: each for number, each in self.custom_jobs.items() if number in live},
            reports=reports or {},
            now=self.now,
            new_id=lambda: str(self.now),
        )
        step.run()
        self.note = step.note
        for trial in self.message.trials:
            if trials.state_of(trial) == trials.REQUESTED:
                record = self._record(int(trial.id), store.RUNNING)
                step.started(trial, record)
        return self

    def end(self, number: int, state: str = store.SUCCEEDED) -> None:
        self._record(number, state)

    def report(self, number: int, *values: float) -> Job:
        found = [
            Report(metric="accuracy", value=value, step=i, elapsed=i)
            for i, value in enumerate(values, start=1)
        ]
        return self.step({number: found})

    def complete(self, number: int, *values: float) -> Job:
        self.end(number)
        return self.report(number, *values)

    def _record(self, number: int, state: str) -> Record:
        message = descriptors.message("google.cloud.aiplatform.v1.CustomJob")
        message.create_time.FromMicroseconds(self.now)
        live = state not in store.TERMINAL
        self.custom_jobs[number] = Record(
            number=number,
            collection="customJobs",
            id=str(number),
            project="1",
            location="us-central1",
            state=state,
            live=live,
            created=self.now,
            message=message,
        )
        return self.custom_jobs[number]

    @property
    def states(self) -> list[str]:
        return [trials.state_of(each) for each in self.message.trials]

    def final(self, number: int) -> float:
        return float(self.message.trials[number - 1].final_measurement.metrics[0].value)


def test_a_step_without_news_changes_nothing() -> None:
    job = Job(count=3, parallel=2).step().step()
    before, note = job.message.SerializeToString(), job.note
    job.step()
    assert job.message.SerializeToString() == before
    assert job.note == note


def test_the_job_runs_once_its_first_trial_has_started() -> None:
    job = Job(count=2).step()
    assert store.state_of(job.message) == store.PENDING
    job.step()
    assert store.state_of(job.message) == store.RUNNING
    assert job.message.start_time == job.message.trials[0].start_time


def test_a_job_whose_trials_are_queued_does_not_run() -> None:
    job = Job(count=2).step()
    job.end(1, store.QUEUED)
    assert store.state_of(job.step().message) == store.PENDING


def test_no_more_trials_are_begun_than_there_may_be() -> None:
    job = Job(count=3, parallel=2).step()
    assert job.states == ["ACTIVE", "ACTIVE"]
    job.complete(1, 0.5)
    assert job.states == ["SUCCEEDED", "ACTIVE", "ACTIVE"]
    job.complete(3, 0.5)
    assert job.states == ["SUCCEEDED", "ACTIVE", "SUCCEEDED"]
    job.complete(2, 0.5)
    assert store.state_of(job.message) == store.SUCCEEDED


CONVEX = {"minMeasurementCount": 2, "maxStepCount": 20}


def stopped_early(**rule: Any) -> Job:
    """Three trials have completed, the fourth has been stopped."""
    job = Job(count=9, parallel=5, convexAutomatedStoppingSpec={**CONVEX, **rule}).step()
    for number in (1, 2, 3):
        job.complete(number, 0.5, 0.7, 0.8)
    job.report(4, 0.05, 0.06, 0.065)
    assert job.states[3] == "STOPPING"
    job.end(4, store.CANCELLED)
    job.step()
    assert job.states[3] == "SUCCEEDED"
    assert job.message.trials[3].final_measurement.step_count == 20
    return job


def test_a_prediction_stays_as_it_was() -> None:
    job = stopped_early()
    before = job.final(4)
    job.complete(5, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert job.final(4) == before


def test_with_update_all_a_prediction_follows_what_is_known() -> None:
    """Check that a straight curve of the fifth trial raises the prediction."""
    job = stopped_early(updateAllStoppedTrials=True)
    before, count = job.final(4), len(job.message.trials[3].measurements)
    job.complete(5, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert job.final(4) > before
    assert len(job.message.trials[3].measurements) == count == 4
    after = job.final(4)
    job.step()
    assert job.final(4) == after


def test_trials_stopped_with_the_job_are_not_failures() -> None:
    """Check that stopped trials without reports end with the job, which one failed trial would not fail."""
    config = {"maximumRuntimeConstraint": {"maxDuration": "10s"}, "shouldStopAsap": True}
    job = Job(count=4, parallel=4, studyStoppingConfig=config).step()
    job.complete(1, 0.5)
    job.now += 20 * SECOND
    job.step()
    assert job.states == ["SUCCEEDED", "STOPPING", "STOPPING", "STOPPING"]
    for number in (2, 3, 4):
        job.end(number, store.CANCELLED)
    job.step()
    assert job.states == ["SUCCEEDED", "INFEASIBLE", "INFEASIBLE", "INFEASIBLE"]
    assert store.state_of(job.message) == store.SUCCEEDED


def test_a_minimum_runtime_precedes_the_number_of_trials() -> None:
    """Check that "the first few rules" prevent others "from being evaluated until they are met"."""
    config = {"maxNumTrials": 1, "minimumRuntimeConstraint": {"maxDuration": "10s"}}
    job = Job(count=9, studyStoppingConfig=config).step()
    job.complete(1, 0.5)
    assert job.states == ["SUCCEEDED", "ACTIVE"]
    job.now += 20 * SECOND
    job.complete(2, 0.5)
    assert job.states == ["SUCCEEDED", "SUCCEEDED"]
    assert store.state_of(job.message) == store.SUCCEEDED


def test_the_reason_of_a_deleted_or_failed_custom_job() -> None:
    job = Job(count=3, parallel=3).step()
    del job.custom_jobs[1]
    job.end(2, store.FAILED)
    job.end(3, store.FAILED)
    job.custom_jobs[3].message.error.message = "out of quota"
    job.step()
    assert job.states == ["INFEASIBLE"] * 3
    assert [each.infeasible_reason for each in job.message.trials] == [
        "The trial's custom job was deleted.",
        "The custom job is JOB_STATE_FAILED.",
        "out of quota",
    ]


def test_the_reason_names_another_reported_metric() -> None:
    job = Job(count=1).step()
    job.step({1: [Report(metric="acuracy", value=0.5, step=1, elapsed=1)]})
    job.end(1)
    job.step()
    [trial] = job.message.trials
    assert trial.infeasible_reason == (
        "The trial ended without reporting the metric 'accuracy'. It reported 'acuracy'."
    )


def test_a_trial_ends_when_its_custom_job_does() -> None:
    job = Job(count=2, parallel=2).step()
    ended = job.now + SECOND // 2
    for number in (1, 2):
        job.end(number)
        job.custom_jobs[number].message.end_time.FromMicroseconds(ended)
    job.report(1, 0.5)
    assert job.states == ["SUCCEEDED", "INFEASIBLE"]
    assert [each.end_time.ToMicroseconds() for each in job.message.trials] == [ended, ended]
