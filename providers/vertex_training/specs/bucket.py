"""The staging bucket: its spec, normal form, rules, and what a change of a field does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import ClassVar, Literal, TypeVar

from vertex_training.specs.bucket_names import bucket_name_faults
from vertex_training.specs.decode import Decoded, decode
from vertex_training.specs.effects import Effect, FieldEffect, FieldTable
from vertex_training.specs.labels import LABELS_OF_OURS, label_problems
from vertex_training.topology.problems import Problem
from vertex_training.topology.words import nearest, one_of, shown

STORAGE_CLASSES = ("STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE")
OLD_STORAGE_CLASSES = ("MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY")
ACTIONS = ("Delete", "SetStorageClass", "AbortIncompleteMultipartUpload")
MAX_RULES = 100

_REGION = re.compile(r"[a-z]+-[a-z]+\d+")
_MULTI_REGION = re.compile(r"us|eu|asia|nam\d+|eur\d+|asia\d+")
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")


@dataclass(frozen=True, kw_only=True)
class LifecycleAction:
    """What a rule does. `storage_class` belongs to SetStorageClass and to no other."""

    type: str
    storage_class: str | None = None


@dataclass(frozen=True, kw_only=True)
class LifecycleCondition:
    """When a rule applies: all that is given must hold. Ages and periods are in days, dates YYYY-MM-DD."""

    age: int | None = None
    created_before: str | None = None
    is_live: bool | None = None
    num_newer_versions: int | None = None
    matches_prefix: tuple[str, ...] = ()
    matches_suffix: tuple[str, ...] = ()
    matches_storage_class: tuple[str, ...] = ()
    custom_time_before: str | None = None
    days_since_custom_time: int | None = None
    days_since_noncurrent_time: int | None = None
    noncurrent_time_before: str | None = None


@dataclass(frozen=True, kw_only=True)
class LifecycleRule:
    """One rule of a bucket's lifecycle."""

    action: LifecycleAction
    condition: LifecycleCondition


@dataclass(frozen=True, kw_only=True)
class BucketSpec:
    """A bucket for packages, data and results of training jobs.

    `location` is the region of the jobs. `force_destroy` is no field of the API: it lets the bucket be
    deleted with what is in it.
    """

    UNSUPPORTED: ClassVar[frozenset[str]] = frozenset(
        {
            "acl",
            "autoclass",
            "billing",
            "cors",
            "custom_placement_config",
            "default_event_based_hold",
            "default_object_acl",
            "encryption",
            "hierarchical_namespace",
            "iam_configuration",
            "ip_filter",
            "lifecycle",
            "logging",
            "object_retention",
            "retention_policy",
            "rpo",
            "soft_delete_policy",
            "website",
        }
    )
    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset(
        {
            "etag",
            "generation",
            "id",
            "kind",
            "location_type",
            "metageneration",
            "owner",
            "project_number",
            "satisfies_pzi",
            "satisfies_pzs",
            "self_link",
            "time_created",
            "updated",
        }
    )

    name: str
    location: str
    storage_class: str = "STANDARD"
    labels: Mapping[str, str] = field(default_factory=dict)
    uniform_bucket_level_access: bool = True
    public_access_prevention: Literal["inherited", "enforced"] = "enforced"
    versioning: bool = False
    lifecycle_rules: tuple[LifecycleRule, ...] = ()
    force_destroy: bool = False


Bucket = TypeVar("Bucket", bound=BucketSpec)

_IN_PLACE = FieldEffect(effect=Effect.UPDATE, reason="a bucket's settings can change in place")
_RULES = FieldEffect(effect=Effect.UPDATE, reason="a bucket's lifecycle rules can change in place")
_SERVICE = FieldEffect(effect=Effect.SERVER, reason="only the service sets it")

EFFECTS: FieldTable = MappingProxyType(
    {
        "name": FieldEffect(effect=Effect.REPLACE, reason="a bucket cannot be renamed"),
        "location": FieldEffect(effect=Effect.REPLACE, reason="a bucket cannot move to another location"),
        "storage_class": _IN_PLACE,
        "labels": _IN_PLACE,
        "uniform_bucket_level_access": _IN_PLACE,
        "public_access_prevention": _IN_PLACE,
        "versioning": _IN_PLACE,
        "lifecycle_rules[].action.type": _RULES,
        "lifecycle_rules[].action.storage_class": _RULES,
        "lifecycle_rules[].condition.age": _RULES,
        "lifecycle_rules[].condition.created_before": _RULES,
        "lifecycle_rules[].condition.is_live": _RULES,
        "lifecycle_rules[].condition.num_newer_versions": _RULES,
        "lifecycle_rules[].condition.matches_prefix": _RULES,
        "lifecycle_rules[].condition.matches_suffix": _RULES,
        "lifecycle_rules[].condition.matches_storage_class": _RULES,
        "lifecycle_rules[].condition.custom_time_before": _RULES,
        "lifecycle_rules[].condition.days_since_custom_time": _RULES,
        "lifecycle_rules[].condition.days_since_noncurrent_time": _RULES,
        "lifecycle_rules[].condition.noncurrent_time_before": _RULES,
        "force_destroy": FieldEffect(
            effect=Effect.UPDATE, reason="it is kept by the provider, the bucket does not have it"
        ),
        **dict.fromkeys(sorted(BucketSpec.SERVER_OWNED), _SERVICE),
    }
)


def read(value: object) -> Decoded[BucketSpec]:
    """Decode, normalise and check what a program says; every problem at once, with its path."""
    return decode(BucketSpec, value).then(normalise, validate)


def normalise(spec: Bucket) -> Bucket:
    """The normal form: locations in lower case, as regions are written; storage classes in upper case."""
    return replace(
        spec,
        location=spec.location.lower(),
        storage_class=spec.storage_class.upper() or "STANDARD",
        lifecycle_rules=tuple(_normal_rule(rule) for rule in spec.lifecycle_rules),
    )


def _normal_rule(rule: LifecycleRule) -> LifecycleRule:
    classes = tuple(name.upper() for name in rule.condition.matches_storage_class)
    target = rule.action.storage_class
    return LifecycleRule(
        action=replace(rule.action, storage_class=target.upper() if target else None),
        condition=replace(rule.condition, matches_storage_class=classes),
    )


def validate(spec: BucketSpec) -> list[Problem]:
    """Every finding about a bucket, in the order of its fields."""
    problems = [Problem(path="name", message=fault) for fault in bucket_name_faults(spec.name)]
    problems += _location_problems(spec.location.lower())
    problems += _class_problems(spec.storage_class, "storage_class", STORAGE_CLASSES)
    problems += label_problems(spec.labels, spare=LABELS_OF_OURS)
    if len(spec.lifecycle_rules) > MAX_RULES:
        problems.append(
            Problem(
                path="lifecycle_rules",
                message=f"{len(spec.lifecycle_rules)} rules; a bucket has at most {MAX_RULES}",
                rests_on=("lifecycle_rules",),
            )
        )
    for i, rule in enumerate(spec.lifecycle_rules):
        problems += _rule_problems(rule, f"lifecycle_rules[{i}]")
    return problems


def _location_problems(location: str) -> list[Problem]:
    if _REGION.fullmatch(location):
        return []
    if _MULTI_REGION.fullmatch(location):
        return [
            Problem(
                path="location",
                message=f"{location} is more than one region; Vertex AI refuses a job whose bucket is "
                "not in the region of the job. Give that region, for example us-central1",
                level="warning",
            )
        ]
    message = f"{shown(location)} is no location; give the region of the jobs, for example us-central1"
    return [Problem(path="location", message=message)]


def _class_problems(name: str, path: str, choices: tuple[str, ...]) -> list[Problem]:
    if name.upper() in choices:
        return []
    guess = nearest(name, choices) or f"use {one_of(choices)}"
    return [Problem(path=path, message=f"{shown(name)} is no storage class; {guess}")]


def _rule_problems(rule: LifecycleRule, path: str) -> Iterator[Problem]:
    action, condition = rule.action, rule.condition
    classes = STORAGE_CLASSES + OLD_STORAGE_CLASSES
    below = f"{path}.action.storage_class"
    both = (f"{path}.action.type", below)
    if action.type not in ACTIONS:
        guess = nearest(action.type, ACTIONS) or f"use {one_of(ACTIONS)}"
        yield Problem(path=both[0], message=f"{shown(action.type)} is no action of a rule; {guess}")
    elif action.type == "SetStorageClass":
        if action.storage_class is None:
            yield Problem(
                path=below, message="is missing; SetStorageClass needs the new class", rests_on=both
            )
        else:
            yield from _class_problems(action.storage_class, below, STORAGE_CLASSES)
    elif action.storage_class is not None:
        yield Problem(path=below, message=f"does not go with {action.type}; leave it out", rests_on=both)
    if condition == LifecycleCondition():
        yield Problem(
            path=f"{path}.condition", message="has no condition; give at least one, for example age"
        )
    for name in ("age", "num_newer_versions", "days_since_custom_time", "days_since_noncurrent_time"):
        number = getattr(condition, name)
        if number is not None and number < 0:
            yield Problem(
                path=f"{path}.condition.{name}", message=f"{number}; give a whole number of 0 or more"
            )
    for name in ("created_before", "custom_time_before", "noncurrent_time_before"):
        date = getattr(condition, name)
        if date is not None and not _DATE.fullmatch(date):
            yield Problem(
                path=f"{path}.condition.{name}", message=f"{shown(date)} is no date; write it as YYYY-MM-DD"
            )
    for i, name in enumerate(condition.matches_storage_class):
        yield from _class_problems(name, f"{path}.condition.matches_storage_class[{i}]", classes)
