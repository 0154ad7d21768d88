"""The parity page's rows of what all kinds have in common: versions, operations, credentials, logs."""

from __future__ import annotations

from support.parity.page import Row, Section

API = "API reference"
CLIENTS = "the clients themselves"

VERSIONS = "tests/vertex_emulator/custom_jobs/checks/test_vertex_versions.py"
DESCRIPTORS = "tests/vertex_emulator/custom_jobs/checks/test_descriptors.py"
GENERATED = "tests/clients/vertex/test_generated_clients.py"
METADATA = "tests/vertex_emulator/test_metadata.py"
REDIRECT = "tests/clients/vertex/test_redirect.py"
TENSORFLOW = "tests/clients/google_hosts/test_tensorflow.py"
REPLICAS = "tests/clients/vertex/test_inside_replicas.py"
GRPC = "tests/vertex_emulator/grpc_server/test_grpc.py"
GRPC_LOGGING = "tests/vertex_emulator/grpc_server/test_grpc_logging.py"
GRPC_TAIL = "tests/vertex_emulator/grpc_server/test_grpc_tail.py"
LOGGING = "tests/clients/vertex/test_cloud_logging.py"
FOLLOW = "tests/clients/vertex/test_follow.py"
QUERY = "tests/vertex_emulator/logging/test_logging_query.py"
GCLOUD = "tests/clients/vertex/test_gcloud_custom_jobs.py"
HOSTS = "tests/clients/google_hosts"

INTERFACE = Section(
    title="The interface",
    rows=(
        Row(
            feature="methods and messages",
            google="those of its published definitions, over gRPC and REST",
            likeness="like",
            here="the same definitions, compiled, over both; other methods are UNIMPLEMENTED, by name",
            source="the installed client",
            tests=(
                f"{DESCRIPTORS}::test_rules",
                f"{DESCRIPTORS}::test_every_method_of_the_client_is_known",
                f"{DESCRIPTORS}::test_messages_have_the_fields_of_the_client",
                f"{GRPC}::test_errors_have_the_same_details_as_over_http",
                f"{GRPC}::test_unknown_methods_are_named",
            ),
        ),
        Row(
            feature="v1 and v1beta1",
            google="two versions of one service",
            likeness="like",
            here="both, with the messages of v1; features of the beta alone are refused by name",
            source=API,
            tests=(
                f"{VERSIONS}::test_both_versions_create",
                f"{GENERATED}::test_messages_are_those_of_the_version",
            ),
        ),
        Row(
            feature="names",
            google="take the project's id or number, and return the number",
            likeness="same",
            here="the number is computed from the id",
            source="captured responses",
            tests=(
                "tests/vertex_emulator/custom_jobs/checks/test_captured_answers.py::test_the_answer_of_a_creation",
                f"{VERSIONS}::test_a_job_is_found_by_the_project_s_id_and_number",
            ),
        ),
        Row(
            feature="operations",
            google="get, list, wait, cancel, delete; cancelling is best effort",
            likeness="same",
            here="operations survive a restart",
            source=API,
            tests=(
                f"{VERSIONS}::test_waiting_ends_with_the_operation",
                f"{VERSIONS}::test_a_cancelled_operation_ends_with_code_1",
                f"{VERSIONS}::test_after_a_restart_the_undone_ones_are_known",
            ),
        ),
        Row(
            feature="Application Default Credentials",
            google="come from a metadata server, in every replica",
            likeness="like",
            here="a metadata server with a secret in its address, in replicas and in shells",
            source=CLIENTS,
            tests=(
                f"{METADATA}::test_the_token_opens_googles_services",
                f"{METADATA}::test_without_its_secret_it_tells_nothing",
                f"{METADATA}::test_the_token_does_not_open_the_emulators_controls",
                f"{GENERATED}::test_application_default_credentials",
            ),
        ),
        Row(
            feature="programs that call Google's clients",
            google="reach the service by its name",
            likeness="like",
            here="in replicas by the same names, through a proxy; Python programs in shells are redirected",
            source=CLIENTS,
            tests=(
                f"{REPLICAS}::test_what_a_replica_sees",
                f"{REDIRECT}::test_a_client_goes_to_the_emulator",
                f"{REDIRECT}::test_without_the_variable_clients_go_to_google",
                f"{REPLICAS}::test_a_job_that_a_replica_submits_runs",
            ),
        ),
        Row(
            feature="gs:// addresses in TensorFlow",
            google="opened by TensorFlow's own client, with the account of the replica",
            likeness="same",
            here="the same client, unmodified, with the token of the metadata server",
            source=CLIENTS,
            tests=(
                f"{TENSORFLOW}::test_files",
                f"{TENSORFLOW}::test_records",
                f"{TENSORFLOW}::test_models_and_checkpoints",
                f"{TENSORFLOW}::test_tensorboard_has_events",
                f"{TENSORFLOW}::test_the_credentials_are_those_of_every_replica",
            ),
        ),
        Row(
            feature="programs that only know Google's hosts",
            google="connect to them with TLS; Node, Go, Java, gcloud, curl",
            likeness="like",
            here="reach the emulator through its proxy, unmodified; shells have to ask for it",
            source=CLIENTS,
            tests=(
                f"{HOSTS}/test_google_hosts.py::test_go",
                f"{HOSTS}/test_google_hosts.py::test_node",
                f"{HOSTS}/test_google_hosts.py::test_curl",
                f"{HOSTS}/test_java.py::test_googles_libraries",
                f"{HOSTS}/test_gcloud.py::test_jobs",
                f"{HOSTS}/test_gcloud.py::test_storage",
            ),
        ),
        Row(
            feature="images under Google's host names",
            google="LOCATION-docker.pkg.dev and gcr.io are registries, with logins of gcloud",
            likeness="like",
            here="the same names, through the proxy; a login file with all hosts",
            source=CLIENTS,
            tests=(
                f"{HOSTS}/test_registries.py::test_skopeo",
                f"{HOSTS}/test_registries.py::test_buildah",
                f"{HOSTS}/test_registries.py::test_crane",
                f"{HOSTS}/test_registries.py::test_oras",
                f"{HOSTS}/test_gcloud.py::test_artifacts",
            ),
        ),
        Row(
            feature="permissions",
            google="IAM defines the permissions of an account",
            likeness="not",
            here="everybody with the token has all permissions that no setting denies",
            source=API,
            tests=(f"{METADATA}::test_the_token_opens_googles_services",),
        ),
        Row(
            feature="Cloud Logging",
            google="a query language, order, pages, entries of programs",
            likeness="same",
            here="for the logs of jobs, and for entries that programs write themselves, over gRPC and REST",
            source="the clients themselves; documentation of the query language",
            tests=(
                f"{QUERY}::test_what_it_finds",
                "tests/vertex_emulator/rpc/test_patterns.py::test_a_pattern_made_to_take_for_ever_does_not",
                f"{LOGGING}::test_polling_brings_every_entry_once",
                f"{LOGGING}::test_what_a_replica_has_written",
                f"{GRPC_LOGGING}::test_entries_are_written_and_listed",
                f"{GRPC_TAIL}::test_entries_that_match_arrive_once_and_in_order",
                f"{GCLOUD}::test_logging_read",
            ),
        ),
        Row(
            feature="following a log",
            google="gcloud polls, and may miss or repeat lines",
            likeness="like",
            here="`vertex-training logs --follow` prints every line once, even if the emulator is restarted",
            source="gcloud ai custom-jobs stream-logs",
            tests=(
                f"{FOLLOW}::test_bursts_of_many_replicas",
                f"{FOLLOW}::test_the_emulator_is_restarted_meanwhile",
                f"{FOLLOW}::test_nothing_is_shown_twice",
            ),
        ),
    ),
)
