"""The rules of display name, labels and encryption key, which every training resource has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from vertex_training.fields.labels import MAX_PROVIDER_LABELS, label_problems
from vertex_training.findings.options import CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.job.job_spec import EncryptionSpec

MAX_DISPLAY_NAME = 128

DISPLAY_NAME = Rule(
    name="display-name",
    says=f"a job's display name has 1 to {MAX_DISPLAY_NAME} characters",
    source="Vertex AI API, CustomJob.display_name",
)
KMS_KEY = Rule(
    name="kms-key",
    says="a key is given by its full resource name and is in the job's region",
    source="Vertex AI API, EncryptionSpec.kms_key_name",
)
LABELS = Rule(
    name="labels",
    says="labels have lowercase letters, digits, dashes and underscores, at most 63",
    source="the service's own error text for labels",
)

_KEY = re.compile(r"projects/[^/]+/locations/([^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")


def display_name_problems(display_name: str, path: str = "display_name") -> Iterator[Problem]:
    """Check the length of a display name."""
    if not 1 <= len(display_name) <= MAX_DISPLAY_NAME:
        yield DISPLAY_NAME.broken(
            path,
            f"has {len(display_name)} characters; a job's name has 1 to {MAX_DISPLAY_NAME}",
        )


def key_problems(
    encryption_spec: EncryptionSpec | None, options: CheckOptions, path: str = "encryption_spec"
) -> Iterator[Problem]:
    """Check that a key has a valid name and is in the job's region."""
    if encryption_spec is None:
        return
    path, name = f"{path}.kms_key_name", encryption_spec.kms_key_name
    match = _KEY.fullmatch(name)
    if match is None:
        yield KMS_KEY.broken(
            path,
            f"{shown(name)} is not a key; write "
            "projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY",
        )
    elif options.location and match.group(1) != options.location:
        yield KMS_KEY.broken(
            path,
            f"the key is in {match.group(1)}, the job runs in {options.location}; use a key of the "
            "job's region",
            rests_on=(path, "location"),
        )


def labels_problems(labels: Mapping[str, str]) -> Iterator[Problem]:
    """Check labels, of which some are reserved for the provider."""
    for problem in label_problems(labels, spare=MAX_PROVIDER_LABELS):
        yield LABELS.broken(problem.path, problem.message, rests_on=problem.rests_on)
