"""The rules of labels, which jobs and buckets share, and the labels that this provider adds."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import shown

MAX_LABELS = 64
MAX_PROVIDER_LABELS = 11
"""Labels of a resource that are reserved for the provider."""

MAX_LENGTH = 63
"""Characters in a key or a value."""

PROVIDER_PREFIXES = ("vertex-training-", "pulumi-")
"""Prefixes of the keys of labels that the provider adds."""

_KEY = re.compile(r"[a-z0-9][a-z0-9_-]*")
_VALUE = re.compile(r"[a-z0-9_-]*")


def label_problems(labels: Mapping[str, str], *, path: str = "labels", spare: int = 0) -> list[Problem]:
    """Return the findings about the labels of a resource; `spare` labels are reserved for the provider.

    The rules are from the service's own error text: at most 64 labels, keys and values of at most 63
    lowercase letters, digits, dashes and underscores, keys beginning with a letter or digit.
    """
    problems = []
    if len(labels) > MAX_LABELS - spare:
        kept = f", of which this provider needs {spare}" if spare else ""
        message = (
            f"{len(labels)} labels are too many; a resource has at most {MAX_LABELS}{kept}; leave some out"
        )
        problems.append(Problem(path=path, message=message, rests_on=(path,)))
    for key, value in labels.items():
        below = child(path, key)
        if len(key) > MAX_LENGTH or not _KEY.fullmatch(key):
            problems.append(
                Problem(
                    path=below,
                    message=f"{shown(key)} cannot be a label; a key has 1 to {MAX_LENGTH} lowercase letters, "
                    "digits, dashes and underscores and begins with a letter or digit" + _suggestion(key),
                    rests_on=(path,),
                )
            )
        if len(value) > MAX_LENGTH or not _VALUE.fullmatch(value):
            problems.append(
                Problem(
                    path=below,
                    message=f"{shown(value)} cannot be the value of a label; a value has at most "
                    f"{MAX_LENGTH} lowercase letters, digits, dashes and underscores" + _suggestion(value),
                )
            )
    return problems


def is_provider_label(key: str) -> bool:
    """Return whether the provider added a label, so that it is not part of the declaration."""
    return key.startswith(PROVIDER_PREFIXES)


def ownership_label_value(text: str) -> str:
    """Convert a name to the value of an ownership label, such as `pulumi-project`."""
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[:MAX_LENGTH]


KEY_LABEL = "vertex-training-key"
"""The label with the key of the resource that created a bucket, a repository, a model version and so on."""


def key_label(key: str) -> dict[str, str]:
    """Return the label of a resource with this key; nothing for a resource without a key."""
    return {KEY_LABEL: key} if key else {}


def has_key(labels: Mapping[str, str], key: str) -> bool:
    """Return whether labels have this key. Nothing has the empty key."""
    return bool(key) and labels.get(KEY_LABEL) == key


OWNERSHIP_LABELS = ("pulumi-project", "pulumi-stack", "pulumi-resource")
"""The ownership labels, which tell people what declared a resource, from project to resource."""


def owner_of(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the Pulumi project, stack and resource named in ownership labels; absent ones are left out."""
    return {key.removeprefix("pulumi-"): labels[key] for key in OWNERSHIP_LABELS if key in labels}


def label_value(text: str) -> str:
    """Convert a text to a valid value of a label: "Alice's job" -> "alice_s_job"."""
    return re.sub(r"[^a-z0-9_-]+", "_", text.lower())[:MAX_LENGTH]


def _suggestion(text: str) -> str:
    better = label_value(text).strip("_-")
    return f"; for example {better}" if better and better != text else ""
