"""What staged packages and staged files have in common: one object, named by the hash of its content.

What is staged is read twice: by check, to know the hash in a preview, and by create, to send it. Between the
two it must not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training.adapter import is_unknown
from pulumi_vertex_training.connection import connect
from pulumi_vertex_training.plugin import PLUGIN
from vertex_training.cloud import objects
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.cloud.errors import NotFound
from vertex_training.packaging.errors import PackagingError
from vertex_training.specs.staged_object import StagedObjectSpec
from vertex_training.topology.problems import Problem

REPLACING = ("endpoint", "bucket", "object_name", "sha256")
"""Inputs that make another object. Where the source lies on a disk is none of them."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """The inputs that every staged object has. `source` is relative to the Pulumi program's folder."""

    endpoint: str
    project: str
    location: str
    bucket: str
    source: str
    prefix: str = ""


def derived(spec: StagedObjectSpec) -> dict[str, Any]:
    """What check adds to the inputs, known in a preview."""
    return {
        "object_name": spec.object_name,
        "sha256": spec.sha256,
        "size": spec.size,
        "content_type": spec.content_type,
        "uri": str(spec.uri),
        "path": spec.uri.mounted,
    }


DERIVED = ("object_name", "sha256", "size", "content_type", "uri", "path")


def replaces(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The inputs whose change makes another object."""
    return [name for name in REPLACING if is_unknown(new.get(name)) or old.get(name) != new.get(name)]


def spec_of(props: Mapping[str, Any]) -> StagedObjectSpec:
    """The object that checked inputs or recorded outputs describe."""
    return StagedObjectSpec(
        bucket=props["bucket"],
        object_name=props["object_name"],
        sha256=props["sha256"],
        size=int(props["size"]),
        content_type=props["content_type"],
    )


def send(props: Mapping[str, Any], content: Path, sha256: str) -> dict[str, Any]:
    """Make the object be there; nothing is sent where it is already. Returns what is recorded of it.

    Raises PackagingError when the content is no longer what check saw.
    """
    spec = spec_of(props)
    if sha256 != spec.sha256:
        changed = "changed while it was being deployed. Run `pulumi up` again when nothing writes to it."
        raise PackagingError([Problem(path="source", message=f"{props['source']} {changed}")])
    made = objects.ensure(
        endpoint_of(props),
        spec.bucket,
        spec.object_name,
        content,
        content_type=spec.content_type,
        sha256=spec.sha256,
    )
    return {"crc32c": made.record.crc32c}


def is_there(props: Mapping[str, Any]) -> bool:
    """Whether the object exists with the content that was recorded."""
    spec = spec_of(props)
    found = objects.find(endpoint_of(props), spec.bucket, spec.object_name)
    return found is not None and found.size == spec.size and found.crc32c == props.get("crc32c")


def remove(props: Mapping[str, Any]) -> None:
    """Delete the object; one that is gone is fine."""
    spec = spec_of(props)
    with _ignoring_not_found():
        objects.delete(endpoint_of(props), spec.bucket, spec.object_name)


def endpoint_of(props: Mapping[str, Any]) -> Endpoint:
    return connect(props["endpoint"], props["project"], props["location"], PLUGIN.settings)


@contextmanager
def _ignoring_not_found() -> Iterator[None]:
    try:
        yield
    except NotFound:
        return
