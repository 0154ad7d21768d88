"""The parity page's rows of persistent resources."""

from __future__ import annotations

from google.cloud.aiplatform_v1 import types as api

from pulumi_vertex_training.kinds.persistent_resource.spec import PersistentResource
from support.parity.page import Row, Section

API = "API reference"
GUIDE = '"Run training jobs on a persistent resource"'

TESTS = "tests/vertex_emulator/custom_jobs/queue/test_persistent_resources.py"
JOBS = "tests/vertex_emulator/custom_jobs/queue/test_jobs_on_resources.py"
FIDELITY = "tests/pulumi_vertex_training/cloud/fidelity/test_fidelity_persistent_resources.py"
SDK = "tests/clients/vertex/test_sdk_tuning_and_resources.py"
GCLOUD = "tests/clients/vertex/test_gcloud_other_kinds.py"

PERSISTENT_RESOURCES = Section(
    title="Persistent resources",
    message=api.PersistentResource,
    leave_out=frozenset(PersistentResource.SERVER_OWNED),
    rows=(
        Row(
            feature="requests",
            google="accepts the requests of its own clients",
            likeness="same",
            here="our gateway sends what Google's generated client and the SDK send",
            source="requests recorded from those clients",
            tests=(
                f"{FIDELITY}::test_a_creation",
                f"{FIDELITY}::test_an_update",
                f"{FIDELITY}::test_what_the_sdk_sends",
            ),
        ),
        Row(
            feature="create, get, list",
            google="provisions machines in an operation that takes minutes",
            likeness="like",
            here="the same states and operation; it takes 0.3 s, or the time that a test sets",
            source=API,
            tests=(
                f"{TESTS}::test_it_is_provisioned_and_then_runs",
                f"{TESTS}::test_every_other_field_is_echoed",
                f"{TESTS}::test_lists_have_pages",
            ),
            fields=("display_name", "labels", "resource_pools"),
        ),
        Row(
            feature="faults of resources",
            google="names every faulty field at once",
            likeness="same",
            here="with the messages of a public log, if it has them",
            source="errors that users quote",
            tests=(f"{TESTS}::test_the_words_of_the_service", f"{TESTS}::test_faults"),
        ),
        Row(
            feature="resize, relabel",
            google="by an update mask; a pool cannot be smaller than the used size",
            likeness="same",
            here="by the ids of pools",
            source=API,
            tests=(
                f"{TESTS}::test_it_is_resized_by_the_ids_of_pools",
                f"{TESTS}::test_it_is_relabelled",
                f"{JOBS}::test_a_pool_cannot_be_smaller_than_what_is_used",
            ),
        ),
        Row(
            feature="autoscaling",
            google="grows to the needed size, and shrinks again",
            likeness="same",
            here="at once",
            source=GUIDE,
            tests=(f"{JOBS}::test_it_grows_to_what_is_needed_and_shrinks_again",),
        ),
        Row(
            feature="reboot",
            google="only while no job runs on it, and not for a Ray cluster",
            likeness="same",
            here="by an operation",
            source=GUIDE,
            tests=(f"{TESTS}::test_it_is_rebooted", f"{TESTS}::test_it_is_not_rebooted_under_a_job"),
        ),
        Row(
            feature="deletion",
            google="cancels the jobs on it first",
            likeness="same",
            here="the operation ends after the jobs",
            source=GUIDE,
            tests=(f"{JOBS}::test_its_deletion_cancels_the_jobs_on_it", f"{TESTS}::test_it_is_deleted"),
        ),
        Row(
            feature="jobs on it",
            google="start at once, queue when it is full, are refused if they do not fit",
            likeness="same",
            here="its machines are counted, and are processes of this machine",
            source=GUIDE,
            tests=(
                f"{JOBS}::test_a_job_runs_on_it_at_once",
                f"{JOBS}::test_they_queue_when_it_is_full_and_go_on_in_order",
                f"{JOBS}::test_a_job_that_does_not_fit",
            ),
        ),
        Row(
            feature="network, keys, service account, Ray",
            google="the machines use the network, the key and the account, and form a Ray cluster",
            likeness="not",
            here="stored, returned and compared with the jobs on it, without effect; no Ray is started",
            source=API,
            tests=(
                f"{TESTS}::test_every_other_field_is_echoed",
                f"{TESTS}::test_a_ray_cluster_is_not_rebooted",
            ),
            fields=(
                "network",
                "psc_interface_config",
                "encryption_spec",
                "reserved_ip_ranges",
                "resource_runtime_spec",
            ),
        ),
        Row(
            feature="clients of persistent resources",
            google="the SDK, gcloud ai persistent-resources",
            likeness="same",
            here="they work unchanged",
            source="the clients themselves",
            tests=(
                f"{SDK}::test_persistent_resources",
                f"{GCLOUD}::test_persistent_resources_create",
                f"{GCLOUD}::test_persistent_resources_reboot",
            ),
        ),
    ),
)
