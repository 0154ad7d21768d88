"""The parity page's rows of Cloud Storage, Artifact Registry and the container registry."""

from __future__ import annotations

from support.parity.page import Row, Section

API = "API reference"
CLIENTS = "the clients themselves"
SYSTEM = "suite: storage-system"
RETRIES = "suite: storage-conformance"
GCSFS = "suite: gcsfs"
OCI = "suite: oci-conformance"

_STORAGE = "tests/vertex_emulator/storage"
_REGISTRY = "tests/vertex_emulator/container_registry/test_registry"
_ARTIFACTS = "tests/vertex_emulator/artifact_registry/test_artifact"
GOOGLE = "tests/clients/storage/test_client_google.py"

STORAGE = Section(
    title="Cloud Storage",
    rows=(
        Row(
            feature="buckets and objects",
            google="create, get, list, patch, update, delete, copy, rewrite and compose, with preconditions",
            likeness="same",
            here="the fields that it does not support are refused by name",
            source=f"{SYSTEM}; {GCSFS}; {API}",
            tests=(
                f"{_STORAGE}/objects/test_storage_transfers.py::test_a_rewrite_copies_content_and_fields",
                f"{_STORAGE}/objects/test_storage_transfers.py::test_components_one_after_the_other",
                f"{_STORAGE}/objects/test_storage_listing.py::test_prefix_delimiter_and_offsets",
                f"{_STORAGE}/objects/test_storage_listing.py::test_versions",
            ),
        ),
        Row(
            feature="resumable uploads, and transfers that break off",
            google="keeps whole multiples of 256 KiB of a piece that breaks off; a client sends the rest",
            likeness="same",
            here="after every fault of the conformance tests, also in the middle of a stream",
            source=f"{RETRIES}; {API}",
            tests=(
                f"{_STORAGE}/objects/test_storage_uploads.py::test_pieces_that_are_no_multiple_count_up_to_the_grain",
                f"{_STORAGE}/objects/test_storage_uploads.py::test_bytes_sent_twice_count_once",
                "tests/suites/test_testbench.py::test_a_piece_that_breaks_off_is_kept_up_to_there",
            ),
        ),
        Row(
            feature="uploads of other languages' clients",
            google="takes pieces without an end, and answers 200 instead of 308 if asked to",
            likeness="like",
            here="both, as Node's and Go's clients need it",
            source=CLIENTS,
            tests=(
                f"{_STORAGE}/objects/test_storage_uploads.py::test_a_piece_without_an_end_is_the_rest",
                f"{_STORAGE}/objects/test_storage_uploads.py::test_308_is_200_for_clients_that_ask_for_it",
            ),
        ),
        Row(
            feature="clients",
            google="Google's library, gcsfs, smart_open, cloudpathlib, gcloud",
            likeness="same",
            here="they work unchanged, through `vertex-training emulator env`",
            source=f"{CLIENTS}; {SYSTEM}; {GCSFS}",
            tests=(
                f"{GOOGLE}::test_a_client_needs_nothing_but_the_environment",
                f"{GOOGLE}::test_upload_many_and_download_many",
                f"{GOOGLE}::test_a_batch_deletes",
            ),
        ),
        Row(
            feature="access control lists",
            google="decide who may read and write",
            likeness="like",
            here="stored, shown and checked as in the service, without effect",
            source=f"{SYSTEM}; {API}",
            tests=(
                f"{_STORAGE}/buckets/test_storage_access_lists.py::test_a_buckets_list",
                f"{_STORAGE}/buckets/test_storage_access_lists.py::test_predefined_lists_of_objects",
                f"{_STORAGE}/buckets/test_storage_access_lists.py::test_public_access_prevention_refuses_everybody",
            ),
        ),
        Row(
            feature="holds, retention, soft deletion",
            google="protect objects, until a time or an event, and keep deleted ones",
            likeness="same",
            here="by the emulator's clock",
            source=f"{SYSTEM}; {API}",
            tests=(
                f"{_STORAGE}/buckets/test_storage_protection.py::test_a_protected_object",
                f"{_STORAGE}/buckets/test_storage_protection.py::test_retention_ends_with_the_clock",
                f"{_STORAGE}/buckets/test_storage_soft_delete.py::test_restoring",
            ),
        ),
        Row(
            feature="lifecycle rules",
            google="delete objects and change their class, within a day",
            likeness="same",
            here="exactly on time, by the emulator's clock",
            source=API,
            tests=(
                f"{_STORAGE}/buckets/test_storage_lifecycle.py::test_old_objects_are_deleted",
                f"{_STORAGE}/buckets/test_storage_lifecycle.py::test_one_action_is_taken",
            ),
        ),
        Row(
            feature="batches",
            google="up to 100 calls in one request",
            likeness="same",
            here="without uploads, downloads and further batches",
            source=f"{SYSTEM}; {API}",
            tests=(
                f"{_STORAGE}/requests/test_storage_batch.py::test_answers_come_in_order",
                f"{_STORAGE}/requests/test_storage_batch.py::test_how_many_calls",
            ),
        ),
        Row(
            feature="signed URLs",
            google="versions 2 and 4, with keys of service accounts, and HMAC keys",
            likeness="like",
            here="both versions, with one key of the emulator's own",
            source=CLIENTS,
            tests=(
                f"{_STORAGE}/requests/test_storage_signed_urls.py::test_it_opens_what_was_signed",
                f"{_STORAGE}/requests/test_storage_signed_urls.py::test_it_expires_by_the_emulators_clock",
                f"{_STORAGE}/requests/test_storage_signed_urls.py::test_a_tampered_one_is_refused",
            ),
        ),
        Row(
            feature="notifications",
            google="sends changes to a topic of Pub/Sub",
            likeness="not",
            here="lists are empty, and creation is refused",
            source=API,
            tests=(f"{GOOGLE}::test_there_are_no_notifications",),
        ),
    ),
)

REGISTRY = Section(
    title="Artifact Registry",
    rows=(
        Row(
            feature="the registry of images",
            google="the OCI distribution specification",
            likeness="same",
            here="every test of the specification's conformance suite passes",
            source=OCI,
            tests=(
                f"{_REGISTRY}_push.py::test_post_then_put",
                f"{_REGISTRY}_pull.py::test_missing_content",
                f"{_REGISTRY}_discovery.py::test_all_tags",
                f"{_REGISTRY}_management.py::test_a_manifest_is_deleted_with_its_tags",
            ),
        ),
        Row(
            feature="programs",
            google="docker, skopeo, buildah, oras, regctl",
            likeness="like",
            here="unchanged, with the emulator's address before the name",
            source=CLIENTS,
            tests=(
                "tests/clients/registry/test_registry_skopeo.py::test_inspect",
                "tests/clients/registry/test_registry_oras.py::test_push",
                "tests/clients/registry/test_registry_regctl.py::test_get",
            ),
        ),
        Row(
            feature="repositories, packages, versions, tags",
            google="an API over what was pushed",
            likeness="like",
            here="formats other than DOCKER have no content; virtual and remote repositories are refused",
            source=f"{CLIENTS}; {API}",
            tests=(
                f"{_ARTIFACTS}_repositories.py::test_the_operation_is_done_and_stored",
                f"{_ARTIFACTS}_contents.py::test_a_version_in_full",
                "tests/clients/artifacts/test_artifact_registry_client.py::test_tags_are_made_moved_and_deleted",
            ),
        ),
        Row(
            feature="cleanup policies",
            google='applied "within approximately one day"',
            likeness="same",
            here="a day after they were set, then every day, by the emulator's clock",
            source=API,
            tests=(
                f"{_ARTIFACTS}_cleanup.py::test_the_first_cleanup_is_a_day_after_the_policies_were_set",
                f"{_ARTIFACTS}_cleanup.py::test_a_dry_run_only_logs",
            ),
        ),
        Row(
            feature="immutable tags",
            google="refuses to move or delete a tag",
            likeness="same",
            here="on a push, in the API, and in policies",
            source=API,
            tests=(f"{_ARTIFACTS}_cleanup.py::test_immutable_tags_keep_their_versions",),
        ),
        Row(
            feature="vulnerability scanning",
            google="scans pushed images",
            likeness="not",
            here="the enablement state is always SCANNING_DISABLED",
            source=API,
            tests=(f"{_ARTIFACTS}_repositories.py::test_output_only_fields",),
        ),
    ),
)
