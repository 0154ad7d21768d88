"""Faults over HTTP: what a client sees of them, and who may set them."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import ask, call, running
from support.waiting import TIMEOUT, eventually
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.daemon.faults.switchboard import MAX_FAULTS

LIST = "JobService.ListCustomJobs"
JOBS = "/v1/projects/local/locations/us-central1/customJobs"
BUCKETS = "/storage/v1/b?project=local"
LOST = (http.client.RemoteDisconnected, ConnectionResetError)


@pytest.fixture(autouse=True)
def clean(emulator: Daemon) -> Iterator[None]:
    yield
    emulator._faults.clear()


@pytest.fixture
def control(emulator: Daemon) -> Control:
    return Control(url=emulator.url, token=emulator.token)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (409, "ALREADY_EXISTS"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ],
)
def test_a_status_comes_in_googles_envelope(
    emulator: Daemon, control: Control, status: int, code: str
) -> None:
    control.add_fault({"method": LIST, "status": status, "message": "as asked"})
    answer = ask(emulator, "GET", JOBS)
    assert answer.status == status
    assert answer.json() == {"error": {"code": status, "message": "as asked", "status": code}}
    assert ask(emulator, "GET", JOBS).status == 200


def test_cloud_storage_has_an_envelope_of_its_own(emulator: Daemon, control: Control) -> None:
    fault = control.add_fault({"method": "storage.buckets.list", "status": 429})
    error = ask(emulator, "GET", BUCKETS).json()["error"]
    message = f"Fault {fault['number']}: storage.buckets.list fails as declared."
    assert error == {
        "code": 429,
        "message": message,
        "errors": [{"message": message, "domain": "global", "reason": "rateLimitExceeded"}],
    }


def test_the_nth_call_and_the_next(emulator: Daemon, control: Control) -> None:
    control.add_fault({"method": LIST, "status": 503, "nth": 2, "times": 2})
    assert [ask(emulator, "GET", JOBS).status for _ in range(5)] == [200, 503, 503, 200, 200]
    assert [(each["seen"], each["fired"]) for each in control.faults()] == [(5, 2)]


def test_always_means_until_it_is_removed(emulator: Daemon, control: Control) -> None:
    fault = control.add_fault({"method": LIST, "status": 503, "times": "always"})
    assert [ask(emulator, "GET", JOBS).status for _ in range(3)] == [503, 503, 503]
    control.remove_fault(fault["number"])
    assert ask(emulator, "GET", JOBS).status == 200
    with pytest.raises(ControlError, match="There is no fault") as refused:
        control.remove_fault(fault["number"])
    assert refused.value.status == 404


def test_a_fault_for_all_methods_does_not_lock_its_setter_out(emulator: Daemon, control: Control) -> None:
    control.add_fault({"method": "*", "status": 503, "times": "always"})
    assert ask(emulator, "GET", BUCKETS).status == ask(emulator, "GET", JOBS).status == 503
    assert ask(emulator, "GET", "/_local/info").status == 200
    assert control.clear_faults() == 1
    assert control.faults() == []
    assert ask(emulator, "GET", BUCKETS).status == 200


def test_a_call_that_is_dropped_before_is_not_carried_out(emulator: Daemon, control: Control) -> None:
    control.add_fault({"method": "storage.buckets.insert", "drop": "before"})
    with pytest.raises(LOST):
        ask(emulator, "POST", BUCKETS, body={"name": "never-made"})
    assert ask(emulator, "GET", "/storage/v1/b/never-made").status == 404


def test_a_call_whose_answer_is_lost_is_carried_out(emulator: Daemon, control: Control) -> None:
    control.add_fault({"method": "storage.buckets.insert", "drop": "after"})
    with pytest.raises(LOST):
        ask(emulator, "POST", BUCKETS, body={"name": "made-unheard"})
    assert ask(emulator, "GET", "/storage/v1/b/made-unheard").status == 200
    assert ask(emulator, "POST", BUCKETS, body={"name": "made-unheard"}).status == 409


def test_an_upload_whose_answer_is_lost_is_stored_whole(
    emulator: Daemon, control: Control, bucket: Any, folder: Path
) -> None:
    data = b"x" * 3_000_000
    control.add_fault({"method": "storage.objects.insert", "drop": "after"})
    path = f"/upload/storage/v1/b/{bucket.name}/o?uploadType=media&name=o"
    with pytest.raises(LOST):
        ask(emulator, "POST", path, body=data)
    assert (folder / "o").read_bytes() == data


def test_an_upload_that_is_refused_leaves_the_connection_usable(
    emulator: Daemon, control: Control, bucket: Any
) -> None:
    control.add_fault({"method": "storage.objects.insert", "status": 503})
    connection = http.client.HTTPConnection("127.0.0.1", int(emulator.url.rpartition(":")[2]), timeout=10)
    headers = {"Authorization": f"Bearer {emulator.token}"}
    path = f"/upload/storage/v1/b/{bucket.name}/o?uploadType=media&name=o"
    statuses = []
    for _ in range(2):
        connection.request("POST", path, body=b"x" * 500_000, headers=headers)
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()
    assert statuses == [503, 200]


def test_a_download_whose_answer_is_lost_leaves_no_file_open(
    emulator: Daemon, control: Control, bucket: Any
) -> None:
    bucket.blob("o").upload_from_string(b"x" * 100_000)
    control.add_fault({"method": "storage.objects.get", "drop": "after"})
    with pytest.raises(LOST):
        ask(emulator, "GET", f"/download/storage/v1/b/{bucket.name}/o/o?alt=media")
    path = f"/download/storage/v1/b/{bucket.name}/o/o?alt=media"
    assert ask(emulator, "GET", path).body == b"x" * 100_000


def test_a_stalled_call_is_answered_late(emulator: Daemon, control: Control) -> None:
    control.add_fault({"method": LIST, "stall": 0.3})
    began = time.monotonic()
    assert ask(emulator, "GET", JOBS).status == 200
    assert time.monotonic() - began >= 0.3


def test_others_do_not_wait_for_a_stalled_call(emulator: Daemon, control: Control) -> None:
    control.add_fault({"method": LIST, "stall": 600})
    answers: list[int] = []
    stalled = threading.Thread(target=lambda: answers.append(ask(emulator, "GET", JOBS).status))
    stalled.start()
    eventually(lambda: control.faults()[0]["fired"])
    assert ask(emulator, "GET", JOBS).status == 200
    assert answers == []
    control.clear_faults()
    stalled.join(timeout=TIMEOUT)
    assert answers == [200]


def test_a_delayed_call_is_carried_out_at_once_and_answered_late(emulator: Daemon, control: Control) -> None:
    control.add_fault({"method": "storage.buckets.insert", "delay": 600})
    answers: list[int] = []
    created = {"name": "delayed-bucket"}
    call = threading.Thread(
        target=lambda: answers.append(ask(emulator, "POST", BUCKETS, body=created).status)
    )
    call.start()
    eventually(lambda: control.faults()[0]["held"])
    assert ask(emulator, "GET", "/storage/v1/b/delayed-bucket").status == 200
    assert answers == []
    control.clear_faults()
    call.join(timeout=TIMEOUT)
    assert answers == [200]


def test_a_stalled_call_does_not_hold_the_emulator_up_when_it_stops(tmp_path: Path) -> None:
    with running(tmp_path / "data") as daemon:
        control = Control(url=daemon.url, token=daemon.token)
        control.add_fault({"method": LIST, "stall": 600})
        answers: list[int] = []
        stalled = threading.Thread(target=lambda: answers.append(ask(daemon, "GET", JOBS).status))
        stalled.start()
        eventually(lambda: control.faults()[0]["fired"])
    stalled.join(timeout=TIMEOUT)
    assert answers == [200], "within the 5 s that running requests are given"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        pytest.param(
            {"method": "CreateCustomJobs", "status": 503},
            "no method 'CreateCustomJobs'. Did you mean 'CreateCustomJob'?",
            id="nearly",
        ),
        pytest.param(
            {"method": "storage.objects.list", "stale": {"seconds": 5}}, "cannot be stale", id="gcs"
        ),
        pytest.param({"method": "*"}, "The fault has no effect", id="nothing"),
    ],
)
def test_what_cannot_be_is_refused(control: Control, fault: dict[str, Any], says: str) -> None:
    with pytest.raises(ControlError) as refused:
        control.add_fault(fault)
    assert refused.value.status == 400
    assert says in str(refused.value)
    assert control.faults() == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/_local/faults"),
        ("POST", "/_local/faults"),
        ("DELETE", "/_local/faults"),
        ("DELETE", "/_local/faults/1"),
        ("DELETE", "/_local/requests"),
    ],
)
def test_only_who_has_the_token_may(emulator: Daemon, control: Control, method: str, path: str) -> None:
    control.add_fault({"method": LIST, "status": 503})
    body = {"method": "*", "status": 500} if method == "POST" else None
    host = emulator.url.removeprefix("http://")
    assert call(emulator.url, method, path, body=body).status == 401
    assert call(emulator.storage_url, method, path, body=body).status == 403
    for header in (
        {"Origin": "http://127.0.0.1"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Host": "evil.example"},
    ):
        headers = {"Host": host, **header}
        assert ask(emulator, method, path, body=body, headers=headers).status == 403
    assert [each["method"] for each in control.faults()] == [LIST]
    assert ask(emulator, "GET", JOBS).status == 503


def test_refused_requests_use_no_fault_up(emulator: Daemon, control: Control) -> None:
    control.add_fault({"method": LIST, "status": 503})
    assert call(emulator.url, "GET", JOBS).status == 401
    assert [(each["seen"], each["fired"]) for each in control.faults()] == [(0, 0)]


def test_a_fault_comes_as_json_only(emulator: Daemon) -> None:
    headers = {"Content-Type": "text/plain"}
    body = b'{"method": "*", "status": 500}'
    assert ask(emulator, "POST", "/_local/faults", body=body, headers=headers).status == 415


def test_there_is_a_bound(control: Control) -> None:
    for _ in range(MAX_FAULTS):
        control.add_fault({"method": LIST, "status": 503})
    with pytest.raises(ControlError, match=f"There are {MAX_FAULTS} faults already"):
        control.add_fault({"method": LIST, "status": 503})


def test_faults_are_gone_with_the_process(tmp_path: Path) -> None:
    for faults in (0, 0):
        with running(tmp_path / "data") as daemon:
            control = Control(url=daemon.url, token=daemon.token)
            assert len(control.faults()) == faults
            control.add_fault({"method": LIST, "status": 503, "times": "always"})
            assert ask(daemon, "GET", JOBS).status == 503


def test_the_record_of_requests(emulator: Daemon, control: Control) -> None:
    control.forget_requests()
    began = time.perf_counter()
    fault = control.add_fault({"method": LIST, "status": 503, "nth": 2})
    control.add_fault({"method": "storage.buckets.list", "drop": "after"})
    for _ in range(2):
        ask(emulator, "GET", f"{JOBS}?pageSize=1", headers={"User-Agent": "a-test/1.0"})
    with pytest.raises(LOST):
        ask(emulator, "GET", BUCKETS)
    recorded, passed = control.requests(), time.perf_counter() - began
    seen = [
        (each["call"], each["method"], each["target"], each["status"], each["fault"])
        for each in recorded["requests"]
        if each["call"]
    ]
    assert seen == [
        (LIST, "GET", f"{JOBS}?pageSize=1", 200, None),
        (LIST, "GET", f"{JOBS}?pageSize=1", 503, fault["number"]),
        ("storage.buckets.list", "GET", BUCKETS, 499, fault["number"] + 1),
    ]
    assert recorded["counts"] == {LIST: 2, "storage.buckets.list": 1}
    first = next(each for each in recorded["requests"] if each["call"])
    assert first["client"] == "a-test/1.0"
    assert 0 < sum(each["milliseconds"] for each in recorded["requests"]) < passed * 1000
    assert [each["target"] for each in control.requests(last=1)["requests"]] == ["/_local/requests?after=0"]
    assert control.requests(last=0)["requests"] == []
    control.forget_requests()
    assert control.requests()["counts"] == {}


@pytest.mark.parametrize("query", ["last=-1", "last=x", "last=", "after=1e3"])
def test_numbers_of_requests_are_numbers(emulator: Daemon, query: str) -> None:
    assert ask(emulator, "GET", f"/_local/requests?{query}").status == 400
