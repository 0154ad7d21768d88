"""The parity page's rows of tensorboards, the metadata store, endpoints, and what is refused."""

from __future__ import annotations

from support.parity.page import Row, Section

BOARDS = "tests/vertex_emulator/tensorboards/test_tensorboards.py"
SERIES = "tests/vertex_emulator/tensorboards/test_time_series.py"
METADATA = "tests/vertex_emulator/metadata/test_metadata_service.py"
ENDPOINTS = "tests/vertex_emulator/endpoints/test_endpoints.py"
SDK = "tests/clients/vertex/test_sdk_experiments.py"
UPLOADER = "tests/clients/vertex/test_uploader.py"
API = "API reference"

EXPERIMENTS = Section(
    title="Experiments and endpoints",
    rows=(
        Row(
            feature="tensorboards, experiments, runs and time series",
            google="create, get, list, update, delete, in batches too; one tensorboard is the default one",
            likeness="same",
            here="the same methods, with a bucket for pictures; all below a deleted resource goes with it",
            source=API,
            tests=(
                f"{BOARDS}::test_a_tensorboard_from_its_creation_to_its_deletion",
                f"{BOARDS}::test_one_tensorboard_is_the_default_one",
                f"{BOARDS}::test_the_bucket_of_a_tensorboard_exists",
                f"{BOARDS}::test_experiments_and_runs_are_below_their_parents",
                f"{BOARDS}::test_a_batch_creates_all_runs_or_none",
                f"{BOARDS}::test_rules_of_tensorboards",
                f"{BOARDS}::test_pages_of_runs",
            ),
        ),
        Row(
            feature="points of time series",
            google="written by step; of a long series a random sample is read, or all",
            likeness="like",
            here="the sample is evenly spaced, and always the same; filters of points are refused",
            source=API,
            tests=(
                f"{SERIES}::test_points_are_read_in_the_order_of_their_steps",
                f"{SERIES}::test_a_long_series_is_sampled",
                f"{SERIES}::test_all_points_are_exported_in_pages",
                f"{SERIES}::test_a_write_is_done_whole_or_not_at_all",
                f"{SERIES}::test_rules_of_points",
            ),
        ),
        Row(
            feature="contexts, artifacts and executions",
            google="create, get, list by filter, update with etags, delete, purge; relations and lineage",
            likeness="like",
            here="the same methods and words of errors; Google's schemas are accepted without a check",
            source=f"errors that users quote; {API}",
            tests=(
                f"{METADATA}::test_a_node_from_its_creation_to_its_deletion",
                f"{METADATA}::test_filters",
                f"{METADATA}::test_artifacts_and_executions_of_a_context",
                f"{METADATA}::test_the_lineage_of_an_artifact",
                f"{METADATA}::test_rules_of_parents",
                f"{METADATA}::test_schemas",
                f"{METADATA}::test_purges",
            ),
        ),
        Row(
            feature="experiments of the SDK",
            google="runs with parameters, metrics, time series, artifacts and executions",
            likeness="same",
            here="it works unchanged, with and without a tensorboard",
            source="google-cloud-aiplatform",
            tests=(
                f"{SDK}::test_an_experiment_without_a_board",
                f"{SDK}::test_an_experiment_with_a_board",
                f"{SDK}::test_artifacts_and_executions_of_a_run",
                f"{SDK}::test_tables_of_pandas",
                f"{SDK}::test_deletions",
                f"{SDK}::test_the_default_board",
            ),
        ),
        Row(
            feature="Google's uploader of TensorBoard logs",
            google="uploads scalars, tensors and pictures, at once or while they are written",
            likeness="same",
            here="it works unchanged, with TensorFlow and TensorBoard installed",
            source="google-cloud-aiplatform",
            tests=(f"{UPLOADER}::test_logs_are_uploaded",),
        ),
        Row(
            feature="tensorboards and metadata after a restart",
            google="are kept",
            likeness="like",
            here="they are kept, and are part of an archive",
            source="ours: a restart of the service is invisible",
            tests=(
                f"{BOARDS}::test_everything_is_there_after_a_restart",
                f"{BOARDS}::test_archives_have_tensorboards_and_metadata",
            ),
        ),
        Row(
            feature="endpoints",
            google="create, get, list, update, delete; models are deployed to them and answer predictions",
            likeness="like",
            here="records only; deployment and prediction are refused, with what to use instead",
            source=API,
            tests=(
                f"{ENDPOINTS}::test_an_endpoint_from_its_creation_to_its_deletion",
                f"{ENDPOINTS}::test_rules_of_endpoints",
                f"{SDK}::test_endpoints_and_the_refusal_to_serve",
            ),
        ),
        Row(
            feature="serving, batch predictions, Vertex AI Pipelines and schedules of Vertex AI",
            google="are services of their own",
            likeness="not",
            here="UNIMPLEMENTED, by name, with what to use instead",
            source=API,
            tests=(
                f"{ENDPOINTS}::test_what_is_not_served_is_refused_by_name",
                f"{ENDPOINTS}::test_the_same_words_over_grpc",
            ),
        ),
    ),
)
