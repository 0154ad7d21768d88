"""Pulumi's engine for the resources of one stack, in this process, with a kill at any point.

It calls the providers in the order in which the engine calls them, and records after each step. The points at
which it can be killed are before and after each request to a service, and before each record. A trial takes
milliseconds, so all points of an operation can be tried. `tests/engine/stand_ins/test_in_process_engine.py`
shows that the real engine makes the same calls.

It runs real programs (`support.client.in_process.programs`), or takes what one would register. It has no
previews, unknown values, aliases, resource options or provider process: tests of those use the real engine.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pulumi.dynamic import ResourceProvider

from pulumi_vertex_training.cloud import clients
from pulumi_vertex_training.core.interrupted import creation_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.settings import Form, Settings
from pulumi_vertex_training.core.state.entries import StackState
from pulumi_vertex_training.core.state.hidden_input import HIDDEN_INPUT, KEY_INPUT
from pulumi_vertex_training.core.state.running_stack import StateAnswer
from pulumi_vertex_training.runs.identity import identity_of
from support.client.in_process import package_host, programs
from support.in_process.recorded_calls import Call

STACK_KEY = "vertex-training"
"""The name of the record that a stack has beside the declared resources."""
_PACKAGE_KEY = "5eed5eed5eed5eed"
_TARGET = {
    "vertex-training:endpoint": "emulator",
    "vertex-training:project": "local",
    "vertex-training:location": "us-central1",
}
Outputs = Mapping[str, Mapping[str, Any]]
"""The outputs of the registered resources by name, with their ids as `id`."""


class Killed(SystemExit):
    """The deployment and its provider process are killed. Its threads end with it, in silence."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A resource of the program; it follows the resources that its inputs depend on."""

    name: str
    provider: ResourceProvider
    inputs: Mapping[str, Any] | Callable[[Outputs], Mapping[str, Any]]
    delete_before_replace: bool = False


@dataclass(kw_only=True)
class Entry:
    """A resource of the state.

    `deletes`: it has been replaced and is still to be deleted. `replaced`: it is deleted, and its replacement
    is still to be created.
    """

    name: str
    provider: ResourceProvider
    id: str
    inputs: dict[str, Any]
    outs: dict[str, Any]
    deletes: bool = False
    replaced: bool = False

    @property
    def shown(self) -> Mapping[str, Any]:
        """The outputs as a program in Python has them."""
        if isinstance(self.provider, package_host.PackageProvider):
            return self.provider.shown(self.outs)
        return self.outs


Point = int | Callable[[str], bool]
"""A point of an operation: its number, or a predicate of its text.

The texts are `before METHOD URL`, `after METHOD URL` and `before the record of NAME`.
"""


@dataclass
class SmallEngine:
    """One stack with its configuration."""

    config: Mapping[str, str]
    serves_package: bool = False
    """True if the package's providers serve what a program declares. Its stack's key is no resource."""
    entries: list[Entry] = field(default_factory=list)
    points: int = 0
    """The number of points that the operation has passed."""
    pending: dict[str, set[str]] = field(default_factory=dict)
    """The identities in the inputs of creations that began and of which the state has no end, by URN."""
    calls: list[Call] = field(default_factory=list)
    """The calls of providers since `forget_calls`."""
    _dies_at: Point | None = None
    _is_dead: bool = False

    def up(
        self, program: str | Sequence[Declared], *, replace: Collection[str] = (), goes_on: bool = False
    ) -> int:
        """Deploy a program, or what one registers. Return how many resources were created or changed.

        `goes_on`: after a failure, deploy what does not depend on it, as with `--continue-on-error`.
        """
        done = 0
        names = set()
        self._begin()

        def register(declared: Declared) -> tuple[str, Mapping[str, Any]]:
            nonlocal done
            if self.serves_package:
                if declared.name == STACK_KEY:
                    return "", {"key": _PACKAGE_KEY}
                declared = _packaged(declared)
            done += self._register(declared, forced=declared.name in replace)
            names.add(declared.name)
            (entry,) = [one for one in self.live() if one.name == declared.name]
            return entry.id, entry.shown

        if isinstance(program, str):
            self._run(program, register, goes_on=goes_on)
        else:
            for declared in program:
                register(declared)
        for entry in reversed(list(self.entries)):
            if entry.deletes or entry.name not in names:
                if not entry.replaced:
                    self._delete(entry)
                self.entries.remove(entry)
                done += 1
        return done

    def destroy(self, *, goes_on: bool = False) -> None:
        """Delete everything, the newest first; with `goes_on`, the rest after a failure as well."""
        self._begin()
        for entry in reversed(list(self.entries)):
            try:
                if not entry.replaced:
                    self._delete(entry)
            except Exception:
                if not goes_on:
                    raise
                continue
            self.entries.remove(entry)

    def refresh(self) -> bool:
        """Read all resources. Return whether the state was up to date."""
        self._begin()
        same = True
        for entry in list(self.entries):
            found = self._call(entry.name, entry.provider, "read", entry.id, entry.outs)
            if found.id is None:
                self.entries.remove(entry)
                same = False
                continue
            outs = wired(found.outs or {})
            inputs = entry.inputs if found.inputs is None else wired(found.inputs)
            self._call(entry.name, entry.provider, "diff", entry.id, outs, entry.inputs)
            same = same and (outs, inputs) == (entry.outs, entry.inputs)
            entry.outs, entry.inputs = outs, inputs
        return same

    def forget_calls(self) -> list[Call]:
        """Return the calls so far, and forget them."""
        calls, self.calls = self.calls, []
        return calls

    @contextmanager
    def dying(self, at: Point) -> Iterator[None]:
        """Kill the operation inside the block at that point."""

        def watched(request: Any, send: Callable[[], Any]) -> Any:
            self.point(f"before {request.method} {request.url}")
            answer = send()
            try:
                self.point(f"after {request.method} {request.url}")
            except Killed:
                answer.close()
                raise
            return answer

        with clients.middleware(watched):
            self._dies_at = at
            try:
                yield
            finally:
                self._dies_at, self._is_dead = None, False

    def point(self, what: str) -> None:
        """Pass a point at which the engine may be killed; afterwards it requests and records nothing more."""
        at = self._dies_at
        if at is not None and (at(what) if callable(at) else self.points == at):
            self._is_dead = True
        if self._is_dead:
            raise Killed
        self.points += 1

    def live(self) -> list[Entry]:
        """Return the entries of the state that are not being replaced."""
        return [entry for entry in self.entries if not (entry.deletes or entry.replaced)]

    def outputs(self) -> Outputs:
        return {entry.name: {**entry.shown, "id": entry.id} for entry in self.live()}

    def _begin(self) -> None:
        OPERATION.begin()
        OPERATION.configure(self.config.get)
        answer = OPERATION.part(StateAnswer)  # as `pulumi stack export` shows it
        answer.found, answer.forms = self._state(), self._forms()
        self.points = 0

    def _state(self) -> StackState:
        """Return what `pulumi stack export` shows of the state."""
        keys = [str(one.outs.get(HIDDEN_INPUT, {}).get("key", "")) for one in self.entries]
        return StackState(
            ids=frozenset(one.id for one in self.entries),
            identities=frozenset(map(identity_of, keys)),
            begun={urn: frozenset(found) for urn, found in self.pending.items()},
            recorded={
                urn_of(one.name): str(one.outs[HIDDEN_INPUT]["key"])
                for one in self.entries
                if not one.deletes and HIDDEN_INPUT in one.outs
            },
        )

    def _forms(self) -> frozenset[Form]:
        """Return the forms of the resources, which `pulumi stack export` shows too."""
        packaged = (isinstance(one.provider, package_host.PackageProvider) for one in self.entries)
        return frozenset("package" if each else "dynamic" for each in packaged)

    def _run(self, program: str, register: programs.Register, *, goes_on: bool) -> None:
        """Run the program, and delete at its end what interrupted deployments left, as programs do."""
        settings = Settings(data_dir=Path(self.config["vertex-training:dataDir"]))
        begun = creation_notes.begun(settings)
        keys: set[str] = set()

        def keyed(declared: Declared) -> tuple[str, Mapping[str, Any]]:
            assert not callable(declared.inputs)
            keys.add(str(declared.inputs.get(KEY_INPUT)))
            return register(declared)

        programs.run(program, {**_TARGET, **self.config}, keyed, goes_on=goes_on)
        # A program of another language has no end at which it could do this.
        if begun and (stack := self.outputs().get(STACK_KEY)):
            ids = {entry.id for entry in self.live()}
            for note, _ in creation_notes.undeclared(begun, stack["key"], keys, ids):
                creation_notes.remove(note, settings, print)

    def _register(self, declared: Declared, *, forced: bool) -> int:
        old = next((one for one in self.entries if one.name == declared.name and not one.deletes), None)
        provider = declared.provider
        news = wired(declared.inputs(self.outputs()) if callable(declared.inputs) else declared.inputs)
        inputs = self._checked(declared.name, provider, {} if old is None or forced else old.inputs, news)
        if old is None:
            self.entries.append(self._made(declared, inputs))
            return 1
        before = declared.delete_before_replace
        if not forced:
            found = self._call(old.name, provider, "diff", old.id, old.outs, inputs)
            before = before or bool(found.delete_before_replace)
            if not found.replaces and not old.replaced:
                if not found.changes:
                    old.inputs = inputs
                    return 0
                outs = self._call(old.name, provider, "update", old.id, old.outs, inputs).outs
                self.point(f"before the record of {declared.name}")
                old.inputs, old.outs = inputs, wired(outs or {})
                return 1
            inputs = self._checked(declared.name, provider, {}, news)
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

    def _checked(
        self, name: str, provider: ResourceProvider, olds: dict[str, Any], news: dict[str, Any]
    ) -> dict[str, Any]:
        found = self._call(name, provider, "check", olds, news)
        assert not found.failures, [failure.reason for failure in found.failures]
        return wired(found.inputs)

    def _made(self, declared: Declared, inputs: dict[str, Any]) -> Entry:
        begun = str(inputs.get(HIDDEN_INPUT, {}).get("identity"))
        self.pending.setdefault(urn_of(declared.name), set()).add(begun)
        created = self._call(declared.name, declared.provider, "create", inputs)
        self.point(f"before the record of {declared.name}")
        self.pending[urn_of(declared.name)].discard(begun)
        return Entry(
            name=declared.name,
            provider=declared.provider,
            id=created.id,
            inputs=inputs,
            outs=wired(created.outs or {}),
        )

    def _delete(self, entry: Entry) -> None:
        self._call(entry.name, entry.provider, "delete", entry.id, entry.outs)
        self.point(f"before the record of {entry.name}")

    def _call(self, name: str, provider: ResourceProvider, method: str, *args: Any) -> Any:
        call = Call(provider=type(provider).__name__, method=method, args=copy.deepcopy(args))
        self.calls.append(call)
        # As Pulumi's host has them in its frame (`dynamic.request`).
        request, context = SimpleNamespace(urn=urn_of(name)), None  # noqa: F841
        try:
            result = getattr(provider, method)(*copy.deepcopy(args))
        except Exception as error:
            call.error = str(error)
            raise
        call.result = None if result is None else copy.deepcopy(vars(result))
        call.has_ended = True
        return result


def _packaged(declared: Declared) -> Declared:
    """Return a resource of the program with the package's provider."""
    assert not callable(declared.inputs)
    resource = type(declared.provider).__name__.removesuffix("Provider")
    provider = package_host.provider(resource, urn=urn_of(declared.name), stack_key=_PACKAGE_KEY)
    return dataclasses.replace(declared, provider=provider, inputs=provider.declared(declared.inputs))


def urn_of(name: str) -> str:
    """Return the URN of a resource; here no two resources have one name."""
    return f"urn:pulumi:test::engine-test::vertex-training::{name}"


def wired(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as a call between the processes returns them: numbers as floats, without None."""
    return {name: _wired(value) for name, value in values.items() if value is not None}


def _wired(value: Any) -> Any:
    if isinstance(value, Mapping):
        return wired(value)
    if isinstance(value, (list, tuple)):
        return [_wired(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def kills(engine: SmallEngine, operation: Callable[[], object], at: Point) -> bool:
    """Return whether the operation reached the point and was killed there."""
    with engine.dying(at):
        try:
            operation()
        except Killed:
            return True
    return False
