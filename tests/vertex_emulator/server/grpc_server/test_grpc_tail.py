"""TailLogEntries: the entries that arrive while a client waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.cloud.logging_v2.services.logging_service_v2 import LoggingServiceV2Client
from google.cloud.logging_v2.services.logging_service_v2.transports import LoggingServiceV2GrpcTransport
from google.cloud.logging_v2.types import TailLogEntriesRequest, TailLogEntriesResponse

from support.emulated.clients.grpc_channel import connected
from support.emulated.emulator import PROJECT, ask, running
from support.emulated.job_emulator import JobEmulator, pool
from support.waiting import eventually
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.disk import data_folder
from vertex_emulator.server.grpc_server.admission import MOST_STREAMS

PARENT = f"projects/{PROJECT}"
METHOD = "/google.logging.v2.LoggingServiceV2/TailLogEntries"


@contextmanager
def tailing(channel: grpc.Channel, filter_: str = "") -> Iterator[Any]:
    """Tail entries within the context, once the emulator has begun to."""
    tail: Callable[[Iterable[Any]], Any] = channel.stream_stream(
        METHOD,
        request_serializer=TailLogEntriesRequest.serialize,
        response_deserializer=TailLogEntriesResponse.deserialize,
    )
    request = TailLogEntriesRequest(resource_names=[PARENT], filter=filter_)
    responses = tail(iter([request]))
    try:
        responses.initial_metadata()
        yield responses
    finally:
        responses.cancel()


def write(daemon: Daemon, *texts: str, log: str = "mine") -> None:
    entries = [{"logName": f"{PARENT}/logs/{log}", "textPayload": text} for text in texts]
    ask(daemon, "POST", "/v2/entries:write", {"entries": entries}).ok()


def texts(responses: Iterator[TailLogEntriesResponse], count: int) -> list[str]:
    """Return the texts of the next entries; more in the last message are an error."""
    found: list[str] = []
    while len(found) < count:
        found += [each.text_payload or each.json_payload["message"] for each in next(responses).entries]
    assert len(found) == count
    return found


@pytest.mark.parity("The interface: Cloud Logging")
def test_entries_that_match_arrive_once_and_in_order(channel: grpc.Channel, daemon: Daemon) -> None:
    write(daemon, "from before")
    with tailing(channel, f'logName="{PARENT}/logs/mine"') as responses:
        write(daemon, "of another log", log="other")
        write(daemon, "one", "two")
        assert texts(responses, 2) == ["one", "two"]
        write(daemon, *(str(number) for number in range(250)))
        assert texts(responses, 250) == [str(number) for number in range(250)]


def test_the_lines_of_a_job_arrive(channel: grpc.Channel, daemon: Daemon) -> None:
    with tailing(channel, 'resource.labels.task_name="workerpool0-0" AND severity=INFO') as responses:
        JobEmulator(daemon).create(pool("print('first'); print('second')"))
        assert texts(responses, 2) == ["first", "second"]


def test_googles_client(channel: grpc.Channel, daemon: Daemon) -> None:
    client = LoggingServiceV2Client(transport=LoggingServiceV2GrpcTransport(channel=channel))
    with tailing(channel, f'logName="{PARENT}/logs/mine"') as begun:
        # The client itself waits for a first response before it returns.
        write(daemon, "before the client")
        assert texts(begun, 1) == ["before the client"]
    request = TailLogEntriesRequest(resource_names=[PARENT], filter="no such =")
    with pytest.raises(Exception, match="Invalid filter"):
        list(client.tail_log_entries(iter([request])))


def test_streams_are_bounded_logged_and_end_with_the_emulator(tmp_path: Path) -> None:
    with ExitStack() as stack, running(tmp_path) as daemon:
        channel = stack.enter_context(connected(daemon, daemon.token))

        def one_more() -> grpc.StatusCode | None:
            with tailing(channel, "severity=") as responses:
                with pytest.raises(grpc.RpcError) as refused:
                    next(responses)
                return refused.value.code()

        with ExitStack() as open_streams:
            for _ in range(MOST_STREAMS):
                open_streams.enter_context(tailing(channel))
            assert one_more() is grpc.StatusCode.RESOURCE_EXHAUSTED
        eventually(lambda: daemon._requests.counts() == {"LoggingServiceV2.TailLogEntries": MOST_STREAMS + 1})
        assert one_more() is grpc.StatusCode.INVALID_ARGUMENT
        responses = stack.enter_context(tailing(channel))
        assert daemon._gateways._grpc is not None
        daemon._gateways._grpc.stop()
        with pytest.raises(grpc.RpcError) as ended:
            next(responses)
        assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
        assert ended.value.details() == "The emulator is stopping. Repeat the call in a moment."


def test_replicas_take_none_of_the_owners_streams(channel: grpc.Channel, daemon: Daemon) -> None:
    with ExitStack() as stack:
        replica = stack.enter_context(connected(daemon, data_folder.service_token(daemon.token)))
        for _ in range(MOST_STREAMS):
            stack.enter_context(tailing(replica))
        responses = stack.enter_context(tailing(channel, f'logName="{PARENT}/logs/mine"'))
        write(daemon, "for the owner")
        assert texts(responses, 1) == ["for the owner"]
