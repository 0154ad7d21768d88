"""From what a program or a file says of a training pipeline to its spec, with every finding."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_vertex_training.kinds.training_pipeline.rules import validate
from pulumi_vertex_training.kinds.training_pipeline.spec import TrainingPipelineSpec, flat, normalise
from vertex_training.fields.decode import Decoded
from vertex_training.findings import options as check_options
from vertex_training.findings.options import CheckOptions
from vertex_training.job.reading import decode_spec

PARTS = ("custom_task", "tuning_task.trial_job_spec")
"""Where what runs stands in a pipeline."""


def read(
    value: object, *, options: CheckOptions = check_options.DEFAULT, has_output: bool = False
) -> Decoded[TrainingPipelineSpec]:
    """Decode, normalise and check a pipeline; every problem at once, with its path.

    The API's own form, with `trainingTaskInputs`, is read as well.
    """
    return decode_spec(
        TrainingPipelineSpec,
        flat(value) if isinstance(value, Mapping) else value,
        normalise=normalise,
        check=lambda spec: validate(spec, options=options, has_output=has_output),
        location=options.location,
        at=PARTS,
    )
