"""Cloud Logging: the entries of jobs, and those that programs write. A part beside those of Vertex AI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from vertex_emulator.http.messages import ANY_METHOD, HttpError, Request, Response, Route, json_response
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import Database
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.logging.entries import Sources, list_route, log_name
from vertex_emulator.logging.written_entries import KeptEntries, WrittenEntries, read_entries
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.vertex.kept import Kept
from vertex_emulator.vertex.part import Part


class CloudLogging(Part):
    """The logs of one emulator; `sources` are those of its jobs."""

    def __init__(self, database: Database, clock: Clock, sources: Sources) -> None:
        self._sources = sources
        self._clock = clock
        self._written = WrittenEntries(database)

    def routes(self) -> Sequence[Route]:
        """Entries are listed and written, logs listed; all else is UNIMPLEMENTED by its name."""
        return [
            list_route(self._sources, self._written),
            Route("POST", r"/v2/entries:write", self._write, "logging.entries.write"),
            Route("GET", r"/v2/projects/([^/]+)/logs", self._logs, "logging.logs.list"),
            Route(ANY_METHOD, r"/v2/(entries:[a-zA-Z]+)", _no_method),
            Route(
                ANY_METHOD,
                r"/v2/(projects/[^/]+/(?:logs|sinks|metrics|exclusions|locations)(?:/.*)?)",
                _no_method,
            ),
        ]

    def kept(self) -> Sequence[Kept]:
        """What was written; the jobs' own logs are exported with the jobs."""
        return [KeptEntries(self._written, self._clock)]

    def remove_all(self) -> None:
        """Forget what was written; the jobs' own logs go with the jobs."""
        self._written.remove_all()

    def _write(self, request: Request, _: re.Match[str]) -> Response:
        try:
            entries = read_entries(request.body.json(), clock=self._clock)
        except RpcError as error:
            raise error.http_error() from error
        self._written.add(entries)
        return json_response({})

    def _logs(self, _: Request, match: re.Match[str]) -> Response:
        number = project_number(unquote(match[1]))
        names = {
            log_name(source, path.stem)
            for source in self._sources(None)
            if project_number(source.project) == number
            for path in source.folder.glob("*.jsonl")
        }
        return json_response({"logNames": sorted(names | self._written.log_names(number))})


def _no_method(request: Request, match: re.Match[str]) -> Response:
    raise HttpError(
        501, "UNIMPLEMENTED", f"The emulator does not implement {request.method} /v2/{unquote(match[1])}."
    )
