"""The first silent replica is found among the last lines of all of them, on Google Cloud as well."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job.gateway import from_wire
from pulumi_vertex_training.runs.diagnosis.diagnosis import examine
from pulumi_vertex_training.runs.diagnosis.silence import Silence, in_words, silences
from support.scripted_service import Answer, Service, refusal

CHIEF = (
    "python3: vertex_cluster: workerpool0-0 has reported nothing since 2026-11-30T06:27:09.500Z, after step "
    "6 (stall_timeout 600 s). It exits with code 1."
)
WORKER = CHIEF.replace("workerpool0-0", "workerpool1-3 (local rank 2)").replace("09.500", "09.100")
FAILED = from_wire(
    {
        "name": "projects/7/locations/europe-west4/customJobs/5",
        "state": "JOB_STATE_FAILED",
        "error": {"code": 3, "message": "The replica workerpool0-0 exited with a non-zero status of 1."},
    }
)


@pytest.fixture
def google(service: Service) -> Endpoint:
    return Endpoint(
        kind="google",
        project="my-project",
        location="europe-west4",
        url=service.url,
        token="t",
        addresses=(("logging.googleapis.com", service.url),),
    )


def log(*messages: str) -> Answer:
    entries = [
        {
            "timestamp": f"2026-11-30T06:37:{number:02}Z",
            "jsonPayload": {"message": message},
            "resource": {"labels": {"task_name": "workerpool0-0"}},
        }
        for number, message in enumerate(messages)
    ]
    return Answer(document={"entries": entries[::-1]})


def test_the_first_is_named_first_and_each_replica_once() -> None:
    later = WORKER.replace("(local rank 2)", "").replace("09.100", "59.100")
    found = silences(["Timeout (0:10:00)!", CHIEF, later, WORKER])
    assert found == (
        Silence(replica="workerpool1-3", since="2026-11-30T06:27:09.100Z", step="6"),
        Silence(replica="workerpool0-0", since="2026-11-30T06:27:09.500Z", step="6"),
    )
    assert in_words(found[:1]) == (
        "a replica hangs: workerpool1-3 since 2026-11-30T06:27:09.100Z, after step 6"
    )
    many = [CHIEF.replace("workerpool0-0", f"workerpool1-{number}") for number in range(6)]
    said = in_words(silences(many))
    assert said.endswith("workerpool1-3 since 2026-11-30T06:27:09.500Z, after step 6; 2 more")


def test_the_service_names_the_first_exit_and_the_diagnosis_the_first_silence(
    service: Service, google: Endpoint
) -> None:
    service.answers += [log("  File x.py in wait", CHIEF), log(CHIEF, WORKER)]
    found = examine(google, FAILED)
    assert (found.replica, found.kind) == ("workerpool0-0", "stalled")
    assert found.cause.startswith("a replica hangs. The first that was silent: workerpool1-3 since ")
    assert '"has reported nothing since"' in service.asked[-1].body["filter"]


def test_a_log_that_is_not_read_again_leaves_the_replica_that_exited(
    service: Service, google: Endpoint
) -> None:
    service.answers += [log(CHIEF), refusal(403, "PERMISSION_DENIED", "no")]
    found = examine(google, FAILED)
    assert found.cause == ("workerpool0-0 has reported nothing since 2026-11-30T06:27:09.500Z, after step 6")


def test_a_replica_that_lost_its_connection_to_a_silent_one_is_not_the_cause(
    service: Service, google: Endpoint
) -> None:
    reset = "ConnectionResetError: [Errno 104] Connection reset by peer"
    service.answers += [log(reset), log(WORKER)]
    found = examine(google, FAILED)
    assert (found.kind, found.lines) == ("stalled", (reset,))
    assert found.cause.startswith("a replica hangs: workerpool1-3 since ")
    assert found.remedy.startswith("Read the stacks")
    service.answers = [log(reset), log()]
    assert examine(google, FAILED).kind == "unreachable"
