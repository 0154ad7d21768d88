"""The parity page's rows of custom jobs."""

from __future__ import annotations

from google.cloud.aiplatform_v1 import types as api

from support.parity.page import Row, Section
from vertex_training.job.custom_job import CustomJobSpec

SPEC = "job_spec"
POOL = "job_spec.worker_pool_specs"
MACHINE = f"{POOL}.machine_spec"

API = "API reference"
CAPTURED = "captured responses"

FIDELITY = "tests/pulumi_vertex_training/cloud/fidelity/test_fidelity_custom_jobs.py"
FIELDS = "tests/vertex_emulator/custom_jobs/checks/test_job_fields.py"
UPLOADS = "tests/vertex_emulator/tensorboards/test_job_uploads.py"
SHARES = "tests/vertex_emulator/custom_jobs/replica/test_job_file_shares.py"
REQUESTS = "tests/vertex_emulator/custom_jobs/checks/test_job_requests.py"
LIFE = "tests/vertex_emulator/custom_jobs/supervisor/test_job_lifecycle.py"
RESTARTS = "tests/vertex_emulator/custom_jobs/supervisor/test_job_restarts.py"
ORDERS = "tests/vertex_emulator/custom_jobs/supervisor/test_job_orders.py"
QUOTAS = "tests/vertex_emulator/custom_jobs/queue/test_job_quotas.py"
LOAD = "tests/vertex_emulator/custom_jobs/queue/test_job_queue_load.py"
ENVIRONMENT = "tests/vertex_emulator/custom_jobs/replica/test_job_environment.py"
CAPTURES = "tests/vertex_emulator/custom_jobs/checks/test_captured_answers.py"
CONTRACT = "tests/vertex_emulator/custom_jobs/replica/test_job_contract.py"
NETWORK = "tests/vertex_emulator/custom_jobs/sandbox/test_job_network.py"
IMAGES = "tests/vertex_emulator/custom_jobs/sandbox/test_job_images.py"
PACKAGES = "tests/vertex_emulator/custom_jobs/replica/test_job_packages.py"
ON_RESOURCES = "tests/vertex_emulator/custom_jobs/queue/test_jobs_on_resources.py"
LOGS = "tests/vertex_emulator/custom_jobs/supervisor/test_job_logs.py"
SDK = "tests/clients/vertex/test_sdk_custom_jobs.py"
GCLOUD = "tests/clients/vertex/test_gcloud_custom_jobs.py"
CLIENTS = "tests/clients/vertex/test_generated_clients.py"

_SAID = (f"{FIELDS}::test_what_is_not_done_has_a_line_each",)
_ECHOED = f"{FIELDS}::test_a_job_with_everything_is_answered_as_it_was_sent"


def _not_done(feature: str, google: str, here: str, *fields: str, source: str = API) -> Row:
    """Return the row of a field that is stored and returned, and reported in the log as having no effect."""
    return Row(
        feature=feature,
        google=google,
        likeness="not",
        here=here,
        source=source,
        tests=(*_SAID, _ECHOED),
        fields=fields,
    )


_REQUESTS = (
    Row(
        feature="requests",
        google="accepts the requests of its own clients",
        likeness="same",
        here="our gateway sends what Google's generated client and the SDK send for the same job",
        source="requests recorded from those clients",
        tests=(
            f"{FIDELITY}::test_a_job_with_everything",
            f"{FIDELITY}::test_what_we_send_has_every_field_of_the_installed_api",
            f"{FIDELITY}::TestAgainstTheSdk::test_everything_that_it_takes",
            f"{FIDELITY}::test_a_call_by_name",
            f"{FIDELITY}::test_a_list_with_a_filter",
        ),
    ),
    Row(
        feature="create, get, list",
        google="returns a job as it was created, with a boot disk for each pool and without zero values",
        likeness="same",
        here="every field is returned, also after a restart",
        source=CAPTURED,
        tests=(
            f"{CAPTURES}::test_the_answer_of_a_creation",
            _ECHOED,
            f"{LIFE}::test_a_created_job_is_answered_as_it_was_at_creation",
            f"{FIELDS}::test_zero_values_vanish",
            f"{FIELDS}::test_the_disk_of_machines_with_hyperdisks",
            f"{REQUESTS}::test_both_spellings_and_numbers_are_read",
        ),
        fields=("display_name", "labels", f"{POOL}.disk_spec"),
    ),
    Row(
        feature="lists",
        google="filters by name, state, times and labels, pages, no order",
        likeness="same",
        here="with a parser of the whole filter language",
        source=API,
        tests=(
            f"{REQUESTS}::test_lists_and_filters",
            f"{REQUESTS}::test_bad_filters",
            f"{REQUESTS}::test_pages",
        ),
    ),
    Row(
        feature="refusals",
        google="names every faulty field at once, in the message and in the details",
        likeness="like",
        here="the same form; the messages are Google's if they are known",
        source="errors that users quote",
        tests=(
            f"{REQUESTS}::test_rules_of_the_service",
            f"{REQUESTS}::test_all_violations_are_reported_at_once",
            f"{FIELDS}::test_what_is_wrong_is_refused_with_its_field",
            f"{FIELDS}::test_an_accelerator_that_the_machine_has_not_in_the_words_of_the_service",
        ),
    ),
    Row(
        feature="cancel and delete",
        google="cancels later, refuses both in the wrong state, deletes by an operation",
        likeness="like",
        here="a live job cannot be deleted; the messages are those that users quote for pipelines",
        source="errors that users quote; API reference",
        tests=(
            f"{LIFE}::test_cancel",
            f"{LIFE}::test_cancel_right_after_create",
            f"{LIFE}::test_delete",
        ),
    ),
    Row(
        feature="clients",
        google="the SDK, the generated clients, gcloud",
        likeness="same",
        here="they work unchanged, through `vertex-training emulator env`",
        source="the clients themselves",
        tests=(
            f"{SDK}::test_the_name_has_the_projects_number",
            f"{SDK}::test_the_failure_has_the_services_words",
            f"{CLIENTS}::test_messages_are_those_of_the_version",
            f"{CLIENTS}::test_a_faulty_job_is_refused_by_its_fields",
            f"{GCLOUD}::test_create_with_a_reduction_server",
            f"{GCLOUD}::test_stream_logs",
        ),
    ),
)

_RUNNING = (
    Row(
        feature="replicas",
        google="a machine for each replica of a pool",
        likeness="like",
        here="a process for each, in namespaces of its own if the kernel allows it",
        source='"Distributed training"',
        tests=(
            f"{ENVIRONMENT}::test_names_of_the_jobs_machines_resolve",
            f"{LIFE}::test_all_running_is_seen_and_an_exit_is_seen_soon",
            "tests/vertex_emulator/custom_jobs/supervisor/test_job_recovery.py::test_a_job_outlives_the_emulator",
        ),
        fields=(f"{POOL}.replica_count", f"{MACHINE}.machine_type"),
    ),
    Row(
        feature="the network of a job",
        google="an address and port 2222 for each replica; other hosts can be reached",
        likeness="like",
        here="this machine's network, with an address of loopback and a free port for each replica; after "
        "`vertex-training emulator network namespace` an address and port 2222, and other hosts through the "
        "proxy alone",
        source='logs of real jobs; "Distributed training"',
        tests=(
            f"{NETWORK}::test_replicas_reach_each_other_by_the_names_in_cluster_spec",
            f"{NETWORK}::test_replicas_reach_the_emulator",
            f"{NETWORK}::test_replicas_reach_nothing_else",
        ),
    ),
    Row(
        feature="the environment of a replica",
        google="`CLUSTER_SPEC`, `TF_CONFIG`, `AIP_...`, `CLOUD_ML_...`",
        likeness="like",
        here="the same names and forms, with addresses of this machine; there are no `open_ports` and no "
        "variables of Kubernetes services, and `MASTER_PORT` is the chief's own port",
        source='logs of real jobs; "Distributed training"',
        tests=(
            f"{ENVIRONMENT}::test_cluster_spec",
            f"{ENVIRONMENT}::test_tf_config",
            f"{ENVIRONMENT}::test_the_variables_of_the_job",
            f"{ENVIRONMENT}::test_the_variables_of_torch",
            f"{ENVIRONMENT}::test_there_is_nothing_else",
            f"{ENVIRONMENT}::test_a_single_replica_is_the_chief_and_has_no_tf_config",
            "tests/vertex_training/environment/test_cluster_spec.py::test_a_capture_of_a_distributed_job",
            "tests/vertex_training/environment/test_tf_config.py::test_the_documents_example",
        ),
    ),
    Row(
        feature="differences of `CLUSTER_SPEC` between the documentation and real jobs",
        google="real jobs have a string in `job`, and call a lone replica `chief`",
        likeness="same",
        here="the documented form, a mapping in `job` and `workerpool0`, after "
        "`vertex-training emulator contract documented`",
        source='logs of real jobs; "Distributed training"',
        tests=(
            f"{CONTRACT}::test_a_single_replica",
            f"{CONTRACT}::test_a_distributed_job",
            f"{CONTRACT}::test_a_job_keeps_its_form_when_it_is_restarted",
        ),
    ),
    Row(
        feature="containers",
        google="any image of a registry",
        likeness="like",
        here="pushed images run in their own root file system; Google's base images have a stand-in with the "
        "Python of this machine",
        source='"Custom containers for training"',
        tests=(
            f"{IMAGES}::test_what_a_container_runs",
            f"{IMAGES}::test_an_image_with_a_root_of_its_own",
            f"{IMAGES}::test_an_image_on_a_stand_in",
            f"{ENVIRONMENT}::test_arguments_refer_to_variables",
        ),
        fields=(f"{POOL}.container_spec",),
    ),
    Row(
        feature="Python packages",
        google="installed with pip on each replica",
        likeness="like",
        here="installed once for all replicas, from the bucket",
        source='"Create a Python training application for a prebuilt container"',
        tests=(
            f"{PACKAGES}::test_packages_are_installed_once",
            f"{PACKAGES}::test_a_requirement_that_cannot_be_met",
        ),
        fields=(f"{POOL}.python_package_spec",),
    ),
    Row(
        feature="reduction servers",
        google="reduce gradients for the workers",
        likeness="like",
        here="the pool waits, and the others reduce among themselves",
        source='"Distributed training"',
        tests=(f"{IMAGES}::test_the_reduction_server_waits",),
    ),
    Row(
        feature="accelerators",
        google="GPUs and TPUs of the machine",
        likeness="like",
        here="the same number of logical CPU devices, which JAX and TensorFlow find automatically; "
        "`vertex_cluster.local_devices()` returns it for other frameworks",
        source="ours: a laptop has none",
        tests=(
            f"{FIELDS}::test_a_replica_has_a_device_for_each_accelerator",
            "tests/clients/vertex/test_devices_of_tensorflow.py::test_the_cpu_is_divided",
            "tests/vertex_cluster/test_cluster_devices.py::test_the_variable_is_the_one_that_the_emulator_sets",
            "tests/pulumi_vertex_training/cli/explain/test_explain_json.py::test_accelerators_are_devices_of_the_emulator",
        ),
        fields=(f"{MACHINE}.accelerator_type", f"{MACHINE}.accelerator_count"),
    ),
    Row(
        feature="the end of a job",
        google="succeeds with the chief, fails with the first failed replica, with the service's message",
        likeness="same",
        here="the message also has the last lines of the log",
        source='errors that users quote; "Understand the custom training service"',
        tests=(
            f"{LIFE}::test_success_ends_with_the_chief_and_stops_the_rest",
            f"{LIFE}::test_the_first_replica_that_fails_is_named",
            "tests/vertex_emulator/custom_jobs/supervisor/test_job_rules.py::test_the_words_of_a_failure",
        ),
    ),
    Row(
        feature="logs",
        google="Cloud Logging, resource type ml_job, a task for each replica",
        likeness="same",
        here="stored in the folder of the job",
        source="gcloud ai custom-jobs stream-logs",
        tests=(
            f"{LOGS}::test_googles_own_logging_client",
            f"{LOGS}::test_the_filter_that_gcloud_sends",
            f"{GCLOUD}::test_logging_read",
        ),
    ),
    Row(
        feature="machine types",
        google="refuses unknown types",
        likeness="like",
        here="by its catalog, with the service's message; for newer types, `allow_unknown_types` and "
        "`vertex-training emulator unknown-types` allow others",
        source='errors that users quote; "Troubleshooting Vertex AI"',
        tests=(
            "tests/vertex_emulator/custom_jobs/checks/test_machine_types.py::test_a_type_that_google_does_not_have_is_refused",
            "tests/vertex_emulator/custom_jobs/checks/test_machine_types.py::test_types_that_are_not_for_training",
            "tests/vertex_emulator/custom_jobs/checks/test_machine_types.py::test_a_client_that_knows_better_submits_a_job",
            "tests/vertex_emulator/custom_jobs/checks/test_machine_types.py::test_the_setting_allows_it_to_all_clients",
        ),
    ),
    Row(
        feature="the region of buckets",
        google="rejects a bucket outside the job's region",
        likeness="not",
        here="buckets of any location are accepted; previews refuse a wrong one if its location is known",
        source="errors that users quote",
        tests=(
            "tests/vertex_emulator/custom_jobs/checks/test_job_fields.py::test_a_bucket_of_another_region_is_taken",
        ),
    ),
    Row(
        feature="the output directory",
        google="`AIP_MODEL_DIR`, `AIP_CHECKPOINT_DIR` and `AIP_TENSORBOARD_LOG_DIR` below it",
        likeness="same",
        here="buckets are folders at /gcs",
        source=API,
        tests=(
            "tests/vertex_training/environment/test_job_variables.py::test_output_directories",
            f"{ENVIRONMENT}::test_the_variables_of_the_job",
        ),
        fields=(f"{SPEC}.base_output_directory",),
    ),
    Row(
        feature="NFS and Managed Lustre",
        google="mounted at /mnt/nfs and /mnt/lustre",
        likeness="like",
        here="folders of this machine, one for each server and path",
        source='"Mount a Network File System share for serverless training"',
        tests=(
            f"{SHARES}::test_what_a_replica_writes_another_one_reads",
            f"{SHARES}::test_a_lustre_instance",
            f"{SHARES}::test_what_leads_elsewhere_is_refused",
            f"{SHARES}::test_plain_processes_cannot_be_shown_a_folder",
        ),
        fields=(f"{POOL}.nfs_mounts", f"{POOL}.lustre_mounts"),
    ),
)

_SCHEDULING = (
    Row(
        feature="timeout",
        google="fails the job; 7 days by default",
        likeness="like",
        here="by the emulator's clock; the error message is ours",
        source=API,
        tests=(f"{LIFE}::test_timeout", f"{RESTARTS}::test_the_timeout_is_over_all_attempts"),
        fields=(f"{SPEC}.scheduling.timeout",),
    ),
    Row(
        feature="restarts",
        google="a replica five times in place, then the job three times",
        likeness="same",
        here="after a kill; an abort or a segmentation fault restarts the job",
        source='"Understand the custom training service"',
        tests=(
            f"{ORDERS}::test_five_restarts_of_a_replica_then_three_of_the_job",
            f"{RESTARTS}::test_disable_retries",
            f"{RESTARTS}::test_a_worker_restart_restarts_the_job_on_request",
        ),
        fields=(
            f"{SPEC}.scheduling.restart_job_on_worker_restart",
            f"{SPEC}.scheduling.disable_retries",
        ),
    ),
    Row(
        feature="strategies",
        google="STANDARD, SPOT, FLEX_START, and two old names",
        likeness="like",
        here="Spot VMs are preempted on request; FLEX_START waits for a quota that a test sets",
        source='"Use Spot VMs with training"; "Schedule training jobs based on resource availability"',
        tests=(
            f"{FIELDS}::test_every_strategy_is_accepted",
            f"{ORDERS}::test_a_preempted_spot_vm_restarts_the_job",
            f"{ORDERS}::test_a_job_is_preempted_six_times_and_then_fails",
            f"{QUOTAS}::test_spot_vms_have_a_quota_of_their_own",
        ),
        fields=(f"{SPEC}.scheduling.strategy",),
    ),
    Row(
        feature="maximum wait",
        google="a day for FLEX_START by default; 0 means no limit",
        likeness="same",
        here="by the emulator's clock",
        source=API,
        tests=(
            f"{QUOTAS}::test_flex_start_waits_for_a_day",
            f"{FIELDS}::test_a_wait_for_ever_stays",
        ),
        fields=(f"{SPEC}.scheduling.max_wait_duration",),
    ),
    Row(
        feature="quotas",
        google="refuses a job that never fits, queues a job for which too little is left",
        likeness="same",
        here="with the quotas that are set; no quotas by default",
        source='errors that users quote; "Understand the custom training service"',
        tests=(
            f"{QUOTAS}::test_what_never_fits_is_refused",
            f"{QUOTAS}::test_a_job_is_queued_until_another_ends",
        ),
    ),
    Row(
        feature="jobs on a persistent resource",
        google="run on its machines at once, queue when it is full, are refused if they do not fit",
        likeness="same",
        here="its machines are counted, and are processes of this machine",
        source='"Run training jobs on a persistent resource"',
        tests=(
            f"{ON_RESOURCES}::test_a_job_runs_on_it_at_once",
            f"{ON_RESOURCES}::test_they_queue_when_it_is_full_and_go_on_in_order",
            f"{ON_RESOURCES}::test_a_job_that_does_not_fit",
        ),
        fields=(f"{SPEC}.persistent_resource_id",),
    ),
    Row(
        feature="many jobs at once",
        google="machines for all of them",
        likeness="like",
        here="a limited number of replicas at once; further jobs are PENDING, in order",
        source="ours: a laptop is one machine",
        tests=(
            f"{LOAD}::test_every_job_of_the_crowd_succeeds",
            f"{LOAD}::test_the_crowd_is_let_in_in_its_order",
            f"{LOAD}::test_a_small_job_does_not_overtake_a_large_one_that_waits",
        ),
    ),
)

_SURROUNDINGS = (
    Row(
        feature="TensorBoard",
        google="uploads event files while the job runs",
        likeness="like",
        here="scalars are added to the tensorboard, if it exists, while the job runs; other summaries stay "
        "in the files, and the log reports that",
        source='"Use TensorBoard with serverless training"',
        tests=(
            f"{FIELDS}::test_a_tensorboard_has_its_variables_and_its_folder",
            f"{UPLOADS}::test_scalars_are_shown_while_the_job_runs_and_when_it_has_ended",
            f"{UPLOADS}::test_the_last_scalars_are_uploaded_without_a_reader",
            f"{UPLOADS}::test_a_job_with_a_tensorboard_that_does_not_exist",
            *_SAID,
        ),
        fields=(f"{SPEC}.tensorboard",),
    ),
    Row(
        feature="experiments",
        google="records the run in Vertex ML Metadata",
        likeness="like",
        here="the variables exist; nothing is recorded, and the log reports that",
        source="google-cloud-aiplatform",
        tests=(f"{FIELDS}::test_an_experiment_has_its_variables", *_SAID),
        fields=(f"{SPEC}.experiment", f"{SPEC}.experiment_run"),
    ),
    _not_done(
        "service account",
        "the replicas' credentials are its own",
        "replicas run as the user of the emulator",
        f"{SPEC}.service_account",
    ),
    _not_done(
        "network",
        "the replicas are in a peered network, at reserved addresses",
        "replicas have this machine's network, or one of the job's own",
        f"{SPEC}.network",
        f"{SPEC}.reserved_ip_ranges",
    ),
    _not_done(
        "Private Service Connect",
        "an interface in the user's network, with DNS peering",
        "replicas have this machine's network and names, or those of the job alone",
        f"{SPEC}.psc_interface_config",
    ),
    _not_done(
        "encryption keys",
        "encrypts the job's data on its machines",
        "nothing is encrypted",
        "encryption_spec",
    ),
    Row(
        feature="web access",
        google="an interactive shell and a dashboard, at webAccessUris while the job runs",
        likeness="not",
        here="not available; webAccessUris stays empty",
        source=API,
        tests=(*_SAID, f"{FIELDS}::test_the_web_access_of_a_running_job_has_no_address"),
        fields=(f"{SPEC}.enable_web_access", f"{SPEC}.enable_dashboard_access"),
    ),
    _not_done(
        "reservations",
        "takes machines from reserved capacity",
        "no reservation is used",
        f"{MACHINE}.reservation_affinity",
    ),
    _not_done(
        "GPU partitions and TPU slices",
        "parts of a GPU, and machines that are one slice",
        "each replica is one process on the CPU",
        f"{MACHINE}.gpu_partition_size",
        f"{MACHINE}.tpu_topology",
    ),
    _not_done(
        "protected artifacts",
        "stores the job's artifacts in another location",
        "they stay on this machine",
        f"{SPEC}.protected_artifact_location_id",
    ),
    _not_done("models", "for Google's own jobs", "ignored", f"{SPEC}.models"),
)

CUSTOM_JOBS = Section(
    title="Custom jobs",
    rows=(*_REQUESTS, *_RUNNING, *_SCHEDULING, *_SURROUNDINGS),
    message=api.CustomJob,
    leave_out=frozenset(CustomJobSpec.SERVER_OWNED),
)
