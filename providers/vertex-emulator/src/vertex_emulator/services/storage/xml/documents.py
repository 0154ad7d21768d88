"""The documents and errors of the XML API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from vertex_emulator.server.http.messages import NOT_SUPPORTED, Body, HttpError, Response
from vertex_emulator.services.storage.errors import StorageError

XML = "application/xml; charset=UTF-8"

_DECLARATION = "<?xml version='1.0' encoding='UTF-8'?>"
_MAX_BYTES = 4 * 1024 * 1024
_MAX_ELEMENTS = 50_000
_MAX_DEPTH = 8
_ESCAPED: Mapping[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_ESCAPE = re.compile(r'[&<>"\x00-\x08\x0b-\x1f\ud800-\udfff￾￿]')


@dataclass
class Element:
    """A parsed element: its name without namespace, its text and its child elements."""

    name: str
    content: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, name: str) -> list[Element]:
        """Return the child elements of that name."""
        return [child for child in self.children if child.name == name]

    def value(self, name: str) -> str | None:
        """Return the text of the only child of that name, or None if there is not exactly one."""
        elements = self.all(name)
        return elements[0].content.strip() if len(elements) == 1 else None


class MalformedError(ValueError):
    """The document is not well-formed, or too large."""


def read(body: Body) -> Element:
    """Parse the document in a request's body. Raises `MalformedError`, `HttpError` 413."""
    parts: list[bytes] = []
    size = 0
    while block := body.read(65536):
        size += len(block)
        if size > _MAX_BYTES:
            raise HttpError(413, "", f"The XML document is longer than {_MAX_BYTES} bytes.")
        parts.append(block)
    return parsed(b"".join(parts))


def parsed(data: bytes) -> Element:
    """Parse a document, and return its root. Raises `MalformedError`."""
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartDoctypeDeclHandler = _reject
    parser.EntityDeclHandler = _reject
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise MalformedError(str(error)) from error
    if reader.root is None:
        raise MalformedError("no element found")
    return reader.root


def _reject(*_: object) -> None:
    raise MalformedError("a document type is not allowed")


class _Reader:
    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._count = 0

    def start(self, name: str, _: object) -> None:
        self._count += 1
        if self._count > _MAX_ELEMENTS or len(self._open) == _MAX_DEPTH:
            raise MalformedError("too many elements, or too deep")
        child = Element(name.rpartition(" ")[2])
        if self._open:
            self._open[-1].children.append(child)
        else:
            self.root = child
        self._open.append(child)

    def end(self, _: str) -> None:
        self._open.pop()

    def characters(self, content: str) -> None:
        if self._open:
            self._open[-1].content += content


def element(name: str, *children: str, namespace: str | None = None) -> str:
    """Return the text of an element with children, which are text already."""
    head = name if namespace is None else f"{name} xmlns='{namespace}'"
    return f"<{head}>{''.join(children)}</{name}>"


def text(name: str, value: object) -> str:
    """Return the text of an element with a value; booleans are true and false."""
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return f"<{name}>{escaped(shown)}</{name}>"


def escaped(value: str) -> str:
    """Escape text for a document. Characters that are invalid in XML become character references."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[0], f"&#{ord(match[0])};"), value)


def written(document: str) -> bytes:
    """Return the bytes of a document."""
    return (_DECLARATION + document).encode("utf-8")


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
    """An error of the XML API. `code` is the API's, such as "NoSuchUpload"."""

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
    """Convert an error to the format of the XML API."""
    if isinstance(error, XmlError):
        return error
    code = _CODES.get(error.status, "InternalError")
    if isinstance(error, StorageError):
        if error.status == 404 and error.message == "The specified bucket does not exist.":
            code = "NoSuchBucket"
        elif error.status == 400 and error.message.startswith("Provided "):
            code = "BadDigest"
    converted = XmlError(error.status, code, error.message)
    converted.headers.update(error.headers)
    return converted


def invalid_argument(message: str) -> XmlError:
    """Return the error for an invalid value."""
    return XmlError(400, "InvalidArgument", message)


def unsupported(what: str, remedy: str) -> XmlError:
    """Return the error for an unsupported call, header or parameter, which `what` names."""
    return XmlError(
        NOT_SUPPORTED, "NotImplemented", f"The emulator's XML API does not support {what}. {remedy}"
    )
