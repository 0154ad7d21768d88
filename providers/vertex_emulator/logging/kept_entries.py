"""Written log entries in an archive of the emulator's state: one document with a line for each entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.logging.written_entries import WrittenEntries, read_entries
from vertex_emulator.vertex.kept import Document

_BATCH = 500


class KeptEntries:
    """All entries of all projects."""

    folder = "logEntries"

    def __init__(self, written: WrittenEntries, clock: Clock) -> None:
        self._written = written
        self._clock = clock

    def documents(self) -> Iterator[tuple[Document, Iterable[Document]]]:
        """One, or none where nobody wrote an entry."""
        count = self._written.count()
        if count:
            yield {"entries": count}, self._written.everywhere()

    def restored(self, _: Document) -> RestoredEntries:
        return RestoredEntries(self._written, self._clock)


class RestoredEntries:
    """The entries of an archive. One that is there already, by log, time and insert id, is there once."""

    name = "log entries"
    key = ""
    ended = False

    def __init__(self, written: WrittenEntries, clock: Clock) -> None:
        self._written = written
        self._clock = clock
        self.count = 0

    def take(self, line: Document) -> Document:
        """The entry as it would be written now, received when it was."""
        self.count += 1
        [entry] = read_entries({"entries": [line]}, clock=self._clock)
        received = line.get("receiveTimestamp")
        if not isinstance(received, str):
            raise ValueError("an entry has no receiveTimestamp")
        return {**entry, "receiveTimestamp": times.text(times.parse(received))}

    def check(self) -> None:
        """Nothing is to be looked at together."""

    def is_taken(self) -> bool:
        return False

    def add(self, lines: Iterator[Document]) -> None:
        batch: list[Document] = []
        for line in lines:
            batch.append(line)
            if len(batch) == _BATCH:
                self._written.add(batch)
                batch = []
        self._written.add(batch)
