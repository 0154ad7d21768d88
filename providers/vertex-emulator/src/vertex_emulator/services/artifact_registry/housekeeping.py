"""Run cleanup policies once a day of the emulator's clock, each repository at its own time.

The service's background job "runs periodically", and changes "take effect within approximately one day"
("Configure cleanup policies"). The emulator runs policies exactly one day after they were set, then daily.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from vertex_emulator.kernel.scheduler import Next, Scheduler
from vertex_emulator.server.rpc.descriptors import DynamicMessage
from vertex_emulator.services.artifact_registry import cleanup
from vertex_emulator.services.artifact_registry.backend import Backend, has_images, has_immutable_tags
from vertex_emulator.services.artifact_registry.store import Record

log = logging.getLogger(__name__)

PERIOD = 24 * 3600 * 1_000_000
"""Time between two cleanups of a repository, in microseconds."""


class Housekeeping:
    """The scheduled cleanup of all repositories that have cleanup policies."""

    def __init__(self, backend: Backend, scheduler: Scheduler) -> None:
        self._backend = backend
        self._task = scheduler.add("cleanup policies", self._due)

    def wake(self) -> None:
        """Look again for the next cleanup, after policies have changed."""
        self._task.wake()

    @contextmanager
    def clock_changing(self, jump: int) -> Iterator[None]:
        """Move all cleanups by `jump` microseconds once the context's body has set the clock.

        Setting the clock changes the time of day, but no time passes for the policies.
        """
        yield
        if jump:
            self._backend.store.move_cleanups(jump)

    @staticmethod
    def first_cleanup(repository: DynamicMessage, *, now: int) -> int | None:
        """Return the time of the first cleanup with new policies, or None if there are no policies."""
        return now + PERIOD if repository.cleanup_policies else None

    def clean(self, record: Record) -> tuple[cleanup.Deletion, ...]:
        """Run the cleanup policies of a repository now. With a dry run, only log what they would delete."""
        with self._backend.contents.transaction():
            versions = self._decide(record)
            if not record.repository.cleanup_policy_dry_run:
                for each in versions:
                    self._backend.contents.remove_version(
                        record.name, each.version.package, each.version.name
                    )
        verb = "would delete" if record.repository.cleanup_policy_dry_run else "deletes"
        for each in versions:
            version = each.version
            log.info("%s: policy %s %s %s@%s", record.name, each.policy, verb, version.package, version.name)
        return versions

    def _due(self) -> Next:
        now = self._backend.clock.microseconds()
        for record in self._backend.store.due(now):
            self.clean(record)
            self._backend.store.set_cleanup_at(record.name, now + PERIOD)
        return Next(at=self._backend.store.next_due())

    def _decide(self, record: Record) -> tuple[cleanup.Deletion, ...]:
        if not has_images(record):
            return ()
        versions = [
            cleanup.Version(
                package=each.package,
                name=each.digest,
                created=each.created,
                tags=tuple(tag.tag for tag in each.tags),
                parents=each.parents,
            )
            for each in self._backend.contents.all_versions(record.name)
        ]
        return cleanup.deletions(
            cleanup.read(record.repository.cleanup_policies),
            versions,
            now=self._backend.clock.microseconds(),
            immutable_tags=has_immutable_tags(record),
        )
