"""Tiny stand-ins for base images that nobody has pushed.

Google's prebuilt and Deep Learning images and the official Python images are gigabytes of software that this
machine already has: Python and its packages. A stand-in has one empty layer, and a label that every image
built from it inherits, as in Docker: an image with that label has the host's root below its own layers.

The bytes depend on nothing but the image's name and the minor version of the host's Python.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from vertex_emulator.replicas.images.image import host_python
from vertex_training.catalog.prebuilt_images import prebuilt_image
from vertex_training.topology.roles import is_reduction_server_image

if TYPE_CHECKING:  # loaded where it is needed: every job starts a process that imports this module
    from vertex_emulator.services.container_registry.registry import StandIn

LABEL = "org.vertex-training.stand-in"
"""Label with the canonical name and tag of the image that the stand-in replaces."""

PYTHON_LABEL = "org.vertex-training.python"
"""Label with the minor version of the Python that runs in place of the image's, such as 3.11."""

WAIT = (
    "python3",
    "-c",
    "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); signal.pause()",
)
"""Runs in place of the reduction server, which needs GPUs and NCCL: it waits for SIGTERM."""

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_EMPTY_TAR = bytes(1024)
_EPOCH = "1970-01-01T00:00:00Z"

_PYTHON = "docker.io/library/python"
_DEBIAN = r"(bookworm|bullseye|buster|trixie)"
_PYTHON_TAG = re.compile(rf"(?P<version>3(\.\d{{1,3}}){{0,2}}|latest)(-slim)?(-{_DEBIAN})?|slim(-{_DEBIAN})?")
_DEEP_LEARNING = re.compile(
    r"(([a-z]+\.)?gcr\.io|[a-z0-9-]+-docker\.pkg\.dev)/deeplearning-platform-release/[a-z0-9._/-]+"
)
_MINOR = re.compile(r"3\.(\d{1,3})(\.\d+)?")
_PREBUILT_PYTHON = re.compile(r"\.py3(\d{1,2})\b")


def stand_in(repository: str, tag: str) -> StandIn | None:
    """Return the stand-in for an image by its canonical repository and tag, or None."""
    if not is_stood_in_for(repository, tag):
        return None
    name = f"{repository}:{tag}"
    config: dict[str, object] = {
        "Env": [f"PATH={_PATH}", "LANG=C.UTF-8"],
        "Labels": {LABEL: name, PYTHON_LABEL: host_python()},
    }
    config |= {"Entrypoint": list(WAIT)} if is_reduction_server_image(name) else {"Cmd": ["python3"]}
    return _image(config)


def is_stood_in_for(repository: str, tag: str) -> bool:
    """Return whether there is a stand-in for the image.

    The prebuilt images of Ray have no stand-in, as they start a cluster of their own; nor do Pythons of other
    systems than Debian.
    """
    name = f"{repository}:{tag}"
    prebuilt = prebuilt_image(name)
    if prebuilt is not None:
        return prebuilt.framework != "ray"
    if repository == _PYTHON:
        return _PYTHON_TAG.fullmatch(tag) is not None
    return is_reduction_server_image(name) or _DEEP_LEARNING.fullmatch(repository) is not None


def official_python(name: str) -> str | None:
    """Return the minor version of Python in the name of an official Python image, else None."""
    repository, _, tag = name.rpartition(":")
    match = _MINOR.match(tag) if repository == _PYTHON else None
    return f"3.{match[1]}" if match else None


def other_python(name: str) -> str | None:
    """Return the minor version of Python in an image's name if it is not the host's, else None."""
    repository, _, tag = name.rpartition(":")
    if repository == _PYTHON:
        match = _MINOR.match(tag)
        minor = match[1] if match else None
    else:
        match = _PREBUILT_PYTHON.search(name) if prebuilt_image(name) else None
        minor = match[1] if match else None
    wanted = f"3.{minor}" if minor is not None else host_python()
    return None if wanted == host_python() else wanted


def _image(config: Mapping[str, object]) -> StandIn:
    from vertex_emulator.services.container_registry.registry import StandIn

    layer = _gzipped(_EMPTY_TAR)
    document = _json(
        {
            "architecture": "amd64",
            "config": config,
            "created": _EPOCH,
            "history": [{"created": _EPOCH, "created_by": "vertex-training emulator: stand-in"}],
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [_digest(_EMPTY_TAR)]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _descriptor(_CONFIG_TYPE, document),
            "layers": [_descriptor(_LAYER_TYPE, layer)],
        }
    )
    return StandIn(media_type=MANIFEST_TYPE, manifest=manifest, blobs=(document, layer))


def _gzipped(data: bytes) -> bytes:
    """Compress to gzip with one stored block: the bytes do not depend on the installed zlib."""
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    block = b"\x01" + struct.pack("<HH", len(data), len(data) ^ 0xFFFF) + data
    return head + block + struct.pack("<II", zlib.crc32(data), len(data))


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


EMPTY_LAYER = _digest(_EMPTY_TAR)
"""The `diff_id` of a layer without files."""


def _descriptor(media_type: str, data: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": _digest(data), "size": len(data)}
