"""Every exception of Google's libraries becomes a CloudError, and only a certain 404 is a NotFound."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Iterator
from typing import Any

import google.auth.exceptions
import pytest
import requests
import urllib3
from google.api_core import exceptions as api
from google.cloud.storage.exceptions import DataCorruption, InvalidResponse

from pulumi_vertex_training.cloud import errors, objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translate, translated
from pulumi_vertex_training.kinds.custom_job import gateway as custom_jobs
from support.scripted_service import Answer, Service, refusal
from support.tables import every_row

EMULATOR = Endpoint(
    kind="emulator", project="local", location="us-central1", url="http://127.0.0.1:1", token="x"
)
GOOGLE = Endpoint(kind="google", project="my-project", location="europe-west4")

EXPECTED: dict[str, type[errors.CloudError]] = {
    "GoogleAPIError": errors.InvalidArgument,
    "DuplicateCredentialArgs": errors.InvalidArgument,
    "RetryError": errors.DeadlineExceeded,
    "GoogleAPICallError": errors.Internal,
    "Redirection": errors.Internal,
    "MovedPermanently": errors.UnexpectedAnswer,
    "NotModified": errors.UnexpectedAnswer,
    "TemporaryRedirect": errors.UnexpectedAnswer,
    "ResumeIncomplete": errors.UnexpectedAnswer,
    "ClientError": errors.Internal,
    "BadRequest": errors.InvalidArgument,
    "InvalidArgument": errors.InvalidArgument,
    "FailedPrecondition": errors.FailedPrecondition,
    "OutOfRange": errors.InvalidArgument,
    "Unauthorized": errors.Unauthenticated,
    "Unauthenticated": errors.Unauthenticated,
    "Forbidden": errors.PermissionDenied,
    "PermissionDenied": errors.PermissionDenied,
    "NotFound": errors.NotFound,
    "MethodNotAllowed": errors.UnexpectedAnswer,
    "Conflict": errors.AlreadyExists,
    "AlreadyExists": errors.AlreadyExists,
    "Aborted": errors.Conflict,
    "LengthRequired": errors.InvalidArgument,
    "PreconditionFailed": errors.Conflict,
    "RequestRangeNotSatisfiable": errors.InvalidArgument,
    "TooManyRequests": errors.ResourceExhausted,
    "ResourceExhausted": errors.ResourceExhausted,
    "Cancelled": errors.Unavailable,
    "ServerError": errors.Internal,
    "InternalServerError": errors.Internal,
    "Unknown": errors.Internal,
    "DataLoss": errors.DataLoss,
    "MethodNotImplemented": errors.Unimplemented,
    "BadGateway": errors.Unavailable,
    "ServiceUnavailable": errors.Unavailable,
    "GatewayTimeout": errors.DeadlineExceeded,
    "DeadlineExceeded": errors.DeadlineExceeded,
    "AsyncRestUnsupportedParameterError": errors.Unimplemented,
    "ResumableTransferError": errors.Internal,
    "TransferStalledError": errors.Internal,
    "UnseekableStreamError": errors.Internal,
    "UploadCancelledError": errors.Internal,
    "MissingStatusHeaderError": errors.Internal,
}


def all_api_exceptions() -> list[type[Exception]]:
    return [
        member
        for _, member in inspect.getmembers(api, inspect.isclass)
        if issubclass(member, Exception) and member.__module__ == api.__name__
    ]


@every_row("kind", all_api_exceptions(), ids=lambda kind: kind.__name__)
def test_every_google_api_exception_is_mapped(kind: type[Exception]) -> None:
    error: Exception = kind("words", cause=None) if kind is api.RetryError else kind("words")
    ours = translate(error, endpoint=GOOGLE, action="read custom job 1")
    assert type(ours) is EXPECTED[kind.__name__]
    assert "my-project" in str(ours) and "europe-west4" in str(ours)
    assert "words" in str(ours) and "read custom job 1" in str(ours)
    assert ours.resource == "custom job 1"
    assert "\n" not in str(ours)


AUTH = [
    (kind, errors.DeadlineExceeded)
    if kind.__name__ == "TimeoutError"
    else (kind, errors.Unavailable)
    if kind.__name__ in ("TransportError", "ResponseError")
    else (kind, errors.Unauthenticated)
    for _, kind in inspect.getmembers(google.auth.exceptions, inspect.isclass)
    if issubclass(kind, google.auth.exceptions.GoogleAuthError)
]


@every_row(("kind", "expected"), AUTH, ids=lambda value: value.__name__)
def test_every_google_auth_exception_is_mapped(
    kind: type[Exception], expected: type[errors.CloudError]
) -> None:
    ours = translate(kind("no good"), endpoint=GOOGLE, action="list the custom jobs")
    assert type(ours) is expected


def test_missing_credentials_name_the_one_command_that_gets_them() -> None:
    error = google.auth.exceptions.DefaultCredentialsError("Your default credentials were not found.")
    message = str(translate(error, endpoint=GOOGLE, action="list the custom jobs"))
    assert message.endswith("Run `gcloud auth application-default login`.")


def test_a_wrong_token_at_the_emulator_does_not_send_the_user_to_gcloud() -> None:
    message = str(translate(api.Unauthorized("bad token"), endpoint=EMULATOR, action="read bucket b"))
    assert "gcloud" not in message
    assert '`eval "$(vertex-training emulator env)"`' in message


def test_a_retry_that_gave_up_is_its_cause() -> None:
    gave_up = api.RetryError("Timeout of 60.0s exceeded", api.TooManyRequests("slow down"))
    ours = translate(gave_up, endpoint=GOOGLE, action="read bucket b")
    assert type(ours) is errors.ResourceExhausted
    assert "slow down" in str(ours)


HTTP: list[tuple[Exception, type[errors.CloudError]]] = [
    (requests.ConnectionError("no"), errors.Unavailable),
    (requests.exceptions.ProxyError("no"), errors.Unavailable),
    (requests.exceptions.SSLError("no"), errors.Unavailable),
    (requests.ReadTimeout("no"), errors.DeadlineExceeded),
    (requests.ConnectTimeout("no"), errors.DeadlineExceeded),
    (requests.exceptions.ChunkedEncodingError("no"), errors.Unavailable),
    (requests.TooManyRedirects("no"), errors.UnexpectedAnswer),
    (requests.exceptions.InvalidJSONError("no"), errors.UnexpectedAnswer),
    (requests.exceptions.InvalidURL("no"), errors.InvalidArgument),
    (urllib3.exceptions.ProtocolError("no"), errors.Unavailable),
    (urllib3.exceptions.ReadTimeoutError(None, "", "no"), errors.DeadlineExceeded),  # type: ignore[arg-type]
    (ConnectionResetError("no"), errors.Unavailable),
    (DataCorruption(None, "Checksum mismatch"), errors.DataLoss),
]


@pytest.mark.parametrize(("error", "expected"), HTTP, ids=lambda value: type(value).__name__)
def test_http_exceptions_are_mapped(error: Exception, expected: type[errors.CloudError]) -> None:
    assert type(translate(error, endpoint=EMULATOR, action="read bucket b")) is expected


def test_an_invalid_response_of_a_transfer_is_read() -> None:
    response = requests.Response()
    response.status_code = 503
    response._content = b"overloaded"
    ours = translate(InvalidResponse(response, "x"), endpoint=GOOGLE, action="upload gs://b/o")
    assert type(ours) is errors.Unavailable
    assert "overloaded" in str(ours)


@pytest.mark.parametrize("error", [ValueError("x"), FileNotFoundError("f"), KeyError("k")])
def test_other_exceptions_pass_through_unchanged(error: Exception) -> None:
    assert translate(error, endpoint=GOOGLE, action="read bucket b") is None
    with pytest.raises(type(error)), translated(GOOGLE, "read bucket b"):
        raise error


def test_the_cause_is_chained_and_our_own_errors_are_not_wrapped_again() -> None:
    cause = api.NotFound("gone")
    with pytest.raises(errors.NotFound) as caught, translated(GOOGLE, "b"), translated(GOOGLE, "a"):
        raise cause
    assert caught.value.__cause__ is cause
    assert str(caught.value).startswith("Could not a ")


# What answers over a real connection.

GONE = 'The CustomJob "projects/1/locations/us-central1/customJobs/5" does not exist.'

CERTAIN = [
    refusal(404, "NOT_FOUND", GONE),
    Answer(
        status=404,
        document={
            "error": {
                "code": 404,
                "message": "The specified bucket does not exist.",
                "errors": [{"domain": "global", "reason": "notFound", "message": "..."}],
            }
        },
    ),
]

UNCERTAIN = [
    Answer(status=404, text="<html><title>Error 404 (Not Found)!!1</title></html>", content_type="text/html"),
    Answer(status=404, text=""),
    Answer(status=404, document={"detail": "Not Found"}),
    Answer(status=404, document=["not", "ours"]),
    Answer(status=404, document={"error": "not_found"}),
    Answer(status=404, document={"error": {"code": 404, "message": "no such proxy target"}}),
    refusal(404, "NOT_FOUND", "Method not found."),
    refusal(404, "NOT_FOUND", "The emulator has no GET /x/v1/projects. GET /_local/info lists the services."),
    Answer(status=302, text="log in", headers={"Location": "/login"}),
    Answer(status=200, text="<html>Welcome to the hotel's network</html>", content_type="text/html"),
]


@pytest.mark.parametrize("answer", CERTAIN)
def test_the_services_own_404_is_not_found(service: Service, endpoint: Endpoint, answer: Answer) -> None:
    service.script(answer)
    with pytest.raises(errors.NotFound) as caught:
        custom_jobs.get(endpoint, "projects/local/locations/us-central1/customJobs/5")
    assert "does not exist" in str(caught.value)
    assert caught.value.code == 404
    with pytest.raises(errors.NotFound):
        objects.get(endpoint, "bucket", "object")


@pytest.mark.parametrize("answer", UNCERTAIN)
def test_any_other_answer_does_not_say_that_it_is_gone(
    service: Service, endpoint: Endpoint, answer: Answer
) -> None:
    service.script(answer)
    with pytest.raises(errors.UnexpectedAnswer) as of_job:
        custom_jobs.get(endpoint, "projects/local/locations/us-central1/customJobs/5")
    with pytest.raises(errors.UnexpectedAnswer):
        objects.get(endpoint, "bucket", "object")
    assert "Check the address" in str(of_job.value)


def test_a_download_of_a_missing_object_is_answered_in_plain_text(
    service: Service, endpoint: Endpoint
) -> None:
    service.script(Answer(status=404, text="No such object: bucket/object", content_type="text/html"))
    with pytest.raises(errors.NotFound):
        objects.read(endpoint, "bucket", "object")


def test_violations_are_kept_by_field(service: Service, endpoint: Endpoint) -> None:
    message = "List of found errors:\t1.Field: a.b; Message: no.\t2.Field: c; Message: neither.\t"
    violations = [{"field": "a.b", "description": "no."}, {"field": "c", "description": "neither."}]
    details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
    service.script(refusal(400, "INVALID_ARGUMENT", message, details=details))
    with pytest.raises(errors.InvalidArgument) as caught:
        custom_jobs.create(endpoint, {"displayName": "x"})
    assert caught.value.violations == (("a.b", "no."), ("c", "neither."))
    assert "1.Field: a.b; Message: no. 2.Field: c; Message: neither." in str(caught.value)


STATUSES: list[tuple[int, str, type[errors.CloudError]]] = [
    (400, "FAILED_PRECONDITION", errors.FailedPrecondition),
    (400, "INVALID_ARGUMENT", errors.InvalidArgument),
    (401, "UNAUTHENTICATED", errors.Unauthenticated),
    (403, "PERMISSION_DENIED", errors.PermissionDenied),
    (409, "ABORTED", errors.Conflict),
    (409, "ALREADY_EXISTS", errors.AlreadyExists),
    (501, "UNIMPLEMENTED", errors.Unimplemented),
]


@pytest.mark.parametrize(("code", "status", "expected"), STATUSES)
def test_the_status_of_the_envelope_decides(
    service: Service, google: Endpoint, code: int, status: str, expected: type[errors.CloudError]
) -> None:
    service.script(refusal(code, status, "words of the service"))
    with pytest.raises(expected) as caught:
        custom_jobs.get(google, "projects/my-project/locations/europe-west4/customJobs/5")
    assert caught.value.reason == status
    assert "words of the service" in str(caught.value)
    assert "http" not in str(caught.value)  # addresses of calls are noise, and may carry secrets


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Yield a port at which nobody listens, and that no other process gets."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_nobody_listens_at_the_emulators_address(silent_port: int) -> None:
    gone = Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=f"http://127.0.0.1:{silent_port}",
        token="t",
    )
    for call in (
        lambda: custom_jobs.get(gone, "projects/local/locations/us-central1/customJobs/5"),
        lambda: custom_jobs.create(gone, {"displayName": "x"}),
        lambda: objects.read(gone, "b", "o"),
        lambda: objects.upload(gone, "b", "o", b"content"),
    ):
        with pytest.raises(errors.Unavailable) as caught:
            call()
        assert f"127.0.0.1:{silent_port}): no connection: Connection refused." in str(caught.value)
        assert "vertex-training emulator start" in str(caught.value)
        assert "may have been submitted" not in str(caught.value)


def test_a_slow_answer_does_not_ask_to_start_the_emulator() -> None:
    slow = Endpoint(
        kind="emulator", project="local", location="us-central1", url="http://127.0.0.1:1", token="t"
    )
    with pytest.raises(errors.DeadlineExceeded) as caught, translated(slow, "delete custom job 5"):
        raise requests.ReadTimeout("timed out")
    assert "Run the same command again" in str(caught.value)
    assert "emulator start" not in str(caught.value)


def test_the_token_is_in_no_message_and_no_repr(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(401, "UNAUTHENTICATED", "no"))
    with pytest.raises(errors.Unauthenticated) as caught:
        custom_jobs.get(endpoint, "projects/local/locations/us-central1/customJobs/5")
    assert endpoint.token is not None
    assert endpoint.token not in str(caught.value) + repr(caught.value) + repr(endpoint) + str(endpoint)


def test_reasons_fall_back_to_the_class() -> None:
    def reason(error: Any) -> str:
        return str(error.reason)

    assert reason(errors.NotFound("x")) == "NOT_FOUND"
    assert reason(errors.CloudError("x", reason="SOMETHING")) == "SOMETHING"
