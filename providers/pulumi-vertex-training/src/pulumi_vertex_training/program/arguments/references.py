"""Accept references to resources: ours, pulumi_gcp's, names, and outputs of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import pulumi


@runtime_checkable
class NamedBucket(Protocol):
    """A bucket resource: ours, or `pulumi_gcp.storage.Bucket`."""

    @property
    def name(self) -> pulumi.Output[str]: ...

    @property
    def location(self) -> pulumi.Output[str]: ...


@runtime_checkable
class WithEmail(Protocol):
    """A service account resource, such as `pulumi_gcp.serviceaccount.Account`."""

    @property
    def email(self) -> pulumi.Output[str]: ...


@runtime_checkable
class WithUrl(Protocol):
    """Our `ImageRepository`."""

    @property
    def url(self) -> pulumi.Output[str]: ...


@runtime_checkable
class GcpRepository(Protocol):
    """`pulumi_gcp.artifactregistry.Repository`."""

    @property
    def project(self) -> pulumi.Output[str]: ...

    @property
    def location(self) -> pulumi.Output[str]: ...

    @property
    def repository_id(self) -> pulumi.Output[str]: ...


@runtime_checkable
class WithUri(Protocol):
    """Our `TrainingImage`."""

    @property
    def uri(self) -> pulumi.Output[str]: ...


@runtime_checkable
class WithRef(Protocol):
    """`pulumi_docker_build.Image`; `ref` is its name with its digest."""

    @property
    def ref(self) -> pulumi.Output[str]: ...


@runtime_checkable
class WithRepoDigest(Protocol):
    """`pulumi_docker.Image`."""

    @property
    def repo_digest(self) -> pulumi.Output[str]: ...


RepositoryLike = WithUrl | GcpRepository | pulumi.Input[str]
ImageLike = WithUri | WithRef | WithRepoDigest | pulumi.Input[str]
BucketLike = NamedBucket | pulumi.Input[str]
ServiceAccountLike = WithEmail | pulumi.Input[str]
TopicLike = pulumi.CustomResource | pulumi.Input[str]
ChannelLike = (
    pulumi.CustomResource
    | pulumi.Input[str]
    | pulumi.Output[Sequence[str]]
    | Sequence[pulumi.CustomResource | pulumi.Input[str]]
)


def bucket_name(bucket: BucketLike) -> pulumi.Input[str]:
    """Return the bucket's name. A string may begin with `gs://`."""
    if isinstance(bucket, pulumi.Output):
        return bucket.apply(_without_scheme)
    if isinstance(bucket, NamedBucket):
        return bucket.name
    return _without_scheme(bucket) if isinstance(bucket, str) else bucket


def bucket_location(bucket: BucketLike | None) -> pulumi.Input[str] | None:
    """Return the location of a bucket resource, or None for a name, which does not tell it."""
    if bucket is None or isinstance(bucket, pulumi.Output) or not isinstance(bucket, NamedBucket):
        return None
    return bucket.location


def service_account_email(account: ServiceAccountLike | None) -> pulumi.Input[str] | None:
    """Return the account's e-mail address."""
    if isinstance(account, pulumi.Output) or not isinstance(account, WithEmail):
        return account
    return account.email


def repository_url(repository: RepositoryLike) -> pulumi.Input[str]:
    """Return the repository's address, HOST/PROJECT/NAME."""
    if isinstance(repository, (str, pulumi.Output)):
        return repository
    if isinstance(repository, WithUrl):
        return repository.url
    if isinstance(repository, GcpRepository):
        parts = pulumi.Output.all(repository.project, repository.location, repository.repository_id)
        return parts.apply(lambda known: artifact_registry_url(*known))
    return repository


def artifact_registry_url(project: str, location: str, name: str) -> str:
    """Return the address of a repository, HOST/PROJECT/NAME.

    In a domain-scoped project ("example.com:web") the colon becomes a slash (Artifact Registry documentation,
    "Repository and image names").
    """
    return f"{location}-docker.pkg.dev/{project.replace(':', '/')}/{name}"


def image_uri(image: ImageLike) -> pulumi.Input[str]:
    """Return the image's name; a resource's name includes its digest."""
    if isinstance(image, (str, pulumi.Output)):
        return image
    if isinstance(image, WithUri):
        return image.uri
    if isinstance(image, WithRef):
        return image.ref
    return image.repo_digest if isinstance(image, WithRepoDigest) else image


def _without_scheme(name: object) -> str:
    return str(name).removeprefix("gs://").rstrip("/")
