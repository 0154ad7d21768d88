"""Variables that are the same in every replica of a job on Vertex AI, and for the emulator's devices.

Sources: the API (`CustomJobSpec.base_output_directory`) for the directories; variables of real jobs for
CLOUD_ML_*; for the rest Google's client library, which reads them (`training_utils`, `metadata.constants`).

Left out are AIP_TF_PROFILER_PORT and AIP_HTTP_HANDLER_PORT, which the profiler's web server reads, and
TPU_NODE_NAME and TPU_CONFIG: only the service knows their values. AIP_DATA_FORMAT and AIP_*_DATA_URI follow
from the dataset of a training pipeline and are in `pipeline_data`.

The variables of devices are not set on Google Cloud, where the accelerators exist. JAX, and XLA below other
frameworks, create CPU devices if a flag asks for them. TensorFlow creates them by a call, which the
emulator's `sitecustomize` makes. PyTorch has no such devices: a program starts one process for each, with the
number from `vertex_cluster.local_devices`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from vertex_training.fields import uris
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.topology.pools import WorkerPoolSpec

METRIC_TAG = "training/hptuning/metric"
"""The tag of a metric that a program reports without one (package `cloudml-hypertune`)."""

METRIC_FILE = "/tmp/hypertune/output.metrics"  # noqa: S108 - inside the replica
"""The file in which a program reports its metric if the service names none (package `cloudml-hypertune`)."""


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """The facts about a run that its spec does not have: project, location and ids.

    `trial` is None outside a tuning job; `data` are the variables of a pipeline's dataset.
    """

    job_id: str
    project_number: str
    location: str
    trial: str | None = None
    metric_tag: str = METRIC_TAG
    metric_file: str = METRIC_FILE
    data: Mapping[str, str] = field(default_factory=dict)


def job_variables(spec: CustomJobSpec, context: RunContext) -> dict[str, str]:
    """Return the variables that follow from the job as a whole, and from its trial.

    Raises ValueError if the trial is not a number from "1".
    """
    trial = context.trial
    return {
        "CLOUD_ML_PROJECT_ID": context.project_number,
        "CLOUD_ML_JOB_ID": context.job_id,
        "CLOUD_ML_REGION": context.location,
        **tuning_variables(trial, metric_tag=context.metric_tag, metric_file=context.metric_file),
        **_directories(spec.base_output_directory, trial),
        **_tensorboard(spec.tensorboard, context.location),
        **_experiment(spec),
        **context.data,
    }


def _directories(base_output_directory: str | None, trial: str | None) -> dict[str, str]:
    """Return the directories for model, checkpoints and logs. A trial has its own below the job's."""
    if not base_output_directory:
        return {}
    base = uris.directory(base_output_directory) + (f"{trial}/" if trial else "")
    return {
        "AIP_MODEL_DIR": f"{base}model/",
        "AIP_CHECKPOINT_DIR": f"{base}checkpoints/",
        "AIP_TENSORBOARD_LOG_DIR": f"{base}logs/",
    }


def _tensorboard(name: str | None, location: str) -> dict[str, str]:
    """Return the name of the TensorBoard that gets the logs, and the API's host in its region.

    The client library uses the second as its `api_endpoint`, hence a host without a scheme. The value on
    Vertex AI has not been observed.
    """
    if not name:
        return {}
    region = re.search(r"/locations/([^/]+)/", name)
    return {
        "AIP_TENSORBOARD_RESOURCE_NAME": name,
        "AIP_TENSORBOARD_API_URI": f"{region.group(1) if region else location}-aiplatform.googleapis.com",
    }


def _experiment(spec: CustomJobSpec) -> dict[str, str]:
    """Return the names as the job gives them: the client library reads both full and short names."""
    named = {"AIP_EXPERIMENT_NAME": spec.experiment, "AIP_EXPERIMENT_RUN_NAME": spec.experiment_run}
    return {variable: name for variable, name in named.items() if name}


def tuning_variables(
    trial: str | None, *, metric_tag: str = METRIC_TAG, metric_file: str = METRIC_FILE
) -> dict[str, str]:
    """Return the variables of a trial, or none if `trial` is None, that is, outside a tuning job.

    Raises ValueError if `trial` is not a number from "1".
    """
    if trial is None:
        return {}
    if not re.fullmatch(r"[1-9][0-9]*", trial):
        raise ValueError(f'{trial!r} is not a trial; give its number as text, from "1"')
    return {
        "CLOUD_ML_TRIAL_ID": trial,
        "CLOUD_ML_HP_METRIC_FILE": metric_file,
        "CLOUD_ML_HP_METRIC_TAG": metric_tag,
    }


DEVICES = "VERTEX_CLUSTER_LOCAL_DEVICES"
"""Read by `vertex_cluster.local_devices`."""

XLA_FLAGS = "XLA_FLAGS"
_FLAG = "--xla_force_host_platform_device_count"


def local_devices(pool: WorkerPoolSpec) -> int:
    """Return how many devices each replica of a pool has on the emulator: 0 without accelerators."""
    return pool.machine_spec.accelerator_count if pool.machine_spec else 0


def local_device_variables(pool: WorkerPoolSpec, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that make the devices of a pool's replicas; none without accelerators.

    `given` has the replica's own variables: its other flags are kept, and its own number of devices wins.
    """
    count = local_devices(pool)
    if not count:
        return {}
    flags = (given or {}).get(XLA_FLAGS, "")
    if not re.search(rf"{_FLAG}\b", flags):
        flags = f"{flags} {_FLAG}={count}".strip()
    return {DEVICES: (given or {}).get(DEVICES, str(count)), XLA_FLAGS: flags}
