"""The kinds whose documents are read besides custom jobs, which have forms of their own: a line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_vertex_training.documents.document import Document, Form
from pulumi_vertex_training.kinds.hyperparameter_tuning_job import document as tuning_job_document
from pulumi_vertex_training.kinds.training_pipeline import document as training_pipeline_document
from vertex_training.findings.options import CheckOptions


@dataclass(frozen=True, kw_only=True)
class DocumentKind:
    """How a document of one kind is known, and read.

    `what` is what messages call one; any of `keys` says that a document is one. `printed` is the key under
    which `explain --json` prints it, `example` how to write one. `read` never raises.
    """

    form: Form
    what: str
    keys: tuple[str, ...]
    printed: str
    example: str
    read: Callable[[Mapping[Any, object], CheckOptions], Document[Any]]


DOCUMENT_KINDS = (
    DocumentKind(
        form="tuning_job",
        what="a tuning job",
        keys=("study_spec", "trial_job_spec"),
        printed="tuning_job",
        example='{"displayName": ..., "studySpec": {...}, "trialJobSpec": {...}}',
        read=tuning_job_document.read_tuning_job,
    ),
    DocumentKind(
        form="training_pipeline",
        what="a training pipeline",
        keys=(
            "training_task_inputs",
            "training_task_definition",
            "custom_task",
            "tuning_task",
            "input_data_config",
            "model_to_upload",
        ),
        printed="training_pipeline",
        example='{"displayName": ..., "trainingTaskDefinition": ..., "trainingTaskInputs": {...}}',
        read=training_pipeline_document.read_training_pipeline,
    ),
)
