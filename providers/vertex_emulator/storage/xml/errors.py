"""The error answers of the XML API ("HTTP status and error codes for XML API")."""

from __future__ import annotations

from collections.abc import Mapping

from vertex_emulator.http.messages import HttpError, Response
from vertex_emulator.storage.errors import StorageError
from vertex_emulator.storage.xml.documents import XML, element, text, written

_CODES: Mapping[int, str] = {
    400: "InvalidArgument",
    401: "AuthenticationRequired",
    403: "AccessDenied",
    404: "NoSuchKey",
    405: "MethodNotAllowed",
    408: "RequestTimeout",
    409: "Conflict",
    411: "MissingContentLength",
    412: "PreconditionFailed",
    413: "EntityTooLarge",
    416: "InvalidRange",
    429: "SlowDown",
    501: "NotImplemented",
    503: "ServiceUnavailable",
    507: "InsufficientStorage",
}


class XmlError(HttpError):
    """`code` is the XML API's, such as "NoSuchUpload"."""

    def __init__(self, status: int, code: str, message: str, *, details: str = "") -> None:
        super().__init__(status, code, message)
        self.code = code
        self.more = details

    def response(self) -> Response:
        if self.status == 304:
            return Response(304)
        document = element(
            "Error",
            text("Code", self.code),
            text("Message", self.message),
            text("Details", self.more or self.message),
        )
        return Response(self.status, written(document), XML, dict(self.headers))


def as_xml(error: HttpError) -> XmlError:
    """An error of the services that both APIs share, in the form of this one."""
    if isinstance(error, XmlError):
        return error
    code = _CODES.get(error.status, "InternalError")
    if isinstance(error, StorageError):
        if error.status == 404 and error.message == "The specified bucket does not exist.":
            code = "NoSuchBucket"
        elif error.status == 400 and error.message.startswith("Provided "):
            code = "BadDigest"
    found = XmlError(error.status, code, error.message)
    found.headers.update(error.headers)
    return found


def invalid_argument(message: str) -> XmlError:
    return XmlError(400, "InvalidArgument", message)


def not_there(what: str, remedy: str) -> XmlError:
    """`what` names the call, header or parameter."""
    return XmlError(501, "NotImplemented", f"The emulator's XML API does not support {what}. {remedy}")
