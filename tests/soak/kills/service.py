"""Everything on a lane's emulator, read over its API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from support.client.kills import subjects
from support.client.kills.subjects import listed, state_of
from vertex_emulator.client.control import Control

Record = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A custom job, tuning job or pipeline; `salt` is that of the declaration that it was submitted for.

    `inner` has the names of the custom jobs that it has submitted.
    """

    name: str
    slot: str
    salt: str
    state: str
    inner: tuple[str, ...] = ()

    @property
    def has_ended(self) -> bool:
        return subjects.has_ended({"state": self.state})

    def __str__(self) -> str:
        return f"{self.name.rpartition('/')[2]} ({self.salt}, {self.state})"


@dataclass(frozen=True, kw_only=True)
class Service:
    """All resources of an emulator.

    `inner` has the custom jobs of tuning jobs and pipelines by the name of their owner. `versions`
    has the versions of models. Images and objects have URIs as names. `runs` has the keys of the runs of
    all jobs.
    """

    buckets: tuple[Record, ...]
    objects: tuple[Record, ...]
    repositories: tuple[Record, ...]
    images: tuple[Record, ...]
    runs: frozenset[str] = frozenset()
    jobs: tuple[Job, ...]
    inner: Mapping[str, tuple[Job, ...]]
    tuning_jobs: tuple[Job, ...]
    pipelines: tuple[Job, ...]
    versions: tuple[Record, ...]
    persistent_resources: tuple[Record, ...]
    datasets: tuple[Record, ...]

    def names(self) -> list[str]:
        """Return a name for everything; empty for an emulator without resources."""
        return [
            *(one["name"] for one in (*self.buckets, *self.repositories, *self.versions)),
            *(one["name"] for one in (*self.persistent_resources, *self.datasets)),
            *(job.name for job in (*self.jobs, *self.tuning_jobs, *self.pipelines)),
            *(job.name for jobs in self.inner.values() for job in jobs),
        ]


def read(control: Control) -> Service:
    """Read everything. Raises ControlError."""
    tuning = listed(control, "hyperparameterTuningJobs")
    pipelines = listed(control, "trainingPipelines")
    owners = {name: one["name"] for one in (*tuning, *pipelines) for name in _inner(one)}
    records = listed(control, "customJobs")
    found = [_job(one) for one in records]
    labels = [one.get("labels", {}) for one in (*records, *tuning, *pipelines)]
    return Service(
        buckets=tuple(listed(control, "buckets")),
        objects=tuple(listed(control, "objects")),
        repositories=tuple(listed(control, "repositories")),
        images=tuple(listed(control, "images")),
        runs=frozenset(each["vertex-training-run"] for each in labels if "vertex-training-run" in each),
        jobs=tuple(job for job in found if job.name not in owners),
        inner={
            owner: tuple(job for job in found if owners.get(job.name) == owner)
            for owner in sorted({owners[job.name] for job in found if job.name in owners})
        },
        tuning_jobs=tuple(_job(one) for one in tuning),
        pipelines=tuple(_job(one) for one in pipelines),
        versions=tuple(listed(control, "models")),
        persistent_resources=tuple(listed(control, "persistentResources")),
        datasets=tuple(listed(control, "datasets")),
    )


def runs(control: Control) -> Iterator[Job]:
    """Yield all jobs that are resources of their own, and trials and the jobs behind pipelines. Quick."""
    for collection in subjects.JOBS:
        yield from map(_job, listed(control, collection))


def _job(record: Record) -> Job:
    spec = record.get("jobSpec") or record.get("trialJobSpec") or record.get("trainingTaskInputs") or {}
    given = spec["workerPoolSpecs"][0].get("containerSpec", {}).get("env", [])
    environment = {one["name"]: one["value"] for one in given}
    salt = f"{environment.get('OF', '')}-{environment.get('SPEC', '').removeprefix('spec-')}".removeprefix(
        "-"
    )
    return Job(
        name=record["name"],
        slot=salt.partition("-")[0],
        salt=salt,
        state=state_of(record),
        inner=_inner(record),
    )


def _inner(record: Record) -> tuple[str, ...]:
    names = [trial.get("customJob", "") for trial in record.get("trials", [])]
    names.append(record.get("trainingTaskMetadata", {}).get("backingCustomJob", ""))
    return tuple(filter(None, names))
