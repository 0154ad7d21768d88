"""The rules of capacity ladders."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from vertex_training.fields import durations
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.job.job_spec import JobSpec
from vertex_training.job.ladder import OnLadder, Rung, on_rung, seconds_of

_OURS = "ours: the ladder is climbed by `pulumi up`"

RUNGS_DIFFER = Rule(
    name="capacity-rungs-differ",
    says="the rungs of a capacity ladder differ",
    source=f"{_OURS}, each rung once",
)
RUNG_WAIT = Rule(
    name="capacity-wait",
    says="the wait of a rung is a positive number of seconds, 1800s",
    source=_OURS,
)
RUNG_WAIT_TIMEOUT = Rule(
    name="capacity-wait-timeout",
    says="a rung waits for machines no longer than the job may run",
    source="ours: a job that waits longer than it runs has probably a wrong unit",
    level="warning",
)
LADDER_LIMIT = Rule(name="capacity-limit", says="the limit of climbs is 0 or more", source=_OURS)
RUNG_PLACE = Rule(
    name="capacity-location",
    says="a rung in another region has a bucket, a TensorBoard, a key and a network attachment of its own",
    source='googleapis/python-aiplatform#885: "It must be in the same regional location as the service '
    'location"',
)
RUNG_IMAGE = Rule(
    name="capacity-image-region",
    says="an image from another region costs transfer and makes the start slower",
    source='Artifact Registry documentation, "Pricing"',
    level="warning",
)
LADDER_MACHINES = Rule(
    name="capacity-persistent-resource",
    says="a job on a persistent resource has no capacity ladder",
    source="Vertex AI API, CustomJobSpec.persistent_resource_id: the job runs on existing machines",
)

_MACHINE = re.compile(r"worker_pool_specs\[\d+\]\.machine_spec(?P<rest>.*)")
_SCHEDULING = {"scheduling.strategy": "strategy", "scheduling.max_wait_duration": "wait_for"}


def ladder_problems(
    spec: JobSpec,
    ladder: OnLadder,
    *,
    location: str,
    staging_bucket: str | None,
    of_job: Callable[[JobSpec, str], Sequence[Problem]],
    key: Callable[[Rung], str],
) -> Iterator[Problem]:
    """Yield every finding about the ladder of a job in `location`, with the bucket that its runs write to.

    `of_job` returns the findings about a spec in a location, `key` tells rungs apart.

    A finding that the job has without the ladder, too, is not repeated.
    """
    if ladder.capacity_limit < 0:
        yield LADDER_LIMIT.broken(
            "capacity_limit", f"{ladder.capacity_limit} is below 0; give 0 to climb only once"
        )
    if not ladder.capacity:
        return
    if spec.persistent_resource_id:
        yield LADDER_MACHINES.broken(
            "capacity",
            f"has no effect: the job runs on the machines of persistent resource "
            f"{spec.persistent_resource_id}, which exist already. Leave one of the two out",
            rests_on=("capacity", "persistent_resource_id"),
        )
        return
    known = {(one.path, one.message) for one in of_job(spec, location)}
    first: dict[str, int] = {}
    for position, rung in enumerate(ladder.capacity):
        path = f"capacity[{position}]"
        before = first.setdefault(key(rung), position)
        if before != position:
            yield RUNGS_DIFFER.broken(
                path, f"is the same as capacity[{before}]; leave one of them out", rests_on=_BASES
            )
            continue
        yield from _wait_problems(spec, rung, path)
        if rung.location and rung.location != location:
            yield from _place_problems(spec, rung, path, staging_bucket)
        of_rung = of_job(on_rung(spec, rung), rung.location or location)
        found = (one for one in of_rung if (one.path, one.message) not in known)
        yield from dict.fromkeys(_on_rung(one, path) for one in found)


_BASES = ("capacity.*", "worker_pool_specs.*", "scheduling.*")


def _on_rung(problem: Problem, path: str) -> Problem:
    """Return a finding about the job on a rung with the path of the rung's own field."""
    machine = _MACHINE.fullmatch(problem.path)
    if machine is not None:
        own, message = f"{path}.machine_spec{machine['rest']}", problem.message
    elif problem.path in _SCHEDULING:
        own, message = f"{path}.{_SCHEDULING[problem.path]}", problem.message
    else:
        own, message = path, f"{problem.path}: {problem.message}"
    return replace(problem, path=own, message=message, rests_on=(*_BASES, *problem.rests_on))


_HOST = re.compile(r"(?P<place>[a-z]+-[a-z]+[0-9]+)-docker\.pkg\.dev/")


def _place_problems(spec: JobSpec, rung: Rung, path: str, staging_bucket: str | None) -> Iterator[Problem]:
    """Yield what a rung in another location lacks."""
    place = rung.location or ""
    writes_to = spec.base_output_directory or staging_bucket
    needs = {
        "staging_bucket": (writes_to, rung.staging_bucket or rung.base_output_directory),
        "tensorboard": (spec.tensorboard, rung.tensorboard),
        "encryption_spec": (getattr(spec, "encryption_spec", None), rung.encryption_spec),
        "psc_interface_config": (spec.psc_interface_config, rung.psc_interface_config),
    }
    for name, (declared, own) in needs.items():
        if declared and not own:
            yield RUNG_PLACE.broken(
                f"{path}.{name}",
                f"is missing: the job has one in its own region, and a job in {place} needs one there. Give "
                "the rung its own",
                rests_on=(*_BASES, name),
            )
    if spec.base_output_directory and rung.staging_bucket and not rung.base_output_directory:
        yield RUNG_PLACE.broken(
            f"{path}.base_output_directory",
            f"is missing: the job writes to {spec.base_output_directory}. Give a directory in {place}",
            rests_on=(*_BASES, "base_output_directory"),
        )
    if rung.staging_bucket and rung.staging_bucket == staging_bucket:
        yield RUNG_PLACE.broken(
            f"{path}.staging_bucket",
            f"is the bucket of the job's own region. Give a bucket in {place}",
            rests_on=(*_BASES, "staging_bucket"),
        )
    for name in ("experiment", "models"):
        if getattr(spec, name):
            yield RUNG_PLACE.broken(
                f"{path}.location",
                f"{place} is not possible for a job with {name}, which belong to one region. Leave one of "
                "the two out",
                rests_on=(*_BASES, name),
            )
    for pool in spec.worker_pool_specs:
        for image in dict.fromkeys(image for _, image in pool.images):
            host = _HOST.match(image)
            if host and host["place"] != place:
                yield RUNG_IMAGE.broken(
                    f"{path}.location",
                    f"the image is in {host['place']}: each replica in {place} pulls it across regions, "
                    "which costs time and transfer. Push it to a repository there, too, or accept that",
                    rests_on=(*_BASES,),
                )


def _wait_problems(spec: JobSpec, rung: Rung, path: str) -> Iterator[Problem]:
    if rung.wait_for is None:
        return
    at = f"{path}.wait_for"
    if fault := durations.problem_with(rung.wait_for):
        yield RUNG_WAIT.broken(at, fault)
        return
    timeout = spec.scheduling.timeout if spec.scheduling else None
    seconds = seconds_of(rung)
    if timeout and not durations.problem_with(timeout) and seconds and seconds > float(timeout[:-1]):
        yield RUNG_WAIT_TIMEOUT.broken(
            at,
            f"{rung.wait_for} is longer than the job may run, {timeout}. Give a shorter wait, or a longer "
            "scheduling.timeout",
            rests_on=(at, "scheduling.timeout"),
        )
