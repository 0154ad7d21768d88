"""Everything on a lane's emulator, read over its API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from vertex_emulator.control import Control

Record = Mapping[str, Any]
_PARENT = "/v1/projects/local/locations/us-central1"
_ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")


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
        return self.state in _ENDED

    def __str__(self) -> str:
        return f"{self.name.rpartition('/')[2]} ({self.salt}, {self.state})"


@dataclass(frozen=True, kw_only=True)
class Service:
    """All resources of an emulator.

    `inner` has the custom jobs of tuning jobs and pipelines by the name of their owner. `versions`
    has the versions of models. Images and objects are URIs.
    """

    buckets: tuple[Record, ...]
    objects: tuple[str, ...]
    repositories: tuple[Record, ...]
    images: tuple[Record, ...]
    jobs: tuple[Job, ...]
    inner: Mapping[str, tuple[Job, ...]]
    tuning_jobs: tuple[Job, ...]
    pipelines: tuple[Job, ...]
    versions: tuple[Record, ...]
    persistent_resources: tuple[Record, ...]
    datasets: tuple[Record, ...]

    def is_moving(self) -> bool:
        """Return whether a job is about to change its state by itself."""
        everything = (*self.jobs, *self.tuning_jobs, *self.pipelines)
        return any(
            each.state in ("CANCELLING", "PENDING", "QUEUED") or (each.slot == "short" and not each.has_ended)
            for each in (*everything, *(job for jobs in self.inner.values() for job in jobs))
        )

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
    buckets = _all(control, "/storage/v1/b?project=local", "items")
    objects = [
        f"gs://{bucket['name']}/{one['name']}"
        for bucket in buckets
        for one in _all(control, f"/storage/v1/b/{quote(bucket['name'])}/o", "items")
    ]
    repositories = _all(control, f"{_PARENT}/repositories", "repositories")
    tuning = _all(control, f"{_PARENT}/hyperparameterTuningJobs", "hyperparameterTuningJobs")
    pipelines = _all(control, f"{_PARENT}/trainingPipelines", "trainingPipelines")
    owners = {name: one["name"] for one in (*tuning, *pipelines) for name in _inner(one)}
    found = [_job(one) for one in _all(control, f"{_PARENT}/customJobs", "customJobs")]
    models = _all(control, f"{_PARENT}/models", "models")
    return Service(
        buckets=tuple(buckets),
        objects=tuple(objects),
        repositories=tuple(repositories),
        images=tuple(
            image
            for one in repositories
            for image in _all(control, f"/v1/{one['name']}/dockerImages", "dockerImages")
        ),
        jobs=tuple(job for job in found if job.name not in owners),
        inner={
            owner: tuple(job for job in found if owners.get(job.name) == owner)
            for owner in sorted({owners[job.name] for job in found if job.name in owners})
        },
        tuning_jobs=tuple(_job(one) for one in tuning),
        pipelines=tuple(_job(one) for one in pipelines),
        versions=tuple(
            version
            for one in models
            for version in _all(control, f"/v1/{one['name']}:listVersions", "models")
        ),
        persistent_resources=tuple(_all(control, f"{_PARENT}/persistentResources", "persistentResources")),
        datasets=tuple(_all(control, f"{_PARENT}/datasets", "datasets")),
    )


def runs(control: Control) -> Iterator[Job]:
    """Yield all jobs that have a `Run` of their own, and trials and the jobs behind pipelines. Quick."""
    for collection in ("customJobs", "hyperparameterTuningJobs", "trainingPipelines"):
        yield from map(_job, _all(control, f"{_PARENT}/{collection}", collection))


def _all(control: Control, path: str, key: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    token = ""
    while True:
        page = control.call("GET", f"{path}{'&' if '?' in path else '?'}pageToken={token}" if token else path)
        found += page.get(key, [])
        token = page.get("nextPageToken", "")
        if not token:
            return found


def _job(record: Record) -> Job:
    spec = record.get("jobSpec") or record.get("trialJobSpec") or record.get("trainingTaskInputs") or {}
    environment = spec["workerPoolSpecs"][0].get("containerSpec", {}).get("env", [])
    salt = next((one["value"] for one in environment if one["name"] == "SALT"), "")
    return Job(
        name=record["name"],
        slot=salt.partition("-")[0],
        salt=salt,
        state=record["state"].removeprefix("JOB_STATE_").removeprefix("PIPELINE_STATE_"),
        inner=_inner(record),
    )


def _inner(record: Record) -> tuple[str, ...]:
    names = [trial.get("customJob", "") for trial in record.get("trials", [])]
    names.append(record.get("trainingTaskMetadata", {}).get("backingCustomJob", ""))
    return tuple(filter(None, names))
