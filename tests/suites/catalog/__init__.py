"""The suites that others wrote: pinned versions, and what is left out or does not pass, with reasons."""

from __future__ import annotations

from suites.catalog import data_libraries, go_client, orchestrators
from suites.suite import GoSuite, PythonSuite, Reason, Suite

_PYTEST = ("pytest==8.4.2", "pytest-asyncio==1.5.0", "pytest-timeout==2.4.0", "pytest-xdist==3.8.0")
_STORAGE = ("google-cloud-storage", "3.17.1")
_FOR_STORAGE = (
    *_PYTEST,
    f"{_STORAGE[0]}[grpc]=={_STORAGE[1]}",
    *("google-cloud-testutils==1.10.1", "google-cloud-kms==3.18.0", "google-cloud-pubsub==2.44.0"),
    *("google-cloud-iam==2.27.0", "mock==5.2.0", "brotli==1.2.1", "opentelemetry-sdk==1.45.2"),
)

SUITES: tuple[Suite, ...] = (
    PythonSuite(
        name="storage-system",
        distribution=_STORAGE[0],
        version=_STORAGE[1],
        folder="tests",
        tests=("tests/system",),
        requirements=_FOR_STORAGE,
        setting="account",
        left_out=(
            Reason(tests="/test_notification.py", why="notifications need Pub/Sub"),
            Reason(tests="/test_hmac_key_metadata.py", why="HMAC keys: sign with the emulator's own key"),
            Reason(tests="/test_rapid.py|/test_aco_observability.py", why="zonal buckets, over gRPC"),
        ),
        not_passed=(
            Reason(tests="w_access_token", why="signs through the IAM Credentials service"),
            Reason(tests="post_policy", why="POST policies are not supported"),
            Reason(
                tests="upload_predefined|w_owner",
                why="expects the key's account as owner; here all objects belong to the default account",
            ),
            Reason(
                tests="csek|rotate_key|add_key|with_encryption_key",
                why="customer-supplied encryption keys are refused by name",
            ),
            Reason(
                tests="encryption_enforcement",
                why="encryption enforcement is refused by name: nothing is encrypted",
            ),
            Reason(tests="context|list_blobs_w_filter", why="object contexts are refused by name"),
            Reason(
                tests="hierarchical_namespace|_hns|managed_folders",
                why="hierarchical namespaces and managed folders are refused by name",
            ),
            Reason(tests="compose_delete_source_objects", why="`deleteSourceObjects` is refused by name"),
            Reason(tests="ip_filter", why="IP filters are refused by name: the emulator is local"),
        ),
    ),
    PythonSuite(
        name="storage-conformance",
        distribution=_STORAGE[0],
        version=_STORAGE[1],
        folder="tests",
        tests=("tests/conformance/test_conformance.py",),
        requirements=_FOR_STORAGE,
        setting="testbench",
        left_out=(
            Reason(tests=r"-storage\.notifications\.", why="notifications need Pub/Sub"),
            Reason(tests=r"-storage\.hmacKey\.", why="HMAC keys: sign with the emulator's own key"),
        ),
        not_passed=(
            Reason(
                tests="bucket_acl_save_predefined",
                why="sends `bucketOwnerFullControl`, which is for objects, not for buckets (API reference)",
            ),
            Reason(
                tests="bucket_set_iam_policy",
                why="sends a member without `serviceAccount:`; members have a prefix (API reference)",
            ),
            Reason(
                tests="bucket_lock_retention_policy",
                why="passes, but then deletes objects that the retention that it set protects",
            ),
        ),
        workers=12,
    ),
    PythonSuite(
        name="aiplatform-system",
        distribution="google-cloud-aiplatform",
        version="2.7.0",
        folder="tests",
        tests=tuple(
            f"tests/system/aiplatform/test_{name}.py"
            for name in (
                *("custom_job", "dataset", "initializer", "model_interactions", "model_upload"),
                *("model_version_management", "persistent_resource", "project_id_inference"),
            )
        ),
        requirements=(
            *_PYTEST,
            *("google-cloud-aiplatform==2.7.0", "google-cloud-testutils==1.10.1", "pandas==3.1.1"),
        ),
        variables=(("BUILD_SPECIFIC_GCLOUD_PROJECT", "local"),),
        aliases=(("google.cloud.aiplatform.tests", "tests"),),
        left_out=(
            Reason(tests="tabular_dataset_from_dataframe", why="needs BigQuery"),
            Reason(tests="test_model_interactions", why="serving: predictions of an endpoint"),
            Reason(tests="enable_autolog", why="not tried yet: Vertex AI Experiments"),
        ),
        not_passed=(
            Reason(tests="export_data", why="exports a dataset of a project of Google's"),
            Reason(tests="test_model_|image_dataset", why="reads a file of a bucket of Google's"),
            Reason(tests="project_id_inference", why="its job installs the SDK from GitHub, with git"),
            Reason(
                tests="from_local_script_custom_container",
                why="installs with `pip --user`, which a Python of a virtual environment refuses",
            ),
        ),
    ),
    PythonSuite(
        name="gcsfs",
        distribution="gcsfs",
        version="2025.9.0",
        folder="gcsfs",
        tests=("gcsfs/tests",),
        requirements=(*_PYTEST, "gcsfs==2025.9.0", f"{_STORAGE[0]}=={_STORAGE[1]}"),
        variables=(
            ("FSSPEC_GCS_PROJECT", "local"),
            ("FSSPEC_GCS_TOKEN", "anon"),
            ("GCSFS_TEST_BUCKET", "gcsfs_test"),
        ),
        left_out=(Reason(tests="test_fuse.py", why="needs FUSE"),),
        not_passed=(
            Reason(
                tests="credentials_from_raw_token",
                why="expects that a wrong token is refused; the secret in the address is enough",
            ),
            Reason(tests="test_sign", why="signs with the default credentials, which have no key here"),
        ),
        workers=0,
    ),
    GoSuite(
        name="oci-conformance",
        module="github.com/opencontainers/distribution-spec/conformance",
        version="v0.0.0-20260831232431-97274622c111",
    ),
    *go_client.SUITES,
    *data_libraries.SUITES,
    *orchestrators.SUITES,
)
"""All suites. A version is a pin; to move one, change it here and look at what no longer passes."""

NOT_RUN = (
    (
        "other files of google-cloud-aiplatform's `tests/system`",
        "no part of the emulator: AutoML, serving (predictions, batch prediction), Vertex AI Pipelines, "
        "Feature Store, Model Garden, generative models. Those of Experiments are not tried yet",
    ),
    ("`test_bidi_*.py` of google-cloud-storage's conformance tests", "zonal buckets, over gRPC"),
    ("gcsfs 2026.10, cloudpathlib 0.26", "their source distributions have no tests"),
    (
        "the system tests of Google's client of Cloud Storage for Node",
        "its package has none: `tests/clients` has flows of our own",
    ),
    *go_client.NOT_RUN,
    *data_libraries.NOT_RUN,
    *orchestrators.NOT_RUN,
)
"""Suites that are left out whole, with the reason."""
