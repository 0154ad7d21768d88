"""The drift of a stack: resources whose live state differs from the recorded one, and what repairs each.

Jobs are compared pool by pool, all other resources value by value, as in `plan`. A job that has moved on by
itself, such as from RUNNING to SUCCEEDED, has not drifted.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from pulumi_vertex_training import registry, urns
from pulumi_vertex_training.cli.teams.drift.refresh import Reading, Refresh
from pulumi_vertex_training.cli.teams.plan.jobs import job_difference, job_kind_of
from pulumi_vertex_training.cli.teams.plan.plan import (
    STACK_KEY,
    Finding,
    ValueChange,
    has_secret,
    is_hidden,
    name_of,
    shown,
    type_of,
    value_changes,
)
from vertex_training.fields.document import json_of, nested
from vertex_training.job.difference import JobDifference, as_document

Effect = Literal["changed", "cancelled", "deleted"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

UP = ("up", "--refresh")
REFRESH = ("refresh",)
_DRIFT = "drift"
_CANCELLED = ("CANCELLED", "CANCELLING")
_STAGED = frozenset(
    name for entry in registry.ENTRIES if entry.folder.startswith("staged") for name in entry.resources
)
_GONE = "it was deleted"
_GONE_OR_OTHER = "it was deleted, or its content was changed"


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The difference of one resource.

    `difference` is set for a job whose declaration differs, `values` for every other difference of
    properties. `sentences` are differences in words that no property has. `repair` are the arguments of the
    `pulumi` command that restores what the program declares, or of the one that accepts the difference if
    none can. `because` is the reason for another command than `UP`, "" if it needs none.
    """

    urn: str
    type: str
    name: str
    effect: Effect
    difference: JobDifference | None = None
    values: tuple[ValueChange, ...] = ()
    sentences: tuple[str, ...] = ()
    repair: tuple[str, ...] = UP
    because: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The difference in words, in parts of a sentence; the old value is the recorded one."""
        compared = self.difference.changes if self.difference is not None else ()
        values = (f"{one.path}: {shown(one.old)} -> {shown(one.new)}" for one in self.values)
        return (*self.sentences, *compared, *values)


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A job that has moved on since the state was written: `old` and `new` are its states."""

    urn: str
    type: str
    name: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """The drift of a stack, jobs that moved on, resources that were not read, and the refresh's messages."""

    stack: str = ""
    project: str = ""
    drifts: tuple[Drift, ...] = ()
    progress: tuple[Progress, ...] = ()
    unread: tuple[str, ...] = ()
    unchanged: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def counts(self) -> dict[str, int]:
        """The number of resources by effect, without effects that no resource has."""
        found = {effect: sum(one.effect == effect for one in self.drifts) for effect in EFFECTS}
        return {
            **{effect: count for effect, count in found.items() if count},
            **({"unread": len(self.unread)} if self.unread else {}),
            "none": self.unchanged,
        }


def report(found: Refresh) -> Report:
    """Return the drift that a refresh has found."""
    readings = [one for one in found.readings if _is_declared(one.urn)]
    drifts = [drift for one in readings if (drift := _drift(one)) is not None]
    progress = [moved for one in readings if (moved := _progress(one)) is not None]
    every = [*(one.urn for one in found.readings), *found.unread]
    urn = urns.parse(next(iter(every), ""))
    return Report(
        stack=urn.stack,
        project=urn.project,
        drifts=tuple(sorted(drifts, key=lambda one: one.urn)),
        progress=tuple(sorted(progress, key=lambda one: one.urn)),
        unread=tuple(sorted(urns.parse(one).name for one in found.unread if _is_declared(one))),
        unchanged=len(readings) - len(drifts),
        findings=found.findings,
    )


def repair_of_all(drifts: Iterable[Drift]) -> tuple[str, ...]:
    """Return the arguments of the one command that makes every repair; () if nothing can be repaired."""
    repairs = [one.repair for one in drifts if one.repair != REFRESH]
    more = dict.fromkeys(repair[len(UP) :] for repair in repairs)
    return (*UP, *(word for each in more for word in each)) if repairs else ()


def command(arguments: Iterable[str], *, stack: str | None = None, folder: str | None = None) -> str:
    """Return a `pulumi` command for a shell, for a stack and a folder that are not the selected ones."""
    place = (*(("--stack", stack) if stack else ()), *(("--cwd", folder) if folder else ()))
    return shlex.join(("pulumi", *arguments, *place))


def _is_declared(urn: str) -> bool:
    step = {"urn": urn}
    return not is_hidden(step) and type_of(step) != STACK_KEY


def _drift(reading: Reading) -> Drift | None:
    if not reading.live:
        gone = _GONE_OR_OTHER if _resource(reading) in _STAGED else _GONE
        return _of(reading, "deleted", sentences=(gone,))
    old, new = _state(reading.recorded), _state(reading.live)
    if old != new and _is_cancelled(reading):
        repair, because = _of_cancelled(reading)
        return _of(
            reading, "cancelled", sentences=(f"state: {old} -> {new}",), repair=repair, because=because
        )
    sentences, changed = _sentences(reading), _changed(reading)
    return _with_sentences(reading, sentences, changed) if sentences else changed


def _of(reading: Reading, effect: Effect, **details: Any) -> Drift:
    step = {"urn": reading.urn}
    token = type_of(step)
    return Drift(urn=reading.urn, type=token.rpartition(":")[2], name=name_of(step), effect=effect, **details)


def _changed(reading: Reading) -> Drift | None:
    """Return the difference of the properties, or None for a resource that the engine finds equal."""
    if not reading.differs:
        return None
    kind = job_kind_of(urns.parse(reading.urn).type)
    old, new = nested(reading.recorded, "inputs"), nested(reading.live, "inputs")
    compared = job_difference(kind, old, new) if kind is not None else None
    if compared is not None and compared.paths:
        return _of(reading, "changed", difference=compared)
    values = tuple(value_changes(old, new))
    if values:
        return _of(reading, "changed", values=values)
    outputs = tuple(value_changes(nested(reading.recorded, "outputs"), nested(reading.live, "outputs")))
    if outputs:
        # Only what the service decides has changed: there is nothing that a deployment could change back.
        because = "no declared value differs, so there is nothing to change back"
        return _of(reading, "changed", values=outputs, repair=REFRESH, because=because)
    if any(map(has_secret, (reading.recorded, reading.live))):
        return _of(reading, "changed", sentences=("a secret value differs",))
    return None  # A resource that its provider calls unhealthy differs for the engine.


def _with_sentences(reading: Reading, sentences: tuple[str, ...], changed: Drift | None) -> Drift:
    """Return a difference that the provider put into words: no deployment changes it back by itself."""
    if job_kind_of(urns.parse(reading.urn).type) is None:
        found = changed or _of(reading, "changed")
        because = _WHY_REPLACED.get(_resource(reading), "")
        return replace(found, sentences=sentences, repair=(*UP, "--replace", reading.urn), because=because)
    if nested(reading.recorded, "inputs").get("rerun") == "never":
        return _of(reading, "deleted", sentences=sentences, repair=REFRESH, because=_NEVER)
    return _of(reading, "deleted", sentences=sentences)


_WHY_REPLACED = {
    "TrainingImage": "the image is built and pushed again; on another base it gets another digest, and its "
    "jobs run again",
    "Model": "a new version is uploaded, and becomes the default",
}
"""The effect of a replacement, by the type of the resource that no deployment changes back."""
_NEVER = 'rerun is "never"; to run it again, set another rerun and run_token'


def _of_cancelled(reading: Reading) -> tuple[tuple[str, ...], str]:
    """Return the arguments of the command that runs a cancelled job again, and why it is no other."""
    rerun = nested(reading.recorded, "inputs").get("rerun")
    if rerun == "never":
        return REFRESH, _NEVER
    if rerun == "always":
        return UP, ""
    because = f'rerun is "{rerun}", so a deployment alone does not run a cancelled job again'
    return (*UP, "--replace", reading.urn), because


def _progress(reading: Reading) -> Progress | None:
    old, new = _state(reading.recorded), _state(reading.live)
    step = {"urn": reading.urn}
    if job_kind_of(type_of(step)) is None or not new or old == new or _is_cancelled(reading):
        return None
    return Progress(
        urn=reading.urn, type=type_of(step).rpartition(":")[2], name=name_of(step), old=old, new=new
    )


def _is_cancelled(reading: Reading) -> bool:
    """Return whether a job was cancelled. A job that its timeout stopped may be in the same state."""
    if _state(reading.live) not in _CANCELLED:
        return False
    from pulumi_vertex_training.core.running.rerun_facts import was_stopped_by_timeout  # only if needed

    return not was_stopped_by_timeout(nested(reading.live, "outputs"))


def _state(state: Mapping[str, Any]) -> str:
    """Return the state of a job in its outputs without its prefix, "" for any other resource."""
    if job_kind_of(str(state.get("type") or "")) is None:
        return ""
    return str(nested(state, "outputs").get("state") or "").rpartition("_STATE_")[2]


def _sentences(reading: Reading) -> tuple[str, ...]:
    """Return the provider's own words for differences that the state does not have yet."""
    if not _resource(reading):
        return ()
    known = nested(reading.recorded, "outputs").get(_DRIFT) or ()
    now = nested(reading.live, "outputs").get(_DRIFT) or ()
    return tuple(str(line) for line in now if line not in known)


def _resource(reading: Reading) -> str:
    return registry.resource_of(urns.parse(reading.urn).type)


def drift_document(drift: Drift, repair: str) -> dict[str, Any]:
    """Convert a difference to plain values for JSON, with the same keys for every effect."""
    difference = as_document(drift.difference) if drift.difference is not None else {}
    return {
        **json_of(drift, "urn type name effect words because"),
        "pools": difference.get("pools", []),
        "fields": difference.get("fields") or json_of(drift.values),
        "repair": repair,
    }
