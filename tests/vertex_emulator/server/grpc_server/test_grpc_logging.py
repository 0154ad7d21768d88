"""Cloud Logging and Resource Manager over gRPC, through Google's own clients."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import logging as cloud_logging
from google.cloud import resourcemanager_v3
from google.cloud.audit import audit_log_pb2
from google.cloud.logging_v2.services.logging_service_v2 import LoggingServiceV2Client
from google.cloud.logging_v2.services.logging_service_v2.transports import LoggingServiceV2GrpcTransport
from google.cloud.logging_v2.types import LogEntry
from google.cloud.resourcemanager_v3.services.projects.transports import ProjectsGrpcTransport
from google.protobuf import any_pb2, struct_pb2

from support.emulated.emulator import PROJECT, ask
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number

PARENT = f"projects/{PROJECT}"
METHOD = "/google.logging.v2.LoggingServiceV2/{}"


@pytest.fixture(scope="module")
def logs(channel: grpc.Channel) -> LoggingServiceV2Client:
    return LoggingServiceV2Client(transport=LoggingServiceV2GrpcTransport(channel=channel))


def write(logs: LoggingServiceV2Client, name: str, *entries: dict[str, Any], **common: Any) -> None:
    request = {"log_name": f"{PARENT}/logs/{name}", "entries": [LogEntry(each) for each in entries], **common}
    logs.write_log_entries(request)


def found(logs: LoggingServiceV2Client, name: str, more: str = "", **options: Any) -> list[LogEntry]:
    query = f'logName="{PARENT}/logs/{name}" {more}'
    request = {"resource_names": [PARENT], "filter": query, **options}
    return list(logs.list_log_entries(request))


@pytest.mark.parity("The interface: Cloud Logging")
def test_entries_are_written_and_listed(logs: LoggingServiceV2Client, daemon: Daemon) -> None:
    audit = audit_log_pb2.AuditLog(service_name="training", method_name="start")
    payload = any_pb2.Any()
    payload.Pack(audit)
    write(
        logs,
        "all",
        {"text_payload": "a text", "severity": "WARNING", "labels": {"mine": "1"}},
        {"json_payload": {"loss": 0.25, "step": {"number": 7}}, "http_request": {"status": 200}},
        {"proto_payload": payload, "source_location": {"file": "a.py", "line": 2**40}},
        labels={"run": "1"},
        resource={"type": "gce_instance", "labels": {"zone": "z"}},
    )
    text, structure, proto = found(logs, "all")
    assert (text.text_payload, text.severity) == ("a text", 400)
    assert dict(text.labels) == {"run": "1", "mine": "1"}
    assert dict(text.resource.labels) == {"zone": "z", "project_id": PROJECT}
    assert (structure.json_payload["loss"], structure.json_payload["step"]) == (0.25, {"number": 7.0})
    assert structure.http_request.status == 200
    unpacked = audit_log_pb2.AuditLog()
    assert LogEntry.pb(proto).proto_payload.Unpack(unpacked) and unpacked == audit
    assert proto.source_location.line == 2**40
    over_http = ask(
        daemon,
        "POST",
        "/v2/entries:list",
        {"resourceNames": [PARENT], "filter": "protoPayload.methodName=start"},
    ).json()
    assert over_http["entries"][0]["protoPayload"] == {
        "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
        "serviceName": "training",
        "methodName": "start",
    }


def test_a_payload_of_an_unknown_type_comes_back_as_it_was(logs: LoggingServiceV2Client) -> None:
    given = any_pb2.Any(type_url="type.googleapis.com/my.own.Message", value=b"\x08\x01")
    write(logs, "own", {"proto_payload": given, "severity": "INFO"})
    [entry] = found(logs, "own")
    assert LogEntry.pb(entry).proto_payload == given
    assert entry.severity == 200


def test_pages_and_order(logs: LoggingServiceV2Client) -> None:
    write(logs, "pages", *({"text_payload": str(number), "insert_id": f"{number:03}"} for number in range(7)))
    texts = [each.text_payload for each in found(logs, "pages", page_size=3, order_by="timestamp desc")]
    assert texts == [str(number) for number in reversed(range(7))]


def test_what_was_written_over_http_is_listed_without_what_no_entry_can_have(
    logs: LoggingServiceV2Client, daemon: Daemon
) -> None:
    entry = {
        "logName": f"{PARENT}/logs/http",
        "jsonPayload": {"loss": 1},
        "httpRequest": {"status": "many"},
        "protoPayload": None,
        "labels": {"kept": "1"},
        "split": {"unknown": 1},
    }
    ask(daemon, "POST", "/v2/entries:write", {"entries": [entry]}).ok()
    [listed] = found(logs, "http")
    assert dict(listed.json_payload) == {"loss": 1}
    assert dict(listed.labels) == {"kept": "1"}
    assert listed.http_request.status == 0


def test_the_names_of_logs_and_their_deletion(logs: LoggingServiceV2Client, daemon: Daemon) -> None:
    write(logs, "gone%2Fsoon", {"text_payload": "x"})
    name = f"{PARENT}/logs/gone%2Fsoon"
    assert name in list(logs.list_logs(parent=PARENT))
    logs.delete_log(log_name=name)
    assert name not in list(logs.list_logs(parent=PARENT))
    with pytest.raises(exceptions.NotFound, match="does not exist"):
        logs.delete_log(log_name=name)
    write(logs, "gone%2Fsoon", {"text_payload": "x"})
    by_number = f"/v2/projects/{project_number(PROJECT)}/logs/gone%2Fsoon"
    assert [ask(daemon, "DELETE", by_number).status for _ in range(2)] == [200, 404]


@pytest.mark.parametrize(
    ("method", "request_", "message"),
    [
        ("list_log_entries", {"filter": "severity=ERROR"}, "resource_names must name at least one project"),
        (
            "list_log_entries",
            {"resource_names": [PARENT], "filter": "severity=loud"},
            "'LOUD' is not a severity",
        ),
        ("write_log_entries", {"entries": [{"text_payload": "x"}]}, "The log name None is not of the form"),
        (
            "write_log_entries",
            {
                "log_name": f"{PARENT}/logs/x",
                "entries": [
                    {
                        "json_payload": struct_pb2.Struct(
                            fields={"loss": struct_pb2.Value(number_value=float("nan"))}
                        )
                    }
                ],
            },
            "The request has no JSON format",
        ),
        ("delete_log", {"log_name": "x"}, "The log name 'x' is not of the form"),
    ],
    ids=["no project", "a filter", "no log", "a number that is not finite", "the name of a log"],
)
def test_refusals(logs: LoggingServiceV2Client, method: str, request_: Any, message: str) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=message):
        list(getattr(logs, method)(request_) or ())


@pytest.mark.parametrize("name", ["ListMonitoredResourceDescriptors", "NoSuchMethod"])
def test_other_methods_are_named(channel: grpc.Channel, name: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        channel.unary_unary(METHOD.format(name))(b"", timeout=30)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert refused.value.details() == (
        f"The emulator does not implement google.logging.v2.LoggingServiceV2.{name}."
    )


def test_the_library_with_its_default_transport(logs: LoggingServiceV2Client, daemon: Daemon) -> None:
    """Use the library itself, with its gRPC transport, on the channel of the test."""
    client = cloud_logging.Client(project=PROJECT, credentials=AnonymousCredentials())
    assert client._use_grpc
    client._logging_api = cloud_logging_api(logs, client)
    client.logger("library").log_struct({"message": "x"}, severity="ERROR")
    # The library's first entry is one about itself.
    [entry] = client.list_entries(filter_=f'logName="{PARENT}/logs/library" AND severity=ERROR')
    assert (entry.payload, entry.severity) == ({"message": "x"}, "ERROR")
    client.logger("library").delete()


def cloud_logging_api(logs: LoggingServiceV2Client, client: Any) -> Any:
    from google.cloud.logging_v2._gapic import _LoggingAPI

    return _LoggingAPI(logs, client)


@pytest.fixture(scope="module")
def projects(channel: grpc.Channel) -> resourcemanager_v3.ProjectsClient:
    return resourcemanager_v3.ProjectsClient(transport=ProjectsGrpcTransport(channel=channel))


def test_a_project(projects: resourcemanager_v3.ProjectsClient, daemon: Daemon) -> None:
    found = projects.get_project(name=f"projects/{PROJECT}")
    number = project_number(PROJECT)
    assert (found.name, found.project_id, found.state.name) == (f"projects/{number}", PROJECT, "ACTIVE")
    over_http = ask(daemon, "GET", f"/v3/projects/{PROJECT}").json()
    assert over_http == {
        "name": f"projects/{number}",
        "projectId": PROJECT,
        "displayName": PROJECT,
        "state": "ACTIVE",
    }
    with pytest.raises(exceptions.PermissionDenied, match="there is no project 1"):
        projects.get_project(name="projects/1")
    with pytest.raises(exceptions.MethodNotImplemented, match=r"Projects\.DeleteProject"):
        projects.delete_project(name=f"projects/{PROJECT}")
    refused = ask(daemon, "DELETE", f"/v3/projects/{PROJECT}")
    assert (refused.status, "Projects.DeleteProject" in refused.body.decode()) == (400, True)
