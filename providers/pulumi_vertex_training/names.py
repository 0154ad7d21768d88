"""Accept what people bring: our resources, those of pulumi_gcp, strings and their outputs; any name."""

from __future__ import annotations

import re
from typing import Any, Protocol, runtime_checkable

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


BucketLike = NamedBucket | pulumi.Input[str]
ServiceAccountLike = WithEmail | pulumi.Input[str]


def bucket_name(bucket: BucketLike) -> pulumi.Input[str]:
    """The bucket's name; of a string, with or without `gs://`."""
    if isinstance(bucket, pulumi.Output):
        return bucket.apply(_without_scheme)
    if isinstance(bucket, NamedBucket):
        return bucket.name
    return _without_scheme(bucket) if isinstance(bucket, str) else bucket


def bucket_location(bucket: BucketLike | None) -> pulumi.Input[str] | None:
    """The bucket's location where a resource was given, else None: a name does not tell it."""
    if bucket is None or isinstance(bucket, pulumi.Output) or not isinstance(bucket, NamedBucket):
        return None
    return bucket.location


def service_account_email(account: ServiceAccountLike | None) -> pulumi.Input[str] | None:
    """The account's e-mail address."""
    if isinstance(account, pulumi.Output) or not isinstance(account, WithEmail):
        return account
    return account.email


def _without_scheme(name: Any) -> str:
    return str(name).removeprefix("gs://").rstrip("/")


def object_prefix(resource_name: str) -> str:
    """The resource's name as a prefix of objects that is a path under /gcs as well."""
    parts = re.sub(r"[\x00-\x1f\x7f]", "-", resource_name).split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..")) or "unnamed"
