"""The resources of each declaration in Pulumi's state and in the service, read from outside."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi_vertex_training.kinds.custom_job.gateway import JobRecord
from soak.model import Declared, Job, JobState, Record, Run, Spec, World
from vertex_emulator.control import Control, ControlError

RUN_LABEL = "vertex-training-run"
_ENDS = {
    "JOB_STATE_SUCCEEDED": JobState.SUCCEEDED,
    "JOB_STATE_FAILED": JobState.FAILED,
    "JOB_STATE_CANCELLED": JobState.CANCELLED,
    "JOB_STATE_EXPIRED": JobState.FAILED,
}
_JOB_STATES = {**_ENDS, "JOB_STATE_CANCELLING": JobState.CANCELLING}
POLL_SECONDS = 0.1


def slot_of(name: str) -> str:
    """Return the declaration of a resource or job: names are `d3`, `d3-1`, `d3-2`."""
    return name.partition("-")[0]


@dataclass(frozen=True, kw_only=True)
class State:
    """The job of one declaration in the state.

    `replaced` is the job of an unfinished replacement, `begun` the identities of unfinished creations.
    """

    job: Mapping[str, Any] | None = None
    replaced: Mapping[str, Any] | None = None
    begun: frozenset[str] = frozenset()


def states(deployment: Mapping[str, Any]) -> dict[str, State]:
    """Return the jobs by declaration, from a checkpoint of the stack."""
    found: dict[str, dict[str, Any]] = {}
    begun: dict[str, set[str]] = {}

    def slot(one: Mapping[str, Any]) -> str:
        return slot_of(one["urn"].rpartition("::")[2])

    for one in deployment.get("resources") or ():
        if not one["type"].endswith(":CustomJob"):
            continue
        if one.get("pendingReplacement"):
            found.setdefault(slot(one), {})["replaced"] = one
        elif not one.get("delete"):
            found.setdefault(slot(one), {})["job"] = one
    for each in deployment.get("pending_operations") or ():
        one = each["resource"]
        if each["type"] == "creating" and one["type"].endswith(":CustomJob"):
            begun.setdefault(slot(one), set()).add(one["inputs"]["__run"]["identity"])
    return {
        each: State(**found.get(each, {}), begun=frozenset(begun.get(each, ()))) for each in {*found, *begun}
    }


def job_of(record: JobRecord) -> Job:
    container = record.wire["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]
    env = {each["name"]: each["value"] for each in container["env"]}
    return Job(
        name=record.name,
        key=record.labels.get(RUN_LABEL, ""),
        spec=Spec(program=env["PROGRAM"], salt=int(env["SALT"])),
        state=_JOB_STATES.get(record.state.name, JobState.LIVE),
        created=record.create_time or "",
    )


def world(
    state: State, jobs: list[Job], before: World, declared: Declared | None, *, deletions: Path
) -> World:
    """Return the present world; a run keeps the declaration for which it was issued.

    `deletions` is the folder with the notes of deletions that have begun.
    """
    run = None
    if (recorded := state.job or state.replaced) is not None:
        hidden = recorded["outputs"]["__run"]
        key, reruns = hidden["key"], int(hidden["reruns"])
        if before.run is not None and before.run.key == key:
            run = Run(key=key, reruns=reruns, spec=before.run.spec, run_token=before.run.run_token)
        elif declared is not None:
            run = Run(key=key, reruns=reruns, spec=declared.spec, run_token=declared.run_token)
        else:
            raise AssertionError(f"a run without a declaration: {recorded['urn']}, {key}")
    record = None
    if state.job is not None:
        outputs = state.job["outputs"]
        record = Record(
            job=state.job["id"],
            run=outputs["__run"]["key"],
            ended=_ENDS.get(outputs["state"]),
            rerun=outputs["rerun"],
            protect_running=outputs["protect_running"],
            on_delete=outputs["on_delete"],
            stopped=(deletions / "-".join(state.job["id"].split("/")[-2:])).exists(),
        )
    return World(
        run=run,
        record=record,
        jobs=tuple(sorted(jobs, key=lambda job: job.created)),
        released=state.replaced["id"] if state.replaced else None,
        begun=state.begun,
    )


@dataclass
class Watcher:
    """A thread that polls the emulator during a command.

    `names`: all jobs that it saw, by declaration. `most`: the most that were live at once. Jobs in
    `foreign` are not counted.
    """

    foreign: frozenset[str]
    names: dict[str, set[str]] = field(default_factory=dict)
    most: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self, control: Control) -> None:
        self._thread = threading.Thread(target=self._watch, args=(control,), name="watcher", daemon=True)
        self._thread.start()

    def move(self, control: Control) -> None:
        """Continue with a restarted emulator."""
        self.stop()
        self._over = threading.Event()
        self.start(control)

    def stop(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, control: Control) -> None:
        while not self._over.wait(POLL_SECONDS):
            try:
                jobs = control.jobs()
            except ControlError:
                continue  # killed, or failed by a fault
            self.look(jobs)

    def look(self, jobs: list[dict[str, Any]]) -> None:
        live: dict[str, list[str]] = {}
        for job in jobs:
            if job["name"] in self.foreign:
                continue
            slot = slot_of(job["displayName"])
            self.names.setdefault(slot, set()).add(job["name"])
            if job["state"] not in _JOB_STATES:
                live.setdefault(slot, []).append(job["id"])
        for slot, names in live.items():
            if len(names) > len(self.most.get(slot, ())):
                self.most[slot] = tuple(names)
