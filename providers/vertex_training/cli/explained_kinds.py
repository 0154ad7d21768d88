"""Every kind that `explain` reads, by the form of its documents."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from vertex_training.cli import explain_custom_job, explain_training_pipeline, explain_tuning_job
from vertex_training.cli.explained_kind import ExplainedKind
from vertex_training.specs.document import Document, Form

_KINDS: Mapping[Form, ExplainedKind] = MappingProxyType(
    {
        "tuning_job": explain_tuning_job.KIND,
        "training_pipeline": explain_training_pipeline.KIND,
    }
)


def kind_of(document: Document[Any]) -> ExplainedKind:
    """How a document is explained; all other forms are those of custom jobs."""
    return _KINDS.get(document.form, explain_custom_job.KIND)
