"""The effects of a preview, read from the JSON of `pulumi preview`.

The engine has no detailed differences of dynamic resources, but it prints their old and new inputs. Those of
jobs are compared pool by pool, all others value by value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pulumi_vertex_training import registry, urns
from pulumi_vertex_training.cli.teams.plan.jobs import (
    RecordedJob,
    Topology,
    job_difference,
    job_kind_of,
    recorded_job,
    run_reason,
    topologies,
)
from pulumi_vertex_training.costs.reports import HIDDEN
from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN
from pulumi_vertex_training.kinds.staged import manifest
from vertex_training.fields.document import json_of
from vertex_training.job.difference import JobDifference, as_document

Effect = Literal["create", "update", "replace", "delete", "import", "read", "none"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)

_OF_STEP: Mapping[str, Effect] = {
    "create": "create",
    "update": "update",
    "replace": "replace",
    "create-replacement": "replace",
    "delete-replaced": "replace",
    "delete": "delete",
    "discard": "delete",
    "import": "import",
    "import-replacement": "replace",
    "read": "read",
    "read-replacement": "replace",
    "same": "none",
    "refresh": "none",
}
STRONGEST_FIRST: tuple[Effect, ...] = ("replace", "delete", "update", "create", "import", "read", "none")
_PREFIX = re.compile(
    r"((error|warning): (\S+ resource '[^']*' has a problem: )?|Preview failed: (Failure: )?)"
)
"""The engine's own words before a message; it repeats the resource, which a finding has."""
_NO_PLUGIN = re.compile(
    r"no resource plugin 'pulumi-resource-([\w-]+)' found in the workspace(?: at version v(\S+))? or on .*"
)
_LISTED = re.compile(r"  \S")
_NOT_KNOWN = "(not known yet)"
_OF_PROVIDER = re.compile(r"([^:]+): (.+); [^;]+ is replaced, because [^;]+", re.DOTALL)
_ECHO = "an unhandled error occurred: program exited with non-zero exit code"
_HIDDEN_CHANGE = "a secret value changes"
_WAIT = ("wait",)
"""The paths of the update of a job in the package that does not differ, and that a deployment waits for."""
_WAITS = "the deployment waits for the job, or records its end"
_OF_CONTENT = frozenset({"object_name", "sha256", "size", "uri", "path", "count"})
"""Inputs of a staged folder or package that follow from its files."""
_OWN = ("__", "marks")
"""Beginnings of inputs that are not the user's: they appear in no difference."""


@dataclass(frozen=True, kw_only=True)
class ValueChange:
    """A value that differs; `path` has the names of the inputs. None stands for an absent value."""

    path: str
    old: object
    new: object


@dataclass(frozen=True, kw_only=True)
class Change:
    """The effect of the deployment on one resource.

    `difference` is set for a job that changes, `values` for every other resource that does. `reason` is why
    a job runs again, "" for other changes. `stopped` is the job that the state has as live and the plan ends.
    `topologies` are the worker pools of a job on both sides. `said` is the provider's own description of a
    change, for a job whose pools are a secret, and the changed files of a package. `has_secret` is true if
    any input is one. `paths` are the changed properties as the engine reports them; empty if it reports none.
    """

    urn: str
    type: str
    name: str
    effect: Effect
    difference: JobDifference | None = None
    values: tuple[ValueChange, ...] = ()
    reason: str = ""
    stopped: RecordedJob | None = None
    topologies: tuple[Topology, ...] = ()
    has_secret: bool = False
    said: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[str, ...]:
        """The change in words, in parts of a sentence; () for a new or removed resource."""
        if self.difference is not None and self.difference.changes:
            return self.difference.changes
        if self.said:
            return self.said
        if self.values:
            return tuple(map(_in_words, self.values))
        if self.effect == "update" and self.paths == _WAIT:
            return (_WAITS,)
        if not self.has_secret or self.effect != "update":
            return ()
        return tuple(f"{path}: {_HIDDEN_CHANGE}" for path in self.paths) or (_HIDDEN_CHANGE,)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A message of the preview: `severity` is `error`, `warning` or `info`; `resource` may be ""."""

    severity: str
    message: str
    resource: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The changes of a preview, those that end something first, without unchanged resources; its messages."""

    stack: str = ""
    project: str = ""
    changes: tuple[Change, ...] = ()
    unchanged: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def counts(self) -> dict[str, int]:
        """The number of resources by effect, without effects that no resource has."""
        found = {effect: sum(one.effect == effect for one in self.changes) for effect in EFFECTS}
        return {**{effect: count for effect, count in found.items() if count}, "none": self.unchanged}


def shown(value: object) -> str:
    """Return a value of a change as a text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def read(preview: Mapping[str, Any]) -> Plan:
    """Return the plan of a preview's JSON document."""
    steps = preview.get("steps") or ()
    # With `--refresh`, each resource has a step of its own for that.
    planned = [step for step in steps if step.get("op") != "refresh"]
    resources = [step for step in planned if not is_hidden(step) and type_of(step) != STACK_KEY]
    findings = tuple(findings_of(preview.get("diagnostics") or ()))
    changes = [_change(step, findings) for step in resources if effect_of(step) != "none"]
    urn = urns.parse(str(steps[0]["urn"]) if steps else "")
    return Plan(
        stack=urn.stack,
        project=urn.project,
        changes=tuple(
            sorted(changes, key=lambda one: (STRONGEST_FIRST.index(one.effect), one.name, one.urn))
        ),
        unchanged=len(resources) - len(changes),
        findings=_without_echo(findings),
    )


STACK_KEY = registry.type_token("StackKey")
"""The type of the one resource of this package that no program declares."""


def is_hidden(step: Mapping[str, Any]) -> bool:
    """Return whether a step is of a resource that the engine declares itself."""
    return type_of(step).startswith(("pulumi:providers:", "pulumi:pulumi:Stack"))


def type_of(step: Mapping[str, Any]) -> str:
    """Return the type token of a step's resource."""
    return urns.parse(str(step["urn"])).type


def name_of(step: Mapping[str, Any]) -> str:
    """Return the name of a step's resource in the program."""
    return urns.parse(str(step["urn"])).name


def effect_of(step: Mapping[str, Any]) -> Effect:
    """Return the effect of a step."""
    return _OF_STEP.get(str(step.get("op")), "update")


def _inputs(step: Mapping[str, Any], state: str) -> Mapping[str, Any]:
    recorded = (step.get(state) or {}).get("inputs")
    return recorded if isinstance(recorded, Mapping) else {}


def _change(step: Mapping[str, Any], findings: Iterable[Finding]) -> Change:
    effect, token = effect_of(step), type_of(step)
    old, new = _inputs(step, "oldState"), _inputs(step, "newState")
    kind = job_kind_of(token)
    changes = effect in ("update", "replace")
    compared = job_difference(kind, old, new) if kind is not None and changes else None
    declared: Mapping[str, Any] = {} if effect == "delete" else new
    stopped = None
    if kind is not None and effect in ("replace", "delete"):
        stopped = recorded_job(kind, step.get("oldState") or {}, declared)
    return Change(
        urn=str(step["urn"]),
        type=token.rpartition(":")[2],
        name=name_of(step),
        effect=effect,
        difference=compared,
        values=tuple(value_changes(old, new)) if changes and (compared is None or not compared.paths) else (),
        reason=run_reason(kind, step) if kind is not None and effect == "replace" else "",
        stopped=stopped,
        topologies=topologies(kind, old, declared) if kind is not None else (),
        has_secret=has_secret(old if effect == "delete" else new),
        said=(_said(name_of(step), findings) if kind is not None else _files(old, new)) if changes else (),
        paths=tuple(sorted(step.get("detailedDiff") or ())),
    )


def _said(name: str, findings: Iterable[Finding]) -> tuple[str, ...]:
    """Return the provider's own words about a job's pools, which may be a secret for the engine."""
    found = (_OF_PROVIDER.fullmatch(one.message) for one in findings if one.severity == "info")
    return tuple(match[2] for match in found if match and match[1] == name)


def _files(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the changes of a folder or package with its files by name; () without a list in the state."""
    before, after = (manifest.unpacked(side.get(manifest.MANIFEST)) for side in (old, new))
    files = manifest.change(before, after) if before and after else ""
    others = (one for one in value_changes(old, new) if one.path not in _OF_CONTENT)
    return (f"files: {files}", *map(_in_words, others)) if files else ()


def _in_words(one: ValueChange) -> str:
    return f"{one.path}: {shown(one.old)} -> {shown(one.new)}"


def _without_echo(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings without the engine's message that the program failed, if another says why."""
    said = [one for one in findings if one.severity == "error" and not one.message.startswith(_ECHO)]
    return tuple(one for one in findings if not (said and one.message.startswith(_ECHO)))


def has_secret(value: object) -> bool:
    """Return whether a value is a secret, or has one in it."""
    if isinstance(value, Mapping):
        return any(map(has_secret, value.values()))
    return any(map(has_secret, value)) if isinstance(value, list) else value == HIDDEN


def value_changes(old: object, new: object, path: str = "") -> Iterator[ValueChange]:
    """Yield the values that differ between two inputs, without those that are not the user's."""
    if HIDDEN in (old, new):
        if old != new:
            # A value that is a secret on one side may still be one on the other.
            yield ValueChange(path=path, old=_hidden(old), new=_hidden(new))
    elif isinstance(old, Mapping) or isinstance(new, Mapping):
        before, after = _mapping(old), _mapping(new)
        for name in dict.fromkeys((*before, *after)):
            if path or not str(name).startswith(_OWN):
                below = f"{path}.{name}" if path else str(name)
                yield from value_changes(before.get(name), after.get(name), below)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from value_changes(one, other, f"{path}[{i}]")
    elif old != new:
        yield ValueChange(path=path, old=old, new=_NOT_KNOWN if new == ENGINES_UNKNOWN else new)


def _hidden(value: object) -> object:
    return None if value is None else HIDDEN


def _mapping(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def findings_of(diagnostics: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Yield the messages of the engine's diagnostics, without those for a search for errors."""
    for one in diagnostics:
        message = str(one.get("message", "")).strip()
        severity = str(one.get("severity", "info")).partition("#")[0]
        if message and severity != "debug":
            warns = severity == "info" and message.startswith("warning: ")
            for part in _parts(_PREFIX.sub("", message, count=1)):
                yield Finding(
                    severity="warning" if warns else severity,
                    message=f"{part}{_plugin_remedy(part)}",
                    resource=urns.parse(str(one.get("urn", ""))).name,
                )


def _parts(message: str) -> list[str]:
    """Return each of the mistakes that a message lists, or the message itself if it is not such a list.

    A list has one mistake a line: indented below a heading, or each after the name of the same resource.
    """
    first, *rest = lines = message.split("\n")
    if rest and first.endswith(":") and all(map(_LISTED.match, rest)):
        return [line.strip() for line in rest]
    name, colon, _ = first.partition(": ")
    is_list = colon and " " not in name and all(line.startswith(f"{name}: ") for line in rest)
    return lines if is_list else [message]


def _plugin_remedy(message: str) -> str:
    """Return the command for a plugin that the engine did not find and does not download; "" without one."""
    missing = _NO_PLUGIN.fullmatch(message)
    if missing is None:
        return ""
    if missing[1] == registry.PACKAGE:
        return ". Run `vertex-training plugin install`."
    version = f" {missing[2]}" if missing[2] else ""
    return f". Run `pulumi plugin install resource {missing[1]}{version}`."


def change_document(change: Change) -> dict[str, Any]:
    """Convert a change to plain values for JSON, with the same keys for every effect."""
    difference = as_document(change.difference) if change.difference is not None else {}
    return {
        **json_of(change, "urn type name effect"),
        "words": list(change.changes),
        "reasons": [*([change.reason] if change.reason else []), *difference.get("reasons", [])],
        "pools": difference.get("pools", []),
        "fields": difference.get("fields") or json_of(change.values),
    }
