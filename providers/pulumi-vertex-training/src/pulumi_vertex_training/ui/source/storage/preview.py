"""The preview of an object by its content, whatever type it claims: a raster picture, JSON, text, or none."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal

from pulumi_vertex_training.cloud import object_content
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.ui.source.storage.objects import StoredObject

MOST_TEXT = 256 << 10
"""Bytes of text that a preview shows."""

MOST_PICTURE = 16 << 20
"""Bytes of the largest picture that a preview shows."""

_TEXT_KEPT = 4 * MOST_TEXT
"""Characters of the longest text: indented JSON is longer than its object."""

_MOST_UNREADABLE = 0.1
"""Share of control characters above which content is no text."""

_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_INDENT = "  "
_MOST_DEPTH = 100

Form = Literal["picture", "json", "text", "none"]


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The content that a page shows of an object: `text`, or its picture.

    `note` is in words, "" for a whole preview.
    """

    form: Form
    text: str = ""
    note: str = ""


def read(endpoint: Endpoint, found: StoredObject) -> Preview:
    """Return the preview of an object. At most `MOST_TEXT` bytes are read. Raises CloudError."""
    if found.size == 0:
        return Preview(form="none", note="The object is empty.")
    if found.encoding:
        return Preview(form="none", note=f"The content is stored as {found.encoding}; it has no preview.")
    head = object_content.beginning(endpoint, found.bucket, found.name, count=MOST_TEXT)
    if picture_type(head):
        if found.size > MOST_PICTURE:
            note = f"The picture has more than {MOST_PICTURE >> 20} MiB; it has no preview."
            return Preview(form="none", note=note)
        return Preview(form="picture")
    is_whole = len(head) >= found.size
    text = _text(head, is_whole=is_whole)
    if text is None:
        return Preview(form="none", note="The content is binary; it has no preview.")
    cut = "" if is_whole else f"These are the first {MOST_TEXT >> 10} KiB."
    if is_whole and _claims_json(found):
        indented = _indented(text)
        if indented is None:
            note = "The content is shown as it is: it is not valid JSON, or is nested too deeply."
            return Preview(form="text", text=text, note=note)
        return Preview(form="json", text=indented)
    return Preview(form="text", text=text, note=cut)


def picture_type(content: bytes) -> str:
    """Return the media type of a raster picture by its first bytes, "" for anything else, SVG included."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return ""


def _claims_json(found: StoredObject) -> bool:
    media_type = found.content_type.partition(";")[0].strip().lower()
    return found.name.lower().endswith(".json") or media_type in ("application/json", "text/json")


def _text(content: bytes, *, is_whole: bool) -> str | None:
    """Return UTF-8 text, or None for other content; a character that the cut divides is left out."""
    if b"\0" in content:
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        if is_whole or error.start < len(content) - 4:
            return None
        text = content[: error.start].decode("utf-8")
    unreadable = sum(1 for character in text if character < " " and character not in "\t\r\n\f\x1b")
    return None if unreadable > _MOST_UNREADABLE * len(text) else text


def _indented(text: str) -> str | None:
    """Return JSON on lines of its own, or None for text that is not JSON, or would become too long.

    The spelling of numbers and the order of members stay as they are.
    """
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    found: list[str] = []
    depth = length = 0
    for match in _PARTS.finditer(text):
        each = match[0]
        if each in "]}":
            depth -= 1
            if found[-1] not in "[{":
                found.append("\n" + _INDENT * depth)
        elif found and (found[-1] in "[{" or found[-1] == ","):
            found.append("\n" + _INDENT * depth)
        found.append(": " if each == ":" else each)
        length += len(found[-1]) + len(_INDENT) * depth
        if each in "[{":
            depth += 1
        if depth > _MOST_DEPTH or length > _TEXT_KEPT:
            return None
    return "".join(found)
