"""The checkpoints of a job in its bucket: their starts, and the copy for a run in another bucket.

`vertex_cluster.checkpoints` writes them; its names and markers are read here by the API.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import Conflict, InvalidArgument, NotFound
from pulumi_vertex_training.cloud.objects import ObjectRecord
from vertex_training.fields import uris

if TYPE_CHECKING:
    from vertex_cluster.checkpoints.folder import Checkpoint
    from vertex_cluster.checkpoints.records import Start

# `vertex_cluster.checkpoints` is imported in functions: only those who use checkpoints wait for it.

_GIVEN_UP_AFTER = 3
"""The default of `Checkpoints(give_up_after=...)`: the program's own value is not known here."""


@dataclass(frozen=True, kw_only=True)
class Copied:
    """A checkpoint that was copied: its step, and the bytes of its files."""

    step: int
    size: int


def starts_in(endpoint: Endpoint, folder: str) -> list[Start]:
    """Return the starts of a folder of checkpoints, the oldest first; none if it does not exist.

    Raises CloudError.
    """
    from vertex_cluster.checkpoints import records

    found = _listed(endpoint, f"{folder}{records.FOLDER}/")
    return records.of_files(found, lambda name: _start(endpoint, found[name]))


def copy_newest(
    endpoint: Endpoint, source: str, target: str, *, tell: Callable[[str], None] = lambda _: None
) -> Copied | None:
    """Copy the newest whole checkpoint, and the starts, to a folder of another bucket. No content is sent.

    The marker is copied last, so a copy that was interrupted is not whole; the next one completes it. A
    checkpoint whose loading ended three starts is passed over. Return None if there is nothing to copy.
    Raises CloudError.
    """
    from vertex_cluster.checkpoints import folder as folders
    from vertex_cluster.checkpoints import records

    if source == target:
        return None
    found = _listed(endpoint, source)
    started = {name: one for name, one in found.items() if name.startswith(f"{records.FOLDER}/")}
    by_name = {name.rpartition("/")[2]: one for name, one in started.items()}
    failed = records.failed_loads(records.of_files(by_name, lambda name: _start(endpoint, by_name[name])))
    names = dict.fromkeys(name.partition("/")[0] for name in found)
    for checkpoint in folders.named(Path(), names):
        files = _files(endpoint, checkpoint, found)
        if not files or failed.get(checkpoint.name, 0) >= _GIVEN_UP_AFTER:
            continue
        size = sum(found[name].size for name in files)
        tell(f"copying the checkpoint of step {checkpoint.step}, {size / 1e9:.3g} GB, to {target}")
        for name in (*started, *files):
            _copy(endpoint, found[name], uris.parse(f"{target}{name}"))
        return Copied(step=checkpoint.step, size=size)
    return None


def _files(endpoint: Endpoint, checkpoint: Checkpoint, found: Mapping[str, ObjectRecord]) -> Sequence[str]:
    """Return the names of the files of a checkpoint, its marker last; none if it is not whole."""
    from vertex_cluster.checkpoints import folder as folders

    marker = f"{checkpoint.name}/{folders.MARKER}"
    if marker not in found:
        return ()
    sizes = folders.sizes_in(checkpoint, objects.read(endpoint, found[marker].bucket, found[marker].name))
    files = {f"{checkpoint.name}/{name}": size for name, size in sizes.items()}
    if not files or any(name not in found or found[name].size != size for name, size in files.items()):
        return ()
    return (*files, marker)


def _copy(endpoint: Endpoint, record: ObjectRecord, to: uris.GcsUri) -> None:
    with contextlib.suppress(Conflict):  # an interrupted copy has made it: no name is written twice
        objects.copy(endpoint, record, to.name, bucket=to.bucket, if_generation_match=0)


def _listed(endpoint: Endpoint, folder: str) -> dict[str, ObjectRecord]:
    """Return the objects of a folder by their names below it; none without its bucket."""
    address = uris.parse(folder)
    try:
        found = list(objects.list_objects(endpoint, address.bucket, prefix=address.name))
    except NotFound:
        return {}
    return {one.name[len(address.name) :]: one for one in found}


def _start(endpoint: Endpoint, record: ObjectRecord) -> Mapping[str, Any]:
    return _document(endpoint, record.bucket, record.name, record.generation)


@functools.lru_cache(maxsize=1024)
def _document(endpoint: Endpoint, bucket: str, name: str, _generation: int) -> Mapping[str, Any]:
    """Return the document of a start, which no one rewrites; empty if it is damaged."""
    try:
        found = json.loads(objects.read(endpoint, bucket, name))
    except (NotFound, InvalidArgument, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
