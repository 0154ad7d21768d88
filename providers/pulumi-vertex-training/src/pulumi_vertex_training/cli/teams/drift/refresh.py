"""A refresh that writes no state, and what it read of each resource.

`pulumi refresh --preview-only --json` prints the recorded properties of a resource twice, and never the live
ones. The engine's event log has both. A preview takes no lock, so it neither waits for a deployment nor
blocks one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi_vertex_training import pulumi_command
from pulumi_vertex_training.cli.core_names import in_core_names
from pulumi_vertex_training.cli.teams.plan.plan import Finding, findings_of
from pulumi_vertex_training.temporary_folders import temporary_folder
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.command_line.errors import CommandError


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A resource as the state has it (`recorded`) and as its service has it (`live`).

    Both have `inputs` and `outputs`; `live` is empty if the resource is gone. `differs` is the engine's own
    comparison.
    """

    urn: str
    recorded: Mapping[str, Any]
    live: Mapping[str, Any] = field(default_factory=dict)
    differs: bool = False


@dataclass(frozen=True, kw_only=True)
class Refresh:
    """The resources that a refresh has read, URNs of those that it could not read, and its messages."""

    readings: tuple[Reading, ...] = ()
    unread: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")


def refresh(folder: Path, stack: str | None, timeouts: Timeouts) -> Refresh:
    """Read the live state of each resource of a stack. Raises CommandError if there is no refresh."""
    # The log has the state's values, so nobody else may read it.
    with temporary_folder("vertex-training-drift-") as private:
        log = private / "events"
        ran = pulumi_command.run(
            [
                "refresh",
                "--preview-only",
                "--suppress-outputs",
                "--suppress-progress",
                "--event-log",
                str(log),
                *pulumi_command.stack_arguments(stack),
            ],
            folder,
            timeouts.pulumi_preview,
            environment={"PULUMI_DEBUG_COMMANDS": "true"},  # else the engine does not know --event-log
        )
        found = read(_events(log))
    if ran.code and not found.errors:
        said = ran.message or "it printed nothing"
        raise CommandError(f"`pulumi refresh` failed with exit code {ran.code}: {said}{_remedy(said)}")
    return found


def _remedy(said: str) -> str:
    """Return the remedy for a failure whose message has none, as a further sentence."""
    if "no stack named" in said:
        return ". `pulumi stack ls` lists the stacks."
    if "unknown flag" in said:
        return ". Update the Pulumi CLI: https://www.pulumi.com/docs/install"
    return ""


def _events(log: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a log; none if the engine wrote no log."""
    if not log.exists():
        return
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def read(events: Iterable[Mapping[str, Any]]) -> Refresh:
    """Return what the events of a refresh say about each resource."""
    begun: dict[str, None] = {}
    readings: dict[str, Reading] = {}
    messages = []
    for event in events:
        if "resourcePreEvent" in event:
            begun[str(event["resourcePreEvent"]["metadata"]["urn"])] = None
        elif "resOutputsEvent" in event:
            reading = _reading(event["resOutputsEvent"]["metadata"])
            readings[reading.urn] = reading
        elif "diagnosticEvent" in event:
            messages.append(event["diagnosticEvent"])
    findings = tuple(findings_of(messages))
    named = any(one.severity == "error" and one.resource for one in findings)
    return Refresh(
        readings=tuple(readings.values()),
        unread=tuple(urn for urn in begun if urn not in readings),
        # "preview failed", beside the reason that a resource has, says nothing.
        findings=tuple(one for one in findings if one.resource or one.severity != "error" or not named),
    )


def _reading(metadata: Mapping[str, Any]) -> Reading:
    return Reading(
        urn=str(metadata["urn"]),
        recorded=in_core_names(metadata.get("old") or {}),
        live=in_core_names(metadata.get("new") or {}),
        differs=metadata.get("op") != "same",
    )
