"""What Pulumi's engine does with the resources of one stack, in this process, with a kill at any point of it.

It calls the providers in the order in which the engine calls them, and records after each step; the points at
which it can be killed are before and after each request to a service, and before each record. A trial takes
milliseconds, so every point of an operation can be tried. That the real engine does the same is shown by
`tests/engine`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from pulumi.dynamic import ResourceProvider

from pulumi_vertex_training.plugin import PLUGIN
from vertex_training.cloud import rest


class Killed(BaseException):
    """The deployment and its provider process are gone."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A resource of the program."""

    name: str
    provider: ResourceProvider
    inputs: Mapping[str, Any]
    delete_before_replace: bool = False


@dataclass(kw_only=True)
class Entry:
    """A resource of the state. `deletes`: another one has replaced it, and it is yet to be deleted;
    `replaced`: it is deleted, and what replaces it is yet to be made."""

    name: str
    provider: ResourceProvider
    id: str
    inputs: dict[str, Any]
    outs: dict[str, Any]
    deletes: bool = False
    replaced: bool = False


@dataclass
class SmallEngine:
    """One stack. `config` is what its configuration has."""

    config: Mapping[str, str]
    entries: list[Entry] = field(default_factory=list)
    points: int = 0
    """How many points were passed since the operation's begin."""
    _dies_at: int | None = None

    def up(self, program: Sequence[Declared], *, replace: Collection[str] = ()) -> int:
        """A deployment; how many resources it made, changed or deleted."""
        done = 0
        self._begin()
        for declared in program:
            done += self._register(declared, forced=declared.name in replace)
        names = {declared.name for declared in program}
        for entry in reversed(list(self.entries)):
            if entry.deletes or entry.name not in names:
                self._delete(entry)
                self.entries.remove(entry)
                done += 1
        return done

    def destroy(self) -> None:
        """Everything goes, the newest first."""
        self._begin()
        for entry in reversed(list(self.entries)):
            if not entry.replaced:
                self._delete(entry)
            self.entries.remove(entry)

    def refresh(self) -> bool:
        """Read everything; whether the state had it as it is."""
        self._begin()
        same = True
        for entry in list(self.entries):
            found = entry.provider.read(entry.id, copy.deepcopy(entry.outs))
            if found.id is None:
                self.entries.remove(entry)
                same = False
            elif found.outs != entry.outs:
                entry.outs, same = copy.deepcopy(found.outs or {}), False
        return same

    @contextmanager
    def dying(self, at: int, patch: pytest.MonkeyPatch) -> Iterator[None]:
        """Within it, the operation is killed at that point."""
        send = rest._send

        def watched(*arguments: Any) -> rest.Json:
            self.point()
            answer = send(*arguments)
            self.point()
            return answer

        with patch.context() as within:
            within.setattr(rest, "_send", watched)
            self._dies_at = at
            try:
                yield
            finally:
                self._dies_at = None

    def point(self) -> None:
        """A point at which it may be killed."""
        if self._dies_at is not None and self.points == self._dies_at:
            raise Killed
        self.points += 1

    def living(self) -> list[Entry]:
        """What the state has of resources that are declared."""
        return [entry for entry in self.entries if not (entry.deletes or entry.replaced)]

    def _begin(self) -> None:
        """A provider process of its own: nothing is remembered."""
        PLUGIN.__init__()  # type: ignore[misc]
        PLUGIN.configure(self.config.get)
        self.points = 0

    def _register(self, declared: Declared, *, forced: bool) -> int:
        old = next((one for one in self.entries if one.name == declared.name and not one.deletes), None)
        provider = declared.provider
        inputs = self._checked(declared, {} if old is None else old.inputs)
        if old is None:
            self.entries.append(self._made(declared, inputs))
            return 1
        before = declared.delete_before_replace
        replaces = forced
        if not forced:
            found = provider.diff(old.id, copy.deepcopy(old.outs), copy.deepcopy(inputs))
            replaces, before = bool(found.replaces), before or bool(found.delete_before_replace)
            if not replaces and not old.replaced:
                if not found.changes:
                    old.inputs = inputs
                    return 0
                outs = provider.update(old.id, copy.deepcopy(old.outs), copy.deepcopy(inputs)).outs
                self.point()
                old.inputs, old.outs = inputs, copy.deepcopy(outs or {})
                return 1
        inputs = self._checked(declared, {})
        if before:
            if not old.replaced:
                self._delete(old)
                old.replaced = True
            made = self._made(declared, inputs)
            self.entries[self.entries.index(old)] = made
        else:
            made = self._made(declared, inputs)
            old.deletes = True
            self.entries.append(made)
        return 1

    def _checked(self, declared: Declared, olds: dict[str, Any]) -> dict[str, Any]:
        found = declared.provider.check(copy.deepcopy(olds), copy.deepcopy(dict(declared.inputs)))
        assert not found.failures, [failure.reason for failure in found.failures]
        return copy.deepcopy(found.inputs)

    def _made(self, declared: Declared, inputs: dict[str, Any]) -> Entry:
        created = declared.provider.create(copy.deepcopy(inputs))
        self.point()
        return Entry(
            name=declared.name,
            provider=declared.provider,
            id=created.id,
            inputs=inputs,
            outs=copy.deepcopy(created.outs or {}),
        )

    def _delete(self, entry: Entry) -> None:
        entry.provider.delete(entry.id, copy.deepcopy(entry.outs))
        self.point()


Interrupted = Callable[[], object]


def kills(engine: SmallEngine, operation: Interrupted, at: int, patch: pytest.MonkeyPatch) -> bool:
    """Whether the operation came to the point and was killed there."""
    with engine.dying(at, patch):
        try:
            operation()
        except Killed:
            return True
    return False
