"""The layer of an image's requirements: written once, then found in the registry again.

A record of each layer is kept in the user's cache folder: its digests, its size and the repositories that got
it. If one of them still has it, the layer is neither fetched, nor built, nor sent again.

    ~/.cache/vertex-training/requirements/KEY.json   the record; KEY has the requirements and the Python
    ~/.cache/vertex-training/requirements/KEY.lock   held (flock) by a deployment that builds or pushes it
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.container_registry import client as registry
from pulumi_vertex_training.cloud.container_registry.http import registry_http
from pulumi_vertex_training.cloud.container_registry.image_names import ImageName, parse
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.images import ImagePlan, WheelLayer, fetch_wheels
from pulumi_vertex_training.images.wheels.bytecode import find_compiler
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.findings.problems import Problem

_REPOSITORIES = 8
"""Repositories that a record names, and that are asked for a layer."""

_RECORDS = 200


@dataclass(frozen=True, kw_only=True)
class LayerRecord:
    """The record of the layer of some requirements; `path` is None if the cache folder cannot be used."""

    path: Path | None

    def find(self, endpoint: Endpoint, target: ImageName) -> WheelLayer | None:
        """Return the layer, if a repository has it from which `target` can mount it."""
        document = _read(self.path)
        if document is None:
            return None
        http = registry_http(endpoint)
        for repository in dict.fromkeys([target.repository, *document["repositories"]]):
            name = parse(repository)
            if http.same_registry(name, target) and _has_blob(endpoint, name, document["digest"]):
                return WheelLayer(
                    digest=document["digest"],
                    diff_id=document["diff_id"],
                    size=document["size"],
                    created_by=document["created_by"],
                    source=repository,
                    problems=tuple(Problem(**each) for each in document["problems"]),
                )
        return None

    def write(self, layer: WheelLayer, repository: str) -> None:
        """Record that a repository has the layer."""
        if self.path is None:
            return
        known = _read(self.path) or {"digest": "", "repositories": []}
        others = known["repositories"] if known["digest"] == layer.digest else []
        document = {
            "digest": layer.digest,
            "diff_id": layer.diff_id,
            "size": layer.size,
            "created_by": layer.created_by,
            "problems": [
                {"path": each.path, "message": each.message, "rule": each.rule, "level": each.level}
                for each in layer.problems
            ],
            "repositories": [*dict.fromkeys([repository, *others])][:_REPOSITORIES],
        }
        with contextlib.suppress(OSError):  # then the layer is built again
            partial = self.path.with_suffix(f".{os.getpid()}")
            partial.write_text(json.dumps(document), encoding="utf-8")
            partial.replace(self.path)
            _remove_oldest(self.path.parent)


@contextlib.contextmanager
def locked_record(plan: ImagePlan, timeouts: Timeouts) -> Iterator[LayerRecord]:
    """Yield the record of a plan's requirements. Other deployments with the same ones wait until the end."""
    source = plan.source
    compiler = find_compiler(source.python_version or "", timeouts)
    version = compiler.version if compiler else "no bytecode"
    key = hashlib.sha256(f"{plan.requirements_hash} {version}".encode()).hexdigest()[:32]
    try:
        folder = _cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (folder / f"{key}.lock").open("w")
    except (OSError, RuntimeError):
        yield LayerRecord(path=None)
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield LayerRecord(path=folder / f"{key}.json")


def build_layer(plan: ImagePlan, folder: Path, timeouts: Timeouts) -> WheelLayer:
    """Fetch the wheels of a plan and write their layer. Raises PackagingError."""
    source = plan.source
    if source.requirements is None or source.python_version is None:
        raise ValueError("a plan that needs wheels has requirements and a Python version")
    # Imported late: an image without requirements needs no installer of wheels.
    from pulumi_vertex_training.images.wheels.wheel_layer import write_wheel_layer

    folder.mkdir()
    wheels = fetch_wheels(
        source.requirements, source.python_version, source.platform, folder / "wheels", timeouts=timeouts
    )
    return write_wheel_layer(wheels, folder, timeouts)


def _cache_folder() -> Path:
    """Return the folder of records. Raises RuntimeError for a user without a home folder."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    caches = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return caches / "vertex-training" / "requirements"


def _read(path: Path | None) -> dict[str, Any] | None:
    """Return a record, or None without a usable one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8")) if path else None
    except (OSError, ValueError):
        return None
    expected = {"digest", "diff_id", "size", "created_by", "problems", "repositories"}
    return document if isinstance(document, dict) and document.keys() == expected else None


def _has_blob(endpoint: Endpoint, name: ImageName, digest: str) -> bool:
    try:
        return registry.has_blob(endpoint, name, digest)
    except errors.CloudError:
        return False


def _remove_oldest(folder: Path) -> None:
    records = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in records[_RECORDS:]:
        path.unlink(missing_ok=True)
