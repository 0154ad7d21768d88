"""The checks of a bucket, except for its lifecycle rules: names, locations, settings and access."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from pulumi_vertex_training.kinds.staging_bucket.lifecycle_rules import (
    STORAGE_CLASSES,
    class_problems,
    lifecycle_problems,
)
from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec, normalise
from vertex_training.catalog.regions import REGIONS, is_misspelled
from vertex_training.fields.decode import Decoded, decode
from vertex_training.fields.labels import MAX_PROVIDER_LABELS, label_problems
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown
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
    says="a bucket's name has the form that Cloud Storage requires",
    source='Cloud Storage documentation, "About Cloud Storage buckets"',
)
LOCATION = Rule(name="bucket-location", says="a bucket's location is a region", source=_LOCATIONS)
ONE_REGION = Rule(
    name="bucket-one-region",
    says="a bucket for training jobs is in one region",
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
    says="rpo ASYNC_TURBO is for dual-regions",
    source='Cloud Storage documentation, "Turbo replication"',
)
AUTOCLASS = Rule(
    name="bucket-autoclass",
    says="with Autoclass, the default class is STANDARD and the terminal class is NEARLINE or ARCHIVE",
    source='Cloud Storage documentation, "Autoclass"',
)
RETENTION = Rule(
    name="bucket-retention-period",
    says="a retention period is from 1 second to 100 years",
    source='Cloud Storage documentation, "Bucket Lock"',
)
SOFT_DELETE = Rule(
    name="bucket-soft-delete",
    says="soft delete is off (0) or keeps deleted objects for 7 to 90 days",
    source='Cloud Storage documentation, "Soft delete"',
)
KEY = Rule(
    name="bucket-key",
    says="an encryption key is given by its full name, and is in the bucket's location",
    source='Cloud Storage documentation, "Customer-managed encryption keys"',
)
FOLDERS = Rule(
    name="bucket-folders",
    says="a hierarchical namespace needs uniform access and no versioning",
    source='Cloud Storage documentation, "Hierarchical namespace"',
)
HELD = Rule(
    name="bucket-release-holds",
    says="release_holds needs force_destroy",
    source="ours: release_holds only changes what force_destroy deletes",
)
LONGEST_RETENTION = 3_155_760_000


def read(value: object) -> Decoded[BucketSpec]:
    """Decode, normalise and check a declared bucket, and collect every problem with its path."""
    return decode(BucketSpec, value).then(normalise, validate)


def validate(spec: BucketSpec) -> list[Problem]:
    """Return every problem of a bucket, roughly in the order of its fields."""
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
        *access_problems(spec),
        *_hold_problems(spec),
    ]


def _location_problems(spec: BucketSpec) -> Iterator[Problem]:
    location = spec.location.lower()
    if is_misspelled(location):
        guess = nearest(location, REGIONS) or "give the region of the jobs, for example us-central1"
        yield LOCATION.broken("location", f"{shown(location)} is not a region; {guess}")
        return
    if _REGION.fullmatch(location):
        return
    if _MULTI_REGION.fullmatch(location) or (spec.custom_placement_config and _COUNTRY.fullmatch(location)):
        yield ONE_REGION.broken(
            "location",
            f"{location} spans more than one region, but Vertex AI refuses a job if its bucket is not in "
            "its region. Give the region of the jobs, for example us-central1",
        )
        return
    yield LOCATION.broken(
        "location",
        f"{shown(location)} is not a location; give the region of the jobs, for example us-central1",
        rests_on=("location", "custom_placement_config"),
    )


def _placement_problems(spec: BucketSpec) -> Iterator[Problem]:
    location, path = spec.location.lower(), "custom_placement_config.data_locations"
    if spec.custom_placement_config:
        regions = [region.lower() for region in spec.custom_placement_config.data_locations]
        wrong = [region for region in regions if is_misspelled(region) or not _REGION.fullmatch(region)]
        if len(set(regions)) != 2 or len(regions) != 2 or wrong:
            given = ", ".join(regions)
            yield PLACEMENT.broken(
                path,
                f"{shown(given)} does not have two regions; name two, for example us-central1 and us-east1",
            )
        if _REGION.fullmatch(location) or _DUAL_REGION.fullmatch(location):
            yield PLACEMENT.broken(
                "location",
                f"{location} is already a region or dual-region. With custom_placement_config, give the "
                "continent of both regions, for example US",
                rests_on=("location", "custom_placement_config"),
            )
    elif spec.rpo == "ASYNC_TURBO" and not _DUAL_REGION.fullmatch(location):
        yield TURBO.broken(
            "rpo",
            f"ASYNC_TURBO in {shown(location)}, which is not a dual-region. Leave it out, or use NAM4, "
            "EUR4 or custom_placement_config",
            rests_on=("rpo", "location", "custom_placement_config"),
        )


def _autoclass_problems(spec: BucketSpec) -> Iterator[Problem]:
    if not spec.autoclass:
        return
    last, path = spec.autoclass.terminal_storage_class, "autoclass.terminal_storage_class"
    if last is not None and last.upper() not in ("NEARLINE", "ARCHIVE"):
        yield AUTOCLASS.broken(path, f"{shown(last)} cannot be the terminal class; use NEARLINE or ARCHIVE")
    if spec.autoclass.enabled and spec.storage_class.upper() not in ("STANDARD", ""):
        yield AUTOCLASS.broken(
            "storage_class",
            f"{spec.storage_class} is not allowed with Autoclass, where every object starts as STANDARD. "
            "Leave it out",
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
                f"{seconds} seconds; give 0 to turn it off, or {7 * DAY} (7 days) to {90 * DAY} (90 days)",
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
            f"{shown(key)} is not a key; write "
            "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
        )
    elif form[1] != spec.location.lower():
        yield KEY.broken(
            path,
            f"the key is in {form[1]}, but the bucket is in {spec.location.lower()}. Use a key in "
            f"{spec.location.lower()}",
            rests_on=(path, "location"),
        )


def _folder_problems(spec: BucketSpec) -> Iterator[Problem]:
    if not spec.hierarchical_namespace:
        return
    if not spec.uniform_bucket_level_access:
        yield FOLDERS.broken(
            "uniform_bucket_level_access",
            "false is not allowed with hierarchical_namespace. Leave it out",
            rests_on=("uniform_bucket_level_access", "hierarchical_namespace"),
        )
    if spec.versioning.enabled:
        yield FOLDERS.broken(
            "versioning.enabled",
            "true is not allowed with hierarchical_namespace. Leave one of the two out",
            rests_on=("versioning.enabled", "hierarchical_namespace"),
        )


def _hold_problems(spec: BucketSpec) -> Iterator[Problem]:
    if spec.release_holds and not spec.force_destroy:
        yield HELD.broken(
            "release_holds",
            "true has no effect without force_destroy=True. Set both, or neither",
            rests_on=("release_holds", "force_destroy"),
        )


METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "*")
_NETWORK = re.compile(r"projects/[^/]+/global/networks/[^/]+")
_CORS = 'Cloud Storage documentation, "Cross-origin resource sharing"'

CORS = Rule(name="bucket-cors", says="a CORS rule names origins and methods", source=_CORS)
CORS_METHOD = Rule(
    name="bucket-cors-method", says="the methods of a CORS rule are HTTP methods, or *", source=_CORS
)
CORS_AGE = Rule(name="bucket-cors-age", says="max_age_seconds of a CORS rule is 0 or more", source=_CORS)
ADDRESSES = Rule(
    name="bucket-addresses",
    says="an IP filter has ranges such as 203.0.113.0/24, without host bits",
    source='Cloud Storage documentation, "Bucket IP filtering"',
)
NETWORK = Rule(
    name="bucket-network",
    says="a network of an IP filter is given by its full name",
    source='Cloud Storage documentation, "Bucket IP filtering"',
)
LOG_BUCKET = Rule(
    name="bucket-log-bucket",
    says="the bucket for usage logs is given by its name, without gs://",
    source='Cloud Storage documentation, "Usage logs and storage logs"',
)


def access_problems(spec: BucketSpec) -> Iterator[Problem]:
    """Yield every problem of CORS rules, IP filter and usage logs."""
    for i, rule in enumerate(spec.cors):
        path = f"cors[{i}]"
        for name in ("origins", "methods"):
            if not getattr(rule, name):
                example = '"https://example.com"' if name == "origins" else '"GET"'
                yield CORS.broken(
                    f"{path}.{name}",
                    f"is empty, so the rule allows nothing. Give at least one, for example {example}",
                )
        for j, method in enumerate(rule.methods):
            if method.upper() not in METHODS:
                guess = nearest(method, METHODS) or f"use {one_of(METHODS)}"
                yield CORS_METHOD.broken(f"{path}.methods[{j}]", f"{shown(method)} is not a method; {guess}")
        if rule.max_age_seconds is not None and rule.max_age_seconds < 0:
            yield CORS_AGE.broken(
                f"{path}.max_age_seconds", f"{rule.max_age_seconds}; give a whole number of 0 or more"
            )
    if spec.ip_filter:
        yield from _filter_problems(spec)
    if spec.logging:
        for fault in bucket_name_faults(spec.logging.log_bucket):
            yield LOG_BUCKET.broken("logging.log_bucket", f"{fault}; give the bucket's name alone")


def _filter_problems(spec: BucketSpec) -> Iterator[Problem]:
    assert spec.ip_filter is not None  # noqa: S101  checked by the caller
    if source := spec.ip_filter.public_network_source:
        yield from _range_problems(source.allowed_ip_cidr_ranges, "ip_filter.public_network_source")
    for i, network in enumerate(spec.ip_filter.vpc_network_sources):
        path = f"ip_filter.vpc_network_sources[{i}]"
        if not _NETWORK.fullmatch(network.network):
            yield NETWORK.broken(
                f"{path}.network",
                f"{shown(network.network)} is not a network; write projects/PROJECT/global/networks/NETWORK",
            )
        yield from _range_problems(network.allowed_ip_cidr_ranges, path)


def _range_problems(ranges: tuple[str, ...], path: str) -> Iterator[Problem]:
    for i, text in enumerate(ranges):
        try:
            ipaddress.ip_network(text)
        except ValueError:
            yield ADDRESSES.broken(
                f"{path}.allowed_ip_cidr_ranges[{i}]",
                f"{shown(text)} is not an IP range; write it like 203.0.113.0/24",
            )
