"""Variables that are the same in every replica: of the job, of its data, and of the emulator's devices.

Sources: the API (`CustomJobSpec.base_output_directory`) for the directories; variables of real jobs for
CLOUD_ML_*; for the rest Google's client library, which reads them (`training_utils`, `metadata.constants`).

Left out are AIP_TF_PROFILER_PORT and AIP_HTTP_HANDLER_PORT, which the profiler's web server reads, and
TPU_NODE_NAME and TPU_CONFIG: only the service knows their values. AIP_DATA_FORMAT and AIP_*_DATA_URI follow
from the dataset of a training pipeline and are in `pipeline_data`.

These variables are not set on Google Cloud, where the accelerators exist. JAX, and XLA below other
frameworks, create CPU devices if a flag asks for them. TensorFlow creates them by a call, which the
emulator's `sitecustomize` makes. PyTorch has no such devices: a program starts one process for each, with the
number from `vertex_cluster.local_devices`.

Source: Vertex AI API, `InputDataConfig.gcs_destination` and `.bigquery_destination`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from vertex_training.fields import uris
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.job.input_data import InputDataConfig
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
    """Return the variables that follow from the job as a whole, including those of its trial.

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


Format = Literal["csv", "jsonl", "bigquery"]

SETS = ("training", "validation", "test")
"""The sets of a split, in the order of the API."""

_OF_TABLES = ("predefined_split", "timestamp_split", "stratified_split")
_OF_ITEMS = ("filter_split", "annotations_filter", "annotation_schema_uri", "saved_query_id")


@dataclass(frozen=True, kw_only=True)
class Export:
    """Facts about an export that only the running pipeline knows.

    `content` is the dataset's kind of data ("tabular", "image_classification"); `time` is the time of the
    export, YYYY-MM-DDThh:mm:ss.sssZ.
    """

    format: Format
    content: str
    time: str


def format_of(config: InputDataConfig) -> Format | None:
    """Return the format of the export, or None if only the dataset decides.

    Only tables are split by a column, only items by filters (Vertex AI API, `InputDataConfig`).
    """
    if config.bigquery_destination:
        return "bigquery"
    if any(getattr(config, name) for name in _OF_ITEMS) or config.persist_ml_use_assignment:
        return "jsonl"
    return "csv" if any(getattr(config, name) for name in _OF_TABLES) else None


def data_variables(
    config: InputDataConfig, export: Export, *, output_directory: str | None = None
) -> dict[str, str]:
    """Return the variables of every replica.

    Data without a destination of its own is exported to `output_directory`; without either there are no
    variables.
    """
    if config.bigquery_destination:
        moment = re.sub(r"[-:.]", "_", export.time)
        table = f"{config.bigquery_destination}.dataset_{config.dataset_id}_{export.content}_{moment}"
        addresses = {name: f"{table}.{name}" for name in SETS}
    else:
        prefix = config.gcs_destination or output_directory
        if not prefix:
            return {}
        folder = uris.directory(prefix) + folder_name(config.dataset_id, export.content, export.time)
        addresses = {name: f"{folder}/{file_pattern(name, export.format)}" for name in SETS}
    return variables(export.format, addresses)


def variables(data_format: str, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for data in this format; `addresses` has the address of each set.

    Source: Vertex AI documentation, "Use managed datasets".
    """
    return {
        "AIP_DATA_FORMAT": data_format,
        **{f"AIP_{name.upper()}_DATA_URI": address for name, address in addresses.items()},
    }


def folder_name(dataset_id: str, content: str, time: str) -> str:
    """Return the folder of an export, without a slash; `content` and `time` are those of `Export`."""
    return f"dataset-{dataset_id}-{content}-{time}"


def file_pattern(set_name: str, extension: str) -> str:
    """Return the wildcard that matches all files of a set."""
    return f"{set_name}-*.{extension}"
