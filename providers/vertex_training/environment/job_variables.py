"""Variables that are the same in every replica of a job on Vertex AI, and those of a trial.

Sources: the API (`CustomJobSpec.base_output_directory`) for the directories; variables of real jobs for
CLOUD_ML_*; Google's client library for the rest, which reads it (`training_utils`, `metadata.constants`).

Not here: AIP_TF_PROFILER_PORT and AIP_HTTP_HANDLER_PORT, which the profiler's web server reads, TPU_NODE_NAME
and TPU_CONFIG, because the service alone knows their values; AIP_DATA_FORMAT and AIP_*_DATA_URI, because they
follow from a training pipeline's data set and not from the job (`pipeline_data`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from vertex_training.fields import uris
from vertex_training.job.custom_job import CustomJobSpec

METRIC_TAG = "training/hptuning/metric"
"""The name under which a program reports its metric unless it gives another (package `cloudml-hypertune`)."""

METRIC_FILE = "/tmp/hypertune/output.metrics"  # noqa: S108 - inside the replica
"""Where a program reports its metric unless the service names a file (package `cloudml-hypertune`)."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """Where and as what a job runs: the facts that its spec does not have. `trial` is None outside tuning;
    `data` are the variables of a pipeline's data.
    """

    job_id: str
    project_number: str
    location: str
    trial: str | None = None
    metric_tag: str = METRIC_TAG
    metric_file: str = METRIC_FILE
    data: Mapping[str, str] = field(default_factory=dict)


def job_variables(spec: CustomJobSpec, submission: Submission) -> dict[str, str]:
    """Everything that follows from the job as a whole; of a trial, when there is one.

    Raises ValueError when the trial is not a number from "1".
    """
    trial = submission.trial
    return {
        "CLOUD_ML_PROJECT_ID": submission.project_number,
        "CLOUD_ML_JOB_ID": submission.job_id,
        "CLOUD_ML_REGION": submission.location,
        **tuning_variables(trial, metric_tag=submission.metric_tag, metric_file=submission.metric_file),
        **_directories(spec.base_output_directory, trial),
        **_tensorboard(spec.tensorboard, submission.location),
        **_experiment(spec),
        **submission.data,
    }


def _directories(base_output_directory: str | None, trial: str | None) -> dict[str, str]:
    """Where to put the model, checkpoints and logs; a trial has its own below the job's."""
    if not base_output_directory:
        return {}
    base = uris.directory(base_output_directory) + (f"{trial}/" if trial else "")
    return {
        "AIP_MODEL_DIR": f"{base}model/",
        "AIP_CHECKPOINT_DIR": f"{base}checkpoints/",
        "AIP_TENSORBOARD_LOG_DIR": f"{base}logs/",
    }


def _tensorboard(name: str | None, location: str) -> dict[str, str]:
    """The instance that the logs are uploaded to, and the API's host in its region.

    The client library takes the second for its `api_endpoint`, hence a host without a scheme; the value has
    not been seen.
    """
    if not name:
        return {}
    region = re.search(r"/locations/([^/]+)/", name)
    return {
        "AIP_TENSORBOARD_RESOURCE_NAME": name,
        "AIP_TENSORBOARD_API_URI": f"{region.group(1) if region else location}-aiplatform.googleapis.com",
    }


def _experiment(spec: CustomJobSpec) -> dict[str, str]:
    """The names as the job gives them: the client library reads full names and short ones."""
    named = {"AIP_EXPERIMENT_NAME": spec.experiment, "AIP_EXPERIMENT_RUN_NAME": spec.experiment_run}
    return {variable: name for variable, name in named.items() if name}


def tuning_variables(
    trial: str | None, *, metric_tag: str = METRIC_TAG, metric_file: str = METRIC_FILE
) -> dict[str, str]:
    """The variables of a trial; none outside a tuning job, where `trial` is None.

    Raises ValueError when `trial` is not a number from "1".
    """
    if trial is None:
        return {}
    if not re.fullmatch(r"[1-9][0-9]*", trial):
        raise ValueError(f'{trial!r} is no trial; give its number as text, from "1"')
    return {
        "CLOUD_ML_TRIAL_ID": trial,
        "CLOUD_ML_HP_METRIC_FILE": metric_file,
        "CLOUD_ML_HP_METRIC_TAG": metric_tag,
    }
