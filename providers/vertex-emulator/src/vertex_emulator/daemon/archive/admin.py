"""The emulator's own calls `/_local/export`, `/_local/import` and `/_local/reset`."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import BinaryIO, cast

from vertex_emulator.jobs.custom.all_jobs import AllJobs
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.server.http.auth import IMPORT
from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import FileRange, HttpError, Request, Response, Route, json_response
from vertex_emulator.services.container_registry.registry import Registry
from vertex_emulator.services.storage.disk.object_store import ObjectStore

TYPE = "application/x-tar"


class StateAdmin:
    """The handlers, of which one runs at a time. `forget` drops the settings of tests elsewhere."""

    def __init__(
        self,
        database: Database,
        jobs: AllJobs,
        object_store: ObjectStore,
        registry: Registry,
        clear_repositories: Callable[[], None],
        clock: Clock,
        *,
        version: str,
        forget: Callable[[], None],
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._object_store = object_store
        self._registry = registry
        self._clear_repositories = clear_repositories
        self._clock = clock
        self._version = version
        self._forget = forget
        self._lock = threading.Lock()

    def routes(self) -> Sequence[Route]:
        """Return the routes of the three calls."""
        return (
            Route("GET", "/_local/export", self._export),
            Route("POST", re.escape(IMPORT), self._import),
            Route("POST", "/_local/reset", self._reset),
        )

    def _export(self, _request: Request, _match: re.Match[str]) -> Response:
        # Imported at the first call, because tests wait for the emulator's start.
        from vertex_emulator.daemon.archive.export import export

        # A file without a name, of which nothing remains even if the process is killed.
        folder = self._object_store.files.folder.incoming
        file = cast(BinaryIO, tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - closed once it is sent
        try:
            with self._lock:
                export(
                    file,
                    database=self._database,
                    jobs=self._jobs,
                    object_store=self._object_store,
                    registry=self._registry,
                    version=self._version,
                )
            size = file.seek(0, os.SEEK_END)
            return Response(200, FileRange(file=file, start=0, length=size), TYPE)
        except BaseException:
            file.close()
            raise

    def _import(self, request: Request, _match: re.Match[str]) -> Response:
        from vertex_emulator.daemon.archive.importing import import_state

        with self._lock:
            added = import_state(
                request.body,
                database=self._database,
                jobs=self._jobs,
                object_store=self._object_store,
                registry=self._registry,
                clock=self._clock,
            )
        return json_response(added)

    def _reset(self, request: Request, _match: re.Match[str]) -> Response:
        body_of(request)
        with self._lock:
            self._forget()
            try:
                self._jobs.remove_all()
            except TimeoutError as error:
                raise HttpError(503, "", f"Nothing was removed: {error}. Reset it again.") from error
            self._object_store.remove_all()
            self._clear_repositories()
            self._registry.remove_all()
        return json_response({})
