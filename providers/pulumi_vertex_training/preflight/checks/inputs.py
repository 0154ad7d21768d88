"""Checks of what a job reads: images with their platform, and buckets with their region."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from pulumi_vertex_training.cloud.container_registry import image_names
from pulumi_vertex_training.cloud.container_registry.platforms import platforms_of
from pulumi_vertex_training.preflight import remedies
from pulumi_vertex_training.preflight.checks.replicas import IMAGE_READER, bucket_question, buckets_of
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import Scope, member_of_caller, not_known
from pulumi_vertex_training.preflight.subject import Part
from pulumi_vertex_training.runs.prerequisites import is_looked_up
from vertex_training.catalog.machines import series
from vertex_training.findings.words import all_of, short_image
from vertex_training.topology.rules.regions import bucket_region_problems

BUCKET_READER = "roles/storage.legacyBucketReader"
AMD, ARM = "linux/amd64", "linux/arm64"
_ARM_SERIES = frozenset({"a4x"})
"""Series whose processors are Arm (NVIDIA Grace)."""


def checks(scope: Scope) -> Iterator[Check]:
    """Yield the checks of images and buckets."""
    yield from (_image(image, platform, *at) for (image, platform), at in _images(scope).items())
    yield from (_bucket(scope, name, *at) for name, at in _buckets(scope).items())


def _images(scope: Scope) -> dict[tuple[str, str], tuple[Part, str]]:
    """Return each image in a repository of Artifact Registry with the platform that it has to have."""
    found: dict[tuple[str, str], tuple[Part, str]] = {}
    for part in scope.parts:
        for path, pool in part.pools:
            platform = ARM if series(pool.machine_type) in _ARM_SERIES else AMD
            for name, image in pool.images:
                if is_looked_up(image) and part.subject.looks_up(f"{path}.{name}", image):
                    found.setdefault((image, platform), (part, f"{path}.{name}"))
    return found


def _image(image: str, platform: str, part: Part, path: str) -> Check:
    question: Question[frozenset[str]] = Question(
        key=f"image:{image}", look=functools.partial(platforms_of, name=image_names.parse(image))
    )
    thing = Thing(check="images", about=f"image {short_image(image)}", resource=part.subject.name, path=path)

    def judge(facts: Facts) -> Iterator[Finding]:
        found = facts.of(question)
        if isinstance(found, Trouble):
            if found.cause == "missing":
                yield thing.finding("error", "does not exist", remedy=f"docker push {image}")
            else:
                host, project, repository = image.split("/")[:3]
                name = (
                    f"projects/{project}/locations/{host.removesuffix('-docker.pkg.dev')}"
                    f"/repositories/{repository}"
                )
                remedy = remedies.on_repository(name, member_of_caller(facts), IMAGE_READER)
                yield not_known(thing, found, remedy=remedy)
        elif platform not in found:
            has = all_of(sorted(found)) if found else "no platform"
            yield thing.finding(
                "error",
                f"is for {has}, but the machines are {platform}",
                remedy=f"docker buildx build . --platform={platform} --push -t {image}",
            )
        else:
            yield thing.finding("ok", f"present, for {platform}")

    return Check(questions=(question,), judge=judge)


def _buckets(scope: Scope) -> dict[str, tuple[Part, str, bool]]:
    found: dict[str, tuple[Part, str, bool]] = {}
    for part in scope.parts:
        for name, writes, path in buckets_of(part):
            if name not in found or (writes and not found[name][2]):
                found[name] = (part, path, writes)
    return found


def _bucket(scope: Scope, name: str, part: Part, path: str, writes: bool) -> Check:
    question = bucket_question(name)
    thing = Thing(check="buckets", about=f"bucket {name}", resource=part.subject.name, path=path)

    def judge(facts: Facts) -> Iterator[Finding]:
        found = facts.of(question)
        if isinstance(found, Trouble):
            if found.cause == "missing":
                yield thing.finding(
                    "error",
                    "does not exist",
                    remedy=remedies.new_bucket(name, scope.location, scope.project),
                )
            else:
                remedy = remedies.on_bucket(name, member_of_caller(facts), BUCKET_READER)
                yield not_known(thing, found, remedy=remedy)
            return
        wrong = list(
            bucket_region_problems(name, bucket_location=found.location, location=scope.location, path=path)
        )
        here = remedies.new_bucket(f"{name}-{scope.location}", scope.location, scope.project)
        if wrong and writes:
            yield thing.finding(
                "error",
                f"is in {found.location}, but the job runs in {scope.location}, and Vertex AI "
                "requires one region for both",
                remedy=here,
            )
        elif wrong:
            message = f"is in {found.location}, so a job in {scope.location} reads it from another region"
            yield thing.finding("warning", message, remedy=here)
        else:
            yield thing.finding("ok", f"present, in {found.location}")

    return Check(questions=(question,), judge=judge)
