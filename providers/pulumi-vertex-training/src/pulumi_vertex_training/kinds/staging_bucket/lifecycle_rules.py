"""The checks of a bucket's lifecycle rules."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

from pulumi_vertex_training.kinds.staging_bucket.settings import LifecycleCondition, LifecycleRule
from pulumi_vertex_training.kinds.staging_bucket.spec import BucketSpec
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import nearest, one_of, shown

ACTIONS = ("Delete", "SetStorageClass", "AbortIncompleteMultipartUpload")
STORAGE_CLASSES = ("STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE")
OLD_STORAGE_CLASSES = ("MULTI_REGIONAL", "REGIONAL", "DURABLE_REDUCED_AVAILABILITY")
MAX_RULES = 100

_OF_ABORT = ("age", "matches_prefixes", "matches_suffixes")
_OF_VERSIONS = ("num_newer_versions", "days_since_noncurrent_time", "noncurrent_time_before")
_NUMBERS = ("age", "num_newer_versions", "days_since_custom_time", "days_since_noncurrent_time")
_DATES = ("created_before", "custom_time_before", "noncurrent_time_before")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DOCUMENT = 'Cloud Storage documentation, "Object Lifecycle Management"'

COUNT = Rule(name="lifecycle-rules", says="a bucket has at most 100 lifecycle rules", source=_DOCUMENT)
ACTION = Rule(
    name="lifecycle-action",
    says="a lifecycle rule's action is Delete, SetStorageClass or AbortIncompleteMultipartUpload",
    source=_DOCUMENT,
)
NEW_CLASS = Rule(
    name="lifecycle-new-class",
    says="SetStorageClass names the new storage class, and no other action does",
    source=_DOCUMENT,
)
CLASS = Rule(
    name="lifecycle-storage-class",
    says="a lifecycle rule names storage classes that exist",
    source='Cloud Storage documentation, "Storage classes"',
)
CONDITION = Rule(
    name="lifecycle-condition", says="a lifecycle rule has at least one condition", source=_DOCUMENT
)
NUMBER = Rule(
    name="lifecycle-number", says="the numbers of a lifecycle condition are 0 or more", source=_DOCUMENT
)
DATE = Rule(
    name="lifecycle-date", says="the dates of a lifecycle condition are days that exist", source=_DOCUMENT
)
ABORT = Rule(
    name="lifecycle-abort",
    says="AbortIncompleteMultipartUpload supports only age, matches_prefixes and matches_suffixes",
    source=_DOCUMENT,
)
WITH_AUTOCLASS = Rule(
    name="lifecycle-autoclass",
    says="with Autoclass, no lifecycle rule sets a storage class or has one as a condition",
    source='Cloud Storage documentation, "Autoclass"',
)
VERSIONS = Rule(
    name="lifecycle-versions",
    says="conditions about noncurrent versions need versioning",
    source="ours: such a rule has no effect in a bucket that never had versions",
    level="warning",
)


def lifecycle_problems(spec: BucketSpec) -> Iterator[Problem]:
    """Yield every problem of a bucket's lifecycle rules, in their order."""
    if len(spec.lifecycle_rules) > MAX_RULES:
        yield COUNT.broken(
            "lifecycle_rules",
            f"{len(spec.lifecycle_rules)} rules; a bucket has at most {MAX_RULES}. Merge rules with the "
            "same action and age into one with several prefixes",
            rests_on=("lifecycle_rules",),
        )
    for i, rule in enumerate(spec.lifecycle_rules):
        path = f"lifecycle_rules[{i}]"
        yield from _action_problems(rule, path)
        yield from _condition_problems(rule.condition, f"{path}.condition")
        if spec.autoclass and spec.autoclass.enabled:
            yield from _autoclass_problems(rule, path)
        if not spec.versioning.enabled:
            yield from _version_problems(rule.condition, path)


def class_problems(name: str, path: str, choices: tuple[str, ...], rule: Rule) -> Iterator[Problem]:
    """Yield a problem of `rule` if `name` is not one of `choices`, the allowed storage classes."""
    if name.upper() not in choices:
        guess = nearest(name, choices) or f"use {one_of(choices)}"
        yield rule.broken(path, f"{shown(name)} is not a storage class; {guess}")


def _action_problems(rule: LifecycleRule, path: str) -> Iterator[Problem]:
    action = rule.action
    kind, below = f"{path}.action.type", f"{path}.action.storage_class"
    if action.type not in ACTIONS:
        guess = nearest(action.type, ACTIONS) or f"use {one_of(ACTIONS)}"
        yield ACTION.broken(kind, f"{shown(action.type)} is not an action of a lifecycle rule; {guess}")
    elif action.type == "SetStorageClass":
        if action.storage_class is None:
            yield NEW_CLASS.broken(
                below, "is missing. SetStorageClass needs the new storage class", rests_on=(kind, below)
            )
        else:
            yield from class_problems(action.storage_class, below, STORAGE_CLASSES, CLASS)
    elif action.storage_class is not None:
        yield NEW_CLASS.broken(below, f"does not go with {action.type}; leave it out", rests_on=(kind, below))
    if action.type == "AbortIncompleteMultipartUpload":
        for name in _given(rule.condition):
            if name not in _OF_ABORT:
                yield ABORT.broken(
                    f"{path}.condition.{name}",
                    f"does not go with {action.type}, which supports {one_of(_OF_ABORT)}. Leave it out",
                    rests_on=(kind, f"{path}.condition.{name}"),
                )


def _condition_problems(condition: LifecycleCondition, path: str) -> Iterator[Problem]:
    if not _given(condition):
        yield CONDITION.broken(path, "is empty. Give at least one condition, for example age")
    for name in _NUMBERS:
        number = getattr(condition, name)
        if number is not None and number < 0:
            yield NUMBER.broken(f"{path}.{name}", f"{number}; give a whole number of 0 or more")
    for name in _DATES:
        date = getattr(condition, name)
        if date is not None and not _is_date(date):
            yield DATE.broken(f"{path}.{name}", f"{shown(date)} is not a date; write it as YYYY-MM-DD")
    for i, name in enumerate(condition.matches_storage_classes):
        below = f"{path}.matches_storage_classes[{i}]"
        yield from class_problems(name, below, STORAGE_CLASSES + OLD_STORAGE_CLASSES, CLASS)


def _autoclass_problems(rule: LifecycleRule, path: str) -> Iterator[Problem]:
    remedy = "Leave it out, or set autoclass.enabled to false"
    if rule.action.type == "SetStorageClass":
        kind = f"{path}.action.type"
        yield WITH_AUTOCLASS.broken(
            kind,
            f"SetStorageClass is not allowed with Autoclass, which sets the storage classes. {remedy}",
            rests_on=(kind, "autoclass.*"),
        )
    if rule.condition.matches_storage_classes:
        below = f"{path}.condition.matches_storage_classes"
        classes = ", ".join(rule.condition.matches_storage_classes)
        yield WITH_AUTOCLASS.broken(
            below,
            f"{classes} is not allowed with Autoclass, which sets the storage classes. {remedy}",
            rests_on=(f"{below}.*", "autoclass.*"),
        )


def _version_problems(condition: LifecycleCondition, path: str) -> Iterator[Problem]:
    for name in _OF_VERSIONS:
        if name in _given(condition):
            below = f"{path}.condition.{name}"
            yield VERSIONS.broken(
                below,
                f"{getattr(condition, name)} applies to noncurrent versions, which a bucket without "
                'versioning does not have. Set versioning={"enabled": True}, or leave the rule out',
                rests_on=(below, "versioning.enabled"),
            )


def _given(condition: LifecycleCondition) -> list[str]:
    return [name for name, value in vars(condition).items() if value is not None and value != ()]


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True
