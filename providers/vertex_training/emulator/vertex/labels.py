"""The check of labels, which is that of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vertex_training.emulator.jobs.validation import LABELS, has_right_labels
from vertex_training.emulator.rpc import Violation


def faults(labels: Mapping[str, str], path: str) -> Iterator[Violation]:
    """What is wrong with the labels of a resource."""
    if not has_right_labels(labels):
        yield Violation(path, LABELS)
