"""A local copy of the TensorBoard logs of jobs, kept up to date while they are written.

TensorBoard reads gs:// only with TensorFlow, and the emulator not at all, so it gets files. It keeps a file
open that it has read, and looks for what was added: a file that grew is therefore never replaced here, its
new end is added.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pulumi_vertex_training.cloud import objects
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import DataLoss, NotFound
from pulumi_vertex_training.cloud.jobs import JobRecord
from vertex_training.fields import uris

_LOG = re.compile(r"(?:(?P<trial>[1-9][0-9]*)/)?logs/(?P<path>.+)")
"""An object of AIP_TENSORBOARD_LOG_DIR, below the directory of a run, or of a trial in it."""

_CHUNK = 1 << 20
_LONGEST_NAME = 255


@dataclass(frozen=True, kw_only=True)
class Source:
    """The logs of one job: the gs:// directory of its run, and the name of their folder here.

    `has_trials` is false if the logs are in the directory `logs` of the run itself.
    """

    name: str
    directory: str
    has_trials: bool = False


def source_of(record: JobRecord, directory: str) -> Source:
    """Return the logs of a job that has a directory."""
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "-", record.display_name).strip("-.")[:80]
    return Source(
        name=f"{name}-{record.job_id}".lstrip("-"),
        directory=uris.directory(directory),
        has_trials=record.collection != "customJobs",
    )


class Mirror:
    """The copy, in a folder of its own for each source."""

    def __init__(self, folder: Path, sources: Sequence[Source]) -> None:
        self._folder = folder
        self._sources = tuple(sources)
        self._known: dict[str, tuple[int, int]] = {}

    def refresh(self, endpoint: Endpoint) -> int:
        """Copy what is new. Return the number of files that changed. Raises CloudError.

        A bucket or object that does not exist yet, or changes while it is read, is left for the next time.
        """
        return sum(self._refresh(endpoint, source) for source in self._sources)

    def _refresh(self, endpoint: Endpoint, source: Source) -> int:
        address = uris.parse(source.directory)
        prefix = address.name if source.has_trials else f"{address.name}logs/"
        changed = 0
        try:
            found = list(objects.list_objects(endpoint, address.bucket, prefix=prefix))
        except NotFound:
            return 0
        for one in found:
            target = self._target(source, one.name.removeprefix(address.name))
            version = (one.generation, one.size)
            if target is None or self._known.get(one.uri) == version:
                continue
            try:
                self._bring(endpoint, one, target)
            except (NotFound, DataLoss, FileExistsError, NotADirectoryError, IsADirectoryError):
                continue  # an object may have the name of another one's folder
            self._known[one.uri] = version
            changed += 1
        return changed

    def _target(self, source: Source, name: str) -> Path | None:
        """Return the file for an object, None for an object that is no log or whose name is no path."""
        match = _LOG.fullmatch(name)
        if match is None:
            return None
        parts = match["path"].split("/")
        if any(part in ("", ".", "..") or not _is_plain(part) for part in parts):
            return None
        trial = [f"trial-{match['trial']}"] if match["trial"] else []
        return self._folder.joinpath(source.name, *trial, *parts)

    def _bring(self, endpoint: Endpoint, one: objects.ObjectRecord, target: Path) -> None:
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".new-")
        os.close(handle)
        new = Path(name)
        try:
            objects.download(endpoint, one.bucket, one.name, new)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not _add_end(new, target):
                new.replace(target)
        finally:
            new.unlink(missing_ok=True)


def _is_plain(part: str) -> bool:
    return part.isprintable() and len(part.encode()) <= _LONGEST_NAME


def _add_end(new: Path, target: Path) -> bool:
    """Add to a file what a new version has after it. Return false if it is not the same file, only longer."""
    try:
        with target.open("rb+") as there, new.open("rb") as source:
            while old := there.read(_CHUNK):
                if source.read(len(old)) != old:
                    return False
            shutil.copyfileobj(source, there, _CHUNK)
    except FileNotFoundError:
        return False
    return True
