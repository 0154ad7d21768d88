"""Compare the declared resources with Pulumi's state and with the service. Each complaint is one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from soak.kills.desired import JOBS, Desired
from soak.kills.service import Job, Service
from support.client.kills.subjects import local, shown

KEPT_RUNS = 10
"""The default of `keep_runs`: earlier runs of a job whose records are kept."""

_INTERNAL = ":StackKey"
"""Type of the record that a stack has beside the declared resources."""

Deployment = Mapping[str, Any]


def complaints(desired: Desired, deployment: Deployment, service: Service) -> Iterator[str]:
    """Yield what differs after a deployment that succeeded."""
    resources = _resources(deployment)
    yield from _of_state(desired, deployment)
    ids = {(kind, slot): one["id"] for (kind, slot), one in resources.items()}
    yield from _of_storage(desired, resources, ids, service)
    yield from _of_registry(desired, ids, service)
    yield from _of_jobs(desired, ids, service)
    yield from _of_others(desired, ids, service)


def doubled(
    seen: Mapping[str, Job], *, there: Collection[str] = (), struck: Collection[str] = ()
) -> Iterator[str]:
    """Yield the declarations that ran twice at any time; `seen` has every job by its name.

    `struck` has the ids of the custom jobs whose processes were killed. A job with one of them has failed. If
    a deployment ran it again and deleted its record, which takes less time than two looks, nobody has seen
    that: its name is not in `there`, the names that exist.
    """
    by_salt: dict[tuple[str, str], list[Job]] = {}
    for job in seen.values():
        by_salt.setdefault((job.name.split("/")[-2], job.salt), []).append(job)
    for (collection, salt), jobs in by_salt.items():
        if collection == "customJobs" and salt.partition("-")[0] not in JOBS:
            continue  # trials and the jobs behind pipelines
        good = [
            job
            for job in jobs
            if job.state != "FAILED" and not (_was_struck(job, struck) and job.name not in there)
        ]
        if len(good) > 1:
            yield f"{salt} ran {len(good)} times: {', '.join(map(str, good))}"


def _was_struck(job: Job, struck: Collection[str]) -> bool:
    return any(name.rpartition("/")[2] in struck for name in (job.name, *job.inner))


def _of_state(desired: Desired, deployment: Deployment) -> Iterator[str]:
    for pending in deployment.get("pending_operations") or []:
        yield f"the state still has a pending operation: {pending['type']} {_name(pending['resource'])}"
    found = Counter(
        (one["type"].rpartition(":")[2], _name(one))
        for one in deployment.get("resources", [])
        if one["type"].startswith("pulumi-python:dynamic") and not one["type"].endswith(_INTERNAL)
    )
    wanted = desired.resources()
    for (kind, slot), count in (found - wanted).items():
        yield f"the state has {count} {kind} {slot} more than declared"
    for (kind, slot), count in (wanted - found).items():
        yield f"the state has {count} {kind} {slot} less than declared"
    for one in deployment.get("resources", []):
        for mark in ("delete", "pendingReplacement"):
            if one.get(mark):
                yield f"the state has {one['type'].rpartition(':')[2]} {_name(one)} with the mark {mark}"


def _of_storage(
    desired: Desired, resources: Mapping[Any, Any], ids: Mapping[Any, str], service: Service
) -> Iterator[str]:
    named = {slot: ids.get(("StagingBucket", slot), "") for slot in ("staging", "spare", "train")}
    wanted = {name: slot for slot, name in named.items() if slot in desired.slots}
    yield from _difference("bucket", wanted, [one["name"] for one in service.buckets])
    for bucket in service.buckets:
        if (slot := wanted.get(bucket["name"])) is not None:
            yield from _values(desired, slot, f"bucket {slot}", bucket)
    staged = {
        ids[key]: key[1] for key in (("StagedFile", "file"), ("StagedPackage", "package")) if key in ids
    }
    lineages = [one["name"] for one in service.objects if one["name"].endswith("/lineage.json")]
    for name in lineages:
        if name.split("/")[-2] not in service.runs:
            yield f"object {local(name)} is the lineage of a run without a job"
    others = [one["name"] for one in service.objects if one["name"] not in lineages]
    yield from _difference("object", staged, others)
    for one in service.objects:
        if (slot := staged.get(one["name"])) is not None:
            yield from _values(desired, slot, f"object {slot}", one)


def _of_registry(desired: Desired, ids: Mapping[Any, str], service: Service) -> Iterator[str]:
    wanted = {
        ids.get(("ImageRepository", slot), ""): slot
        for slot in ("trainers", "train")
        if slot in desired.slots
    }
    yield from _difference("repository", wanted, [one["name"] for one in service.repositories])
    for one in service.repositories:
        if (slot := wanted.get(one["name"])) is not None:
            yield from _values(desired, slot, f"repository {slot}", one)
    images = {one["name"]: one for one in service.images}
    own = [name for name in images if "/trainers-" in name]  # those of `train` are kept by default
    yield from _difference("image", [ids[key] for key in (("TrainingImage", "image"),) if key in ids], own)
    if ("TrainingImage", "train") in ids and ids["TrainingImage", "train"] not in images:
        yield "the image of train is not in its repository"
    if "image" in desired.slots and own:
        yield from _values(desired, "image", "the image", images[own[0]])


def _of_jobs(desired: Desired, ids: Mapping[Any, str], service: Service) -> Iterator[str]:
    for slot in JOBS:
        yield from _one_run(desired, slot, ids.get(("CustomJob", slot)), service.jobs)
    unknown = [job for job in service.jobs if job.slot not in JOBS and not job.has_ended]
    for job in unknown:
        yield f"custom job {job} is live, and belongs to nothing"
    for slot, kind, jobs in (
        ("search", "HyperparameterTuningJob", service.tuning_jobs),
        ("pipeline", "TrainingPipeline", service.pipelines),
    ):
        yield from _one_run(desired, slot, ids.get((kind, slot)), jobs)
        for job in jobs:
            live = [each for each in service.inner.get(job.name, ()) if not each.has_ended]
            if len(live) != (0 if job.has_ended else 2 if slot == "search" else 1):
                yield f"{slot} {job} has {len(live)} live custom jobs"


def _one_run(desired: Desired, slot: str, recorded: str | None, jobs: Iterable[Job]) -> Iterator[str]:
    """Yield complaints unless one run of the slot is live, or has succeeded if its program ends."""
    mine = [job for job in jobs if job.slot == slot]
    live = [job for job in mine if not job.has_ended]
    ended = [job for job in mine if job.has_ended]
    if slot not in desired.slots:
        for job in live:
            yield f"{slot} is not declared, but its job {job} is live"
        for job in ended:
            if slot not in ("short", "long", "train"):
                yield f"{slot} is not declared, but the record of its job {job} exists"
        return
    good = [job for job in ended if job.state == "SUCCEEDED"] if slot == "short" else live
    now = [job for job in good if job.salt == desired.salt(slot)]
    if len(now) != 1:
        yield f"{slot}: {len(now)} good runs of {desired.salt(slot)}; there are {', '.join(map(str, mine))}"
    elif recorded is not None and not _same(now[0].name, recorded):
        yield f"{slot}: the job in the state is {recorded.rpartition('/')[2]}, the good run is {now[0]}"
    for job in live:
        if job not in now:
            yield f"{slot}: an earlier run {job} is live"
    kept = KEPT_RUNS + 1 if slot in ("short", "long", "train") else 0
    if len(ended) > kept:
        yield f"{slot}: {len(ended)} records of ended runs, at most {kept} are kept"


def _of_others(desired: Desired, ids: Mapping[Any, str], service: Service) -> Iterator[str]:
    for noun, key, records in (
        ("model", ("Model", "model"), service.versions),
        ("persistent resource", ("PersistentResource", "gpus"), service.persistent_resources),
    ):
        declared = [ids[key]] if key in ids else []
        yield from _difference(noun, declared, [one["name"] for one in records])
        for one in records if declared else ():
            yield from _values(desired, key[1], f"the {noun}", one)
    for one in service.datasets:
        yield f"dataset {one['name']} belongs to nothing"


def _difference(noun: str, wanted: Iterable[str], found: Iterable[str]) -> Iterator[str]:
    """Compare names; a project appears as its id or as its number."""
    wanted_names, found_names = Counter(map(local, wanted)), Counter(map(local, found))
    for name in (found_names - wanted_names).elements():
        yield f"{noun} {name} exists, but is not declared"
    for name in (wanted_names - found_names).elements():
        yield f"{noun} {name or '(no id in the state)'} is declared, but does not exist"


def _values(desired: Desired, slot: str, noun: str, record: Mapping[str, Any]) -> Iterator[str]:
    """Compare the spec and the note that a record shows; of the parts of a training, the note alone."""
    declared = desired.declaration(slot)
    spec, note = shown(record)
    if slot != "train" and spec != declared.spec:
        yield f"{noun} shows {spec}, declared is {declared.spec}"
    if note != declared.note:
        yield f"{noun} shows {note}, declared is {declared.note}"


def _resources(deployment: Deployment) -> dict[tuple[str, str], Any]:
    return {
        (one["type"].rpartition(":")[2], _name(one)): one
        for one in deployment.get("resources", [])
        if one.get("id") and not one.get("delete") and not one.get("pendingReplacement")
    }


def _name(resource: Mapping[str, Any]) -> str:
    return str(resource["urn"].rpartition("::")[2])


def _same(one: str, other: str) -> bool:
    return local(one) == local(other)
