"""Resources of all kinds whose deployment is killed at every single point of each operation.

Whatever the point: the next deployment leaves what is declared, once, and the one after it has nothing to
do; a destruction leaves nothing. What a killed deployment created is in no state, so only another deployment
finds it: by the key that the state had before, or by a note on this machine if its name was changed.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.provider import Failure
from support.client.in_process.small_engine import kills
from support.client.in_process.trials import Trial, at_every_point
from support.client.kills.subjects import (
    BUCKET,
    CUSTOM_JOB,
    IMAGE,
    PERSISTENT_RESOURCE,
    PIPELINE,
    REPOSITORY,
    SCHEDULE,
    STAGED_FILE,
    STAGED_PACKAGE,
    SUBJECTS,
    TUNING_JOB,
    Declaration,
    Subject,
)
from support.waiting import eventually
from vertex_emulator.client.control import Control


class Way(enum.Enum):
    """An operation that is no deployment of a declaration."""

    WITHOUT = "a deployment without the resource"
    DESTROY = "a destruction"
    REPLACE = "a replacement of A on demand"
    REFRESH = "a refresh"


A = Declaration()
B, C = replace(A, spec="spec-2"), replace(A, spec="spec-3")
ZERO, ONE, TWO = (replace(A, called=each) for each in ("zero", "one", "two"))
AGAIN = replace(A, options='reboot_token="again"')
Done = Declaration | Way | None


def noted(number: int, of: Declaration = A) -> Declaration:
    return replace(of, note=f"note-{number}")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """A recorded state, the killed operation, and the one that follows."""

    name: str
    before: Done
    killed: Done
    then: Done
    needs: tuple[str, ...] = ()
    """The values that a declaration of the subject has to show (`Subject.shows`)."""
    usual: bool = False
    """True if every run of the tests tries it, for the kinds of `QUICK`."""


def of(name: str, before: Done, killed: Done, then: Done, *needs: str) -> Operation:
    return Operation(name=name, before=before, killed=killed, then=then, needs=needs)


def usual(name: str, before: Done, killed: Done, then: Done, *needs: str) -> Operation:
    return replace(of(name, before, killed, then, *needs), usual=True)


OPERATIONS = (
    of("the first", None, A, A),
    of("the first, then a change", None, A, noted(2), "note"),
    of("the first, then another spec", None, A, B, "spec"),
    of("the first, then a destruction", None, A, Way.DESTROY),
    of("a change in place", A, noted(2), noted(2), "note"),
    of("a change in place, then another", A, noted(2), noted(3), "note"),
    of("a change in place, then back", A, noted(2), A, "note"),
    of("a replacement", A, B, B, "spec"),
    of("a replacement with a change", A, noted(2, B), noted(2, B), "spec", "note"),
    usual("a replacement, then another", A, B, C, "spec"),
    of("a replacement, then back", A, B, A, "spec"),
    of("a replacement, then none", A, B, Way.WITHOUT, "spec"),
    of("a replacement, then a destruction", A, B, Way.DESTROY, "spec"),
    usual("a replacement on demand", A, Way.REPLACE, A),
    of("a replacement on demand, then another", A, Way.REPLACE, B, "spec"),
    of("a replacement on demand, twice", A, Way.REPLACE, Way.REPLACE),
    of("a refresh", A, Way.REFRESH, A),
    of("a destruction", A, Way.DESTROY, Way.DESTROY),
    usual("a destruction, then a deployment", A, Way.DESTROY, A),
    of("the first name, then another", Way.WITHOUT, ONE, TWO, "called"),
    of("the first name, then none", Way.WITHOUT, ONE, Way.WITHOUT, "called"),
    usual("the first name, then a destruction", Way.WITHOUT, ONE, Way.DESTROY, "called"),
    usual("another name, then another", ZERO, ONE, TWO, "called"),
    of("another name, then back", ZERO, ONE, ZERO, "called"),
    of("another name, then none", ZERO, ONE, Way.WITHOUT, "called"),
    of("another name, then a destruction", ZERO, ONE, Way.DESTROY, "called"),
)


@pytest.fixture(scope="module")
def control(endpoint: Endpoint) -> Control:
    return Control(url=endpoint.url or "", token=endpoint.token or "")


@pytest.fixture(scope="module", autouse=True)
def short_changes(control: Control) -> None:
    control.set_persistent_resource_delay(0.03)


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stage files of the test's own folder: a source is relative to the working directory."""
    monkeypatch.chdir(tmp_path)


def do(trial: Trial, what: Done) -> None:
    match what:
        case Declaration():
            trial.up(what)
        case Way.WITHOUT:
            trial.up(None)
        case Way.DESTROY:
            trial.engine.destroy()
        case Way.REPLACE:
            trial.up(A, replace=True)
        case Way.REFRESH:
            trial.engine.refresh()


def assert_healed(trial: Trial, declared: Declaration) -> None:
    """Assert that the service and the state have what is declared, and that nothing is left to do.

    Nothing records who cancelled a job: it stays cancelled until a replacement is asked for.
    """
    if trial.subject.run and trial.state().startswith("CANCEL"):
        assert trial.left() == [] or trial.recorded()
        trial.up(declared, replace=True)
    trial.assert_declared(declared)
    assert trial.up(declared) == 0
    trial.assert_declared(declared)


REBOOT = of("a reboot", A, AGAIN, AGAIN)
QUICK = (BUCKET, REPOSITORY, STAGED_FILE)
SHORT = ("a replacement on demand", "the first name, then a destruction")
"""The operations with the fewest points, which every run tries for slower kinds too."""
QUICKEST = (CUSTOM_JOB, OPERATIONS[0])
"""The one trial of jobs, which take ten times as long, in every run of the tests."""


def is_quick(subject: Subject, operation: Operation) -> bool:
    """Return whether every run of the tests tries it."""
    if subject.run or subject in (STAGED_PACKAGE, SCHEDULE):
        return (subject, operation) == QUICKEST
    return operation.usual and (subject in QUICK or operation.name in SHORT)


def tried() -> Iterator[object]:
    for subject in (each for each in SUBJECTS if each is not IMAGE):
        for operation in OPERATIONS:
            if set(operation.needs) <= set(subject.shows):
                marks = [] if is_quick(subject, operation) else [pytest.mark.slow]
                yield pytest.param(subject, operation, id=f"{subject.noun}, {operation.name}", marks=marks)
    yield pytest.param(PERSISTENT_RESOURCE, REBOOT, id="persistent resource, a reboot")


@pytest.mark.parametrize(("subject", "operation"), tuple(tried()))
def test_killed_at_every_point(
    data_dir: Path, control: Control, subject: Subject, operation: Operation
) -> None:
    with processes(control, subject, operation):
        try_points(operation, subject, data_dir)


def tried_of_package() -> Iterator[object]:
    """Yield the trials of the package: all of jobs and buckets, and those of one operation of the others.

    What a killed creation made is left to `vertex-training gc` if it is not declared any more: in Python the
    program deletes it at its end, or the stack's key does.
    """
    for subject in (each for each in SUBJECTS if each is not IMAGE):
        for operation in OPERATIONS:
            made = isinstance(operation.killed, Declaration)
            if not set(operation.needs) <= set(subject.shows) or (made and isinstance(operation.then, Way)):
                continue
            marks = [] if subject is BUCKET and operation.usual else [pytest.mark.slow]
            if subject in (CUSTOM_JOB, BUCKET) or operation.name == "a replacement, then another":
                yield pytest.param(subject, operation, id=f"{subject.noun}, {operation.name}", marks=marks)


@pytest.mark.parametrize(("subject", "operation"), tuple(tried_of_package()))
def test_killed_at_every_point_in_the_package(
    data_dir: Path, control: Control, subject: Subject, operation: Operation
) -> None:
    with processes(control, subject, operation):
        try_points(operation, subject, data_dir, serves_package=True)


@contextmanager
def processes(control: Control, subject: Subject, operation: Operation) -> Iterator[None]:
    """Let the jobs of a trial run, or hold them before their processes start, which halves its time.

    The points are the same. Custom jobs always run, and the usual operations are tried with jobs that run.
    """
    holds = subject in (TUNING_JOB, PIPELINE) and not operation.usual
    control.set_start_delay(86400 if holds else 0)
    try:
        yield
    finally:
        control.set_start_delay(0)


def try_points(
    operation: Operation, subject: Subject, data_dir: Path, *, serves_package: bool = False
) -> None:
    """Kill the operation at each of its points, each time on a new stack."""

    def begin() -> Trial:
        trial = Trial(subject=subject, data_dir=data_dir, serves_package=serves_package)
        do(trial, operation.before)
        trial.there()
        return trial

    # Staged content is found where its replacement would put it.
    is_found = operation.killed is Way.REPLACE and subject.noun.startswith("staged")
    at_every_point(
        begin,
        lambda trial: do(trial, operation.killed),
        lambda trial, died: finish(trial, operation, died),
        changes=operation.killed is not Way.REFRESH and not is_found,
    )


def finish(trial: Trial, operation: Operation, died: str) -> None:
    """Do what follows the kill, and assert what has to hold."""
    shown = all(isinstance(each, Declaration) for each in (operation.before, operation.then))
    unrecorded = died == f"before the record of {trial.name}"
    if unrecorded and not shown:
        do(trial, operation.killed)  # The engine had the answer, and no diff shows that it has no record.
    back = operation.then == operation.before and isinstance(operation.killed, Declaration)
    # A refresh drops a persistent resource, which is deleted before its replacement, from the state: what
    # replaced it is then for `gc`.
    if back and not (unrecorded and trial.subject is PERSISTENT_RESOURCE and "called" in operation.needs):
        do(trial, Way.REFRESH)  # the state has what is declared, and Pulumi warns of what was begun
    made = trial.there()
    do(trial, operation.then)
    if isinstance(operation.then, Declaration):
        assert_healed(trial, operation.then)
        if operation.then == operation.killed:  # What was made is adopted, not made once more.
            names = [name for name, *_ in trial.there()]
            shows = trial.subject.shows
            declared = (operation.then.spec, operation.then.note if "note" in shows else "")
            assert {name for name, *shown in made if tuple(shown) == declared} <= set(names)
    elif operation.then is Way.REPLACE:
        assert_healed(trial, A)
    else:
        assert trial.there() == []
    trial.destroy()


@pytest.mark.parametrize(
    "operation", [pytest.param(each, id=each.name) for each in OPERATIONS if each.needs == ("called",)]
)
def test_an_image_whose_push_is_refused(data_dir: Path, operation: Operation) -> None:
    """Refuse the push, or its tag: the calls of a registry are no points. The content is the name."""

    def content(what: Done) -> Done:
        return replace(A, spec=CONTENTS[what.called]) if isinstance(what, Declaration) else what

    of_image = replace(
        operation,
        before=content(operation.before),
        killed=content(operation.killed),
        then=content(operation.then),
    )
    for push in (1, 2):
        trial = Trial(subject=IMAGE, data_dir=data_dir)
        do(trial, of_image.before)
        number = trial.control.add_fault({"method": "registry.manifests.put", "nth": push, "status": 403})[
            "number"
        ]
        with pytest.raises(Failure):
            do(trial, of_image.killed)
        trial.control.remove_fault(number)
        finish(trial, of_image, f"push {push}")


CONTENTS = {"zero": "spec-1", "one": "spec-2", "two": "spec-3"}


@pytest.mark.slow
@pytest.mark.parametrize("subject", [CUSTOM_JOB, TUNING_JOB], ids=lambda subject: subject.noun)
def test_a_run_whose_job_was_never_submitted(data_dir: Path, subject: Subject) -> None:
    def begin() -> Trial:
        trial = Trial(subject=subject, data_dir=data_dir)
        path = rf"before POST .*/{subject.collection}(\?|$)"
        assert kills(trial.engine, lambda: trial.up(A), lambda text: re.match(path, text) is not None)
        assert trial.there() == []
        return trial

    def then(trial: Trial, _: str) -> None:
        trial.up(A)
        assert_healed(trial, A)
        trial.destroy()

    at_every_point(begin, lambda trial: trial.up(A), then)


@pytest.mark.slow
@pytest.mark.parametrize("subject", [CUSTOM_JOB, TUNING_JOB], ids=lambda subject: subject.noun)
def test_a_rerun_on_failure_counts_though_it_was_interrupted(data_dir: Path, subject: Subject) -> None:
    """Submit twice in all with a limit of one rerun, wherever the second deployment is killed."""
    fails = replace(A, command=("false",), options='rerun="on_failure", rerun_limit=1')

    def failed(trial: Trial) -> None:
        eventually(lambda: trial.state() == "FAILED")

    def begin() -> Trial:
        trial = Trial(subject=subject, data_dir=data_dir)
        trial.up(fails)
        failed(trial)
        return trial

    def then(trial: Trial, _: str) -> None:
        trial.up(fails)
        failed(trial)
        assert trial.run()["reruns"] == 1
        assert trial.up(fails) == 0
        assert trial.run()["generation"] == 2
        trial.destroy()

    at_every_point(begin, lambda trial: trial.up(fails), then)
