"""The entries that arrive while a client waits for them (TailLogEntries)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vertex_emulator.job_folder import logs
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.logging import query as logging_query
from vertex_emulator.logging.entries import LogSource, Query, Sources, document_of
from vertex_emulator.logging.written_entries import WrittenEntries
from vertex_emulator.rpc import filters


class Tail:
    """The entries since the last look, in the logs that a query names."""

    def __init__(self, query: Query, sources: Sources, written: WrittenEntries) -> None:
        self._query = query
        self._sources = sources
        self._written = written
        self._last = written.last()
        self._read_until = {path: path.stat().st_size for _, path in self._files()}

    def new(self) -> list[dict[str, Any]]:
        """Return the entries in the API's JSON since the last call, in the order of their times."""
        found, self._last = self._written.read_new(self._query.projects, self._last)
        for source, path in self._files():
            entries, end = logs.read_new(path, self._read_until.get(path, 0))
            self._read_until[path] = end
            found += [document_of(source, entry) for entry in entries]
        matching = [
            document
            for document in found
            if filters.matches(self._query.expression, logging_query.predicate_of(document))
        ]
        return sorted(matching, key=lambda document: (document["timestamp"], document["insertId"]))

    def _files(self) -> Iterator[tuple[LogSource, Path]]:
        job_id = filters.required(self._query.expression, "resource.labels.job_id")
        for source in self._sources(job_id):
            if project_number(source.project) in self._query.projects:
                yield from ((source, path) for path in sorted(source.folder.glob("*.jsonl")))
