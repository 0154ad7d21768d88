"""The scalars below AIP_TENSORBOARD_LOG_DIR of a job; of files that grow, only the new end is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.cloud.objects import ObjectRecord
from pulumi_vertex_training.views.curve import Curve, Points
from pulumi_vertex_training.views.metrics.event_files import DamagedFileError, scalars
from vertex_training.fields import uris

TENSORBOARD = "TensorBoard"
"""The source of curves whose files are in no folder."""

_MARK = "tfevents"
_MOST_FILES = 64
_MOST_BYTES = 8 << 20
"""Bytes of a file that are read at a time."""


@dataclass
class _File:
    """The scalars of a file so far. `end` is in bytes; `is_damaged` files are not read any more."""

    generation: int = 0
    end: int = 0
    is_damaged: bool = False
    points: dict[str, Points] = field(default_factory=dict)


class EventFiles:
    """The event files of one job, below its directory."""

    def __init__(self, directory: str) -> None:
        self._logs = uris.parse(f"{directory.rstrip('/')}/logs/")
        self._files: dict[str, _File] = {}

    def read(self, endpoint: Endpoint) -> list[Curve]:
        """Read what is new. Return all curves; each folder with files is a source. Raises CloudError."""
        try:
            found = list(objects.list_objects(endpoint, self._logs.bucket, prefix=self._logs.name))
        except NotFound:  # the bucket was deleted
            found = []
        files = [one for one in found if _MARK in one.name.rpartition("/")[2]][:_MOST_FILES]
        for record in files:
            file = self._files.setdefault(record.name, _File())
            if file.generation != record.generation and not file.is_damaged:
                self._read(endpoint, record, file)
        return list(self._curves([record.name for record in files]))

    def _read(self, endpoint: Endpoint, record: ObjectRecord, file: _File) -> None:
        """Read the end of a file, which is only ever appended to."""
        if record.size < file.end:
            file.end, file.points = 0, {}
        try:
            while file.end < record.size:
                data = objects.read_range(
                    endpoint, record.bucket, record.name, start=file.end, most=_MOST_BYTES
                )
                known, length = scalars(data)
                for one in known:
                    file.points.setdefault(one.tag, Points()).add(one.step, one.value, one.time)
                file.end += length
                if not length:
                    break
            file.generation = record.generation
        except DamagedFileError:
            file.is_damaged = True
        except CloudError:  # it was replaced just now; the next look reads it
            pass

    def _curves(self, names: list[str]) -> Iterator[Curve]:
        """Yield the curves of each folder; a later file of a folder continues the earlier one."""
        merged: dict[tuple[str, str], Points] = {}
        for name in sorted(names):
            folder = name.removeprefix(self._logs.name).rpartition("/")[0]
            for tag, points in self._files[name].points.items():
                known = merged.setdefault((folder, tag), Points())
                for step, value, time in points.each:
                    known.add(step, value, time)
        for (folder, tag), points in merged.items():
            yield Curve(metric=tag, source=folder or TENSORBOARD, points=points.all, times=points.times)
