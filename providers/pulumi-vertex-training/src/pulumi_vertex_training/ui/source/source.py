"""The emulator that the dashboard shows, which may be stopped and started again while a page is open."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.views import target
from pulumi_vertex_training.views.target import Choice
from vertex_emulator import machine_clock

KNOWN_SECONDS = 1.0
"""Seconds for which an address counts as known. An emulator that is started again may have another one."""


class Source:
    """Finds the endpoint of the running emulator. Safe for threads."""

    def __init__(
        self,
        choice: Choice,
        *,
        resolve: Callable[[Choice], Endpoint] = target.resolve,
        clock: Callable[[], float] = machine_clock.monotonic,
    ) -> None:
        self._choice = choice
        self._resolve = resolve
        self._clock = clock
        self._lock = threading.Lock()
        self._known: Endpoint | None = None
        self._since = 0.0

    @property
    def is_emulator(self) -> bool:
        """Return whether it shows the emulator, else Google Cloud."""
        return self._choice.kind != "google"

    def endpoint(self) -> Endpoint:
        """Return the endpoint. Raises CommandError while the emulator is not running."""
        with self._lock:
            if self._known is None or self._clock() - self._since >= KNOWN_SECONDS:
                self._known = None
                self._known = self._resolve(self._choice)
                self._since = self._clock()
            return self._known
