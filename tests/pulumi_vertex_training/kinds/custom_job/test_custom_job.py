from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given

from pulumi_vertex_training.kinds.custom_job.kind import read, validate
from support.ground import jobs
from support.ground.jobs import EMPTY, job, package_pool, pool
from vertex_training.fields.decode import UNKNOWN, encode
from vertex_training.findings.options import CheckOptions
from vertex_training.job.custom_job import normalise, spec_hash, to_wire
from vertex_training.job.job_spec import OF_NEXT_RUN, EncryptionSpec, Scheduling
from vertex_training.topology.pools import DiskSpec

MINIMAL = {
    "display_name": "digits",
    "worker_pool_specs": [
        {
            "machine_spec": {"machine_type": "n1-standard-4"},
            "replica_count": 1,
            "container_spec": {"image_uri": "repo/trainer:1"},
        }
    ],
}


def messages(spec):
    return [(problem.path, problem.level, problem.message) for problem in validate(spec)]


# The normal form.


@given(jobs.jobs)
def test_the_normal_form_of_a_normal_form_is_itself(spec):
    assert normalise(normalise(spec)) == normalise(spec)


def test_defaults_of_the_service_are_explicit_in_what_check_returns():
    decoded = read(MINIMAL)
    assert decoded.problems == ()
    assert encode(decoded.spec) == {
        "display_name": "digits",
        "worker_pool_specs": [
            {
                "machine_spec": {"machine_type": "n1-standard-4"},
                "replica_count": 1,
                "disk_spec": {"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 100},
                "container_spec": {"image_uri": "repo/trainer:1"},
            }
        ],
    }


@pytest.mark.parametrize("timeout", ["3600s", "3600.000s", "03600s", 3600, 3600.0])
def test_a_timeout_has_one_spelling(timeout):
    spec = read({**MINIMAL, "scheduling": {"timeout": timeout}}).spec
    assert spec is not None
    assert spec.scheduling == Scheduling(timeout="3600s")


def test_an_empty_scheduling_is_none():
    assert normalise(job(scheduling=Scheduling(timeout=""))).scheduling is None


@pytest.mark.parametrize(
    "directory",
    ["gs://bucket/out", "gs://bucket/out/", "gs://bucket/out//", {"output_uri_prefix": "gs://bucket/out"}],
)
def test_the_output_directory_ends_with_one_slash(directory):
    spec = read({**MINIMAL, "base_output_directory": directory}).spec
    assert spec is not None
    assert spec.base_output_directory == "gs://bucket/out/"


def test_the_nesting_of_the_api_is_read():
    nested = {
        "displayName": "digits",
        "jobSpec": {
            "workerPoolSpecs": [
                {
                    "machineSpec": {"machineType": "n1-standard-4"},
                    "replicaCount": "1",
                    "containerSpec": {"imageUri": "repo/trainer:1"},
                },
                {},
            ]
        },
    }
    assert read(nested).spec == read(MINIMAL).spec


@pytest.mark.parametrize(
    "name",
    [
        "service_account",
        "network",
        "base_output_directory",
        "persistent_resource_id",
        "protected_artifact_location_id",
        "tensorboard",
        "experiment",
        "experiment_run",
    ],
)
def test_an_empty_text_is_none(name):
    assert normalise(replace(job(), **{name: ""})) == normalise(job())


@pytest.mark.parametrize("value", [{"encryption_spec": {}}, {"psc_interface_config": {}}])
def test_an_empty_message_says_nothing(value):
    assert read({**MINIMAL, **value}).spec == read(MINIMAL).spec


@pytest.mark.parametrize("disk", [DiskSpec(boot_disk_type="pd-ssd"), DiskSpec(boot_disk_size_gb=200)])
def test_a_disk_declared_for_a_machine_that_no_table_has_counts(disk):
    plain = job(pool(machine="a9-highgpu-8g"))
    declared = job(replace(pool(machine="a9-highgpu-8g"), disk_spec=disk))
    assert spec_hash(plain) != spec_hash(declared)


@pytest.mark.parametrize("machine", ["n1-standard-4", "a3-ultragpu-8g", "a9-highgpu-8g"])
@pytest.mark.parametrize("size", [0, 200])
def test_a_default_disk_is_not_hashed(machine, size):
    """Keep the hash of a job without a declared type of disk, even if the table of machines changes."""
    plain = job(replace(pool(machine=machine), disk_spec=DiskSpec(boot_disk_size_gb=size or 100)))
    wire = to_wire(replace(plain, display_name="-"))
    canonical = json.dumps(wire, sort_keys=True, separators=(",", ":"))
    given = job(replace(pool(machine=machine), disk_spec=DiskSpec(boot_disk_size_gb=size)))
    assert spec_hash(given) == "v1-" + hashlib.sha256(canonical.encode()).hexdigest()[:16]


# The rules.


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"display_name": ""}, "display_name", "0 characters"),
        ({"display_name": "x" * 129}, "display_name", "129 characters"),
        ({"scheduling": Scheduling(timeout="1h")}, "scheduling.timeout", "3600s"),
        ({"scheduling": Scheduling(timeout="0s")}, "scheduling.timeout", "positive"),
        ({"scheduling": Scheduling(timeout="-5s")}, "scheduling.timeout", "not a duration"),
        ({"service_account": "trainer"}, "service_account", "NAME@PROJECT.iam.gserviceaccount.com"),
        ({"service_account": "me@gmail.com"}, "service_account", "NAME@PROJECT.iam.gserviceaccount.com"),
        ({"base_output_directory": "/tmp/out"}, "base_output_directory", "gs://BUCKET/PREFIX"),
        ({"base_output_directory": "gs://"}, "base_output_directory", "gs://BUCKET/PREFIX"),
        ({"base_output_directory": "gs://My_Bucket/out"}, "base_output_directory", "for example my_bucket"),
        ({"labels": {"Team": "vision"}}, "labels.Team", "for example team"),
        ({"labels": {"team": "The Vision"}}, "labels.team", "for example the_vision"),
        ({"labels": {f"l{i}": "" for i in range(57)}}, "labels", "57 labels"),
        ({"worker_pool_specs": (pool(3),)}, "worker_pool_specs[0].replica_count", "has exactly 1"),
    ],
)
def test_errors(change, path, words):
    [(found, level, message)] = messages(replace(job(), **change))
    assert (found, level) == (path, "error")
    assert words in message


def test_a_restart_that_has_no_effect_is_a_warning():
    scheduling = Scheduling(restart_job_on_worker_restart=True, disable_retries=True)
    [(path, level, _)] = messages(job(scheduling=scheduling))
    assert (path, level) == ("scheduling.restart_job_on_worker_restart", "warning")


def test_nothing_to_find():
    spec = job(
        pool(),
        EMPTY,
        package_pool(2),
        scheduling=Scheduling(timeout="3600.5s", disable_retries=True),
        service_account="trainer@my-project.iam.gserviceaccount.com",
        base_output_directory="gs://my-bucket/runs/1",
        labels={"team": "vision", "0": ""},
    )
    assert messages(spec) == []


@pytest.mark.parametrize(
    "account",
    ["123-compute@developer.gserviceaccount.com", "t@example.com.my-project.iam.gserviceaccount.com"],
)
def test_other_service_accounts(account):
    assert messages(job(service_account=account)) == []


ACCOUNT = "trainer@my-project.iam.gserviceaccount.com"
BOARD = "projects/1/locations/us-central1/tensorboards/2"
KEY = "projects/p/locations/{}/keyRings/r/cryptoKeys/k"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        pytest.param(
            {"tensorboard": BOARD, "service_account": ACCOUNT, "base_output_directory": "gs://bucket/out"},
            [],
            id="a TensorBoard",
        ),
        pytest.param(
            {"tensorboard": "2", "service_account": ACCOUNT, "base_output_directory": "gs://bucket/out"},
            [("tensorboard-name", "tensorboard")],
            id="a TensorBoard by its id alone",
        ),
        pytest.param(
            {"tensorboard": BOARD, "base_output_directory": "gs://bucket/out"},
            [("tensorboard-needs", "service_account")],
            id="a TensorBoard without an account",
        ),
        pytest.param(
            {"tensorboard": BOARD, "service_account": ACCOUNT},
            [("tensorboard-needs", "base_output_directory")],
            id="a TensorBoard without a directory",
        ),
        pytest.param(
            {
                "tensorboard": BOARD,
                "experiment": "e",
                "service_account": ACCOUNT,
                "base_output_directory": "gs://bucket/out",
            },
            [("experiment-alone", "experiment")],
            id="a TensorBoard and an experiment",
        ),
        pytest.param(
            {"experiment": "e"},
            [("experiment-needs", "service_account")],
            id="an experiment without an account",
        ),
        pytest.param(
            {"experiment_run": "r"}, [("experiment-needs", "experiment")], id="a run without an experiment"
        ),
        pytest.param(
            {"encryption_spec": EncryptionSpec(kms_key_name=KEY.format("us-central1"))}, [], id="a key"
        ),
        pytest.param(
            {"encryption_spec": EncryptionSpec(kms_key_name="k")},
            [("kms-key", "encryption_spec.kms_key_name")],
            id="a key by its bare name",
        ),
        pytest.param(
            {"encryption_spec": EncryptionSpec(kms_key_name=KEY.format("europe-west4"))},
            [("kms-key", "encryption_spec.kms_key_name")],
            id="a key of another region",
        ),
        pytest.param({"persistent_resource_id": "my-pool"}, [], id="a persistent resource"),
        pytest.param(
            {"persistent_resource_id": "projects/p/locations/l/persistentResources/my-pool"},
            [("persistent-resource-id", "persistent_resource_id")],
            id="a persistent resource by its full name",
        ),
        pytest.param(
            {"protected_artifact_location_id": "us-central1"},
            [("protected-artifact-location", "protected_artifact_location_id")],
            id="the job's own location",
        ),
        pytest.param({"protected_artifact_location_id": "us-east1"}, [], id="another location"),
    ],
)
def test_where_a_job_runs_and_reports_to(change, found):
    problems = validate(replace(job(), **change), options=CheckOptions(location="us-central1"))
    assert [(problem.rule, problem.path) for problem in problems] == found


def test_a_run_s_own_directory_is_enough_for_a_tensorboard():
    spec = replace(job(), tensorboard=BOARD, service_account=ACCOUNT)
    assert validate(spec, has_output=True) == []


@given(jobs.jobs)
def test_validation_never_raises(spec):
    assert all(problem.path for problem in validate(spec))


def test_decoding_and_rules_report_together():
    value = {
        "display_name": "x" * 200,
        "worker_pool_specs": [
            {
                "machine_spec": {"machine_tpye": "n1-standard-4"},
                "replica_count": 3,
                "nfs_mounts": [{"server": 1, "path": "share", "mount_point": "data"}],
            },
            {
                "machine_spec": {"machine_type": "n1-standard-4", "accelerator_type": "NVIDIA_TESLA_T4"},
                "replica_count": 1.5,
            },
        ],
        "network": "default",
        "scheduling": {"strategy": "SPOTT"},
    }
    assert [problem.path for problem in read(value).problems] == [
        "worker_pool_specs[0].machine_spec.machine_tpye",
        "worker_pool_specs[0].nfs_mounts[0].server",
        "worker_pool_specs[1].replica_count",
        "display_name",
        "worker_pool_specs[0].replica_count",
        "worker_pool_specs[0]",
        "worker_pool_specs[1].machine_spec.accelerator_count",
        "scheduling.strategy",
        "network",
        "worker_pool_specs[0].nfs_mounts[0].path",
    ]


def test_a_pool_without_a_count_is_asked_for_one():
    second = {"machine_spec": {"machine_type": "n1-standard-4"}, "container_spec": {"image_uri": "a:1"}}
    value = {**MINIMAL, "worker_pool_specs": [*MINIMAL["worker_pool_specs"], second]}
    assert [problem.path for problem in read(value).problems] == ["worker_pool_specs[1].replica_count"]


@pytest.mark.parametrize(
    "gap", [{}, None, {"replica_count": 0}, {"replica_count": 0, "machine_spec": {"machine_type": "x-1"}}]
)
def test_every_spelling_of_a_skipped_pool(gap):
    [chief] = MINIMAL["worker_pool_specs"]
    decoded = read({**MINIMAL, "worker_pool_specs": [chief, gap, chief, gap]})
    assert decoded.problems == ()
    assert encode(decoded.spec)["worker_pool_specs"][1] == {}
    assert len(decoded.spec.worker_pool_specs) == 3


# A preview, where some values are not known yet.


def unknown_at(*where):
    value = read(MINIMAL)
    plain = encode(value.spec)
    target = plain
    for key in where[:-1]:
        target = target[key]
    target[where[-1]] = UNKNOWN
    return plain


@pytest.mark.parametrize(
    ("where", "path"),
    [
        (("display_name",), "display_name"),
        (("worker_pool_specs",), "worker_pool_specs"),
        (("worker_pool_specs", 0), "worker_pool_specs[0]"),
        (("worker_pool_specs", 0, "replica_count"), "worker_pool_specs[0].replica_count"),
        (("worker_pool_specs", 0, "machine_spec"), "worker_pool_specs[0].machine_spec"),
        (
            ("worker_pool_specs", 0, "machine_spec", "machine_type"),
            "worker_pool_specs[0].machine_spec.machine_type",
        ),
        (
            ("worker_pool_specs", 0, "machine_spec", "accelerator_type"),
            "worker_pool_specs[0].machine_spec.accelerator_type",
        ),
        (("worker_pool_specs", 0, "container_spec"), "worker_pool_specs[0].container_spec"),
        (
            ("worker_pool_specs", 0, "container_spec", "image_uri"),
            "worker_pool_specs[0].container_spec.image_uri",
        ),
        (("worker_pool_specs", 0, "container_spec", "env"), "worker_pool_specs[0].container_spec.env"),
        (("worker_pool_specs", 0, "disk_spec"), "worker_pool_specs[0].disk_spec"),
        (("scheduling",), "scheduling"),
        (("service_account",), "service_account"),
        (("base_output_directory",), "base_output_directory"),
        (("labels",), "labels"),
    ],
)
def test_an_unknown_value_goes_through_check_and_back(where, path):
    plain = unknown_at(*where)
    decoded = read(plain)
    if where[-1] == "accelerator_type":
        assert decoded.problems == ()
    assert [problem for problem in decoded.problems if problem.level == "error"] == []
    assert decoded.unknown == {path}
    again = encode(decoded.spec, unknown=decoded.unknown)
    assert again == plain


def test_an_unknown_image_does_not_hide_what_is_wrong_elsewhere():
    plain = unknown_at("worker_pool_specs", 0, "container_spec", "image_uri")
    plain["worker_pool_specs"] *= 5
    assert [problem.path for problem in read(plain).problems] == ["worker_pool_specs"]


# The hash.


@given(jobs.jobs)
def test_the_hash_is_that_of_the_normal_form(spec):
    assert spec_hash(spec) == spec_hash(normalise(spec))


@given(jobs.jobs, jobs.jobs)
def test_equal_hashes_mean_equal_jobs(one, other):
    """Leave out what only the next run gets."""
    one, other = replace(one, **OF_NEXT_RUN), replace(other, **OF_NEXT_RUN)
    assert (spec_hash(one) == spec_hash(other)) == (normalise(one) == normalise(other))


def test_name_and_labels_are_not_hashed():
    assert spec_hash(replace(job(), display_name="letters", labels={"team": "a"})) == spec_hash(job())


def test_the_hash_is_a_label():
    assert re.fullmatch(r"v1-[0-9a-f]{16}", spec_hash(job()))


def test_the_hash_stays_what_it_was_when_the_state_was_written():
    """Fail on a changed hash, which would replace every recorded job: raise the version instead."""
    spec = job(
        package_pool(),
        pool(2, gpus=1, env={"A": "1"}),
        EMPTY,
        pool(),
        scheduling=Scheduling(timeout="3600s"),
        labels={"team": "vision"},
    )
    assert spec_hash(spec) == "v1-a0ad2a15c4071889"
