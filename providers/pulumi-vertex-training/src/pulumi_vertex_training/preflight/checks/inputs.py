"""Checks of what a job names: images with their platform, buckets with their region, packages, machines."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from pulumi_vertex_training.cloud.container_registry import image_names
from pulumi_vertex_training.cloud.container_registry.platforms import platforms_of
from pulumi_vertex_training.preflight import remedies
from pulumi_vertex_training.preflight.checks.bucket_access import OBJECT_VIEWER, bucket_question, buckets_of
from pulumi_vertex_training.preflight.checks.deployer import USER
from pulumi_vertex_training.preflight.checks.replicas import IMAGE_READER
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import Scope, member_of_caller, not_known
from pulumi_vertex_training.preflight.subject import Part, Subject
from pulumi_vertex_training.runs import prerequisites
from pulumi_vertex_training.runs.prerequisites import Answer, Kind, Need, is_looked_up
from vertex_training.catalog.machines import series
from vertex_training.fields import uris
from vertex_training.findings.words import all_of, short_image
from vertex_training.topology.rules.regions import bucket_region_problems

BUCKET_READER = "roles/storage.legacyBucketReader"
AMD, ARM = "linux/amd64", "linux/arm64"
_ARM_SERIES = frozenset({"a4x"})
"""Series whose processors are Arm (NVIDIA Grace)."""


def checks(scope: Scope) -> Iterator[Check]:
    """Yield the checks of images, buckets, packages and persistent resources."""
    yield from (_image(image, platform, *at) for (image, platform), at in _images(scope).items())
    yield from (_bucket(scope, name, *at) for name, at in _buckets(scope).items())
    yield from (_need(scope, *each) for each in _needs(scope).values())


def _images(scope: Scope) -> dict[tuple[str, str], tuple[Part, str]]:
    """Return each image in a repository of Artifact Registry with the platform that it has to have."""
    images: dict[tuple[str, str], tuple[Part, str]] = {}
    for part in scope.parts:
        for path, pool in part.pools:
            platform = ARM if series(pool.machine_type) in _ARM_SERIES else AMD
            for name, image in pool.images:
                if is_looked_up(image) and part.subject.looks_up(f"{path}.{name}", image):
                    images.setdefault((image, platform), (part, f"{path}.{name}"))
    return images


def _image(image: str, platform: str, part: Part, path: str) -> Check:
    question: Question[frozenset[str]] = Question(
        key=f"image:{image}", look=functools.partial(platforms_of, name=image_names.parse(image))
    )
    thing = Thing(check="images", about=f"image {short_image(image)}", resource=part.subject.name, path=path)

    def judge(facts: Facts) -> Iterator[Finding]:
        answer = facts.of(question)
        if isinstance(answer, Trouble):
            if answer.cause == "missing":
                yield thing.finding("error", "does not exist", remedy=f"docker push {image}")
            else:
                host, project, repository = image.split("/")[:3]
                name = (
                    f"projects/{project}/locations/{host.removesuffix('-docker.pkg.dev')}"
                    f"/repositories/{repository}"
                )
                remedy = remedies.on_repository(name, member_of_caller(facts), IMAGE_READER)
                yield not_known(thing, answer, remedy=remedy)
        elif platform not in answer:
            has = all_of(sorted(answer)) if answer else "no platform"
            yield thing.finding(
                "error",
                f"is for {has}, but the machines are {platform}",
                remedy=f"docker buildx build . --platform={platform} --push -t {image}",
            )
        else:
            yield thing.finding("ok", f"present, for {platform}")

    return Check(questions=(question,), judge=judge)


def _buckets(scope: Scope) -> dict[str, tuple[Part, str, bool]]:
    buckets: dict[str, tuple[Part, str, bool]] = {}
    for part in scope.parts:
        for name, writes, path in buckets_of(part):
            if name not in buckets or (writes and not buckets[name][2]):
                buckets[name] = (part, path, writes)
    return buckets


def _bucket(scope: Scope, name: str, part: Part, path: str, writes: bool) -> Check:
    question = bucket_question(name)
    thing = Thing(check="buckets", about=f"bucket {name}", resource=part.subject.name, path=path)

    def judge(facts: Facts) -> Iterator[Finding]:
        answer = facts.of(question)
        if isinstance(answer, Trouble):
            if answer.cause == "missing":
                yield thing.finding(
                    "error", "does not exist", remedy=remedies.new_bucket(name, scope.location, scope.project)
                )
            else:
                remedy = remedies.on_bucket(name, member_of_caller(facts), BUCKET_READER)
                yield not_known(thing, answer, remedy=remedy)
            return
        wrong = list(
            bucket_region_problems(name, bucket_location=answer.location, location=scope.location, path=path)
        )
        here = remedies.new_bucket(f"{name}-{scope.location}", scope.location, scope.project)
        if wrong and writes:
            yield thing.finding(
                "error",
                f"is in {answer.location}, but the job runs in {scope.location}, and Vertex AI "
                "requires one region for both",
                remedy=here,
            )
        elif wrong:
            message = f"is in {answer.location}, so a job in {scope.location} reads it from another region"
            yield thing.finding("warning", message, remedy=here)
        else:
            yield thing.finding("ok", f"present, in {answer.location}")

    return Check(questions=(question,), judge=judge)


def _needs(scope: Scope) -> dict[tuple[Kind, str], tuple[Need, Subject]]:
    """Return the packages and persistent resources of the jobs, each with the first job that names it."""
    needs: dict[tuple[Kind, str], tuple[Need, Subject]] = {}
    for subject in scope.subjects:
        for need in prerequisites.needs_of(subject.spec, staging_bucket=None, passed_over=()):
            if need.kind in (Kind.OBJECT, Kind.MACHINES) and subject.looks_up(need.path, need.name):
                needs.setdefault((need.kind, need.name), (need, subject))
    return needs


def _need(scope: Scope, need: Need, subject: Subject) -> Check:
    question: Question[Answer] = Question(
        key=f"{need.kind.value}:{need.name}", look=functools.partial(prerequisites.look_up, need=need)
    )
    if need.kind is Kind.OBJECT:
        return _package(need, subject, question)
    return _machines(scope, need, subject, question)


def _package(need: Need, subject: Subject, question: Question[Answer]) -> Check:
    name = uris.parse(need.name).bucket
    bucket = bucket_question(name)
    thing = Thing(check="buckets", about=f"package {need.name}", resource=subject.name, path=need.path)

    def judge(facts: Facts) -> Iterator[Finding]:
        answer, where = facts.of(question), facts.of(bucket)
        if isinstance(where, Trouble) and where.cause == "missing":
            return  # reported as a bucket
        if isinstance(answer, Trouble):
            remedy = remedies.on_bucket(name, member_of_caller(facts), OBJECT_VIEWER)
            yield not_known(thing, answer, remedy=remedy)
        elif not answer.exists:
            remedy = remedies.upload(need.name)
            yield thing.finding("error", "does not exist", remedy=remedy)
        else:
            yield thing.finding("ok", "present")

    return Check(questions=(question, bucket), judge=judge)


def _machines(scope: Scope, need: Need, subject: Subject, question: Question[Answer]) -> Check:
    about = f"persistent resource {need.name}"
    thing = Thing(check="machines", about=about, resource=subject.name, path=need.path)
    listing = f"gcloud ai persistent-resources list --region={scope.location} --project={scope.project}"

    def judge(facts: Facts) -> Iterator[Finding]:
        answer = facts.of(question)
        if isinstance(answer, Trouble):
            remedy = remedies.on_project(scope.project, member_of_caller(facts), USER)
            yield not_known(thing, answer, remedy=remedy)
        elif not answer.exists:
            message = f"does not exist in project {scope.project}, {scope.location}"
            yield thing.finding("error", message, remedy=listing)
        elif answer.wire.get("state") in prerequisites.UNUSABLE_STATES:
            message = f"is in state {answer.wire['state']} and takes no jobs"
            yield thing.finding("error", message, remedy=listing)
        else:
            yield thing.finding("ok", "present")

    return Check(questions=(question,), judge=judge)
