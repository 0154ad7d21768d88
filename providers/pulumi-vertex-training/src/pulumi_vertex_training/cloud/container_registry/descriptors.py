"""The blobs that the manifest of an image refers to. Registries are not trusted: every field is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_LAYERS = 500
"""Limit of the layers of an image; container runtimes mount at most 127 or 500."""

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Descriptor:
    """The digest and size of a blob, as a manifest has them."""

    digest: str
    size: int


@dataclass(frozen=True, kw_only=True)
class ManifestParts:
    """The blobs of an image."""

    config: Descriptor
    layers: tuple[Descriptor, ...]


def parts_of(manifest: bytes) -> ManifestParts:
    """Return the blobs that a manifest refers to. Raises ValueError, with the reason."""
    document = json_object(manifest, "the manifest")
    layers = document.get("layers")
    if not isinstance(layers, list) or len(layers) > MOST_LAYERS:
        raise ValueError(f"the manifest has no list of at most {MOST_LAYERS} layers")
    return ManifestParts(
        config=_descriptor(document.get("config"), "the configuration"),
        layers=tuple(_descriptor(each, f"layer {number}") for number, each in enumerate(layers)),
    )


def json_object(content: bytes, what: str) -> Mapping[str, Any]:
    """Return a JSON object. Raises ValueError, also for one that is nested too deeply to be read."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise ValueError(f"{what} is not a JSON object")
    return document


def _descriptor(value: object, what: str) -> Descriptor:
    if not isinstance(value, dict):
        raise ValueError(f"{what} has no descriptor")
    digest, size, media_type = value.get("digest"), value.get("size"), value.get("mediaType")
    if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise ValueError(f"the digest of {what} is not sha256: and 64 hex digits")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise ValueError(f"the size of {what} is not a number of bytes")
    if media_type is not None and not isinstance(media_type, str):
        raise ValueError(f"the media type of {what} is not a string")
    return Descriptor(digest=digest, size=size)
