"""Reports of program and provider to `plan` and `preflight` about inputs that have a secret.

A secret in an array makes the array a secret for the engine, so its preview has "[secret]" in place of all
worker pools. The processes of that preview know more: they write the inputs into a private folder that the
command made, with every secret left out. Imports nothing heavy.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN
from vertex_training.fields.values import Unknown

VARIABLE = "VERTEX_TRAINING_PREVIEW_REPORTS"
"""Environment variable with the folder; not set in any other preview."""

HIDDEN = "[secret]"
"""The engine's text for a secret."""

Side = Literal["oldState", "newState"]

OF_THE_RUN = frozenset({"timeout", "scheduling", "max_trial_count"})
"""Fields that decide about the cost of a run, and not of an hour."""
OF_AN_HOUR = frozenset(
    {
        *("location", "worker_pool_specs", "machine_spec", "disk_spec", "replica_count", "machine_type"),
        *("accelerator_type", "accelerator_count", "tpu_topology", "boot_disk_type", "boot_disk_size_gb"),
        *("scheduling", "strategy", "parallel_trial_count", "trial_job_spec", "custom_task", "tuning_task"),
        *("resource_pools", "autoscaling_spec", "min_replica_count", "max_replica_count"),
        *("gpu_partition_size", "reservation_affinity", "reservation_affinity_type"),
    }
)
"""Fields that decide about the cost of an hour."""


@dataclass(frozen=True, kw_only=True)
class Reports:
    """The reported inputs by URN and side."""

    inputs: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict, repr=False)

    def revealed(self, step: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a step of a preview with the reported inputs in place of what the engine hides."""
        urn, shown = str(step.get("urn")), dict(step)
        new = self.inputs.get((urn, "newState"), {})
        same = {"oldState": new} if step.get("op") == "same" else {}
        for side, reported in {"newState": new, "oldState": self._old(urn, new), **same}.items():
            state = step.get(side)
            inputs = state.get("inputs") if isinstance(state, Mapping) else None
            if reported and isinstance(state, Mapping) and isinstance(inputs, Mapping):
                known = {
                    name: reported[name] if value == HIDDEN and name in reported else value
                    for name, value in inputs.items()
                }
                shown[side] = {**state, "inputs": known}
        return shown

    def _old(self, urn: str, new: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the recorded inputs; a secret of the program was one in the state."""
        old = self.inputs.get((urn, "oldState"), {})
        return {name: _hidden_as(new.get(name), value) for name, value in old.items()}


def is_wanted() -> bool:
    """Return whether a command that makes reports of this preview runs it."""
    return bool(os.environ.get(VARIABLE))


def add(urn: str, side: Side, inputs: Mapping[str, Any]) -> None:
    """Report inputs without their secrets."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    text = json.dumps({"urn": urn, "side": side, "inputs": inputs}, default=_text)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, suffix=".json", delete=False) as file:
        file.write(text)


def read(folder: Path) -> Reports:
    """Return the reports in a folder."""
    return Reports(inputs=dict(_read(folder)))


def public(value: object) -> Any:
    """Return a secret without what may be one: names of machines, and their numbers, stay in it."""
    if isinstance(value, Mapping):
        return {
            name: (public(item) if isinstance(item, (Mapping, list, tuple)) else item)
            if name in OF_AN_HOUR | OF_THE_RUN
            else HIDDEN
            for name, item in value.items()
        }
    return list(map(public, value)) if isinstance(value, (list, tuple)) else HIDDEN


def _read(folder: Path) -> Iterator[tuple[tuple[str, str], Mapping[str, Any]]]:
    for file in folder.glob("*.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        yield (document["urn"], document["side"]), document["inputs"]


def _text(value: object) -> object:
    return ENGINES_UNKNOWN if isinstance(value, Unknown) else str(value)


def _hidden_as(new: object, old: object) -> Any:
    """Hide what is hidden at the same place of another value."""
    if new == HIDDEN:
        return HIDDEN
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        return {name: _hidden_as(new.get(name), item) for name, item in old.items()}
    if isinstance(new, list) and isinstance(old, list):
        return [_hidden_as(new[i] if i < len(new) else None, item) for i, item in enumerate(old)]
    return old
