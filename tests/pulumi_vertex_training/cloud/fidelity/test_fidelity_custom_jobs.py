"""The requests for a custom job equal those of Google's own clients for the same job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from google.cloud.aiplatform_v1 import JobServiceClient
from google.cloud.aiplatform_v1 import types as api

from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.client.clients.recorded_requests import Recorder, Sent, all_fields, enum_names, fields_in
from vertex_training.fields.decode import decode
from vertex_training.job.custom_job import CustomJobSpec, to_wire

PARENT = "projects/my-project/locations/us-central1"
KEY = f"{PARENT}/keyRings/r/cryptoKeys/k"
OUTPUT_ONLY = CustomJobSpec.SERVER_OWNED
ALL = all_fields(api.CustomJob, leave_out=OUTPUT_ONLY)
POOL = "job_spec.worker_pool_specs"

EVERYTHING: dict[str, Any] = {
    "display_name": "everything",
    "labels": {"team": "vision", "run": "a-1"},
    "encryption_spec": {"kms_key_name": KEY},
    "worker_pool_specs": [
        {
            "machine_spec": {
                "machine_type": "a2-highgpu-1g",
                "accelerator_type": "NVIDIA_TESLA_A100",
                "accelerator_count": 1,
                "gpu_partition_size": "1g.5gb",
                "reservation_affinity": {
                    "reservation_affinity_type": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": ["projects/my-project/zones/us-central1-a/reservations/r"],
                },
            },
            "replica_count": 1,
            "nfs_mounts": [{"server": "10.0.0.2", "path": "/exports/data", "mount_point": "data"}],
            "lustre_mounts": [
                {
                    "instance_ip": "10.0.0.3",
                    "volume_handle": "v",
                    "filesystem": "fs",
                    "mount_point": "scratch",
                }
            ],
            "disk_spec": {"boot_disk_type": "pd-standard", "boot_disk_size_gb": 200},
            "container_spec": {
                "image_uri": "gcr.io/p/i:1",
                "command": ["python3", "-m", "trainer"],
                "args": ["--epochs=3", "--lr", "1e-3"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}],
            },
        },
        {},
        {
            "machine_spec": {"machine_type": "ct5lp-hightpu-4t", "tpu_topology": "2x2"},
            "replica_count": 3,
            "python_package_spec": {
                "executor_image_uri": "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
                "package_uris": ["gs://b/p-1.tar.gz", "gs://b/q-1.whl"],
                "python_module": "trainer.task",
                "args": ["--a"],
                "env": [{"name": "C", "value": "3"}],
            },
        },
    ],
    "scheduling": {
        "timeout": "3600s",
        "restart_job_on_worker_restart": True,
        "strategy": "FLEX_START",
        "disable_retries": True,
        "max_wait_duration": "1800s",
    },
    "service_account": "trainer@my-project.iam.gserviceaccount.com",
    "network": "projects/12345/global/networks/net",
    "reserved_ip_ranges": ["vertex-ai-ip-range", "second"],
    "psc_interface_config": {
        "network_attachment": "projects/my-project/regions/us-central1/networkAttachments/a",
        "dns_peering_configs": [
            {"domain": "my-internal.corp.", "target_project": "other", "target_network": "net"}
        ],
    },
    "base_output_directory": "gs://b/out/",
    "persistent_resource_id": "pool-1",
    "protected_artifact_location_id": "us",
    "tensorboard": f"{PARENT}/tensorboards/7",
    "enable_web_access": True,
    "enable_dashboard_access": True,
    "experiment": f"{PARENT}/metadataStores/default/contexts/e",
    "experiment_run": f"{PARENT}/metadataStores/default/contexts/e-r",
    "models": ["projects/my-project/locations/us-central1/models/1"],
}
"""Every field once, more than the service would allow together."""


def googles(declared: dict[str, Any]) -> api.CustomJob:
    """Return the same job in Google's types, built from their names."""
    values = dict(declared)
    outer = {key: values.pop(key) for key in ("display_name", "labels", "encryption_spec") if key in values}
    if "base_output_directory" in values:
        values["base_output_directory"] = {"output_uri_prefix": values["base_output_directory"]}
    if "scheduling" in values:
        values["scheduling"] = {name: _duration(value) for name, value in values["scheduling"].items()}
    return api.CustomJob(**outer, job_spec=values)


def _duration(value: Any) -> Any:
    is_duration = isinstance(value, str) and value.endswith("s") and value[:-1].isdigit()
    return timedelta(seconds=int(value[:-1])) if is_duration else value


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as made:
        yield made


@pytest.fixture
def client(recorder: Recorder) -> JobServiceClient:
    return recorder.client(JobServiceClient)


def ours(recorder: Recorder, declared: dict[str, Any]) -> Sent:
    spec = decode(CustomJobSpec, declared).spec
    assert spec is not None
    custom_jobs.create(recorder.google(), to_wire(spec))
    return recorder.one().normal(api.CustomJob)


def theirs(recorder: Recorder, client: JobServiceClient, declared: dict[str, Any]) -> Sent:
    client.create_custom_job(parent=PARENT, custom_job=googles(declared))
    return recorder.one().normal(api.CustomJob)


def simple(**more: Any) -> dict[str, Any]:
    """Return a job of one chief, with further fields in its spec."""
    pool = {
        "machine_spec": {"machine_type": "n1-standard-4"},
        "replica_count": 1,
        "container_spec": {"image_uri": "gcr.io/p/i"},
    }
    return {"display_name": "d", "worker_pool_specs": [pool], **more}


def with_machine(**machine: Any) -> dict[str, Any]:
    (pool,) = simple()["worker_pool_specs"]
    return simple(worker_pool_specs=[{**pool, "machine_spec": machine}])


def test_the_job_with_everything_has_every_field_of_the_installed_api() -> None:
    """Fail for a field that a newer API version adds, until it is declared in this module."""
    document = api.CustomJob.to_dict(googles(EVERYTHING), use_integers_for_enums=False)
    document = {name: value for name, value in document.items() if name not in OUTPUT_ONLY}
    assert fields_in(api.CustomJob, document) == ALL


@pytest.mark.parity("Custom jobs: requests")
def test_what_we_send_has_every_field_of_the_installed_api(recorder: Recorder) -> None:
    assert fields_in(api.CustomJob, ours(recorder, EVERYTHING).body) == ALL


@pytest.mark.parity(
    "Custom jobs: requests",
    same="our gateway sends what Google's generated client and the SDK send for the same job",
)
def test_a_job_with_everything(recorder: Recorder, client: JobServiceClient) -> None:
    sent = ours(recorder, EVERYTHING)
    assert sent == theirs(recorder, client, EVERYTHING)
    assert (sent.method, sent.path) == ("POST", f"/v1/{PARENT}/customJobs")
    assert sent.body["job_spec"]["worker_pool_specs"][1] == {}


JOBS = [
    pytest.param(simple(), id="the least"),
    pytest.param(simple(worker_pool_specs=[*simple()["worker_pool_specs"], {}, {}]), id="empty last pools"),
    pytest.param(simple(base_output_directory="gs://b"), id="a directory without a slash"),
    pytest.param(simple(display_name="Größe 😀"), id="a display name beyond ASCII"),
    pytest.param(simple(scheduling={"timeout": "604800s"}), id="the default timeout"),
    pytest.param(
        simple(scheduling={"strategy": "FLEX_START", "max_wait_duration": "0s"}), id="waiting for ever"
    ),
    pytest.param(
        simple(psc_interface_config={"network_attachment": "a"}), id="an attachment without DNS peering"
    ),
    pytest.param(simple(labels={"empty": ""}), id="a label without a value"),
    *(
        pytest.param(simple(scheduling={"strategy": name}), id=name)
        for name in sorted(enum_names(api.CustomJob, "job_spec.scheduling.strategy"))
    ),
    *(
        pytest.param(
            with_machine(machine_type="n1-standard-4", accelerator_type=name, accelerator_count=1), id=name
        )
        for name in sorted(enum_names(api.CustomJob, f"{POOL}.machine_spec.accelerator_type"))
    ),
    *(
        pytest.param(
            with_machine(machine_type="m", reservation_affinity={"reservation_affinity_type": name}), id=name
        )
        for name in sorted(
            enum_names(api.CustomJob, f"{POOL}.machine_spec.reservation_affinity.reservation_affinity_type")
        )
    ),
]


@pytest.mark.parametrize("declared", JOBS)
def test_a_job(recorder: Recorder, client: JobServiceClient, declared: dict[str, Any]) -> None:
    assert ours(recorder, declared) == theirs(recorder, client, declared)


@pytest.mark.parity("Custom jobs: requests")
@pytest.mark.parametrize("method", ["get", "cancel", "delete"])
def test_a_call_by_name(recorder: Recorder, client: JobServiceClient, method: str) -> None:
    name = f"{PARENT}/customJobs/2970106362064797696"
    getattr(client, f"{method}_custom_job")(name=name)
    expected = recorder.one()
    if method == "delete":
        custom_jobs.delete(recorder.google(), name)
    else:
        getattr(custom_jobs, method)(recorder.google(), name)
    assert recorder.one() == expected


@pytest.mark.parity("Custom jobs: requests")
def test_a_list_with_a_filter(recorder: Recorder, client: JobServiceClient) -> None:
    request = api.ListCustomJobsRequest(parent=PARENT, filter='labels.run="a-1"', page_size=500)
    list(client.list_custom_jobs(request=request))
    expected = recorder.one()
    custom_jobs.list_by_label(recorder.google(), {"run": "a-1"})
    assert recorder.one() == expected


class TestAgainstTheSdk:
    """The SDK's CustomJob: it always sends a base output directory."""

    @pytest.mark.parity("Custom jobs: requests")
    def test_everything_that_it_takes(self, recorder: Recorder, sdk: Any) -> None:
        not_taken = (
            "reserved_ip_ranges",
            "protected_artifact_location_id",
            "enable_dashboard_access",
            "experiment",
            "experiment_run",
            "models",
        )
        declared = {name: value for name, value in EVERYTHING.items() if name not in not_taken}
        job = sdk.CustomJob(
            display_name="everything",
            worker_pool_specs=declared["worker_pool_specs"],
            base_output_dir="gs://b/out/",
            labels=declared["labels"],
            encryption_spec_key_name=KEY,
            persistent_resource_id="pool-1",
        )
        job.submit(
            service_account=declared["service_account"],
            network=declared["network"],
            timeout=3600,
            restart_job_on_worker_restart=True,
            enable_web_access=True,
            tensorboard=declared["tensorboard"],
            disable_retries=True,
            scheduling_strategy=api.Scheduling.Strategy.FLEX_START,
            max_wait_duration=1800,
            psc_interface_config=api.PscInterfaceConfig(**declared["psc_interface_config"]),
        )
        expected = recorder.one().normal(api.CustomJob)
        assert ours(recorder, declared) == expected

    def test_the_least(self, recorder: Recorder, sdk: Any) -> None:
        declared = simple(base_output_directory="gs://b/out")
        sdk.CustomJob(
            display_name="d",
            worker_pool_specs=declared["worker_pool_specs"],
            base_output_dir="gs://b/out",
        ).submit()
        expected = recorder.one().normal(api.CustomJob)
        assert ours(recorder, declared) == expected
