"""The stand-in for storage-testbench: each fault reaches the client, and the rest reaches the emulator."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from suites.testbench import in_front_of, method_of
from support.emulated.emulator import Answer, call, running, storage_client
from vertex_emulator.daemon.daemon import Daemon

MEBIBYTE = 1 << 20
CONTENT = bytes(range(256)) * (MEBIBYTE // 256)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("emulator")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def address(emulator: Daemon) -> Iterator[str]:
    with in_front_of(emulator.storage_url) as found, storage_client(found) as client:
        client.create_bucket("data").blob("model").upload_from_string(CONTENT)
        yield found


@pytest.fixture
def declare(address: str) -> Callable[..., dict[str, str]]:
    """Declare faults of a method; return the header that makes calls meet them."""

    def declared(method: str, *instructions: str) -> dict[str, str]:
        answer = call(address, "POST", "/retry_test", body={"instructions": {method: list(instructions)}})
        return {"x-retry-test-id": answer.json()["id"]}

    return declared


def state(address: str, headers: dict[str, str]) -> Any:
    return call(address, "GET", f"/retry_test/{headers['x-retry-test-id']}").json()


def get(address: str, headers: dict[str, str]) -> Answer:
    return call(address, "GET", "/storage/v1/b/data/o/model?alt=media", headers=headers)


def test_what_no_fault_concerns_is_passed_on(address: str) -> None:
    with storage_client(address) as client:
        assert client.bucket("data").blob("model").download_as_bytes() == CONTENT


def test_statuses_come_in_order_and_are_used_up(address: str, declare: Callable[..., dict[str, str]]) -> None:
    headers = declare("storage.objects.get", "return-503", "return-401")
    statuses = [get(address, headers).status for _ in range(3)]
    assert (statuses, state(address, headers)["completed"]) == ([503, 401, 200], True)


def test_a_fault_is_of_one_method_and_one_test(address: str, declare: Callable[..., dict[str, str]]) -> None:
    headers = declare("storage.objects.list", "return-503")
    assert (get(address, headers).status, get(address, {}).status) == (200, 200)
    assert state(address, headers)["completed"] is False


def test_a_reset_connection(address: str, declare: Callable[..., dict[str, str]]) -> None:
    headers = declare("storage.objects.get", "return-reset-connection")
    with pytest.raises(ConnectionResetError):
        get(address, headers)
    assert get(address, headers).body == CONTENT


@pytest.mark.parametrize(("instruction", "arrives"), [("", 4), ("-after-256K", 262144)])
def test_a_broken_stream(
    address: str, declare: Callable[..., dict[str, str]], instruction: str, arrives: int
) -> None:
    headers = declare("storage.objects.get", f"return-broken-stream{instruction}")
    with pytest.raises(http.client.IncompleteRead) as caught:
        get(address, headers)
    assert caught.value.partial == CONTENT[:arrives]
    assert state(address, headers)["completed"] is True


def test_a_response_that_is_shorter_is_not_broken(
    address: str, declare: Callable[..., dict[str, str]]
) -> None:
    headers = declare("storage.objects.get", "return-broken-stream-after-2048K")
    assert get(address, headers).body == CONTENT
    assert state(address, headers)["completed"] is False


@pytest.mark.parity("Cloud Storage: resumable uploads, and transfers that break off")
def test_a_piece_that_breaks_off_is_kept_up_to_there(
    address: str, declare: Callable[..., dict[str, str]]
) -> None:
    headers = declare("storage.objects.insert", "return-503-after-512K")
    begun = call(
        address, "POST", "/upload/storage/v1/b/data/o?uploadType=resumable&name=cut", body={}, headers=headers
    )
    session = begun.headers["Location"]
    whole = {**headers, "Content-Range": f"bytes 0-{MEBIBYTE - 1}/{MEBIBYTE}"}
    assert call(session, "PUT", session_query(session), body=CONTENT, headers=whole).status == 503
    asked = {**headers, "Content-Range": f"bytes */{MEBIBYTE}"}
    answer = call(session, "PUT", session_query(session), body=b"", headers=asked)
    assert (answer.status, answer.headers["Range"]) == (308, "bytes=0-524287")


def session_query(session: str) -> str:
    return f"?{session.partition('?')[2]}"


def test_links_lead_through_it(address: str) -> None:
    found = call(address, "GET", "/storage/v1/b/data/o/model").json()
    assert found["mediaLink"].startswith(f"{address}/download/")


def test_the_secret_is_needed(address: str) -> None:
    host = address.partition("/s/")[0]
    assert call(host, "GET", "/storage/v1/b/data").status == 403
    assert call(host, "POST", "/retry_test", body={"instructions": {}}).status == 403


@pytest.mark.parametrize(
    "instructions",
    [
        {"storage.objects.frobnicate": ["return-503"]},
        {"storage.objects.get": ["return-nothing"]},
    ],
)
def test_what_it_does_not_know_is_refused(address: str, instructions: dict[str, list[str]]) -> None:
    assert call(address, "POST", "/retry_test", body={"instructions": instructions}).status == 400


def test_a_stand_in_never_answers_a_retry_test(address: str) -> None:
    path = "/storage/v1/b/data/notificationConfigs"
    assert call(address, "POST", path, body={}).status == 200
    assert call(address, "POST", path, body={}, headers={"x-retry-test-id": "1"}).status == 400


def test_every_method_of_the_emulator_has_the_same_name(emulator: Daemon, address: str) -> None:
    paths = {
        "storage.buckets.list": ("GET", "/storage/v1/b?project=local"),
        "storage.buckets.get": ("GET", "/storage/v1/b/data"),
        "storage.buckets.getIamPolicy": ("GET", "/storage/v1/b/data/iam"),
        "storage.objects.list": ("GET", "/storage/v1/b/data/o"),
        "storage.objects.get": ("GET", "/storage/v1/b/data/o/model"),
        "storage.objects.patch": ("PATCH", "/storage/v1/b/data/o/model"),
    }
    for name, (verb, path) in paths.items():
        call(address, verb, path, body={} if verb == "PATCH" else None)
        log = call(emulator.url, "GET", "/_local/requests", token=emulator.token).body
        assert name == method_of(verb, path.partition("?")[0])
        assert name in {each["call"] for each in json.loads(log)["requests"]}
