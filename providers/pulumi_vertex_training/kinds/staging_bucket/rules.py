"""The rules of a bucket but for its lifecycle: names, places, and which settings go together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_vertex_training.kinds.staging_bucket import access_rules as bucket_access_rules
from pulumi_vertex_training.kinds.staging_bucket.lifecycle_rules import (
    STORAGE_CLASSES,
    class_problems,
    lifecycle_problems,
)
from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec, normalise
from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.labels import MAX_PROVIDER_LABELS, label_problems
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.job.rules.bucket_names import bucket_name_faults

DAY = 24 * 60 * 60
_REGION = re.compile(r"[a-z]+-[a-z]+\d+")
_MULTI_REGION = re.compile(r"us|eu|asia|nam\d+|eur\d+|asia\d+")
_DUAL_REGION = re.compile(r"nam\d+|eur\d+|asia\d+")
_COUNTRY = re.compile(r"[a-z]{2}|asia")
_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")
_LOCATIONS = 'Cloud Storage documentation, "Bucket locations"'

NAME = Rule(
    name="bucket-name",
    says="a bucket's name has the form that Cloud Storage demands",
    source='Cloud Storage documentation, "About Cloud Storage buckets"',
)
LOCATION = Rule(name="bucket-location", says="a bucket's location is a region", source=_LOCATIONS)
ONE_REGION = Rule(
    name="bucket-one-region",
    says="a bucket for training jobs lies in one region",
    source='Vertex AI documentation, "Locations"; the service\'s own error text',
    level="warning",
)
CLASS = Rule(
    name="bucket-storage-class",
    says="a bucket's default storage class exists",
    source='Cloud Storage documentation, "Storage classes"',
)
PLACEMENT = Rule(
    name="bucket-placement",
    says="custom_placement_config names two regions of a location that is larger than a region",
    source=_LOCATIONS,
)
TURBO = Rule(
    name="bucket-turbo-replication",
    says="rpo ASYNC_TURBO is for dual regions",
    source='Cloud Storage documentation, "Turbo replication"',
)
AUTOCLASS = Rule(
    name="bucket-autoclass",
    says="with Autoclass the default class is STANDARD, and the last one NEARLINE or ARCHIVE",
    source='Cloud Storage documentation, "Autoclass"',
)
RETENTION = Rule(
    name="bucket-retention-period",
    says="a retention period is from 1 second to 100 years",
    source='Cloud Storage documentation, "Bucket Lock"',
)
SOFT_DELETE = Rule(
    name="bucket-soft-delete",
    says="soft delete is off (0), or keeps what is deleted for 7 to 90 days",
    source='Cloud Storage documentation, "Soft delete"',
)
KEY = Rule(
    name="bucket-key",
    says="an encryption key is named in full, and lies where the bucket lies",
    source='Cloud Storage documentation, "Customer-managed encryption keys"',
)
FOLDERS = Rule(
    name="bucket-folders",
    says="a hierarchical namespace needs uniform access and has no versions",
    source='Cloud Storage documentation, "Hierarchical namespace"',
)
HELD = Rule(
    name="bucket-release-holds",
    says="release_holds needs force_destroy",
    source="ours: it says what force_destroy may do",
)
LONGEST_RETENTION = 3_155_760_000


def read(value: object) -> Decoded[BucketSpec]:
    """Decode, normalise and check what a program says; every problem at once, with its path."""
    return decode(BucketSpec, value).then(normalise, validate)


def validate(spec: BucketSpec) -> list[Problem]:
    """Every finding about a bucket, about in the order of its fields."""
    return [
        *(NAME.broken("name", fault) for fault in bucket_name_faults(spec.name)),
        *_location_problems(spec),
        *class_problems(spec.storage_class, "storage_class", STORAGE_CLASSES, CLASS),
        *label_problems(spec.labels, spare=MAX_PROVIDER_LABELS),
        *lifecycle_problems(spec),
        *_placement_problems(spec),
        *_autoclass_problems(spec),
        *_duration_problems(spec),
        *_key_problems(spec),
        *_folder_problems(spec),
        *bucket_access_rules.access_problems(spec),
        *_hold_problems(spec),
    ]


def _location_problems(spec: BucketSpec) -> Iterator[Problem]:
    location = spec.location.lower()
    if _REGION.fullmatch(location):
        return
    if _MULTI_REGION.fullmatch(location) or (spec.custom_placement_config and _COUNTRY.fullmatch(location)):
        yield ONE_REGION.broken(
            "location",
            f"{location} is more than one region; Vertex AI refuses a job whose bucket is "
            "not in the region of the job. Give that region, for example us-central1",
        )
        return
    yield LOCATION.broken(
        "location",
        f"{shown(location)} is no location; give the region of the jobs, for example us-central1",
        rests_on=("location", "custom_placement_config"),
    )


def _placement_problems(spec: BucketSpec) -> Iterator[Problem]:
    location, path = spec.location.lower(), "custom_placement_config.data_locations"
    if spec.custom_placement_config:
        regions = [region.lower() for region in spec.custom_placement_config.data_locations]
        if len(set(regions)) != 2 or len(regions) != 2 or not all(map(_REGION.fullmatch, regions)):
            given = ", ".join(regions)
            yield PLACEMENT.broken(
                path, f"{shown(given)} is not two regions; name two, for example us-central1 and us-east1"
            )
        if _REGION.fullmatch(location) or _DUAL_REGION.fullmatch(location):
            yield PLACEMENT.broken(
                "location",
                f"{location} has its own place; with custom_placement_config give the continent that both "
                "regions are in, for example US",
                rests_on=("location", "custom_placement_config"),
            )
    elif spec.rpo == "ASYNC_TURBO" and not _DUAL_REGION.fullmatch(location):
        yield TURBO.broken(
            "rpo",
            f"ASYNC_TURBO in {shown(location)}, which is no dual region; leave it out, or use NAM4, EUR4 or "
            "custom_placement_config",
            rests_on=("rpo", "location", "custom_placement_config"),
        )


def _autoclass_problems(spec: BucketSpec) -> Iterator[Problem]:
    if not spec.autoclass:
        return
    last, path = spec.autoclass.terminal_storage_class, "autoclass.terminal_storage_class"
    if last is not None and last.upper() not in ("NEARLINE", "ARCHIVE"):
        yield AUTOCLASS.broken(path, f"{shown(last)} cannot be the last class; use NEARLINE or ARCHIVE")
    if spec.autoclass.enabled and spec.storage_class.upper() not in ("STANDARD", ""):
        yield AUTOCLASS.broken(
            "storage_class",
            f"{spec.storage_class} in a bucket with Autoclass, where every object begins as STANDARD; leave "
            "it out",
            rests_on=("storage_class", "autoclass.enabled"),
        )


def _duration_problems(spec: BucketSpec) -> Iterator[Problem]:
    if spec.retention_policy and not 1 <= spec.retention_policy.retention_period <= LONGEST_RETENTION:
        yield RETENTION.broken(
            "retention_policy.retention_period",
            f"{spec.retention_policy.retention_period} seconds; give 1 to {LONGEST_RETENTION}, or leave "
            "retention_policy out",
        )
    soft = spec.soft_delete_policy
    if soft and soft.retention_duration_seconds != 0:
        seconds = soft.retention_duration_seconds
        if not 7 * DAY <= seconds <= 90 * DAY:
            yield SOFT_DELETE.broken(
                "soft_delete_policy.retention_duration_seconds",
                f"{seconds} seconds; give 0 for none, or {7 * DAY} (7 days) to {90 * DAY} (90 days)",
            )


def _key_problems(spec: BucketSpec) -> Iterator[Problem]:
    key = spec.encryption.default_kms_key_name if spec.encryption else None
    path = "encryption.default_kms_key_name"
    if not key:
        return
    form = _KEY.fullmatch(key)
    if form is None:
        yield KEY.broken(
            path,
            f"{shown(key)} is no key; write projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
        )
    elif form[1] != spec.location.lower():
        yield KEY.broken(
            path,
            f"a key in {form[1]}, while the bucket is in {spec.location.lower()}; Cloud Storage demands one "
            f"location for both. Use a key in {spec.location.lower()}",
            rests_on=(path, "location"),
        )


def _folder_problems(spec: BucketSpec) -> Iterator[Problem]:
    if not spec.hierarchical_namespace:
        return
    if not spec.uniform_bucket_level_access:
        yield FOLDERS.broken(
            "uniform_bucket_level_access",
            "false with hierarchical_namespace, which needs it; leave it out",
            rests_on=("uniform_bucket_level_access", "hierarchical_namespace"),
        )
    if spec.versioning:
        yield FOLDERS.broken(
            "versioning",
            "true with hierarchical_namespace, which has no versions; leave one of the two out",
            rests_on=("versioning", "hierarchical_namespace"),
        )


def _hold_problems(spec: BucketSpec) -> Iterator[Problem]:
    if spec.release_holds and not spec.force_destroy:
        yield HELD.broken(
            "release_holds",
            "true does nothing without force_destroy=True, which empties the bucket; set both or neither",
            rests_on=("release_holds", "force_destroy"),
        )
