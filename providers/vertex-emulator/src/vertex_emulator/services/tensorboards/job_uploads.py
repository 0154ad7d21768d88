"""The scalars of custom jobs in their tensorboards.

A job with `tensorboard` writes event files into AIP_TENSORBOARD_LOG_DIR. The emulator adds their scalars to
the tensorboard's experiment that has the id of the job: whenever a client reads tensorboards, and when the
job ends. Each folder with event files is a run.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.services.resource_engine.names import name_of, new_id
from vertex_emulator.services.resource_engine.records import Record, Records
from vertex_emulator.services.resource_engine.versions import Stamps
from vertex_emulator.services.tensorboards import event_files
from vertex_emulator.services.tensorboards.event_files import Part, Scalar
from vertex_emulator.services.tensorboards.store import POINT, TensorboardStore
from vertex_emulator.services.tensorboards.time_series import PointMethods
from vertex_training.fields import uris

log = logging.getLogger(__name__)

_ENDED = (
    """
    CREATE TABLE tensorboard_uploads (
        job TEXT PRIMARY KEY,
        tensorboard TEXT NOT NULL,
        folder TEXT NOT NULL
    );
    """,
)
"""The jobs that have ended, and whose last scalars are not in their tensorboard yet."""

_LOGS = "logs"
_DEFAULT_RUN = "default"
"""The run of the event files that are not in a folder of their own."""

_NOT_IN_IDS = re.compile(r"[^a-z0-9-]+")
_BATCH = 5000
_SCALAR = 1


class JobUploads:
    """Uploads the scalars of all jobs of one emulator; `live` returns the custom jobs that have not ended."""

    def __init__(
        self,
        store: TensorboardStore,
        points: PointMethods,
        stamps: Stamps,
        database: Database,
        scheduler: Scheduler,
        *,
        buckets_dir: Path,
        live: Callable[[], Iterable[Record]],
    ) -> None:
        self._store = store
        self._points = points
        self._stamps = stamps
        self._database = database
        self._buckets_dir = buckets_dir
        self._live = live
        self._lock = threading.Lock()
        self._read: dict[Path, Part] = {}
        """The part of each event file of a live job that was uploaded last."""
        database.migrate("tensorboard uploads", _ENDED)
        self._task = scheduler.add("uploads to tensorboards", self._upload_ended)

    def ended(self, job: Record) -> None:
        """Upload the last scalars of a job that has just ended. It joins the transaction of the end."""
        spec = job.message.job_spec
        if spec.tensorboard:
            self._database.execute(
                "INSERT OR REPLACE INTO tensorboard_uploads (job, tensorboard, folder) VALUES (?, ?, ?)",
                (job.name, spec.tensorboard, spec.base_output_directory.output_uri_prefix),
            )
            self._task.wake()

    def refresh(self) -> None:
        """Upload what live jobs have written, before a client reads tensorboards."""
        for job in self._live():
            spec = job.message.job_spec
            if spec.tensorboard:
                self._upload(job.name, spec.tensorboard, spec.base_output_directory.output_uri_prefix)
        self._upload_ended()

    def clear(self) -> None:
        """Forget the jobs that have ended."""
        self._database.execute("DELETE FROM tensorboard_uploads")

    def _upload_ended(self) -> Next:
        with self._database.transaction() as connection:  # waits for the transaction that calls `ended`
            rows = connection.execute("SELECT job, tensorboard, folder FROM tensorboard_uploads").fetchall()
        for row in rows:
            self._upload(row["job"], row["tensorboard"], row["folder"])
            self._database.execute("DELETE FROM tensorboard_uploads WHERE job = ?", (row["job"],))
            self._forget(row["folder"])
        return Next()

    def _forget(self, directory: str) -> None:
        """Drop the positions in the event files of a job that has ended."""
        folder = self._folder(directory)
        with self._lock:
            for path in [each for each in self._read if folder is None or each.is_relative_to(folder)]:
                del self._read[path]

    def _upload(self, job: str, tensorboard: str, directory: str) -> None:
        folder = self._folder(directory)
        if folder is None:
            return
        try:
            board = self._store.tensorboards.lookup(tensorboard)
        except RpcError:
            return  # the job's log says that it does not exist
        with self._lock:
            experiment = self._ensure(self._store.experiments, board, job.rpartition("/")[2], "", source=job)
            for path in _event_files(folder):
                with suppress(OSError):  # removed meanwhile
                    self._upload_file(experiment, path, _run_name(path, folder))

    def _upload_file(self, experiment: Record, path: Path, run_name: str) -> None:
        part = event_files.read(path, after=self._read.get(path))
        if part.scalars:
            with self._store.runs.transaction():
                run_id = _NOT_IN_IDS.sub("-", run_name.lower()).strip("-")[:128].strip("-") or _DEFAULT_RUN
                run = self._ensure(self._store.runs, experiment, run_id, run_name)
                self._write(run, part.scalars)
        self._read[path] = replace(part, scalars=())

    def _write(self, run: Record, scalars: Iterable[Scalar]) -> None:
        by_tag: dict[str, list[Any]] = {}
        for scalar in scalars:
            by_tag.setdefault(scalar.tag, []).append(_point(scalar))
        known = {each.message.display_name: each for each in self._store.time_series.below(run)}
        for tag, points in by_tag.items():
            series = known.get(tag) or self._ensure(
                self._store.time_series, run, new_id(), tag, value_type=_SCALAR, plugin_name="scalars"
            )
            if series.message.value_type == _SCALAR:
                for start in range(0, len(points), _BATCH):
                    self._points.add_points(series, points[start : start + _BATCH])

    def _ensure(
        self, records: Records, parent: Record, resource_id: str, display_name: str, **fields: object
    ) -> Record:
        path = records.child(parent, resource_id)
        found = records.get(parent.place, path)
        if found is None:
            made = descriptors.message(records.collection.message)
            made.name = name_of(parent.place, records.collection.id, path)
            made.display_name = display_name or resource_id
            for name, value in fields.items():
                setattr(made, name, value)
            self._stamps.begin(made)
            with suppress(sqlite3.IntegrityError):  # a client has created it meanwhile
                records.insert(parent.place, path, made)
            found = records.lookup(made.name)
        return found

    def _folder(self, directory: str) -> Path | None:
        """Return the folder of the event files below an output directory, unless it is not a plain folder."""
        try:
            address = uris.parse(directory)
        except ValueError:
            return None
        folder = self._buckets_dir
        for part in (address.bucket, *filter(None, address.name.split("/")), _LOGS):
            folder = folder / part
            if part in (".", "..") or folder.is_symlink() or not folder.is_dir():
                return None
        return folder


def _event_files(folder: Path) -> Iterator[Path]:
    """Yield the event files below a folder, without links to files elsewhere."""
    for found, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(filter(event_files.is_event_file, files)):
            path = Path(found, name)
            if not path.is_symlink():
                yield path


def _run_name(path: Path, folder: Path) -> str:
    name = path.parent.relative_to(folder).as_posix()
    return _DEFAULT_RUN if name == "." else name


def _point(scalar: Scalar) -> DynamicMessage:
    point = descriptors.message(POINT)
    point.step = scalar.step
    point.wall_time.FromMicroseconds(max(int(scalar.wall_time * 1e6), 0))
    point.scalar.value = scalar.value
    return point
