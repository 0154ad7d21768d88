"""A stack with one resource, deployed by the engine in the test's process to a real emulator."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.core.state.hidden_input import HIDDEN_INPUT
from support.client.in_process.small_engine import STACK_KEY, SmallEngine, kills
from support.client.kills.subjects import (
    PERSISTENT_RESOURCE,
    PIPELINE,
    TUNING_JOB,
    Declaration,
    Subject,
    has_ended,
    listed,
    local,
    shown,
    state_of,
)
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control

FORMS = (pytest.param(False, id="dynamic", marks=pytest.mark.slow), pytest.param(True, id="package"))
"""Values of `serves_package`. What is the same in both forms is fast in the package alone."""
_NUMBERS = itertools.count(1)
_INNER = {
    TUNING_JOB.noun: ("customJobs",),
    PIPELINE.noun: ("customJobs", "models"),
}
"""The other collections that may have something of a subject."""


@dataclass(kw_only=True)
class Trial:
    """The stack; everything of it at the service has `name` somewhere in its record."""

    subject: Subject
    data_dir: Path
    name: str = field(default_factory=lambda: f"trial-{next(_NUMBERS)}-x")
    serves_package: bool = False
    engine: SmallEngine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = SmallEngine(
            {"vertex-training:dataDir": str(self.data_dir)}, serves_package=self.serves_package
        )

    @functools.cached_property
    def control(self) -> Control:
        emulator = launcher.ensure(self.data_dir)
        return Control(url=emulator.url, token=emulator.token)

    def up(self, declared: Declaration | None, *, replace: bool = False) -> int:
        """Deploy; None is the program without the resource."""
        program = self.subject.program(declared, self.name)
        return self.engine.up(program, replace=[self.name] if replace else [])

    def records(self, *collections: str) -> list[dict[str, Any]]:
        """Return this stack's records in the collections, by default in that of the subject."""
        control = self.control
        found = (one for each in collections or [self.subject.collection] for one in listed(control, each))
        return [one for one in found if self.name in json.dumps(one)]

    def there(self) -> list[tuple[str, str, str]]:
        """Return the name, the spec and the note of everything that exists, and of jobs of what is live."""
        if self.subject is PERSISTENT_RESOURCE:
            eventually(lambda: {state_of(one) for one in self.records()} <= {"RUNNING"})
        found = [one for one in self.records() if not (self.subject.run and has_ended(one))]
        return sorted((local(one["name"]), *shown(one)) for one in found)

    def left(self) -> list[str]:
        """Return the names of all records of this stack, live or ended."""
        return [
            one["name"] for one in self.records(self.subject.collection, *_INNER.get(self.subject.noun, ()))
        ]

    def recorded(self) -> list[str]:
        return [local(one.id) for one in self.engine.entries if one.name == self.name]

    def notes(self) -> list[str]:
        """Return the notes of creations of this stack whose answer the engine does not have."""
        stack = [str(one.outs["key"]) for one in self.engine.entries if one.name == STACK_KEY]
        return [one.name for key in stack for one in (self.data_dir / "creations").glob(f"{key}-*.begun")]

    def run(self) -> Mapping[str, Any]:
        """Return what the state hides of the job: the key of its run, its generation, and its reruns."""
        (hidden,) = [one.outs[HIDDEN_INPUT] for one in self.engine.live() if one.name == self.name]
        return {**hidden, "generation": int(hidden["key"].rpartition("-")[2])}

    def state(self) -> str:
        """Return the state of the newest job."""
        return state_of(max(self.records(), key=lambda one: str(one["createTime"])))

    def submissions(self) -> int:
        """Return how many jobs any stack has submitted since the emulator forgot its requests."""
        sent = self.control.requests()["requests"]
        return len([one for one in sent if one["call"] == self.subject.creates and one["status"] == 200])

    def assert_declared(self, declared: Declaration) -> None:
        """Assert that the service has what is declared, once, and that the state has exactly that."""
        shows = self.subject.shows
        ((name, spec, note),) = self.there()
        assert [name] == self.recorded()
        assert spec == (declared.spec if "spec" in shows else "")
        assert note == (declared.note if "note" in shows else "")
        assert f"/{self.name}-{declared.called}" in f"/{name}" or not declared.called
        if self.subject.run:
            (one,) = [each for each in self.records() if not has_ended(each)]
            assert one["labels"]["vertex-training-run"] == self.run()["key"]

    def destroy(self) -> None:
        """Destroy the stack, and assert that service, state and notes have nothing of it."""
        key = [str(one.outs["key"]) for one in self.engine.entries if one.name == STACK_KEY]
        self.engine.destroy()
        assert self.engine.entries == []
        eventually(lambda: self.left() == [], what=self.left)  # trials go after their tuning job
        assert not [one for each in key for one in (self.data_dir / "creations").glob(f"{each}-*")]

    def killed(self, operation: Callable[[], object], at: int) -> str:
        """Kill the operation at a point. Return the point's text, or "" if the operation ended before.

        A reading is a point only if it is the first one, or follows a change of the notes on this machine:
        otherwise service, state and notes are as at the point before it.
        """
        texts: list[str] = []
        notes: object = None

        def is_reached(text: str) -> bool:
            nonlocal notes
            before, notes = notes, _notes(self.data_dir)
            if not texts or notes != before or _READING.match(text) is None:
                texts.append(text)
            return len(texts) == at + 1

        return texts[at] if kills(self.engine, operation, is_reached) else ""


_READING = re.compile("(before|after) (GET|HEAD) ")
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")


def _notes(data_dir: Path) -> frozenset[tuple[str, int]]:
    """Return the notes of interrupted operations, each with the time of its last change."""
    files = [one for kind in ("creations", "deletions") for one in (data_dir / kind).glob("*")]
    return frozenset((str(one), one.stat().st_mtime_ns) for one in files)


def at_every_point(
    begin: Callable[[], Trial],
    operation: Callable[[Trial], object],
    then: Callable[[Trial, str], object],
    *,
    changes: bool = True,
) -> int:
    """Kill the operation at each of its points, each time on a stack of its own. Return their number.

    `then` gets the text of the point, "" for the last trial, which nobody killed. All of them are tried
    before the first that failed is reported. An operation that `changes` something at a service has at
    least the points before and after its call, any other one the point of its first reading.
    """
    wrong, tried = [], []
    for at in range(300):
        trial = begin()
        died = trial.killed(lambda: operation(trial), at)  # noqa: B023  called at once
        try:
            then(trial, died)
        except Exception as error:
            wrong.append(f"point {at}, {died}: {type(error).__name__}: {str(error)[:300]}")
        if not died:
            break
        tried.append(died)
    assert not wrong, "\n".join(wrong)
    assert tried, "nothing was killed"
    if changes:
        texts = " ".join(tried)
        around = [each for each in _CHANGING if f"before {each} " in texts and f"after {each} " in texts]
        assert around, f"no kill before and after a call that changes something: {tried}"
    return len(tried)
