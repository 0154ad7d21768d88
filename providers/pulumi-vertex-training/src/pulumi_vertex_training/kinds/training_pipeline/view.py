"""The view of a training pipeline: its data, its task, and the model that it uploads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.documents.document import Document
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.hyperparameter_tuning_job.view import TRIAL_TITLES
from pulumi_vertex_training.kinds.training_pipeline import spec as training_pipeline
from pulumi_vertex_training.kinds.training_pipeline.spec import (
    TrainingPipelineSpec,
    backing_job,
    job_of,
    uploaded_model,
)
from pulumi_vertex_training.views import pools_view, study_view
from pulumi_vertex_training.views.explained import Explanation, Sample, as_readable_document
from pulumi_vertex_training.views.kind_view import KindView, Titles
from vertex_training.command_line.output import Output
from vertex_training.fields.decode import encode
from vertex_training.fields.values import NOT_KNOWN
from vertex_training.findings.words import all_of, shown
from vertex_training.job.input_data import SPLITS, FractionSplit, InputDataConfig
from vertex_training.replica_environment.pipeline_data import Export, data_variables, format_of
from vertex_training.study.description import goals

SAMPLE_TIME = "2026-01-31T12:00:00.000Z"
_CONTENTS = {"csv": "tabular", "bigquery": "tabular", "jsonl": "data"}
_SHOWN = frozenset(
    {"custom_task", "tuning_task", "input_data_config", "model_to_upload", "model_id", "parent_model"}
)


def heading(explained: Explanation) -> str:
    """Describe a pipeline and its task, such as "A training pipeline that runs a job of one replica: ..."."""
    spec = _spec(explained.document)
    words = pools_view.in_words(explained.spec)
    job = f"{words[0].lower()}{words[1:]}" if words else "a job without replicas"
    bare = pools_view.bare_in_words(explained.spec) if words and explained.spec else ""
    tuning = spec.tuning_task
    if tuning is not None:
        trials = study_view.trials_in_words(tuning, _gaps(explained.document))
        of = f" in {trials}{',' if ',' in trials else ''}" if trials else ""
        task = f"tunes{of} to {goals(tuning.study_spec.metrics)}. Each trial is {job}."
    elif spec.custom_task is not None:
        task = f"runs {job}."
    else:
        return "A training pipeline without a task."
    return f"A training pipeline that {task}{bare}"


def titles(explained: Explanation) -> Titles:
    """Return the headings for the task, or for the trials of a tuning task."""
    if _spec(explained.document).tuning_task is not None:
        return TRIAL_TITLES
    return Titles(pools="Its task runs", fields="The job")


def show(explained: Explanation, output: Output) -> None:
    """Print the data, the model, the other fields, and the study and trials of a tuning task."""
    spec = _spec(explained.document)
    if spec.input_data_config is not None:
        output.section("The data")
        output.pairs(list(_data(spec.input_data_config, spec)))
    output.section("The model")
    output.pairs(list(_model(spec)))
    fields = {key: value for key, value in encode(spec).items() if key not in _SHOWN}
    pools_view.show_fields(fields, output, title="The pipeline")
    if spec.tuning_task is not None:
        study_view.show_study(spec.tuning_task.study_spec, output)
        study_view.show_trials(spec.tuning_task, explained, output, _gaps(explained.document))


def _data(config: InputDataConfig, spec: TrainingPipelineSpec) -> Iterator[tuple[str, str]]:
    yield "dataset", pools_view.known(config.dataset_id)
    yield "split", split_in_words(config)
    yield "written", destination_in_words(config, _directory(spec))
    yield "format", _format(config)
    if config.annotations_filter:
        yield "annotations", config.annotations_filter
    if config.annotation_schema_uri:
        yield "annotations of", config.annotation_schema_uri
    if config.saved_query_id:
        yield "saved query", config.saved_query_id
    if config.persist_ml_use_assignment:
        yield "afterwards", "The dataset keeps which set each item was in."
    yield (
        "found by",
        "AIP_DATA_FORMAT, AIP_TRAINING_DATA_URI, AIP_VALIDATION_DATA_URI and AIP_TEST_DATA_URI of every "
        f"replica; the service chooses the time in them, {SAMPLE_TIME} is a sample",
    )


def _format(config: InputDataConfig) -> str:
    known = format_of(config)
    if known is None:
        return "CSV for a table, JSON Lines for other datasets; shown below as CSV"
    return {"csv": "CSV", "jsonl": "JSON Lines", "bigquery": "tables of BigQuery"}[known]


def _model(spec: TrainingPipelineSpec) -> Iterator[tuple[str, str]]:
    model = spec.model_to_upload
    if model is None:
        yield "uploads", "none"
        return
    yield "uploads", pools_view.known(model.display_name)
    yield "becomes", _version(spec)
    yield "files", model.artifact_uri or _artifacts(spec)
    if model.container_spec is not None:
        yield "served by", pools_view.known(model.container_spec.image_uri)
    if model.version_aliases:
        yield "aliases", ", ".join(model.version_aliases)


def _version(spec: TrainingPipelineSpec) -> str:
    if spec.parent_model:
        return f"a new version of {spec.parent_model}"
    if spec.model_id:
        return f"the model {spec.model_id}, or a new version of it if it exists"
    return "a new model"


def _artifacts(spec: TrainingPipelineSpec) -> str:
    directory = _directory(spec)
    if not directory:
        return "none: there is no output directory"
    best = "TRIAL/" if spec.tuning_task is not None else ""
    return f"{directory}{best}model/" + (", of the best trial" if best else ", the AIP_MODEL_DIR of its task")


def document(explained: Explanation) -> dict[str, Any]:
    """Return the keys of `--json`."""
    spec, gaps = _spec(explained.document), _gaps(explained.document)
    tuning, config = spec.tuning_task, spec.input_data_config
    return {
        "trainingPipeline": as_readable_document(training_pipeline.to_wire(spec), explained.document),
        "task": "tuning" if tuning is not None else "custom" if spec.custom_task is not None else None,
        "data": config
        and {
            "dataset": config.dataset_id,
            "split": split_of(config),
            "splitInWords": split_in_words(config),
            "destination": destination_in_words(config, _directory(spec)),
            "format": format_of(config),
            "env": dict(explained.sample.data),
        },
        "model": _model_document(spec),
        **(
            {
                "study": study_view.study_document(tuning.study_spec),
                "trials": study_view.trials_document(tuning, explained, gaps),
            }
            if tuning is not None
            else {}
        ),
    }


def _model_document(spec: TrainingPipelineSpec) -> dict[str, Any] | None:
    model = spec.model_to_upload
    if model is None:
        return None
    return {
        "displayName": model.display_name,
        "becomes": _version(spec),
        "files": model.artifact_uri or _artifacts(spec),
        "imageUri": model.container_spec.image_uri if model.container_spec else None,
        "aliases": list(model.version_aliases),
    }


def sample(whole: Document[Any], given: Sample) -> Sample:
    """Add the data, and the environment of a trial, to a sample."""
    spec = _spec(whole)
    if spec.tuning_task is not None:
        given = study_view.sample_of_trial(spec.tuning_task, given, _gaps(whole))
    config = spec.input_data_config
    if config is None:
        return given
    written_as = format_of(config) or "csv"
    export = Export(format=written_as, content=_CONTENTS[written_as], time=SAMPLE_TIME)
    return replace(given, data=data_variables(config, export, output_directory=_directory(spec)))


def _directory(spec: TrainingPipelineSpec) -> str | None:
    job = job_of(spec)
    return job.base_output_directory if job else None


def _gaps(whole: Document[Any]) -> frozenset[str]:
    """Return the unknown fields of a tuning task."""
    return frozenset(gap.removeprefix("tuning_task.") for gap in whole.damaged)


def _spec(whole: Document[Any]) -> TrainingPipelineSpec:
    return cast(TrainingPipelineSpec, whole.spec)


_DEFAULT = "about 80 % training, 10 % validation and 10 % test"
_SETS = ("training", "validation", "test")


def split_of(config: InputDataConfig) -> str:
    """Return the name of the field that splits the data; the default is `fraction_split`."""
    return next((name for name in SPLITS if getattr(config, name) is not None), "fraction_split")


def split_in_words(config: InputDataConfig) -> str:
    """Describe the split, such as "70 % training, 20 % validation and 10 % test, at random."."""
    if config.filter_split is not None:
        filters = [f"{name} {shown(getattr(config.filter_split, f'{name}_filter'))}" for name in _SETS]
        return f"By the first filter that matches an item: {all_of(filters)}."
    if config.predefined_split is not None:
        return f"By the column {_known(config.predefined_split.key)}, which has the set of each row."
    if config.timestamp_split is not None:
        by = f"in the order of the times in the column {_known(config.timestamp_split.key)}"
        return f"{_fractions(config.timestamp_split)}, {by}."
    if config.stratified_split is not None:
        by = f"each with the same shares of the values in the column {_known(config.stratified_split.key)}"
        return f"{_fractions(config.stratified_split)}, {by}."
    return f"{_fractions(config.fraction_split or FractionSplit())}, at random."


def _fractions(split: FractionSplit) -> str:
    shares = {name: getattr(split, f"{name}_fraction") for name in _SETS}
    if not any(shares.values()):
        return _DEFAULT[0].upper() + _DEFAULT[1:]
    text = all_of([f"{100 * share:.6g} % {name}" for name, share in shares.items()])
    rest = 1 - sum(shares.values())
    return text + (f"; the service assigns the other {100 * rest:.6g} %" if rest > 1e-9 else "")


def destination_in_words(config: InputDataConfig, output_directory: str | None) -> str:
    """Describe the destination of the data in a sentence."""
    if config.bigquery_destination:
        return f"To tables in a new dataset of {_known(config.bigquery_destination)}."
    if config.gcs_destination:
        return f"To files in a new folder below {_known(config.gcs_destination)}."
    if output_directory:
        return f"To files in a new folder below {_known(output_directory)}, the output directory."
    return "Nowhere: there is no destination, and no output directory."


def _known(text: str) -> str:
    return "?" if text in ("", NOT_KNOWN) else text


def listed(record: JobRecord, _: Collection[str]) -> dict[str, Any]:
    """Return the keys of `jobs --json`."""
    return {"backingJob": backing_job(record.wire)}


def status(record: JobRecord, _: Collection[str]) -> dict[str, Any]:
    """Return the keys of `status --json`."""
    return {
        "trainingTaskInputs": record.wire.get("trainingTaskInputs", {}),
        "backingJob": backing_job(record.wire),
        "model": _uploaded(record),
    }


def facts(record: JobRecord) -> Iterator[tuple[str, str]]:
    """Yield the lines of `status`, each a title and a value."""
    yield "Runs", backing_job(record.wire) or ""
    yield "Model", _uploaded(record) or ""


def replicas_of(record: JobRecord) -> str | None:
    """Return the custom job that trains; None before there is one, and for a tuning task."""
    backing = backing_job(record.wire)
    return backing if backing and f"/{custom_jobs.GATEWAY.collection}/" in backing else None


def _uploaded(record: JobRecord) -> str | None:
    """Return the full name of the model that a pipeline has uploaded, or None."""
    model = record.wire.get("modelToUpload")
    name = model.get("name") if isinstance(model, Mapping) else None
    return str(name) if name else None


def model_of(record: JobRecord) -> str | None:
    """Return the full name of the uploaded model, with its version if it is known; or None."""
    model = uploaded_model(record.wire)
    return "@".join(filter(None, model)) if model else None


VIEW = KindView(
    heading=heading,
    titles=titles,
    show=show,
    document=document,
    sample=sample,
    listed=listed,
    status=status,
    facts=facts,
    replicas_of=replicas_of,
    model_of=model_of,
)
