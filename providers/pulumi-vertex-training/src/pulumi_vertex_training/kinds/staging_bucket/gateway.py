"""Calls to Cloud Storage buckets, in the JSON of the API.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud import clients, rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import AlreadyExists, FailedPrecondition, Unavailable
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.kinds.staging_bucket import emptying

_EMPTYING_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class BucketRecord:
    """A bucket as the service reports it. `location` is in upper case; `wire` is the whole resource."""

    name: str
    location: str
    project_number: str = ""
    metageneration: int = 0
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def url(self) -> str:
        """The gs:// URL of the bucket."""
        return f"gs://{self.name}"


def create(
    endpoint: Endpoint, wire: Mapping[str, Any], *, enable_object_retention: bool = False
) -> BucketRecord:
    """Create a bucket. `wire` has at least `name` and `location`. The call is never retried.

    `enable_object_retention` allows retention of single objects; it can be set at creation only. Raises
    AlreadyExists, also for other people's buckets: bucket names are global.
    """
    with translated(endpoint, f"create bucket {wire.get('name')}"):
        return _record(
            rest.call(
                endpoint,
                "POST",
                f"{clients.storage_url(endpoint)}/storage/v1/b",
                query={"project": endpoint.project, "enableObjectRetention": enable_object_retention or None},
                body=wire,
                idempotent=False,
            )
        )


def get(endpoint: Endpoint, name: str) -> BucketRecord:
    """Fetch a bucket. Raises NotFound."""
    with translated(endpoint, f"read bucket {name}"):
        return _record(rest.call(endpoint, "GET", clients.bucket_url(endpoint, name)))


def labels_of(endpoint: Endpoint, name: str) -> Mapping[str, str]:
    """Return the labels of a bucket. Raises NotFound."""
    return get(endpoint, name).wire.get("labels") or {}


def patch(
    endpoint: Endpoint, name: str, wire: Mapping[str, Any], *, if_metageneration_match: int | None = None
) -> BucketRecord:
    """Set the fields of `wire`; None removes a field.

    Raises NotFound, and Conflict if the bucket has another metageneration than `if_metageneration_match`.
    """
    with translated(endpoint, f"update bucket {name}"):
        return _record(
            rest.call(
                endpoint,
                "PATCH",
                clients.bucket_url(endpoint, name),
                query={"ifMetagenerationMatch": if_metageneration_match},
                body=wire,
            )
        )


def is_empty(endpoint: Endpoint, name: str) -> bool:
    """Return whether the bucket has no version of any object. Raises NotFound."""
    count, _ = count_objects(endpoint, name, most=1)
    return count == 0


def count_objects(endpoint: Endpoint, name: str, *, most: int) -> tuple[int, bool]:
    """Return the number of versions of all objects, and whether there are more than were counted.

    One call lists at most `most` of them. Raises NotFound.
    """
    with translated(endpoint, f"list gs://{name}/"):
        page = rest.call(
            endpoint,
            "GET",
            f"{clients.bucket_url(endpoint, name)}/o",
            query={"versions": True, "maxResults": most, "fields": "items(name),nextPageToken"},
        )
    return len(page.get("items") or ()), bool(page.get("nextPageToken"))


def delete_untouched(endpoint: Endpoint, name: str, *, if_metageneration_match: int) -> None:
    """Delete an empty bucket. Raises NotFound, and Conflict if the bucket has changed or is not empty."""
    with translated(endpoint, f"delete bucket {name}"):
        rest.call(
            endpoint,
            "DELETE",
            clients.bucket_url(endpoint, name),
            query={"ifMetagenerationMatch": if_metageneration_match},
        )


def lock_retention_policy(endpoint: Endpoint, name: str, *, if_metageneration_match: int) -> BucketRecord:
    """Lock a bucket's retention policy permanently.

    Raises NotFound, and Conflict if the bucket has another metageneration than `if_metageneration_match`.
    """
    try:
        with translated(endpoint, f"lock the retention policy of bucket {name}"):
            return _record(
                rest.call(
                    endpoint,
                    "POST",
                    f"{clients.bucket_url(endpoint, name)}/lockRetentionPolicy",
                    query={"ifMetagenerationMatch": if_metageneration_match},
                    idempotent=False,
                )
            )
    except Unavailable:
        # The answer was lost, perhaps after the policy was locked: only the bucket shows that.
        record = get(endpoint, name)
        if not (record.wire.get("retentionPolicy") or {}).get("isLocked"):
            raise
        return record


def delete(
    endpoint: Endpoint,
    name: str,
    *,
    force: bool = False,
    release_holds: bool = False,
    tell: Callable[[int], None] | None = None,
) -> None:
    """Delete a bucket; with `force`, delete all versions of all its objects first.

    `tell` and `release_holds` are passed to `emptying.empty`, whose errors are raised too. Raises NotFound,
    and FailedPrecondition while the bucket is not empty.
    """
    for turn in range(_EMPTYING_ROUNDS if force else 1):
        if force:
            emptying.empty(endpoint, name, release_holds=release_holds, tell=tell)
            if turn:
                emptying.remove_folders(endpoint, name)
        try:
            with translated(endpoint, f"delete bucket {name}"):
                rest.call(endpoint, "DELETE", clients.bucket_url(endpoint, name))
            return
        except AlreadyExists as error:  # 409: the bucket is not empty
            refusal = error
    hint = (
        "Something is writing to it. Stop that, then run the same command again."
        if force
        else "Delete its objects, or set force_destroy=True and run `pulumi up` before you destroy it."
    )
    raise FailedPrecondition(
        f"{refusal} {hint}", code=refusal.code, resource=refusal.resource, endpoint=endpoint
    ) from refusal.__cause__


def _record(wire: Mapping[str, Any]) -> BucketRecord:
    return BucketRecord(
        name=str(wire["name"]),
        location=str(wire.get("location", "")),
        project_number=str(wire.get("projectNumber", "")),
        metageneration=int(wire.get("metageneration", 0)),
        wire=dict(wire),
    )
