"""Every field of a custom job on the emulator: accepted, answered as it was sent, done or said not to be."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from google.cloud.aiplatform_v1 import types as api

from support.client.clients.recorded_requests import all_fields, fields_in
from support.emulated.job_emulator import IMAGE, PARENT, JobEmulator, job, messages, pool, running_jobs
from vertex_emulator.jobs.custom.checks import limitations
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_training.job.custom_job import CustomJobSpec

LOCATION = "projects/local/locations/us-central1"
NETWORK = "projects/12345/global/networks/net"
FIRST = "job_spec.worker_pool_specs[0]"

SURROUNDINGS: dict[str, Any] = {
    "scheduling": {
        "timeout": "3600s",
        "restartJobOnWorkerRestart": True,
        "strategy": "FLEX_START",
        "disableRetries": True,
        "maxWaitDuration": "1800s",
    },
    "serviceAccount": "trainer@p.iam.gserviceaccount.com",
    "network": NETWORK,
    "reservedIpRanges": ["range-1", "range-2"],
    "pscInterfaceConfig": {
        "networkAttachment": "projects/p/regions/us-central1/networkAttachments/a",
        "dnsPeeringConfigs": [{"domain": "corp.", "targetProject": "p", "targetNetwork": "net"}],
    },
    "baseOutputDirectory": {"outputUriPrefix": "gs://b/out/"},
    "protectedArtifactLocationId": "us",
    "tensorboard": f"{LOCATION}/tensorboards/7",
    "enableWebAccess": True,
    "enableDashboardAccess": True,
    "experiment": f"{LOCATION}/metadataStores/default/contexts/e",
    "experimentRun": f"{LOCATION}/metadataStores/default/contexts/e-r",
    "models": ["projects/local/locations/us-central1/models/1"],
}
MACHINE: dict[str, Any] = {
    "machineType": "a2-highgpu-2g",
    "acceleratorType": "NVIDIA_TESLA_A100",
    "acceleratorCount": 2,
    "gpuPartitionSize": "1g.5gb",
    "tpuTopology": "2x2",
    "reservationAffinity": {
        "reservationAffinityType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["projects/p/zones/us-central1-a/reservations/r"],
    },
}
NFS = {"server": "10.0.0.2", "path": "/exports/data", "mountPoint": "data"}
LUSTRE = {"instanceIp": "10.0.0.3", "volumeHandle": "v", "filesystem": "fs", "mountPoint": "scratch"}


def everything() -> dict[str, Any]:
    """Return a job that sets every field of the API."""
    env = [{"name": "A", "value": "1"}]
    return {
        **job(
            {
                **pool("", args=["a"], env=env),
                "machineSpec": MACHINE,
                "diskSpec": {"bootDiskType": "pd-standard", "bootDiskSizeGb": 200},
                "nfsMounts": [NFS],
                "lustreMounts": [LUSTRE],
            },
            {},
            {
                "machineSpec": {"machineType": "n1-standard-4"},
                "replicaCount": 1,
                "pythonPackageSpec": {
                    "executorImageUri": IMAGE,
                    "packageUris": ["gs://b/p-1.tar.gz"],
                    "pythonModule": "p",
                    "args": ["a"],
                    "env": env,
                },
            },
            {},
            labels={"team": "a"},
            **SURROUNDINGS,
        ),
        "encryptionSpec": {"kmsKeyName": f"{LOCATION}/keyRings/r/cryptoKeys/k"},
    }


def as_sent(body: dict[str, Any], answer: dict[str, Any]) -> None:
    """Every field of the request is in the answer, and no other but what the service sets."""
    expected = copy.deepcopy(body)
    for each in expected["jobSpec"]["workerPoolSpecs"]:
        if each:
            each["replicaCount"] = str(each["replicaCount"])
            each.setdefault("diskSpec", {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100})
    set_by_the_service = {"name", "state", "createTime", "updateTime", "startTime", "endTime", "error"}
    assert {name: value for name, value in answer.items() if name not in set_by_the_service} == expected


def test_the_job_with_everything_has_every_field_of_the_installed_api() -> None:
    """Set all fields, except for one that a job without a persistent resource lacks."""
    missing = {"job_spec.persistent_resource_id"}
    assert fields_in(api.CustomJob, everything()) == all_fields(
        api.CustomJob, leave_out={*CustomJobSpec.SERVER_OWNED, *missing}
    )


def test_it_is_decided_what_the_emulator_does_with_each_field() -> None:
    """Fail for a field of a newer version of the API until the emulator handles it."""
    parents = {"job_spec.worker_pool_specs", "job_spec.worker_pool_specs.machine_spec"}
    fields = all_fields(api.CustomJob, leave_out=CustomJobSpec.SERVER_OWNED)
    undecided = {
        path
        for path in fields
        if not any(
            path == each or path.startswith(f"{each}.") for each in limitations.FIELDS.keys() - parents
        )
    }
    assert undecided == set()


@pytest.mark.parity(
    "Custom jobs: create, get, list",
    same="every field is returned, also after a restart",
    fields=("display_name", "labels", "job_spec.worker_pool_specs.disk_spec"),
)
def test_a_job_with_everything_is_answered_as_it_was_sent(tmp_path: Path, sandbox: Sandbox) -> None:
    body = everything()
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        created = emulator.call("POST", f"{PARENT}/customJobs", body).ok().json()
        as_sent(body, created)
        as_sent(body, emulator.get(created["name"]))
        [listed] = emulator.call("GET", f"{PARENT}/customJobs").json()["customJobs"]
        as_sent(body, listed)
        as_sent(body, emulator.wait(created["name"]))
    with running_jobs(tmp_path, sandbox=sandbox) as emulator:
        as_sent(body, emulator.get(created["name"]))


@pytest.mark.parity("Custom jobs: create, get, list")
def test_zero_values_vanish(emulator: JobEmulator) -> None:
    zeros = {
        "scheduling": {},
        "pscInterfaceConfig": {},
        "serviceAccount": "",
        "enableWebAccess": False,
        "models": [],
    }
    first = pool("")
    first["machineSpec"]["acceleratorCount"] = 0
    created = emulator.call("POST", f"{PARENT}/customJobs", job(first, {}, **zeros)).json()
    del first["machineSpec"]["acceleratorCount"]
    as_sent(job(first, {}), created)


@pytest.mark.parity("Custom jobs: maximum wait")
def test_a_wait_for_ever_stays(emulator: JobEmulator) -> None:
    scheduling = {"strategy": "FLEX_START", "maxWaitDuration": "0s"}
    name = emulator.create(pool(""), scheduling=scheduling)
    assert emulator.get(name)["jobSpec"]["scheduling"] == scheduling


@pytest.mark.parity("Custom jobs: create, get, list")
@pytest.mark.parametrize("machine", ["a3-ultragpu-8g", "a4-highgpu-8g"])
def test_the_disk_of_machines_with_hyperdisks(emulator: JobEmulator, machine: str) -> None:
    name = emulator.create({**pool(""), "machineSpec": {"machineType": machine}})
    [first] = emulator.get(name)["jobSpec"]["workerPoolSpecs"]
    assert first["diskSpec"] == {"bootDiskType": "hyperdisk-balanced", "bootDiskSizeGb": 100}


@pytest.mark.parity(
    "Custom jobs: strategies",
    own_way="Spot VMs are preempted on request; FLEX_START waits for a quota that a test sets",
    fields=("job_spec.scheduling.strategy",),
)
@pytest.mark.parametrize("strategy", ["ON_DEMAND", "LOW_COST", "STANDARD", "SPOT", "FLEX_START"])
def test_every_strategy_is_accepted(emulator: JobEmulator, strategy: str) -> None:
    name = emulator.create(pool(""), scheduling={"strategy": strategy})
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    assert emulator.get(name)["jobSpec"]["scheduling"] == {"strategy": strategy}


def lines(emulator: JobEmulator, name: str) -> list[str]:
    found = messages(emulator.entries(name, 'resource.labels.task_name="service"'))
    return [each for each in found if each.startswith("Emulator: ")]


@pytest.mark.parity(
    "Custom jobs: NFS and Managed Lustre",
    fields=("job_spec.worker_pool_specs.nfs_mounts", "job_spec.worker_pool_specs.lustre_mounts"),
)
@pytest.mark.parity("Custom jobs: TensorBoard", fields=("job_spec.tensorboard",))
@pytest.mark.parity("Custom jobs: experiments", fields=("job_spec.experiment", "job_spec.experiment_run"))
@pytest.mark.parity(
    "Custom jobs: service account",
    not_done="replicas run as the user of the emulator",
    fields=("job_spec.service_account",),
)
@pytest.mark.parity(
    "Custom jobs: network",
    not_done="replicas have this machine's network, or one of the job's own",
    fields=("job_spec.network", "job_spec.reserved_ip_ranges"),
)
@pytest.mark.parity(
    "Custom jobs: Private Service Connect",
    not_done="replicas have this machine's network and names, or those of the job alone",
    fields=("job_spec.psc_interface_config",),
)
@pytest.mark.parity(
    "Custom jobs: encryption keys", not_done="nothing is encrypted", fields=("encryption_spec",)
)
@pytest.mark.parity(
    "Custom jobs: web access",
    not_done="not available; webAccessUris stays empty",
    fields=("job_spec.enable_web_access", "job_spec.enable_dashboard_access"),
)
@pytest.mark.parity(
    "Custom jobs: reservations",
    not_done="no reservation is used",
    fields=("job_spec.worker_pool_specs.machine_spec.reservation_affinity",),
)
@pytest.mark.parity(
    "Custom jobs: GPU partitions and TPU slices",
    not_done="each replica is one process on the CPU",
    fields=(
        "job_spec.worker_pool_specs.machine_spec.gpu_partition_size",
        "job_spec.worker_pool_specs.machine_spec.tpu_topology",
    ),
)
@pytest.mark.parity(
    "Custom jobs: protected artifacts",
    not_done="they stay on this machine",
    fields=("job_spec.protected_artifact_location_id",),
)
@pytest.mark.parity("Custom jobs: models", not_done="ignored", fields=("job_spec.models",))
def test_the_log_has_a_line_for_each_field_of_these_rows(
    emulator: JobEmulator, request: pytest.FixtureRequest
) -> None:
    name = emulator.call("POST", f"{PARENT}/customJobs", everything()).json()["name"]
    emulator.wait(name)
    reported = [line.removeprefix("Emulator: ").partition(":")[0] for line in lines(emulator, name)]
    fields = [path for mark in request.node.iter_markers("parity") for path in mark.kwargs["fields"]]
    assert sorted(reported) == sorted(path.rpartition(".")[2] for path in fields)


def test_a_job_without_such_fields_has_no_line(emulator: JobEmulator) -> None:
    name = emulator.create(pool(""))
    emulator.wait(name)
    assert lines(emulator, name) == []


@pytest.mark.parity("Custom jobs: web access")
def test_the_web_access_of_a_running_job_has_no_address(emulator: JobEmulator) -> None:
    name = emulator.create(pool("import time; time.sleep(600)"), enableWebAccess=True)
    assert "webAccessUris" not in emulator.wait(name, "JOB_STATE_RUNNING")


def with_spec(**spec: Any) -> dict[str, Any]:
    return job(pool(), **spec)


def with_machine(**machine: Any) -> dict[str, Any]:
    return job({**pool(), "machineSpec": {"machineType": "n1-standard-4", **machine}})


def with_psc(**config: Any) -> dict[str, Any]:
    return with_spec(pscInterfaceConfig=config)


def with_key(name: str) -> dict[str, Any]:
    return {**job(pool()), "encryptionSpec": {"kmsKeyName": name}}


@pytest.mark.parity("Custom jobs: refusals")
@pytest.mark.parametrize(
    ("body", "field"),
    [
        pytest.param(with_spec(network="default"), "job_spec.network", id="network"),
        pytest.param(with_spec(reservedIpRanges=["r"]), "job_spec.reserved_ip_ranges", id="range alone"),
        pytest.param(
            with_psc(networkAttachment="a"), "job_spec.psc_interface_config.network_attachment", id="psc"
        ),
        pytest.param(
            with_psc(dnsPeeringConfigs=[{"domain": "corp", "targetProject": "p", "targetNetwork": "n"}]),
            "job_spec.psc_interface_config.dns_peering_configs[0].domain",
            id="domain without a dot",
        ),
        pytest.param(
            with_psc(dnsPeeringConfigs=[{"domain": "corp.", "targetProject": "p"}]),
            "job_spec.psc_interface_config.dns_peering_configs[0].target_network",
            id="peering without a network",
        ),
        pytest.param(
            with_spec(
                tensorboard="7",
                serviceAccount="a@p.iam.gserviceaccount.com",
                baseOutputDirectory={"outputUriPrefix": "gs://b/o"},
            ),
            "job_spec.tensorboard",
            id="tensorboard by its id",
        ),
        pytest.param(
            with_spec(
                tensorboard=f"{LOCATION}/tensorboards/7", baseOutputDirectory={"outputUriPrefix": "gs://b/o"}
            ),
            "job_spec.service_account",
            id="tensorboard without an account",
        ),
        pytest.param(
            with_spec(tensorboard=f"{LOCATION}/tensorboards/7", serviceAccount="a@p.iam.gserviceaccount.com"),
            "job_spec.base_output_directory",
            id="tensorboard without a directory",
        ),
        pytest.param(with_spec(experimentRun="r"), "job_spec.experiment", id="a run alone"),
        pytest.param(
            with_spec(scheduling={"maxWaitDuration": "-1s"}),
            "job_spec.scheduling.max_wait_duration",
            id="a negative wait",
        ),
        pytest.param(with_key(""), "encryption_spec.kms_key_name", id="no key"),
        pytest.param(with_key("k"), "encryption_spec.kms_key_name", id="a key by its id"),
        pytest.param(
            with_key("projects/p/locations/europe-west4/keyRings/r/cryptoKeys/k"),
            "encryption_spec.kms_key_name",
            id="a key elsewhere",
        ),
        pytest.param(
            with_machine(reservationAffinity={"key": "k"}),
            f"{FIRST}.machine_spec.reservation_affinity.reservation_affinity_type",
            id="a reservation of no type",
        ),
        pytest.param(
            with_machine(reservationAffinity={"reservationAffinityType": "SPECIFIC_RESERVATION", "key": "k"}),
            f"{FIRST}.machine_spec.reservation_affinity.values",
            id="a reservation without its name",
        ),
    ],
)
def test_what_is_wrong_is_refused_with_its_field(idle: JobEmulator, body: dict[str, Any], field: str) -> None:
    error = idle.refused(body)
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert [each["field"] for each in error["details"][0]["fieldViolations"]] == [field]


@pytest.mark.parity("Custom jobs: refusals")
def test_an_accelerator_that_the_machine_has_not_in_the_words_of_the_service(idle: JobEmulator) -> None:
    """Use values as users quote them."""
    error = idle.refused(with_machine(acceleratorType="NVIDIA_L4", acceleratorCount=1))
    assert error["message"] == 'Accelerator "NVIDIA_L4" is not supported for machine type "n1-standard-4"'


def test_a_retired_accelerator_is_refused_with_its_successor(idle: JobEmulator) -> None:
    """Samples of Google request the K80, which the service has refused since it was retired."""
    error = idle.refused(with_machine(acceleratorType="NVIDIA_TESLA_K80", acceleratorCount=1))
    assert error["message"] == (
        'Accelerator "NVIDIA_TESLA_K80" is not supported for machine type "n1-standard-4". '
        "NVIDIA_TESLA_K80 is retired. Use NVIDIA_TESLA_T4"
    )


def environment_of(emulator: JobEmulator, first: dict[str, Any], **spec: Any) -> dict[str, str]:
    """Return the environment of a job's chief."""
    tell = "import json, os; print(json.dumps(dict(os.environ)))"
    first = {**first, "containerSpec": pool(tell)["containerSpec"]}
    name = emulator.create(first, **spec)
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    environment: dict[str, str] = json.loads(emulator.printed(name)[0])
    return environment


@pytest.mark.parity(
    "Custom jobs: accelerators",
    own_way="the same number of logical CPU devices, which JAX and TensorFlow find automatically; "
    "`vertex_cluster.local_devices()` returns it for other frameworks",
    fields=(
        "job_spec.worker_pool_specs.machine_spec.accelerator_type",
        "job_spec.worker_pool_specs.machine_spec.accelerator_count",
    ),
)
def test_a_replica_has_a_device_for_each_accelerator(emulator: JobEmulator) -> None:
    machine = {"machineType": "g2-standard-48", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 4}
    environment = environment_of(emulator, {**pool(), "machineSpec": machine})
    assert environment["VERTEX_CLUSTER_LOCAL_DEVICES"] == "4"
    assert environment["XLA_FLAGS"] == "--xla_force_host_platform_device_count=4"


@pytest.mark.parity(
    "Custom jobs: TensorBoard",
    own_way="scalars are added to the tensorboard, if it exists, while the job runs; other summaries "
    "stay in the files, and the log reports that",
)
def test_a_tensorboard_has_its_variables_and_its_folder(emulator: JobEmulator) -> None:
    name = f"{LOCATION}/tensorboards/7"
    environment = environment_of(
        emulator,
        pool(),
        tensorboard=name,
        serviceAccount="a@p.iam.gserviceaccount.com",
        baseOutputDirectory={"outputUriPrefix": "gs://flags/out"},
    )
    assert environment["AIP_TENSORBOARD_LOG_DIR"] == "gs://flags/out/logs/"
    assert environment["AIP_TENSORBOARD_RESOURCE_NAME"] == name
    assert environment["AIP_TENSORBOARD_API_URI"] == "us-central1-aiplatform.googleapis.com"
    assert (emulator.flags / "out" / "logs").is_dir()


@pytest.mark.parametrize("bucket", ["flags/../../elsewhere", "..", "nowhere", "flags/taken"])
def test_a_tensorboard_folder_that_cannot_be_made(emulator: JobEmulator, bucket: str) -> None:
    (emulator.flags / "taken").write_text("an object")
    environment_of(
        emulator,
        pool(),
        tensorboard=f"{LOCATION}/tensorboards/7",
        serviceAccount="a@p.iam.gserviceaccount.com",
        baseOutputDirectory={"outputUriPrefix": f"gs://{bucket}/out"},
    )
    # `os.walk` passes over folders of the job that the emulator removes meanwhile.
    walked = os.walk(emulator.data_dir)
    assert not [where for where, folders, files in walked if "out" in (*folders, *files)]


def test_a_tensorboard_folder_is_not_made_through_a_link(emulator: JobEmulator, tmp_path: Path) -> None:
    """Ignore a link that a program may have created in /gcs."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (emulator.flags / "linked").symlink_to(elsewhere)
    environment_of(
        emulator,
        pool(),
        tensorboard=f"{LOCATION}/tensorboards/7",
        serviceAccount="a@p.iam.gserviceaccount.com",
        baseOutputDirectory={"outputUriPrefix": "gs://flags/linked/out"},
    )
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parity(
    "Custom jobs: experiments", own_way="the variables exist; nothing is recorded, and the log reports that"
)
def test_an_experiment_has_its_variables(emulator: JobEmulator) -> None:
    environment = environment_of(emulator, pool(), experiment="e", experimentRun="e-r")
    assert environment["AIP_EXPERIMENT_NAME"] == "e"
    assert environment["AIP_EXPERIMENT_RUN_NAME"] == "e-r"


@pytest.mark.parity(
    "Custom jobs: the region of buckets",
    not_done="buckets of any location are accepted; previews refuse a wrong one if its location is known",
)
def test_a_bucket_of_another_region_is_taken(emulator: JobEmulator) -> None:
    emulator.call("POST", "/storage/v1/b?project=local", {"name": "far-away", "location": "EU"}).ok()
    name = emulator.create(pool(), baseOutputDirectory={"outputUriPrefix": "gs://far-away/out"})
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
