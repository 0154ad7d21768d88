"""The latest reports of a run while a deployment waits for it, read in a thread that nothing waits for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError
from pulumi_vertex_training.cloud.jobs import JobRecord
from pulumi_vertex_training.runs.gateway import gateway_of
from pulumi_vertex_training.runs.monitoring.progress import Report, latest_report, warnings_of
from pulumi_vertex_training.runs.monitoring.replica_reports import Straggler, stragglers_of
from vertex_emulator import machine_clock

_LOCAL_SECONDS_BETWEEN_READS, _CLOUD_SECONDS_BETWEEN_READS = 1.0, 15.0


class LatestReports:
    """The latest report of a run, and the replicas that are behind. Errors are passed over."""

    def __init__(self, base_output_directory: str | None) -> None:
        self._directory = base_output_directory
        self._latest: Report | None = None
        self.stragglers: Sequence[Straggler] = ()
        self._thread: threading.Thread | None = None
        self._due = 0.0
        self._warnings: dict[str, str] = {}
        self._warned: set[str] = set()

    def latest(self, endpoint: Endpoint, record: JobRecord) -> Report | None:
        """Return what was read last. Begin to read again if that is due."""
        now = machine_clock.monotonic()
        reads = self._thread is not None and self._thread.is_alive()
        if self._directory and now >= self._due and not reads:
            local = endpoint.is_emulator
            self._due = now + (_LOCAL_SECONDS_BETWEEN_READS if local else _CLOUD_SECONDS_BETWEEN_READS)
            # A daemon: a read without an answer must not hold up the end of the deployment.
            self._thread = threading.Thread(target=self._read, args=(endpoint, record), daemon=True)
            self._thread.start()
        return self._latest

    def new_warnings(self, endpoint: Endpoint, record: JobRecord) -> list[str]:
        """Return a sentence for each metric that is not finite, once for a metric.

        The report of a job that has ended is read once more, if it was read while the job was live.
        """
        if record.state.is_terminal and self._thread is not None:
            with contextlib.suppress(CloudError):
                self._read_report(endpoint)
        new = {metric: words for metric, words in self._warnings.copy().items() if metric not in self._warned}
        self._warned |= set(new)
        return list(new.values())

    def _read(self, endpoint: Endpoint, record: JobRecord) -> None:
        with contextlib.suppress(CloudError):
            self._read_report(endpoint)
            if self._latest is not None or gateway_of(record.name).trials(record):
                self.stragglers = stragglers_of(endpoint, record, self._directory)

    def _read_report(self, endpoint: Endpoint) -> None:
        if (found := latest_report(endpoint, self._directory)) is not None:
            self._latest = found
            self._warnings.update(warnings_of(found))
