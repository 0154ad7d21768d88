"""Report how far a training is: small files in the job's output directory, and the watchdog.

`pulumi up`, `vertex-training jobs` and `vertex-training status` read them. The directory is found from the
variables that Vertex AI sets, and written through its mount at ``/gcs``.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import os
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .paths import gcs_path
from .variables import from_environment
from .watchdog import Watchdog, checked, seconds_of

__all__ = [
    "REPLICAS_FOLDER",
    "REPORT_FILE",
    "Reporter",
    "note_start",
    "replica_path",
    "report",
    "report_path",
    "set_stall_timeout",
]

REPORT_FILE = "vertex_cluster_progress.json"
"""Name of the chief's file in the job's output directory."""

REPLICAS_FOLDER = "vertex_cluster_replicas"
"""Name of the folder with a file for each replica of a job that has several: ``workerpool1-0.json``."""

_FOLDERS = {"AIP_MODEL_DIR": "model", "AIP_CHECKPOINT_DIR": "checkpoints", "AIP_TENSORBOARD_LOG_DIR": "logs"}
_LEAST_SECONDS = 1.0
_LEAST_SECONDS_OF_A_REPLICA = 15.0
_SHARE_OF_TIME = 0.05
_EXIT_SECONDS = 10.0

_log = logging.getLogger("vertex_cluster")


def report(*, step: Any = None, total: Any = None, **metrics: Any) -> None:
    """Report the training's step, its number of steps, and metrics. Never raises, and returns at once.

        vertex_cluster.report(step=epoch, total=epochs, loss=loss, accuracy=accuracy)

    Every value is a number, or converts to one by ``float``, such as a tensor of one element. The last
    report of about a second is written in the background, and the last of all when Python exits.

    Call it on each replica. What `pulumi up` shows is the chief's report, and of its local processes the
    first one's (``LOCAL_RANK``). Of the others it has the step alone, to find one that is far behind. Outside
    a job that has an output directory, nothing is written.

    With a stall timeout (`set_stall_timeout`), each report also winds up the watchdog of its process.
    """
    try:
        _process().report(step, total, metrics)
    except Exception as error:  # a report must never end a training
        _log.warning("the progress is not reported: %s", error)


def set_stall_timeout(seconds: Optional[float]) -> None:
    """End this process if it reports nothing for so many seconds; None watches it no more.

        vertex_cluster.set_stall_timeout(600)

    It replaces the `stall_timeout` of the job (docs/guides/frameworks/hangs.md), from the next `report`
    on. It is not kept across a fork. Raises ValueError for less than a second.
    """
    _process().set_stall_timeout(seconds)


_start: Dict[str, int] = {}


def note_start(*, resumed_from: int, attempt: int) -> None:
    """Add to the reports of this process from which step its training resumed, and at which start of the job.

    `vertex_cluster.checkpoints` calls it.
    """
    _start.update(resumedFrom=resumed_from, attempt=attempt)


def report_path(environ: Mapping[str, str]) -> Optional[str]:
    """Return the path of the file that this process writes, or None if it writes none.

    The file of a trial of a tuning job is in the trial's directory. Raises ClusterError and ValueError for
    variables that cannot be read.
    """
    directory = _directory(environ)
    return directory + REPORT_FILE if directory and from_environment(environ).is_chief else None


def replica_path(environ: Mapping[str, str]) -> Optional[str]:
    """Return the path of this replica's own file, or None for a job of one replica and where none is written.

    Raises ClusterError and ValueError for variables that cannot be read.
    """
    directory = _directory(environ)
    cluster = from_environment(environ)
    if not directory or sum(map(len, cluster.pools)) < 2:
        return None
    return f"{directory}{REPLICAS_FOLDER}/{cluster.name}.json"


def _directory(environ: Mapping[str, str]) -> Optional[str]:
    """Return the path of the output directory, with a slash; None in all but one process of a machine."""
    if environ.get("LOCAL_RANK", "0") != "0":
        return None
    for variable, folder in _FOLDERS.items():
        location = environ.get(variable, "").rstrip("/")
        if location.endswith("/" + folder):
            return gcs_path(location[: -len(folder)])
    return None


class History:
    """The metrics of all reports; of many, every second, fourth, ... one, and always the latest."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._every = 1
        self._count = 0
        self._kept: List[Dict[str, Any]] = []
        self._latest: Optional[Dict[str, Any]] = None

    def add(self, step: Optional[float], metrics: Mapping[str, Any]) -> None:
        """Add the metrics of a report, with the present time in seconds since 1970 (`at`)."""
        if not metrics:
            return
        self._latest = {"step": step, "metrics": metrics, "at": round(time.time(), 1)}
        if self._count % self._every == 0:
            self._kept.append(self._latest)
            if len(self._kept) >= self._most:
                self._kept = self._kept[::2]
                self._every *= 2
        self._count += 1

    def all(self) -> List[Dict[str, Any]]:
        """Return the reports that are kept, and the latest one."""
        if self._latest is None or (self._kept and self._kept[-1] is self._latest):
            return list(self._kept)
        return [*self._kept, self._latest]


class _NotFinite:
    """The metrics whose latest value is NaN or infinite: since which step, and their last finite value."""

    def __init__(self) -> None:
        self._finite: Dict[str, Dict[str, Any]] = {}
        self._since: Dict[str, Dict[str, Any]] = {}

    def add(self, step: Optional[float], metrics: Mapping[str, Any]) -> Dict[str, Dict[str, Any]]:
        """Add the metrics of a report. Return the metrics that are not finite now."""
        for name, value in metrics.items():
            if not isinstance(value, str):
                self._finite[name] = {"lastStep": step, "lastValue": value}
                self._since.pop(name, None)
            elif self._since.get(name, {}).get("value") != value:
                self._since[name] = {"value": value, "since": step, **self._finite.get(name, {})}
        return dict(self._since)


class Reporter:
    """Write the latest report to a file, in a thread, and at most a twentieth of the time."""

    def __init__(self, path: Optional[str], *, least_seconds: float = _LEAST_SECONDS) -> None:
        """`path` is the file, or None if nothing is to be written. `least_seconds` are between two writes."""
        self._path = path
        self._least_seconds = least_seconds
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._latest: Optional[Dict[str, Any]] = None
        self._history = History()
        self._not_finite = _NotFinite()
        self._first: Optional[Tuple[float, float, Optional[float]]] = None
        self._step = -math.inf
        self._thread: Optional[threading.Thread] = None
        self._warned = False

    def add(self, step: Any, total: Any, metrics: Mapping[str, Any]) -> None:
        """Replace the report that is to be written. Raises TypeError, ValueError if one is no number."""
        if self._path is None:
            return
        document = self._document(_number(step), _number(total), metrics)
        with self._changed:
            self._history.add(document["step"], document["metrics"])
            document["notFinite"] = self._not_finite.add(document["step"], document["metrics"])
            self._latest = document
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vertex_cluster.report", daemon=True)
                self._thread.start()
                atexit.register(self.flush)
            self._changed.notify()

    def flush(self) -> None:
        """Write a report that is not written yet. Waits a few seconds for a write that does not end."""
        if self._writing.acquire(timeout=_EXIT_SECONDS):
            try:
                self._write()
            finally:
                self._writing.release()

    def _document(
        self, step: Optional[float], total: Optional[float], metrics: Mapping[str, Any]
    ) -> Dict[str, Any]:
        now = time.monotonic()
        pace = None
        if step is not None:
            # After a restart of the count, as in a second phase, the pace is measured again.
            if self._first is None or step < self._step or total != self._first[2]:
                self._first = (step, now, total)
            self._step = step
            if step > self._first[0]:
                pace = (now - self._first[1]) / (step - self._first[0])
        values = {name: _metric(value) for name, value in metrics.items()}
        return {
            "step": step,
            "total": total,
            "metrics": {name: value for name, value in values.items() if value is not None},
            "time": datetime.now(timezone.utc).isoformat(),
            "secondsPerStep": pace,
            **_start,
        }

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._latest is None:
                    self._changed.wait()
            began = time.monotonic()
            with self._writing:
                self._write()
            time.sleep(max(self._least_seconds, (time.monotonic() - began) / _SHARE_OF_TIME))

    def _write(self) -> None:
        with self._changed:
            document, self._latest = self._latest, None
            if document is None or self._path is None:
                return
            document["history"] = self._history.all()
        # In one folder, and with a rename, so that a reader never sees a part of it.
        target = Path(self._path)
        partial = target.with_name(target.name + ".part")
        try:
            try:
                partial.write_text(json.dumps(document), encoding="utf-8")
            except FileNotFoundError:  # the first one: each look for the folder would be a request at /gcs
                target.parent.mkdir(parents=True, exist_ok=True)
                partial.write_text(json.dumps(document), encoding="utf-8")
            partial.replace(target)
        except OSError as error:
            if not self._warned:
                self._warned = True
                _log.warning("the progress cannot be written to %s: %s", self._path, error)


def _number(value: Any) -> Optional[float]:
    """Return a finite number, or None. A whole number stays one."""
    if value is None:
        return None
    number = value if isinstance(value, int) else float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def _metric(value: Any) -> Any:
    """Return a finite number, None, or for a value that is not finite its name in JavaScript: JSON has none.

    Readers of earlier versions pass over these texts.
    """
    number = value if value is None or isinstance(value, int) else float(value)
    if number is None or math.isfinite(number):
        return _number(number)
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


class _Process:
    """The reporters and the watchdog of a process: the chief has a file more than the others."""

    def __init__(self) -> None:
        self._chief = Reporter(None)
        self._replica = Reporter(None)
        self._watchdog: Optional[Watchdog] = None

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Begin as the variables say. Raises ClusterError and ValueError for those that cannot be read."""
        seconds = seconds_of(environ)
        self._watchdog = Watchdog(seconds) if seconds else None
        self._chief = Reporter(report_path(environ))
        self._replica = Reporter(replica_path(environ), least_seconds=_LEAST_SECONDS_OF_A_REPLICA)

    def report(self, step: Any, total: Any, metrics: Mapping[str, Any]) -> None:
        if self._watchdog is not None:
            self._watchdog.reported(_number_or_none(step))
        self._chief.add(step, total, metrics)
        self._replica.add(step, total, {})

    def set_stall_timeout(self, seconds: Optional[float]) -> None:
        watchdog = None if seconds is None else Watchdog(checked(seconds))
        if self._watchdog is not None:
            self._watchdog.stop()
        self._watchdog = watchdog


def _number_or_none(value: Any) -> Optional[float]:
    try:
        return _number(value)
    except (TypeError, ValueError):
        return None


_processes: Dict[int, _Process] = {}
_making = threading.Lock()


def _process() -> _Process:
    """Return what reports in this process: a fork has no thread of its parent's."""
    process = os.getpid()
    with _making:
        if process not in _processes:
            _processes[process] = _Process()
            try:
                _processes[process].read_environment(os.environ)
            except ValueError as error:  # one warning is enough
                _log.warning("the progress is not reported: %s", error)
        return _processes[process]
