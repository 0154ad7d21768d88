"""The parity page's rows of training pipelines, datasets and models."""

from __future__ import annotations

from support.parity.page import Row, Section

API = "API reference"
CAPTURED = "captured answers"
GUIDE = "guide"

LIFE = "tests/vertex_emulator/training_pipelines/test_pipelines.py"
DATA = "tests/vertex_emulator/training_pipelines/test_pipeline_data.py"
INPUTS = "tests/vertex_emulator/training_pipelines/test_pipeline_inputs.py"
TUNING = "tests/vertex_emulator/training_pipelines/test_pipeline_tuning.py"
RECOVERY = "tests/vertex_emulator/training_pipelines/test_pipeline_recovery.py"
SPLITS = "tests/vertex_emulator/datasets/test_dataset_splitting.py"
FILES = "tests/vertex_emulator/datasets/test_dataset_files.py"
DATASETS_TESTS = "tests/vertex_emulator/datasets/test_datasets.py"
REGISTRY = "tests/vertex_emulator/models/test_models.py"
SDK = "tests/clients/vertex/test_sdk_training_pipelines.py"
GCLOUD = "tests/clients/vertex/test_gcloud_other_kinds.py"

PIPELINES = Section(
    title="Training pipelines",
    rows=(
        Row(
            feature="custom task",
            google="runs a custom job, names it in the metadata, and reports its state and error",
            likeness="same",
            here="the job is a normal custom job, with logs",
            source=GUIDE,
            tests=(
                f"{LIFE}::test_a_pipeline_trains_and_uploads_its_model",
                f"{LIFE}::test_the_error_of_the_job_is_that_of_the_pipeline",
            ),
        ),
        Row(
            feature="tuning task",
            google="runs a tuning job; the model is the best trial's",
            likeness="same",
            here="metadata and model are those of the best trial",
            source=API,
            tests=(f"{TUNING}::test_the_best_trial_becomes_the_model",),
        ),
        Row(
            feature="task inputs",
            google="accepts an untyped value, and rejects one that does not fit the task with one sentence",
            likeness="same",
            here="the same sentence; each fault is in the error's details",
            source=CAPTURED,
            tests=(
                f"{INPUTS}::test_the_form_of_the_sdk",
                f"{INPUTS}::test_invalid_inputs",
                f"{INPUTS}::test_any_inputs_are_parsed_or_rejected",
            ),
        ),
        Row(
            feature="other tasks",
            google="has AutoML",
            likeness="not",
            here="a pipeline with another task is refused by name",
            source=API,
            tests=(f"{INPUTS}::test_an_unknown_task",),
        ),
        Row(
            feature="data for training",
            google="exports the dataset in shards and passes their URIs to the replicas",
            likeness="same",
            here="up to four files a set, readable by gs:// and /gcs",
            source=API,
            tests=(
                f"{DATA}::test_the_program_finds_its_data",
                f"{DATA}::test_items_are_exported_as_json_lines",
            ),
        ),
        Row(
            feature="splits",
            google="by fractions (roughly), filters, a column, time or category",
            likeness="like",
            here="all five, with exact counts; random splits are reproducible",
            source=API,
            tests=(
                f"{DATA}::test_splits_of_tables",
                f"{DATA}::test_items_are_split_by_filters",
                f"{SPLITS}::test_counts_are_within_one_of_the_share",
                f"{SPLITS}::test_each_category_is_split_exactly",
            ),
        ),
        Row(
            feature="BigQuery as source or destination",
            google="reads and writes tables",
            likeness="not",
            here="rejected with a remedy when data is requested",
            source=API,
            tests=(
                f"{DATA}::test_bigquery_is_rejected",
                f"{INPUTS}::test_invalid_configurations",
            ),
        ),
        Row(
            feature="model to upload",
            google="uploads the files of the model after success, as a new model or a version of another",
            likeness="like",
            here="the same; the files stay where they are",
            source=GUIDE,
            tests=(
                f"{LIFE}::test_a_pipeline_trains_and_uploads_its_model",
                f"{LIFE}::test_a_further_version_of_a_model",
                f"{LIFE}::test_a_training_that_leaves_no_files_fails",
            ),
        ),
        Row(
            feature="cancel and delete of pipelines",
            google="cancels the job; refuses to cancel what has ended",
            likeness="same",
            here="in the words of a captured answer; that a live pipeline cannot be deleted is ours",
            source=CAPTURED,
            tests=(
                f"{LIFE}::test_cancelling_a_pipeline_cancels_its_job",
                f"{LIFE}::test_an_ended_pipeline_cannot_be_cancelled",
                f"{LIFE}::test_deleting",
            ),
        ),
        Row(
            feature="list of pipelines",
            google="filters by name, state, task, time and labels",
            likeness="same",
            here="all of them, with read masks",
            source=API,
            tests=(f"{LIFE}::test_lists",),
        ),
        Row(
            feature="a killed emulator",
            google="continues by itself",
            likeness="like",
            here="continues at its next start; a model is uploaded once",
            source="ours: restarts of the service are not visible",
            tests=(
                f"{RECOVERY}::test_a_job_that_ended_meanwhile_uploads_its_model_once",
                f"{RECOVERY}::test_a_pipeline_that_was_killed_before_its_job_runs_it_once",
            ),
        ),
        Row(
            feature="training jobs of the SDK",
            google="script, package and container",
            likeness="same",
            here="all three run unchanged",
            source="google-cloud-aiplatform",
            tests=(
                f"{SDK}::test_a_script_with_a_dataset",
                f"{SDK}::test_a_container_with_texts",
                f"{SDK}::test_a_package_on_two_replicas",
            ),
        ),
    ),
)

DATASETS = Section(
    title="Datasets",
    rows=(
        Row(
            feature="create, get, list, update, delete of datasets",
            google="echoes a dataset with a label for its kind",
            likeness="same",
            here="every field comes back",
            source=API,
            tests=(
                f"{DATASETS_TESTS}::test_a_dataset_is_returned_as_sent",
                f"{DATASETS_TESTS}::test_listing",
                f"{DATASETS_TESTS}::test_updating",
                f"{DATASETS_TESTS}::test_deleting",
            ),
        ),
        Row(
            feature="tables",
            google="reads CSV in several files with one header",
            likeness="same",
            here="wildcards, quoted line breaks and byte order marks too",
            source=GUIDE,
            tests=(f"{DATA}::test_several_files_with_wildcards", f"{FILES}::test_rows"),
        ),
        Row(
            feature="items",
            google="imports JSON Lines and CSV of every kind of data",
            likeness="like",
            here="JSON Lines of every kind, CSV of classification; all of an import or nothing",
            source=GUIDE,
            tests=(f"{FILES}::test_items", f"{DATASETS_TESTS}::test_an_import_is_all_or_nothing"),
        ),
        Row(
            feature="export",
            google="writes the sets and their numbers",
            likeness="same",
            here="as for a pipeline",
            source=API,
            tests=(f"{DATASETS_TESTS}::test_exporting_for_training", f"{SDK}::test_an_export_of_texts"),
        ),
        Row(
            feature="data items, annotations, saved queries",
            google="can be listed and searched",
            likeness="not",
            here="such calls are refused by name",
            source=API,
            tests=(f"{DATASETS_TESTS}::test_the_error_names_an_unimplemented_method",),
        ),
    ),
)

MODELS = Section(
    title="Models",
    rows=(
        Row(
            feature="upload and get of models",
            google="takes files and a serving container",
            likeness="same",
            here="every field comes back; a model without a container, or without files, is refused",
            source=API,
            tests=(
                f"{REGISTRY}::test_a_model_in_the_form_of_the_service",
                f"{REGISTRY}::test_invalid_models",
                f"{GCLOUD}::test_models_describe",
            ),
        ),
        Row(
            feature="versions and aliases",
            google="numbers versions; an alias belongs to one of them, `default` always to one",
            likeness="same",
            here="numbers of deleted versions are not used again",
            source=GUIDE,
            tests=(
                f"{REGISTRY}::test_versions_by_name",
                f"{REGISTRY}::test_aliases_are_merged",
                f"{REGISTRY}::test_a_model_keeps_its_default",
                f"{REGISTRY}::test_deleting_a_version",
                f"{SDK}::test_the_second_version",
            ),
        ),
        Row(
            feature="list of models",
            google="filters by id, name, labels and base model; orders by name and times",
            likeness="same",
            here="all of them, with pages and read masks",
            source=API,
            tests=(f"{REGISTRY}::test_lists", f"{REGISTRY}::test_the_second_page"),
        ),
        Row(
            feature="update of models",
            google="changes the fields of a model or those of a version, not both",
            likeness="same",
            here="by the name with or without a version",
            source=API,
            tests=(f"{REGISTRY}::test_updating_a_version", f"{REGISTRY}::test_invalid_updates"),
        ),
        Row(
            feature="export and copy of models",
            google="copies files, or a model to another location",
            likeness="like",
            here="an export copies files, not images; a copy has the files of its original",
            source=API,
            tests=(f"{REGISTRY}::test_exporting_a_model", f"{REGISTRY}::test_copying_a_model"),
        ),
        Row(
            feature="files of a model",
            google="keeps a copy of its own",
            likeness="like",
            here="they stay at `artifactUri`, also after the deletion of the model",
            source=API,
            tests=(f"{REGISTRY}::test_deleting_a_model_keeps_its_files",),
        ),
    ),
)
