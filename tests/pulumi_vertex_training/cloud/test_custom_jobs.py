"""The gateway of custom jobs against a scripted service: what is sent, what is read, what is tried again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from pulumi_vertex_training.kinds.custom_job.gateway import JobState
from pulumi_vertex_training.timeouts import Timeouts
from support.scripted_service import Answer, Asked, Service, refusal

NAME = "projects/116273516712/locations/us-central1/customJobs/2970106362064797696"

CAPTURED: dict[str, Any] = {
    # What the service answered to a create without diskSpec and scheduling, vertex-ai-samples, Feb 2021.
    "name": NAME,
    "displayName": "custom_job_TF_20210227173057",
    "jobSpec": {
        "workerPoolSpecs": [
            {
                "machineSpec": {
                    "machineType": "n1-standard-4",
                    "acceleratorType": "NVIDIA_TESLA_K80",
                    "acceleratorCount": 1,
                },
                "replicaCount": "1",
                "diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100},
                "pythonPackageSpec": {
                    "executorImageUri": "gcr.io/cloud-aiplatform/training/tf-gpu.2-1:latest",
                    "packageUris": ["gs://b/trainer_cifar.tar.gz"],
                    "pythonModule": "trainer.task",
                    "args": ["--model-dir=gs://b/m", "--epochs=20"],
                },
            },
            {},
            {"replicaCount": "2", "containerSpec": {"imageUri": "gcr.io/p/i"}},
        ]
    },
    "state": "JOB_STATE_PENDING",
    "createTime": "2021-02-27T17:31:04.494716Z",
    "updateTime": "2021-02-27T17:31:04.494716Z",
}


def job(number: int, **more: Any) -> dict[str, Any]:
    return {
        "name": f"projects/7/locations/us-central1/customJobs/{number}",
        "displayName": f"job-{number}",
        "state": "JOB_STATE_RUNNING",
        "createTime": f"2026-01-01T00:00:{number:02}Z",
        **more,
    }


def test_a_job_is_sent_once_and_comes_back_as_a_record(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document=CAPTURED))
    wire = {"displayName": "d", "jobSpec": CAPTURED["jobSpec"], "labels": {"run": "abc-1"}}
    record = custom_jobs.create(endpoint, wire)
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", "/v1/projects/local/locations/us-central1/customJobs")
    assert asked.body["labels"] == {"run": "abc-1"}
    sent = asked.body["jobSpec"]["workerPoolSpecs"]
    assert [bool(pool) for pool in sent] == [True, False, True]
    assert sent[0]["pythonPackageSpec"]["args"] == ["--model-dir=gs://b/m", "--epochs=20"]
    assert record.name == NAME
    assert record.job_id == "2970106362064797696"
    assert record.state is JobState.JOB_STATE_PENDING
    assert record.create_time == "2021-02-27T17:31:04.494716Z"
    assert record.start_time is None
    assert record.error is None
    assert record.wire == CAPTURED


@pytest.mark.parametrize(
    "trouble",
    [
        refusal(503, "UNAVAILABLE", "later"),
        refusal(500, "INTERNAL", "oops"),
        refusal(504, "DEADLINE_EXCEEDED", "slow"),
        Answer(drop=True),
        Answer(status=200, text="<html>hello</html>"),
        Answer(status=502, text="Bad gateway", content_type="text/html"),
    ],
)
def test_a_create_that_may_have_succeeded_is_not_tried_again_and_says_so(
    service: Service, endpoint: Endpoint, trouble: Answer
) -> None:
    service.script(trouble)
    with pytest.raises(errors.Unavailable, match="may have been submitted anyway") as caught:
        custom_jobs.create(endpoint, {"displayName": "d"})
    assert len(service.asked) == 1
    assert caught.value.__cause__ is not None


def test_a_create_that_is_not_answered_in_time(service: Service, endpoint: Endpoint) -> None:
    service.script(Answer(document=CAPTURED, delay=3600))
    impatient = replace(endpoint, timeouts=Timeouts(call=0.2))
    with pytest.raises(errors.Unavailable, match=r"no answer in time.* may have been submitted"):
        custom_jobs.create(impatient, {"displayName": "d"})
    assert len(service.asked) == 1


def test_a_service_that_stays_away_is_given_up(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(503, "UNAVAILABLE", "come back later"))
    with pytest.raises(errors.Unavailable, match="come back later"):
        custom_jobs.get(replace(endpoint, timeouts=Timeouts(retry_emulator=1.0)), NAME)
    assert len(service.asked) >= 2


def test_a_create_that_was_refused_says_only_that(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(429, "RESOURCE_EXHAUSTED", "The following quota metrics exceed quota limits: x"))
    with pytest.raises(errors.ResourceExhausted, match="exceed quota limits") as caught:
        custom_jobs.create(endpoint, {"displayName": "d"})
    assert len(service.asked) == 1
    assert "may have been" not in str(caught.value)


TROUBLES = [
    refusal(429, "RESOURCE_EXHAUSTED", "slow down"),
    refusal(500, "INTERNAL", "oops"),
    refusal(503, "UNAVAILABLE", "later"),
    Answer(status=502, text="Bad gateway", content_type="text/html"),
    Answer(drop=True),
]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_reads_survive_what_passes(service: Service, endpoint: Endpoint, trouble: Answer) -> None:
    service.script(trouble, trouble, Answer(document=job(1)))
    assert custom_jobs.get(endpoint, job(1)["name"]).display_name == "job-1"
    assert len(service.asked) == 3


@pytest.mark.parametrize("trouble", TROUBLES)
def test_cancel_and_list_survive_what_passes(service: Service, endpoint: Endpoint, trouble: Answer) -> None:
    service.script(trouble, Answer(document={}))
    custom_jobs.cancel(endpoint, NAME)
    service.script(trouble, Answer(document={"customJobs": [job(1)]}))
    assert len(custom_jobs.list_jobs(endpoint)) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 501])
def test_what_does_not_pass_is_not_tried_again(service: Service, endpoint: Endpoint, status: int) -> None:
    service.script(Answer(status=status, document={"error": {"code": status, "message": "no"}}))
    with pytest.raises(errors.CloudError):
        custom_jobs.cancel(endpoint, NAME)
    # 401: the client's session asks for fresh credentials twice, as it must for Google.
    assert len(service.asked) == (3 if status == 401 else 1)


def test_lists_follow_their_pages_and_are_newest_first(service: Service, endpoint: Endpoint) -> None:
    service.script(
        Answer(document={"customJobs": [job(1), job(3)], "nextPageToken": "more"}),
        Answer(document={"customJobs": [job(2)]}),
    )
    assert [record.job_id for record in custom_jobs.list_jobs(endpoint)] == ["3", "2", "1"]
    assert service.asked[1].query["pageToken"] == ["more"]


def test_a_label_is_asked_for_and_checked(service: Service, endpoint: Endpoint) -> None:
    answered = [
        job(1, labels={"run": "a-1", "spec": "x"}),
        job(2, labels={"run": "a-12"}),  # a server that matches by prefix, or not at all
        job(3),
        job(4, labels={"run": "a-1"}, state="JOB_STATE_FAILED"),
    ]
    service.script(Answer(document={"customJobs": answered}))
    found = custom_jobs.list_by_label(endpoint, {"run": "a-1"})
    assert [record.job_id for record in found] == ["4", "1"]
    assert service.asked[0].query["filter"] == ['labels.run="a-1"']
    assert [one.job_id for one in custom_jobs.list_by_label(endpoint, {"run": "a-1", "spec": "x"})] == ["1"]
    assert service.asked[1].query["filter"] == ['labels.run="a-1" AND labels.spec="x"']


def test_live_jobs_are_those_that_have_not_ended(service: Service, endpoint: Endpoint) -> None:
    answered = [job(number, state=state.name) for number, state in enumerate(JobState)]
    service.script(Answer(document={"customJobs": answered}))
    live = {record.state.word for record in custom_jobs.list_live(endpoint)}
    assert live == {"UNSPECIFIED", "QUEUED", "PENDING", "RUNNING", "CANCELLING", "PAUSED", "UPDATING"}
    (text,) = service.asked[0].query["filter"]
    assert text == (
        'state!="JOB_STATE_SUCCEEDED" AND state!="JOB_STATE_FAILED" AND state!="JOB_STATE_CANCELLED"'
    )
    custom_jobs.list_live(endpoint, labels={"a": "b"})
    assert service.asked[1].query["filter"][0].endswith(' AND labels.a="b"')


def test_a_display_name_is_quoted(service: Service, endpoint: Endpoint) -> None:
    tricky = 'say "hi" \\ bye'
    service.script(Answer(document={"customJobs": [job(1, displayName=tricky), job(2)]}))
    assert [one.job_id for one in custom_jobs.list_by_display_name(endpoint, tricky)] == ["1"]
    assert service.asked[0].query["filter"] == ['display_name="say \\"hi\\" \\\\ bye"']


def test_a_failed_job_has_its_error_with_details_of_any_known_type(
    service: Service, endpoint: Endpoint
) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "R", "domain": "d"}]
    error = {"code": 3, "message": "The replica workerpool0-0 exited", "details": details}
    service.script(Answer(document=job(1, state="JOB_STATE_FAILED", error=error)))
    record = custom_jobs.get(endpoint, NAME)
    assert record.error == custom_jobs.JobError(code=3, message="The replica workerpool0-0 exited")
    assert record.state.is_terminal


@pytest.mark.parametrize("state", ["JOB_STATE_INVENTED_LATER", 99])
def test_a_state_from_the_future_counts_as_not_ended(state: object) -> None:
    record = custom_jobs.from_wire(job(1, state=state))
    assert not record.state.is_terminal


OPERATION = "projects/7/locations/us-central1/operations/99"
DELETE_METADATA = {"@type": "type.googleapis.com/google.cloud.aiplatform.v1.DeleteOperationMetadata"}
EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}


def test_delete_waits_for_its_operation(service: Service, endpoint: Endpoint) -> None:
    waiting = Answer(document={"name": OPERATION, "metadata": DELETE_METADATA})
    done = Answer(document={"name": OPERATION, "metadata": DELETE_METADATA, "done": True, "response": EMPTY})
    service.script(waiting, waiting, refusal(503, "UNAVAILABLE", "later"), done)
    custom_jobs.delete(endpoint, NAME)
    assert [asked.method for asked in service.asked] == ["DELETE", "GET", "GET", "GET"]
    assert service.asked[-1].path == f"/v1/{OPERATION}"


def test_delete_gives_up_after_its_deadline(service: Service, endpoint: Endpoint) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    service.script(Answer(document={"name": OPERATION}))
    impatient = replace(endpoint, timeouts=Timeouts(record_deletion=5.0))
    with pytest.raises(errors.DeadlineExceeded, match=f"{OPERATION} has not ended after 5 s"):
        custom_jobs.delete(impatient, NAME, clock=lambda: now[0], sleep=sleep)
    assert 5 <= now[0] < 8


def test_delete_of_what_is_gone_and_of_what_lives(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(404, "NOT_FOUND", "The CustomJob does not exist."))
    with pytest.raises(errors.NotFound):
        custom_jobs.delete(endpoint, NAME)
    service.script(refusal(400, "FAILED_PRECONDITION", "it is in state JOB_STATE_RUNNING"))
    with pytest.raises(errors.FailedPrecondition, match="JOB_STATE_RUNNING"):
        custom_jobs.delete(endpoint, NAME)


def test_an_operation_that_failed_is_an_error(service: Service, endpoint: Endpoint) -> None:
    failed = {"name": OPERATION, "done": True, "error": {"code": 13, "message": "disk on fire"}}
    service.script(Answer(document=failed))
    with pytest.raises(errors.CloudError, match="disk on fire"):
        custom_jobs.delete(endpoint, NAME)


def test_cancel_sends_an_empty_body(service: Service, endpoint: Endpoint) -> None:
    custom_jobs.cancel(endpoint, NAME)
    asked: Asked = service.asked[0]
    assert (asked.method, asked.path, asked.body) == ("POST", f"/v1/{NAME}:cancel", {})
