"""Persistent resources in an archive of the emulator's state: imported, they run, and nothing is used."""

from __future__ import annotations

from vertex_emulator.kernel import times
from vertex_emulator.kernel.clock import Clock
from vertex_emulator.persistent_resources import checks, fit, resources
from vertex_emulator.vertex.kept import Document, KeptRecords, RestoredRecord
from vertex_emulator.vertex.records import Records


class KeptPersistentResources(KeptRecords):
    """All persistent resources."""

    def __init__(self, records: Records, clock: Clock) -> None:
        super().__init__(records)
        self._clock = clock

    def restored(self, document: Document) -> RestoredPersistentResource:
        return RestoredPersistentResource(self._records, document, at=times.now(self._clock))


class RestoredPersistentResource(RestoredRecord):
    """One persistent resource; what it was on its way to at its export is not carried out."""

    ids_everywhere = False

    def __init__(self, records: Records, document: Document, *, at: str) -> None:
        super().__init__(records, document)
        fit.settle(self.message, {})
        checks.check_new(self.id, self.message, allow_unknown_types=True)
        resources.fill_in(self.message)
        if self.state not in resources.STATES:
            raise ValueError(f"no persistent resource comes into the state {self.state} here")
        if self.state not in (resources.RUNNING, resources.ERROR):
            resources.enter(self.message, resources.RUNNING, at=at)

    def is_id(self, text: str) -> bool:
        return checks.is_id(text)
