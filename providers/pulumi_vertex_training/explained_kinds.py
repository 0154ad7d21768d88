"""Every kind that `explain` reads, by the form of its documents."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pulumi_vertex_training.documents.document import Document, Form
from pulumi_vertex_training.kinds.custom_job import view as explain_custom_job
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import view as explain_tuning_job
from pulumi_vertex_training.kinds.training_pipeline import view as explain_training_pipeline
from pulumi_vertex_training.views.explained_kind import ExplainedKind

_KINDS: Mapping[Form, ExplainedKind] = MappingProxyType(
    {
        "tuning_job": explain_tuning_job.VIEW,
        "training_pipeline": explain_training_pipeline.VIEW,
    }
)


def kind_of(document: Document[Any]) -> ExplainedKind:
    """How a document is explained; all other forms are those of custom jobs."""
    return _KINDS.get(document.form, explain_custom_job.VIEW)
