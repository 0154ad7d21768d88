"""A stack with a job on a capacity ladder, deployed in the test's process to a real emulator."""

from __future__ import annotations

import dataclasses
import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.core.state.hidden_input import CLIMB_INPUT
from pulumi_vertex_training.runs.identity import RUN_LABEL, RUNG_LABEL
from support.client.in_process.small_engine import Declared, SmallEngine
from support.client.in_process.trials import Trial
from support.client.kills.subjects import CUSTOM_JOB, Declaration, has_ended, state_of


@dataclass
class ClimbingEngine(SmallEngine):
    """An engine whose `create` climbs for so long, although the program does not wait for the job."""

    climb_seconds: float = 120.0

    def _register(self, declared: Declared, *, forced: bool) -> int:
        if isinstance(declared.inputs, dict) and "capacity" in declared.inputs:
            declared = dataclasses.replace(
                declared, inputs={**declared.inputs, CLIMB_INPUT: self.climb_seconds}
            )
        return super()._register(declared, forced=forced)


@dataclass(kw_only=True)
class ClimbTrial(Trial):
    """A stack with one custom job that has a ladder."""

    engine: ClimbingEngine = field(init=False)
    regions: tuple[str, ...] = ("us-central1",)

    def records(self, *_: str) -> list[dict[str, Any]]:
        """Return this stack's jobs in all its regions."""
        parents = (f"/v1/projects/local/locations/{region}/customJobs" for region in self.regions)
        found = (one for path in parents for one in self.control.call("GET", path).get("customJobs", []))
        return [one for one in found if self.name in json.dumps(one)]

    def __post_init__(self) -> None:
        self.engine = ClimbingEngine(
            {"vertex-training:dataDir": str(self.data_dir)}, serves_package=self.serves_package
        )

    def attempts(self) -> list[dict[str, Any]]:
        """Return the jobs of all attempts, oldest first."""
        return sorted(self.records(), key=lambda one: str(one["createTime"]))

    def way(self) -> list[tuple[int, str]]:
        """Return the position of the rung, 0 without one, and the state of each job, oldest first."""
        return [
            (int(one["labels"].get(RUNG_LABEL, "0-").partition("-")[0]), state_of(one))
            for one in self.attempts()
        ]

    def assert_one_at_a_time(self) -> None:
        """Assert that each attempt was submitted after the one before had ended."""
        attempts = self.attempts()
        for before, after in itertools.pairwise(attempts):
            assert before.get("endTime", "never") <= after["createTime"], self.way()

    def assert_no_rung_twice(self, *, since: int = 0) -> None:
        """Assert that the attempts of a later generation than `since` are one pass."""
        rungs = [
            one["labels"].get(RUNG_LABEL)
            for one in self.attempts()
            if int(one["labels"][RUN_LABEL].rpartition("-")[2]) > since
        ]
        assert len(set(rungs)) == len(rungs), rungs

    def live(self) -> list[dict[str, Any]]:
        return [one for one in self.records() if not has_ended(one)]


def ladder(*rungs: dict[str, Any], **more: Any) -> Declaration:
    """Return the declaration of a job with these rungs. The records of its earlier runs are kept."""
    options = {"capacity": list(rungs), "on_replace": "keep", **more}
    return Declaration(options=", ".join(f"{name}={value!r}" for name, value in options.items()))


def trial(data_dir: Any, *, serves_package: bool, regions: tuple[str, ...] = ("us-central1",)) -> ClimbTrial:
    return ClimbTrial(subject=CUSTOM_JOB, data_dir=data_dir, serves_package=serves_package, regions=regions)
