"""Requests over HTTP: accepted and refused jobs, words of errors, lists and pages."""

from __future__ import annotations

import base64
import copy
from typing import Any
from urllib.parse import urlencode

import pytest

from support.emulated.job_emulator import IMAGE, PARENT, SLEEP, JobEmulator, job, pool
from support.ground.jobs import REDUCTION_SERVER
from support.tables import every_row

FIRST = "job_spec.worker_pool_specs[0]"


def with_spec(**spec: Any) -> dict[str, Any]:
    return job(pool(), **spec)


def with_pool(**fields: Any) -> dict[str, Any]:
    return job({**pool(), **fields})


def unnamed() -> dict[str, Any]:
    body = job(pool())
    del body["displayName"]
    return body


def test_what_is_supported_is_echoed(emulator: JobEmulator) -> None:
    body = job(
        {
            **pool(),
            "machineSpec": {
                "machineType": "n1-standard-8",
                "acceleratorType": "NVIDIA_TESLA_T4",
                "acceleratorCount": 2,
            },
            "diskSpec": {"bootDiskType": "pd-standard"},
        },
        {},
        {**pool(SLEEP), "replicaCount": 0},
        labels={"team": "a", "empty": ""},
        scheduling={
            "timeout": "3600s",
            "restartJobOnWorkerRestart": True,
            "strategy": "STANDARD",
            "disableRetries": True,
        },
        serviceAccount="trainer@p.iam.gserviceaccount.com",
        baseOutputDirectory={"outputUriPrefix": "gs://b/out"},
    )
    created = emulator.call("POST", f"{PARENT}/customJobs", body).json()
    expected = copy.deepcopy(body)
    first, _, third = expected["jobSpec"]["workerPoolSpecs"]
    first["replicaCount"] = "1"
    first["diskSpec"]["bootDiskSizeGb"] = 100
    del third["replicaCount"]
    assert {key: created[key] for key in expected} == expected
    emulator.wait(created["name"])
    [notice] = [
        entry["jsonPayload"]["message"] for entry in emulator.entries(created["name"], 'severity="NOTICE"')
    ]
    assert notice.startswith(f"Emulator: the image {IMAGE} is not run; this replica uses Python ")
    assert "It has no real 2 x NVIDIA_TESLA_T4" in notice


@pytest.mark.parity("Custom jobs: create, get, list")
def test_both_spellings_and_numbers_are_read(emulator: JobEmulator) -> None:
    body = {
        "display_name": "digits",
        "job_spec": {
            "worker_pool_specs": [
                {
                    "machine_spec": {
                        "machine_type": "n1-standard-4",
                        "accelerator_type": 5,
                        "accelerator_count": 1.0,
                    },
                    "replica_count": "1",
                    "container_spec": {"image_uri": IMAGE, "command": ["python3", "-c", ""]},
                    "disk_spec": None,
                }
            ],
            "scheduling": {"strategy": 3},
        },
    }
    created = emulator.call("POST", f"{PARENT}/customJobs", body).json()
    assert created["jobSpec"]["workerPoolSpecs"][0]["machineSpec"] == {
        "machineType": "n1-standard-4",
        "acceleratorType": "NVIDIA_TESLA_T4",
        "acceleratorCount": 1,
    }
    numbers = emulator.call("GET", f"/v1/{created['name']}?%24alt=json%3Benum-encoding%3Dint").json()
    assert isinstance(numbers["state"], int)
    assert numbers["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]["acceleratorType"] == 5


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        (
            {**job(pool()), "colour": "red"},
            {"custom_job": "Unknown name \"colour\" at 'custom_job': Cannot find field."},
        ),
        (
            with_pool(replicaCount="many", machineSpec={"machineTipe": "n1"}),
            {
                f"custom_job.{FIRST}.replica_count": '(TYPE_INT64), "many"',
                f"custom_job.{FIRST}.machine_spec": 'Unknown name "machineTipe"',
            },
        ),
        (
            with_pool(machineSpec={"machineType": 4, "acceleratorType": "NVIDIA_T4"}),
            {
                f"custom_job.{FIRST}.machine_spec.machine_type": "(TYPE_STRING), 4",
                f"custom_job.{FIRST}.machine_spec.accelerator_type": (
                    '(type.googleapis.com/google.cloud.aiplatform.v1.AcceleratorType), "NVIDIA_T4"'
                ),
            },
        ),
        (
            with_pool(pythonPackageSpec={"executorImageUri": IMAGE}),
            {f"custom_job.{FIRST}": "oneof field 'task' is already set. Cannot set 'pythonPackageSpec'"},
        ),
        (with_spec(scheduling={"timeout": "1h"}), {"custom_job.job_spec.scheduling.timeout": "Duration"}),
        (with_spec(workerPoolSpecs={}), {"custom_job.job_spec.worker_pool_specs": "(List), {}"}),
        (with_spec(scheduling=[]), {"custom_job.job_spec": "not repeating, cannot start list"}),
        ({**job(pool()), "labels": {"a": 1}}, {"custom_job.labels[a]": "(TYPE_STRING), 1"}),
        ([], {"custom_job": "CustomJob), []"}),
    ],
)
def test_what_is_no_custom_job(idle: JobEmulator, body: Any, problems: dict[str, str]) -> None:
    error = idle.refused(body)
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    found = {each["field"]: each["description"] for each in error["details"][0]["fieldViolations"]}
    assert set(found) == set(problems)
    for field, words in problems.items():
        assert words in found[field]
        assert words in error["message"]


@pytest.mark.parity(
    "Custom jobs: refusals", own_way="the same form; the messages are Google's if they are known"
)
@every_row(
    ("body", "field", "words"),
    [
        (unnamed(), "display_name", "Required field is not set."),
        (job(pool(), name="x" * 129), "display_name", "up to 128 characters"),
        (job(), "job_spec.worker_pool_specs", "At least one worker pool"),
        (job({}), f"{FIRST}.replica_count", "exactly 1 replica, not 0"),
        (with_pool(replicaCount=3), f"{FIRST}.replica_count", "exactly 1 replica, not 3"),
        (job(*[pool()] * 5), "job_spec.worker_pool_specs", "5 worker pools"),
        (job({**pool(), "containerSpec": None}), FIRST, "`container_spec` and `python_package_spec`"),
        (with_pool(machineSpec=None), f"{FIRST}.machine_spec.machine_type", "Required"),
        (
            with_pool(machineSpec={"machineType": "big"}),
            f"{FIRST}.machine_spec.machine_type",
            "Machine type big is not supported.",
        ),
        (
            with_pool(machineSpec={"machineType": "n1-standard-4", "acceleratorType": "NVIDIA_TESLA_T4"}),
            f"{FIRST}.machine_spec.accelerator_type",
            "Both `accelerator_type` and `accelerator_count` should be specified or none.",
        ),
        (
            with_pool(diskSpec={"bootDiskSizeGb": 10, "bootDiskType": "pd-ssd"}),
            f"{FIRST}.disk_spec.boot_disk_size_gb",
            "10 is not between 100 and 64000",
        ),
        (job(pool(command=[])), f"{FIRST}.container_spec.command", "no program of its own"),
        (
            job(pool(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])),
            f"{FIRST}.container_spec.env",
            "EnvVar names must be unique.",
        ),
        (job(pool(env=[{"name": "1A"}])), f"{FIRST}.container_spec.env[0].name", "C identifier"),
        (
            with_pool(
                **pool(
                    env=[{"name": f"V{i}", "value": f"$(V{i - 1})" * 3 if i else "long"} for i in range(12)]
                )
            ),
            f"{FIRST}.container_spec.env[10].value",
            "236196 characters",
        ),
        (with_spec(labels={"Team": "a"}), "labels", "less that 128 bytes"),
        (with_spec(scheduling={"timeout": "-1s"}), "job_spec.scheduling.timeout", "greater than 0"),
        (
            with_spec(baseOutputDirectory={"outputUriPrefix": "out"}),
            "job_spec.base_output_directory.output_uri_prefix",
            "'out' is not a Cloud Storage directory",
        ),
        (
            with_pool(
                containerSpec=None,
                pythonPackageSpec={
                    "executorImageUri": IMAGE,
                    "packageUris": ["trainer.tar.gz"],
                    "pythonModule": "t",
                },
            ),
            f"{FIRST}.python_package_spec.package_uris[0]",
            "is no Cloud Storage address of a Python package",
        ),
    ],
)
def test_rules_of_the_service(idle: JobEmulator, body: dict[str, Any], field: str, words: str) -> None:
    error = idle.refused(body)
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    [violation] = error["details"][0]["fieldViolations"]
    assert violation["field"] == field
    assert words in violation["description"]
    assert error["message"] == (
        f"List of found errors:\t1.Field: {field}; Message: {violation['description']}\t"
    )


@pytest.mark.parity("Custom jobs: refusals")
def test_all_violations_are_reported_at_once(idle: JobEmulator) -> None:
    body = job({**pool(), "replicaCount": 2}, name="", labels={"A": "b"})
    error = idle.refused(body)
    assert error["details"][0]["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    fields = [each["field"] for each in error["details"][0]["fieldViolations"]]
    assert fields == ["display_name", "labels", f"{FIRST}.replica_count"]
    assert error["message"].count("\t") == 4


@pytest.mark.parametrize(
    "image",
    [
        "us-docker.pkg.dev/p/r/trainer@sha256:" + "0" * 64,
        "docker.io/library/python:3.11-alpine",
        "us-docker.pkg.dev/vertex-ai-restricted/training/reduction:latest",
    ],
)
def test_other_images_are_refused(idle: JobEmulator, image: str) -> None:
    error = idle.refused(job(pool(), pool(), {**pool(), "containerSpec": {"imageUri": image}}))
    assert (error["code"], error["status"]) == (400, "FAILED_PRECONDITION")
    [violation] = error["details"][0]["fieldViolations"]
    assert violation["field"] == "job_spec.worker_pool_specs[2].container_spec.image_uri"
    assert f"the emulator has no image {image}. " in error["message"]


@pytest.mark.parametrize(
    "image",
    [
        "europe-docker.pkg.dev/vertex-ai/training/tf-gpu.2-17.py310:latest",
        "gcr.io/cloud-aiplatform/training/scikit-learn-cpu.0-23:latest",
        "asia-docker.pkg.dev/vertex-ai/training/pytorch-xla.2-4.py310",
    ],
)
def test_prebuilt_images_are_accepted(emulator: JobEmulator, image: str) -> None:
    task = {"imageUri": image, "command": ["python", "-c", "import sys; print(sys.version)"]}
    name = emulator.create({**pool(), "containerSpec": task})
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"


def test_reduction_servers_wait_until_the_job_ends(emulator: JobEmulator) -> None:
    servers = {**pool(replicas=2), "containerSpec": {"imageUri": REDUCTION_SERVER}}
    name = emulator.create(pool("print('trained')"), pool("print('trained')"), servers)
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    assert {replica["state"] for replica in emulator.replicas(name).values()} <= {"succeeded", "stopped"}
    assert emulator.printed(name, "workerpool2-1") == []


@pytest.mark.parity("The interface: v1 and v1beta1")
@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("POST", f"{PARENT}/batchPredictionJobs", "JobService.CreateBatchPredictionJob"),
        ("GET", f"{PARENT}/batchPredictionJobs/1", "JobService.GetBatchPredictionJob"),
        ("GET", f"{PARENT}/featurestores", f"GET {PARENT}/featurestores"),
        ("POST", f"{PARENT.replace('v1', 'v1beta1')}/indexEndpoints", "POST /v1beta1/projects"),
        ("GET", f"{PARENT.replace('v1', 'v1beta1')}/extensions", "GET /v1beta1/projects"),
    ],
)
def test_other_methods_are_unimplemented(idle: JobEmulator, method: str, path: str, named: str) -> None:
    answer = idle.call(method, path, {} if method == "POST" else None)
    assert answer.status == 400
    assert answer.json()["error"]["status"] == "UNIMPLEMENTED"
    assert named in answer.message


@pytest.mark.parametrize("location", ["moon", "US-central1", "-"])
def test_places(idle: JobEmulator, location: str) -> None:
    error = idle.refused(job(pool()), path=f"/v1/projects/local/locations/{location}/customJobs")
    assert error["status"] == "INVALID_ARGUMENT"
    assert location in error["message"]


def listed(emulator: JobEmulator, **query: object) -> list[str]:
    answer = emulator.call("GET", f"{PARENT}/customJobs?{urlencode(query)}")
    assert answer.status == 200, answer.body
    return [each["displayName"] for each in answer.json().get("customJobs", [])]


@pytest.mark.parity("Custom jobs: lists", same="with a parser of the whole filter language")
def test_lists_and_filters(emulator: JobEmulator) -> None:
    for name, labels in (("one", {"run": "a"}), ("two", {"run": "b"}), ("three", {"run": "a", "team": "x"})):
        emulator.wait(emulator.create(pool(), name=name, labels=labels))
    failed = emulator.create(pool("raise SystemExit(1)"), name="failed one")
    emulator.wait(failed)
    other = "/v1/projects/local/locations/europe-west4/customJobs"
    elsewhere = emulator.call("POST", other, job(pool(), name="elsewhere")).json()["name"]
    everything = ["failed one", "three", "two", "one"]
    number = emulator.get(failed)["name"].split("/")[1]
    created = emulator.get(failed)["createTime"]
    for text, expected in {
        "": everything,
        "labels.run=a": ["three", "one"],
        'labels.run="a" AND labels.team="x"': ["three"],
        'labels."run"="b"': ["two"],
        "labels.team:*": ["three"],
        "labels.run!=a": ["failed one", "two"],
        'display_name="failed one"': ["failed one"],
        'displayName:"*one"': ["failed one", "one"],
        'state="JOB_STATE_FAILED"': ["failed one"],
        'state!="JOB_STATE_FAILED" AND state!="JOB_STATE_EXPIRED" labels.run=a': ["three", "one"],
        "labels.run=b OR labels.team=x": ["three", "two"],
        "NOT (labels.run=b OR labels.team=x)": ["failed one", "one"],
        f'create_time<"{created}" AND labels.run=a': ["three", "one"],
        f'create_time>="{created}"': ["failed one"],
        'create_time<"2020-01-01"': [],
        "labels.run=nobody": [],
    }.items():
        assert listed(emulator, filter=text) == expected, text
    by_number = emulator.call("GET", f"/v1/projects/{number}/locations/us-central1/customJobs").json()
    assert len(by_number["customJobs"]) == 4
    assert emulator.call("GET", "/v1/projects/another/locations/us-central1/customJobs").json() == {}
    emulator.wait(elsewhere)


@pytest.mark.parity("Custom jobs: lists")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("start_time>2026-01-01T00:00:00Z", "'start_time' cannot be filtered by"),
        ("labels=a", "'labels' cannot be filtered by"),
        ("state:RUNNING", "state cannot be compared with :"),
        ("state=RUNNING", "'RUNNING' is not a state"),
        ("create_time>yesterday", "'yesterday' is not a time"),
        ("display_name=", "a value is missing"),
        ("display_name", "is not a comparison"),
        ("(state=JOB_STATE_FAILED", "not closed"),
        ("NOT " * 2000 + "state=JOB_STATE_FAILED", "nested more than 50 deep"),
        ("(" * 2000, "nested more than 50 deep"),
    ],
)
def test_bad_filters(idle: JobEmulator, text: str, words: str) -> None:
    answer = idle.call("GET", f"{PARENT}/customJobs?{urlencode({'filter': text})}")
    assert (answer.status, answer.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert words in answer.message


@pytest.mark.parity("Custom jobs: lists")
def test_pages(emulator: JobEmulator) -> None:
    names = [emulator.create(pool(), name=f"job {number}") for number in range(5)]
    for name in names:
        emulator.wait(name)
    found, token, sizes = [], "", []
    while True:
        query = urlencode({"pageSize": 2, "page_token": token})
        answer = emulator.call("GET", f"{PARENT}/customJobs?{query}").json()
        sizes.append(len(answer["customJobs"]))
        found += [each["name"] for each in answer["customJobs"]]
        if not (token := answer.get("nextPageToken", "")):
            break
        kept = token
    assert (found, sizes) == (names[::-1], [2, 2, 1])
    for query in ({"pageToken": "rubbish"}, {"pageToken": kept, "filter": "labels.a=b"}):
        answer = emulator.call("GET", f"{PARENT}/customJobs?{urlencode(query)}")
        assert answer.status == 400 and "page token" in answer.message
    for query in ({"pageSize": "two"}, {"pageSize": "-1"}, {"orderBy": "name"}):
        assert emulator.call("GET", f"{PARENT}/customJobs?{urlencode(query)}").status == 400
    masked = emulator.call("GET", f"{PARENT}/customJobs?pageSize=1&readMask=name,state").json()
    assert masked["customJobs"] == [{"name": names[-1], "state": "JOB_STATE_SUCCEEDED"}]
    assert emulator.call("GET", f"{PARENT}/customJobs?readMask=colour").status == 400
    whole = emulator.call("GET", f"/v1/{names[-1]}").json()
    elsewhere = PARENT.replace("us-central1", "europe-west4")
    assert emulator.call("GET", f"{elsewhere}/customJobs?readMask=colour").status == 400, "an empty list"
    for mask, fields in {
        "jobSpec.workerPoolSpecs": ["workerPoolSpecs"],
        "jobSpec.workerPoolSpecs,jobSpec": sorted(whole["jobSpec"]),
        "jobSpec.network": [],
    }.items():
        (one,) = emulator.call("GET", f"{PARENT}/customJobs?pageSize=1&readMask={mask}").json()["customJobs"]
        assert sorted(one.get("jobSpec", {})) == fields, mask
        assert all(whole["jobSpec"][field] == one["jobSpec"][field] for field in fields)


def test_a_token_nested_too_deep(idle: JobEmulator) -> None:
    token = base64.urlsafe_b64encode(b"[" * 6000).decode()
    answer = idle.call("GET", f"{PARENT}/customJobs?pageToken={token}")
    assert "The page token is not valid" in answer.message


def test_more_replicas_than_a_machine_can_run(idle: JobEmulator) -> None:
    error = idle.refused(job(pool(), pool(replicas=1000)))
    assert error["status"] == "FAILED_PRECONDITION"
    assert "1001 replicas" in error["message"]
    assert idle.refused(job(pool(), pool(replicas=2**40)))["status"] == "FAILED_PRECONDITION"
