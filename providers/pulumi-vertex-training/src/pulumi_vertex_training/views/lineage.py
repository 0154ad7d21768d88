"""The lineage of a run for people, and of the run of a job."""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.identity import RUN_LABEL
from pulumi_vertex_training.runs.lineage import files
from pulumi_vertex_training.runs.lineage.lineage import Commit, Data, Image, Lineage, Package
from pulumi_vertex_training.runs.monitoring.progress import directory_of
from pulumi_vertex_training.runs.policies.rerun import words_of
from vertex_training.cost.words import usd

NONE = "none"
_DIGITS = 12


def lineage_of(endpoint: Endpoint, record: JobRecord) -> Lineage | None:
    """Return the lineage of a job's run, None without one that can be read."""
    return files.read(endpoint, directory_of(record), record.labels.get(RUN_LABEL, ""))


def contents(lineage: Lineage) -> Iterator[tuple[str, str]]:
    """Yield what a run was made of: names such as "image", each with its value in words."""
    for image in lineage.images:
        yield "image", image_in_words(image)
    for package in lineage.packages:
        yield "package", package_in_words(package)
    for data in lineage.data:
        yield "data", data_in_words(data)
    yield "commit", commit_in_words(lineage.commit)


def facts(lineage: Lineage) -> Iterator[tuple[str, str]]:
    """Yield the contents of a run, and the other facts of its lineage."""
    yield from contents(lineage)
    if lineage.reason:
        yield "reason", words_of(lineage.reason)
    if rung := lineage.rung:
        yield "rung", rung.words
    if (checkpoints := lineage.checkpoints) is not None:
        begun = checkpoints.first_run
        since = f" since run {begun}" if begun and begun != lineage.run else ""
        yield "checkpoints", f"{checkpoints.folder}{since}"
    if lineage.price is not None:
        price = lineage.price.hourly
        yield "price", "not known" if price is None else f"{usd(price)} an hour"
    if lineage.versions:
        yield "versions", ", ".join(f"{name} {version}" for name, version in lineage.versions.items())


def image_in_words(image: Image) -> str:
    """Return the name of an image with its digest, as `vertex-training trace` takes it."""
    if image.digest is None:
        return f"{image.uri} (digest not known)"
    return image.uri if image.digest in image.uri else f"{image.uri}@{image.digest}"


def package_in_words(package: Package) -> str:
    """Return the address of a package with the beginning of its hash."""
    return f"{package.uri} ({_hash(package.sha256)})"


def data_in_words(data: Data) -> str:
    """Return data with the beginning of its hash, or its version."""
    if data.kind == "dataset":
        return f"dataset {data.uri}{f' ({data.version})' if data.version else ''}"
    if data.kind == "file" and data.sha256 is None:
        return f"{data.uri} (generation {data.version})"
    return f"{data.uri} ({_hash(data.sha256)})"


def commit_in_words(commit: Commit | None) -> str:
    """Return a commit, with a word about changes that it does not have."""
    if commit is None:
        return NONE
    return f"{commit.id}{' with changes that are not committed' if commit.is_dirty else ''}"


def _hash(sha256: str | None) -> str:
    return f"sha256 {sha256[:_DIGITS]}" if sha256 else "content not known"
