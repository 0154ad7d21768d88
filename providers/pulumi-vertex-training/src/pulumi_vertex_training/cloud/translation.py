"""Translate the exceptions of Google's libraries to `errors`, with the cause chained."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cloud import errors, imports
from pulumi_vertex_training.cloud.endpoint import Endpoint
from vertex_emulator import of_data_dir

if TYPE_CHECKING:
    from requests import Response

_OF_STATUS: Mapping[str, type[errors.CloudError]] = {
    "NOT_FOUND": errors.NotFound,
    "ALREADY_EXISTS": errors.AlreadyExists,
    "ABORTED": errors.Conflict,
    "PERMISSION_DENIED": errors.PermissionDenied,
    "UNAUTHENTICATED": errors.Unauthenticated,
    "INVALID_ARGUMENT": errors.InvalidArgument,
    "OUT_OF_RANGE": errors.InvalidArgument,
    "FAILED_PRECONDITION": errors.FailedPrecondition,
    "RESOURCE_EXHAUSTED": errors.ResourceExhausted,
    "UNIMPLEMENTED": errors.Unimplemented,
    "UNAVAILABLE": errors.Unavailable,
    "CANCELLED": errors.Unavailable,
    "DEADLINE_EXCEEDED": errors.DeadlineExceeded,
    "INTERNAL": errors.Internal,
    "UNKNOWN": errors.Internal,
    "DATA_LOSS": errors.DataLoss,
}

_RPC_CODES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
    *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE"),
    *("UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
)
"""The names of google.rpc.Code, each at its number."""

_OF_CODE: Mapping[int, type[errors.CloudError]] = {
    400: errors.InvalidArgument,
    401: errors.Unauthenticated,
    403: errors.PermissionDenied,
    404: errors.NotFound,
    408: errors.DeadlineExceeded,
    409: errors.AlreadyExists,
    411: errors.InvalidArgument,
    412: errors.Conflict,
    413: errors.InvalidArgument,
    416: errors.InvalidArgument,
    429: errors.ResourceExhausted,
    499: errors.Unavailable,
    500: errors.Internal,
    501: errors.Unimplemented,
    502: errors.Unavailable,
    503: errors.Unavailable,
    504: errors.DeadlineExceeded,
    507: errors.ResourceExhausted,
}

_LONGEST_FOREIGN_TEXT = 160


# Messages of Google's front ends and of the emulator.
_WRONG_PATH = re.compile(r"method not found|the emulator has no [A-Z]+ /", re.IGNORECASE)


@contextmanager
def translated(
    endpoint: Endpoint, action: str, *, if_missing: str = "", if_denied: str = ""
) -> Iterator[None]:
    """Translate exceptions of Google's libraries that are raised in the context to `CloudError`.

    `action` completes "Could not ...", for example "read custom job 123". `if_missing` is the next step if
    the resource does not exist, `if_denied` if the account lacks the permission on Google Cloud.
    """
    try:
        yield
    except Exception as error:
        found = translate(error, endpoint=endpoint, action=action, if_missing=if_missing, if_denied=if_denied)
        if found is None:
            raise
        raise found from error


def translate(
    error: Exception, *, endpoint: Endpoint, action: str, if_missing: str = "", if_denied: str = ""
) -> errors.CloudError | None:
    """Return the `CloudError` for an exception of a Google or HTTP library; None for any other exception."""
    if isinstance(error, errors.CloudError):
        return None
    finding = _of_google_api(error) or _of_google_auth(error) or _of_http(error)
    if finding is None:
        return None
    kind = finding.kind
    next_step = _next_step(kind, endpoint, if_missing, if_denied)
    message = " ".join(
        part for part in (f"Could not {action} ({endpoint}): {_sentence(finding.text)}", next_step) if part
    )
    return kind(
        message,
        code=finding.code,
        reason=finding.status,
        resource=action.partition(" ")[2],
        endpoint=endpoint,
        violations=finding.violations,
        own_words=_sentence(finding.text),
    )


@dataclass(frozen=True, kw_only=True)
class _Finding:
    kind: type[errors.CloudError]
    text: str
    code: int | None = None
    status: str | None = None
    violations: tuple[tuple[str, str], ...] = ()


def _of_google_api(error: Exception) -> _Finding | None:
    imports.load_transport()
    from google.api_core import exceptions

    if isinstance(error, exceptions.RetryError):
        cause = error.cause
        inner = _of_google_api(cause) or _of_google_auth(cause) or _of_http(cause) if cause else None
        return inner or _Finding(kind=errors.DeadlineExceeded, text=str(error))
    if isinstance(error, exceptions.GoogleAPICallError):
        if hasattr(error.response, "json"):  # for a failed operation, `response` is the operation
            return _of_response(error.response, code=error.code)
        status = error.grpc_status_code.name if error.grpc_status_code is not None else None
        return _Finding(
            kind=_kind(error.code, status), text=str(error.message), code=error.code, status=status
        )
    if isinstance(error, exceptions.AsyncRestUnsupportedParameterError):
        return _Finding(kind=errors.Unimplemented, text=str(error))
    if isinstance(error, exceptions.GoogleAPIError):
        return _Finding(kind=errors.InvalidArgument, text=str(error) or type(error).__name__)
    return None


def _of_google_auth(error: Exception) -> _Finding | None:
    from google.auth import exceptions

    if isinstance(error, exceptions.TimeoutError):
        return _Finding(kind=errors.DeadlineExceeded, text=str(error))
    if isinstance(error, (exceptions.TransportError, exceptions.ResponseError)):
        return _Finding(kind=errors.Unavailable, text=f"no credentials could be fetched: {_innermost(error)}")
    if isinstance(error, exceptions.RefreshError) and error.retryable:
        return _Finding(kind=errors.Unavailable, text=f"no credentials could be fetched: {error.args[0]}")
    if isinstance(error, exceptions.GoogleAuthError):
        return _Finding(kind=errors.Unauthenticated, text=str(error.args[0]) if error.args else repr(error))
    return None


def _of_http(error: Exception) -> _Finding | None:
    import requests
    import urllib3
    from google.protobuf import json_format

    response = getattr(error, "response", None)
    if type(error).__module__.startswith(("google.cloud.storage", "google.resumable_media")):
        # InvalidResponse and DataCorruption of uploads and downloads, which share no base class.
        if type(error).__name__ == "InvalidResponse" and response is not None:
            return _of_response(response, code=response.status_code)
        return _Finding(kind=errors.DataLoss, text=str(error))
    if isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError)):
        return _Finding(kind=errors.DeadlineExceeded, text=f"no answer in time: {_innermost(error)}")
    if isinstance(error, (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema)):
        return _Finding(kind=errors.InvalidArgument, text=str(error))
    unreadable = (requests.TooManyRedirects, requests.exceptions.InvalidJSONError, json_format.ParseError)
    if isinstance(error, unreadable):
        return _Finding(kind=errors.UnexpectedAnswer, text=f"the answer cannot be read: {error}")
    if isinstance(error, (requests.RequestException, urllib3.exceptions.HTTPError, ConnectionError)):
        return _Finding(kind=errors.Unavailable, text=f"no connection: {_innermost(error)}")
    return None


def _of_response(response: Response, *, code: int | None) -> _Finding:
    """Translate an HTTP answer."""
    code = code or int(response.status_code)
    try:
        document = response.json()
    except (ValueError, RuntimeError):  # RuntimeError: the body of a streamed answer was read before
        document = None
    envelope = document.get("error") if isinstance(document, dict) else None
    if not isinstance(envelope, dict):
        return _of_foreign_response(response, code)
    status = envelope.get("status")
    status = status if isinstance(status, str) else None
    kind = _kind(code, status)
    if kind is errors.NotFound and not _speaks_of_a_resource(envelope, status):
        kind = errors.UnexpectedAnswer
    return _Finding(
        kind=kind,
        text=str(envelope.get("message") or status or f"HTTP {code}"),
        code=code,
        status=status if kind is not errors.UnexpectedAnswer else None,
        violations=tuple(_violations(envelope)),
    )


def _of_foreign_response(response: Response, code: int) -> _Finding:
    """Translate an answer without Google's envelope, such as Cloud Storage's plain text for downloads."""
    text = " ".join(str(getattr(response, "text", "")).split())
    if code == 404 and not text.startswith("No such object: "):
        text = f"answered 404, but not in the service's format: {_cut(text) or 'an empty answer'}"
        return _Finding(kind=errors.UnexpectedAnswer, text=text, code=code)
    return _Finding(kind=_kind(code, None), text=_cut(text) or f"HTTP {code}", code=code)


def _speaks_of_a_resource(envelope: Mapping[str, Any], status: str | None) -> bool:
    """Return whether a 404 is about the resource, not about a path unknown to the service."""
    entries = envelope.get("errors") or ()
    reasons = {entry.get("reason") for entry in entries if isinstance(entry, dict)}
    own_words = status == "NOT_FOUND" or "notFound" in reasons
    return own_words and _WRONG_PATH.match(str(envelope.get("message", ""))) is None


def _violations(envelope: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for detail in envelope.get("details") or ():
        if isinstance(detail, dict):
            for violation in detail.get("fieldViolations") or ():
                yield str(violation.get("field", "")), str(violation.get("description", ""))


def _kind(code: int | None, status: str | None) -> type[errors.CloudError]:
    if code == 412:
        return errors.Conflict  # a precondition of the request; the emulator and Google differ in the status
    known = _OF_STATUS.get(status or "") or _OF_CODE.get(code or 0)
    if known is not None:
        return known
    if code is not None and 500 <= code < 600:
        return errors.Unavailable
    return errors.Internal if code is None else errors.UnexpectedAnswer


def kind_of_failure(code: object) -> type[errors.CloudError]:
    """Return the class for a google.rpc.Code, of which a failed operation has one.

    Never a class that callers take for an answer about the resource itself: it is gone, taken, or still busy.
    """
    status = _RPC_CODES[code] if isinstance(code, int) and 0 < code < len(_RPC_CODES) else ""
    found = _OF_STATUS.get(status, errors.CloudError)
    about_resource = (errors.NotFound, errors.AlreadyExists, errors.Unavailable)
    return errors.CloudError if issubclass(found, about_resource) else found


def _next_step(kind: type[errors.CloudError], endpoint: Endpoint, if_missing: str, if_denied: str) -> str:
    local = endpoint.is_emulator
    if issubclass(kind, errors.Unauthenticated):
        if local:
            return (
                "Each start of the emulator may renew its token: run "
                '`eval "$(vertex-training emulator env)"`, and try again.'
            )
        return "Run `gcloud auth application-default login`."
    if issubclass(kind, errors.DeadlineExceeded) and local:
        return (
            "It accepts calls but is slow: this machine may be busy. Run the same command again. "
            "`vertex-training emulator status` shows whether it answers."
        )
    if issubclass(kind, errors.Unavailable):
        if local:
            folder = Path(endpoint.data_dir) if endpoint.data_dir else None
            return f"Run `vertex-training emulator start{of_data_dir(folder)}`."
        return "Check the network and the location's name, then run the same command again."
    if issubclass(kind, errors.UnexpectedAnswer):
        return "Check the address, the location and the proxy settings; the answer was ignored."
    if issubclass(kind, errors.PermissionDenied) and not local:
        return if_denied or (
            f"Check that {endpoint.project} is the right project, that the API is enabled in it and that "
            "the account has the role (roles/aiplatform.user, roles/storage.admin, roles/logging.viewer)."
        )
    if issubclass(kind, errors.ResourceExhausted) and not local:
        return f"Wait and try again, or request more quota in {endpoint.location}."
    if issubclass(kind, errors.Internal):
        return "Run the same command again."
    return if_missing if issubclass(kind, errors.NotFound) else ""


def _innermost(error: BaseException) -> str:
    """Return the innermost reason of a chain such as requests -> urllib3 -> socket.

    Object addresses are removed from it.
    """
    seen: list[BaseException] = [error]
    while True:
        last = seen[-1]
        inner = getattr(last, "reason", None)
        candidates = [inner, *last.args, last.__cause__, last.__context__]
        following = next(
            (one for one in candidates if isinstance(one, BaseException) and one not in seen), None
        )
        if following is None:
            break
        seen.append(following)
    last = seen[-1]
    if isinstance(last, OSError) and last.strerror:
        return last.strerror
    # urllib3 writes "<object at 0x...>: text" or "HTTPConnection(host=..., port=...): text".
    text = str(last)
    head, separator, tail = text.partition("): ")
    return tail if separator and "(" in head else text.rpartition(">: ")[2]


def _sentence(text: str) -> str:
    """Return one line that ends like a sentence; Google separates a list of errors by tabs."""
    line = " ".join(text.split())
    return line if line.endswith((".", "!", "?")) else f"{line}."


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_FOREIGN_TEXT else f"{text[:_LONGEST_FOREIGN_TEXT]}..."
