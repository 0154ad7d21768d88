"""Every other kind than the custom job: held at every step of an operation, and somebody killed there.

What must hold then is the same for all: the next deployment leaves what is declared, once, and the state
agrees with the service; the next destruction leaves nothing. A row is an operation, a call at which it is
held, and what has become of the call by then. KILLS=all runs all rows, with everybody killed, and destroys
after each. `tests/pulumi_vertex_training/plugin/test_kills_everywhere.py` tries every point, without the
engine.
"""

from __future__ import annotations

import enum
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest

from support.kills.stage import DESTROY, REFRESH, UP, Hold, Moment, Situation, Stage, Victim
from support.kills.subjects import (
    BUCKET,
    MODEL,
    PERSISTENT_RESOURCE,
    PIPELINE,
    REPOSITORY,
    STAGED_FILE,
    STAGED_FOLDER,
    TUNING_JOB,
    Subject,
)

ALL = {"": False, "all": True}[os.environ.get("KILLS", "")]

ASKED, LOST, CARRIED_OUT = Moment.ASKED, Moment.LOST, Moment.CARRIED_OUT
ANSWERED, CALLED = Moment.ANSWERED, Moment.CALLED
PULUMI, PROVIDER, BOTH, EMULATOR = Victim


class Operation(enum.Enum):
    """The interrupted operation, and the one that follows."""

    FIRST = "the first deployment"
    FIRST_AND_DESTROYED = "the first deployment, and a destruction"
    FIRST_AND_ANOTHER = "the first deployment, and another"
    CHANGED = "a change in place"
    REBOOTED = "a reboot"
    REPLACED = "a replacement"
    REPLACED_AND_BACK = "a replacement that is taken back"
    ON_DEMAND = "a replacement on demand"
    REFRESHED = "a refresh"
    DESTROYED = "a destruction, and another"
    DESTROYED_AND_UP = "a destruction, and a deployment"
    ENDED_AND_DESTROYED = "a destruction of what has succeeded, and another"
    WAITED_FOR = "a deployment that waits for the end"


@dataclass(frozen=True, kw_only=True)
class Row:
    """`usually`: who is killed there without KILLS=all."""

    subject: Subject
    operation: Operation
    hold: Hold
    usually: tuple[Victim, ...]

    def victims(self) -> Iterator[Victim]:
        for victim in Victim:
            if self.hold.moment is ANSWERED and victim not in (PULUMI, BOTH):
                continue  # the engine has the answer: it records it
            if self.hold.moment is LOST and victim is EMULATOR:
                continue  # the same as ASKED
            if ALL or victim in self.usually:
                yield victim

    def id(self, victim: Victim) -> str:
        what = re.sub(r".*[:.](.*)", r"\1", self.hold.what)
        nth = f" {self.hold.nth}" if self.hold.nth > 1 else ""
        call = f"{what}{nth} {self.hold.moment.value}"
        return f"{self.subject.noun}, {self.operation.value}, {call}, {victim.value}"


Line = tuple[Operation, str, Moment, int, tuple[Victim, ...]]


def at(operation: Operation, what: str, moment: Moment = ASKED, *usually: Victim, nth: int = 1) -> Line:
    """Return a line of a table: `what` is a verb of the kind's service, another method, or a provider's."""
    return operation, what, moment, nth, usually


def of(subject: Subject, lines: Iterable[Line]) -> list[Row]:
    return [
        Row(
            subject=subject,
            operation=operation,
            hold=Hold(what=subject.method(what), moment=moment, nth=nth),
            usually=usually,
        )
        for operation, what, moment, nth, usually in lines
    ]


_ = Operation
TUNING = (
    at(_.FIRST, "Create"),
    at(_.FIRST, "Create", LOST),
    at(_.FIRST, "Create", CARRIED_OUT),
    at(_.FIRST, "Create", ANSWERED, BOTH),
    at(_.FIRST_AND_DESTROYED, "Create", CARRIED_OUT),
    at(_.FIRST_AND_ANOTHER, "Create", ANSWERED),
    at(_.REPLACED, "Cancel", CARRIED_OUT),
    at(_.REPLACED, "Delete", CARRIED_OUT, BOTH),
    at(_.REPLACED, "Create", CARRIED_OUT),
    at(_.ON_DEMAND, "Create", CARRIED_OUT),
    at(_.REFRESHED, "Get"),
    at(_.DESTROYED, "Cancel", CARRIED_OUT),
    at(_.DESTROYED, "Get", nth=3),
    at(_.DESTROYED, "Delete", CARRIED_OUT),
    at(_.WAITED_FOR, "Get", ASKED, EMULATOR, nth=3),
)
PIPELINES = (
    *((operation, what, moment, nth, ()) for operation, what, moment, nth, _usually in TUNING[:-1]),
    at(_.WAITED_FOR, "Get", ASKED, EMULATOR, nth=3),
    at(_.ENDED_AND_DESTROYED, "DeleteModel"),
    at(_.ENDED_AND_DESTROYED, "DeleteModel", CARRIED_OUT, BOTH),
    at(_.ENDED_AND_DESTROYED, "Delete", CARRIED_OUT),
)
MODELS = (
    at(_.FIRST, "Create"),
    at(_.FIRST, "Create", LOST),
    at(_.FIRST, "Create", CARRIED_OUT, EMULATOR),
    at(_.FIRST, "Create", ANSWERED),
    at(_.FIRST_AND_DESTROYED, "Create", CARRIED_OUT),
    at(_.CHANGED, "UpdateModel"),
    at(_.CHANGED, "UpdateModel", CARRIED_OUT),
    at(_.CHANGED, "MergeVersionAliases", CARRIED_OUT),
    at(_.REPLACED, "Create", CARRIED_OUT, BOTH),
    at(_.REPLACED, "UpdateModel", CARRIED_OUT),
    at(_.REPLACED, "DeleteModelVersion"),
    at(_.REPLACED, "DeleteModelVersion", CARRIED_OUT),
    at(_.REPLACED_AND_BACK, "Create", CARRIED_OUT),
    at(_.REPLACED_AND_BACK, "DeleteModelVersion"),
    at(_.ON_DEMAND, "UpdateModel", CARRIED_OUT),
    at(_.ON_DEMAND, "pulumi_vertex_training.kinds.model.provider:ModelProvider.delete", CALLED, BOTH),
    at(_.REFRESHED, "Get"),
    at(_.DESTROYED, "Delete"),
    at(_.DESTROYED, "Delete", CARRIED_OUT),
    at(_.DESTROYED, "Delete", ANSWERED),
    at(_.DESTROYED_AND_UP, "Delete", CARRIED_OUT),
)
RESOURCES = (
    at(_.FIRST, "Create"),
    at(_.FIRST, "Create", LOST),
    at(_.FIRST, "Create", CARRIED_OUT),
    at(_.FIRST, "Create", ANSWERED),
    at(_.FIRST_AND_DESTROYED, "Create", CARRIED_OUT),
    at(_.CHANGED, "UpdatePersistentResource"),
    at(_.CHANGED, "UpdatePersistentResource", CARRIED_OUT, PROVIDER),
    at(_.CHANGED, "UpdatePersistentResource", ANSWERED),
    at(_.REBOOTED, "RebootPersistentResource", CARRIED_OUT),
    at(_.REBOOTED, "RebootPersistentResource", ANSWERED),
    at(_.REPLACED, "Delete", CARRIED_OUT, BOTH),
    at(_.REPLACED, "Get", ASKED, nth=2),
    at(_.REPLACED, "Create", CARRIED_OUT),
    at(_.REPLACED_AND_BACK, "Delete", CARRIED_OUT),
    at(_.ON_DEMAND, "Delete", CARRIED_OUT),
    at(_.ON_DEMAND, "Create", CARRIED_OUT),
    at(_.REFRESHED, "Get"),
    at(_.DESTROYED, "Delete", CARRIED_OUT, EMULATOR),
    at(_.DESTROYED, "Delete", ANSWERED),
    at(_.DESTROYED_AND_UP, "Delete", CARRIED_OUT, BOTH),
)
BUCKETS = (
    at(_.FIRST, "Create"),
    at(_.FIRST, "Create", LOST),
    at(_.FIRST, "Create", CARRIED_OUT, BOTH),
    at(_.FIRST, "Create", ANSWERED),
    at(_.FIRST_AND_DESTROYED, "Create", CARRIED_OUT, BOTH),
    at(_.FIRST_AND_ANOTHER, "Create", CARRIED_OUT, BOTH),
    at(_.CHANGED, "Update", CARRIED_OUT),
    at(_.ON_DEMAND, "Create", CARRIED_OUT),
    at(_.REFRESHED, "Get"),
    at(_.DESTROYED, "Delete", CARRIED_OUT),
    at(_.DESTROYED_AND_UP, "Delete", CARRIED_OUT),
)
REPOSITORIES = (
    at(_.FIRST, "Create"),
    at(_.FIRST, "Create", LOST),
    at(_.FIRST, "Create", CARRIED_OUT, BOTH),
    at(_.FIRST, "Create", ANSWERED),
    at(_.FIRST_AND_DESTROYED, "Create", CARRIED_OUT),
    at(_.FIRST_AND_ANOTHER, "Create", CARRIED_OUT),
    at(_.CHANGED, "UpdateRepository", CARRIED_OUT),
    at(_.ON_DEMAND, "Create", CARRIED_OUT),
    at(_.REFRESHED, "Get"),
    at(_.DESTROYED, "Delete", CARRIED_OUT),
    at(_.DESTROYED_AND_UP, "Delete", CARRIED_OUT),
)
STAGED_FILES = (
    at(_.FIRST, "Create"),
    at(_.FIRST, "Create", LOST),
    at(_.FIRST, "Create", CARRIED_OUT, BOTH),
    at(_.FIRST, "Create", ANSWERED),
    at(_.REPLACED, "Create", CARRIED_OUT),
    at(_.REPLACED, "Delete", CARRIED_OUT),
    at(_.REFRESHED, "Get"),
    at(_.DESTROYED, "Delete", CARRIED_OUT),
    at(_.DESTROYED_AND_UP, "Delete", CARRIED_OUT, BOTH),
)
STAGED_FOLDERS = (
    at(_.FIRST, "Create"),
    at(_.FIRST, "Create", LOST),
    at(_.FIRST, "Create", CARRIED_OUT, BOTH),
    at(_.FIRST, "Create", ANSWERED),
    at(_.REPLACED, "Create", CARRIED_OUT),
    at(_.REPLACED, "Delete", CARRIED_OUT, BOTH),
    at(_.REFRESHED, "Get"),
    at(_.DESTROYED, "Delete", CARRIED_OUT),
    at(_.DESTROYED_AND_UP, "Delete", CARRIED_OUT),
)
TABLE = [
    *of(TUNING_JOB, TUNING),
    *of(PIPELINE, PIPELINES),
    *of(MODEL, MODELS),
    *of(PERSISTENT_RESOURCE, RESOURCES),
    *of(BUCKET, BUCKETS),
    *of(REPOSITORY, REPOSITORIES),
    *of(STAGED_FILE, STAGED_FILES),
    *of(STAGED_FOLDER, STAGED_FOLDERS),
]

_BEGINS = {
    **dict.fromkeys((_.FIRST, _.FIRST_AND_DESTROYED, _.FIRST_AND_ANOTHER, _.WAITED_FOR), Situation.NOTHING),
    _.ENDED_AND_DESTROYED: Situation.ENDED,
}
_DELAY = 0.6
"""Seconds that every change of a persistent resource takes, so that what follows meets it."""


def prepare(stage: Stage, operation: Operation) -> tuple[str, ...]:
    """Declare what the operation begins with, and return the command."""
    if operation is _.WAITED_FOR:
        stage.declare(ends=True, after=6, options='wait="done"')
    elif operation is _.CHANGED:
        stage.change()
    elif operation is _.REBOOTED:
        stage.change_nothing(options='reboot_token="again"')
    elif operation in (_.REPLACED, _.REPLACED_AND_BACK) or operation.name.startswith("FIRST"):
        stage.declare()
    if operation is _.ON_DEMAND:
        return (*UP, "--replace", stage.subject.urn)
    if operation is _.REFRESHED:
        return REFRESH
    return DESTROY if "DESTROYED" in operation.name and operation.name[0] != "F" else UP


def assert_as_declared(stage: Stage) -> None:
    """Assert that service and state have the declared resource once, with its parts, and no other."""
    stage.assert_one_recorded()
    (record,) = stage.jobs()
    text = json.dumps(record)
    assert set(re.findall(r"spec-\d+", text)) == {stage.spec}, stage.output
    assert set(re.findall(r"note-\d+", text)) <= {f"note-{stage.noted}"}, stage.output
    if stage.subject is TUNING_JOB:
        # It has no trials while it is pending, and then one after the other.
        stage.until(lambda: len(_trials(stage)) >= (2 if stage.live() else 3), "its trials")
        stage.until(lambda: _trials(stage) == _custom_jobs(stage), "no custom job but those of trials")
        assert len(_trials(stage)) == (2 if stage.live() else 3)
    if stage.subject is PIPELINE:
        stage.until(lambda: {_custom_job(stage)} == _custom_jobs(stage), "no custom job but its own")
    if stage.subject is PERSISTENT_RESOURCE:
        assert [int(pool["replicaCount"]) for pool in record["resourcePools"]] == [1 + stage.noted % 5]


def _custom_jobs(stage: Stage) -> set[str]:
    return {one["name"] for one in stage.listed("customJobs")}


def _custom_job(stage: Stage) -> str:
    (pipeline,) = stage.jobs()
    return str(pipeline.get("trainingTaskMetadata", {}).get("backingCustomJob"))


def _trials(stage: Stage) -> set[str]:
    (job,) = stage.jobs()
    return {one["customJob"] for one in job.get("trials", [])}


def up_again(stage: Stage) -> None:
    """Deploy as if nothing had been killed, and assert that the deployment after that has nothing to do."""
    stage.up()
    stage.settle()
    stage.until(lambda: set(stage.states()) <= {"RUNNING", "PENDING", "SUCCEEDED"}, "it runs")
    assert_as_declared(stage)
    stage.up("--refresh", "--expect-no-changes")
    assert_as_declared(stage)


@pytest.mark.parametrize(
    ("row", "victim"),
    [
        pytest.param(row, victim, id=row.id(victim), marks=[] if victim is BOTH else [pytest.mark.slow])
        for row in TABLE
        for victim in row.victims()
    ],
)
def test_kill(stage: Stage, row: Row, victim: Victim) -> None:
    operation = row.operation
    stage.take(row.subject)
    if row.subject is PERSISTENT_RESOURCE:
        stage.control.set_persistent_resource_delay(_DELAY)
    if operation is _.ENDED_AND_DESTROYED:
        stage.prepare(Situation.NOTHING)  # a model of an earlier row would keep its version
    stage.prepare(_BEGINS.get(operation, Situation.LIVE))
    with stage.trial():
        before = [one["name"] for one in stage.jobs()]
        first = stage.program()
        command = prepare(stage, operation)
        stage.interrupt(command, row.hold, victim)
        made = stage.submissions()
        if operation in (_.FIRST_AND_DESTROYED, _.DESTROYED, _.ENDED_AND_DESTROYED):
            stage.settle()
            stage.destroy()
            stage.assert_nothing_is_left()
            return
        if operation is _.FIRST_AND_ANOTHER:
            stage.declare()
        elif operation is _.REPLACED_AND_BACK:
            stage.restore(first)
        up_again(stage)
        if operation in (_.CHANGED, _.REBOOTED, _.REFRESHED):
            assert [one["name"] for one in stage.jobs()] == before
            assert stage.submissions() == 0
        elif operation in (_.FIRST, _.REPLACED, _.WAITED_FOR):
            assert stage.submissions() == 1, made
        if ALL:
            stage.destroy()
            stage.assert_nothing_is_left()


@pytest.mark.parametrize(
    ("subject", "field"),
    [
        pytest.param(BUCKET, "name", id="bucket"),
        pytest.param(REPOSITORY, "repository_id", id="repository", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "victim", [pytest.param(PROVIDER, id="provider"), pytest.param(BOTH, id="both", marks=pytest.mark.slow)]
)
def test_another_name_after_a_kill(stage: Stage, subject: Subject, field: str, victim: Victim) -> None:
    """Rename a resource, kill the provider after it created the new one, and rename it again."""
    stage.take(subject)
    stage.prepare(Situation.LIVE)
    with stage.trial():
        stage.declare(options=f'{field}="the-second"')
        stage.interrupt(UP, Hold(what=subject.method("Create"), moment=CARRIED_OUT), victim)
        assert [one["name"].rpartition("/")[2] for one in stage.jobs()][-1] == "the-second"
        stage.declare(options=f'{field}="the-third"')
        up_again(stage)
        assert [one["name"].rpartition("/")[2] for one in stage.jobs()] == ["the-third"]
        stage.destroy()
        stage.assert_nothing_is_left()
