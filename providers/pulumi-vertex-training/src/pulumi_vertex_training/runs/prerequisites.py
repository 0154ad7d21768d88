"""The needs of a job before it can be submitted: images, staged objects, buckets, a persistent resource.

`needs_of` and `problems_of` are pure; `answers_of` asks the service, in parallel and with a deadline. A need
without a certain answer is passed over: only a certain "not found" is a problem.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud import jobs, objects
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry import image_names
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import NotFound
from pulumi_vertex_training.runs.lookups import Lookups
from vertex_training.fields import uris
from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem, is_within
from vertex_training.findings.words import short_image
from vertex_training.job.job_spec import JobSpec, parts
from vertex_training.topology.rules.regions import bucket_region_problems

_HOST = re.compile(r"[a-z0-9-]+-docker\.pkg\.dev/(?P<project>[^/]+)/.+")
_OF_GOOGLE = frozenset({"vertex-ai", "vertex-ai-restricted", "deeplearning-platform-release"})
"""Projects of Google's own images, which are not looked up."""


UNUSABLE_STATES = frozenset({"ERROR", "STOPPING"})
"""States of a persistent resource that takes no jobs."""


class Kind(enum.Enum):
    """The kinds of things that are looked up."""

    IMAGE = "image"
    OBJECT = "object"
    BUCKET = "bucket"
    MACHINES = "persistent resource"


@dataclass(frozen=True, kw_only=True)
class Need:
    """One thing that a job needs.

    `name` is an image's name, an object's gs:// URI, a bucket's name or the id of a persistent resource.
    `path` is the path of the field that names it.
    """

    kind: Kind
    name: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to a lookup. `location` is a bucket's, `wire` a persistent resource as JSON."""

    exists: bool
    location: str = ""
    wire: Mapping[str, Any] = field(default_factory=dict)


MISSING = Answer(exists=False)


def needs_of(spec: object, *, staging_bucket: str | None, passed_over: Collection[str]) -> tuple[Need, ...]:
    """Return what a job of any kind needs.

    `staging_bucket` is the bucket of a job without an output directory of its own. `passed_over` are the
    paths of values that are not known yet, or that the program itself makes; any spelling will do.
    """
    found = [need for path, part in parts(spec) for need in _of_part(part, path)]
    if staging_bucket:
        found.append(Need(kind=Kind.BUCKET, name=staging_bucket.split("/")[0], path="staging_bucket"))
    skipped = [_folded(path) for path in passed_over]
    return tuple(need for need in found if not any(_overlap(_folded(need.path), path) for path in skipped))


def _of_part(part: JobSpec, path: str) -> Iterator[Need]:
    for position, pool in enumerate(part.worker_pool_specs):
        if pool.is_empty:
            continue
        at = f"{child(path, 'worker_pool_specs')}[{position}]"
        for name, image in pool.images:
            if is_looked_up(image):
                yield Need(kind=Kind.IMAGE, name=image, path=f"{at}.{name}")
        package = pool.python_package_spec
        for index, uri in enumerate(package.package_uris if package else ()):
            address = uris.parse_or_none(uri)
            if address is not None and address.name:
                where = f"{at}.python_package_spec.package_uris[{index}]"
                yield Need(kind=Kind.OBJECT, name=str(address), path=where)
    directory = uris.parse_or_none(part.base_output_directory or "")
    if directory is not None:
        yield Need(kind=Kind.BUCKET, name=directory.bucket, path=child(path, "base_output_directory"))
    if part.persistent_resource_id:
        yield Need(
            kind=Kind.MACHINES, name=part.persistent_resource_id, path=child(path, "persistent_resource_id")
        )


def is_looked_up(image: str) -> bool:
    """Return whether an image is in somebody's own repository of Artifact Registry.

    A name that is not one of an image is not looked up: the job's check refuses it.
    """
    match = _HOST.match(image)
    if match is None or match["project"] in _OF_GOOGLE:
        return False
    try:
        image_names.parse(image)
    except ValueError:
        return False
    return True


def names_in(path: str, text: str) -> frozenset[str]:
    """Return the names under which a program may declare what the text at a path needs."""
    address = uris.parse_or_none(text)
    if address is not None:
        return frozenset({address.name if "package" in _folded(path) else address.bucket})
    if _HOST.match(text):
        plain = re.sub(r"(:[^/:@]*)?(@[^/]*)?$", "", text)
        return frozenset({text, plain, plain.rpartition("/")[2]})
    if _folded(path).endswith("serviceaccount"):
        return frozenset({text, text.partition("@")[0]})
    if text.startswith("projects/"):  # a network, a network attachment or a block of a reservation
        return frozenset({text, text.partition("/reservationBlocks/")[0].rpartition("/")[2]})
    return frozenset({text, text.partition("/")[0]})


def kind_in(path: str, text: str) -> str:
    """Return what the text at a path needs, as `resource_names.can_make` takes it."""
    if uris.parse_or_none(text) is not None:
        return "object" if "package" in _folded(path) else "bucket"
    return "image" if _HOST.match(text) else ""


def problems_of(
    needs: Iterable[Need],
    answers: Mapping[Need, Answer],
    *,
    project: str,
    location: str,
    on_machines: Callable[[Mapping[str, Any]], Iterable[Problem]],
) -> tuple[Problem, ...]:
    """Return why the job could not be submitted. A need without an answer is passed over.

    `on_machines` returns the problems of the job on a persistent resource in the API's JSON.
    """
    found = [
        problem
        for need in needs
        if (answer := answers.get(need)) is not None
        for problem in _problems(need, answer, project, location, on_machines)
    ]
    return tuple(dict.fromkeys(found))


def _problems(
    need: Need,
    answer: Answer,
    project: str,
    location: str,
    on_machines: Callable[[Mapping[str, Any]], Iterable[Problem]],
) -> Iterator[Problem]:
    if not answer.exists:
        yield Problem(path=need.path, message=_absence(need, project, location))
    elif need.kind is Kind.BUCKET:
        yield from bucket_region_problems(
            need.name, bucket_location=answer.location, location=location, path=need.path
        )
    elif need.kind is Kind.MACHINES:
        state = answer.wire.get("state")
        if state in UNUSABLE_STATES:
            yield Problem(
                path=need.path,
                message=f"the persistent resource {need.name!r} is in state {state} and takes no jobs. "
                "Create it again, or use another one",
            )
        yield from on_machines(answer.wire)


def _absence(need: Need, project: str, location: str) -> str:
    if need.kind is Kind.IMAGE:
        return (
            f"the image {short_image(need.name)!r} does not exist. Push it first, or pass the TrainingImage "
            "that builds it"
        )
    if need.kind is Kind.OBJECT:
        return f"{need.name!r} does not exist. Upload it first, or pass the uri of a StagedPackage"
    if need.kind is Kind.BUCKET:
        return (
            f"the bucket {need.name!r} does not exist. Create it in {location} first, or pass a StagingBucket"
        )
    return (
        f"there is no persistent resource {need.name!r} in project {project}, {location}. Create it first, "
        "or pass a PersistentResource"
    )


def _folded(path: str) -> str:
    return path.replace("_", "").lower()


def _overlap(one: str, other: str) -> bool:
    return is_within(one, other) or is_within(other, one)


def answers_of(
    needs: Iterable[Need],
    lookups: Lookups,
    place: Hashable,
    connect: Callable[[], Endpoint | None],
    *,
    seconds: float,
) -> dict[Need, Answer]:
    """Return the answers that come in time; see `Lookups.ask`."""
    questions = {(need.kind, need.name): functools.partial(look_up, need=need) for need in needs}
    found = lookups.ask(place, connect, questions, seconds=seconds)
    return {need: found[need.kind, need.name] for need in needs if (need.kind, need.name) in found}


def look_up(endpoint: Endpoint, need: Need) -> Answer:
    """Ask the service. Raises the errors of `pulumi_vertex_training.cloud.errors` but NotFound."""
    try:
        if need.kind is Kind.IMAGE:
            registry.manifest(endpoint, image_names.parse(need.name))
        elif need.kind is Kind.OBJECT:
            address = uris.parse(need.name)
            objects.get(endpoint, address.bucket, address.name)
        elif need.kind is Kind.BUCKET:
            return Answer(exists=True, location=objects.bucket_location(endpoint, need.name))
        else:
            return Answer(exists=True, wire=jobs.get(endpoint, need.name))
    except NotFound:
        return MISSING
    return Answer(exists=True)
