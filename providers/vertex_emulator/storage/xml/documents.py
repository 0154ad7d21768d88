"""XML in and out. What comes in is read within bounds and without document types: no entity is expanded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

from vertex_emulator.http.messages import HttpError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vertex_emulator.http.messages import Body

XML = "application/xml; charset=UTF-8"

_DECLARATION = "<?xml version='1.0' encoding='UTF-8'?>"
_MAX_BYTES = 4 * 1024 * 1024
_MAX_ELEMENTS = 50_000
_MAX_DEPTH = 8
_ESCAPED: Mapping[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_ESCAPE = re.compile(r'[&<>"\x00-\x08\x0b-\x1f\ud800-\udfff￾￿]')


@dataclass
class Element:
    """One element that was read: its name without namespace, its text, the elements in it."""

    name: str
    content: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, name: str) -> list[Element]:
        return [child for child in self.children if child.name == name]

    def value(self, name: str) -> str | None:
        """The text of the one child of that name, None when there is none or several."""
        found = self.all(name)
        return found[0].content.strip() if len(found) == 1 else None


class MalformedError(ValueError):
    """The document is not well-formed, or more than is read."""


def read(body: Body) -> Element:
    """The document of a request's body. Raises `MalformedError`, `HttpError` 413."""
    parts: list[bytes] = []
    size = 0
    while block := body.read(65536):
        size += len(block)
        if size > _MAX_BYTES:
            raise HttpError(413, "", f"The XML document is longer than {_MAX_BYTES} bytes.")
        parts.append(block)
    return parsed(b"".join(parts))


def parsed(data: bytes) -> Element:
    """The document's root. Raises `MalformedError`."""
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
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


def _refuse(*_: object) -> None:
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
        found = Element(name.rpartition(" ")[2])
        if self._open:
            self._open[-1].children.append(found)
        else:
            self.root = found
        self._open.append(found)

    def end(self, _: str) -> None:
        self._open.pop()

    def characters(self, content: str) -> None:
        if self._open:
            self._open[-1].content += content


def element(name: str, *children: str, namespace: str | None = None) -> str:
    """One element that has others, which are text already."""
    head = name if namespace is None else f"{name} xmlns='{namespace}'"
    return f"<{head}>{''.join(children)}</{name}>"


def text(name: str, value: object) -> str:
    """One element that has text, whatever it is; of truth values true and false."""
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return f"<{name}>{escaped(shown)}</{name}>"


def escaped(value: str) -> str:
    """Text as it stands in a document. Characters that XML does not have are written as their numbers."""
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[0], f"&#{ord(match[0])};"), value)


def written(document: str) -> bytes:
    """A document's bytes."""
    return (_DECLARATION + document).encode("utf-8")
