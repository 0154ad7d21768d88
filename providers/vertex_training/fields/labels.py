"""The rules of labels, which are the same for jobs and buckets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import shown

MAX_LABELS = 64
LABELS_OF_OURS = 8
"""Places among them that are kept for those that the provider adds itself."""

MAX_LENGTH = 63
"""Characters in a key or a value."""

OWN_PREFIXES = ("vertex-training-", "pulumi-")
"""What the keys of the labels that we put on a job begin with: its marks."""

_KEY = re.compile(r"[a-z0-9][a-z0-9_-]*")
_VALUE = re.compile(r"[a-z0-9_-]*")


def label_problems(labels: Mapping[str, str], *, path: str = "labels", spare: int = 0) -> list[Problem]:
    """What is wrong with the labels of a resource; `spare` places are kept for labels of our own.

    The rules are those of the service's own error text: at most 64 labels, keys and values of at most 63
    lowercase letters, digits, dashes and underscores, keys beginning with a letter or digit.
    """
    problems = []
    if len(labels) > MAX_LABELS - spare:
        kept = f", {spare} of which this provider needs itself" if spare else ""
        message = f"{len(labels)} labels; a resource has at most {MAX_LABELS}{kept}; leave some out"
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


def is_own(key: str) -> bool:
    """Whether a label is one of ours; it says nothing of what was declared."""
    return key.startswith(OWN_PREFIXES)


def mark_value(text: str) -> str:
    """A name as the value of one of our marks, such as `pulumi-project`."""
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[:MAX_LENGTH]


MARKS = ("pulumi-project", "pulumi-stack", "pulumi-resource")
"""The labels that say to a person what declared a thing, from the outside in."""


def owner_of(labels: Mapping[str, str]) -> dict[str, str]:
    """The Pulumi project, stack and resource of the marks, as far as they are there."""
    return {mark.removeprefix("pulumi-"): labels[mark] for mark in MARKS if mark in labels}


def label_value(text: str) -> str:
    """The nearest text that can be the value of a label: "Alice's job" -> "alice_s_job"."""
    return re.sub(r"[^a-z0-9_-]+", "_", text.lower())[:MAX_LENGTH]


def _suggestion(text: str) -> str:
    better = label_value(text).strip("_-")
    return f"; for example {better}" if better and better != text else ""
