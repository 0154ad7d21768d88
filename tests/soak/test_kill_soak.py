"""`make soak`: its plans, its comparison, its report, and two kills on the real engine."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from soak.kills import checks, desired, strikes
from soak.kills.desired import DECLARED, Change, Desired, Slot
from soak.kills.driver import Driver, Report
from soak.kills.service import Job, Service
from soak.kills.strikes import Victim

PARENT = "projects/1/locations/us-central1"


def plan(seed: str, steps: int = 40) -> list[tuple[Desired, str]]:
    """Return the desired states and kills of a history."""
    chance = random.Random(seed)
    now = desired.first(chance)
    changes: tuple[Change, ...] = ()
    made = []
    for _ in range(steps):
        made.append((now, str(strikes.drawn(chance, now, changes, has_disk=True))))
        now, changes = desired.changed(now, chance)
    return made


def test_a_seed_determines_desired_states_and_kills() -> None:
    assert plan("7 1") == plan("7 1")
    assert plan("7 1") != plan("7 2")


def test_what_a_resource_uses_is_declared_before_it() -> None:
    for now, _ in plan("8", steps=200):
        declared = re.findall(r"^all_made\['(\w+)'\] = made$", now.program(), re.MULTILINE)
        assert set(declared) == set(now.slots)
        for number, slot in enumerate(declared):
            assert set(DECLARED[slot].needs) <= set(declared[:number])
        compile(now.program(), "program", "exec")


def test_a_later_declaration_never_has_the_salt_of_an_earlier_one() -> None:
    last: dict[str, str] = {}
    old: set[str] = set()
    for now, _ in plan("9", steps=200):
        salts = {slot: now.salt(slot) for slot in now.slots}
        assert not {salt for slot, salt in salts.items() if last.get(slot) != salt} & old
        old |= set(salts.values())
        last = salts


def test_what_is_being_created_is_often_renamed_after_the_kill() -> None:
    chance = random.Random(3)
    now = desired.first(chance)
    changes = (Change(slot="staging", what="replaced"), Change(slot="long", what="replaced"))
    drawn = [strikes.drawn(chance, now, changes, has_disk=True) for _ in range(200)]
    assert {one.renamed for one in drawn} == {"", "staging"}
    assert all(one.again for one in drawn if one.renamed)
    with_bucket = Desired(slots={"staging": Slot(version=1, note=1)}, last=1)
    _, (first, *_) = desired.changed(with_bucket, chance, renamed="staging")
    assert str(first) == "staging replaced"
    assert desired.changed(Desired(), chance, renamed="staging")[1][0].what == "added"


def test_all_victims_are_drawn_and_a_full_disk_only_where_there_is_one() -> None:
    chance = random.Random(1)
    for has_disk in (True, False):
        drawn = {strikes.drawn(chance, Desired(), (), has_disk=has_disk).victim for _ in range(500)}
        assert drawn == set(Victim) - (set() if has_disk else {Victim.DISK})


def resource(kind: str, slot: str, id_: str, **more: Any) -> dict[str, Any]:
    token = f"pulumi-python:dynamic/{kind[0].lower()}{kind[1:]}:{kind}"
    return {
        "urn": f"urn:pulumi:local::digits::{token}::{slot}",
        "type": token,
        "custom": True,
        "id": id_,
    } | more


def job(number: int, salt: str, state: str) -> Job:
    return Job(name=f"{PARENT}/customJobs/{number}", slot=salt.partition("-")[0], salt=salt, state=state)


NOTHING = Service(
    buckets=(),
    objects=(),
    repositories=(),
    images=(),
    jobs=(),
    inner={},
    tuning_jobs=(),
    pipelines=(),
    versions=(),
    persistent_resources=(),
    datasets=(),
)
WANTED = Desired(slots={"long": Slot(version=3, note=1)}, last=3)
STATE = {"resources": [resource("CustomJob", "long", f"{PARENT}/customJobs/1")]}


def complaints(state: dict[str, Any], service: Service) -> list[str]:
    return list(checks.complaints(WANTED, state, service))


def test_one_live_run_is_as_declared() -> None:
    one = replace(NOTHING, jobs=(job(1, "long-3", "RUNNING"),))
    assert complaints(STATE, one) == []


@pytest.mark.parametrize(
    ("jobs", "complaint"),
    [
        ((), "long: 0 good runs of long-3; there are "),
        ((job(1, "long-3", "FAILED"),), "long: 0 good runs of long-3"),
        ((job(1, "long-3", "RUNNING"), job(2, "long-3", "RUNNING")), "long: 2 good runs of long-3"),
        ((job(1, "long-3", "RUNNING"), job(2, "long-2", "RUNNING")), "long: an earlier run 2 "),
        ((job(2, "long-3", "RUNNING"),), "long: the job in the state is 1, the good run is 2 "),
        ((job(1, "long-3", "RUNNING"), job(2, "short-1", "RUNNING")), "short is not declared, but its job"),
        ((job(1, "long-3", "RUNNING"), job(2, "", "RUNNING")), "custom job 2 (, RUNNING) is live"),
        (
            (job(1, "long-3", "RUNNING"), *(job(number, "long-2", "FAILED") for number in range(2, 14))),
            "long: 12 records of ended runs, at most 11 are kept",
        ),
    ],
)
def test_every_other_number_of_runs_is_a_complaint(jobs: tuple[Job, ...], complaint: str) -> None:
    found = complaints(STATE, replace(NOTHING, jobs=jobs))
    assert any(each.startswith(complaint) for each in found), found


def test_what_nobody_declared_is_a_complaint() -> None:
    service = replace(
        NOTHING,
        jobs=(job(1, "long-3", "RUNNING"),),
        buckets=({"name": "left"},),
        objects=({"name": "gs://left/file"},),
        repositories=({"name": f"{PARENT}/repositories/left"},),
        images=({"name": "us-central1-docker.pkg.dev/local/trainers-1/image@sha256:1"},),
        versions=({"name": f"{PARENT}/models/left@1"},),
        persistent_resources=({"name": f"{PARENT}/persistentResources/left"},),
        datasets=({"name": "left"},),
    )
    found = complaints(STATE, service)
    assert Counter(each.partition(" ")[0] for each in found) == {
        "bucket": 1,
        "object": 1,
        "repository": 1,
        "image": 1,
        "model": 1,
        "persistent": 1,
        "dataset": 1,
    }


def test_marks_and_pending_operations_of_the_state_are_complaints() -> None:
    one = replace(NOTHING, jobs=(job(1, "long-3", "RUNNING"),))
    old = resource("CustomJob", "short", f"{PARENT}/customJobs/2", delete=True)
    state = {
        "resources": [*STATE["resources"], old],
        "pending_operations": [{"type": "creating", "resource": old}],
    }
    assert complaints(state, one) == [
        "the state still has a pending operation: creating short",
        "the state has 1 CustomJob short more than declared",
        "the state has CustomJob short with the mark delete",
    ]


def test_a_declaration_that_ran_twice_is_found_after_its_first_job_was_deleted() -> None:
    seen = {one.name: one for one in (job(1, "long-3", "CANCELLED"), job(2, "long-3", "RUNNING"))}
    assert [each.partition(":")[0] for each in checks.doubled(seen)] == ["long-3 ran 2 times"]
    seen = {one.name: one for one in (job(1, "long-3", "FAILED"), job(2, "long-3", "RUNNING"))}
    assert list(checks.doubled(seen)) == []
    seen = {one.name: one for one in (job(1, "search-3", "RUNNING"), job(2, "search-3", "RUNNING"))}
    assert list(checks.doubled(seen)) == []  # trials


def test_a_run_whose_process_was_killed_may_have_been_deleted_as_failed_between_two_looks() -> None:
    parent = f"{PARENT}/trainingPipelines"
    first, second = (
        Job(
            name=f"{parent}/{number}",
            slot="pipeline",
            salt="pipeline-3-1",
            state="RUNNING",
            inner=(f"{PARENT}/customJobs/{number}9",),
        )
        for number in (1, 2)
    )
    seen = {one.name: one for one in (first, second)}
    there = {second.name}
    assert list(checks.doubled(seen, there=there, struck={"19"})) == []
    assert len(list(checks.doubled(seen, there=there, struck={"29"}))) == 1
    assert len(list(checks.doubled(seen, there=there, struck=()))) == 1
    assert len(list(checks.doubled(seen, there=set(seen), struck={"19"}))) == 1
    third = replace(second, name=f"{parent}/3", inner=())
    assert len(list(checks.doubled({**seen, third.name: third}, there=there, struck={"19"}))) == 1


def test_a_report_is_continued_where_it_ended(tmp_path: Path) -> None:
    first = Report(file=tmp_path / "report.json", seed=5, missed=2, done=[0, 1], seconds=7.0)
    first.kills.append(
        {"victim": "disk", "findings": ["object 12 exists"], "in_flight": [], "unlocked": False}
    )
    first.ends.append({"history": 0, "findings": []})
    first.write()
    again = Report.read(first.file)
    assert again == first
    assert dict(again.findings()) == {"object N exists": 1}
    assert "1 kills in 2 histories of seed 5" in again.table()
    assert json.loads(first.file.read_text())["seed"] == 5


@pytest.mark.slow
def test_kills_of_the_real_engine_need_no_help(tmp_path: Path) -> None:
    report = Report(file=tmp_path / "report.json", seed=4)
    Driver(report=report, kills=2, seconds=240.0, lanes=1).run()
    assert len(report.kills) == 2
    assert report.findings() == {}
    assert not any(one["unlocked"] for one in report.kills)
